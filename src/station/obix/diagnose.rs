//! What an answer means that is not the object asked for: oBIX errors and HTTP statuses, each with its
//! probable cause (oBIX specification §1.2, §9).

use super::decode::{DecodeError, decode};
use super::object::{Attribute, Element, Object, shorten};
use crate::station::error::{AuthCause, StationError};

/// What an oBIX error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    NotFound,
    Unsupported,
    PermissionDenied,
    /// A value or a document does not fit its target.
    InvalidValue,
    ServerError,
}

/// Class of an `err` object by its contract, else by the words of its display text.
pub fn classify(error: &Object) -> ErrorClass {
    for (contract, class) in [
        ("obix:BadUriErr", ErrorClass::NotFound),
        ("obix:UnsupportedErr", ErrorClass::Unsupported),
        ("obix:PermissionErr", ErrorClass::PermissionDenied),
    ] {
        if error.implements(contract) {
            return class;
        }
    }
    let display = error.display().unwrap_or_default().trim();
    let holds = |words: &[&str]| words.iter().any(|word| display.contains(word));
    let is_bare_class = !display.contains(char::is_whitespace) && display.ends_with("BadUriErr");
    if is_bare_class
        || holds(&[
            "Path depth",
            "Invalid name in path",
            "Cannot find lobby agent",
        ])
    {
        ErrorClass::NotFound
    } else if holds(&["Cannot translate", "Invalid"]) {
        ErrorClass::InvalidValue
    } else {
        ErrorClass::ServerError
    }
}

/// Who asked whom for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub station: &'a str,
    pub user: &'a str,
    /// Path of the request or of the list member.
    pub target: &'a str,
}

impl Asked<'_> {
    /// The error behind an `err` object.
    pub fn error_object(self, error: &Object) -> StationError {
        let display = error
            .display()
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let contract = error.attribute(Attribute::Is).unwrap_or_default();
        let detail = shorten(display.unwrap_or(contract));
        let target = self.target.to_owned();
        match classify(error) {
            ErrorClass::NotFound => StationError::NotFound { target, detail },
            ErrorClass::PermissionDenied => StationError::PermissionDenied {
                user: self.user.to_owned(),
                target,
                detail,
            },
            ErrorClass::Unsupported => StationError::InterfaceMissing {
                station: self.station.to_owned(),
                needs: "this oBIX operation",
                detail: format!("{target}: {detail}"),
            },
            ErrorClass::InvalidValue => StationError::BadQuery {
                query: target,
                detail,
            },
            ErrorClass::ServerError => StationError::Server {
                target,
                status: 200,
                detail,
            },
        }
    }

    /// The object of an answer, or what the answer means instead.
    pub fn answer(
        self,
        status: u16,
        content_type: &str,
        body: &[u8],
    ) -> Result<Object, StationError> {
        let decoded = decode(body, None);
        match (status, decoded) {
            // The station's own words beat advice about the status.
            (_, Ok(root)) if root.element == Element::Err => Err(self.error_object(&root)),
            (200..=299, Ok(root)) => Ok(root),
            // The session has told apart the login page already: this one is a fault, of the station or of a proxy.
            (200..=299, Err(DecodeError::Html)) => Err(self.other_page()),
            (200..=299, Err(_)) if content_type.contains("html") => Err(self.other_page()),
            (
                200..=299,
                Err(DecodeError::TooLarge {
                    what: "bytes",
                    limit,
                }),
            ) => Err(StationError::TooLarge {
                target: self.target.to_owned(),
                limit: limit as u64,
            }),
            (200..=299, Err(error)) => Err(StationError::Protocol {
                target: self.target.to_owned(),
                expected: "an oBIX document",
                found: error.to_string(),
            }),
            (status, _) => Err(self.status(status, &String::from_utf8_lossy(body))),
        }
    }

    fn status(self, status: u16, body: &str) -> StationError {
        let target = self.target.to_owned();
        let missing = |needs: &'static str, detail: &str| StationError::InterfaceMissing {
            station: self.station.to_owned(),
            needs,
            detail: detail.to_owned(),
        };
        match status {
            300..=399 => self.refused(&format!(
                "HTTP {status} leads to another page; an https-only station wants the https address"
            )),
            400 => StationError::BadQuery { query: target, detail: "HTTP 400: the address is malformed".into() },
            401 => self.refused(
                "HTTP 401; for Basic the station needs an HTTPBasicScheme and the user's Authentication Scheme Name set \
                 to it",
            ),
            403 if body.to_lowercase().contains("licen") => {
                missing("a licensed oBIX server", &format!("HTTP 403: {}", one_line(body)))
            }
            403 => StationError::PermissionDenied { user: self.user.to_owned(), target, detail: "HTTP 403".into() },
            404 if is_top_level(self.target) => missing(
                "oBIX",
                "HTTP 404: no ObixNetwork under Drivers, or the obixDriver module is not installed",
            ),
            404 => StationError::NotFound {
                target,
                detail: "HTTP 404: the path is unknown, or the station has no ObixNetwork under Drivers".into(),
            },
            405 => missing("this oBIX operation", &format!("HTTP 405 on {target}: the method is not supported")),
            410 => missing(
                "oBIX",
                "HTTP 410: the ObixNetwork or its oBIX server is disabled (Enabled=false)",
            ),
            429 | 502 | 503 => StationError::Busy { station: self.station.to_owned(), status },
            500 => StationError::Server {
                target,
                status,
                detail: "the licence may lack export=\"true\" on the obixDriver feature, or the station failed inside"
                    .into(),
            },
            _ => StationError::Server { target, status, detail: one_line(body) },
        }
    }

    fn refused(self, detail: &str) -> StationError {
        StationError::Auth {
            station: self.station.to_owned(),
            user: self.user.to_owned(),
            cause: AuthCause::InterfaceRefuses,
            detail: detail.to_owned(),
        }
    }

    fn other_page(self) -> StationError {
        StationError::Protocol {
            target: self.target.to_owned(),
            expected: "an oBIX document",
            found: "an HTML page".to_owned(),
        }
    }
}

/// The lobby and what stands directly in it.
fn is_top_level(target: &str) -> bool {
    target.trim_matches('/').split('/').count() <= 2
}

fn one_line(body: &str) -> String {
    shorten(&body.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(target: &str) -> Asked<'_> {
        Asked {
            station: "https://st1",
            user: "bridge",
            target,
        }
    }

    fn err(is: &str, display: &str) -> Object {
        Object::new(Element::Err)
            .with(Attribute::Is, is)
            .with(Attribute::Display, display)
    }

    #[test]
    fn errors_are_classed_by_contract_then_by_their_words() {
        for (is, display, class) in [
            ("obix:BadUriErr", "/obix/config/x", ErrorClass::NotFound),
            ("obix:UnsupportedErr", "", ErrorClass::Unsupported),
            ("obix:PermissionErr", "", ErrorClass::PermissionDenied),
            ("", "Path depth exceeded", ErrorClass::NotFound),
            ("", "Invalid name in path: 1x", ErrorClass::NotFound),
            (
                "",
                "Cannot find lobby agent: ~alarmQuery",
                ErrorClass::NotFound,
            ),
            ("", "com.tridium.obix.BadUriErr", ErrorClass::NotFound),
            ("", "Cannot translate obix:real", ErrorClass::InvalidValue),
            ("", "Invalid duration", ErrorClass::InvalidValue),
            (
                "",
                "java.lang.NullPointerException",
                ErrorClass::ServerError,
            ),
        ] {
            assert_eq!(classify(&err(is, display)), class, "{is} {display}");
        }
    }

    #[test]
    fn every_status_has_its_own_diagnosis() {
        let kind = |target: &str, status: u16, body: &str| {
            let error = asked(target)
                .answer(status, "text/html", body.as_bytes())
                .expect_err("no object");
            (error.kind(), error.to_string())
        };
        let point = "/obix/config/Demo/Zone1/out/";
        assert!(kind(point, 401, "").1.contains("HTTPBasicScheme"));
        assert_eq!(kind(point, 302, "").0, "station-auth");
        assert_eq!(
            kind(point, 200, "<!DOCTYPE html><html></html>").0,
            "station-protocol",
            "one page by mistake is no refusal of the login"
        );
        assert_eq!(kind(point, 403, "").0, "permission-denied");
        assert!(
            kind(point, 403, "oBIX server not licensed")
                .1
                .contains("a licensed oBIX server")
        );
        assert_eq!(
            kind(point, 403, "<err is='obix:BadUriErr' display='/x'/>").0,
            "not-found"
        );
        assert_eq!(kind("/obix/about/", 404, "").0, "interface-missing");
        assert_eq!(kind(point, 404, "").0, "not-found");
        assert!(kind(point, 410, "").1.contains("Enabled=false"));
        assert!(kind(point, 500, "oops").1.contains("export=\"true\""));
        assert_eq!(kind(point, 503, "").0, "station-busy");
        assert_eq!(kind(point, 400, "").0, "bad-query");
        assert_eq!(
            kind(point, 200, "<err is='obix:PermissionErr' display='no'/>").0,
            "permission-denied"
        );
    }
}
