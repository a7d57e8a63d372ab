//! Users, roles and lockout (Station web specification §2).

use super::error::ModelError;
use super::permissions::Permissions;
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use indexmap::IndexMap;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

/// The scheme name of SCRAM users.
pub const DIGEST_SCHEME: &str = "DigestScheme";
/// The scheme name of Basic users.
pub const BASIC_SCHEME: &str = "HTTPBasicScheme";

/// A user account.
#[derive(Clone, Debug)]
pub struct User {
    pub name: String,
    pub full_name: String,
    pub enabled: bool,
    pub roles: Vec<String>,
    /// The one scheme under which the credentials are valid.
    pub scheme: String,
    pub password: PasswordRecord,
    pub allow_concurrent_sessions: bool,
    /// Language tag such as `en` or `de`.
    pub language: String,
    /// Pattern such as `dd-MMM-yy h:mm:ss a z`; empty means the default.
    pub time_format: String,
    pub time_zone: Option<Tz>,
    /// The licence agreement was not accepted yet.
    pub eula_pending: bool,
}

impl User {
    /// An enabled user on DigestScheme with English texts.
    pub fn new(name: &str, password: &str, iterations: u32, roles: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            full_name: String::new(),
            enabled: true,
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            scheme: DIGEST_SCHEME.to_owned(),
            password: PasswordRecord::new(password, iterations),
            allow_concurrent_sessions: true,
            language: "en".to_owned(),
            time_format: String::new(),
            time_zone: None,
            eula_pending: false,
        }
    }
}

/// A salted SCRAM-SHA-256 record; the password itself is not kept.
#[derive(Clone)]
pub struct PasswordRecord {
    pub salt: Vec<u8>,
    pub iterations: u32,
    /// SHA-256 of the client key.
    pub stored_key: [u8; 32],
    pub server_key: [u8; 32],
}

impl fmt::Debug for PasswordRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PasswordRecord {{ iterations: {} }}", self.iterations)
    }
}

impl PasswordRecord {
    /// A record with a random salt. The password is normalised (SASLprep) as clients do.
    pub fn new(password: &str, iterations: u32) -> Self {
        let mut salt = [0_u8; 16];
        // Without randomness the salt stays zero: still a valid record for a stand-in.
        let _ = SystemRandom::new().fill(&mut salt);
        Self::with_salt(password, &salt, iterations)
    }

    /// A record with a given salt; zero iterations count as one.
    pub fn with_salt(password: &str, salt: &[u8], iterations: u32) -> Self {
        let iterations = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
        let salted = salted_password(password, salt, iterations);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &salted);
        let client_key = hmac::sign(&key, b"Client Key");
        let server_key = hmac::sign(&key, b"Server Key");
        Self {
            salt: salt.to_vec(),
            iterations: iterations.get(),
            stored_key: to_array(digest::digest(&digest::SHA256, client_key.as_ref()).as_ref()),
            server_key: to_array(server_key.as_ref()),
        }
    }

    /// Whether `password` is the one this record was made from.
    pub fn verify(&self, password: &str) -> bool {
        let other = Self::with_salt(password, &self.salt, self.iterations);
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"compare");
        hmac::verify(
            &key,
            &other.stored_key,
            hmac::sign(&key, &self.stored_key).as_ref(),
        )
        .is_ok()
    }
}

fn salted_password(password: &str, salt: &[u8], iterations: NonZeroU32) -> [u8; 32] {
    let normalised = stringprep::saslprep(password).unwrap_or(password.into());
    let mut salted = [0_u8; 32];
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        iterations,
        salt,
        normalised.as_bytes(),
        &mut salted,
    );
    salted
}

fn to_array(bytes: &[u8]) -> [u8; 32] {
    let mut array = [0_u8; 32];
    for (place, byte) in array.iter_mut().zip(bytes) {
        *place = *byte;
    }
    array
}

/// A role: permissions per category index (1 to 64).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    pub name: String,
    pub super_user: bool,
    pub permissions: BTreeMap<u32, Permissions>,
}

impl Role {
    /// The encoded permissions map, `1=irw;2=r`.
    pub fn encode(&self) -> String {
        let parts: Vec<String> = self
            .permissions
            .iter()
            .map(|(index, granted)| format!("{index}={}", granted.encode()))
            .collect();
        parts.join(";")
    }
}

/// How many bad logins lock a user out, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockoutRule {
    pub enabled: bool,
    pub bad_logins: usize,
    pub window: TimeDelta,
    pub period: TimeDelta,
}

impl Default for LockoutRule {
    /// 5 bad logins in 30 s lock for 10 s (Station web specification §2.7).
    fn default() -> Self {
        Self {
            enabled: true,
            bad_logins: 5,
            window: TimeDelta::seconds(30),
            period: TimeDelta::seconds(10),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct LoginRecord {
    bad: Vec<DateTime<Utc>>,
    locked_until: Option<DateTime<Utc>>,
}

/// All users, roles and categories.
#[derive(Clone, Debug, Default)]
pub struct Users {
    users: IndexMap<String, User>,
    roles: IndexMap<String, Role>,
    /// Names of the categories; index 1 comes first.
    categories: Vec<String>,
    pub lockout: LockoutRule,
    logins: BTreeMap<String, LoginRecord>,
}

impl Users {
    /// A user by name.
    pub fn get(&self, name: &str) -> Option<&User> {
        self.users.get(name)
    }

    /// A user for changing it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut User> {
        self.users.get_mut(name)
    }

    /// All users.
    pub fn iter(&self) -> impl Iterator<Item = &User> {
        self.users.values()
    }

    /// All roles.
    pub fn roles(&self) -> impl Iterator<Item = &Role> {
        self.roles.values()
    }

    /// A role by name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.get(name)
    }

    /// Category names; the first has index 1 and mask bit 0.
    pub fn categories(&self) -> &[String] {
        &self.categories
    }

    /// The mask bit of a named category.
    pub fn category_mask(&self, name: &str) -> Option<u64> {
        let index = self.categories.iter().position(|known| known == name)?;
        1_u64.checked_shl(index as u32)
    }

    pub(super) fn insert_user(&mut self, user: User) {
        self.users.insert(user.name.clone(), user);
    }

    pub(super) fn remove_user(&mut self, name: &str) {
        self.users.shift_remove(name);
        self.logins.remove(name);
    }

    pub(super) fn insert_role(&mut self, role: Role) {
        self.roles.insert(role.name.clone(), role);
    }

    pub(super) fn insert_category(&mut self, name: &str) -> u32 {
        self.categories.push(name.to_owned());
        self.categories.len() as u32
    }

    /// Gives a user another password, hashed as often as the old one.
    ///
    /// # Errors
    /// When there is no such user.
    pub fn change_password(&mut self, name: &str, password: &str) -> Result<(), ModelError> {
        let user = self.get_mut(name).ok_or_else(|| ModelError::UnknownUser {
            user: name.to_owned(),
        })?;
        user.password = PasswordRecord::new(password, user.password.iterations);
        Ok(())
    }

    /// Whether the user has a super-user role.
    pub fn is_super(&self, user: &User) -> bool {
        user.roles
            .iter()
            .filter_map(|role| self.roles.get(role))
            .any(|role| role.super_user)
    }

    /// The union of the permissions of all roles over all categories of `mask`.
    pub fn permissions(&self, user: &User, mask: u64) -> Permissions {
        let roles = user.roles.iter().filter_map(|role| self.roles.get(role));
        roles.fold(Permissions::NONE, |all, role| {
            if role.super_user {
                return Permissions::ALL;
            }
            let granted = role.permissions.iter().filter(|(index, _)| {
                index
                    .checked_sub(1)
                    .and_then(|bit| 1_u64.checked_shl(bit))
                    .is_some_and(|bit| mask & bit != 0)
            });
            granted.fold(all, |all, (_, permissions)| all | *permissions)
        })
    }

    /// Whether logins of `name` are refused at `now`, also with the right password.
    pub fn is_locked(&self, name: &str, now: DateTime<Utc>) -> bool {
        self.lockout.enabled
            && self
                .logins
                .get(name)
                .and_then(|l| l.locked_until)
                .is_some_and(|until| now < until)
    }

    /// Notes a bad login (also one while locked, which extends the lock); tells whether the user is locked now.
    pub fn record_bad_login(&mut self, name: &str, now: DateTime<Utc>) -> bool {
        let rule = self.lockout;
        let record = self.logins.entry(name.to_owned()).or_default();
        record.bad.retain(|time| now - *time <= rule.window);
        record.bad.push(now);
        let locked = record.locked_until.is_some_and(|until| now < until);
        if rule.enabled && (locked || record.bad.len() >= rule.bad_logins) {
            record.locked_until = Some(now + rule.period);
            if !locked {
                record.bad.clear();
            }
            return true;
        }
        false
    }

    /// Forgets the bad logins of a user after a good one.
    pub fn record_good_login(&mut self, name: &str) {
        self.logins.remove(name);
    }

    /// A user by name, or the error that names it.
    pub fn require(&self, name: &str) -> Result<&User, ModelError> {
        self.get(name).ok_or_else(|| ModelError::UnknownUser {
            user: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    #[test]
    fn the_published_scram_vector_gives_the_published_signature_keys() {
        let salt: Vec<u8> = (0..16).collect();
        let salted = salted_password("Secret-1", &salt, NonZeroU32::new(4096).unwrap());
        let hex: String = salted.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "b1b238e6ecd313c9d4adccf8f460e8376513398c7b1fed455cabc9f02ae5baee"
        );
    }

    #[test]
    fn only_the_right_password_verifies_and_none_is_shown() {
        let record = PasswordRecord::new("pä:x", 8);
        assert!(record.verify("pä:x") && !record.verify("pa:x"));
        assert!(!format!("{:?}", User::new("u", "geheim", 8, &[])).contains("geheim"));
    }

    #[test]
    fn five_bad_logins_lock_for_ten_seconds_and_tries_extend_it() {
        let start = Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).unwrap();
        let at = |seconds| start + TimeDelta::seconds(seconds);
        let mut users = Users::default();
        for second in 0..4 {
            assert!(!users.record_bad_login("a", at(second)));
        }
        assert!(users.record_bad_login("a", at(4)));
        assert!(users.is_locked("a", at(13)) && !users.is_locked("b", at(13)));
        assert!(!users.is_locked("a", at(14)));
        assert!(
            !users.record_bad_login("a", at(20)),
            "one bad login after the lock does not lock again"
        );
        for second in 21..25 {
            users.record_bad_login("a", at(second));
        }
        assert!(
            users.record_bad_login("a", at(30)),
            "a try while locked extends the lock"
        );
        assert!(users.is_locked("a", at(39)));
        users.record_good_login("a");
        assert!(!users.is_locked("a", at(39)));
    }

    #[test]
    fn slow_mistakes_do_not_lock() {
        let start = Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).unwrap();
        let mut users = Users::default();
        for minute in 0..20 {
            assert!(!users.record_bad_login("a", start + TimeDelta::seconds(minute * 10)));
        }
    }
}
