//! RDF Turtle: prefixes, and one block per subject.

use std::fmt::Write;

/// Text of a Turtle document as it grows.
#[derive(Default)]
pub(super) struct Turtle {
    text: String,
}

/// What a predicate leads to.
pub(super) enum Object {
    /// A prefixed name as [`name`] makes it.
    Name(String),
    Text(String),
}

impl Turtle {
    /// Declares a prefix; `iri` must hold no character that Turtle forbids there.
    pub fn prefix(&mut self, prefix: &str, iri: &str) {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(self.text, "@prefix {prefix}: <{iri}> .");
    }

    /// Writes a subject with its class and what is said of it.
    pub fn subject(&mut self, subject: &str, class: &str, said: &[(&str, Object)]) {
        let _ = write!(self.text, "\n{subject} a {class}");
        for (predicate, object) in said {
            let _ = match object {
                Object::Name(name) => write!(self.text, " ;\n    {predicate} {name}"),
                Object::Text(text) => write!(self.text, " ;\n    {predicate} {}", literal(text)),
            };
        }
        self.text.push_str(" .\n");
    }

    pub fn finish(self) -> String {
        self.text
    }
}

/// A prefixed name whose local part is `parts` joined by dots, each part escaped.
pub(super) fn name(prefix: &str, parts: &[&str]) -> String {
    let local: Vec<String> = parts.iter().map(|part| local_part(part)).collect();
    format!("{prefix}:{}", local.join("."))
}

/// ASCII letters, digits, `_` and `-` stand for themselves, every other byte as `%` and two hex digits.
///
/// A local name may not begin with `-`; a hex pair is allowed anywhere (Turtle grammar, `PN_LOCAL`). The same text is
/// safe inside an IRI.
pub(super) fn local_part(text: &str) -> String {
    let mut local = String::with_capacity(text.len());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'-' if at > 0 => local.push('-'),
            b'_' => local.push('_'),
            byte if byte.is_ascii_alphanumeric() => local.push(char::from(byte)),
            byte => {
                let _ = write!(local, "%{byte:02X}");
            }
        }
    }
    local
}

fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
