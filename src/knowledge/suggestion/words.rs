//! Names of points and components taken apart: escapes, separators, camel case, digits, umlauts and accents.

use crate::station::ord::unescape;

/// A part of a name: letters or digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    /// Lower case, umlauts as two letters, without accents.
    pub text: String,
    /// As it stands in the name.
    pub shown: String,
    pub is_number: bool,
    /// Something other than a letter or digit stands before it.
    pub is_apart: bool,
    /// Where it ends in the readable name, in bytes.
    pub end: usize,
}

/// The pieces of a slot name or display name.
///
/// Boundaries are everything that is no letter or digit, a change between letters and digits, a capital after a small
/// letter, and the last of several capitals when a small letter follows.
pub(super) fn pieces(name: &str) -> Vec<Piece> {
    let name = unescape(name);
    let letters: Vec<char> = name.chars().collect();
    let mut end = 0;
    let mut all: Vec<Piece> = Vec::new();
    let mut current = String::new();
    let mut is_apart = false;
    let mut before = None;
    for (at, letter) in letters.iter().copied().enumerate() {
        let next = letters.get(at + 1).copied();
        let begin = end;
        end += letter.len_utf8();
        if is_combining(letter) {
            current.push(letter);
            continue;
        }
        let class = Class::of(letter);
        if class == Class::Other {
            push(&mut all, &mut current, is_apart, begin);
            is_apart = true;
            before = None;
            continue;
        }
        let breaks = match (before, class) {
            (None, _) => false,
            (Some(Class::Digit), Class::Digit) => false,
            (Some(Class::Digit), _) | (Some(_), Class::Digit) => true,
            (Some(Class::Small), Class::Capital) => true,
            // "HWReturn" is HW and Return, but plural "VAVs" stays one word.
            (Some(Class::Capital), Class::Capital) => {
                next.is_some_and(|next| Class::of(next) == Class::Small)
                    && !is_plural_end(&letters, at + 1)
            }
            _ => false,
        };
        if breaks {
            push(&mut all, &mut current, is_apart, begin);
            is_apart = false;
        }
        current.push(letter);
        before = Some(class);
    }
    push(&mut all, &mut current, is_apart, end);
    all
}

/// The pieces of a name as texts.
pub(in crate::knowledge) fn name_parts(name: &str) -> Vec<String> {
    pieces(name).into_iter().map(|piece| piece.text).collect()
}

fn is_plural_end(letters: &[char], at: usize) -> bool {
    letters.get(at) == Some(&'s')
        && letters
            .get(at + 1)
            .is_none_or(|after| Class::of(*after) == Class::Other)
}

fn push(all: &mut Vec<Piece>, current: &mut String, is_apart: bool, end: usize) {
    if current.is_empty() {
        return;
    }
    let text = fold(current);
    if !text.is_empty() {
        all.push(Piece {
            is_number: text.chars().all(|letter| letter.is_ascii_digit()),
            text,
            shown: std::mem::take(current),
            is_apart: is_apart || all.is_empty(),
            end,
        });
    }
    current.clear();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Small,
    Capital,
    Digit,
    Other,
}

impl Class {
    fn of(letter: char) -> Self {
        if letter.is_ascii_digit() || ('₀'..='₉').contains(&letter) {
            Self::Digit
        } else if letter.is_uppercase() {
            Self::Capital
        } else if letter.is_alphabetic() {
            Self::Small
        } else {
            Self::Other
        }
    }
}

fn is_combining(letter: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&letter)
}

/// Lower case, German umlauts as two letters, other accents dropped, subscripts as digits; what is no letter or digit is
/// left out.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            'ä' => folded.push_str("ae"),
            'ö' => folded.push_str("oe"),
            'ü' => folded.push_str("ue"),
            'ß' => folded.push_str("ss"),
            // A diaeresis that stands apart makes an umlaut of the letter before it.
            '\u{308}' if folded.ends_with(['a', 'o', 'u']) => folded.push('e'),
            'à' | 'á' | 'â' | 'ã' | 'å' => folded.push('a'),
            'è' | 'é' | 'ê' | 'ë' => folded.push('e'),
            'ì' | 'í' | 'î' | 'ï' => folded.push('i'),
            'ò' | 'ó' | 'ô' | 'õ' | 'ø' => folded.push('o'),
            'ù' | 'ú' | 'û' => folded.push('u'),
            'ç' => folded.push('c'),
            'ñ' => folded.push('n'),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'φ' | 'ϕ' => folded.push_str("phi"),
            'Δ' | 'δ' => folded.push_str("delta"),
            '₀'..='₉' => {
                if let Some(digit) = char::from_digit(u32::from(letter) - u32::from('₀'), 10) {
                    folded.push(digit);
                }
            }
            _ if letter.is_alphanumeric() => folded.push(letter),
            _ => {}
        }
    }
    folded
}

/// Text as an id: small letters and digits with hyphens between the words (tool surface §9.3).
pub(in crate::knowledge) fn kebab(name: &str) -> String {
    let mut id = String::new();
    let mut is_apart = true;
    for letter in unescape(name).chars() {
        let folded = fold(&letter.to_string());
        let plain: String = folded.chars().filter(char::is_ascii_alphanumeric).collect();
        if plain.is_empty() {
            is_apart |= !is_combining(letter);
        } else {
            if is_apart && !id.is_empty() {
                id.push('-');
            }
            is_apart = false;
            id.push_str(&plain);
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(name: &str) -> Vec<String> {
        pieces(name).into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn names_fall_apart_as_people_read_them() {
        for (name, parts) in [
            ("DA$2dT$20SP", vec!["da", "t", "sp"]),
            ("SupFanVFD_Spd", vec!["sup", "fan", "vfd", "spd"]),
            ("LChWT", vec!["l", "ch", "wt"]),
            ("RmCO2", vec!["rm", "co", "2"]),
            ("K$fchlventil", vec!["kuehlventil"]),
            ("Luftg$fcte$20CO$u2082", vec!["luftguete", "co", "2"]),
            ("$34$2dWege$2dVentil", vec!["4", "wege", "ventil"]),
            ("1st Floor VAVs", vec!["1", "st", "floor", "vavs"]),
            ("Température de départ", vec!["temperature", "de", "depart"]),
            ("Ru\u{308}cklauf", vec!["ruecklauf"]),
            ("cos φ", vec!["cos", "phi"]),
            ("%RLA", vec!["rla"]),
            ("温度", vec!["温度"]),
            ("", vec![]),
        ] {
            assert_eq!(split(name), parts, "{name}");
        }
    }

    #[test]
    fn ids_are_kebab_case() {
        for (name, id) in [
            ("VAV$2d1$2d01", "vav-1-01"),
            ("RLT03$20$282$2eOG$29", "rlt03-2-og"),
            ("Rückkühlwerk", "rueckkuehlwerk"),
            ("AHU_2", "ahu-2"),
            ("温度", ""),
        ] {
            assert_eq!(kebab(name), id);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_name_is_too_odd(name in "\\PC{0,40}") {
            for piece in pieces(&name) {
                proptest::prop_assert!(!piece.text.is_empty());
            }
            let id = kebab(&name);
            proptest::prop_assert!(id.chars().all(|letter| letter == '-' || letter.is_ascii_alphanumeric()));
            proptest::prop_assert!(!id.starts_with('-') && !id.ends_with('-'));
        }
    }
}
