//! `users.json` of a data folder: changed by one process at a time, read anew by all others when it changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use zeroize::Zeroizing;

use super::error::IdentityError;
use super::private_file::{self, Readers};
use super::rights::Rights;
use super::users::{UserFacts, UserTable};
use crate::clock::SharedClock;
use crate::mcp::auth::UserTokens;
use crate::tools::ToolSets;

const USERS: &str = "users.json";

/// When each token was last used lies in a file of its own, so that reading requests never rewrite the tokens.
const LAST_USED: &str = "users.used.json";

/// Uses closer together than this are stored once.
const USE_STEP: TimeDelta = TimeDelta::seconds(60);

/// What was last read, and the table that it holds.
struct Read {
    content: Zeroizing<Vec<u8>>,
    table: Arc<UserTable>,
}

/// A user, with the time of the last request that came with a token of theirs.
pub type KnownUser = (UserFacts, Option<DateTime<Utc>>);

/// The users of a data folder and their tokens.
pub struct Identities {
    folder: PathBuf,
    clock: SharedClock,
    read: Mutex<Option<Read>>,
    used: Mutex<Option<BTreeMap<String, DateTime<Utc>>>>,
}

impl Identities {
    /// The users of this folder; nothing is read before the first question.
    pub fn new(folder: &Path, clock: SharedClock) -> Self {
        Self {
            folder: folder.to_owned(),
            clock,
            read: Mutex::new(None),
            used: Mutex::new(None),
        }
    }

    /// The file of users.
    pub fn path(&self) -> PathBuf {
        self.folder.join(USERS)
    }

    /// Gives a user a token of their own; earlier ones end after `overlap`. Without `rights` a known user keeps theirs.
    ///
    /// # Errors
    /// The file cannot be read or written; then nothing was changed.
    pub fn grant(
        &self,
        name: &str,
        token: &str,
        rights: Option<Rights>,
        lifetime: Option<Duration>,
        overlap: Duration,
    ) -> Result<(), IdentityError> {
        let now = self.clock.now();
        let expires = lifetime
            .and_then(|lifetime| TimeDelta::from_std(lifetime).ok())
            .and_then(|lifetime| now.checked_add_signed(lifetime));
        self.change(|table| table.grant(name, token, rights, expires, overlap, now))
    }

    /// Gives a bound user another token; earlier ones end after `overlap`.
    ///
    /// # Errors
    /// There is no such user, or the file cannot be read or written.
    pub fn rotate(&self, name: &str, token: &str, overlap: Duration) -> Result<(), IdentityError> {
        let now = self.clock.now();
        self.change(|table| match table.has(name) {
            true => table.grant(name, token, None, None, overlap, now),
            false => Err(IdentityError::UnknownUser {
                name: name.to_owned(),
            }),
        })
    }

    /// Ends all tokens of a user; false when there is none of that name.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn revoke(&self, name: &str) -> Result<bool, IdentityError> {
        self.change(|table| Ok(table.remove(name)))
    }

    /// All users, with the time when each last came in.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn list(&self) -> Result<Vec<KnownUser>, IdentityError> {
        let facts = self
            .table()?
            .map(|table| table.facts(self.clock.now()))
            .unwrap_or_default();
        let used = self.stored_uses();
        Ok(facts
            .into_iter()
            .map(|facts| {
                let last = used.get(&facts.name).copied();
                (facts, last)
            })
            .collect())
    }

    /// The user that a token belongs to.
    ///
    /// # Errors
    /// The file cannot be read: then nobody has a token.
    pub fn user_of(&self, token: &str) -> Result<Option<String>, IdentityError> {
        let table = self.table()?;
        let now = self.clock.now();
        Ok(table.and_then(|table| table.resolve(token, now).map(str::to_owned)))
    }

    /// The rights of a user, none when nobody of that name is bound.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn rights(&self, name: &str) -> Result<Option<Rights>, IdentityError> {
        let table = self.table()?;
        Ok(table.and_then(|table| table.rights(name).cloned()))
    }

    /// The digest of a token with this folder's salt; none before the first user is bound.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn digest_of(&self, token: &str) -> Result<Option<String>, IdentityError> {
        Ok(self.table()?.map(|table| table.digest(token)))
    }

    /// The table as the file holds it now. The content is compared, not its time: a change is never overlooked.
    fn table(&self) -> Result<Option<Arc<UserTable>>, IdentityError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(content) = private_file::read(&self.path(), Readers::Owner)? else {
            *read = None;
            return Ok(None);
        };
        if let Some(known) = read.as_ref().filter(|known| known.content == content) {
            return Ok(Some(known.table.clone()));
        }
        *read = None;
        let table = UserTable::from_json(&content).map_err(|problem| self.damaged(problem))?;
        let table = Arc::new(table);
        *read = Some(Read {
            content,
            table: table.clone(),
        });
        Ok(Some(table))
    }

    fn change<T>(
        &self,
        edit: impl FnOnce(&mut UserTable) -> Result<T, IdentityError>,
    ) -> Result<T, IdentityError> {
        let _lock = private_file::lock(&self.folder)?;
        let mut table = match self.table()? {
            Some(table) => (*table).clone(),
            None => UserTable::new()?,
        };
        let outcome = edit(&mut table)?;
        let text = table
            .to_json()
            .map_err(|error| self.damaged(error.to_string()))?;
        private_file::write(&self.path(), &Zeroizing::new(text))?;
        Ok(outcome)
    }

    fn damaged(&self, problem: String) -> IdentityError {
        IdentityError::Damaged {
            path: self.path(),
            problem,
        }
    }

    /// Times of last use as they are stored. They are for information: a file that cannot be read is an empty one.
    fn stored_uses(&self) -> BTreeMap<String, DateTime<Utc>> {
        match private_file::read(&self.folder.join(LAST_USED), Readers::Owner) {
            Ok(Some(content)) => serde_json::from_slice(&content).unwrap_or_default(),
            Ok(None) => BTreeMap::new(),
            Err(error) => {
                tracing::warn!(%error, "when tokens were last used is not known");
                BTreeMap::new()
            }
        }
    }

    /// Remembers that a user came in; true when that is to be stored.
    fn note_use(&self, name: &str) -> Option<BTreeMap<String, DateTime<Utc>>> {
        let now = self.clock.now();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = used.get_or_insert_with(|| self.stored_uses());
        if used.get(name).is_some_and(|last| now - last < USE_STEP) {
            return None;
        }
        used.insert(name.to_owned(), now);
        Some(used.clone())
    }

    async fn store_use(&self, name: &str) {
        let Some(used) = self.note_use(name) else {
            return;
        };
        let path = self.folder.join(LAST_USED);
        let written = tokio::task::spawn_blocking(move || {
            let text = serde_json::to_vec(&used).unwrap_or_default();
            private_file::write(&path, &text)
        });
        if let Ok(Err(error)) = written.await {
            tracing::warn!(%error, "the time of last use is not kept");
        }
    }
}

impl UserTokens for Identities {
    fn resolve<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            match self.user_of(token) {
                Ok(Some(name)) => {
                    self.store_use(&name).await;
                    Some(name)
                }
                Ok(None) => None,
                Err(error) => {
                    tracing::error!(%error, "no user can come in");
                    None
                }
            }
        })
    }

    fn allowed(&self, name: &str, asked: ToolSets) -> ToolSets {
        match self.rights(name) {
            Ok(Some(rights)) => rights.within(asked),
            // Revoked between two steps of one request: nothing is left.
            Ok(None) => ToolSets::only([]),
            Err(error) => {
                tracing::error!(%error, "the rights of a user are not known, so there are none");
                ToolSets::only([])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TestClock;

    const NONE: Duration = Duration::ZERO;

    fn desk() -> (tempfile::TempDir, Identities, Arc<TestClock>) {
        let folder = tempfile::tempdir().expect("folder");
        let clock = Arc::new(TestClock::at("2026-11-02T10:00:00Z".parse().expect("time")));
        let identities = Identities::new(folder.path(), clock.clone());
        (folder, identities, clock)
    }

    fn user(identities: &Identities, token: &str) -> Option<String> {
        identities.user_of(token).expect("readable")
    }

    #[test]
    fn what_another_process_changes_counts_at_once_and_the_salt_stays() {
        let (folder, served, clock) = desk();
        assert_eq!(user(&served, "one"), None);
        let command = Identities::new(folder.path(), clock);
        command
            .grant("olga", "one", None, None, NONE)
            .expect("granted");
        assert_eq!(user(&served, "one").as_deref(), Some("olga"));
        command
            .grant("ivan", "two", None, None, NONE)
            .expect("granted");
        assert_eq!(
            user(&served, "one").as_deref(),
            Some("olga"),
            "the salt is that of the file"
        );
        command.rotate("olga", "three", NONE).expect("rotated");
        assert_eq!(
            (user(&served, "one"), user(&served, "three").as_deref()),
            (None, Some("olga"))
        );
        assert!(command.revoke("olga").expect("revoked"));
        assert_eq!(user(&served, "three"), None);
        assert!(!command.revoke("olga").expect("not there"));
        let error = command
            .rotate("olga", "four", NONE)
            .expect_err("unknown")
            .to_string();
        assert!(
            error.contains("no user 'olga'") && error.contains("user list"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_cannot_be_used_lets_nobody_in_and_is_never_overwritten() {
        let (_folder, identities, _clock) = desk();
        identities
            .grant("olga", "one", None, None, NONE)
            .expect("granted");
        std::fs::write(identities.path(), "{}").expect("write");
        let error = identities.user_of("one").expect_err("broken").to_string();
        assert!(error.contains("users.json is not usable"), "{error}");
        assert!(identities.grant("ivan", "two", None, None, NONE).is_err());
        assert_eq!(
            std::fs::read_to_string(identities.path()).expect("text"),
            "{}"
        );
        assert_eq!(
            identities.allowed("olga", ToolSets::all()),
            ToolSets::only([])
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_change_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, identities, _clock) = desk();
        identities
            .grant("olga", "one", None, None, NONE)
            .expect("granted");
        let mode = std::fs::metadata(identities.path())
            .expect("facts")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(identities.path(), std::fs::Permissions::from_mode(0o644))
            .expect("mode");
        let error = identities.user_of("one").expect_err("open").to_string();
        assert!(
            error.contains("mode 644") && error.contains("chmod 600"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn the_time_of_last_use_is_kept_across_a_restart() {
        let (folder, identities, clock) = desk();
        identities
            .grant("olga", "one", None, Some(Duration::from_secs(7200)), NONE)
            .expect("granted");
        assert_eq!(identities.list().expect("list")[0].1, None);
        let first = crate::clock::Clock::now(&*clock);
        assert_eq!(identities.resolve("one").await.as_deref(), Some("olga"));
        clock.advance(Duration::from_secs(30));
        assert_eq!(identities.resolve("one").await.as_deref(), Some("olga"));
        let again = Identities::new(folder.path(), clock.clone());
        assert_eq!(
            again.list().expect("list")[0].1,
            Some(first),
            "uses half a minute apart are one"
        );
        clock.advance(Duration::from_secs(60));
        assert_eq!(again.resolve("one").await.as_deref(), Some("olga"));
        assert_eq!(
            identities.list().expect("list")[0].1,
            Some(first + TimeDelta::seconds(90))
        );
        clock.advance(Duration::from_secs(7200));
        assert_eq!(again.resolve("one").await, None, "the token has expired");
        assert_eq!(again.list().expect("list")[0].0.tokens, 0);
    }
}
