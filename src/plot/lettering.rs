//! Text in pictures: the bundled font, its measures, and names that cannot pass for markup.

use std::sync::OnceLock;

use plotters::style::{
    Color, FontStyle, IntoFont, RGBColor, TextStyle, register_font,
    text_anchor::{HPos, Pos, VPos},
};

use super::PlotError;
use crate::visible_text::one_line;

/// Liberation Sans 2, SIL Open Font License 1.1 (the licence lies beside it); as wide as the fonts named behind it, so
/// that the measures hold in a viewer of SVG without it.
static FONT: &[u8] = include_bytes!("../../knowledge/fonts/LiberationSans-Regular.ttf");

/// The name in SVG, and the name under which the drawing library knows the font.
const FAMILY: &str = "Liberation Sans, Arial, Helvetica, sans-serif";

/// Longest label, in characters.
const LABEL_LIMIT: usize = 80;

/// Makes the font known; once in a process.
///
/// # Errors
/// The font cannot be read.
pub(super) fn load() -> Result<(), PlotError> {
    static LOADED: OnceLock<bool> = OnceLock::new();
    let sound = LOADED.get_or_init(|| register_font(FAMILY, FontStyle::Normal, FONT).is_ok());
    match sound {
        true => Ok(()),
        false => Err(PlotError::Drawing(
            "the bundled font is damaged; build the program again".to_owned(),
        )),
    }
}

/// Text of so many pixels, from the point where it is put to the right and down.
pub(super) fn text(size: i32, colour: RGBColor) -> TextStyle<'static> {
    (FAMILY, f64::from(size.max(1)))
        .into_font()
        .color(&colour.to_rgba())
}

/// The same, centred on the point's column.
pub(super) fn centred(size: i32, colour: RGBColor) -> TextStyle<'static> {
    text(size, colour).pos(Pos::new(HPos::Center, VPos::Top))
}

/// Pixels that a text is wide.
pub(super) fn width(text: &str, size: i32) -> i32 {
    let measured = (FAMILY, f64::from(size.max(1)))
        .into_font()
        .box_size(text)
        .map(|(width, _)| width);
    i32::try_from(measured.unwrap_or_default()).unwrap_or(i32::MAX)
}

/// A name from outside as a label: one visible line of characters that XML has, at most [`LABEL_LIMIT`] of them.
pub(super) fn label(name: &str) -> String {
    let visible = one_line(name);
    let mut sound = visible
        .chars()
        .filter(|character| !matches!(character, '\u{fffe}' | '\u{ffff}'));
    let mut label: String = sound.by_ref().take(LABEL_LIMIT).collect();
    if sound.next().is_some() {
        label.pop();
        label.push('…');
    }
    label
}

/// As much of a text as fits into so many pixels.
pub(super) fn fitting(text: &str, size: i32, most: i32) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let shorter: String = kept.iter().chain(['…'].iter()).collect();
        if width(&shorter, size) <= most {
            return shorter;
        }
    }
    String::new()
}

/// Text as XML content.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_visible_line_of_bounded_length() {
        assert_eq!(label("a\n\u{202e}b\u{ffff}\u{0}c"), "a bc");
        let long = label(&"x".repeat(500));
        assert_eq!(long.chars().count(), LABEL_LIMIT);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn a_text_is_cut_until_it_fits() {
        load().expect("the font");
        let whole = width("Supply air temperature", 12);
        assert!((100..160).contains(&whole), "{whole}");
        assert_eq!(fitting("Supply air", 12, 400), "Supply air");
        let cut = fitting("Supply air temperature", 12, whole / 2);
        assert!(cut.starts_with("Suppl") && cut.ends_with('…'), "{cut}");
        assert!(width(&cut, 12) <= whole / 2);
        assert_eq!(fitting("Supply", 12, 0), "");
    }
}
