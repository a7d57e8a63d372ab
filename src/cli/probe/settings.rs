//! The `station:` block of the configuration that fits what was found.

use serde_json::json;

use super::Findings;
use super::account::AccountFindings;
use crate::station::fox::FoxTarget;
use crate::station::web::LoginScheme;

/// The block, ready to be written into the configuration; none without a web service to speak to.
pub fn station_block(findings: &Findings) -> Option<String> {
    let web = findings.web.as_ref().ok().filter(|web| web.is_station())?;
    let fox = fox_of(findings);
    // A certificate that took the place of the pinned one is not offered for copying.
    let pin = web
        .pinned
        .clone()
        .or_else(|| web.untrusted.clone())
        .filter(|pin| pin != "unknown")
        .or_else(|| fox.as_ref().and_then(|fox| fox.pin.clone()));
    let (user, scheme) = match &findings.user {
        Some((user, scheme)) => (quoted(user), *scheme),
        None if !web.has_form() && web.has_header_login() => {
            (own_account(), LoginScheme::HeaderScram)
        }
        None => (own_account(), LoginScheme::FormScram),
    };
    let mut lines = vec![
        "station:".to_owned(),
        format!("  url: {}", quoted(&web.url)),
        format!("  user: {user}"),
        "  passwordFile: station-password  # a file that only the bridge can read".to_owned(),
        format!("  scheme: {}", scheme.word()),
    ];
    if let Some(zone) = zone_to_set(findings) {
        lines.push(format!(
            "  timeZone: {zone}  # told by Fox; nothing else tells it"
        ));
    }
    if let Some(fox) = fox {
        lines.push(format!("  fox: {}", quoted(&fox.target.to_string())));
    }
    if let Some(pin) = pin {
        lines.push("  tls:".to_owned());
        lines.push(format!(
            "    fingerprint: {pin}  # compare it with the one that Workbench shows"
        ));
    }
    Some(lines.join("\n") + "\n")
}

fn own_account() -> String {
    "niagara-bridge  # a station user of its own, on DigestScheme".to_owned()
}

/// JSON strings are YAML strings, whatever they hold.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

struct Fox {
    target: FoxTarget,
    /// Certificate that must be trusted for it.
    pin: Option<String>,
}

/// The Fox port to configure: over TLS where the certificate settings of the web service hold for it too.
fn fox_of(findings: &Findings) -> Option<Fox> {
    let answering = |secure: bool| {
        findings
            .fox
            .iter()
            .find(move |report| report.is_fox && report.target.secure == secure)
    };
    let web = findings.web.as_ref().ok()?;
    let over_tls = answering(true).and_then(|report| {
        let certificate = report.tls.as_ref()?.certificate.as_ref()?;
        let pin = certificate.fingerprint.clone();
        let fits = match &web.untrusted {
            Some(of_web) => *of_web == pin,
            // One fingerprint is for both: beside a web service that this machine trusts there can be none.
            None => web.url.starts_with("http://") || !certificate.is_self_signed,
        };
        let needs_pin = certificate.is_self_signed;
        fits.then(|| Fox {
            target: report.target.clone(),
            pin: needs_pin.then_some(pin),
        })
    });
    over_tls.or_else(|| {
        answering(false).map(|report| Fox {
            target: report.target.clone(),
            pin: None,
        })
    })
}

/// A zone that only Fox tells.
fn zone_to_set(findings: &Findings) -> Option<String> {
    let Some(AccountFindings::Seen(report)) = &findings.account else {
        return None;
    };
    if report.time_zone_source.as_deref() != Some("assumed") {
        return None;
    }
    findings
        .fox
        .iter()
        .filter_map(|report| report.identity.as_ref()?.time_zone.as_ref())
        .find_map(|zone| zone.id.parse::<chrono_tz::Tz>().ok())
        .map(|zone| zone.name().to_owned())
}
