//! Texts brought to one form, so that case and accents do not matter.

use unicode_normalization::UnicodeNormalization;

/// A text without case and accents, in the composed compatibility form of Unicode.
///
/// Marks that are letters of their own (vowel signs of Indic scripts, voicing marks of kana) stay.
///
/// ```
/// use niagara_bridge::knowledge::search::fold;
/// assert_eq!(fold("Kühlwasser STRASSE"), fold("kuhlwasser straße"));
/// assert_eq!(fold("Bâtiment Élevé"), "batiment eleve");
/// assert_eq!(fold("ＡＨＵ １ 空調"), "ahu 1 空調");
/// assert_ne!(fold("が"), fold("か"));
/// ```
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd()
        .filter(|character| !is_accent(*character))
        // Upper case first: it writes ß as SS, and gives the final sigma its common form.
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .flat_map(without_stroke)
        .nfc()
        .collect()
}

/// The blocks of combining diacritical marks; marks of other blocks belong to their script.
fn is_accent(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
    )
}

/// Letters whose stroke or ligature Unicode does not take apart.
fn without_stroke(character: char) -> impl Iterator<Item = char> {
    let (first, second) = match character {
        'ø' => ('o', None),
        'ł' => ('l', None),
        'đ' => ('d', None),
        'ħ' => ('h', None),
        'ı' => ('i', None),
        'æ' => ('a', Some('e')),
        'œ' => ('o', Some('e')),
        other => (other, None),
    };
    std::iter::once(first).chain(second)
}
