//! What the control port can reach of a station.

use std::sync::Arc;

use chrono::SecondsFormat;
use serde_json::{Value, json};

use crate::fox::FoxService;
use crate::server::{MockStation, ServerContext};
use crate::tls::{Certificates, StationCertificate};

/// A running station, as the control port holds it.
#[derive(Clone)]
pub(crate) struct Desk {
    pub context: ServerContext,
    pub certificates: Arc<Certificates>,
    pub fox: Option<FoxService>,
    url: String,
    https: Option<String>,
}

impl Desk {
    pub(crate) fn of(mock: &MockStation) -> Self {
        let (context, certificates) = mock.parts();
        Self {
            context,
            certificates,
            fox: mock.fox().cloned(),
            url: mock.url(),
            https: mock.https_address().map(|address| address.to_string()),
        }
    }

    /// `host:port` of the TLS port.
    pub(super) fn https_authority(&self) -> Option<&str> {
        self.https.as_deref()
    }

    pub(super) fn state(&self) -> Value {
        let context = &self.context;
        let switches = context.switches.get();
        let (station, saves) = {
            let station = context.station.read();
            (station.name(), station.saves())
        };
        json!({
            "station": station,
            "url": self.url,
            "httpsUrl": self.https.as_ref().map(|authority| format!("https://{authority}")),
            "redirectsToHttps": switches.login.https_only.is_some(),
            "fox": self.fox.as_ref().map(|fox| json!({
                "address": fox.address().map(|address| address.to_string()),
                "secureAddress": fox.secure_address().map(|address| address.to_string()),
                "scenario": fox.settings().scenario,
                "connections": fox.connections().len(),
            })),
            "certificate": certificate(&self.certificates.current()),
            "clock": {
                "now": context.now().to_rfc3339_opts(SecondsFormat::Millis, true),
                "shiftSeconds": context.station.clock_shift().num_seconds(),
            },
            "restarts": context.lifecycle.restarts(),
            "sessions": context.sessions.authenticated_count(context.now(), &switches.login),
            "boxSessions": crate::boxs::session_count(context),
            "boxSessionsByUser": crate::boxs::sessions_by_user(context),
            "boxWrites": context.writes.entries().len(),
            "saves": { "count": saves.count, "last": saves.last },
            "requests": context.requests.entries().len(),
            "logins": context.logins.entries().len(),
            "faults": context.faults.list(),
        })
    }
}

pub(super) fn certificate(certificate: &StationCertificate) -> Value {
    json!({
        "subject": certificate.subject,
        "notAfter": certificate.not_after.to_rfc3339_opts(SecondsFormat::Secs, true),
        "sha256": certificate.fingerprint,
    })
}
