//! What a test does to a running station: faults, restarts, clock, certificate, Fox.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use super::{MockStation, ServerContext};
use crate::faults::Switchboard;
use crate::fox::FoxService;
use crate::model::ModelError;
use crate::model::audit::AuditEntry;
use crate::model::station::Saves;
use crate::tls::{CertificateProfile, Certificates, StationCertificate, TlsError};

impl MockStation {
    /// What the control port shares with the station.
    pub(crate) fn parts(&self) -> (ServerContext, Arc<Certificates>) {
        (self.context.clone(), self.certificates.clone())
    }

    /// Address of the web tier over TLS, when it is served.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.https
    }

    /// Base address of the web tier over TLS without a trailing slash, when it is served.
    pub fn https_url(&self) -> Option<String> {
        self.https.map(|address| format!("https://{address}"))
    }

    /// Redirects every plain request to the TLS port from now on; false when there is none.
    pub fn redirect_to_https(&self) -> bool {
        if let Some(address) = self.https {
            self.context
                .switches
                .change(|s| s.login.https_only = Some(address.to_string()));
        }
        self.https.is_some()
    }

    /// Whether any port speaks TLS.
    pub fn serves_tls(&self) -> bool {
        let foxs = self.fox.as_ref().and_then(FoxService::secure_address);
        self.https.or(foxs).is_some()
    }

    /// The certificate that new TLS connections get, web and Fox alike.
    pub fn certificate(&self) -> StationCertificate {
        self.certificates.current()
    }

    /// Replaces the certificate; connections made before keep theirs.
    ///
    /// # Errors
    /// When the profile names something no certificate can carry.
    pub fn rotate_certificate(
        &self,
        profile: &CertificateProfile,
    ) -> Result<StationCertificate, TlsError> {
        self.certificates.rotate(profile)
    }

    /// The fault switchboard; changes apply to the next request.
    pub fn faults(&self) -> &Switchboard {
        &self.context.faults
    }

    /// Restarts the station: what it does not save, all sessions, watches and connections are gone. Connections made
    /// within `down` are closed at once.
    pub fn restart(&self, down: Duration) {
        self.context.restart(down);
    }

    /// Gives a user another password; sessions that are open stay open.
    ///
    /// # Errors
    /// When the station has no such user.
    pub fn change_password(&self, user: &str, password: &str) -> Result<(), ModelError> {
        self.context
            .station
            .write()
            .users
            .change_password(user, password)
    }

    /// Ends the web sessions of one user, who has to log in again.
    pub fn end_sessions_of(&self, user: &str) {
        self.context.sessions.end_sessions_of(user);
    }

    /// What a user did, in the station's own audit trail, oldest first.
    pub fn audit_of(&self, user: &str) -> Vec<AuditEntry> {
        let station = self.context.station.read();
        station.audit.of_user(user).cloned().collect()
    }

    /// How often the station was saved, and when last.
    pub fn saves(&self) -> Saves {
        self.context.station.read().saves()
    }

    /// Restarts so far, by call or by fault.
    pub fn restarts(&self) -> u32 {
        self.context.lifecycle.restarts()
    }

    /// Sets the station's clock forwards or backwards.
    pub fn jump_clock(&self, step: TimeDelta) {
        self.context.station.jump_clock(step);
    }

    /// The Fox ports, when they are served.
    pub fn fox(&self) -> Option<&FoxService> {
        self.fox.as_ref()
    }

    /// Base address of the control port, when it is open.
    pub fn control_url(&self) -> Option<String> {
        self.control.map(|address| format!("http://{address}"))
    }
}
