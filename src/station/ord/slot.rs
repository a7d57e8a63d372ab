//! Slot names, their escaping, and paths of them.

use std::fmt;
use std::str::FromStr;

use super::{Ord, OrdError};

/// A slot name in its escaped, stored form (`Pt$201`).
///
/// Names are used verbatim as the station lists them; decode for display only (Station web specification §0.3).
///
/// ```
/// use niagara_bridge::station::ord::SlotName;
/// let name = SlotName::escape("SW ALTA 1").unwrap();
/// assert_eq!(name.as_str(), "SW$20ALTA$201");
/// assert_eq!(name.display(), "SW ALTA 1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotName(String);

impl SlotName {
    /// Takes an already escaped name.
    pub fn new(name: impl Into<String>) -> Result<Self, OrdError> {
        let name = name.into();
        let illegal = name.is_empty()
            || name == "."
            || name == ".."
            || name.contains(['/', '|'])
            || name.chars().any(char::is_control);
        if illegal {
            return Err(OrdError::Name { name });
        }
        Ok(Self(name))
    }

    /// Escapes a display name into a slot name.
    pub fn escape(display: &str) -> Result<Self, OrdError> {
        Self::new(escape(display))
    }

    /// The escaped text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a station can have a slot under this very text: letters, digits and `_`, no digit in front, and whatever
    /// else as `$hh` or `$uhhhh` (Station web specification §0.3).
    ///
    /// ```
    /// use niagara_bridge::station::ord::SlotName;
    /// let stored = |name: &str| SlotName::new(name).unwrap().is_as_stored();
    /// assert!(stored("Pt$201") && stored("$3101") && stored("$u6e29_a"));
    /// assert!(!stored("Pt 1") && !stored("101") && !stored("Pt-1") && !stored("Pt$2"));
    /// ```
    pub fn is_as_stored(&self) -> bool {
        let mut rest = self.0.as_str();
        if rest.starts_with(|first: char| first.is_ascii_digit()) {
            return false;
        }
        while let Some(at) = rest.find('$') {
            let (plain, escape) = rest.split_at(at);
            let (prefix, digits) = match escape.starts_with("$u") {
                true => (2, 4),
                false => (1, 2),
            };
            let code = escape.get(prefix..prefix + digits).unwrap_or_default();
            let is_code = code.len() == digits && code.bytes().all(|b| b.is_ascii_hexdigit());
            if !is_code || !is_plain(plain) {
                return false;
            }
            rest = escape.get(prefix + digits..).unwrap_or_default();
        }
        is_plain(rest)
    }

    /// The text people read.
    pub fn display(&self) -> String {
        unescape(&self.0)
    }
}

impl fmt::Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

/// Escapes text as slot names and facet strings are (oBIX specification §4.2).
///
/// ```
/// use niagara_bridge::station::ord::escape;
/// assert_eq!(escape("1st Floor"), "$31st$20Floor");
/// assert_eq!(escape("Température"), "Temp$e9rature");
/// assert_eq!(escape("温度"), "$u6e29$u5ea6");
/// ```
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for (index, c) in text.chars().enumerate() {
        let plain = c == '_' || c.is_ascii_alphabetic() || (c.is_ascii_digit() && index > 0);
        if plain {
            escaped.push(c);
            continue;
        }
        let mut units = [0u16; 2];
        // Java strings are UTF-16: a character beyond the basic plane is escaped as its two surrogates.
        for unit in c.encode_utf16(&mut units) {
            if *unit <= 0xff {
                escaped.push_str(&format!("${unit:02x}"));
            } else {
                escaped.push_str(&format!("$u{unit:04x}"));
            }
        }
    }
    escaped
}

/// Undoes [`escape`]; a `$` without a complete escape behind it is kept as it is.
///
/// ```
/// use niagara_bridge::station::ord::unescape;
/// assert_eq!(unescape("DB$2dL4$2e2$2dPower"), "DB-L4.2-Power");
/// assert_eq!(unescape("Cost$"), "Cost$");
/// ```
pub fn unescape(text: &str) -> String {
    if !text.contains('$') {
        return text.to_owned();
    }
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        if c == '$' {
            let (digits, width) = match after.strip_prefix('u') {
                Some(digits) => (digits.get(..4), 5),
                None => (after.get(..2), 2),
            };
            let hex = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
            if let Some(unit) = hex.and_then(|d| u16::from_str_radix(d, 16).ok()) {
                units.push(unit);
                rest = &after[width..];
                continue;
            }
        }
        let mut buffer = [0u16; 2];
        units.extend_from_slice(c.encode_utf16(&mut buffer));
        rest = after;
    }
    String::from_utf16_lossy(&units)
}

/// Path of a component or slot from the station root.
///
/// ```
/// use niagara_bridge::station::ord::SlotPath;
/// let path: SlotPath = "slot:/Drivers/Net/Pt$201".parse().unwrap();
/// assert_eq!(path.name().unwrap().display(), "Pt 1");
/// assert_eq!(path.parent().unwrap().to_string(), "slot:/Drivers/Net");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SlotPath {
    names: Vec<SlotName>,
}

impl SlotPath {
    /// The station root, `slot:/`.
    pub fn root() -> Self {
        Self::default()
    }

    /// True for `slot:/`.
    pub fn is_root(&self) -> bool {
        self.names.is_empty()
    }

    /// The names from the root down.
    pub fn names(&self) -> &[SlotName] {
        &self.names
    }

    /// Last name; none at the root.
    pub fn name(&self) -> Option<&SlotName> {
        self.names.last()
    }

    /// Path of the containing object; none at the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.names.split_last()?;
        Some(Self {
            names: above.to_vec(),
        })
    }

    /// Path of a child.
    pub fn child(&self, name: SlotName) -> Self {
        let mut names = self.names.clone();
        names.push(name);
        Self { names }
    }

    /// True when `self` is `other` or lies below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.names.starts_with(&other.names)
    }

    /// The path without its scheme, `/A/B`.
    pub fn body(&self) -> String {
        if self.names.is_empty() {
            return "/".to_owned();
        }
        self.names.iter().fold(String::new(), |mut body, name| {
            body.push('/');
            body.push_str(name.as_str());
            body
        })
    }

    pub(super) fn from_body(body: &str, ord: &str) -> Result<Self, OrdError> {
        let inner = body.strip_prefix('/').unwrap_or(body);
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        if inner.is_empty() && body.len() <= 1 {
            return Ok(Self::root());
        }
        let names = inner
            .split('/')
            .map(|segment| {
                SlotName::new(segment).map_err(|_| OrdError::Segment {
                    ord: ord.to_owned(),
                    segment: segment.to_owned(),
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { names })
    }
}

impl fmt::Display for SlotPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot:{}", self.body())
    }
}

impl FromStr for SlotPath {
    type Err = OrdError;

    fn from_str(text: &str) -> Result<Self, OrdError> {
        match Ord::component(text)? {
            Ord::Slot(path) => Ok(path),
            _ => Err(OrdError::Scheme {
                ord: text.to_owned(),
                expected: "a slot path begins with slot:/",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn worked_examples_of_the_escape_table_hold_both_ways() {
        for (display, slot) in [
            ("SW ALTA 1", "SW$20ALTA$201"),
            ("DB-L4.2-Power", "DB$2dL4$2e2$2dPower"),
            ("1st Floor", "$31st$20Floor"),
            ("Température", "Temp$e9rature"),
            ("A/C Unit", "A$2fC$20Unit"),
            ("Pump$1", "Pump$241"),
            ("AHU_1", "AHU_1"),
            ("温度", "$u6e29$u5ea6"),
        ] {
            assert_eq!(escape(display), slot);
            assert_eq!(unescape(slot), display);
        }
    }

    proptest! {
        #[test]
        fn any_display_name_survives_escaping(name in "\\PC{1,20}") {
            prop_assert_eq!(unescape(&escape(&name)), name.clone());
            prop_assert!(SlotName::escape(&name).is_ok_and(|name| name.is_as_stored()));
            prop_assert!(escape(&name).bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$'));
        }
    }
}
