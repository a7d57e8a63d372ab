//! The digests of tokens that a station keeps as tags of its users (Tool surface §3, §13.4).

use std::fmt;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use crate::station::boxp::Node;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, escape, unescape};

/// The tag on the component of a user.
const TAG: &str = "mcp:tokenHash";

/// The service that keeps the salt of these digests, where it is installed.
const SALT_SERVICE: &str = "niagaramcp:McpPlatformService";

/// A user with a token, in the order of the station. No Debug: digests are shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct UserTokenTag {
    pub name: String,
    /// `hex(SHA-256(salt ‖ token))`.
    pub digest: String,
}

/// What a station says of its users' tokens.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct UserTokenTags {
    /// In Base64; none where the station keeps none.
    pub salt: Option<String>,
    pub users: Vec<UserTokenTag>,
}

impl fmt::Debug for UserTokenTags {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "UserTokenTags({} users)", self.users.len())
    }
}

impl StationFacade {
    /// Reads the tags of all users that this account may read.
    ///
    /// # Errors
    /// The account may not read the user service, or BOX is not offered.
    pub async fn user_token_tags(&self, scope: &CallScope) -> FacadeResult<UserTokenTags> {
        let service = self.service_ord(scope, "baja:UserService").await?;
        let node = self.resolve(scope, &service).await?;
        let path = self.slot_path(scope, &service).await?;
        let mut ords = Vec::new();
        let mut names = Vec::new();
        for user in node.components() {
            let path = format!("{path}/{}", user.slot_name());
            ords.push(Ord::component(&path).map_err(StationError::from)?);
            names.push(unescape(user.slot_name()));
        }
        let loaded = self
            .over_box(async { Ok(self.boxp().resolve_many(scope, &ords).await?) })
            .await?;
        let users = names.into_iter().zip(loaded).filter_map(|(name, user)| {
            let digest = text(&user.ok()?, &escape(TAG))?;
            Some(UserTokenTag { name, digest })
        });
        Ok(UserTokenTags {
            users: users.collect(),
            salt: self.token_salt(scope).await?,
        })
    }

    async fn token_salt(&self, scope: &CallScope) -> FacadeResult<Option<String>> {
        let service = match self.service_ord(scope, SALT_SERVICE).await {
            Ok(service) => service,
            Err(FacadeError::Station(StationError::NotFound { .. })) => return Ok(None),
            Err(error) => return Err(error),
        };
        let node = self.resolve(scope, &service).await?;
        Ok(text(&node, "tokenSalt"))
    }

    async fn service_ord(&self, scope: &CallScope, type_spec: &str) -> FacadeResult<Ord> {
        let path = self
            .over_box(async { Ok(self.boxp().service_to_path(scope, type_spec).await?) })
            .await?;
        Ok(Ord::component(&path).map_err(StationError::from)?)
    }
}

fn text(node: &Node, slot: &str) -> Option<String> {
    let text = node.child(slot)?.value.as_deref()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
