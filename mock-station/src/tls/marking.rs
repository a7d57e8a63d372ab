//! What a station adds to its answers when they go over TLS (Station web specification §1, §2.5).

use http::header::{CONTENT_TYPE, SET_COOKIE, STRICT_TRANSPORT_SECURITY};
use http::{HeaderMap, HeaderValue};

/// Marks session cookies `Secure` and HTML pages for strict transport security.
pub(crate) fn mark_secure(headers: &mut HeaderMap) {
    let marked: Vec<HeaderValue> = headers
        .get_all(SET_COOKIE)
        .iter()
        .map(|cookie| secured(cookie).unwrap_or_else(|| cookie.clone()))
        .collect();
    headers.remove(SET_COOKIE);
    for cookie in marked {
        headers.append(SET_COOKIE, cookie);
    }
    let is_html = headers
        .get(CONTENT_TYPE)
        .is_some_and(|media_type| media_type.as_bytes().starts_with(b"text/html"));
    if is_html {
        headers.insert(
            STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=63072000"),
        );
    }
}

fn secured(cookie: &HeaderValue) -> Option<HeaderValue> {
    let text = cookie.to_str().ok()?;
    if !text.starts_with("JSESSIONID=") || text.contains("Max-Age=0") {
        return None;
    }
    HeaderValue::from_str(&format!("{text}; Secure")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_session_cookie_is_marked() {
        let mut headers = HeaderMap::new();
        headers.append(
            SET_COOKIE,
            HeaderValue::from_static("niagara_userid=a; Path=/"),
        );
        headers.append(SET_COOKIE, HeaderValue::from_static("JSESSIONID=x; Path=/"));
        mark_secure(&mut headers);
        let cookies: Vec<_> = headers.get_all(SET_COOKIE).iter().collect();
        assert_eq!(
            cookies,
            ["niagara_userid=a; Path=/", "JSESSIONID=x; Path=/; Secure"]
        );
        assert!(!headers.contains_key(STRICT_TRANSPORT_SECURITY));
    }
}
