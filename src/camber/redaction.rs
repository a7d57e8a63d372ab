//! Errors and notices hold no path of this machine (CAMBER core §6.3).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

/// What stands for a path.
pub const PATH: &str = "<path>";

/// The key of an error's data that lists names from the data, which are no paths of this machine.
const STORED_NAMES: &str = "available";

/// Knows the places of this process and takes them out of texts.
#[derive(Debug, Clone, Default)]
pub struct PathRedactor {
    /// Every spelling of every known root, longest first.
    roots: Vec<String>,
}

impl PathRedactor {
    /// Knows the home folder, the folder for temporary files, the working folder and that of this program.
    pub fn of_this_process() -> Self {
        let mut redactor = Self::default();
        let mut known: Vec<std::path::PathBuf> = vec![std::env::temp_dir()];
        known.extend(std::env::current_dir().ok());
        known.extend(directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()));
        known.extend(
            std::env::current_exe()
                .ok()
                .and_then(|program| program.parent().map(Path::to_owned)),
        );
        for root in known {
            redactor.add(&root);
        }
        redactor
    }

    /// Knows one more place. Short ones such as `/` would match everywhere and are left to the pattern.
    pub fn add(&mut self, root: &Path) {
        let mut spellings = BTreeSet::new();
        let resolved = std::fs::canonicalize(root).ok();
        for path in [Some(root), resolved.as_deref()].into_iter().flatten() {
            let text = path.to_string_lossy();
            let text = text.trim_end_matches(['/', '\\']);
            if text.chars().count() < 3 || !is_absolute_text(text) {
                continue;
            }
            for form in [text.to_owned(), text.nfc().collect(), text.nfd().collect()] {
                spellings.insert(form.replace('\\', "/"));
                spellings.insert(form.replace('\\', "\\\\"));
                let escaped = Value::from(form.as_str()).to_string();
                spellings.insert(escaped.trim_matches('"').to_owned());
                let ascii: String = form.escape_default().collect();
                spellings.insert(ascii);
                spellings.insert(form);
            }
        }
        self.roots.extend(spellings);
        self.roots
            .sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.roots.dedup();
    }

    /// The text without known roots and without anything else that is an absolute path.
    ///
    /// `names` are quoted names from the data: only known roots come out of them.
    pub fn text(&self, text: &str, names: &BTreeSet<String>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = self.without_roots(text).into_owned();
        // Whole names are carried over; the pattern looks at what is between them.
        while !rest.is_empty() {
            let next = names
                .iter()
                .filter(|name| !name.is_empty())
                .filter_map(|name| rest.find(name.as_str()).map(|place| (place, name.len())))
                .min_by_key(|(place, length)| (*place, usize::MAX - length));
            let Some((place, length)) = next else {
                break;
            };
            let tail = rest.split_off(place + length);
            let name = rest.split_off(place);
            out.push_str(&without_absolute(&rest));
            out.push_str(&name);
            rest = tail;
        }
        out.push_str(&without_absolute(&rest));
        out
    }

    /// An error's data without paths; stored names lose known roots only.
    pub fn data(&self, data: &Map<String, Value>, names: &BTreeSet<String>) -> Map<String, Value> {
        data.iter()
            .map(|(key, value)| {
                let value = match key == STORED_NAMES {
                    true => self.value(value, &|text| self.without_roots(text).into_owned()),
                    false => self.value(value, &|text| self.text(text, names)),
                };
                (self.text(key, names), value)
            })
            .collect()
    }

    fn value(&self, value: &Value, redact: &dyn Fn(&str) -> String) -> Value {
        match value {
            Value::String(text) => redact(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item, redact)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (redact(key), self.value(value, redact)))
                .collect(),
            other => other.clone(),
        }
    }

    /// Known roots and the rest of the path behind each become one mark.
    fn without_roots<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for root in &self.roots {
            if !text.contains(root.as_str()) {
                continue;
            }
            let mut out = String::with_capacity(text.len());
            let mut rest: &str = &text;
            while let Some(place) = rest.find(root.as_str()) {
                let (before, from) = rest.split_at(place);
                let tail = from.get(root.len()..).unwrap_or_default();
                out.push_str(before);
                // `/srv/data` is not the beginning of `/srv/database`.
                if tail
                    .starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-'))
                {
                    out.push_str(root);
                    rest = tail;
                    continue;
                }
                out.push_str(PATH);
                rest = behind_path(tail, quote_before(before));
            }
            out.push_str(rest);
            text = Cow::Owned(out);
        }
        text
    }
}

fn is_absolute_text(text: &str) -> bool {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some('/' | '\\'), _) => true,
        (Some(letter), Some(':')) => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

fn quote_before(text: &str) -> Option<char> {
    text.chars().last().filter(|last| is_quote(*last))
}

fn is_quote(character: char) -> bool {
    matches!(character, '\'' | '"' | '`')
}

fn ends_path(character: char) -> bool {
    character.is_whitespace() || is_quote(character) || matches!(character, ',' | ';' | ')' | ']')
}

fn is_separator(character: char) -> bool {
    matches!(character, '/' | '\\')
}

/// What follows a path whose beginning was read already: a quoted one ends at its quote, another one at white space,
/// but goes on across a blank while the next word has a separator.
fn behind_path(tail: &str, quote: Option<char>) -> &str {
    if let Some(quote) = quote
        && let Some(end) = tail.find(quote)
    {
        return tail.get(end..).unwrap_or_default();
    }
    let mut rest = tail.trim_start_matches(|c: char| !ends_path(c));
    while let Some(words) = rest.strip_prefix(' ') {
        let after = words.trim_start_matches(|c: char| !ends_path(c));
        let word = words
            .get(..words.len().saturating_sub(after.len()))
            .unwrap_or_default();
        // A separator at its edge makes the word one of its own: `a / b`, `/etc`, `x/`.
        let inner = word.trim_matches(is_separator);
        let goes_along = word.ends_with(is_separator) && !inner.is_empty();
        if !goes_along && !inner.contains(is_separator) {
            // `My Drive/x` is reached through `John Smith/My`: only whole words with a separator go along.
            break;
        }
        if word.starts_with(is_separator) {
            break;
        }
        rest = after;
    }
    rest
}

/// The length of the beginning of an absolute path at the start of `text`.
fn absolute_start(text: &str) -> Option<usize> {
    let mut characters = text.chars();
    let (first, second, third) = (characters.next()?, characters.next(), characters.next());
    let (length, next) = match (first, second) {
        ('~', Some('/' | '\\')) => (2, third),
        ('\\', Some('\\')) => (2, third),
        ('/', next) => (1, next),
        (letter, Some(':')) if letter.is_ascii_alphabetic() && third.is_some_and(is_separator) => {
            (3, characters.next())
        }
        _ => return None,
    };
    // A slash alone is a word between two others.
    next.is_some_and(|next| !ends_path(next) && next != '(')
        .then_some(length)
}

/// The text with every absolute path as one mark.
fn without_absolute(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(character) = rest.chars().next() {
        let bound = before.is_some_and(|before| {
            before.is_alphanumeric() || matches!(before, '_' | '.' | '~' | '/' | '\\' | '>' | '<')
        });
        if !bound && let Some(length) = absolute_start(rest) {
            let tail = rest.get(length..).unwrap_or_default();
            out.push_str(PATH);
            rest = match before.filter(|before| is_quote(*before)) {
                Some(quote) if tail.contains(quote) => behind_path(tail, Some(quote)),
                _ => tail.trim_start_matches(|c: char| !ends_path(c)),
            };
            before = Some('>');
            continue;
        }
        out.push(character);
        before = Some(character);
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor(roots: &[&str]) -> PathRedactor {
        let mut redactor = PathRedactor::default();
        roots.iter().for_each(|root| redactor.add(Path::new(root)));
        redactor
    }

    fn redact(text: &str) -> String {
        redactor(&["/srv/trends", "C:\\Users\\me\\data"]).text(text, &BTreeSet::new())
    }

    #[test]
    fn the_pattern_takes_absolute_paths_and_leaves_words() {
        for (text, expected) in [
            ("no /etc/passwd here", "no <path> here"),
            ("a=/data/x", "a=<path>"),
            (
                "kBtu/ft2 and non-commercial / no-derivatives",
                "kBtu/ft2 and non-commercial / no-derivatives",
            ),
            ("../x/y", "../x/y"),
            ("'/data/x y, z' is gone", "'<path>' is gone"),
            (
                "D:\\logs\\a.txt, ~/x and \\\\server\\share.",
                "<path>, <path> and <path>",
            ),
            ("(and/or)", "(and/or)"),
            ("x / y", "x / y"),
        ] {
            assert_eq!(redact(text), expected, "{text}");
        }
    }

    #[test]
    fn known_roots_go_in_every_spelling_with_the_rest_of_the_path() {
        for text in [
            "/srv/trends",
            "/srv/trends/facility_id=x/part.parquet",
            "/srv/trends/John Smith/My Drive/x",
            "C:\\Users\\me\\data\\a.json",
            "C:/Users/me/data/a.json",
            "C:\\\\Users\\\\me\\\\data\\\\a.json",
        ] {
            assert_eq!(redact(text), PATH, "{text}");
            assert_eq!(
                redact(&format!("cannot read \"{text}\": gone")),
                "cannot read \"<path>\": gone"
            );
        }
        assert_eq!(redact("/srv/trends/a is gone"), "<path> is gone");
        let decomposed = redactor(&["/srv/Bu\u{308}ro"]);
        assert_eq!(
            decomposed.text("at /srv/B\u{fc}ro/x", &BTreeSet::new()),
            "at <path>"
        );
        let composed = redactor(&["/srv/Büro"]);
        assert_eq!(
            composed.text("at \"/srv/B\\u{fc}ro/x\"", &BTreeSet::new()),
            "at \"<path>\""
        );
    }

    #[test]
    fn names_from_the_data_lose_known_roots_only() {
        let names: BTreeSet<String> =
            ["\"/Drivers/BacnetNetwork/AHU_1\"", "\"slot:/Config/AHU-6\""]
                .map(str::to_owned)
                .into();
        let text = "\"/Drivers/BacnetNetwork/AHU_1\" and \"slot:/Config/AHU-6\" but \"/etc/x\"";
        let shown = redactor(&["/srv/trends"]).text(text, &names);
        assert_eq!(
            shown,
            "\"/Drivers/BacnetNetwork/AHU_1\" and \"slot:/Config/AHU-6\" but \"<path>\""
        );
        let data =
            json!({"available": ["/Drivers/A", "/srv/trends/x"], "unknown": ["/etc/passwd"]});
        let data = redactor(&["/srv/trends"]).data(data.as_object().unwrap(), &BTreeSet::new());
        assert_eq!(
            Value::Object(data),
            json!({"available": ["/Drivers/A", "<path>"], "unknown": ["<path>"]})
        );
    }
}
