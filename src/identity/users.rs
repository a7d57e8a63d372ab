//! The table of users and their tokens, as `users.json` holds it (Tool surface §3).
//!
//! Only digests of tokens are kept: `hex(SHA-256(salt ‖ token))`, with one salt for the file.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::error::IdentityError;
use super::rights::Rights;

const VERSION: u32 = 1;

/// Bytes of the salt (Tool surface §3).
pub const SALT_BYTES: usize = 16;

/// Characters of a digest.
const DIGEST_LENGTH: usize = 64;

/// Longest user name in characters.
const LONGEST_NAME: usize = 200;

/// A position that no token has.
const NOWHERE: u64 = u64::MAX;

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Token {
    token_hash: String,
    created: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<DateTime<Utc>>,
}

impl Token {
    fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.expires.is_none_or(|end| now < end)
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    name: String,
    created: DateTime<Utc>,
    rights: Rights,
    tokens: Vec<Token>,
}

/// What may be told of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFacts {
    pub name: String,
    pub created: DateTime<Utc>,
    pub rights: Rights,
    /// Tokens that work now.
    pub tokens: usize,
    /// When the last of them stops working; none = never.
    pub expires: Option<DateTime<Utc>>,
}

/// All users with a token of their own. It has no Debug: digests are shown nowhere.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UserTable {
    version: u32,
    token_salt: String,
    users: Vec<Entry>,
    #[serde(skip)]
    salt: Vec<u8>,
}

impl UserTable {
    /// A table without users and with a salt of its own.
    ///
    /// # Errors
    /// The operating system gives no random numbers.
    pub fn new() -> Result<Self, IdentityError> {
        let mut salt = vec![0; SALT_BYTES];
        SystemRandom::new()
            .fill(&mut salt)
            .map_err(|_| IdentityError::Random)?;
        Ok(Self::with_salt(salt))
    }

    fn with_salt(salt: Vec<u8>) -> Self {
        Self {
            version: VERSION,
            token_salt: STANDARD.encode(&salt),
            users: Vec::new(),
            salt,
        }
    }

    /// Reads a table.
    ///
    /// # Errors
    /// What is wrong with the text, never quoting it.
    pub fn from_json(text: &[u8]) -> Result<Self, String> {
        let mut table: Self = serde_json::from_slice(text).map_err(|error| {
            format!(
                "line {} column {} is not what a list of users has there",
                error.line(),
                error.column()
            )
        })?;
        if table.version != VERSION {
            return Err(format!(
                "it has version {} and this program reads version {VERSION}",
                table.version
            ));
        }
        table.salt = STANDARD
            .decode(&table.token_salt)
            .ok()
            .filter(|salt| salt.len() == SALT_BYTES)
            .ok_or_else(|| format!("tokenSalt is not {SALT_BYTES} bytes in Base64"))?;
        for (index, user) in table.users.iter().enumerate() {
            check_name(&user.name).map_err(|error| error.to_string())?;
            user.rights.check().map_err(|error| error.to_string())?;
            if table
                .users
                .iter()
                .take(index)
                .any(|other| other.name == user.name)
            {
                return Err(format!("the user '{}' stands there twice", user.name));
            }
            let is_digest = |token: &Token| {
                token.token_hash.len() == DIGEST_LENGTH
                    && token
                        .token_hash
                        .bytes()
                        .all(|sign| matches!(sign, b'0'..=b'9' | b'a'..=b'f'))
            };
            if !user.tokens.iter().all(is_digest) {
                return Err(format!(
                    "a tokenHash of '{}' is no SHA-256 in lower-case hex",
                    user.name
                ));
            }
        }
        Ok(table)
    }

    /// The text to store.
    ///
    /// # Errors
    /// The table cannot be written as JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }

    /// The user that a token belongs to. Every token of every user is compared, whichever fits, in the same time.
    pub fn resolve(&self, token: &str, now: DateTime<Utc>) -> Option<&str> {
        let digest = self.digest(token);
        let mut found = NOWHERE;
        for (index, user) in (0_u64..).zip(&self.users) {
            for known in &user.tokens {
                let same = known.token_hash.as_bytes().ct_eq(digest.as_bytes());
                let first = found.ct_eq(&NOWHERE);
                let live = Choice::from(u8::from(known.is_live(now)));
                found.conditional_assign(&index, same & first & live);
            }
        }
        // An empty bearer is nobody's, whatever the file says.
        if token.is_empty() {
            return None;
        }
        let user = self.users.get(usize::try_from(found).ok()?)?;
        Some(&user.name)
    }

    /// Gives a user a token beside or, without `overlap`, in place of earlier ones, which end after the overlap.
    ///
    /// # Errors
    /// A name that no station user can have.
    pub fn grant(
        &mut self,
        name: &str,
        token: &str,
        rights: Option<Rights>,
        expires: Option<DateTime<Utc>>,
        overlap: Duration,
        now: DateTime<Utc>,
    ) -> Result<(), IdentityError> {
        check_name(name)?;
        if let Some(rights) = &rights {
            rights.check()?;
        }
        let granted = Token {
            token_hash: self.digest(token),
            created: now,
            expires,
        };
        let last = TimeDelta::from_std(overlap)
            .ok()
            .and_then(|overlap| now.checked_add_signed(overlap))
            .unwrap_or(now);
        match self.users.iter_mut().find(|user| user.name == name) {
            Some(user) => {
                for token in &mut user.tokens {
                    token.expires = Some(token.expires.map_or(last, |end| end.min(last)));
                }
                user.tokens.retain(|token| token.is_live(now));
                user.tokens.push(granted);
                if let Some(rights) = rights {
                    user.rights = rights;
                }
            }
            None => self.users.push(Entry {
                name: name.to_owned(),
                created: now,
                rights: rights.unwrap_or_default(),
                tokens: vec![granted],
            }),
        }
        Ok(())
    }

    /// Takes a user out; false when there is none of that name.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.users.len();
        self.users.retain(|user| user.name != name);
        self.users.len() != before
    }

    /// Whether a user of that name is bound.
    pub fn has(&self, name: &str) -> bool {
        self.users.iter().any(|user| user.name == name)
    }

    /// The rights of a user.
    pub fn rights(&self, name: &str) -> Option<&Rights> {
        let user = self.users.iter().find(|user| user.name == name)?;
        Some(&user.rights)
    }

    /// What may be told of all users, in the order in which they were bound.
    pub fn facts(&self, now: DateTime<Utc>) -> Vec<UserFacts> {
        let facts = self.users.iter().map(|user| {
            let live = || user.tokens.iter().filter(|token| token.is_live(now));
            UserFacts {
                name: user.name.clone(),
                created: user.created,
                rights: user.rights.clone(),
                tokens: live().count(),
                expires: match live().any(|token| token.expires.is_none()) {
                    true => None,
                    false => live().filter_map(|token| token.expires).max(),
                },
            }
        });
        facts.collect()
    }

    /// The digest of a token with the salt of this table.
    pub(super) fn digest(&self, token: &str) -> String {
        digest_with(&self.salt, token)
    }
}

/// `hex(SHA-256(salt ‖ token))` (Tool surface §3).
pub(super) fn digest_with(salt: &[u8], token: &str) -> String {
    let mut context = Context::new(&SHA256);
    context.update(salt);
    context.update(token.as_bytes());
    let digest = context.finish();
    digest
        .as_ref()
        .iter()
        .fold(String::new(), |mut text, byte| {
            use std::fmt::Write;
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// The name of the service identity in records, rules and log lines; a person of that name could not be told from it.
const SERVICE: &str = "service";

/// Refuses what cannot be the name of a user with a token.
///
/// # Errors
/// The name is empty, too long, has control characters, or is that of the service identity.
pub fn check_name(name: &str) -> Result<(), IdentityError> {
    if name.trim().eq_ignore_ascii_case(SERVICE) {
        return Err(IdentityError::Reserved {
            name: name.to_owned(),
        });
    }
    let length = name.chars().count();
    if (1..=LONGEST_NAME).contains(&length) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(IdentityError::BadName {
        name: crate::station::echo::shortened(name).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("a time")
    }

    /// The salt of the worked example (Tool surface §3).
    fn table() -> UserTable {
        UserTable::with_salt((0..16).collect())
    }

    #[test]
    fn digests_are_those_of_the_worked_example() {
        let table = table();
        assert_eq!(table.token_salt, "AAECAwQFBgcICQoLDA0ODw==");
        for (token, digest) in [
            (
                "test-token",
                "0f4f5805c90ab83c7d58713ef9bb782cadd258f055955086157144f369af094f",
            ),
            (
                "жетон",
                "d90cb3bce9e773959337b6dd2a415c795bc3f3b9c4bef41b4ac81078ea3ac346",
            ),
        ] {
            assert_eq!(table.digest(token), digest);
        }
    }

    #[test]
    fn a_new_token_replaces_the_old_one_after_the_overlap() {
        let (mut table, start) = (table(), at("2026-11-02T10:00:00Z"));
        let later = start + TimeDelta::minutes(30);
        let hour = Duration::from_secs(3600);
        table
            .grant("olga", "one", None, None, hour, start)
            .expect("granted");
        table
            .grant("ivan", "other", None, None, hour, start)
            .expect("granted");
        table
            .grant("olga", "two", None, None, hour, later)
            .expect("rotated");
        assert_eq!(table.resolve("one", later), Some("olga"));
        assert_eq!(table.resolve("two", later), Some("olga"));
        assert_eq!(table.facts(later)[0].tokens, 2);
        assert_eq!(table.facts(later)[0].expires, None);
        let over = later + TimeDelta::hours(1);
        assert_eq!(table.resolve("one", over), None);
        assert_eq!(table.resolve("two", over), Some("olga"));
        table
            .grant("olga", "three", None, Some(over), Duration::ZERO, later)
            .expect("rotated");
        assert_eq!(table.resolve("two", later), None, "no overlap was wanted");
        assert_eq!(table.resolve("three", over), None, "it has expired");
        assert!(table.remove("olga") && !table.remove("olga"));
        assert_eq!(table.resolve("three", later), None);
        assert_eq!(table.resolve("other", later), Some("ivan"));
    }

    #[test]
    fn a_stored_table_is_the_same_table_and_holds_no_token() {
        let (mut table, now) = (table(), at("2026-11-02T10:00:00Z"));
        let rights = Rights::parse(&["read".into()], &["history".into()]).expect("rights");
        table
            .grant(
                "olga",
                "sentinel-token",
                Some(rights.clone()),
                None,
                Duration::ZERO,
                now,
            )
            .expect("granted");
        let text = table.to_json().expect("text");
        assert!(!String::from_utf8_lossy(&text).contains("sentinel"));
        let read = UserTable::from_json(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.resolve("sentinel-token", now), Some("olga"));
        assert_eq!(read.rights("olga"), Some(&rights));
        assert_eq!(read.resolve("", now), None);
        assert_eq!(table.facts(now), read.facts(now));
    }

    #[test]
    fn a_broken_table_is_refused_without_quoting_it() {
        let digest = "0".repeat(64);
        let user = |name: &str, hash: &str| {
            format!(
                r#"{{"name":"{name}","created":"2026-11-02T10:00:00Z","rights":{{"knowledge":true,"write":true}},"tokens":[{{"tokenHash":"{hash}","created":"2026-11-02T10:00:00Z"}}]}}"#
            )
        };
        let table = |version: u32, salt: &str, users: &str| {
            format!(r#"{{"version":{version},"tokenSalt":"{salt}","users":[{users}]}}"#)
        };
        let salt = "AAECAwQFBgcICQoLDA0ODw==";
        let twice = format!("{0},{0}", user("olga", &digest));
        for (text, problem) in [
            ("{\n\"sentinel\":1}".to_owned(), "line 2"),
            (table(2, salt, ""), "version 2"),
            (table(1, "AAEC", ""), "tokenSalt"),
            (table(1, salt, &twice), "twice"),
            (
                table(1, salt, &user("olga", "sentinel")),
                "tokenHash of 'olga'",
            ),
            (table(1, salt, &user("", &digest)), "no name"),
        ] {
            let Err(error) = UserTable::from_json(text.as_bytes()) else {
                panic!("accepted: {text}");
            };
            assert!(
                error.contains(problem) && !error.contains("sentinel"),
                "{error}"
            );
        }
        let whole = table(1, salt, &user("olga", &digest));
        assert!(UserTable::from_json(whole.as_bytes()).is_ok());
        let mut table = UserTable::new().expect("random");
        let now = at("2026-11-02T10:00:00Z");
        for name in ["", "a\nb", &"x".repeat(201)] {
            assert!(
                table
                    .grant(name, "t", None, None, Duration::ZERO, now)
                    .is_err()
            );
        }
    }
}
