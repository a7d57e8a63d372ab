//! Which of the station's interfaces a request belongs to.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};

/// A part of the web tier that faults can be limited to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    #[default]
    All,
    /// `/ord`.
    Ord,
    /// `/box`.
    Box,
    /// `/obix`.
    Obix,
    /// The login pages, and the HELLO and SCRAM steps of header authentication on any path.
    Login,
    /// Paths of no interface above, as `/` or `/rpc`.
    Other,
}

impl Interface {
    pub(crate) fn of(path: &str, headers: &HeaderMap) -> Self {
        if is_handshake(headers) {
            return Self::Login;
        }
        match path.split('/').nth(1).unwrap_or("") {
            "ord" => Self::Ord,
            "box" => Self::Box,
            "obix" => Self::Obix,
            "login" | "prelogin" | "j_security_check" | "logout" => Self::Login,
            _ => Self::Other,
        }
    }

    /// Whether a fault limited to this interface meets a request of `other`.
    pub(super) fn covers(self, other: Self) -> bool {
        self == Self::All || self == other
    }
}

fn is_handshake(headers: &HeaderMap) -> bool {
    headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.split_whitespace().next())
        .is_some_and(|scheme| {
            scheme.eq_ignore_ascii_case("hello") || scheme.eq_ignore_ascii_case("scram")
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn requests_belong_to_the_interface_of_their_path_or_handshake() {
        let none = HeaderMap::new();
        let of = |path| Interface::of(path, &none);
        assert_eq!(of("/ord"), Interface::Ord);
        assert_eq!(of("/ord/station:%7Cslot:/"), Interface::Ord);
        assert_eq!(of("/box/"), Interface::Box);
        assert_eq!(of("/obix/about/"), Interface::Obix);
        assert_eq!(of("/j_security_check/"), Interface::Login);
        assert_eq!(of("/"), Interface::Other);
        let mut hello = HeaderMap::new();
        hello.insert(AUTHORIZATION, HeaderValue::from_static("HELLO username=YQ"));
        assert_eq!(Interface::of("/ord", &hello), Interface::Login);
    }
}
