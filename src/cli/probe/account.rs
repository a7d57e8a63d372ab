//! What an account of the station sees: one login, the interfaces it can use, the station's own facts.

use std::time::Duration;

use url::Url;

use super::web::WebFindings;
use crate::clock::SystemClock;
use crate::config::StationConfig;
use crate::station::boxp::TypeCache;
use crate::station::facade::{StationFacade, StationReport};
use crate::station::http::{CallScope, Trust};
use crate::station::web::{LoginScheme, Secret, WebOptions, WebSession};

/// Time for the login and the questions after it; embedded controllers need seconds for a login.
const LOOK: Duration = Duration::from_secs(30);
/// Time for the logout.
const FAREWELL: Duration = Duration::from_secs(3);

/// An account of the station.
#[derive(Debug, Clone)]
pub struct Account {
    pub user: String,
    pub password: Secret,
    pub scheme: LoginScheme,
}

impl From<&StationConfig> for Account {
    fn from(station: &StationConfig) -> Self {
        Self {
            user: station.user.clone(),
            password: station.password.clone(),
            scheme: station.scheme,
        }
    }
}

/// What came of the account.
#[derive(Debug, Clone)]
pub enum AccountFindings {
    /// Nothing was sent; the reason.
    NotSent(String),
    Seen(Box<StationReport>),
}

/// Logs in once, asks what a report needs, and logs out.
///
/// Nothing is sent to what does not answer as a station, nor past a certificate that is not trusted, nor a Basic
/// password in the clear.
pub async fn look(
    account: &Account,
    web: Option<&WebFindings>,
    trust: Option<&Trust>,
) -> AccountFindings {
    let Some(web) = web else {
        return AccountFindings::NotSent("the web service does not answer".to_owned());
    };
    if !web.is_station() {
        return AccountFindings::NotSent(
            "what answers does not look like a Niagara station".to_owned(),
        );
    }
    if web.pinned.is_some() {
        return AccountFindings::NotSent(
            "another certificate is pinned; find out why the station shows a new one before the pin is replaced"
                .to_owned(),
        );
    }
    if web.untrusted.is_some() {
        return AccountFindings::NotSent(
            "the certificate is not trusted; compare its fingerprint with the one that Workbench shows, then give it \
             as --fingerprint"
                .to_owned(),
        );
    }
    let Ok(url) = Url::parse(&web.url) else {
        return AccountFindings::NotSent(format!("{} is no address", web.url));
    };
    if account.scheme == LoginScheme::Basic && url.scheme() == "http" {
        return AccountFindings::NotSent(
            "Basic would send the password unencrypted over http; give the https address"
                .to_owned(),
        );
    }
    let mut options = WebOptions::new(url, account.user.clone(), account.password.clone());
    options.scheme = account.scheme;
    options.trust = trust.cloned().unwrap_or(Trust::System);
    options.limits.read_retries = 0;
    let session = match WebSession::new(options, SystemClock::shared()) {
        Ok(session) => session,
        Err(error) => return AccountFindings::NotSent(error.to_string()),
    };
    let facade = StationFacade::new(session, TypeCache::new(), None);
    let report = facade.report(&CallScope::within(LOOK)).await;
    if tokio::time::timeout(FAREWELL, facade.close())
        .await
        .is_err()
    {
        tracing::debug!(
            "the station did not answer the logout; the session ends when it has been idle"
        );
    }
    AccountFindings::Seen(Box::new(report))
}
