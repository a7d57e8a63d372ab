//! What was typed as the station's address: one host, and where its web service and Fox may be.

use std::net::Ipv6Addr;
use std::str::FromStr;

use thiserror::Error;
use url::Url;

use crate::station::fox::FoxTarget;
use crate::station::fox::probe::{FOX_PORT, FOXS_PORT};

/// Ports of the platform daemon, which speaks neither HTTP of the station nor Fox (Fox specification §1).
const PLATFORM_PORTS: [u16; 2] = [3011, 5011];

/// The host to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeAddress {
    /// As it was typed.
    pub text: String,
    /// Host name or address, without brackets.
    pub host: String,
    /// Addresses of the web service, in the order in which they are tried.
    pub web: Vec<Url>,
    /// A port that was typed and is one of Fox.
    pub fox: Option<FoxTarget>,
    /// The typed port is the platform's.
    pub is_platform: bool,
}

/// Why a text is no address to probe.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error(
        "'{text}' is no address such as https://192.0.2.10, station.example or 192.0.2.10:8443"
    )]
    Malformed { text: String },
    #[error("'{text}' is no http, https, fox or foxs address")]
    Scheme { text: String },
    #[error("'{text}' is more than one host; ranges and patterns are never probed")]
    Range { text: String },
}

impl FromStr for ProbeAddress {
    type Err = AddressError;

    /// A user and a password in the address are left out, here and in errors: they would be sent along as a login.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = without_user(text.trim());
        let text = text.as_str();
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest.to_owned()),
            None if text.parse::<Ipv6Addr>().is_ok() => (String::new(), format!("[{text}]")),
            None => (String::new(), text.to_owned()),
        };
        let parsed = |scheme: &str| {
            Url::parse(&format!("{scheme}://{rest}"))
                .ok()
                .filter(|url| url.host().is_some())
                .ok_or_else(|| AddressError::Malformed {
                    text: text.to_owned(),
                })
        };
        // A port that is the default of http vanishes from a URL of that scheme only.
        let plain = parsed("http")?;
        let typed_port = plain.port().or_else(|| rest.ends_with(":80").then_some(80));
        let host = plain
            .host_str()
            .unwrap_or_default()
            .trim_matches(['[', ']'])
            .to_owned();
        let target = |secure: bool, port: u16| {
            one_host(FoxTarget {
                host: host.clone(),
                port,
                secure,
            })
            .ok_or_else(|| AddressError::Range {
                text: text.to_owned(),
            })
        };
        // 10.0.0.0/24 is a network, not a page of a host.
        let mask = plain.path().trim_start_matches('/');
        if scheme.is_empty() && !mask.is_empty() && mask.bytes().all(|sign| sign.is_ascii_digit()) {
            return Err(AddressError::Range {
                text: text.to_owned(),
            });
        }
        // Refuses patterns also where no Fox port was typed.
        target(false, FOX_PORT)?;
        let (web, fox) = match (scheme.as_str(), typed_port) {
            ("http" | "https", _) => (vec![origin(parsed(&scheme)?, None)], None),
            ("fox", port) => (bare(&plain), Some(target(false, port.unwrap_or(FOX_PORT))?)),
            ("foxs", port) => (bare(&plain), Some(target(true, port.unwrap_or(FOXS_PORT))?)),
            ("", Some(port @ FOX_PORT)) => (bare(&plain), Some(target(false, port)?)),
            ("", Some(port @ FOXS_PORT)) => (bare(&plain), Some(target(true, port)?)),
            ("", Some(port)) if PLATFORM_PORTS.contains(&port) => (bare(&plain), None),
            ("", _) => (
                vec![origin(plain.clone(), None), origin(parsed("https")?, None)],
                None,
            ),
            _ => {
                return Err(AddressError::Scheme {
                    text: text.to_owned(),
                });
            }
        };
        Ok(Self {
            text: text.to_owned(),
            host,
            web,
            fox,
            is_platform: scheme.is_empty()
                && typed_port.is_some_and(|port| PLATFORM_PORTS.contains(&port)),
        })
    }
}

fn without_user(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{host}{path}")
}

/// Only what its own notation could name is one host.
fn one_host(target: FoxTarget) -> Option<FoxTarget> {
    let read = target.to_string().parse::<FoxTarget>().ok()?;
    (read == target).then_some(target)
}

/// The web service at its usual ports, over both schemes.
fn bare(url: &Url) -> Vec<Url> {
    let plain = origin(url.clone(), Some(80));
    let mut secure = plain.clone();
    // http and https can be exchanged for one another in a URL.
    let is_secure = secure.set_scheme("https").is_ok();
    let secure = is_secure.then_some(secure);
    std::iter::once(plain).chain(secure).collect()
}

fn origin(mut url: Url, port: Option<u16>) -> Url {
    url.set_path("/");
    url.set_query(None);
    url.set_fragment(None);
    if port.is_some() {
        // The default port of the scheme is not written; a URL with a host takes any.
        let _ = url.set_port(port);
    }
    url
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> (Vec<String>, Option<String>) {
        let address: ProbeAddress = text.parse().expect(text);
        let web = address.web.iter().map(Url::to_string).collect();
        (web, address.fox.map(|target| target.to_string()))
    }

    #[test]
    fn an_address_without_a_scheme_is_tried_both_ways() {
        for host in [
            "127.0.0.1:8080",
            "station.example",
            "localhost:8443",
            "[::1]:81",
        ] {
            let both = vec![format!("http://{host}/"), format!("https://{host}/")];
            assert_eq!(read(host), (both, None));
        }
        assert_eq!(
            read("https://x/ord?a#b"),
            (vec!["https://x/".to_owned()], None)
        );
        assert_eq!(read("::1").0[0], "http://[::1]/");
    }

    #[test]
    fn a_fox_port_is_kept_and_the_web_service_looked_for_at_its_own() {
        let usual = vec!["http://jace/".to_owned(), "https://jace/".to_owned()];
        for (text, fox) in [
            ("jace:1911", "fox://jace:1911"),
            ("jace:4911", "foxs://jace:4911"),
            ("fox://jace", "fox://jace:1911"),
            ("foxs://jace:5000", "foxs://jace:5000"),
        ] {
            assert_eq!(read(text), (usual.clone(), Some(fox.to_owned())), "{text}");
        }
        assert_eq!(read("jace:5011"), (usual, None));
        assert!(
            "jace:5011"
                .parse::<ProbeAddress>()
                .expect("one")
                .is_platform
        );
    }

    #[test]
    fn a_password_in_the_address_is_neither_kept_nor_told() {
        for text in ["http://bridge:s3cret@jace/", "bridge:s3cret@jace"] {
            let address: ProbeAddress = text.parse().expect(text);
            assert_eq!(address.web[0].as_str(), "http://jace/");
            assert!(!format!("{address:?}").contains("s3cret"));
        }
        let error = "ftp://bridge:s3cret@jace".parse::<ProbeAddress>();
        assert!(!error.expect_err("ftp").to_string().contains("s3cret"));
    }

    #[test]
    fn what_is_not_one_host_is_refused_with_a_reason() {
        for (text, words) in [
            ("ftp://x", "no http, https, fox or foxs address"),
            ("mailto:me", "no address"),
            ("http://", "no address"),
            ("", "no address"),
            ("a b", "no address"),
            ("10.0.0.1-20", "never probed"),
            ("10.0.0.0/24", "never probed"),
            ("a,b", "never probed"),
        ] {
            let error = text.parse::<ProbeAddress>().expect_err(text);
            assert!(error.to_string().contains(words), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_upsets_the_reader(text in "\\PC{0,40}") {
            if let Ok(address) = text.parse::<ProbeAddress>() {
                prop_assert!(!address.host.is_empty() && !address.web.is_empty());
            }
        }
    }
}
