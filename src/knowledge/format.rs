//! Bytes ↔ tree: YAML and JSON within fixed limits, and the rule that tells them apart (tool surface §9.4).

mod long_number;
mod yaml_writer;

use serde_json::{Map, Number, Value};

use super::error::KnowledgeError;

/// Largest document accepted, in bytes.
pub const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// Deepest nesting of lists and maps accepted.
pub const MAX_DEPTH: usize = 64;

/// The text format of a document; the format of a loaded file is kept when it is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DocumentFormat {
    #[default]
    Yaml,
    Json,
}

impl DocumentFormat {
    /// The lower-case name used in tool results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Json => "json",
        }
    }

    /// JSON when the first character after a byte order mark, blanks and `#` lines is `{` or `[`, else YAML.
    ///
    /// ```
    /// use niagara_bridge::knowledge::DocumentFormat;
    /// assert_eq!(DocumentFormat::sniff("# site\n {\"points\":[]}"), DocumentFormat::Json);
    /// assert_eq!(DocumentFormat::sniff("points: []"), DocumentFormat::Yaml);
    /// ```
    pub fn sniff(text: &str) -> Self {
        let mut rest = text.trim_start_matches('\u{feff}').trim_start();
        while rest.starts_with('#') {
            rest = rest
                .split_once('\n')
                .map_or("", |(_, after)| after)
                .trim_start();
        }
        if rest.starts_with(['{', '[']) {
            Self::Json
        } else {
            Self::Yaml
        }
    }
}

/// Parses document text into a tree whose map keys are all strings.
///
/// `origin` names the document in errors. Empty text is an empty map.
pub fn parse(origin: &str, text: &str) -> Result<(DocumentFormat, Value), KnowledgeError> {
    if text.len() as u64 > MAX_BYTES {
        return Err(KnowledgeError::TooLarge {
            origin: origin.to_owned(),
            size: text.len() as u64,
            limit: MAX_BYTES,
        });
    }
    let text = text.trim_start_matches('\u{feff}');
    let format = DocumentFormat::sniff(text);
    let tree = match format {
        DocumentFormat::Json => parse_json(origin, text)?,
        DocumentFormat::Yaml => parse_yaml(origin, text)?,
    };
    let tree = match tree {
        Value::Null => Value::Object(Map::new()),
        other => other,
    };
    if depth_exceeds(&tree, MAX_DEPTH) {
        return Err(KnowledgeError::TooDeep {
            origin: origin.to_owned(),
            limit: MAX_DEPTH,
        });
    }
    match long_number::line_of_long_number(text, &tree) {
        Some(line) => Err(long_number_at(origin, line)),
        None => Ok((format, tree)),
    }
}

/// Writes a tree as document text: YAML in the form of [`yaml_writer`], JSON indented by two.
///
/// `origin` names the document in errors.
///
/// # Errors
/// The text would be refused by [`parse`]: larger than [`MAX_BYTES`] or nested deeper than [`MAX_DEPTH`].
pub fn render(
    origin: &str,
    format: DocumentFormat,
    tree: &Value,
) -> Result<String, KnowledgeError> {
    if depth_exceeds(tree, MAX_DEPTH) {
        return Err(KnowledgeError::TooDeep {
            origin: origin.to_owned(),
            limit: MAX_DEPTH,
        });
    }
    let text = match format {
        DocumentFormat::Yaml => yaml_writer::write(tree),
        DocumentFormat::Json => format!("{tree:#}\n"),
    };
    if text.len() as u64 > MAX_BYTES {
        return Err(KnowledgeError::TooLarge {
            origin: origin.to_owned(),
            size: text.len() as u64,
            limit: MAX_BYTES,
        });
    }
    Ok(text)
}

fn long_number_at(origin: &str, line: usize) -> KnowledgeError {
    KnowledgeError::Unsupported {
        origin: origin.to_owned(),
        what: "whole number of more than 64 bits",
        line,
    }
}

fn parse_json(origin: &str, text: &str) -> Result<Value, KnowledgeError> {
    // Comment lines may stand before a JSON document; blank them so that line numbers stay right.
    let mut body = String::with_capacity(text.len());
    let mut in_head = true;
    for line in text.split_inclusive('\n') {
        in_head = in_head && (line.trim().is_empty() || line.trim_start().starts_with('#'));
        body.push_str(if in_head { "\n" } else { line });
    }
    crate::unrepeated_keys::json(&body).map_err(|error| KnowledgeError::Syntax {
        origin: origin.to_owned(),
        format: "JSON",
        line: Some(error.line()),
        column: Some(error.column()),
        detail: error.to_string(),
    })
}

fn parse_yaml(origin: &str, text: &str) -> Result<Value, KnowledgeError> {
    if let Some((line, what)) = find_reference(text) {
        return Err(KnowledgeError::Unsupported {
            origin: origin.to_owned(),
            what,
            line,
        });
    }
    let tree: serde_yaml::Value = serde_yaml::from_str(text).map_err(|error| {
        let detail = error.to_string();
        if let Some(line) = long_number_of(&detail, text) {
            return long_number_at(origin, line);
        }
        KnowledgeError::Syntax {
            origin: origin.to_owned(),
            format: "YAML",
            line: error.location().map(|at| at.line()),
            column: error.location().map(|at| at.column()),
            detail,
        }
    })?;
    to_json(origin, tree)
}

/// The line of the number that the YAML reader refuses without telling where, by the digits in its words.
fn long_number_of(detail: &str, text: &str) -> Option<usize> {
    if !detail.contains("128") {
        return None;
    }
    let digits = detail
        .split(|character: char| !character.is_ascii_digit())
        .find(|digits| digits.len() >= 19)?;
    long_number::line_of_digits(text, digits)
}

fn to_json(origin: &str, tree: serde_yaml::Value) -> Result<Value, KnowledgeError> {
    Ok(match tree {
        serde_yaml::Value::Null => Value::Null,
        serde_yaml::Value::Bool(flag) => Value::Bool(flag),
        serde_yaml::Value::Number(number) => number_to_json(&number),
        serde_yaml::Value::String(text) => Value::String(text),
        serde_yaml::Value::Sequence(items) => Value::Array(
            items
                .into_iter()
                .map(|item| to_json(origin, item))
                .collect::<Result<_, _>>()?,
        ),
        serde_yaml::Value::Mapping(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                map.insert(key_text(origin, key)?, to_json(origin, value)?);
            }
            Value::Object(map)
        }
        serde_yaml::Value::Tagged(tagged) => {
            return Err(KnowledgeError::Schema {
                origin: origin.to_owned(),
                place: format!("tag {}", tagged.tag),
                problem: "YAML tags have no meaning here".to_owned(),
                remedy: "remove the tag",
            });
        }
    })
}

fn number_to_json(number: &serde_yaml::Number) -> Value {
    if let Some(integer) = number.as_i64() {
        Value::from(integer)
    } else if let Some(integer) = number.as_u64() {
        Value::from(integer)
    } else {
        // JSON has no NaN or infinity: their YAML text is kept instead.
        number
            .as_f64()
            .and_then(Number::from_f64)
            .map_or_else(|| Value::String(number.to_string()), Value::Number)
    }
}

fn key_text(origin: &str, key: serde_yaml::Value) -> Result<String, KnowledgeError> {
    match key {
        serde_yaml::Value::String(text) => Ok(text),
        serde_yaml::Value::Bool(flag) => Ok(flag.to_string()),
        serde_yaml::Value::Number(number) => Ok(number.to_string()),
        serde_yaml::Value::Null => Ok("null".to_owned()),
        _ => Err(KnowledgeError::Schema {
            origin: origin.to_owned(),
            place: "a map key".to_owned(),
            problem: "the key is a list or a map".to_owned(),
            remedy: "use plain text as the key",
        }),
    }
}

fn depth_exceeds(tree: &Value, limit: usize) -> bool {
    match tree {
        Value::Array(items) => {
            limit == 0 || items.iter().any(|item| depth_exceeds(item, limit - 1))
        }
        Value::Object(map) => limit == 0 || map.values().any(|item| depth_exceeds(item, limit - 1)),
        _ => false,
    }
}

/// Finds the first YAML anchor or alias, as a one-based line number and its kind.
///
/// Aliases let a small text grow without bound, so they are refused before the parser expands them. The scan errs on
/// the side of refusing: a continuation line of a plain scalar that begins with `&` or `*` counts too.
pub(crate) fn find_reference(text: &str) -> Option<(usize, &'static str)> {
    let mut scanner = ReferenceScanner::default();
    text.lines()
        .enumerate()
        .find_map(|(index, line)| scanner.scan(line).map(|what| (index + 1, what)))
}

#[derive(Default)]
struct ReferenceScanner {
    quote: Option<char>,
    /// Indentation of the line that opened a block scalar (`|` or `>`).
    block_parent: Option<usize>,
}

impl ReferenceScanner {
    fn scan(&mut self, line: &str) -> Option<&'static str> {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if let Some(parent) = self.block_parent {
            if line.trim().is_empty() || indent > parent {
                return None;
            }
            self.block_parent = None;
        }
        let mut node_start = self.quote.is_none();
        let mut previous = ' ';
        let mut characters = line.chars().peekable();
        let mut last_token = String::new();
        while let Some(character) = characters.next() {
            if let Some(quote) = self.quote {
                if quote == '"' && character == '\\' {
                    characters.next();
                } else if character == quote {
                    if quote == '\'' && characters.peek() == Some(&'\'') {
                        characters.next();
                    } else {
                        self.quote = None;
                        previous = character;
                    }
                }
                continue;
            }
            let next_blank = characters.peek().is_none_or(|next| next.is_whitespace());
            match character {
                ' ' | '\t' => {}
                '#' if previous.is_whitespace() => break,
                '"' | '\'' if node_start => {
                    self.quote = Some(character);
                    node_start = false;
                }
                '&' if node_start && !next_blank => return Some("anchor"),
                '*' if node_start && !next_blank => return Some("alias"),
                '-' | '?' if node_start && next_blank => {}
                ':' if next_blank || previous == '"' || previous == '\'' => node_start = true,
                '[' | '{' if node_start => {}
                ',' => node_start = true,
                _ => node_start = false,
            }
            if character.is_whitespace() {
                if !previous.is_whitespace() {
                    last_token.clear();
                }
            } else {
                if previous.is_whitespace() {
                    last_token.clear();
                }
                last_token.push(character);
            }
            previous = character;
        }
        if self.quote.is_none() && is_block_header(&last_token) {
            self.block_parent = Some(indent);
        }
        None
    }
}

fn is_block_header(token: &str) -> bool {
    token.starts_with(['|', '>'])
        && token.len() <= 3
        && token
            .chars()
            .skip(1)
            .all(|character| matches!(character, '+' | '-' | '1'..='9'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn tree(text: &str) -> Value {
        parse("test", text).unwrap().1
    }

    #[test]
    fn both_list_forms_of_yaml_give_the_same_tree() {
        let compact = "equipment:\n  - id: ahu-1\n    name: AHU 1\n";
        let dashed = "equipment:\n  -\n    id: ahu-1\n    name: AHU 1\n";
        assert_eq!(
            tree(compact),
            json!({"equipment":[{"id":"ahu-1","name":"AHU 1"}]})
        );
        assert_eq!(tree(compact), tree(dashed));
    }

    #[test]
    fn a_key_without_value_does_not_swallow_its_siblings() {
        assert_eq!(tree("a:\nb: 1\n"), json!({"a":null,"b":1}));
    }

    #[test]
    fn ords_stay_plain_text() {
        assert_eq!(
            tree("ord: station:|slot:/Drivers/AHU1\nflag: yes\n"),
            json!({"ord":"station:|slot:/Drivers/AHU1","flag":"yes"})
        );
    }

    #[test]
    fn json_is_recognised_behind_comments_and_reports_its_own_lines() {
        let (format, value) = parse("test", "# exported\n{\"points\": []}\n").unwrap();
        assert_eq!(format, DocumentFormat::Json);
        assert_eq!(value, json!({"points":[]}));
        let error = parse("site.json", "# c\n{\"points\": [}\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("site.json") && error.contains("line 2"),
            "{error}"
        );
    }

    #[test]
    fn aliases_and_anchors_are_refused_with_their_line() {
        for (text, line) in [
            ("a: &x [1]\nb: *x\n", 1),
            ("a: 1\nb: [2, *x]\n", 2),
            ("- 1\n- *x\n", 2),
            ("\"a\": *x\n", 1),
        ] {
            match parse("test", text) {
                Err(KnowledgeError::Unsupported { line: found, .. }) => assert_eq!(found, line),
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn stars_and_ampersands_inside_texts_are_no_references() {
        let text = "a: 'x &y'\nb: \"it's *z\"\nc: Fish & chips * 2\nd: |\n  *bold*\n  &more\ne: 1 # *note\n";
        assert_eq!(
            tree(text),
            json!({"a":"x &y","b":"it's *z","c":"Fish & chips * 2","d":"*bold*\n&more\n","e":1})
        );
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_with_its_line_in_either_format() {
        for text in [
            "{\"equipment\": [\n  {\"id\": \"a\",\n   \"id\": \"b\"}\n]}",
            "{\"spaces\": [],\n\n\"spaces\": [{\"id\": \"a\"}]}",
            "equipment:\n- id: a\n  id: b\n",
        ] {
            let error = parse("site", text).unwrap_err();
            let KnowledgeError::Syntax { line, .. } = &error else {
                panic!("{error:?}");
            };
            assert!(line.is_some_and(|line| (2..=3).contains(&line)), "{error}");
            let said = error.to_string();
            assert!(said.contains("id") || said.contains("spaces"), "{said}");
        }
        assert_eq!(
            tree("{\"a\": {\"x\": 1}, \"b\": {\"x\": 1.5, \"y\": null}, \"c\": [true, -3, \"t\"]}"),
            json!({"a": {"x": 1}, "b": {"x": 1.5, "y": null}, "c": [true, -3, "t"]})
        );
    }

    #[test]
    fn whole_numbers_beyond_64_bits_are_named_with_their_line_and_others_stay() {
        for number in [
            "18446744073709551616",
            "-9223372036854775809",
            "123456789012345678901234567890",
            "1234567890123456789012345678901234567890123456",
        ] {
            for text in [
                format!("a: 1\nserial: {number}\n"),
                format!("{{\"a\": 1,\n\"serial\": {number}}}"),
            ] {
                match parse("site", &text) {
                    Err(KnowledgeError::Unsupported { line: 2, .. }) => {}
                    other => panic!("{text:?} gave {other:?}"),
                }
            }
        }
        for number in [
            "18446744073709551615",
            "-9223372036854775808",
            "1e30",
            "12345678901234567890.5",
        ] {
            assert!(parse("site", &format!("a: {number}\n")).is_ok(), "{number}");
            assert!(
                parse("site", &format!("{{\"a\": {number}}}")).is_ok(),
                "{number}"
            );
        }
        assert_eq!(
            tree("a: '123456789012345678901234567890'\n"),
            json!({"a": "123456789012345678901234567890"})
        );
    }

    #[test]
    fn deep_nesting_and_broken_text_are_errors_not_panics() {
        let deep = format!("{}1{}", "[".repeat(80), "]".repeat(80));
        assert!(matches!(
            parse("t", &deep),
            Err(KnowledgeError::TooDeep { .. })
        ));
        let error = parse("site.yaml", "spaces:\n  - id: a\n   bad")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("site.yaml") && error.contains("line"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
            let _ = parse("test", &text);
        }

        #[test]
        fn no_yaml_like_text_makes_the_reader_panic(text in "[a-z:\\-\\[\\]{}&*|>'\"# \\n,0-9]{0,120}") {
            let _ = parse("test", &text);
        }
    }
}
