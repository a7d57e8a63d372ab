//! References between oBIX documents: resolution, comparison, request paths (oBIX specification §3, §4.2).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;
use thiserror::Error;

use super::object::{Object, shorten};

/// The longest reference that is followed.
const MAX_HREF: usize = 8 * 1024;

/// What a reference written in a document points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// An object of this station.
    Object(ObixPath),
    /// A part of the same document, such as `#RecordDef`.
    Fragment(String),
    /// A contract by name, such as `obix:Point`: nothing to fetch.
    Contract(String),
}

/// Why a reference cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HrefError {
    #[error("the reference {href:?} names no object of the station's oBIX tree")]
    NotAnObject { href: String },
    #[error("the reference is longer than {MAX_HREF} characters")]
    TooLong,
    #[error("the reference {href:?} holds a control character")]
    ControlCharacter { href: String },
    #[error("{text:?} is not a slot path (it starts with slot:/ and has no empty or dot segment)")]
    NotASlotPath { text: String },
}

/// A server-absolute path with optional query, without scheme and authority: those a station writes
/// may be wrong behind a proxy, so the configured ones are used (oBIX specification §3 rule 5).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObixPath {
    path: String,
    query: Option<String>,
}

impl ObixPath {
    /// The lobby.
    pub fn lobby() -> Self {
        Self {
            path: "/obix/".into(),
            query: None,
        }
    }

    /// Reads an absolute or server-absolute reference.
    pub fn parse(href: &str) -> Result<Self, HrefError> {
        match resolve(&Self::lobby(), href)? {
            Reference::Object(path) => Ok(path),
            Reference::Fragment(_) | Reference::Contract(_) => Err(HrefError::NotAnObject {
                href: shorten(href),
            }),
        }
    }

    /// The object of a component: `slot:/Drivers/X` is `/obix/config/Drivers/X/`.
    ///
    /// Names are taken verbatim, `$20` included (oBIX specification §4.2).
    pub fn of_slot_path(slot_path: &str) -> Result<Self, HrefError> {
        let wrong = || HrefError::NotASlotPath {
            text: shorten(slot_path),
        };
        let names = slot_path.strip_prefix("slot:/").ok_or_else(wrong)?;
        let names = names.strip_suffix('/').unwrap_or(names);
        let mut path = String::from("/obix/config/");
        for name in names.split('/').filter(|_| !names.is_empty()) {
            if name.is_empty() || name == "." || name == ".." || name.chars().any(char::is_control)
            {
                return Err(wrong());
            }
            path.extend(utf8_percent_encode(name, NOT_IN_NAMES));
            path.push('/');
        }
        Ok(Self { path, query: None })
    }

    /// The slot path of a component's object, when it lies in the config tree.
    pub fn slot_path(&self) -> Option<String> {
        let key = self.key();
        let names = key.strip_prefix("/obix/config")?;
        match names {
            "" => Some("slot:/".into()),
            names if names.starts_with('/') => Some(format!("slot:{names}")),
            _ => None,
        }
    }

    /// The path of a child or a virtual child (`out`, `~historyQuery`), with trailing slash.
    pub fn child(&self, name: &str) -> Self {
        let mut path = self.path.clone();
        if !path.ends_with('/') {
            path.push('/');
        }
        path.extend(utf8_percent_encode(name, NOT_IN_NAMES));
        path.push('/');
        Self { path, query: None }
    }

    /// The last path segment as written.
    pub fn last_segment(&self) -> &str {
        self.path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default()
    }

    /// Path as received, for messages.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What two references to the same object have in common: no trailing slash, `%24` as `$`
    /// (oBIX specification §3 rule 7).
    pub fn key(&self) -> String {
        let path = self.path.replace("%24", "$");
        path.strip_suffix('/').map(str::to_owned).unwrap_or(path)
    }

    /// Whether both name the same object.
    pub fn is_same_object(&self, other: &Self) -> bool {
        self.key() == other.key() && self.query == other.query
    }

    /// The target of an HTTP request: valid percent escapes and `$` stay, everything that is not
    /// allowed in a path is escaped, and a bare `+` of a query (an offset) becomes `%2B`.
    pub fn request_target(&self) -> String {
        let mut target = escape_kept(&self.path, NOT_IN_PATH);
        if let Some(query) = &self.query {
            target.push('?');
            target.push_str(&escape_kept(query, NOT_IN_QUERY));
        }
        target
    }

    /// Whether the object belongs to the station's oBIX tree; nothing else is requested.
    pub fn is_in_tree(&self) -> bool {
        self.path == "/obix" || self.path.starts_with("/obix/")
    }

    /// The path that children are relative to: with a trailing slash, unless the object was a query.
    fn as_base(&self) -> String {
        if self.query.is_some() || self.path.ends_with('/') {
            self.path.clone()
        } else {
            format!("{}/", self.path)
        }
    }
}

impl fmt::Display for ObixPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.query {
            Some(query) => write!(f, "{}?{query}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

/// Unreserved characters and `$` stay in names.
const NOT_IN_NAMES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'$');
/// Path characters of RFC 3986 stay.
const NOT_IN_PATH: &AsciiSet = &NOT_IN_NAMES
    .remove(b'/')
    .remove(b':')
    .remove(b'@')
    .remove(b'!')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');
const NOT_IN_QUERY: &AsciiSet = &NOT_IN_PATH.add(b'+').remove(b'?');

/// Escapes what `set` names, but keeps valid `%XX` as they are.
fn escape_kept(text: &str, set: &'static AsciiSet) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find('%') {
        let (before, after) = rest.split_at(position);
        escaped.extend(utf8_percent_encode(before, set));
        match after.get(1..3) {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                escaped.push('%');
                escaped.push_str(digits);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                escaped.push_str("%25");
                rest = after.get(1..).unwrap_or_default();
            }
        }
    }
    escaped.extend(utf8_percent_encode(rest, set));
    escaped
}

/// The base of a fetched document: its root's `href`, else the request (oBIX specification §3 rule 1).
///
/// For the answer to an operation pass the object that owns the operation as `requested`.
pub fn document_base(requested: &ObixPath, root: &Object) -> ObixPath {
    root.href()
        .and_then(|href| match resolve(requested, href) {
            Ok(Reference::Object(path)) if path.is_in_tree() => Some(path),
            _ => None,
        })
        .unwrap_or_else(|| requested.clone())
}

/// Resolves a reference against the nearest ancestor that has one (oBIX specification §3).
pub fn resolve(base: &ObixPath, href: &str) -> Result<Reference, HrefError> {
    let href = href.trim();
    if href.len() > MAX_HREF {
        return Err(HrefError::TooLong);
    }
    if href.chars().any(char::is_control) {
        return Err(HrefError::ControlCharacter {
            href: shorten(href),
        });
    }
    if let Some(fragment) = href.strip_prefix('#') {
        return Ok(Reference::Fragment(fragment.to_owned()));
    }
    let href = href.split('#').next().unwrap_or_default();
    let (path, query) = match href.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (href, None),
    };
    let absolute = match scheme_and_rest(path) {
        Some((_, rest)) if rest.starts_with("//") => Some(after_authority(rest)),
        Some(_) => return Ok(Reference::Contract(href.to_owned())),
        None if path.starts_with("//") => Some(after_authority(path)),
        None if path.starts_with('/') => Some(path),
        None => None,
    };
    let path = match absolute {
        Some(path) => without_dots(path),
        None if path.is_empty() => base.path.clone(),
        None => {
            let base = base.as_base();
            let folder = base
                .rfind('/')
                .and_then(|end| base.get(..=end))
                .unwrap_or("/");
            without_dots(&format!("{folder}{path}"))
        }
    };
    let query = query.or_else(|| href.is_empty().then(|| base.query.clone()).flatten());
    Ok(Reference::Object(ObixPath { path, query }))
}

fn scheme_and_rest(path: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = path.split_once(':')?;
    let mut letters = scheme.chars();
    let valid = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    valid.then_some((scheme, rest))
}

/// The path behind `//authority`.
fn after_authority(text: &str) -> &str {
    let text = text.strip_prefix("//").unwrap_or(text);
    text.find('/')
        .and_then(|start| text.get(start..))
        .unwrap_or("/")
}

/// Removes `.` and `..` segments; nothing climbs above the root.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut ends_in_folder = false;
    for segment in path.split('/').skip(1) {
        ends_in_folder = false;
        match segment {
            "." => ends_in_folder = true,
            ".." => {
                kept.pop();
                ends_in_folder = true;
            }
            name => kept.push(name),
        }
    }
    let mut cleaned = String::with_capacity(path.len());
    for segment in kept {
        cleaned.push('/');
        cleaned.push_str(segment);
    }
    if cleaned.is_empty() || ends_in_folder {
        cleaned.push('/');
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::object::{Attribute, Element};
    use proptest::prelude::*;

    fn path(text: &str) -> ObixPath {
        ObixPath::parse(text).expect("a path")
    }

    fn resolved(base: &str, href: &str) -> String {
        match resolve(&path(base), href).expect("resolvable") {
            Reference::Object(path) => path.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn references_resolve_as_the_specification_lists_them() {
        let point = "/obix/config/Demo/Zone1Sp/";
        assert_eq!(resolved(point, "out/"), "/obix/config/Demo/Zone1Sp/out/");
        assert_eq!(
            resolved("/obix/config/Demo/Zone1Sp", "out/"),
            "/obix/config/Demo/Zone1Sp/out/"
        );
        assert_eq!(
            resolved(point, "https://localhost:443/obix/config/A/"),
            "/obix/config/A/"
        );
        assert_eq!(resolved(point, "/obix/config/A/"), "/obix/config/A/");
        assert_eq!(resolved(point, "../B/"), "/obix/config/Demo/B/");
        let history = "/obix/histories/St1/Zone1T/";
        assert_eq!(
            resolved(history, "~historyQuery/"),
            "/obix/histories/St1/Zone1T/~historyQuery/"
        );
        assert_eq!(
            resolved(history, "~historyQuery?limit=1000"),
            "/obix/histories/St1/Zone1T/~historyQuery?limit=1000"
        );
        assert_eq!(
            resolved("/obix/histories/St1/Zone1T/~historyQuery?limit=5", "count/"),
            "/obix/histories/St1/Zone1T/count/"
        );
        assert_eq!(
            resolve(&path(point), "#RecordDef"),
            Ok(Reference::Fragment("RecordDef".into()))
        );
        assert_eq!(
            resolve(&path(point), "obix:Point"),
            Ok(Reference::Contract("obix:Point".into()))
        );
        assert_eq!(
            resolved(point, "/obix/def/obix:HistoryFilter"),
            "/obix/def/obix:HistoryFilter"
        );
    }

    #[test]
    fn an_operation_answer_without_href_is_based_on_its_owner() {
        let owner = path("/obix/config/Demo/Zone1Sp/");
        let mut answer = Object::new(Element::Real);
        assert_eq!(document_base(&owner, &answer), owner);
        answer.set(Attribute::Href, "http://10.0.0.9/obix/config/Other/");
        assert_eq!(document_base(&owner, &answer), path("/obix/config/Other/"));
    }

    #[test]
    fn both_spellings_of_an_escaped_name_are_one_object() {
        let one = path("/obix/config/DB%242dL4/");
        let other = path("http://elsewhere:8080/obix/config/DB$2dL4");
        assert!(one.is_same_object(&other));
        assert!(!one.is_same_object(&path("/obix/config/DB$2dL5")));
        assert_eq!(one.slot_path().as_deref(), Some("slot:/DB$2dL4"));
    }

    #[test]
    fn request_paths_keep_escapes_and_never_double_them() {
        let point = ObixPath::of_slot_path("slot:/Drivers/SW$20ALTA$201").expect("a slot path");
        assert_eq!(
            point.request_target(),
            "/obix/config/Drivers/SW$20ALTA$201/"
        );
        assert_eq!(
            path("/obix/config/A%20B/").request_target(),
            "/obix/config/A%20B/"
        );
        assert_eq!(
            path("/obix/config/50%/é/").request_target(),
            "/obix/config/50%25/%C3%A9/"
        );
        assert_eq!(
            path("/obix/h/~historyQuery?start=2024-08-20T00:00:00.000+02:00").request_target(),
            "/obix/h/~historyQuery?start=2024-08-20T00:00:00.000%2B02:00"
        );
        assert_eq!(
            ObixPath::of_slot_path("slot:/").expect("the root").path(),
            "/obix/config/"
        );
        for wrong in ["h:2f1", "slot:/A//B", "slot:/../x", "slot:/a\n"] {
            assert!(ObixPath::of_slot_path(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_climbs_out_of_the_tree_unseen() {
        assert!(!path("/obix/../login").is_in_tree());
        assert!(!path("https://h/ord?module://icons/x16/a.png").is_in_tree());
        assert!(path("/obix/def/control:NumericPoint").is_in_tree());
    }

    proptest! {
        #[test]
        fn no_reference_upsets_resolution(base in "\\PC{0,20}", href in "\\PC{0,40}") {
            let base = ObixPath::parse(&format!("/obix/{base}")).unwrap_or_else(|_| ObixPath::lobby());
            if let Ok(Reference::Object(path)) = resolve(&base, &href) {
                let target = path.request_target();
                prop_assert!(target.starts_with('/') && target.is_ascii());
                prop_assert!(http::Uri::try_from(target.as_str()).is_ok(), "{}", target);
            }
        }

        #[test]
        fn slot_paths_survive_the_way_to_obix_and_back(names in proptest::collection::vec("[A-Za-z_][A-Za-z0-9_]{0,6}(\\$20)?", 0..5)) {
            let slot_path = format!("slot:/{}", names.join("/"));
            let object = ObixPath::of_slot_path(&slot_path).expect("a slot path");
            prop_assert_eq!(object.slot_path(), Some(slot_path));
        }
    }
}
