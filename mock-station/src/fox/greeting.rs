//! Whether what a client sent is a hello (Fox specification §2, §3, §4).
//!
//! A station answers nothing else. Values are only measured, never interpreted.

/// Limits of the hello phase (Fox specification §3, rule 5).
const HEADER: usize = 256;
const KEY: usize = 128;
const TEXT: usize = 8 * 1024;
const BLOB: usize = 64 * 1024;
const TUPLES: usize = 256;
const NESTING: usize = 8;
const FRAME: usize = 256 * 1024;

/// What a client's octets amount to so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// More octets are needed.
    Incomplete,
    /// A hello of this many octets.
    Hello(usize),
    /// Never a hello, whatever follows.
    Refused(&'static str),
}

enum Stop {
    Incomplete,
    Refused(&'static str),
}

type Step<T> = Result<T, Stop>;

/// Judges all octets received so far.
pub(super) fn judge(octets: &[u8]) -> Greeting {
    let mut cursor = Cursor { octets, at: 0 };
    match cursor.hello() {
        Ok(()) if cursor.at <= FRAME => Greeting::Hello(cursor.at),
        Ok(()) => Greeting::Refused("the frame is too long"),
        Err(Stop::Incomplete) if octets.len() > FRAME => Greeting::Refused("the frame is too long"),
        Err(Stop::Incomplete) => Greeting::Incomplete,
        Err(Stop::Refused(reason)) => Greeting::Refused(reason),
    }
}

struct Cursor<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn hello(&mut self) -> Step<()> {
        header(self.line(HEADER, "the header is too long")?)?;
        self.exact_line(b"{", "the body does not begin with a brace")?;
        self.tuples(b"};;", 0)
    }

    /// Tuples up to and including the closing line.
    fn tuples(&mut self, closing: &[u8], depth: usize) -> Step<()> {
        if depth > NESTING {
            return Err(Stop::Refused("messages are nested too deep"));
        }
        for _ in 0..=TUPLES {
            if self.rest().starts_with(b"}") {
                return self.exact_line(closing, "the end is malformed");
            }
            let key = self.until(b'=', KEY, "a key is too long")?;
            if key.is_empty() || key.iter().any(|octet| matches!(octet, b' ' | b'\n')) {
                return Err(Stop::Refused("a key is malformed"));
            }
            let kind = self.take(1)?.first().copied().unwrap_or(0);
            if !kind.is_ascii_lowercase() || self.take(1)? != b":" {
                return Err(Stop::Refused("a field has no type"));
            }
            self.value(kind, depth)?;
        }
        Err(Stop::Refused("there are too many fields"))
    }

    fn value(&mut self, kind: u8, depth: usize) -> Step<()> {
        match kind {
            b'b' => self.blob(),
            b'o' => {
                self.until(b' ', KEY, "an object's encoding is too long")?;
                self.blob()
            }
            b'm' => {
                self.exact_line(b"{", "a message does not begin with a brace")?;
                self.tuples(b"}", depth + 1)
            }
            b'i' => {
                let digits = self.line(TEXT, "a number is too long")?;
                whole_number(digits).ok_or(Stop::Refused("an integer is malformed"))?;
                Ok(())
            }
            b'z' => match self.line(TEXT, "a boolean is too long")? {
                b"t" | b"f" => Ok(()),
                _ => Err(Stop::Refused("a boolean is malformed")),
            },
            _ => self.line(TEXT, "a text is too long").map(|_| ()),
        }
    }

    fn blob(&mut self) -> Step<()> {
        let digits = self.until(b'[', 10, "a length is malformed")?;
        let length = whole_number(digits)
            .and_then(|length| usize::try_from(length).ok())
            .filter(|length| *length <= BLOB)
            .ok_or(Stop::Refused("a length is malformed or too large"))?;
        self.take(length)?;
        self.exact_line(b"]", "a blob is longer than it says")
    }

    /// A line of known text; refused at the first octet that differs.
    fn exact_line(&mut self, expected: &[u8], otherwise: &'static str) -> Step<()> {
        for octet in expected {
            if self.take(1)?.first() != Some(octet) {
                return Err(Stop::Refused(otherwise));
            }
        }
        match self.take(1)? {
            b"\n" => Ok(()),
            b"\r" if self.take(1)? == b"\n" => Ok(()),
            _ => Err(Stop::Refused(otherwise)),
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.octets.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, count: usize) -> Step<&'a [u8]> {
        let taken = self.rest().get(..count).ok_or(Stop::Incomplete)?;
        self.at += count;
        Ok(taken)
    }

    /// Octets up to a delimiter, which is taken too.
    fn until(&mut self, delimiter: u8, limit: usize, too_long: &'static str) -> Step<&'a [u8]> {
        let rest = self.rest();
        match rest.iter().position(|octet| *octet == delimiter) {
            Some(length) if length <= limit => {
                self.at += length + 1;
                Ok(rest.get(..length).unwrap_or_default())
            }
            Some(_) => Err(Stop::Refused(too_long)),
            None if rest.len() > limit => Err(Stop::Refused(too_long)),
            None => Err(Stop::Incomplete),
        }
    }

    /// One line of at most `limit` octets, without its end.
    fn line(&mut self, limit: usize, too_long: &'static str) -> Step<&'a [u8]> {
        let line = self.until(b'\n', limit + 1, too_long)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > limit {
            return Err(Stop::Refused(too_long));
        }
        Ok(line)
    }
}

fn header(line: &[u8]) -> Step<()> {
    let text = std::str::from_utf8(line).map_err(|_| Stop::Refused("the header is no text"))?;
    let parts: Vec<&str> = text.split(' ').collect();
    match parts.as_slice() {
        ["fox", "a", sequence, reply, "fox", "hello"]
            if whole_number(sequence.as_bytes()).is_some()
                && whole_number(reply.as_bytes()).is_some() =>
        {
            Ok(())
        }
        _ => Err(Stop::Refused("the frame is no hello")),
    }
}

fn whole_number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINIMAL: &[u8] = b"fox a 1 -1 fox hello\n{\nfox.version=s:1.0\nid=i:1\n};;\n";

    fn refused(text: &str) -> bool {
        matches!(judge(text.as_bytes()), Greeting::Refused(_))
    }

    #[test]
    fn the_minimal_hello_is_complete_with_its_last_octet() {
        assert_eq!(MINIMAL.len(), 52);
        assert_eq!(judge(MINIMAL), Greeting::Hello(52));
        for length in 0..MINIMAL.len() {
            assert_eq!(judge(&MINIMAL[..length]), Greeting::Incomplete, "{length}");
        }
        let more = [MINIMAL, b"fox a 2 -1 fox x\n"].concat();
        assert_eq!(judge(&more), Greeting::Hello(52));
    }

    #[test]
    fn values_are_measured_by_their_type() {
        let long = "fox a 1 -1 fox hello\n{\nb=b:11[ab}\n};;\ncde]\no=o:bog 2[<>]\nm=m:{\na=s:x=y:z\n}\nz=z:t\n};;\n";
        assert_eq!(judge(long.as_bytes()), Greeting::Hello(long.len()));
        let returns = "fox a 1 -1 fox hello\r\n{\r\nid=i:1\r\n};;\r\n";
        assert_eq!(judge(returns.as_bytes()), Greeting::Hello(returns.len()));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(refused("GET / HTTP/1.1\r\n"));
        assert!(refused("fox a 1 -1 fox login\n"));
        assert!(refused("fox s 1 -1 fox hello\n"));
        assert!(refused("fox a 1 -1 fox hello\nx"));
        assert!(refused("fox a 1 -1 fox hello\n{\nid=i:one\n"));
        assert!(refused("fox a 1 -1 fox hello\n{\nid=b:2147483648[\n"));
        assert!(refused("fox a 1 -1 fox hello\n{\nid=b:-1[\n"));
        assert!(refused("fox a 1 -1 fox hello\n{\nid=b:1[ab]\n"));
        assert!(refused(&"x".repeat(300)));
        let deep = format!("fox a 1 -1 fox hello\n{{\n{}", "m=m:{\n".repeat(20));
        assert!(refused(&deep));
        let many = format!("fox a 1 -1 fox hello\n{{\n{}", "a=s:\n".repeat(400));
        assert!(refused(&many));
    }

    proptest! {
        #[test]
        fn judging_never_fails_and_never_changes_its_mind(octets in proptest::collection::vec(any::<u8>(), 0..80), cut in 0usize..60) {
            let mut damaged = MINIMAL[..cut.min(MINIMAL.len())].to_vec();
            damaged.extend(&octets);
            let whole = judge(&damaged);
            for length in 0..damaged.len() {
                match judge(&damaged[..length]) {
                    Greeting::Incomplete => {}
                    settled => prop_assert_eq!(settled, whole),
                }
            }
        }
    }
}
