//! Who a bearer is (Tool surface §3).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq;

use crate::config::Secret;
use crate::tools::{Principal, ToolSets};

/// Finds the user that a token belongs to.
pub trait UserTokens: Send + Sync {
    /// The user's name, none when nobody has that token. Takes the same time for every token.
    fn resolve<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<String>>;

    /// What is left of the tool sets that a session asked for by the rights of this user.
    fn allowed(&self, _name: &str, asked: ToolSets) -> ToolSets {
        asked
    }
}

/// Why a request was not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthFailure {
    #[error("No token is configured: set apiToken in the bridge's configuration.")]
    NotConfigured,
    #[error("The request has no bearer token: send the header Authorization: Bearer <token>.")]
    Missing,
    #[error("The bearer token is not valid.")]
    Invalid,
}

/// Turns an `Authorization` header into a principal.
pub struct Authenticator {
    api_token: Option<Secret>,
    users: Option<Arc<dyn UserTokens>>,
    open: bool,
    /// The last token of each user who came in, so that logs mask it: the bridge itself keeps digests only.
    presented: Mutex<HashMap<String, Secret>>,
}

impl Authenticator {
    /// `api_token` stands for the service identity; an empty one matches nothing.
    pub fn new(api_token: Option<Secret>, users: Option<Arc<dyn UserTokens>>) -> Self {
        Self {
            api_token: api_token.filter(|token| !token.expose().is_empty()),
            users,
            open: false,
            presented: Mutex::default(),
        }
    }

    /// Everybody is the service identity: for tests of the protocol on this machine, never for a station.
    pub fn open() -> Self {
        Self {
            api_token: None,
            users: None,
            open: true,
            presented: Mutex::default(),
        }
    }

    /// What a caller may use of the tool sets that were asked for.
    pub fn allowed(&self, principal: &Principal, asked: ToolSets) -> ToolSets {
        match (principal, &self.users) {
            (Principal::User { name }, Some(users)) => users.allowed(name, asked),
            _ => asked,
        }
    }

    /// The principal of a request.
    ///
    /// # Errors
    /// The reason for a 401.
    pub async fn authenticate(&self, header: Option<&str>) -> Result<Principal, AuthFailure> {
        if self.open {
            return Ok(Principal::Service);
        }
        if self.api_token.is_none() && self.users.is_none() {
            return Err(AuthFailure::NotConfigured);
        }
        let token = header.and_then(bearer).ok_or(AuthFailure::Missing)?;
        if self
            .api_token
            .as_ref()
            .is_some_and(|expected| same(expected.expose(), token))
        {
            return Ok(Principal::Service);
        }
        match &self.users {
            Some(users) => {
                let name = users.resolve(token).await.ok_or(AuthFailure::Invalid)?;
                self.mask(&name, token);
                Ok(Principal::User { name })
            }
            None => Err(AuthFailure::Invalid),
        }
    }

    fn mask(&self, name: &str, token: &str) {
        let mut presented = self
            .presented
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_known = presented
            .get(name)
            .is_some_and(|known| known.expose() == token);
        if !is_known {
            presented.insert(name.to_owned(), Secret::new(token));
        }
    }
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim_start().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Compares by digest, so neither content nor length of the expected token shows in the time taken.
fn same(expected: &str, given: &str) -> bool {
    let (expected, given) = (
        digest(&SHA256, expected.as_bytes()),
        digest(&SHA256, given.as_bytes()),
    );
    expected.as_ref().ct_eq(given.as_ref()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    struct OneUser;

    impl UserTokens for OneUser {
        fn resolve<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<String>> {
            Box::pin(async move { (token == "жетон").then(|| "operator".to_owned()) })
        }
    }

    async fn ask(
        authenticator: &Authenticator,
        header: Option<&str>,
    ) -> Result<Principal, AuthFailure> {
        authenticator.authenticate(header).await
    }

    #[tokio::test]
    async fn the_api_token_is_the_service_and_a_users_token_is_that_user() {
        let authenticator = Authenticator::new(Some(Secret::new(TOKEN)), Some(Arc::new(OneUser)));
        assert_eq!(
            ask(&authenticator, Some(&format!("Bearer {TOKEN}"))).await,
            Ok(Principal::Service)
        );
        assert_eq!(
            ask(&authenticator, Some(&format!("bearer  {TOKEN} "))).await,
            Ok(Principal::Service)
        );
        let user = Principal::User {
            name: "operator".into(),
        };
        assert_eq!(ask(&authenticator, Some("Bearer жетон")).await, Ok(user));
    }

    #[tokio::test]
    async fn everything_else_is_refused_with_its_reason() {
        let authenticator = Authenticator::new(Some(Secret::new(TOKEN)), None);
        for (header, reason) in [
            (None, AuthFailure::Missing),
            (Some("Bearer "), AuthFailure::Missing),
            (Some("Bearer"), AuthFailure::Missing),
            (Some("Basic QWxhZGRpbg=="), AuthFailure::Missing),
            (Some("Bearer x"), AuthFailure::Invalid),
            (
                Some("Bearer 0123456789abcdef0123456789abcdef0"),
                AuthFailure::Invalid,
            ),
        ] {
            assert_eq!(ask(&authenticator, header).await, Err(reason), "{header:?}");
        }
        let open = Authenticator::new(Some(Secret::new("")), None);
        assert_eq!(
            ask(&open, Some("Bearer ")).await,
            Err(AuthFailure::NotConfigured)
        );
    }
}
