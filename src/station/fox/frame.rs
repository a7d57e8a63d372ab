//! Octets → Fox frames (Fox specification §2, §3): values with a length are taken by their length, every part has a
//! limit, and what is not known stays raw.

use thiserror::Error;

/// Limits of the hello phase (Fox specification §3 rule 5), in octets unless said otherwise.
const MAX_HEADER: usize = 256;
const MAX_KEY: usize = 128;
const MAX_STRING: usize = 8 * 1024;
const MAX_BLOB: usize = 64 * 1024;
/// Tuples of a frame, those of nested messages included.
const MAX_TUPLES: usize = 256;
const MAX_NESTING: usize = 8;
/// A whole frame.
pub const MAX_FRAME: usize = 256 * 1024;

/// The first line of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// `a` asynchronous, `s` request, `r` reply, `e` error, `k` keep-alive, `n` null.
    pub kind: char,
    pub sequence: i64,
    /// Sequence number of the request that is answered; −1 for none.
    pub reply: i64,
    pub channel: String,
    pub command: String,
}

/// One frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub header: Header,
    pub fields: Vec<Field>,
    /// Keys that occurred again; the first counts.
    pub repeated: Vec<String>,
}

/// One `key=T:value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub key: String,
    pub value: Value,
}

/// A value by its type letter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `s`, raw; [`Field::text`] knows the null string.
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
    /// `t`: milliseconds, since 1970 when a year or more, else a duration.
    Milliseconds(u64),
    /// `b`: its length; the octets are not kept, for a challenge's nonce is one.
    Blob(usize),
    /// `o`: type and length; never read as XML.
    Object {
        kind: String,
        length: usize,
    },
    Message(Vec<Field>),
    /// A type letter that is not known, or a text that does not fit its letter.
    Raw {
        letter: char,
        text: String,
    },
}

/// Why octets are no frame.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Malformed {
    #[error("it does not begin with \"fox \"")]
    NotFox,
    #[error("{what} at octet {at} is longer than {limit}")]
    TooLong {
        what: &'static str,
        at: usize,
        limit: usize,
    },
    #[error("{expected} was expected at octet {at}")]
    Expected { expected: &'static str, at: usize },
}

/// A frame, or the news that more octets are needed.
#[derive(Debug, Clone, PartialEq)]
pub enum Parsed {
    /// The frame and how many octets it took.
    Frame(Box<Frame>, usize),
    Incomplete,
}

impl Field {
    /// Text of a string field; `#null;` is none.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) if text != "#null;" => Some(text),
            _ => None,
        }
    }
}

impl Frame {
    /// The field of a key.
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}

/// Reads the frame at the start of `octets`.
///
/// # Errors
/// What can never become a frame, however much follows; nothing is allocated for a length that was only announced.
pub fn parse(octets: &[u8]) -> Result<Parsed, Malformed> {
    let mut reader = Reader {
        octets,
        at: 0,
        tuples: 0,
        repeated: Vec::new(),
    };
    match reader.frame() {
        Ok(frame) => Ok(Parsed::Frame(Box::new(frame), reader.at)),
        Err(Stop::Malformed(reason)) => Err(reason),
        Err(Stop::Incomplete) if octets.len() >= MAX_FRAME => Err(Malformed::TooLong {
            what: "the frame",
            at: 0,
            limit: MAX_FRAME,
        }),
        Err(Stop::Incomplete) => Ok(Parsed::Incomplete),
    }
}

enum Stop {
    Incomplete,
    Malformed(Malformed),
}

type Read<T> = Result<T, Stop>;

struct Reader<'o> {
    octets: &'o [u8],
    at: usize,
    tuples: usize,
    repeated: Vec<String>,
}

impl<'o> Reader<'o> {
    fn rest(&self) -> &'o [u8] {
        self.octets.get(self.at..).unwrap_or_default()
    }

    fn expected<T>(&self, expected: &'static str) -> Read<T> {
        Err(Stop::Malformed(Malformed::Expected {
            expected,
            at: self.at,
        }))
    }

    fn too_long<T>(&self, what: &'static str, limit: usize) -> Read<T> {
        Err(Stop::Malformed(Malformed::TooLong {
            what,
            at: self.at,
            limit,
        }))
    }

    /// Octets up to one of the ends, which is consumed.
    fn until(&mut self, end: u8, what: &'static str, limit: usize) -> Read<&'o [u8]> {
        let rest = self.rest();
        match rest.iter().position(|octet| *octet == end) {
            Some(length) if length > limit => self.too_long(what, limit),
            None if rest.len() > limit => self.too_long(what, limit),
            None => Err(Stop::Incomplete),
            Some(length) => {
                self.at += length + 1;
                Ok(rest.get(..length).unwrap_or_default())
            }
        }
    }

    /// A line without its end; a carriage return before it does not count.
    fn line(&mut self, what: &'static str, limit: usize) -> Read<&'o [u8]> {
        let line = self.until(b'\n', what, limit)?;
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn frame(&mut self) -> Read<Frame> {
        const START: &[u8] = b"fox ";
        let rest = self.rest();
        let known = rest.len().min(START.len());
        if rest.get(..known) != START.get(..known) {
            return Err(Stop::Malformed(Malformed::NotFox));
        }
        let line = self.line("the header", MAX_HEADER)?;
        let header = match read_header(&String::from_utf8_lossy(line)) {
            Some(header) => header,
            None => {
                self.at = 0;
                return self.expected("a header of type, numbers, channel and command");
            }
        };
        let before = self.at;
        if !self.line("the line of the opening brace", 2)?.eq(b"{") {
            self.at = before;
            return self.expected("{");
        }
        let fields = self.fields(0)?;
        self.expect(b";;", ";; after the closing brace")?;
        // The line's end belongs to the frame, but is not worth waiting for.
        let rest = self.rest();
        let line_end = [&b"\n"[..], b"\r\n"]
            .into_iter()
            .find(|end| rest.starts_with(end));
        self.at += line_end.map_or(0, <[u8]>::len);
        Ok(Frame {
            header,
            fields,
            repeated: std::mem::take(&mut self.repeated),
        })
    }

    fn expect(&mut self, wanted: &[u8], expected: &'static str) -> Read<()> {
        let rest = self.rest();
        if rest.starts_with(wanted) {
            self.at += wanted.len();
            Ok(())
        } else if wanted.starts_with(rest) {
            Err(Stop::Incomplete)
        } else {
            self.expected(expected)
        }
    }

    /// The tuples of a message, its closing brace included.
    fn fields(&mut self, depth: usize) -> Read<Vec<Field>> {
        let mut fields: Vec<Field> = Vec::new();
        loop {
            match self.rest().first() {
                None => return Err(Stop::Incomplete),
                Some(b'}') => {
                    self.at += 1;
                    return Ok(fields);
                }
                Some(_) => {}
            }
            self.tuples += 1;
            if self.tuples > MAX_TUPLES {
                return self.too_long("the number of fields", MAX_TUPLES);
            }
            let field = self.field(depth)?;
            if fields.iter().any(|known| known.key == field.key) {
                self.repeated.push(field.key);
            } else {
                fields.push(field);
            }
        }
    }

    fn field(&mut self, depth: usize) -> Read<Field> {
        let start = self.at;
        let key = self.until(b'=', "a key", MAX_KEY)?;
        if key.is_empty() || key.iter().any(|octet| matches!(octet, b' ' | b'\n')) {
            self.at = start;
            return self.expected("a key and =");
        }
        let key = String::from_utf8_lossy(key).into_owned();
        let letter = match self.rest() {
            [letter, b':', ..] if letter.is_ascii_lowercase() => char::from(*letter),
            [] => return Err(Stop::Incomplete),
            [letter] if letter.is_ascii_lowercase() => return Err(Stop::Incomplete),
            _ => return self.expected("a type letter and :"),
        };
        self.at += 2;
        let value = match letter {
            'b' => {
                let length = self.sized()?;
                self.line_end()?;
                Value::Blob(length)
            }
            'o' => {
                let kind = self.until(b' ', "the type of an object", MAX_KEY)?;
                let kind = String::from_utf8_lossy(kind).into_owned();
                let length = self.sized()?;
                self.line_end()?;
                Value::Object { kind, length }
            }
            'm' => {
                if depth + 1 > MAX_NESTING {
                    return self.too_long("the nesting", MAX_NESTING);
                }
                self.expect(b"{", "{")?;
                self.line_end()?;
                let fields = self.fields(depth + 1)?;
                self.line_end()?;
                Value::Message(fields)
            }
            _ => {
                let text = self.line("a value", MAX_STRING)?;
                read_line_value(letter, &String::from_utf8_lossy(text))
            }
        };
        Ok(Field { key, value })
    }

    fn line_end(&mut self) -> Read<()> {
        if self.rest().first() == Some(&b'\r') {
            return self.expect(b"\r\n", "the end of the line");
        }
        self.expect(b"\n", "the end of the line")
    }

    /// `LEN[octets]`; skips the octets and returns their count.
    fn sized(&mut self) -> Read<usize> {
        let start = self.at;
        let digits = self.until(b'[', "a length", 20)?;
        let length = std::str::from_utf8(digits)
            .ok()
            .filter(|text| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit()))
            // More digits than fit are certainly too long.
            .map(|text| text.parse::<u64>().unwrap_or(u64::MAX));
        let Some(length) = length else {
            self.at = start;
            return self.expected("a length and [");
        };
        let length = match usize::try_from(length) {
            Ok(length) if length <= MAX_BLOB => length,
            _ => return self.too_long("a blob or object", MAX_BLOB),
        };
        if self.rest().len() <= length {
            return Err(Stop::Incomplete);
        }
        self.at += length;
        self.expect(b"]", "] after the announced octets")?;
        Ok(length)
    }
}

/// Type, sequence and reply are the first tokens, the command is the last, the channel what is between.
fn read_header(line: &str) -> Option<Header> {
    let rest = line.strip_prefix("fox ")?;
    let mut parts = rest.splitn(4, ' ');
    let (kind, sequence, reply) = (parts.next()?, parts.next()?, parts.next()?);
    let (channel, command) = parts.next()?.rsplit_once(' ')?;
    let mut letters = kind.chars();
    match (letters.next(), letters.next()) {
        (Some(kind), None) => Some(Header {
            kind,
            sequence: sequence.parse().ok()?,
            reply: reply.parse().ok()?,
            channel: channel.to_owned(),
            command: command.to_owned(),
        }),
        _ => None,
    }
}

fn read_line_value(letter: char, text: &str) -> Value {
    let known = match letter {
        's' => Some(Value::Text(text.to_owned())),
        'i' => text.parse().ok().map(Value::Integer),
        'f' => text.parse().ok().map(Value::Float),
        'z' => match text {
            "t" => Some(Value::Flag(true)),
            "f" => Some(Value::Flag(false)),
            _ => None,
        },
        't' => u64::from_str_radix(text, 16).ok().map(Value::Milliseconds),
        _ => None,
    };
    known.unwrap_or_else(|| Value::Raw {
        letter,
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(octets: &[u8]) -> (Frame, usize) {
        match parse(octets).expect("well formed") {
            Parsed::Frame(frame, length) => (*frame, length),
            Parsed::Incomplete => panic!("incomplete"),
        }
    }

    const ALL_TYPES: &[u8] = b"fox r 4 9 demo test\n{\nwhen=t:18bcfe56800\nok=z:t\nn=i:-3\nf=f:2.5\nm=m:{\na=s:x\n}\ne=b:0[]\n};;\n";

    #[test]
    fn every_field_type_is_read() {
        let (frame, length) = whole(ALL_TYPES);
        assert_eq!(length, ALL_TYPES.len());
        assert_eq!(
            frame.header,
            Header {
                kind: 'r',
                sequence: 4,
                reply: 9,
                channel: "demo".into(),
                command: "test".into()
            }
        );
        let values: Vec<_> = frame.fields.iter().map(|field| &field.value).collect();
        let nested = Value::Message(vec![Field {
            key: "a".into(),
            value: Value::Text("x".into()),
        }]);
        assert_eq!(
            values,
            [
                &Value::Milliseconds(1_700_000_000_000),
                &Value::Flag(true),
                &Value::Integer(-3),
                &Value::Float(2.5),
                &nested,
                &Value::Blob(0)
            ]
        );
    }

    #[test]
    fn the_end_of_a_frame_inside_a_blob_is_no_end() {
        let octets = b"fox a 1 -1 fox challenge\n{\nnonce=b:11[ab}\n};;\ncde]\n};;\nrest";
        let (frame, length) = whole(octets);
        assert_eq!(octets.get(length..), Some(&b"rest"[..]));
        assert_eq!(
            frame.field("nonce").map(|field| &field.value),
            Some(&Value::Blob(11))
        );
        let object =
            b"fox a 0 -1 fox hello\n{\nsysInfo=o:bog 5[<\n};;]\nx=q:1=2:3\nx=s:again\n};;\n";
        let (frame, _) = whole(object);
        assert_eq!(
            frame.field("x").map(|field| &field.value),
            Some(&Value::Raw {
                letter: 'q',
                text: "1=2:3".into()
            }),
            "an unknown type stays raw and the first of two keys counts"
        );
        assert_eq!(frame.repeated, ["x"]);
    }

    #[test]
    fn carriage_returns_and_odd_channels_are_tolerated() {
        let octets = b"fox a 0 -1 my own channel hello\r\n{\r\na=s:b\r\nn=s:#null;\r\n};;\r\n";
        let (frame, length) = whole(octets);
        assert_eq!(length, octets.len());
        assert_eq!(frame.header.channel, "my own channel");
        assert_eq!(frame.field("a").and_then(Field::text), Some("b"));
        assert_eq!(frame.field("n").and_then(Field::text), None);
    }

    #[test]
    fn limits_end_the_reading_before_anything_is_allocated() {
        let too_long = |octets: &[u8]| match parse(octets) {
            Err(Malformed::TooLong { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        let body = |body: &str| format!("fox a 0 -1 fox hello\n{{\n{body}").into_bytes();
        assert_eq!(too_long(&body("e=b:2147483648[")), "a blob or object");
        assert_eq!(
            too_long(&body("e=o:bog 99999999999999999999[")),
            "a blob or object"
        );
        assert_eq!(too_long(&body(&"k".repeat(200))), "a key");
        assert_eq!(
            too_long(&body(&format!("k=s:{}", "x".repeat(9_000)))),
            "a value"
        );
        assert_eq!(
            too_long(&body(&"k=s:\n".repeat(257))),
            "the number of fields"
        );
        assert_eq!(too_long(&body(&"k=m:{\n".repeat(9))), "the nesting");
        assert_eq!(
            too_long(&[&b"fox "[..], &[b'x'; 300]].concat()),
            "the header"
        );
        assert_eq!(parse(b"HTTP/1.1"), Err(Malformed::NotFox));
    }

    proptest! {
        #[test]
        fn a_frame_is_the_same_wherever_it_is_cut(cut in 0..ALL_TYPES.len() - 1) {
            prop_assert_eq!(parse(&ALL_TYPES[..cut]).map(|parsed| matches!(parsed, Parsed::Incomplete)), Ok(true));
        }

        #[test]
        fn no_octets_upset_the_parser(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&octets);
        }

        #[test]
        fn no_frame_like_octets_upset_the_parser(body in "([a-z]{1,3}=[sifztbomq]:[-0-9a-f\\[\\]{} \n;]{0,20}\n?){0,8}(\\};;\n)?") {
            let _ = parse(format!("fox a 0 -1 fox hello\n{{\n{body}").as_bytes());
        }
    }
}
