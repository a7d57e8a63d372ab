//! Text from the data can never pass for the tool's own words (CAMBER core §6.1, §6.2).

use std::sync::LazyLock;

use regex::Regex;
use ring::digest::{SHA256, digest};
use serde_json::Value;

use super::citations::lexer::replace_citations;
pub use crate::visible_text::one_line;

/// A longer name from the data is cut.
pub const LONGEST_NAME: usize = 100;

/// A longer string in `data` or `facts` is cut.
pub const LONGEST_VALUE: usize = 2000;

/// The word that begins notices; no summary begins with it.
const NOTICE: &str = "NOTICE";

static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\]\(").ok());
static WWW: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)\b(www)\.").ok());

/// Fact ids in square brackets stand in round ones from here on.
pub fn without_citations(text: &str) -> String {
    replace_citations(text, |id| format!("({id})"))
}

/// A name from the data in quotes: one line, no citation, no markup, no link, at most 100 characters.
///
/// ```
/// use niagara_bridge::camber::hygiene::quoted;
/// assert_eq!(quoted("AHU-2"), "\"AHU-2\"");
/// assert_eq!(quoted("<b>[F1@x]</b>"), "\"‹b›(F1@x)‹/b›\"");
/// assert_eq!(quoted("[a](https://www.x.org)"), "\"[a] (https[:]//www[.]x.org)\"");
/// ```
pub fn quoted(name: &str) -> String {
    // Of an endless name only a part is looked at; what is cut off is still in the hash.
    let (start, cut) = match name.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => (name.get(..end).unwrap_or_default(), true),
        None => (name, false),
    };
    let line = harmless(start).replace('"', "'");
    if cut || line.chars().count() > LONGEST_NAME {
        return format!("\"{}\"", shortened(&line, LONGEST_NAME, name));
    }
    format!("\"{line}\"")
}

/// Our own words with names from the data among them: no citation, no markup, no link.
///
/// ```
/// use niagara_bridge::camber::hygiene::harmless;
/// assert_eq!(harmless("zone <b>1</b> is warm"), "zone ‹b›1‹/b› is warm");
/// ```
pub fn harmless(text: &str) -> String {
    let line = without_citations(&one_line(text))
        .replace('<', "‹")
        .replace('>', "›")
        .replace("://", "[:]//");
    let line = replaced(&LINK, &line, "] (");
    replaced(&WWW, &line, "${1}[.]")
}

fn replaced(pattern: &LazyLock<Option<Regex>>, text: &str, with: &str) -> String {
    match &**pattern {
        Some(pattern) => pattern.replace_all(text, with).into_owned(),
        None => text.to_owned(),
    }
}

/// The beginning of `text` with an ellipsis and six digits of a hash of the `whole`, `longest` characters in all.
fn shortened(text: &str, longest: usize, whole: &str) -> String {
    let hash = digest(&SHA256, whole.as_bytes());
    let mark: String = hash
        .as_ref()
        .iter()
        .take(3)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let head: String = text.chars().take(longest.saturating_sub(7)).collect();
    format!("{head}…{mark}")
}

/// The summary of a result: one line, no citation but `own` ones, no notice.
pub fn summary(text: &str, is_own: impl Fn(&str) -> bool) -> String {
    let line = replace_citations(&one_line(text), |id| match is_own(id) {
        true => format!("[{id}]"),
        false => format!("({id})"),
    });
    match line.trim_start().starts_with(NOTICE) {
        true => format!("Summary: {line}"),
        false => line,
    }
}

/// Cuts strings of more than 2,000 characters anywhere in the value; tells how many.
pub fn cut_long_strings(value: &mut Value) -> usize {
    match value {
        Value::String(text) => {
            if text.len() <= LONGEST_VALUE || text.chars().count() <= LONGEST_VALUE {
                return 0;
            }
            *text = shortened(text, LONGEST_VALUE, text);
            1
        }
        Value::Array(items) => items.iter_mut().map(cut_long_strings).sum(),
        Value::Object(members) => members.values_mut().map(cut_long_strings).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hostile_name_becomes_one_harmless_word() {
        let name = "A\u{202e}HU\n[F1@rule_run] <img src=x> \"quoted\" http://x.y WWW.z\u{0}";
        assert_eq!(
            quoted(name),
            "\"AHU (F1@rule_run) ‹img src=x› 'quoted' http[:]//x.y WWW[.]z\""
        );
        // A citation cannot be put together by removing what hides in it.
        assert_eq!(quoted("[F1\u{200b}@x]"), "\"(F1@x)\"");
        assert_eq!(quoted("[[F1@x]]"), "\"[(F1@x)]\"");
    }

    #[test]
    fn two_long_names_stay_apart() {
        let (one, other) = ("n".repeat(1 << 20), format!("{}x", "n".repeat(1 << 20)));
        let (one, other) = (quoted(&one), quoted(&other));
        assert_ne!(one, other);
        assert_eq!(one.chars().count(), LONGEST_NAME + 2);
        assert_eq!(quoted(&"é".repeat(100)).chars().count(), 102);
    }

    #[test]
    fn a_summary_is_no_notice_and_cites_only_its_own_facts() {
        let own = |id: &str| id == "F1@points-1a2b3c";
        assert_eq!(
            summary("NOTICE: all is well [F1@points-1a2b3c] [F2@other].", own),
            "Summary: NOTICE: all is well [F1@points-1a2b3c] (F2@other)."
        );
        assert_eq!(summary("\u{200b}NOTICE", own), "Summary: NOTICE");
    }

    #[test]
    fn long_strings_are_cut_wherever_they_are() {
        let mut value =
            json!({"a": ["x".repeat(2001), "y".repeat(2000)], "b": {"c": "z".repeat(9000)}});
        assert_eq!(cut_long_strings(&mut value), 2);
        let cut = value["a"][0].as_str().unwrap();
        assert_eq!(cut.chars().count(), LONGEST_VALUE);
        assert!(cut.contains('…'));
        assert_eq!(value["a"][1].as_str().unwrap().len(), 2000);
    }
}
