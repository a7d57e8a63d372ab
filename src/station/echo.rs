//! Texts of callers that a message repeats: long ones are shown by their beginning and their end.

use std::borrow::Cow;

/// Longest text that is repeated in full, in characters: ords of real stations stay below it.
pub const LONGEST_ECHO: usize = 300;
/// What is shown of a longer one.
const HEAD: usize = 160;
const TAIL: usize = 60;
/// A longer word in a station's own explanation is the caller's text once more.
const LONGEST_WORD: usize = 80;

/// The text, or its beginning and end with the number of characters between them.
///
/// ```
/// use niagara_bridge::station::echo::shortened;
///
/// assert_eq!(shortened("slot:/Drivers"), "slot:/Drivers");
/// let long = shortened(&format!("slot:/{}/End", "x".repeat(10_000))).into_owned();
/// assert!(long.starts_with("slot:/xxx") && long.ends_with("xxx/End"));
/// assert!(long.contains(" [… 9790 characters …] ") && long.len() < 300);
/// ```
pub fn shortened(text: &str) -> Cow<'_, str> {
    // No text has more characters than bytes.
    if text.len() <= LONGEST_ECHO {
        return Cow::Borrowed(text);
    }
    let count = text.chars().count();
    if count <= LONGEST_ECHO {
        return Cow::Borrowed(text);
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(count - TAIL).collect();
    let between = count - HEAD - TAIL;
    Cow::Owned(format!("{head} [… {between} characters …] {tail}"))
}

/// A sentence whose overlong words are shortened: the last resort for texts that were put into it as they came.
pub fn with_short_words(sentence: String) -> String {
    // Words are parts of lines, so a short sentence has none that is long.
    if sentence.len() <= LONGEST_ECHO {
        return sentence;
    }
    let parts = sentence.split_inclusive(char::is_whitespace);
    parts.map(shortened).collect()
}

/// A station's explanation beside the text that it explains: where that text is long, it is not repeated.
pub fn explained<'a>(detail: &'a str, text: &str) -> Cow<'a, str> {
    if text.len() <= LONGEST_ECHO {
        return shortened(detail);
    }
    let words: Vec<&str> = detail
        .split_whitespace()
        .map(|word| match word.chars().count() > LONGEST_WORD {
            true => "…",
            false => word,
        })
        .collect();
    Cow::Owned(shortened(&words.join(" ")).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_text_is_told_once() {
        let ord = format!("station:|slot:/{}", "A".repeat(10_000));
        let detail = format!("Unresolved ord: {ord} in this station");
        assert_eq!(
            explained(&detail, &ord),
            "Unresolved ord: … in this station"
        );
        assert_eq!(explained("HTTP 404", "slot:/A"), "HTTP 404");
    }

    proptest! {
        #[test]
        fn no_text_stays_long_and_short_ones_stay_whole(text in "\\PC{0,700}") {
            let shown = shortened(&text);
            prop_assert!(shown.chars().count() <= LONGEST_ECHO);
            if text.chars().count() <= LONGEST_ECHO {
                prop_assert_eq!(shown, text.as_str());
            }
        }
    }
}
