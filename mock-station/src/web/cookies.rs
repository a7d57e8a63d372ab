//! Cookies of the web tier (Station web specification §2.5).

use http::HeaderMap;
use http::HeaderValue;
use http::header::{COOKIE, SET_COOKIE};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::random;
use crate::server::PlainResponse;

pub(crate) const SESSION: &str = "JSESSIONID";
pub(crate) const USER_ID: &str = "niagara_userid";
pub(crate) const FAILURE_CAUSE: &str = "niagara_failure_cause";

/// Names that a client echoing a whole `Set-Cookie` text sends as if they were cookies.
const ATTRIBUTES: [&str; 6] = [
    "path", "domain", "expires", "max-age", "samesite", "version",
];

/// All values of a cookie, over all `Cookie` headers, in the order sent.
pub(crate) fn values<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| !ATTRIBUTES.contains(&key.to_ascii_lowercase().as_str()))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value.trim_matches('"'))
        .collect()
}

/// The remembered user name, decoded.
pub(crate) fn remembered_user(headers: &HeaderMap) -> Option<String> {
    values(headers, USER_ID)
        .into_iter()
        .map(|value| percent_decode_str(value).decode_utf8_lossy().into_owned())
        .find(|user| !user.is_empty())
}

/// Adds `Set-Cookie` headers, each its own line, with housekeeping cookies among them.
///
/// When shuffled, the session cookie is not reliably the first line, as since 4.9.
pub(crate) fn set(response: &mut PlainResponse, mut cookies: Vec<String>, shuffle: bool) {
    cookies.push("niagara_essential_session_support=true; Path=/; SameSite=Lax".to_owned());
    if shuffle {
        let turn = usize::from(random::bytes::<1>()[0]) % cookies.len();
        cookies.rotate_left(turn);
    }
    for cookie in cookies {
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            response.headers.append(SET_COOKIE, value);
        }
    }
}

pub(crate) fn session(id: &str) -> String {
    format!("{SESSION}={id}; Path=/; HttpOnly; SameSite=Lax")
}

pub(crate) fn user_id(user: &str) -> String {
    let encoded = utf8_percent_encode(user, NON_ALPHANUMERIC);
    format!("{USER_ID}={encoded}; Path=/; SameSite=Lax")
}

pub(crate) fn cleared(name: &str) -> String {
    format!("{name}=; Path=/; Max-Age=0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;

    #[test]
    fn every_session_id_of_every_header_is_found() {
        let mut headers = HeaderMap::new();
        headers.append(
            COOKIE,
            HeaderValue::from_static("JSESSIONID=a; Path=/; x=1"),
        );
        headers.append(COOKIE, HeaderValue::from_static("JSESSIONID=b"));
        assert_eq!(values(&headers, SESSION), ["a", "b"]);
        assert!(values(&headers, "Path").is_empty());
    }

    #[test]
    fn shuffling_moves_the_session_cookie_from_the_first_line() {
        let first_line = || {
            let mut response = PlainResponse::new(StatusCode::OK);
            set(&mut response, vec![session("a"), user_id("b c")], true);
            assert_eq!(response.headers.get_all(SET_COOKIE).iter().count(), 3);
            response.headers.get(SET_COOKIE).cloned()
        };
        let lines: Vec<_> = (0..200).map(|_| first_line()).collect();
        assert!(lines.iter().any(|line| line != &lines[0]));
    }

    #[test]
    fn the_remembered_user_is_percent_encoded() {
        assert!(user_id("günther").starts_with("niagara_userid=g%C3%BCnther;"));
        let mut headers = HeaderMap::new();
        headers.append(
            COOKIE,
            HeaderValue::from_static("niagara_userid=g%C3%BCnther"),
        );
        assert_eq!(remembered_user(&headers).as_deref(), Some("günther"));
    }
}
