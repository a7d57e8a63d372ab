//! What a certificate says of itself, verified or not (Fox specification §8).

use chrono::{DateTime, Utc};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::station::http::fingerprint_of;

/// The facts of a station's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// SHA-256, 64 hexadecimal digits: what `station.tls` takes as fingerprint.
    pub fingerprint: String,
    pub subject: String,
    pub issuer: String,
    /// DNS names and addresses that it is made out to.
    pub names: Vec<String>,
    pub not_before: Option<DateTime<Utc>>,
    pub not_after: Option<DateTime<Utc>>,
    pub is_self_signed: bool,
    /// One of the certificates that every new station has: it tells nothing about which station this is.
    pub is_factory: bool,
}

impl CertificateFacts {
    /// Reads a certificate in DER form; one that cannot be read still has its fingerprint.
    pub fn read(der: &[u8]) -> Self {
        let fingerprint = fingerprint_of(der);
        let Ok((_, certificate)) = X509Certificate::from_der(der) else {
            return Self {
                fingerprint,
                subject: String::new(),
                issuer: String::new(),
                names: Vec::new(),
                not_before: None,
                not_after: None,
                is_self_signed: false,
                is_factory: false,
            };
        };
        let subject = certificate.subject();
        let common_names: Vec<&str> = subject
            .iter_common_name()
            .filter_map(|name| name.as_str().ok())
            .collect();
        let organizations = subject.iter_organization();
        let is_recovery = organizations
            .filter_map(|name| name.as_str().ok())
            .any(|name| name == "ForRecoveryPurposes");
        let time = |seconds: i64| DateTime::from_timestamp(seconds, 0);
        let names = match certificate.subject_alternative_name() {
            Ok(Some(extension)) => extension
                .value
                .general_names
                .iter()
                .filter_map(name_of)
                .collect(),
            _ => Vec::new(),
        };
        Self {
            fingerprint,
            subject: subject.to_string(),
            issuer: certificate.issuer().to_string(),
            names,
            not_before: time(certificate.validity().not_before.timestamp()),
            not_after: time(certificate.validity().not_after.timestamp()),
            is_self_signed: subject == certificate.issuer(),
            is_factory: is_recovery || common_names == ["Niagara4"],
        }
    }

    /// Whether it is valid at a moment; an unreadable one is not.
    pub fn is_in_date(&self, now: DateTime<Utc>) -> bool {
        self.not_before.is_some_and(|begin| begin <= now)
            && self.not_after.is_some_and(|end| now <= end)
    }
}

fn name_of(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(octets) => match octets.len() {
            4 => <[u8; 4]>::try_from(*octets)
                .ok()
                .map(|octets| std::net::Ipv4Addr::from(octets).to_string()),
            _ => <[u8; 16]>::try_from(*octets)
                .ok()
                .map(|octets| std::net::Ipv6Addr::from(octets).to_string()),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_certificate_names_owner_and_addresses() {
        let key = rcgen::KeyPair::generate().expect("a key");
        let mut parameters =
            rcgen::CertificateParams::new(["st1.example".to_owned(), "192.0.2.10".to_owned()])
                .expect("names");
        parameters
            .distinguished_name
            .push(rcgen::DnType::CommonName, "Plant");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let facts = CertificateFacts::read(certificate.der());
        assert_eq!(facts.names, ["st1.example", "192.0.2.10"]);
        assert!(facts.subject.contains("CN=Plant"), "{}", facts.subject);
        assert!(facts.is_self_signed && !facts.is_factory);
        assert_eq!(facts.fingerprint, fingerprint_of(certificate.der()));
        let year = |text: &str| text.parse().expect("a time");
        assert!(facts.is_in_date(year("2026-01-01T00:00:00Z")));
        assert!(!facts.is_in_date(year("9999-01-01T00:00:00Z")));
    }

    proptest! {
        #[test]
        fn no_octets_upset_the_reader(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(CertificateFacts::read(&octets).fingerprint.len(), 64);
        }
    }
}
