//! One line of the journal: a JSON object whose last member is the digest of the line and of all before it.
//!
//! The digest is taken over the bytes as they stand in the file, so no byte can change without notice:
//! `{"seq":7,…,"hash":"<SHA-256 of the previous hash and of {"seq":7,…>"}`.

use ring::digest::{Context, SHA256, digest};
use serde_json::{Map, Value};

/// Stands between the body of a line and its digest.
const HASH_MEMBER: &str = ",\"hash\":\"";

/// Closes the line behind its digest.
const CLOSING: &str = "\"}";

/// The digest of a line and of all lines before it, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hash(String);

impl Hash {
    /// What stands before the first line of the first file.
    pub(super) fn origin() -> Self {
        Self("0".repeat(64))
    }

    /// Takes a digest as it was written.
    pub(super) fn read(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Bytes as lower-case hexadecimal.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of some bytes in lower-case hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(digest(&SHA256, bytes).as_ref())
}

fn link(previous: &Hash, body: &[u8]) -> Hash {
    let mut context = Context::new(&SHA256);
    context.update(previous.0.as_bytes());
    context.update(body);
    Hash(hexadecimal(context.finish().as_ref()))
}

/// The line of `members` behind a line with the digest `previous`, without its line end, and its own digest.
pub(super) fn seal(previous: &Hash, members: Map<String, Value>) -> (String, Hash) {
    let mut line = Value::Object(members).to_string();
    // The closing brace; an object's text always has one.
    line.pop();
    let hash = link(previous, line.as_bytes());
    line.push_str(HASH_MEMBER);
    line.push_str(hash.as_str());
    line.push_str(CLOSING);
    (line, hash)
}

/// Reads a line that follows a line with the digest `previous`.
///
/// # Errors
/// A few words: what is wrong with it.
pub(super) fn check(previous: &Hash, line: &[u8]) -> Result<(Map<String, Value>, Hash), String> {
    let tail = HASH_MEMBER.len() + previous.0.len() + CLOSING.len();
    let body = line
        .len()
        .checked_sub(tail)
        .and_then(|end| line.get(..end))
        .ok_or("the line is too short for a record")?;
    let hash = link(previous, body);
    let expected = format!("{HASH_MEMBER}{}{CLOSING}", hash.as_str());
    if line.get(body.len()..) != Some(expected.as_bytes()) {
        return Err(
            "its digest does not fit: this record, or the order of records, was changed".to_owned(),
        );
    }
    let members: Map<String, Value> = serde_json::from_slice(line)
        .map_err(|error| format!("it cannot be read as JSON: {error}"))?;
    Ok((members, hash))
}

/// The members of a line whatever its digest says; used to name a damaged record.
pub(super) fn members_unchecked(line: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(line).ok()
}

/// The previous digest that the first record of a file names.
pub(super) fn previous_named(line: &[u8]) -> Option<Hash> {
    let members = members_unchecked(line)?;
    members.get("prev")?.as_str().map(Hash::read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(seq: u64) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("seq".into(), seq.into());
        members.insert("note".into(), "grüße \"}".into());
        members
    }

    #[test]
    fn a_sealed_line_reads_back_and_a_changed_one_does_not() {
        let (line, hash) = seal(&Hash::origin(), members(1));
        let (read, again) = check(&Hash::origin(), line.as_bytes()).unwrap();
        assert_eq!(read["seq"], 1);
        assert_eq!(read["note"], "grüße \"}");
        assert_eq!(again, hash);
        for at in 0..line.len() {
            let mut changed = line.clone().into_bytes();
            changed[at] ^= 1;
            assert!(check(&Hash::origin(), &changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_line_fits_only_behind_its_own_predecessor() {
        let (_, first) = seal(&Hash::origin(), members(1));
        let (second, _) = seal(&first, members(2));
        assert!(check(&first, second.as_bytes()).is_ok());
        assert!(check(&Hash::origin(), second.as_bytes()).is_err());
        assert!(check(&first, b"").is_err());
    }
}
