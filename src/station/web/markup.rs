//! Pages where data was expected.

/// Error pages are read this far for their heading.
pub(super) const ERROR_PAGE_BYTES: usize = 64 << 10;

pub(super) fn begins_like_markup(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    body.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'<')
}

/// Title or first heading of an error page, cut to one line.
pub(super) fn heading(page: &[u8]) -> Option<String> {
    let page = String::from_utf8_lossy(page);
    let lower = page.to_ascii_lowercase();
    ["title", "h1", "h2"].iter().find_map(|tag| {
        let open = lower.find(&format!("<{tag}"))?;
        let from = open + lower.get(open..)?.find('>')? + 1;
        let to = from + lower.get(from..)?.find(&format!("</{tag}"))?;
        let text: String = page
            .get(from..to)?
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
        (!text.is_empty()).then_some(text)
    })
}

/// The value of `input#csrfToken`, whatever the order and quoting of its attributes (Station web specification §2.3).
pub(super) fn csrf_token(page: &str) -> Option<String> {
    page.split("<input")
        .skip(1)
        .filter_map(|rest| rest.split('>').next())
        .find(|tag| attribute(tag, "id") == Some("csrfToken"))
        .and_then(|tag| attribute(tag, "value"))
        .filter(|token| !token.is_empty())
        .map(str::to_owned)
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    tag.match_indices(name).find_map(|(at, _)| {
        let before = tag[..at].chars().next_back();
        if before.is_some_and(|c| !c.is_whitespace() && c != '"' && c != '\'') {
            return None;
        }
        let value = tag[at + name.len()..]
            .trim_start()
            .strip_prefix('=')?
            .trim_start();
        match value.chars().next()? {
            quote @ ('"' | '\'') => value[1..].split(quote).next(),
            _ => value.split(|c: char| c.is_whitespace() || c == '/').next(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_page_gives_its_heading_and_nothing_else() {
        let page =
            b"<html><head><TITLE>Error 400\n Bad ORD</TITLE></head><body>stack trace</body></html>";
        assert_eq!(heading(page).as_deref(), Some("Error 400 Bad ORD"));
        assert_eq!(
            heading(b"<html><h1 class='x'>Oops</h1>").as_deref(),
            Some("Oops")
        );
        assert_eq!(heading(b"plain text"), None);
    }

    #[test]
    fn the_csrf_token_is_found_in_any_attribute_order() {
        for tag in [
            r#"<input type="hidden" id="csrfToken" name="csrfToken" value="T0k">"#,
            r#"<input value='T0k' type='hidden' id='csrfToken'/>"#,
            r#"<input id=csrfToken value=T0k />"#,
        ] {
            let page = format!("<html><input id=\"other\" value=\"no\">{tag}</html>");
            assert_eq!(csrf_token(&page).as_deref(), Some("T0k"), "{tag}");
        }
        assert_eq!(
            csrf_token("<input id=\"csrfToken\" data-value=\"x\">"),
            None
        );
    }
}
