//! Self-signed certificates as stations have them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Datelike, NaiveTime, TimeDelta, Utc};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};

use super::TlsError;

/// Kinds of certificates met on stations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "profile",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum CertificateProfile {
    /// Subject `CN=Niagara4` alone, without names, valid: never matches the host (Station web specification §1).
    #[default]
    Station,
    /// Subject `CN=Niagara4, O=ForRecoveryPurposes`, the factory certificate of newer versions (Fox specification §1).
    Factory,
    /// As `Station`, but its last day was yesterday.
    Expired,
    /// Subject `CN=<station name>` with these DNS names and IP addresses, as an owner installs it: a client that trusts
    /// it verifies it.
    Owner { names: Vec<String> },
}

impl CertificateProfile {
    /// The owner's certificate for a station on this machine.
    pub fn local_owner() -> Self {
        Self::Owner {
            names: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
        }
    }
}

/// A certificate in use, without its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationCertificate {
    /// As `CN=Niagara4, O=ForRecoveryPurposes`; the issuer is the same.
    pub subject: String,
    pub not_before: DateTime<Utc>,
    pub not_after: DateTime<Utc>,
    pub der: Vec<u8>,
    /// SHA-256 of the DER form, lower-case hex without separators.
    pub fingerprint: String,
}

impl StationCertificate {
    /// The certificate as a PEM file, for clients that are told to trust it.
    pub fn pem(&self) -> String {
        let text = STANDARD.encode(&self.der);
        let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
        for line in text.as_bytes().chunks(64) {
            pem.push_str(&String::from_utf8_lossy(line));
            pem.push('\n');
        }
        pem.push_str("-----END CERTIFICATE-----\n");
        pem
    }
}

/// Days a certificate counts back and forth from the day it is made: clients judge it by the machine's clock.
const VALID_SINCE_DAYS: i64 = 30;
const VALID_FOR_DAYS: i64 = 365;

pub(super) fn make(
    station_name: &str,
    profile: &CertificateProfile,
) -> Result<(StationCertificate, PrivateKeyDer<'static>), TlsError> {
    let (common_name, organisation, names) = match profile {
        CertificateProfile::Station | CertificateProfile::Expired => ("Niagara4", None, Vec::new()),
        CertificateProfile::Factory => ("Niagara4", Some("ForRecoveryPurposes"), Vec::new()),
        CertificateProfile::Owner { names } => (station_name, None, names.clone()),
    };
    let today = Utc::now();
    let last_day = match profile {
        CertificateProfile::Expired => today - TimeDelta::days(1),
        _ => today + TimeDelta::days(VALID_FOR_DAYS),
    };
    let failed = |source| TlsError::Certificate {
        names: names.clone(),
        source,
    };
    let mut parameters = CertificateParams::new(names.clone()).map_err(failed)?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::CommonName, common_name);
    let mut subject = format!("CN={common_name}");
    if let Some(organisation) = organisation {
        parameters
            .distinguished_name
            .push(DnType::OrganizationName, organisation);
        subject.push_str(", O=");
        subject.push_str(organisation);
    }
    let first_day = today - TimeDelta::days(VALID_SINCE_DAYS);
    // The library names days of its own type; month and day come from a calendar and fit a byte.
    let small = |number: u32| u8::try_from(number).unwrap_or(1);
    let day =
        |day: DateTime<Utc>| rcgen::date_time_ymd(day.year(), small(day.month()), small(day.day()));
    parameters.not_before = day(first_day);
    parameters.not_after = day(last_day);
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let der = parameters.self_signed(&key).map_err(failed)?.der().to_vec();
    let digest = ring::digest::digest(&ring::digest::SHA256, &der);
    let certificate = StationCertificate {
        subject,
        not_before: midnight(first_day),
        not_after: midnight(last_day),
        fingerprint: digest
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
        der,
    };
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Ok((certificate, key))
}

fn midnight(day: DateTime<Utc>) -> DateTime<Utc> {
    day.date_naive().and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_certificate_is_new_and_tells_its_dates() {
        let (first, _) = make("S", &CertificateProfile::Station).unwrap();
        let (second, _) = make("S", &CertificateProfile::Station).unwrap();
        assert_ne!(first.fingerprint, second.fingerprint);
        assert_eq!(first.subject, "CN=Niagara4");
        let (expired, _) = make("S", &CertificateProfile::Expired).unwrap();
        assert!(expired.not_after < Utc::now() && first.not_after > Utc::now());
        let (factory, _) = make("S", &CertificateProfile::Factory).unwrap();
        assert_eq!(factory.subject, "CN=Niagara4, O=ForRecoveryPurposes");
        assert!(factory.pem().lines().all(|line| line.len() <= 64));
    }

    #[test]
    fn a_name_that_is_no_name_is_refused() {
        let profile = CertificateProfile::Owner {
            names: vec!["grün".to_owned()],
        };
        let error = make("S", &profile).unwrap_err().to_string();
        assert!(error.contains("grün"), "{error}");
    }
}
