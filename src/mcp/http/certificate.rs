//! The bridge's own certificate: read from files, or made once and kept in the data folder.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, Datelike, TimeDelta, Utc};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use crate::file_watch::FileWatch;
use crate::station::http::fingerprint_of;

const CERTIFICATE_NAME: &str = "tls-certificate.pem";
const KEY_NAME: &str = "tls-key.pem";

/// Clients pin the fingerprint, so a made certificate lives long.
const VALID_FOR_DAYS: i64 = 3650;
/// Clocks of clients may be behind.
const VALID_SINCE_DAYS: i64 = 1;

/// Names of a made certificate stand before its PEM block, so that a later start can compare them.
const NAMES_LABEL: &str = "Names: ";
const EXPIRY_LABEL: &str = "Valid until: ";

/// Where the certificate comes from (`tls` in the configuration).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateSource {
    /// `tls.certFile` and `tls.keyFile`: PEM files of the owner.
    Files { certificate: PathBuf, key: PathBuf },
    /// `tls.generate`: self-signed, made at the first start and kept in `folder`.
    Generated {
        folder: PathBuf,
        /// Host names and addresses that it is made for.
        names: Vec<String>,
    },
}

/// The certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("{path} cannot be read: {cause}; check tls.certFile and tls.keyFile")]
    Unreadable { path: PathBuf, cause: String },
    #[error("{path} cannot be written: {source}; check the rights of the data folder")]
    Unwritable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path} holds no {what} in PEM form")]
    Empty { path: PathBuf, what: &'static str },
    #[error("certificate {certificate} and key {key} cannot be used: {source}")]
    Pair {
        certificate: PathBuf,
        key: PathBuf,
        source: rustls::Error,
    },
    #[error(
        "no certificate can be made for {names:?}: {source}; use DNS names or IP addresses in allowedHosts"
    )]
    Names {
        names: Vec<String>,
        source: rcgen::Error,
    },
    #[error(
        "the key {path} can be read by others (mode {mode:03o}); run chmod 600 on it, or remove it and {CERTIFICATE_NAME} to get a new pair"
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("the certificate files cannot be watched: {0}")]
    Watch(#[from] notify::Error),
}

/// The certificate in use; new connections get the newest one.
pub struct Certificates {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Held>,
}

#[derive(Clone)]
struct Held {
    fingerprint: String,
    key: Arc<CertifiedKey>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Certificates")
            .field("certificate", &self.certificate)
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

impl Certificates {
    /// Reads the certificate, or makes it where it is missing and shall be made.
    ///
    /// # Errors
    /// What is wrong with the files, or why none can be made.
    pub fn open(source: &CertificateSource) -> Result<Self, CertificateError> {
        let (certificate, key) = match source {
            CertificateSource::Files { certificate, key } => {
                warn_of_readers(key);
                (certificate.clone(), key.clone())
            }
            CertificateSource::Generated { folder, names } => kept_pair(folder, names)?,
        };
        let current = RwLock::new(read_pair(&certificate, &key)?);
        Ok(Self {
            certificate,
            key,
            current,
        })
    }

    /// SHA-256 of the certificate in use, as clients pin it.
    pub fn fingerprint(&self) -> String {
        self.held().fingerprint
    }

    /// The file that holds the certificate, for clients that are told to trust it.
    pub fn file(&self) -> &Path {
        &self.certificate
    }

    /// Reads both files again; true when another certificate is in use now.
    ///
    /// # Errors
    /// What is wrong with the files; the old certificate stays in use.
    pub fn reload(&self) -> Result<bool, CertificateError> {
        let new = read_pair(&self.certificate, &self.key)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let changed = new.fingerprint != current.fingerprint;
        *current = new;
        Ok(changed)
    }

    /// Takes a changed certificate into use until `stop` fires.
    ///
    /// Certificate and key are replaced one after the other: a pair that does not fit yet is read again when the
    /// other file follows.
    ///
    /// # Errors
    /// The folders of the files cannot be watched.
    pub fn watch(self: &Arc<Self>, stop: CancellationToken) -> Result<(), CertificateError> {
        let mut certificate = FileWatch::start(&self.certificate)?;
        let mut key = FileWatch::start(&self.key)?;
        let own = self.clone();
        tokio::spawn(async move {
            loop {
                let goes_on = tokio::select! {
                    () = stop.cancelled() => false,
                    goes_on = certificate.changed() => goes_on,
                    goes_on = key.changed() => goes_on,
                };
                if !goes_on {
                    return;
                }
                match own.reload() {
                    Ok(true) => {
                        tracing::info!(fingerprint = %own.fingerprint(), "another certificate is in use");
                    }
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(%error, "the changed certificate is not used yet, the old one stays in use");
                    }
                }
            }
        });
        Ok(())
    }

    fn held(&self) -> Held {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.held().key)
    }
}

fn read_pair(certificate: &Path, key: &Path) -> Result<Held, CertificateError> {
    let unreadable = |path: &Path, cause: String| CertificateError::Unreadable {
        path: path.to_owned(),
        cause,
    };
    let text =
        std::fs::read(certificate).map_err(|error| unreadable(certificate, error.to_string()))?;
    let chain = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unreadable(certificate, error.to_string()))?;
    let Some(leaf) = chain.first() else {
        return Err(CertificateError::Empty {
            path: certificate.to_owned(),
            what: "certificate",
        });
    };
    let fingerprint = fingerprint_of(leaf);
    let text =
        Zeroizing::new(std::fs::read(key).map_err(|error| unreadable(key, error.to_string()))?);
    let private = PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        rustls::pki_types::pem::Error::NoItemsFound => CertificateError::Empty {
            path: key.to_owned(),
            what: "private key",
        },
        other => unreadable(key, other.to_string()),
    })?;
    let pair = CertifiedKey::from_der(chain, private, &ring::default_provider());
    let pair = pair.map_err(|source| CertificateError::Pair {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    })?;
    Ok(Held {
        fingerprint,
        key: Arc::new(pair),
    })
}

/// The kept pair, made anew when it is missing or has expired.
fn kept_pair(folder: &Path, names: &[String]) -> Result<(PathBuf, PathBuf), CertificateError> {
    let (certificate, key) = (folder.join(CERTIFICATE_NAME), folder.join(KEY_NAME));
    let kept = std::fs::read_to_string(&certificate).ok();
    match kept.as_deref().map(KeptFacts::of) {
        Some(facts) if key.exists() && !facts.expired() => {
            refuse_readers(&key)?;
            if facts.names.as_ref().is_some_and(|kept| kept != names) {
                tracing::warn!(
                    certificate = %certificate.display(), names = %names.join(", "),
                    "the kept certificate was made for other names; clients that pin its fingerprint are not concerned, \
                     for the others remove the file and start again"
                );
            }
        }
        kept => {
            if kept.is_some() {
                tracing::warn!(certificate = %certificate.display(), "a new certificate is made; pinned fingerprints have to be changed");
            }
            make_pair(folder, &certificate, &key, names)?;
        }
    }
    Ok((certificate, key))
}

/// What a made certificate's file says about it.
struct KeptFacts {
    names: Option<Vec<String>>,
    expiry: Option<DateTime<Utc>>,
}

impl KeptFacts {
    fn of(text: &str) -> Self {
        let after = |label: &str| text.lines().find_map(|line| line.strip_prefix(label));
        Self {
            names: after(NAMES_LABEL).map(|names| names.split(", ").map(str::to_owned).collect()),
            expiry: after(EXPIRY_LABEL)
                .and_then(|time| DateTime::parse_from_rfc3339(time).ok())
                .map(|time| time.to_utc()),
        }
    }

    fn expired(&self) -> bool {
        self.expiry.is_some_and(|expiry| expiry <= Utc::now())
    }
}

fn make_pair(
    folder: &Path,
    certificate: &Path,
    key: &Path,
    names: &[String],
) -> Result<(), CertificateError> {
    let failed = |source| CertificateError::Names {
        names: names.to_vec(),
        source,
    };
    let mut parameters = CertificateParams::new(names.to_vec()).map_err(failed)?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::CommonName, "niagara-bridge");
    let today = Utc::now();
    let last_day = today + TimeDelta::days(VALID_FOR_DAYS);
    // Month and day come from a calendar and fit a byte.
    let small = |number: u32| u8::try_from(number).unwrap_or(1);
    let day =
        |day: DateTime<Utc>| rcgen::date_time_ymd(day.year(), small(day.month()), small(day.day()));
    parameters.not_before = day(today - TimeDelta::days(VALID_SINCE_DAYS));
    parameters.not_after = day(last_day);
    let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let made = parameters.self_signed(&pair).map_err(failed)?;
    std::fs::create_dir_all(folder).map_err(|source| CertificateError::Unwritable {
        path: folder.to_owned(),
        source,
    })?;
    // The key first: a certificate without its key would be served by nobody.
    write_private(key, &Zeroizing::new(pair.serialize_pem()))?;
    let text = format!(
        "{NAMES_LABEL}{}\n{EXPIRY_LABEL}{}\n{}",
        names.join(", "),
        last_day
            .date_naive()
            .and_time(chrono::NaiveTime::MIN)
            .and_utc()
            .to_rfc3339(),
        made.pem()
    );
    std::fs::write(certificate, text).map_err(|source| CertificateError::Unwritable {
        path: certificate.to_owned(),
        source,
    })
}

/// Writes a file that only this account can read. On Windows the rights of the data folder apply.
fn write_private(path: &Path, text: &str) -> Result<(), CertificateError> {
    let unwritable = |source| CertificateError::Unwritable {
        path: path.to_owned(),
        source,
    };
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(unwritable(error));
        }
        _ => {}
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(unwritable)?;
    file.write_all(text.as_bytes()).map_err(unwritable)?;
    file.sync_all().map_err(unwritable)
}

/// Permission bits of group and others; none where the system has no such bits.
#[cfg(unix)]
fn foreign_rights(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn foreign_rights(_: &Path) -> Option<u32> {
    None
}

fn refuse_readers(key: &Path) -> Result<(), CertificateError> {
    match foreign_rights(key) {
        Some(mode) => Err(CertificateError::Exposed {
            path: key.to_owned(),
            mode,
        }),
        None => Ok(()),
    }
}

/// The owner of a key may let a group read it on purpose, everybody else hardly.
fn warn_of_readers(key: &Path) {
    if let Some(mode) = foreign_rights(key)
        && mode & 0o007 != 0
    {
        tracing::warn!(key = %key.display(), mode = %format!("{mode:03o}"), "every account of this machine can reach the private key; run chmod o-rwx on it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(folder: &Path, names: &[&str]) -> CertificateSource {
        CertificateSource::Generated {
            folder: folder.to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn a_made_certificate_is_kept_over_restarts_and_renewed_when_it_has_expired() {
        let folder = tempfile::tempdir().expect("folder");
        let data = folder.path().join("data");
        let source = generated(&data, &["localhost", "127.0.0.1"]);
        let first = Certificates::open(&source).expect("made");
        let again = Certificates::open(&source).expect("kept");
        assert_eq!(first.fingerprint(), again.fingerprint());
        assert_eq!(first.fingerprint().len(), 64);
        let other = Certificates::open(&generated(&data, &["bms.example"])).expect("kept");
        assert_eq!(first.fingerprint(), other.fingerprint());

        let text = std::fs::read_to_string(first.file()).expect("the file");
        let (before, after) = text.split_once(EXPIRY_LABEL).expect("the date");
        let rest = after.split_once('\n').expect("a line").1;
        let expired = format!("{before}{EXPIRY_LABEL}2020-01-01T00:00:00+00:00\n{rest}");
        std::fs::write(first.file(), expired).expect("written");
        let renewed = Certificates::open(&source).expect("renewed");
        assert_ne!(first.fingerprint(), renewed.fingerprint());
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_can_read_is_refused_with_the_remedy() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("folder");
        let source = generated(folder.path(), &["localhost"]);
        Certificates::open(&source).expect("made");
        let key = folder.path().join(KEY_NAME);
        let mode = |path: &Path| std::fs::metadata(path).expect("file").permissions().mode();
        assert_eq!(mode(&key) & 0o777, 0o600);
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&key, open).expect("changed");
        let error = Certificates::open(&source)
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains("mode 644") && error.contains("chmod 600"),
            "{error}"
        );
    }

    #[test]
    fn wrong_files_are_named_and_never_replace_the_pair_in_use() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |name: &str| folder.path().join(name);
        Certificates::open(&generated(&at("one"), &["localhost"])).expect("made");
        Certificates::open(&generated(&at("two"), &["localhost"])).expect("made");
        let copy = |from: &str, name: &str| {
            std::fs::copy(at(from).join(name), at(name)).expect("copied");
        };
        copy("one", CERTIFICATE_NAME);
        copy("one", KEY_NAME);
        let source = CertificateSource::Files {
            certificate: at(CERTIFICATE_NAME),
            key: at(KEY_NAME),
        };
        let open = Certificates::open(&source).expect("a pair");
        let fingerprint = open.fingerprint();
        assert!(!open.reload().expect("unchanged"));
        copy("two", CERTIFICATE_NAME);
        let error = open.reload().expect_err("the key does not fit").to_string();
        assert!(error.contains(KEY_NAME), "{error}");
        assert_eq!(open.fingerprint(), fingerprint);
        copy("two", KEY_NAME);
        assert!(open.reload().expect("a pair again"));
        assert_ne!(open.fingerprint(), fingerprint);

        for (name, text, part) in [
            (CERTIFICATE_NAME, "nothing", "no certificate"),
            (KEY_NAME, "nothing", "no private key"),
        ] {
            copy("two", CERTIFICATE_NAME);
            copy("two", KEY_NAME);
            std::fs::write(at(name), text).expect("written");
            let error = Certificates::open(&source).expect_err(part).to_string();
            assert!(error.contains(part) && error.contains(name), "{error}");
        }
        let missing = CertificateSource::Files {
            certificate: at("missing.pem"),
            key: at(KEY_NAME),
        };
        let error = Certificates::open(&missing)
            .expect_err("missing")
            .to_string();
        assert!(
            error.contains("missing.pem") && error.contains("tls.certFile"),
            "{error}"
        );
    }

    #[test]
    fn a_name_that_no_certificate_can_carry_is_named() {
        let folder = tempfile::tempdir().expect("folder");
        let error = Certificates::open(&generated(folder.path(), &["grün"]))
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains("grün") && error.contains("allowedHosts"),
            "{error}"
        );
    }
}
