//! Secrets and the one mask that every log line passes: no password, token, cookie or proof leaves the process in a
//! line of text (Tool surface §4.2).
//!
//! - [`Secret`]: a text that is never printed; while it lives, the mask knows it.
//! - [`is_secret_name`], [`is_secret_type`]: which slots, keys and types hold secrets.
//! - [`mask`]: replaces every living secret, and whatever stands under a key that names one.
//! - [`MaskedWriter`]: a writer that masks before it writes.

mod mask;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

pub use mask::{MaskedWriter, mask};

/// What stands in place of a secret.
pub const REDACTED: &str = "<redacted>";

/// Words that make the name of a key or slot that of a secret (Tool surface §4.2).
pub(crate) const SECRET_WORDS: [&str; 7] = [
    "password",
    "secret",
    "token",
    "apikey",
    "passcode",
    "pwd",
    "credential",
];

/// Whether a key or slot of this name may hold a secret: one of the words occurs in it, whatever its case.
///
/// ```
/// use niagara_bridge::secrecy::is_secret_name;
/// assert!(is_secret_name("smtpPassword") && is_secret_name("mcp$3atokenHash"));
/// assert!(!is_secret_name("setpoint"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Whether values of this type are secrets: password types and the authenticators of users.
pub fn is_secret_type(type_spec: &str) -> bool {
    let name = type_spec
        .rsplit(':')
        .next()
        .unwrap_or(type_spec)
        .to_lowercase();
    name.contains("password") || name.contains("authenticator") || name.contains("credential")
}

/// A shorter text is not searched for: it would occur in harmless words, and no station takes it as a password.
const SHORTEST: usize = 4;

/// Session ids of stations are longer.
const SHORTEST_KEY: usize = 8;

/// Schemes in front of a credential in a header; what stands behind one is a secret by itself.
const SCHEMES: [&str; 4] = ["Basic ", "Bearer ", "BEARER authToken=", "SCRAM data="];

/// As forms and queries are written: the unreserved characters stay.
const FORM: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A password, token or other credential: never printed, masked in log lines while it lives, wiped from memory when
/// its last copy is dropped.
#[derive(Clone)]
pub struct Secret(Arc<Held>);

struct Held {
    /// Its place among the living secrets; none for a text that may be shown.
    place: Option<u64>,
    text: Zeroizing<String>,
    /// The ways it may be written, longest first; made when the first line is masked.
    forms: OnceLock<Vec<Zeroizing<String>>>,
}

#[derive(Default)]
struct Living {
    last: u64,
    held: BTreeMap<u64, Weak<Held>>,
}

static LIVING: Mutex<Living> = Mutex::new(Living {
    last: 0,
    held: BTreeMap::new(),
});

fn living() -> MutexGuard<'static, Living> {
    // Insert and remove leave the table consistent, so a panic elsewhere cannot have broken it.
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Secret {
    /// Takes the text over.
    pub fn new(text: impl Into<String>) -> Self {
        let text = Zeroizing::new(text.into());
        if text.len() < SHORTEST {
            return Self::unlisted(text);
        }
        let mut living = living();
        living.last += 1;
        let place = living.last;
        let held = Arc::new(Held {
            place: Some(place),
            text,
            forms: OnceLock::new(),
        });
        living.held.insert(place, Arc::downgrade(&held));
        Self(held)
    }

    /// Takes over the key of a session. A shorter one is rather a setting or a number, which may be shown.
    pub(crate) fn session_key(text: &str) -> Self {
        if text.len() < SHORTEST_KEY {
            return Self::harmless(text);
        }
        Self::new(text)
    }

    /// Takes over a text that is kept like a secret but may occur in log lines, such as a user name in a cookie.
    pub(crate) fn harmless(text: impl Into<String>) -> Self {
        Self::unlisted(Zeroizing::new(text.into()))
    }

    fn unlisted(text: Zeroizing<String>) -> Self {
        Self(Arc::new(Held {
            place: None,
            text,
            forms: OnceLock::new(),
        }))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0.text
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            living().held.remove(&place);
        }
    }
}

impl Held {
    /// The text as it is, in URLs, in JSON, in Rust's debug output, and in Base64.
    fn forms(&self) -> &[Zeroizing<String>] {
        self.forms.get_or_init(|| {
            let text = self.text.as_str();
            let bare = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme));
            let mut forms: Vec<Zeroizing<String>> = Vec::new();
            let plain = [Some(text), bare];
            for text in plain.into_iter().flatten() {
                let debug = Zeroizing::new(format!("{text:?}"));
                let debug = debug.trim_matches('"');
                let written = [
                    text.to_owned(),
                    utf8_percent_encode(text, FORM).to_string(),
                    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string(),
                    in_json(text),
                    debug.to_owned(),
                    in_json(debug),
                    STANDARD_NO_PAD.encode(text),
                    URL_SAFE_NO_PAD.encode(text),
                ];
                forms.extend(written.map(Zeroizing::new));
            }
            forms.retain(|form| form.len() >= SHORTEST);
            forms.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
            forms.dedup();
            forms
        })
    }
}

/// The text as it stands between the quotes of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(&quoted).to_owned()
}

/// The secrets that live now. They are dropped outside the table's lock: the last copy of one takes the lock itself.
fn all_living() -> Vec<Arc<Held>> {
    living().held.values().filter_map(Weak::upgrade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_as_long_as_any_copy_of_it_lives() {
        let secret = Secret::new("zebra-crossing-11");
        let copy = secret.clone();
        drop(secret);
        assert_eq!(mask("it is zebra-crossing-11."), "it is <redacted>.");
        assert_eq!(copy.expose(), "zebra-crossing-11");
        drop(copy);
        assert_eq!(mask("it is zebra-crossing-11."), "it is zebra-crossing-11.");
    }

    #[test]
    fn every_way_to_write_a_secret_is_known() {
        let text = "ümlaut \"quoted\" 50%/+=\n";
        let _secret = Secret::new(text);
        let json = serde_json::json!({ "field": format!("seen: {text:?}") }).to_string();
        for written in [
            format!("plain {text}"),
            format!("debug {text:?}"),
            format!("json {}", serde_json::json!({ "shown": text })),
            format!("debug in JSON {json}"),
            format!("query {}", utf8_percent_encode(text, FORM)),
            format!("standard {}", STANDARD_NO_PAD.encode(text)),
            format!("for URLs {}", URL_SAFE_NO_PAD.encode(text)),
        ] {
            let masked = mask(&written);
            assert!(masked.contains(REDACTED), "{written} → {masked}");
            for part in ["mlaut", "quoted", "50%", "NTAl"] {
                assert!(!masked.contains(part), "{written} → {masked}");
            }
        }
    }

    #[test]
    fn a_credential_is_known_without_its_scheme() {
        let _header = Secret::new("Basic YnJpZGdlOnMzY3JldA==");
        assert_eq!(mask("sent YnJpZGdlOnMzY3JldA=="), "sent <redacted>");
    }

    #[test]
    fn harmless_and_tiny_texts_stay_readable() {
        let _user = Secret::harmless("operator-7");
        let _tiny = Secret::new("ok");
        assert_eq!(mask("operator-7 is ok"), "operator-7 is ok");
    }

    #[test]
    fn nothing_is_shown_by_debug_output() {
        assert_eq!(format!("{:?}", Secret::new("zebra-crossing-12")), "Secret");
    }
}
