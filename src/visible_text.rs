//! Foreign text on one line: no character that moves the cursor, turns the reading direction or hides.

/// One line: line ends and tabs become single blanks, characters that nobody sees are removed.
///
/// ```
/// use niagara_bridge::visible_text::one_line;
/// assert_eq!(one_line("a\r\n\tb\u{1b}[31m \u{202e}c\u{200b}"), "a b[31m c");
/// ```
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut in_break = false;
    for character in text.chars() {
        if is_break(character) {
            if !in_break {
                line.push(' ');
            }
            in_break = true;
            continue;
        }
        in_break = false;
        if !is_invisible(character) {
            line.push(character);
        }
    }
    line
}

fn is_break(character: char) -> bool {
    matches!(character, '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Controls, bidi overrides and isolates, zero-width and other characters without a glyph (Store §10.4).
pub fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}
