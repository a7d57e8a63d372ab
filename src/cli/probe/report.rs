//! The findings in words.

use std::fmt::Write;

use super::Findings;
use super::account::AccountFindings;
use super::settings::station_block;
use super::web::{Answer, WebFindings};
use crate::station::error::CertificateFault;
use crate::station::facade::{InterfaceState, ServiceState, StationReport};
use crate::station::fox::{CertificateFacts, FoxFailure, FoxIdentity, FoxReport};
use crate::station::http::another_certificate;

/// Width of the column of topics.
const TOPIC: usize = 17;

/// One topic and what is known of it.
struct Page(String);

impl Page {
    fn title(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(self.0, "{text}");
    }

    /// A topic that fills its column still stands apart from its words.
    fn line(&mut self, topic: &str, words: impl AsRef<str>) {
        let gap = if topic.chars().count() < TOPIC {
            ""
        } else {
            " "
        };
        let _ = writeln!(self.0, "  {topic:<TOPIC$}{gap}{}", words.as_ref());
    }
}

/// Why nothing at all was found, for an address where nothing answers.
pub fn silence(findings: &Findings) -> String {
    let mut reasons: Vec<String> = match &findings.web {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    };
    reasons.extend(
        findings
            .fox
            .iter()
            .filter_map(|report| Some(format!("{}: {}", report.target, report.failure.as_ref()?))),
    );
    reasons.join("; ")
}

/// Everything, from the station itself to the settings that fit it.
pub fn report(findings: &Findings) -> String {
    let mut page = Page(String::new());
    page.title(&findings.address.text);
    write_station(&mut page, findings);
    match &findings.web {
        Ok(web) => write_web(&mut page, web),
        Err(errors) => {
            page.title("Web service");
            for error in errors {
                page.line("no answer", error.to_string());
            }
        }
    }
    if !findings.fox.is_empty() {
        page.title("Fox (liveness only; no login is ever made there)");
        for fox in &findings.fox {
            write_fox(&mut page, fox, findings);
        }
    }
    write_account(&mut page, findings);
    page.title("Configuration");
    match station_block(findings) {
        Some(block) => {
            page.0.push_str(&block);
        }
        None => page.line("nothing fits", nothing_fits(findings)),
    }
    page.0
}

fn nothing_fits(findings: &Findings) -> &'static str {
    if findings.shows_station() {
        "the station's web service is not reachable at this address, and the bridge works over it: check the \
         WebService (ports 80 and 443, or what is configured there) and the firewall"
    } else {
        "no Niagara station was found; check the address and the port: the web service is wanted, not the platform \
         (3011, 5011)"
    }
}

/// What is known of the station, whoever told it.
fn write_station(page: &mut Page, findings: &Findings) {
    let seen = match &findings.account {
        Some(AccountFindings::Seen(report)) => Some(report.as_ref()),
        _ => None,
    };
    let of_fox = |field: fn(&FoxIdentity) -> Option<String>| {
        findings
            .fox
            .iter()
            .find_map(|report| field(report.identity.as_ref()?))
    };
    page.line(
        "station",
        if findings.shows_station() {
            "a Niagara station answers"
        } else {
            "something answers, but not as a Niagara station does"
        },
    );
    let facts = [
        (
            "name",
            seen.and_then(|report| report.name.clone()),
            of_fox(|identity| identity.station_name.clone()),
        ),
        (
            "version",
            seen.and_then(|report| report.version.clone()),
            of_fox(|identity| identity.app_version.clone()),
        ),
        (
            "time zone",
            seen.filter(|report| report.time_zone_source.as_deref() != Some("assumed"))
                .and_then(|report| report.time_zone.clone()),
            of_fox(|identity| identity.time_zone.as_ref().map(|zone| zone.id.clone())),
        ),
        ("host", None, of_fox(|identity| identity.host_name.clone())),
    ];
    let mut unknown = Vec::new();
    for (topic, by_login, by_fox) in facts {
        match (by_login, by_fox) {
            (Some(told), Some(fox)) if told != fox => {
                page.line(topic, format!("{told} (Fox says {fox})"));
            }
            (Some(told), _) => page.line(topic, told),
            (None, Some(fox)) => page.line(topic, format!("{fox} (told by Fox)")),
            (None, None) if topic != "host" => unknown.push(topic),
            (None, None) => {}
        }
    }
    if !unknown.is_empty() && findings.shows_station() {
        let remedy = match seen {
            Some(_) => "not told to this account",
            None => "not told without a login (give --user)",
        };
        page.line(&unknown.join(", "), remedy);
    }
    if findings.address.is_platform {
        page.line(
            "port",
            "that is the platform's port; the station was looked for at its usual ports",
        );
    }
}

fn write_web(page: &mut Page, web: &WebFindings) {
    page.title(&format!("Web service at {}", web.url));
    if !web.is_station() {
        page.line(
            "answers",
            format!(
                "something answers (HTTP {}), but not as a Niagara station does. Check the address and port: the web \
                 service is wanted, not the platform (3011, 5011) or Fox (1911, 4911)",
                web.root.status
            ),
        );
        return;
    }
    page.line("answers", "as a Niagara station does");
    if let Some(secure) = &web.moved_to {
        page.line(
            "encryption",
            format!("plain HTTP is sent on to {secure}: use that address as station.url"),
        );
    } else if web.url.starts_with("http://") {
        page.line(
            "encryption",
            "none: whoever is on the path can read and change what is sent; enable https in the WebService",
        );
    }
    let distrust = CertificateFault::of(web.distrust.as_deref().unwrap_or_default());
    if let (Some(seen), Some(pinned)) = (&web.untrusted, &web.pinned) {
        page.line(
            "certificate",
            format!(
                "not the pinned one: {}. Compare it with the one that Workbench shows before station.tls.fingerprint \
                 is replaced",
                another_certificate(seen, pinned)
            ),
        );
    } else if let (Some(fingerprint), CertificateFault::OtherName) = (&web.untrusted, distrust) {
        page.line(
            "certificate",
            format!(
                "made for another name: {}. Use a name that it holds in station.url, or set station.tls.fingerprint: \
                 {fingerprint} after comparing it with the one that Workbench shows; then the name does not matter",
                web.distrust.as_deref().unwrap_or_default()
            ),
        );
    } else if let Some(fingerprint) = &web.untrusted {
        page.line(
            "certificate",
            format!(
                "this machine does not trust it (factory certificates never are). Set station.tls.fingerprint: \
                 {fingerprint} after comparing it with the one that Workbench shows, or station.tls.caFile"
            ),
        );
    }
    page.line(
        "form login",
        if web.has_form() {
            "offered: station.scheme: form-scram, for users on DigestScheme (the usual case)"
                .to_owned()
        } else {
            format!(
                "no login page at /prelogin (HTTP {}): station.scheme: form-scram will not work",
                web.prelogin.status
            )
        },
    );
    page.line("header login", header_words(web));
    page.line(
        "Basic login",
        "stations never announce it: it works for users on HTTPBasicScheme only (station.scheme: basic), and only after \
         an administrator has added that scheme",
    );
    page.line(
        "BQL (/ord)",
        interface_words(&web.ord, "queries and exports"),
    );
    page.line(
        "oBIX (/obix)",
        interface_words(
            &web.obix,
            "values, histories and alarms; an oBIX network and its licence are needed on the station",
        ),
    );
    page.line(
        "BOX (/box)",
        "part of every Niagara 4 web service; whether the account may use it shows after login",
    );
}

fn header_words(web: &WebFindings) -> &'static str {
    if web.has_header_login() {
        "offered: station.scheme: header-scram, for users on DigestScheme"
    } else if web.hello.challenges_with("Basic") {
        "answered with Basic: the station prefers station.scheme: basic"
    } else {
        "not offered (stations before 4.4, or switched off); use form-scram"
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

fn write_fox(page: &mut Page, fox: &FoxReport, findings: &Findings) {
    let target = fox.target.to_string();
    let topic = if fox.target.secure { "Foxs" } else { "Fox" };
    let words = match (&fox.failure, &fox.identity) {
        (Some(FoxFailure::Refused), _) => "nothing listens there".to_owned(),
        (Some(failure), _) if fox.is_fox => {
            format!("a station's Fox service is there, but {failure}")
        }
        (Some(failure), _) => failure.to_string(),
        (None, Some(identity)) => identity_words(identity),
        (None, None) => "no answer".to_owned(),
    };
    page.line(topic, format!("{target}: {words}"));
    let certificate = fox.tls.as_ref().and_then(|tls| tls.certificate.as_ref());
    if let Some(certificate) = certificate {
        page.line("", certificate_words(certificate, findings));
    }
    for hint in &fox.hints {
        page.line("", hint);
    }
}

fn identity_words(identity: &FoxIdentity) -> String {
    if let Some(reason) = &identity.fatal {
        return format!("a station answers and refuses this kind of peer: {reason}");
    }
    let told = [
        ("Fox", &identity.fox_version),
        ("station", &identity.station_name),
        ("version", &identity.app_version),
        ("host", &identity.host_name),
        ("brand", &identity.brand),
        ("system", &identity.os_name),
    ];
    let told: Vec<String> = told
        .into_iter()
        .filter_map(|(topic, text)| Some(format!("{topic} {}", text.as_ref()?)))
        .collect();
    format!("a station answers: {}", told.join(", "))
}

fn certificate_words(certificate: &CertificateFacts, findings: &Findings) -> String {
    let same = findings
        .web
        .as_ref()
        .ok()
        .and_then(|web| web.untrusted.as_ref())
        .is_some_and(|of_web| *of_web == certificate.fingerprint);
    let kind = match (same, certificate.is_self_signed) {
        (true, _) => "the certificate of the web service",
        (false, true) => "a self-signed certificate",
        (false, false) => "a certificate",
    };
    let until = certificate
        .not_after
        .map(|end| format!(", valid until {}", end.format("%Y-%m-%d")))
        .unwrap_or_default();
    format!(
        "{kind}, {}{until}, fingerprint {}",
        certificate.subject, certificate.fingerprint
    )
}

fn write_account(page: &mut Page, findings: &Findings) {
    let (Some(account), Some((user, scheme))) = (&findings.account, &findings.user) else {
        return;
    };
    page.title(&format!("As user {user} ({})", scheme.word()));
    match account {
        AccountFindings::NotSent(reason) => page.line("login", format!("not sent: {reason}")),
        AccountFindings::Seen(report) => write_seen(page, report),
    }
}

fn write_seen(page: &mut Page, report: &StationReport) {
    if let Some(error) = &report.error {
        page.line("login", format!("failed: {error}"));
        return;
    }
    page.line("login", "accepted");
    for (topic, state) in [
        ("BQL", &report.bql),
        ("BOX", &report.boxp),
        ("oBIX", &report.obix),
    ] {
        page.line(topic, state_words(state));
    }
    for (topic, state) in [
        ("alarm service", &report.alarm_service),
        ("history service", &report.history_service),
    ] {
        page.line(
            topic,
            match state {
                ServiceState::Available => "answers".to_owned(),
                ServiceState::Unavailable => "not available to this account".to_owned(),
                ServiceState::Failed(reason) => format!("fails: {reason}"),
            },
        );
    }
    for route in &report.operations {
        if route.interface.is_none() {
            page.line(
                "not possible",
                format!(
                    "{}: no interface that answers it can be used",
                    route.operation
                ),
            );
        }
    }
}

fn state_words(state: &InterfaceState) -> String {
    match (&state.reason, &state.form) {
        (_, Some(form)) if state.usable => format!("usable ({form})"),
        _ if state.usable => "usable".to_owned(),
        (Some(reason), _) => format!("not usable: {reason}"),
        (None, _) => "not usable".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::probe::address::ProbeAddress;

    fn redirect(location: &str) -> Answer {
        Answer {
            status: 302,
            location: Some(location.into()),
            ..Answer::default()
        }
    }

    fn usual() -> WebFindings {
        WebFindings {
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
            ..WebFindings::default()
        }
    }

    fn found(web: WebFindings) -> Findings {
        let address: ProbeAddress = "https://station.example".parse().expect("an address");
        Findings {
            address,
            web: Ok(web),
            fox: Vec::new(),
            account: None,
            user: None,
        }
    }

    #[test]
    fn a_usual_station_is_described_with_the_settings_to_use() {
        let text = report(&found(usual()));
        for words in [
            "as a Niagara station does",
            "station.scheme: form-scram",
            "station.scheme: header-scram",
            "not there: values",
            "url: \"https://station.example\"",
            "name, version, time zone not told without a login",
        ] {
            assert!(text.contains(words), "{words} in\n{text}");
        }
        assert!(!text.contains("certificate") && !text.contains("Fox"));
    }

    #[test]
    fn a_certificate_in_place_of_the_pinned_one_is_a_warning_and_not_a_setting_to_copy() {
        let (seen, pinned) = ("ab".repeat(32), "cd".repeat(32));
        let text = report(&found(WebFindings {
            untrusted: Some(seen.clone()),
            pinned: Some(pinned.clone()),
            ..usual()
        }));
        for words in [
            format!("its SHA-256 fingerprint is {seen}, but {pinned} is pinned"),
            "somebody may stand between bridge and station".to_owned(),
            "before station.tls.fingerprint is replaced".to_owned(),
            format!("fingerprint: {pinned}  #"),
        ] {
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(&words), "{words} in\n{text}");
        }
        assert!(!text.contains("this machine does not trust it"));
        assert!(!text.contains(&format!("fingerprint: {seen}")));
    }

    #[test]
    fn factory_certificates_and_other_web_servers_are_recognised() {
        let text = report(&found(WebFindings {
            untrusted: Some("ab".repeat(32)),
            moved_to: Some("https://station.example".into()),
            ..usual()
        }));
        assert!(text.contains(&format!("station.tls.fingerprint: {}", "ab".repeat(32))));
        assert!(text.contains("use that address as station.url"));
        let other = Answer {
            status: 200,
            body: "It works!".into(),
            ..Answer::default()
        };
        let findings = found(WebFindings {
            root: other.clone(),
            prelogin: other.clone(),
            hello: other.clone(),
            ord: other.clone(),
            obix: other,
            ..WebFindings::default()
        });
        let text = report(&findings);
        assert!(text.contains("not as a Niagara station does"), "{text}");
        assert!(text.contains("nothing fits") && !text.contains("station:\n"));
        assert!(!findings.shows_station() && findings.shows_anything());
    }
}
