//! Who asks, and the station as it is seen while one object is composed.

use chrono::{DateTime, Utc};

use super::error::ObixError;
use crate::model::station::Operation;
use crate::model::{DisplayContext, Flags, Handle, Permissions, Station, User};
use crate::server::{AuthenticatedUser, ServerContext};
use crate::switches::{ObixLocale, ObixSwitches};

/// The sender of a request.
pub struct Caller<'a> {
    pub context: &'a ServerContext,
    pub user: &'a AuthenticatedUser,
    pub switches: &'a ObixSwitches,
    /// Scheme and authority of absolute hrefs.
    pub origin: String,
}

impl Caller<'_> {
    /// Composes something from the station in its present state.
    ///
    /// # Errors
    /// When the account was removed while its session lasted, and whatever `compose` refuses.
    pub fn view<T>(
        &self,
        compose: impl FnOnce(&Scope<'_>) -> Result<T, ObixError>,
    ) -> Result<T, ObixError> {
        let station = self.context.station.read();
        let user = station.users.require(&self.user.name)?;
        let mut display = DisplayContext::of(user, &station);
        match self.switches.locale {
            ObixLocale::English => {}
            ObixLocale::French => display.language = "fr".to_owned(),
            ObixLocale::German => display.language = "de".to_owned(),
        }
        compose(&Scope {
            station: &station,
            user,
            display,
            status_attribute: self.switches.status_attribute,
            now: self.context.now(),
            origin: &self.origin,
        })
    }
}

/// The station as one user sees it at one instant.
pub struct Scope<'a> {
    pub station: &'a Station,
    pub user: &'a User,
    pub display: DisplayContext,
    /// Whether elements carry `status`.
    pub status_attribute: bool,
    pub now: DateTime<Utc>,
    pub origin: &'a str,
}

impl Scope<'_> {
    /// Whether the user may see a component at all.
    pub fn can_read(&self, handle: Handle) -> bool {
        self.station.can_read(self.user, handle)
    }

    /// Whether the user may do `operation` with a slot of these flags.
    pub fn may(&self, handle: Handle, flags: Flags, operation: Operation) -> bool {
        self.permissions(handle)
            .contains(Station::needed(flags, operation))
    }

    fn permissions(&self, handle: Handle) -> Permissions {
        self.station.permissions(self.user, handle)
    }

    /// Refuses a component that the user may not see.
    pub fn require_read(&self, handle: Handle, path: &str) -> Result<(), ObixError> {
        if self.can_read(handle) {
            Ok(())
        } else {
            Err(self.denied(path))
        }
    }

    /// The refusal of something that exists but is not for this user.
    pub fn denied(&self, path: &str) -> ObixError {
        ObixError::Permission(format!("{} may not read {path}", self.user.name))
    }
}
