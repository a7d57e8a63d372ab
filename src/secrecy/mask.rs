//! Text in, text without secrets out.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex};

use super::{REDACTED, SECRET_WORDS, all_living};

/// Colours of a terminal may stand between a field's name and its value.
const COLOURS: &str = r"(?:\x1b\[[0-9;]*m)*";

/// Keys beside the words of Tool surface §4.2 whose values are secrets in a log line.
const MORE_KEYS: [&str; 9] = [
    "authorization",
    "cookie",
    "jsessionid",
    "sessionid",
    "session_id",
    "mcp-session-id",
    "super_session_id",
    "clientfirstmessage",
    "clientfinalmessage",
];

/// A quoted text with its quotes: as it is, or inside the string of a JSON line.
const QUOTED: &str = r#"(?:"(?:[^"\\]|\\.)*"|\\"(?:[^"\\]|\\\\(?:\\["\\]|[^"\\]))*\\")"#;

/// A character of a key. Every character beyond ASCII counts as one: the letters of Unicode make an expression hundreds of
/// kilobytes large, and what is masked too much is no secret lost.
const KEY_CHARACTER: &str = r"[0-9A-Za-z_.$\x{80}-\x{10FFFF}-]";

/// One kind of place where secrets stand.
struct Pattern {
    source: String,
    /// Small letters without which nothing can match: most texts have none of them and never need the expression.
    signs: Vec<&'static str>,
    /// What a match becomes.
    replace: Replace,
    regex: OnceLock<Option<Regex>>,
}

type Replace = fn(&Captures<'_>) -> String;

impl Pattern {
    /// Built when the first text with a sign comes: expressions over all of Unicode take milliseconds.
    fn regex(&self) -> Option<&Regex> {
        // A test builds them all, so that none can be lost here.
        let build = || Regex::new(&self.source).ok();
        self.regex.get_or_init(build).as_ref()
    }

    /// Whether a text can match, by its small letters; letters beyond ASCII can stand for those of a key.
    fn is_possible_in(&self, small: &str) -> bool {
        !small.is_ascii() || self.signs.iter().any(|sign| small.contains(sign))
    }
}

/// The first group, and the rest replaced.
fn keep_key(found: &Captures<'_>) -> String {
    format!("{}{REDACTED}", group(found, 1))
}

/// A member of a JSON object stays one: the value is quoted as its key is.
fn keep_member(found: &Captures<'_>) -> String {
    let quote = group(found, 2);
    format!("{}{quote}{REDACTED}{quote}", group(found, 1))
}

/// A word behind `Bearer` or `Basic` is a credential unless it looks like one of a sentence.
fn credential(found: &Captures<'_>) -> String {
    let word = group(found, 2);
    let is_prose = word.len() < 16 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    if is_prose {
        return group(found, 0).to_owned();
    }
    keep_key(found)
}

fn group<'t>(found: &Captures<'t>, number: usize) -> &'t str {
    found.get(number).map_or("", |text| text.as_str())
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let words: Vec<&str> = SECRET_WORDS.iter().chain(&MORE_KEYS).copied().collect();
    let escaped: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
    let key = format!("{KEY_CHARACTER}*(?:{}){KEY_CHARACTER}*", escaped.join("|"));
    let sources: [(String, Vec<&'static str>, Replace); 8] = [
        // Headers with credentials, to the end of their line or text.
        (
            r#"(?i)(?-u:\b)((?:set-cookie|cookie|authorization|authentication-info)\s*[:=]\s*)(?:[^\r\n"\\]|\\[^"nr])+"#
                .to_owned(),
            vec!["cookie", "authorization", "authentication-info"],
            keep_key,
        ),
        // "key": "value", also inside a text that is itself a string of JSON.
        (
            format!(r#"(?i)((\\?"){key}\\?"\s*:\s*)(?:{QUOTED}|[^\s,"\\}}\]]+)"#),
            words.clone(),
            keep_member,
        ),
        // key=value: forms, queries, fields of log lines.
        (
            format!(
                r#"(?i)({key}{COLOURS}={COLOURS})(?:{QUOTED}|(?:[^\s,;&"'}})\]\x1b\\]|\\[^"])+)"#
            ),
            words.clone(),
            keep_key,
        ),
        // key: "value", as debug output has it.
        (
            format!(r"(?i)({key}:\s*(?:Some\()?){QUOTED}"),
            words,
            keep_key,
        ),
        (
            r"(?i)(?-u:\b)((?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{8,})".to_owned(),
            vec!["bearer", "basic"],
            credential,
        ),
        (
            r"(?i)(?-u:\b)(scram\s+data=)[A-Za-z0-9+/_=-]+".to_owned(),
            vec!["scram"],
            keep_key,
        ),
        // Nonces, proofs, signatures and salts of SCRAM messages.
        (
            r"((?-u:\b)[rpvs]=)[A-Za-z0-9+/]{20,}={0,2}".to_owned(),
            vec!["r=", "p=", "v=", "s="],
            keep_key,
        ),
        // user:password@ in an address.
        (
            r"(://[^/\s:@]*:)[^/\s@]+@".to_owned(),
            vec!["@"],
            |found| format!("{}@", keep_key(found)),
        ),
    ];
    let patterns = sources.into_iter().map(|(source, signs, replace)| Pattern {
        source,
        signs,
        replace,
        regex: OnceLock::new(),
    });
    patterns.collect()
});

/// The text with every living secret, and every value under a secret's key, replaced.
///
/// ```
/// use niagara_bridge::secrecy::{Secret, mask};
/// let _token = Secret::new("correct-horse-battery");
/// assert_eq!(mask("got correct-horse-battery"), "got <redacted>");
/// assert_eq!(mask("POST /x?csrfToken=4711&a=b"), "POST /x?csrfToken=<redacted>&a=b");
/// ```
pub fn mask(text: &str) -> String {
    let mut masked = Cow::Borrowed(text);
    for held in all_living() {
        for form in held.forms() {
            if masked.contains(form.as_str()) {
                masked = Cow::Owned(masked.replace(form.as_str(), REDACTED));
            }
        }
    }
    mask_minted(&mask_keys(&masked)).into_owned()
}

/// Characters of a token that the bridge mints: 32 random bytes in Base64 for URLs.
const MINTED_LENGTH: usize = 43;

/// Changes between capitals, small letters, digits and signs within such a token: 27 on average, and fewer than this in one
/// of 30,000.
const FEWEST_CHANGES: usize = 14;

/// Small letters of such a token: 17 on average, and more than this in one of 30,000. Names of slots, made of words, have more.
const MOST_SMALL: usize = 30;

/// Masks what looks like a token that the bridge minted for a user: of those only digests are kept, so that no living
/// secret tells them.
fn mask_minted(text: &str) -> Cow<'_, str> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let mut masked = String::new();
    let (mut begin, mut copied) = (0, 0);
    let bytes = text.as_bytes();
    for end in 0..=bytes.len() {
        if bytes.get(end).is_some_and(|byte| is_part(*byte)) {
            continue;
        }
        // All bytes of a run are ASCII, so its ends are borders of characters.
        if let Some(run) = text.get(begin..end).filter(|run| is_minted(run)) {
            masked.push_str(text.get(copied..begin).unwrap_or_default());
            masked.push_str(REDACTED);
            copied = begin + run.len();
        }
        begin = end + 1;
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => {
            masked.push_str(text.get(copied..).unwrap_or_default());
            Cow::Owned(masked)
        }
    }
}

fn is_minted(run: &str) -> bool {
    if run.len() != MINTED_LENGTH {
        return false;
    }
    let kind = |byte: u8| match byte {
        b'A'..=b'Z' => 0,
        b'a'..=b'z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let kinds: Vec<u8> = run.bytes().map(kind).collect();
    let changes = kinds.windows(2).filter(|pair| pair.first() != pair.last());
    let small = kinds.iter().filter(|kind| **kind == 1);
    changes.count() >= FEWEST_CHANGES && small.count() <= MOST_SMALL
}

/// Masks by what stands in front of a value, whoever keeps it.
fn mask_keys(text: &str) -> String {
    // What replaces a secret holds no sign, so those of the text as it came do for all patterns.
    let small = text.to_ascii_lowercase();
    let mut masked = Cow::Borrowed(text);
    let possible = PATTERNS.iter().filter(|own| own.is_possible_in(&small));
    for (pattern, regex) in possible.filter_map(|own| Some((own, own.regex()?))) {
        let replaced = match regex.replace_all(&masked, pattern.replace) {
            Cow::Owned(replaced) => replaced,
            Cow::Borrowed(_) => continue,
        };
        masked = Cow::Owned(replaced);
    }
    masked.into_owned()
}

/// Masks what is written, as one text at its end: a secret may come in several pieces.
pub struct MaskedWriter<W: Write> {
    inner: W,
    waiting: Vec<u8>,
}

impl<W: Write> MaskedWriter<W> {
    /// Writes to `inner` when it is flushed or dropped.
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            waiting: Vec::new(),
        }
    }
}

impl<W: Write> Write for MaskedWriter<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            let text = mask(&String::from_utf8_lossy(&self.waiting));
            self.waiting.clear();
            self.inner.write_all(text.as_bytes())?;
        }
        self.inner.flush()
    }
}

impl<W: Write> Drop for MaskedWriter<W> {
    fn drop(&mut self) {
        // Nobody is left to be told that a log line cannot be written.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use proptest::strategy::Strategy;

    use super::*;

    #[test]
    fn values_under_the_keys_of_secrets_are_replaced() {
        for (line, masked) in [
            (
                r#"{"user":"a","password":"p-1\"2","n":1}"#,
                r#"{"user":"a","password":"<redacted>","n":1}"#,
            ),
            (
                r#"{"message":"{\"apiKey\":\"p\\\"1\",\"n\":1}"}"#,
                r#"{"message":"{\"apiKey\":\"<redacted>\",\"n\":1}"}"#,
            ),
            (r#"{"pwd":4711}"#, r#"{"pwd":"<redacted>"}"#),
            (
                "INFO call station.password=p-1 ms=3",
                "INFO call station.password=<redacted> ms=3",
            ),
            (
                r#"call secretKey="p 1" ms=3"#,
                "call secretKey=<redacted> ms=3",
            ),
            (
                r#"{"message":"call secretKey=\"p 1\" ms=3"}"#,
                r#"{"message":"call secretKey=<redacted> ms=3"}"#,
            ),
            (
                r#"Account { token: Some("p-1"), name: "a" }"#,
                r#"Account { token: Some(<redacted>), name: "a" }"#,
            ),
            (
                "\u{1b}[3mtoken\u{1b}[0m\u{1b}[2m=\u{1b}[0mp-1\u{1b}[0m",
                "\u{1b}[3mtoken\u{1b}[0m\u{1b}[2m=\u{1b}[0m<redacted>\u{1b}[0m",
            ),
            ("GET /x;jsessionid=aB9", "GET /x;jsessionid=<redacted>"),
            (
                "Cookie: JSESSIONID=a; x=1\nnext",
                "Cookie: <redacted>\nnext",
            ),
            (
                r#"{"m":"authorization: Basic YTpi","n":1}"#,
                r#"{"m":"authorization: <redacted>","n":1}"#,
            ),
            ("sent Bearer abc-123-def", "sent Bearer <redacted>"),
            ("sent Basic cGFzc3dvcmQ6cGFzcw==", "sent Basic <redacted>"),
            ("SCRAM data=biws", "SCRAM data=<redacted>"),
            (
                "c=biws,r=Y2xpZW50bm9uY2UwMDAxc2Vy,p=7TKZFuu5MDrg+ExHrLIAYtGa/t8tDUglZrMpT9l+NC4=",
                "c=biws,r=<redacted>,p=<redacted>",
            ),
            (
                "https://bridge:p-1@station/x",
                "https://bridge:<redacted>@station/x",
            ),
        ] {
            assert_eq!(mask_keys(line), masked, "{line}");
        }
    }

    #[test]
    fn sentences_stay_readable() {
        for line in [
            "apiToken: the token has 12 characters and needs 32 or more",
            "HTTP Basic authentication is refused; the bearer was refused that nobody has",
            "these settings take effect at the next start settings=station.password, tls",
            "call tool=\"readPoint\" principal=service outcome=\"ok\" ms=12",
            "the environment variable DEMO_TOKEN holds no token; set it",
            "period=2026-10-24 r=5 https://station:8443/ord",
        ] {
            assert_eq!(mask_keys(line), line);
        }
    }

    #[test]
    fn a_minted_token_is_masked_wherever_it_stands() {
        let token = "8Zr4qJ0fXk2mNwT5vY7bC1dE3gH6iL9oPqRsUtVxAyz";
        for (before, after) in [
            ("", ""),
            ("'", "' is no ord"),
            ("station:|slot:/", "/out"),
            ("grüße ", "…"),
            ("{\"ord\":\"", "\"}"),
        ] {
            let masked = mask(&format!("{before}{token}{after}"));
            assert_eq!(masked, format!("{before}<redacted>{after}"));
        }
        for harmless in [
            "slot:/Drivers/AirHandlingUnit01SupplyAirTemperatureSetpt2",
            "AirHandlingUnit01SupplyAirTemperatureSetpt2",
            "0f4f5805c90ab83c7d58713ef9bb782cadd258f055955086157144f369af094f",
            "6fa459ea-ee8a-3ca4-894e-db77e160355e",
        ] {
            assert_eq!(mask(harmless), harmless);
        }
    }

    #[test]
    fn no_pattern_is_left_out() {
        assert_eq!(PATTERNS.len(), 8);
        for pattern in PATTERNS.iter() {
            assert!(pattern.regex().is_some(), "{}", pattern.source);
        }
    }

    /// All patterns, whatever signs the text has.
    fn masked_by_every_pattern(text: &str) -> String {
        PATTERNS.iter().fold(text.to_owned(), |masked, pattern| {
            let regex = pattern.regex().expect("it is built");
            regex.replace_all(&masked, pattern.replace).into_owned()
        })
    }

    proptest::proptest! {
        #[test]
        fn the_signs_leave_no_pattern_out(pieces in proptest::collection::vec(
            proptest::prop_oneof![
                proptest::sample::select(vec![
                    "PassWord", "\u{212a}ey", "apiKey", "a\u{212a}piKey", "pa\u{17f}\u{17f}word", "Set-Cookie", "authorization",
                    "Bearer ", "BASIC ", "scram data=", "r=", "v=", "://", "@", ":", "=", "\"", "\\", " ", "\n", "a.b$",
                    "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo", "Some(", "session_id", "PWD",
                ]).prop_map(str::to_owned),
                "[ -~]{0,6}",
            ], 0..12))
        {
            let text = pieces.concat();
            proptest::prop_assert_eq!(mask_keys(&text), masked_by_every_pattern(&text));
        }
    }

    #[test]
    fn a_secret_that_comes_in_pieces_is_masked() {
        let _secret = super::super::Secret::new("zebra-crossing-13");
        let mut written = Vec::new();
        let mut writer = MaskedWriter::new(&mut written);
        writer.write_all(b"it is zebra-cro").expect("write");
        writer.write_all(b"ssing-13\n").expect("write");
        drop(writer);
        assert_eq!(written, b"it is <redacted>\n");
    }
}
