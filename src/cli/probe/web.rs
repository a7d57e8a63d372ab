//! What the web service shows to anonymous requests (Station web specification §1–§3).

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use url::Url;

use crate::station::error::StationError;
use crate::station::http::{CallScope, HttpClient, HttpLimits, HttpRequest, TimeoutClass, Trust};

/// As much of a page as is looked at.
const PEEK_BYTES: usize = 64 * 1024;

/// What web servers answer to plain HTTP on a port that wants TLS.
const TLS_EXPECTED: u16 = 400;

/// What one request brought back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Path of a redirection.
    pub location: Option<String>,
    /// All challenges of a 401.
    pub challenges: Vec<String>,
    pub body: String,
}

impl Answer {
    /// The station wants a login first (Station web specification §1).
    pub fn wants_login(&self) -> bool {
        let to_login = self.location.as_ref().is_some_and(|location| {
            let path = location
                .split_once("://")
                .map_or(location.as_str(), |(_, rest)| {
                    rest.find('/').map_or("/", |at| &rest[at..])
                });
            path.starts_with("/login") || path.starts_with("/prelogin")
        });
        self.status == 401
            || ((300..400).contains(&self.status) && to_login)
            || self.is_login_page()
    }

    pub fn is_login_page(&self) -> bool {
        self.status == 200
            && ["j_security_check", "login/loginN4.js", "/prelogin"]
                .iter()
                .any(|mark| self.body.contains(mark))
    }

    pub fn challenges_with(&self, scheme: &str) -> bool {
        self.challenges.iter().any(|challenge| {
            challenge
                .split([',', ' '])
                .any(|word| word.eq_ignore_ascii_case(scheme))
        })
    }
}

/// What was found out about the web service.
#[derive(Debug, Clone, Default)]
pub struct WebFindings {
    pub url: String,
    /// Where plain HTTP sends the client.
    pub moved_to: Option<String>,
    /// SHA-256 fingerprint of a certificate that is not trusted.
    pub untrusted: Option<String>,
    /// What the check found wrong with it.
    pub distrust: Option<String>,
    /// The fingerprint that is pinned, where the certificate has another.
    pub pinned: Option<String>,
    pub root: Answer,
    pub prelogin: Answer,
    pub ord: Answer,
    pub obix: Answer,
    pub hello: Answer,
}

impl WebFindings {
    /// Answers as the web service of a Niagara station does.
    pub fn is_station(&self) -> bool {
        self.has_form() || self.has_header_login() || self.root.wants_login()
    }

    /// The login form of Niagara 4 is there.
    pub fn has_form(&self) -> bool {
        self.prelogin.is_login_page()
    }

    /// The greeting of the header login is understood.
    pub fn has_header_login(&self) -> bool {
        self.hello.challenges_with("SCRAM")
    }
}

/// Asks the addresses in turn until one answers, and why each of the others does not.
///
/// # Errors
/// None of them answers: one reason for each.
pub async fn look_for(
    candidates: &[Url],
    trust: Option<&Trust>,
    patience: Duration,
) -> Result<WebFindings, Vec<StationError>> {
    let mut errors = Vec::new();
    let mut wants_tls = None;
    for url in candidates {
        match look(url, trust, patience).await {
            // The next candidate is the same port over TLS.
            Ok(found) if found.root.status == TLS_EXPECTED && candidates.len() > 1 => {
                wants_tls = Some(found);
            }
            Ok(found) => return Ok(found),
            Err(error) => errors.push(error),
        }
    }
    wants_tls.ok_or(errors)
}

/// Asks one address.
///
/// # Errors
/// It does not answer.
pub async fn look(
    url: &Url,
    trust: Option<&Trust>,
    patience: Duration,
) -> Result<WebFindings, StationError> {
    let mut url = url.clone();
    let (mut eye, mut seen) = Eye::open(&url, trust, patience).await?;
    let mut root = eye.ask(&url, "/", None).await?;
    let mut moved_to = None;
    if url.scheme() == "http"
        && let Some(secure) = root
            .location
            .as_deref()
            .and_then(|location| Url::parse(location).ok())
        && secure.scheme() == "https"
    {
        moved_to = Some(secure.origin().ascii_serialization());
        url = secure;
        (eye, seen) = Eye::open(&url, trust, patience).await?;
        root = eye.ask(&url, "/", None).await?;
    }
    // A name that no station has: the greeting starts an exchange and is no login attempt.
    let hello = format!(
        "HELLO username={}",
        URL_SAFE_NO_PAD.encode("niagara-bridge-probe")
    );
    let (untrusted, distrust) = seen.unzip();
    Ok(WebFindings {
        url: url.origin().ascii_serialization(),
        moved_to,
        pinned: trust.and_then(Trust::pin).filter(|_| untrusted.is_some()),
        untrusted,
        distrust,
        prelogin: eye.ask(&url, "/prelogin", None).await?,
        ord: eye.ask(&url, "/ord", None).await?,
        obix: eye.ask(&url, "/obix/", None).await?,
        hello: eye.ask(&url, "/ord", Some(&hello)).await?,
        root,
    })
}

/// An anonymous client.
struct Eye {
    client: HttpClient,
    patience: Duration,
}

impl Eye {
    fn new(trust: &Trust, patience: Duration) -> Result<Self, StationError> {
        let limits = HttpLimits {
            request_timeout: patience,
            read_retries: 0,
            ..HttpLimits::default()
        };
        Ok(Self {
            client: HttpClient::new(trust, limits)?,
            patience,
        })
    }

    /// A client under the given trust, else this machine's; where that refuses the certificate, one that accepts any,
    /// with that one's fingerprint and what is wrong with it.
    ///
    /// Nothing secret is sent, so an untrusted certificate is no reason to stop.
    async fn open(
        url: &Url,
        trust: Option<&Trust>,
        patience: Duration,
    ) -> Result<(Self, Option<(String, String)>), StationError> {
        let eye = Self::new(trust.unwrap_or(&Trust::System), patience)?;
        if url.scheme() != "https" {
            return Ok((eye, None));
        }
        let distrust = match eye.ask(url, "/", None).await {
            Err(StationError::Certificate { cause, .. }) => cause,
            Err(error) => return Err(error),
            Ok(_) => return Ok((eye, None)),
        };
        // A pin that nothing matches makes the check name the fingerprint that it saw.
        let pinned = Self::new(&Trust::Pinned([0; 32]), patience)?;
        let fingerprint = match pinned.ask(url, "/", None).await {
            Err(StationError::Certificate { cause, .. }) => fingerprint_in(&cause),
            _ => None,
        };
        let open = Self::new(&Trust::Insecure, patience)?;
        let fingerprint = fingerprint.unwrap_or_else(|| "unknown".to_owned());
        Ok((open, Some((fingerprint, distrust))))
    }

    async fn ask(
        &self,
        url: &Url,
        path: &str,
        authorization: Option<&str>,
    ) -> Result<Answer, StationError> {
        let mut target = url.clone();
        target.set_path(path);
        target.set_query(None);
        let mut headers = HeaderMap::new();
        if let Some(value) = authorization.and_then(|text| HeaderValue::from_str(text).ok()) {
            headers.insert(header::AUTHORIZATION, value);
        }
        let request = HttpRequest {
            method: Method::GET,
            url: target,
            headers,
            body: Bytes::new(),
        };
        let sent = AtomicBool::new(false);
        let response = self
            .client
            .send(
                request,
                TimeoutClass::Standard,
                &CallScope::within(self.patience),
                &sent,
            )
            .await?;
        let texts = |name: HeaderName| -> Vec<String> {
            response
                .headers
                .get_all(name)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .map(str::to_owned)
                .collect()
        };
        let answer = Answer {
            status: response.status,
            location: texts(header::LOCATION).into_iter().next(),
            challenges: texts(header::WWW_AUTHENTICATE),
            body: String::new(),
        };
        let body = response.into_body().first_bytes(PEEK_BYTES).await?;
        Ok(Answer {
            body: String::from_utf8_lossy(&body).into_owned(),
            ..answer
        })
    }
}

fn fingerprint_in(text: &str) -> Option<String> {
    text.split(|sign: char| !sign.is_ascii_hexdigit())
        .find(|word| word.len() == 64)
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_taken_from_the_refusal() {
        let pin = "0f".repeat(32);
        assert_eq!(
            fingerprint_in(&format!("its fingerprint is {pin}, not the pinned one")),
            Some(pin)
        );
        assert_eq!(fingerprint_in("handshake failed"), None);
    }
}
