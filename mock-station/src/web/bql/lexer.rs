//! Splits BQL text into tokens.

use thiserror::Error;

/// A token and the byte where it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub kind: TokenKind,
    pub at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// A keyword, slot or method name; may hold `$hh` escapes.
    Word(String),
    /// `module:Type`
    TypeSpec(String),
    Number(f64),
    Text(String),
    Symbol(&'static str),
}

/// The text cannot be split into tokens.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LexError {
    #[error("the text that starts at character {0} has no closing quote")]
    OpenText(usize),
    #[error("`{character}` at character {at} is not part of BQL")]
    Unexpected { character: char, at: usize },
    #[error("`{text}` at character {at} is not a number")]
    Number { text: String, at: usize },
}

/// Longest first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 17] = [
    "!=", "<>", "<=", ">=", "(", ")", ",", ".", "*", "/", "%", "+", "-", "=", "<", ">", "!",
];

fn starts_word(character: char) -> bool {
    character.is_alphabetic() || character == '_' || character == '$'
}

fn continues_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// Splits `text` into tokens.
pub fn tokens(text: &str) -> Result<Vec<Token>, LexError> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let at = text.len() - rest.len();
        if character.is_whitespace() {
            rest = &rest[character.len_utf8()..];
            continue;
        }
        let (kind, after) = if starts_word(character) {
            word(rest)
        } else if character.is_ascii_digit() {
            number(rest, at)?
        } else if character == '\'' || character == '"' {
            quoted(rest, character, at)?
        } else {
            symbol(rest).ok_or(LexError::Unexpected { character, at })?
        };
        found.push(Token { kind, at });
        rest = after;
    }
    Ok(found)
}

fn span(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// A word, joined with a second one behind `:` into a type spec.
fn word(text: &str) -> (TokenKind, &str) {
    let (first, rest) = span(text, continues_word);
    if let Some(behind) = rest.strip_prefix(':')
        && behind.starts_with(starts_word)
    {
        let (second, rest) = span(behind, continues_word);
        return (TokenKind::TypeSpec(format!("{first}:{second}")), rest);
    }
    (TokenKind::Word(first.to_owned()), rest)
}

fn number(text: &str, at: usize) -> Result<(TokenKind, &str), LexError> {
    let (whole, rest) = span(text, |c| c.is_ascii_digit());
    let mut length = whole.len();
    if let Some(behind) = rest.strip_prefix('.')
        && behind.starts_with(|c: char| c.is_ascii_digit())
    {
        length += 1 + span(behind, |c| c.is_ascii_digit()).0.len();
    }
    if let Some(behind) = text[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(behind.starts_with(['+', '-']));
        let digits = span(&behind[sign..], |c| c.is_ascii_digit()).0.len();
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    let (literal, rest) = text.split_at(length);
    let not_a_number = || LexError::Number {
        text: literal.to_owned(),
        at,
    };
    if rest.starts_with(starts_word) {
        return Err(not_a_number());
    }
    let value: f64 = literal.parse().map_err(|_| not_a_number())?;
    Ok((TokenKind::Number(value), rest))
}

/// Quoted text; a backslash makes the next character literal.
fn quoted(text: &str, quote: char, at: usize) -> Result<(TokenKind, &str), LexError> {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((index, character)) = characters.next() {
        if character == quote {
            return Ok((TokenKind::Text(value), &text[index + 1..]));
        }
        if character == '\\' {
            match characters.next() {
                Some((_, escaped)) => value.push(escaped),
                None => break,
            }
        } else {
            value.push(character);
        }
    }
    Err(LexError::OpenText(at))
}

fn symbol(text: &str) -> Option<(TokenKind, &str)> {
    SYMBOLS.iter().find_map(|symbol| {
        text.strip_prefix(symbol)
            .map(|rest| (TokenKind::Symbol(symbol), rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text)
            .expect("valid")
            .into_iter()
            .map(|token| token.kind)
            .collect()
    }

    #[test]
    fn words_types_numbers_texts_and_symbols_are_told_apart() {
        assert_eq!(
            kinds("out.value >= 1.5e-3 and control:NumericPoint 'it\\'s \\\\'"),
            [
                TokenKind::Word("out".into()),
                TokenKind::Symbol("."),
                TokenKind::Word("value".into()),
                TokenKind::Symbol(">="),
                TokenKind::Number(0.0015),
                TokenKind::Word("and".into()),
                TokenKind::TypeSpec("control:NumericPoint".into()),
                TokenKind::Text("it's \\".into()),
            ]
        );
    }

    #[test]
    fn escaped_slot_names_are_words() {
        assert_eq!(
            kinds("$31st$20Floor"),
            [TokenKind::Word("$31st$20Floor".into())]
        );
    }

    #[test]
    fn errors_name_the_place() {
        assert_eq!(tokens("a 'b"), Err(LexError::OpenText(2)));
        assert_eq!(
            tokens("a ; b"),
            Err(LexError::Unexpected {
                character: ';',
                at: 2
            })
        );
        assert_eq!(
            tokens("12ab"),
            Err(LexError::Number {
                text: "12".into(),
                at: 0
            })
        );
    }
}
