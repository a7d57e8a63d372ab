//! URLs and hrefs as paths below `/obix/` (oBIX specification §3, §4.2).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::error::ObixError;
use crate::server::form_parameter;

/// Octets of a path segment that are percent-encoded; `$xx` escapes and virtual children stay readable (§3 rule 8).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'$')
    .remove(b':');

/// A decoded path below `/obix/` with its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Decoded names; a virtual child (`~historyQuery`) is one of its own even directly behind a name.
    pub segments: Vec<String>,
    query: String,
    /// The path as it came, for messages.
    pub text: String,
}

impl Address {
    /// The target of an HTTP request.
    ///
    /// # Errors
    /// When the path has an empty segment or is not below `/obix`.
    pub fn of_request(path: &str, query: Option<&str>) -> Result<Self, ObixError> {
        let bad = || ObixError::BadUri {
            path: path.to_owned(),
        };
        let below = match path.strip_prefix("/obix") {
            Some("") => "",
            Some(rest) => rest
                .strip_prefix('/')
                .or_else(|| rest.starts_with('~').then_some(rest))
                .ok_or_else(bad)?,
            None => return Err(bad()),
        };
        let mut segments = Vec::new();
        let trimmed = below.strip_suffix('/').unwrap_or(below);
        for part in trimmed.split('/').filter(|_| !trimmed.is_empty()) {
            if part.is_empty() {
                return Err(bad());
            }
            let name = percent_decode_str(part)
                .decode_utf8()
                .map_err(|_| bad())?
                .into_owned();
            match name.find('~').filter(|at| *at > 0) {
                Some(at) => {
                    let (owner, child) = name.split_at(at);
                    segments.extend([owner.to_owned(), child.to_owned()]);
                }
                None => segments.push(name),
            }
        }
        Ok(Self {
            segments,
            query: query.unwrap_or_default().to_owned(),
            text: path.to_owned(),
        })
    }

    /// The target of a `uri` in a request body: absolute, or server-absolute including `/obix` (§7.3).
    ///
    /// # Errors
    /// When it is neither.
    pub fn of_href(href: &str) -> Result<Self, ObixError> {
        let local = match href.split_once("://") {
            Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(""),
            None => href,
        };
        let (path, query) = match local.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (local, None),
        };
        Self::of_request(path, query).map_err(|_| ObixError::BadUri {
            path: href.to_owned(),
        })
    }

    /// The names as a slice that patterns can match.
    pub fn names(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// The server-absolute path with a trailing slash.
    pub fn canonical(&self) -> String {
        let mut path = String::from("/obix/");
        for segment in &self.segments {
            path.extend(utf8_percent_encode(segment, SEGMENT));
            path.push('/');
        }
        path
    }

    /// A query parameter; an empty one counts as absent. `+` reads as a blank (§10.3).
    pub fn parameter(&self, name: &str) -> Option<String> {
        form_parameter(&self.query, name).filter(|value| !value.is_empty())
    }

    /// The failure of an address that leads nowhere.
    pub fn unknown(&self) -> ObixError {
        ObixError::BadUri {
            path: self.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(href: &str) -> Vec<String> {
        Address::of_href(href).unwrap().segments
    }

    #[test]
    fn spellings_of_one_object_lead_to_one_address() {
        let expected = ["config", "Demo", "DB$2dL4"];
        for href in [
            "/obix/config/Demo/DB$2dL4/",
            "/obix/config/Demo/DB$2dL4",
            "/obix/config/Demo/DB%242dL4/",
            "https://st1:443/obix/config/Demo/DB$2dL4",
        ] {
            assert_eq!(names(href), expected, "{href}");
        }
        assert!(names("/obix").is_empty() && names("/obix/").is_empty());
        let address = Address::of_href("/obix/config/DB%242dL4/T%C3%A9").unwrap();
        assert_eq!(address.canonical(), "/obix/config/DB$2dL4/T%C3%A9/");
    }

    #[test]
    fn a_virtual_child_may_stand_directly_behind_a_name() {
        for href in [
            "/obix/histories/St1/Zone1T~historyQuery?limit=10",
            "/obix/histories/St1/Zone1T/~historyQuery/?limit=10",
        ] {
            let address = Address::of_href(href).unwrap();
            assert_eq!(
                address.segments,
                ["histories", "St1", "Zone1T", "~historyQuery"]
            );
            assert_eq!(address.parameter("limit").as_deref(), Some("10"));
        }
    }

    #[test]
    fn paths_outside_of_obix_are_refused() {
        for href in [
            "/config/Demo/",
            "config/Demo",
            "/obixx/a",
            "/obix//a",
            "http://host",
            "",
            "/obix/%ff",
        ] {
            assert!(Address::of_href(href).is_err(), "{href}");
        }
    }

    #[test]
    fn an_unescaped_plus_in_a_query_reads_as_a_blank() {
        let address = Address::of_request("/obix/a", Some("start=1+2&end=&x=%2B")).unwrap();
        assert_eq!(address.parameter("start").as_deref(), Some("1 2"));
        assert_eq!(address.parameter("end"), None);
        assert_eq!(address.parameter("x").as_deref(), Some("+"));
    }
}
