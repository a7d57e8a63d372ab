//! setupTestUser: binds a token that the caller chose, for the acceptance script of the in-station module (Tool surface
//! §8.11).
//!
//! Closed unless `enableTestSetup` is set, open for a while after the start only, and only to callers on this machine.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::json;
use subtle::ConstantTimeEq;

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::SharedStations;
use super::{Arguments, CallContext, Principal, ToolError};
use crate::clock::SharedClock;
use crate::identity::{Identities, SALT_BYTES};
use crate::secrecy::Secret;

/// Whether test users may be set up at present.
#[derive(Debug, Clone)]
pub struct TestSetupGate {
    clock: SharedClock,
    /// Reading of the monotonic clock at which the gate closes; none = it never was open.
    until: Option<Duration>,
}

impl TestSetupGate {
    /// Open for `time` from now on.
    pub fn open_for(time: Duration, clock: SharedClock) -> Self {
        Self {
            until: Some(clock.monotonic().saturating_add(time)),
            clock,
        }
    }

    /// Never open.
    pub fn closed(clock: SharedClock) -> Self {
        Self { clock, until: None }
    }

    fn check(&self) -> Result<(), ToolError> {
        let refusal = |text: &str, hint: &str| {
            Err(ToolError::invalid_params(format!("{text} {hint}")).with("hint", hint))
        };
        match self.until {
            None => refusal(
                "Test users cannot be set up.",
                "Set enableTestSetup: true on a test bench, never on a real site, and restart the bridge.",
            ),
            Some(end) if self.clock.monotonic() >= end => refusal(
                "The time for setting up test users is over.",
                "Restart the bridge; identity.testSetupMinutes tells for how long it is possible.",
            ),
            Some(_) => Ok(()),
        }
    }
}

/// `setupTestUser`.
pub struct SetupTestUser {
    pub identities: Arc<Identities>,
    pub stations: SharedStations,
    pub gate: TestSetupGate,
    /// The bearer of the service identity: it wins over every user's.
    pub api_token: Option<Secret>,
}

impl SetupTestUser {
    fn is_api_token(&self, token: &str) -> bool {
        let own = self.api_token.as_ref().map(|own| own.expose().as_bytes());
        own.is_some_and(|own| bool::from(own.ct_eq(token.as_bytes())))
    }
}

impl Tool for SetupTestUser {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "setupTestUser",
            Category::Diagnostic,
            Annotations::MUTATION,
            "For test benches: gives a station user whose password the bridge keeps the bearer token that you choose; \
             earlier tokens of that user end. Works only where enableTestSetup is on, for a while after the start, and \
             for callers on the bridge's own machine. Example: {\"username\":\"operator\",\"token\":\"a-token-for-tests\"}.",
        )
        .input(
            object()
                .required("username", schema::string("Name of the station user."))
                .required("token", schema::string("The bearer token to bind.")),
        )
        .output(
            object()
                .required("userOrd", schema::string("Where the in-station module has the user."))
                .required("hashSet", schema::boolean("The digest of the token is stored."))
                .required("tagsSetReturned", schema::boolean("Whether a tag was written on the station: never, the bridge keeps the digests itself."))
                .required("readbackMatches", schema::boolean("The token leads to the user."))
                .required("saltLen", schema::whole("Bytes of the salt.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            self.gate.check()?;
            if !context.from_this_machine {
                let hint = "Call it on the machine that the bridge runs on.";
                return Err(ToolError::invalid_params(format!(
                    "Test users cannot be set up from another machine. {hint}"
                ))
                .with("hint", hint));
            }
            let (username, token) = (arguments.string("username")?, arguments.string("token")?);
            let unusable =
                token.trim() != token || token.is_empty() || token.chars().any(char::is_control);
            if unusable {
                return Err(ToolError::invalid_params(
                    "'token' must not be empty, begin or end with blanks, or hold control characters.",
                ));
            }
            if self.is_api_token(token) {
                return Err(ToolError::invalid_params(
                    "'token' is the apiToken of this bridge, which always means the service identity; choose another one.",
                ));
            }
            let principal = Principal::User {
                name: username.to_owned(),
            };
            if let Err(reason) = self.stations.may_change_station(&principal) {
                return Err(ToolError::invalid_params(format!(
                    "'{username}' cannot be a test user: {reason}."
                ))
                .with("username", username)
                .with("hint", reason));
            }
            self.identities
                .grant(username, token, None, None, Duration::ZERO)
                .map_err(|error| ToolError::internal(format!("Nothing was bound: {error}.")))?;
            tracing::warn!(username, by = %context.principal, "a test user got a token");
            let found = self.identities.user_of(token);
            let found = found.map_err(|error| ToolError::internal(format!("{error}.")))?;
            Ok(ToolOutput::json(json!({
                "userOrd": format!("station:|slot:/UserService/{username}"),
                "hashSet": true,
                "tagsSetReturned": false,
                "readbackMatches": found.as_deref() == Some(username),
                "saltLen": SALT_BYTES,
            })))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TestClock;

    #[test]
    fn the_gate_is_closed_by_default_and_closes_by_itself() {
        let clock = Arc::new(TestClock::at("2026-11-02T10:00:00Z".parse().expect("time")));
        let error = TestSetupGate::closed(clock.clone())
            .check()
            .expect_err("closed");
        assert!(error.data["hint"].to_string().contains("enableTestSetup"));
        let gate = TestSetupGate::open_for(Duration::from_secs(60), clock.clone());
        assert!(gate.check().is_ok());
        clock.advance(Duration::from_secs(60));
        let error = gate.check().expect_err("over");
        assert!(error.data["hint"].to_string().contains("testSetupMinutes"));
    }
}
