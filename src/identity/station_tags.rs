//! Tokens that a station keeps as tags of its users, beside those of `users.json` (Tool surface §13.4).
//!
//! The tags are read with the service account, at most once a minute. Who is found so still needs a password in the
//! vault to change anything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::identities::Identities;
use super::rights::Rights;
use super::users::{check_name, digest_with};
use crate::clock::SharedClock;
use crate::mcp::auth::UserTokens;
use crate::station::facade::{StationFacade, UserTokenTags};
use crate::station::http::CallScope;
use crate::tools::ToolSets;

/// How long what was read counts, and how long a station that did not tell is left alone.
const READ_EVERY: Duration = Duration::from_secs(60);

/// Time for reading them: a request waits for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A position that no user has.
const NOWHERE: u64 = u64::MAX;

#[derive(Default)]
struct Known {
    tags: Arc<UserTokenTags>,
    /// Reading of the monotonic clock; none before the first reading.
    until: Option<Duration>,
}

/// The tokens of `users.json`, then those of the station's tags.
pub struct StationTags {
    identities: Arc<Identities>,
    service: Arc<StationFacade>,
    clock: SharedClock,
    known: Mutex<Known>,
    /// Held while the station is asked, so that callers who come together ask once.
    reading: tokio::sync::Mutex<()>,
}

impl StationTags {
    /// `service` is the account that reads the tags.
    pub fn new(
        identities: Arc<Identities>,
        service: Arc<StationFacade>,
        clock: SharedClock,
    ) -> Self {
        Self {
            identities,
            service,
            clock,
            known: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
        }
    }

    async fn tags(&self) -> Arc<UserTokenTags> {
        if let Some(tags) = self.fresh() {
            return tags;
        }
        let _only = self.reading.lock().await;
        if let Some(tags) = self.fresh() {
            return tags;
        }
        let scope = CallScope::within(PATIENCE);
        let read = self.service.user_token_tags(&scope).await;
        let mut known = self.known();
        match read {
            Ok(tags) => known.tags = Arc::new(tags),
            // What is not confirmed by the station counts no longer.
            Err(error) => {
                tracing::warn!(%error, "the token tags of the station's users cannot be read, so none of them counts");
                known.tags = Arc::default();
            }
        }
        known.until = Some(self.clock.monotonic().saturating_add(READ_EVERY));
        known.tags.clone()
    }

    fn fresh(&self) -> Option<Arc<UserTokenTags>> {
        let known = self.known();
        let until = known.until?;
        (self.clock.monotonic() < until).then(|| known.tags.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The digest of a token with the station's salt, else with that of `users.json`.
    fn digest(&self, tags: &UserTokenTags, token: &str) -> Option<String> {
        match &tags.salt {
            Some(salt) => Some(digest_with(&STANDARD.decode(salt).ok()?, token)),
            None => match self.identities.digest_of(token) {
                Ok(digest) => digest,
                Err(error) => {
                    tracing::error!(%error, "the salt of the users' tokens cannot be read");
                    None
                }
            },
        }
    }
}

/// The first user with this digest; all are compared, in the same time.
fn user_with(tags: &UserTokenTags, digest: &str) -> Option<String> {
    let mut found = NOWHERE;
    for (index, user) in (0_u64..).zip(&tags.users) {
        let same = user.digest.as_bytes().ct_eq(digest.as_bytes());
        let first: Choice = found.ct_eq(&NOWHERE);
        found.conditional_assign(&index, same & first);
    }
    let user = tags.users.get(usize::try_from(found).ok()?)?;
    // A station user of a reserved name would pass for the service identity in the records.
    check_name(&user.name).ok()?;
    Some(user.name.clone())
}

impl UserTokens for StationTags {
    fn resolve<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            if let Some(name) = self.identities.resolve(token).await {
                return Some(name);
            }
            if token.is_empty() {
                return None;
            }
            let tags = self.tags().await;
            user_with(&tags, &self.digest(&tags, token)?)
        })
    }

    fn allowed(&self, name: &str, asked: ToolSets) -> ToolSets {
        let is_tagged = {
            let known = self.known();
            known.tags.users.iter().any(|user| user.name == name)
        };
        match self.identities.rights(name) {
            // Nobody bound the user here, so the station alone decides.
            Ok(None) if is_tagged => Rights::default().within(asked),
            _ => self.identities.allowed(name, asked),
        }
    }
}
