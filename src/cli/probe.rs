//! `probe`: what a station offers, in words, by anonymous requests only.

use std::fmt::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use url::Url;

use super::arguments::{LogOptions, ProbeOptions};
use super::logging;
use super::shutdown::Ending;
use crate::config::LogFormat;
use crate::station::error::StationError;
use crate::station::http::{CallScope, HttpClient, HttpLimits, HttpRequest, TimeoutClass, Trust};

/// As much of a page as is looked at.
const PEEK_BYTES: usize = 64 * 1024;
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

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
    fn wants_login(&self) -> bool {
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

    fn is_login_page(&self) -> bool {
        self.status == 200
            && ["j_security_check", "login/loginN4.js", "/prelogin"]
                .iter()
                .any(|mark| self.body.contains(mark))
    }

    fn challenges_with(&self, scheme: &str) -> bool {
        self.challenges.iter().any(|challenge| {
            challenge
                .split([',', ' '])
                .any(|word| word.eq_ignore_ascii_case(scheme))
        })
    }
}

/// Everything that was found out.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    pub url: String,
    /// Where plain HTTP sends the client.
    pub moved_to: Option<String>,
    /// SHA-256 fingerprint of a certificate that this machine does not trust.
    pub untrusted: Option<String>,
    pub root: Answer,
    pub prelogin: Answer,
    pub ord: Answer,
    pub obix: Answer,
    pub hello: Answer,
}

/// Asks the station and prints what it offers.
///
/// # Errors
/// The station cannot be reached.
pub async fn run(options: &ProbeOptions, log: &LogOptions) -> anyhow::Result<Ending> {
    let _level = logging::start(log, LogFormat::Text, "error");
    let (first, second) = addresses(&options.url)?;
    if let Some(second) = &second {
        // What was typed may hold a password.
        logging::say(&format!(
            "The address names no scheme: {first} is tried, then {second}."
        ));
    }
    let findings = match (look(&first).await, second) {
        (Ok(findings), Some(second)) if findings.root.status == TLS_EXPECTED => {
            look(&second).await.unwrap_or(findings)
        }
        (Ok(findings), _) => findings,
        (Err(error), None) => return Err(error.into()),
        (Err(error), Some(second)) => match look(&second).await {
            Ok(findings) => findings,
            Err(other) => bail!("{error}; {other}"),
        },
    };
    print!("{}", report(&findings));
    Ok(Ending::Finished)
}

/// What web servers answer to plain HTTP on a port that wants TLS.
const TLS_EXPECTED: u16 = 400;

/// The address that was typed; without a scheme, the one over http and the one over https.
fn addresses(text: &str) -> anyhow::Result<(Url, Option<Url>)> {
    let parsed = |text: &str| -> anyhow::Result<Url> {
        let url = Url::parse(text).ok().filter(|url| url.host().is_some());
        let mut url =
            url.with_context(|| format!("'{text}' is no address such as https://192.0.2.10"))?;
        // A user and password in the address would be sent along as a login.
        let plain = url.set_username("").and_then(|()| url.set_password(None));
        plain
            .ok()
            .with_context(|| format!("'{text}' cannot be asked without its user name"))?;
        Ok(url)
    };
    if !text.contains("://") {
        return Ok((
            parsed(&format!("http://{text}"))?,
            Some(parsed(&format!("https://{text}"))?),
        ));
    }
    let url = parsed(text)?;
    if !["http", "https"].contains(&url.scheme()) {
        bail!("'{text}' is no http or https address");
    }
    Ok((url, None))
}

/// Asks the station.
///
/// # Errors
/// The station cannot be reached.
pub async fn look(url: &Url) -> Result<Findings, StationError> {
    let mut url = url.clone();
    let (mut client, mut untrusted) = trusted_client(&url).await?;
    let mut root = ask(&client, &url, "/", None).await?;
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
        (client, untrusted) = trusted_client(&url).await?;
        root = ask(&client, &url, "/", None).await?;
    }
    // A name that no station has: the greeting starts an exchange and is no login attempt.
    let hello = format!(
        "HELLO username={}",
        URL_SAFE_NO_PAD.encode("niagara-bridge-probe")
    );
    Ok(Findings {
        url: url.origin().ascii_serialization(),
        moved_to,
        untrusted,
        prelogin: ask(&client, &url, "/prelogin", None).await?,
        ord: ask(&client, &url, "/ord", None).await?,
        obix: ask(&client, &url, "/obix/", None).await?,
        hello: ask(&client, &url, "/ord", Some(&hello)).await?,
        root,
    })
}

fn limits() -> HttpLimits {
    HttpLimits {
        request_timeout: ANSWER_LIMIT,
        read_retries: 0,
        ..HttpLimits::default()
    }
}

/// A client that this machine's trust allows, else one that accepts any certificate, with that one's fingerprint.
///
/// Nothing secret is sent, so an untrusted certificate is no reason to stop.
async fn trusted_client(url: &Url) -> Result<(HttpClient, Option<String>), StationError> {
    let client = HttpClient::new(&Trust::System, limits())?;
    if url.scheme() != "https" {
        return Ok((client, None));
    }
    match ask(&client, url, "/", None).await {
        Err(StationError::Certificate { .. }) => {}
        Err(error) => return Err(error),
        Ok(_) => return Ok((client, None)),
    }
    // A pin that nothing matches makes the check name the fingerprint that it saw.
    let pinned = HttpClient::new(&Trust::Pinned([0; 32]), limits())?;
    let fingerprint = match ask(&pinned, url, "/", None).await {
        Err(StationError::Certificate { cause, .. }) => fingerprint_in(&cause),
        _ => None,
    };
    let client = HttpClient::new(&Trust::Insecure, limits())?;
    Ok((
        client,
        Some(fingerprint.unwrap_or_else(|| "unknown".to_owned())),
    ))
}

fn fingerprint_in(text: &str) -> Option<String> {
    text.split(|sign: char| !sign.is_ascii_hexdigit())
        .find(|word| word.len() == 64)
        .map(str::to_owned)
}

async fn ask(
    client: &HttpClient,
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
    let response = client
        .send(
            request,
            TimeoutClass::Standard,
            &CallScope::within(ANSWER_LIMIT),
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

/// The findings in words.
pub fn report(findings: &Findings) -> String {
    let mut text = format!("{}\n", findings.url);
    let mut line = |topic: &str, words: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {topic:<16}{words}");
    };
    let form = findings.prelogin.is_login_page();
    let niagara = form || findings.hello.challenges_with("SCRAM") || findings.root.wants_login();
    line("station", station_words(findings, niagara));
    if let Some(secure) = &findings.moved_to {
        line(
            "encryption",
            format!("plain HTTP is sent on to {secure}: use that address as station.url"),
        );
    }
    if let Some(fingerprint) = &findings.untrusted {
        line(
            "certificate",
            format!(
                "this machine does not trust it (factory certificates never are). Set station.tls.fingerprint: {fingerprint} \
                 after comparing it with the one that Workbench shows, or station.tls.caFile"
            ),
        );
    }
    line(
        "form login",
        if form {
            "offered: station.scheme: form-scram, for users on DigestScheme (the usual case)"
                .to_owned()
        } else {
            format!(
                "no login page at /prelogin (HTTP {}): station.scheme: form-scram will not work",
                findings.prelogin.status
            )
        },
    );
    line("header login", header_words(&findings.hello));
    line(
        "Basic login",
        "stations never announce it: it works for users on HTTPBasicScheme only (station.scheme: basic), and only after an \
         administrator has added that scheme"
            .to_owned(),
    );
    line(
        "BQL (/ord)",
        interface_words(&findings.ord, "queries and exports"),
    );
    line(
        "oBIX (/obix)",
        interface_words(
            &findings.obix,
            "values, histories and alarms; an oBIX network and its licence are needed on the station",
        ),
    );
    line(
        "BOX (/box)",
        "part of every Niagara 4 web service; whether the account may use it shows after login"
            .to_owned(),
    );
    text
}

fn station_words(findings: &Findings, niagara: bool) -> String {
    if niagara {
        "answers as a Niagara station does".to_owned()
    } else {
        format!(
            "something answers (HTTP {}), but not as a Niagara station does. Check the address and port: the web service is \
             wanted, not the platform (3011, 5011) or Fox (1911, 4911)",
            findings.root.status
        )
    }
}

fn header_words(hello: &Answer) -> String {
    if hello.challenges_with("SCRAM") {
        "offered: station.scheme: header-scram, for users on DigestScheme".to_owned()
    } else if hello.challenges_with("Basic") {
        "answered with Basic: the station prefers station.scheme: basic".to_owned()
    } else {
        "not offered (stations before 4.4, or switched off); use form-scram".to_owned()
    }
}

fn interface_words(answer: &Answer, what: &str) -> String {
    if answer.wants_login() {
        return format!("asks for a login first; then: {what}");
    }
    match answer.status {
        404 => format!("not there: {what}"),
        200 => format!("answers even without a login: check the station's guest access ({what})"),
        403 => format!("denied without a login; then: {what}"),
        500..=599 => format!(
            "fails (HTTP {}): the servlet is there but disabled or without licence",
            answer.status
        ),
        status => format!("answers with HTTP {status}; whether it can be used shows after login"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirect(location: &str) -> Answer {
        Answer {
            status: 302,
            location: Some(location.into()),
            ..Answer::default()
        }
    }

    fn findings() -> Findings {
        Findings {
            url: "https://station.example".into(),
            root: redirect("https://station.example/login"),
            prelogin: Answer {
                status: 200,
                body: "<script src='login/loginN4.js'>".into(),
                ..Answer::default()
            },
            ord: redirect("/login"),
            obix: Answer {
                status: 404,
                ..Answer::default()
            },
            hello: Answer {
                status: 401,
                challenges: vec!["SCRAM hash=SHA-256, handshakeToken=x".into()],
                ..Answer::default()
            },
            ..Findings::default()
        }
    }

    #[test]
    fn a_usual_station_is_described_with_the_settings_to_use() {
        let text = report(&findings());
        for words in [
            "answers as a Niagara station",
            "station.scheme: form-scram",
            "station.scheme: header-scram",
            "not there: values",
        ] {
            assert!(text.contains(words), "{words} in\n{text}");
        }
        assert!(!text.contains("certificate"));
    }

    #[test]
    fn factory_certificates_and_other_web_servers_are_recognised() {
        let text = report(&Findings {
            untrusted: Some("ab".repeat(32)),
            moved_to: Some("https://station.example".into()),
            ..findings()
        });
        assert!(text.contains(&format!("station.tls.fingerprint: {}", "ab".repeat(32))));
        assert!(text.contains("use that address as station.url"));
        let other = Answer {
            status: 200,
            body: "It works!".into(),
            ..Answer::default()
        };
        let text = report(&Findings {
            root: other.clone(),
            prelogin: other.clone(),
            hello: other.clone(),
            ord: other.clone(),
            obix: other,
            ..Findings::default()
        });
        assert!(text.contains("not as a Niagara station does"), "{text}");
        assert!(text.contains("will not work"), "{text}");
    }

    #[test]
    fn an_address_without_a_scheme_is_tried_both_ways() {
        let pair = |text: &str| {
            let (first, second) = addresses(text).expect(text);
            (first.to_string(), second.map(String::from))
        };
        let both = |host: &str| (format!("http://{host}/"), Some(format!("https://{host}/")));
        for host in [
            "127.0.0.1:8080",
            "station.example",
            "localhost:8443",
            "[::1]:81",
        ] {
            assert_eq!(pair(host), both(host));
        }
        assert_eq!(pair("https://x"), ("https://x/".to_owned(), None));
        for text in ["ftp://x", "http://", "mailto:me", "", "a b"] {
            assert!(addresses(text).is_err(), "{text}");
        }
    }

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
