//! HTML as it is written: every text is escaped here, and nowhere else.

use std::fmt::Write as _;

/// A growing piece of HTML.
#[derive(Debug, Default)]
pub(super) struct Html(String);

/// Text that means itself, in elements and in quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&#39;"),
            // What turns the direction of reading or hides itself cannot pass for other text.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}' => {}
            letter if letter.is_control() && letter != '\n' => {}
            letter => written.push(letter),
        }
    }
    written
}

/// A fragment of an address: letters, digits, `-` and `_`; all else by its number.
pub(super) fn anchor(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() || letter == '-' || letter == '_' => {
                written.push(letter);
            }
            letter => {
                // Writing to a string cannot fail.
                let _ = write!(written, ".{:x}.", u32::from(letter));
            }
        }
    }
    written
}

impl Html {
    /// Markup of our own.
    pub fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escaped(text));
        self
    }

    /// An element that holds only text.
    pub fn element(&mut self, tag: &str, text: &str) -> &mut Self {
        self.raw("<").raw(tag).raw(">").text(text);
        let name = tag.split(' ').next().unwrap_or(tag);
        self.raw("</").raw(name).raw(">")
    }

    /// A link to a place of this page.
    pub fn jump(&mut self, place: &str, text: &str) -> &mut Self {
        self.raw("<a href=\"#")
            .raw(&anchor(place))
            .raw("\">")
            .text(text)
            .raw("</a>")
    }

    /// A link to another address.
    pub fn link(&mut self, address: &str, text: &str) -> &mut Self {
        self.raw("<a rel=\"noreferrer\" href=\"")
            .text(address)
            .raw("\">")
            .text(text)
            .raw("</a>")
    }

    /// The markup.
    pub fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_means_itself_wherever_it_stands() {
        let mut html = Html::default();
        html.element("td class=\"name\"", "<script>alert('x')</script> & \"y\"");
        html.link("https://station/ord/a\"b", "\u{202e}ord\u{7}");
        assert_eq!(
            html.into_string(),
            "<td class=\"name\">&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;</td>\
             <a rel=\"noreferrer\" href=\"https://station/ord/a&quot;b\">ord</a>"
        );
    }

    #[test]
    fn places_of_a_page_are_different_for_different_names() {
        assert_eq!(anchor("issue-48ad"), "issue-48ad");
        assert_eq!(anchor("F1@x y"), "F1.40.x.20.y");
        assert_ne!(anchor("a\"b"), anchor("a'b"));
    }
}
