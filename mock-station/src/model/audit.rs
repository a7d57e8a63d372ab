//! The station's own audit trail of changes.

use super::component::Handle;
use chrono::{DateTime, Utc};

/// What a user did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditOperation {
    Changed,
    Added,
    Removed,
    Renamed,
    Reordered,
    FlagsChanged,
    FacetsChanged,
    Invoked,
    Acknowledged,
    Login,
    LoginFailed,
    Logout,
}

impl AuditOperation {
    /// The word of the station's audit history.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "Changed",
            Self::Added => "Added",
            Self::Removed => "Removed",
            Self::Renamed => "Renamed",
            Self::Reordered => "Reordered",
            Self::FlagsChanged => "Flags Changed",
            Self::FacetsChanged => "Facets Changed",
            Self::Invoked => "Invoked",
            Self::Acknowledged => "Acknowledged",
            Self::Login => "Login",
            Self::LoginFailed => "Login Failed",
            Self::Logout => "Logout",
        }
    }
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    pub time: DateTime<Utc>,
    pub user: String,
    pub operation: AuditOperation,
    pub component: Option<Handle>,
    /// Slot path of the component, alarm uuid or user name.
    pub target: String,
    pub slot: String,
    /// Encoded values; empty for passwords.
    pub old_value: String,
    pub new_value: String,
}

/// All entries, oldest first.
#[derive(Clone, Debug, Default)]
pub struct AuditLog {
    entries: Vec<AuditEntry>,
}

impl AuditLog {
    /// Appends an entry.
    pub fn record(&mut self, entry: AuditEntry) {
        self.entries.push(entry);
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[AuditEntry] {
        &self.entries
    }

    /// The entries of one user.
    pub fn of_user<'a>(&'a self, user: &'a str) -> impl Iterator<Item = &'a AuditEntry> {
        self.entries.iter().filter(move |entry| entry.user == user)
    }
}
