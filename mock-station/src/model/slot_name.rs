//! Slot names and their `$` escapes (Station web specification §0.3, oBIX specification §4.2).

/// Whether `name` is a legal escaped slot name: letters, digits, `_` and `$` escapes, no leading digit.
pub fn is_legal(name: &str) -> bool {
    let mut characters = name.chars();
    match characters.next() {
        Some(first) if first.is_ascii_alphabetic() || first == '_' || first == '$' => {}
        _ => return false,
    }
    characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

/// Escapes a display name into a slot name.
///
/// ```
/// use mock_station::model::slot_name::escape;
/// assert_eq!(escape("A/C Unit"), "A$2fC$20Unit");
/// assert_eq!(escape("1st Floor"), "$31st$20Floor");
/// assert_eq!(escape("温度"), "$u6e29$u5ea6");
/// ```
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (position, unit) in text.encode_utf16().enumerate() {
        let plain = u8::try_from(unit).ok().map(char::from).filter(|c| {
            c.is_ascii_alphabetic() || *c == '_' || (position > 0 && c.is_ascii_digit())
        });
        match plain {
            Some(c) => escaped.push(c),
            None if unit <= 0xff => escaped.push_str(&format!("${unit:02x}")),
            None => escaped.push_str(&format!("$u{unit:04x}")),
        }
    }
    escaped
}

/// Decodes the escapes of a slot name for display; an unmatched `$` stays as it is.
///
/// ```
/// use mock_station::model::slot_name::unescape;
/// assert_eq!(unescape("Temp$e9rature"), "Température");
/// assert_eq!(unescape("cost$"), "cost$");
/// ```
pub fn unescape(name: &str) -> String {
    if !name.contains('$') {
        return name.to_owned();
    }
    let mut units: Vec<u16> = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (unit, length) = match escape_at(rest) {
            Some(found) => found,
            None => {
                units.extend(c.encode_utf16(&mut [0; 2]).iter());
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        units.push(unit);
        rest = &rest[length..];
    }
    String::from_utf16_lossy(&units)
}

fn escape_at(text: &str) -> Option<(u16, usize)> {
    let body = text.strip_prefix('$')?;
    let (digits, length) = match body.strip_prefix('u') {
        Some(wide) => (wide.get(..4)?, 6),
        None => (body.get(..2)?, 3),
    };
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    Some((u16::from_str_radix(digits, 16).ok()?, length))
}

/// The name a slot shows when nobody gave it a display name: unescaped, and camel case split into words for frozen slots.
pub fn friendly(name: &str) -> String {
    let plain = unescape(name);
    let mut words = String::with_capacity(plain.len() + 4);
    let mut previous: Option<char> = None;
    for c in plain.chars() {
        match previous {
            None => words.extend(c.to_uppercase()),
            Some(before) => {
                if c.is_uppercase() && !before.is_uppercase() && before != ' ' {
                    words.push(' ');
                }
                words.push(c);
            }
        }
        previous = Some(c);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_from_the_specification_table_escape_as_listed() {
        for (display, slot) in [
            ("SW ALTA 1", "SW$20ALTA$201"),
            ("DB-L4.2-Power", "DB$2dL4$2e2$2dPower"),
            ("Température", "Temp$e9rature"),
            ("Pump$1", "Pump$241"),
            ("AHU_1", "AHU_1"),
        ] {
            assert_eq!(escape(display), slot);
            assert_eq!(unescape(slot), display);
            assert!(is_legal(slot));
        }
        assert!(!is_legal("1st") && !is_legal("") && !is_legal("a/b"));
    }

    #[test]
    fn frozen_names_show_as_words() {
        assert_eq!(friendly("proxyExt"), "Proxy Ext");
        assert_eq!(friendly("in10"), "In10");
        assert_eq!(friendly("out"), "Out");
    }

    proptest! {
        #[test]
        fn unescape_undoes_escape(text in "\\PC{0,24}") {
            prop_assert_eq!(unescape(&escape(&text)), text);
        }

        #[test]
        fn unescape_accepts_anything(text in ".{0,24}") {
            let _ = unescape(&text);
        }
    }
}
