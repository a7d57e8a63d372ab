//! Cookies of one station, kept as its login needs them.

use http::HeaderMap;
use http::header::SET_COOKIE;

use crate::secrecy::Secret;

/// Cookies of one host.
///
/// Every `Set-Cookie` header counts, in any order (Station web specification §2.3); a later value replaces an earlier
/// one. Nothing is ever sent to another host, because a jar belongs to one session with one station.
#[derive(Default)]
pub(crate) struct CookieJar {
    cookies: Vec<Cookie>,
}

struct Cookie {
    name: String,
    value: Secret,
    path: String,
    secure: bool,
}

impl CookieJar {
    /// Takes over what an answer sets.
    pub(crate) fn store(&mut self, headers: &HeaderMap) {
        for header in headers.get_all(SET_COOKIE) {
            let Ok(text) = std::str::from_utf8(header.as_bytes()) else {
                continue;
            };
            self.store_one(text);
        }
    }

    fn store_one(&mut self, text: &str) {
        let mut parts = text.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let mut cookie = Cookie {
            name: name.trim().to_owned(),
            value: kept(name.trim(), value.trim()),
            path: "/".to_owned(),
            secure: false,
        };
        if cookie.name.is_empty() {
            return;
        }
        let mut expired = false;
        for attribute in parts {
            let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "path" if value.starts_with('/') => cookie.path = value.to_owned(),
                "secure" => cookie.secure = true,
                "max-age" => expired |= value.parse::<i64>().is_ok_and(|seconds| seconds <= 0),
                // Stations delete cookies by the epoch; other dates lie in the future of a session.
                "expires" => expired |= value.contains("1970"),
                _ => {}
            }
        }
        self.cookies
            .retain(|known| known.name != cookie.name || known.path != cookie.path);
        if !expired {
            self.cookies.push(cookie);
        }
    }

    /// Adds a cookie unless one of that name is already there.
    pub(crate) fn ensure(&mut self, name: &str, value: &str) {
        if !self.cookies.iter().any(|cookie| cookie.name == name) {
            self.store_one(&format!("{name}={value}"));
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.cookies.clear();
    }

    /// The `Cookie` header for a path; none when there is nothing to send.
    pub(crate) fn header(&self, path: &str, https: bool) -> Option<String> {
        let pairs: Vec<String> = self
            .cookies
            .iter()
            .filter(|cookie| (https || !cookie.secure) && within(path, &cookie.path))
            .map(|cookie| format!("{}={}", cookie.name, cookie.value.expose()))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

/// Housekeeping cookies carry the user name and the like (Station web specification §2.5); any other may be a key.
fn kept(name: &str, value: &str) -> Secret {
    let housekeeping = name.starts_with("niagara_") && name != "niagara_session";
    if housekeeping {
        return Secret::harmless(value);
    }
    Secret::session_key(value)
}

fn within(path: &str, scope: &str) -> bool {
    path.strip_prefix(scope)
        .is_some_and(|rest| scope.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

impl std::fmt::Debug for CookieJar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.cookies.iter().map(|cookie| &cookie.name).collect();
        f.debug_tuple("CookieJar").field(&names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jar(headers: &[&str]) -> CookieJar {
        let mut map = HeaderMap::new();
        for header in headers {
            map.append(SET_COOKIE, header.parse().unwrap());
        }
        let mut jar = CookieJar::default();
        jar.store(&map);
        jar
    }

    #[test]
    fn the_session_is_found_in_any_header_and_its_replacement_wins() {
        let jar = jar(&[
            "niagara_userid=bridge",
            "JSESSIONID=old; Path=/; HttpOnly; SameSite=Lax",
            "JSESSIONID=new; Path=/; HttpOnly",
        ]);
        assert_eq!(
            jar.header("/ord/x", false).unwrap(),
            "niagara_userid=bridge; JSESSIONID=new"
        );
    }

    #[test]
    fn secure_cookies_stay_off_plain_http_and_paths_are_kept_apart() {
        let jar = jar(&["JSESSIONID=a; Path=/; Secure", "x=1; Path=/prelogin"]);
        assert_eq!(jar.header("/prelogin/y", false).unwrap(), "x=1");
        assert_eq!(jar.header("/ord", true).unwrap(), "JSESSIONID=a");
        assert_eq!(jar.header("/preloginother", false), None);
    }

    #[test]
    fn deleted_cookies_are_gone_and_values_never_show_in_debug_output() {
        let jar = jar(&[
            "a=s3cret; Path=/",
            "b=1",
            "b=; Max-Age=0",
            "c=1",
            "c=; Expires=Thu, 01-Jan-1970 00:00:00 GMT",
        ]);
        assert_eq!(jar.header("/", false).unwrap(), "a=s3cret");
        assert!(!format!("{jar:?}").contains("s3cret"));
    }
}
