//! One YAML file configures the bridge.
//!
//! - [`keys`]: the table of all keys with kind, default and meaning; `init` and the loader both use it.
//! - [`load`]: file and environment → checked settings; unknown keys are refused with their line.
//! - `tree`: the text, each value read as its key wants it.
//! - [`policy`]: what tools may do, changeable while the bridge runs.
//! - [`writes`]: what people may change on the station.
//! - [`camber`]: what callers may see of stored trends.
//! - [`watch`]: notices that the file changed.
//! - [`template`]: the commented file that `init` writes.

pub mod camber;
pub mod keys;
pub mod load;
pub mod policy;
pub mod template;
mod tree;
pub mod writes;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use crate::mcp::http::certificate::CertificateSource;
use crate::mcp::http::checks::InboundLimits;
use crate::mcp::http::health::RequiredService;
use crate::mcp::protocol::Revision;
pub use crate::secrecy::Secret;
use crate::station::fox::FoxTarget;
use crate::station::http::{HttpLimits, Trust};
use crate::station::web::LoginScheme;
use crate::tools::ToolSets;
use camber::CamberRules;
use load::{ConfigError, Settings};
use writes::WriteRules;

/// Shortest accepted `apiToken`, in characters: it stands for the whole service account.
pub const TOKEN_LENGTH: usize = 32;

/// The history cap that no setting can lift (Tool surface §6).
const HISTORY_CAP: i64 = 10_000;

/// How to reach the station and as whom.
#[derive(Debug, Clone)]
pub struct StationConfig {
    pub url: Url,
    pub user: String,
    pub password: Secret,
    pub scheme: LoginScheme,
    pub trust: Trust,
    /// Zone of the station's wall clock; none = ask the station.
    pub time_zone: Option<chrono_tz::Tz>,
    /// Fox port of the station; none = not asked.
    pub fox: Option<FoxTarget>,
    pub limits: HttpLimits,
    /// Pause after a failed login.
    pub latch: Duration,
}

/// Everything the bridge was told.
#[derive(Debug, Clone)]
pub struct Config {
    pub enabled: bool,
    pub show_log: bool,
    pub listen: SocketAddr,
    pub base_path: String,
    pub data_dir: PathBuf,
    pub api_token: Option<Secret>,
    /// None serves plain HTTP.
    pub tls: Option<CertificateSource>,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub required_services: Vec<RequiredService>,
    pub session_idle: Duration,
    pub sse_heartbeat: Duration,
    pub sse_enabled: bool,
    pub streamable_enabled: bool,
    pub fixed_revision: Option<Revision>,
    pub disabled_tools: String,
    pub toolsets: ToolSets,
    pub enable_test_setup: bool,
    pub max_history_records: usize,
    /// None looks for the key in the environment.
    pub vault_key_file: Option<PathBuf>,
    pub user_idle: Duration,
    pub user_sessions: usize,
    /// `identity.stationTokenTags`: tags of the station's users count as well.
    pub station_token_tags: bool,
    pub test_setup_time: Duration,
    pub knowledge_file: PathBuf,
    pub knowledge_auto_backup: bool,
    pub knowledge_backup_count: usize,
    pub knowledge_read_only: bool,
    /// None when `station.url` is not set.
    pub station: Option<StationConfig>,
    pub writes: WriteRules,
    pub inbound: InboundLimits,
    pub body_limit: usize,
    pub facility_id: Option<String>,
    /// Pause between two readings of histories into the trend store; zero = none by itself.
    pub ingest_every: Duration,
    /// How many days back they are read.
    pub ingest_days: u32,
    pub camber: CamberRules,
    pub log_format: LogFormat,
    pub log_level: String,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

impl Config {
    /// Builds the configuration from checked settings.
    ///
    /// # Errors
    /// A value that is well-formed but makes no sense, or two settings that exclude each other.
    pub fn from_settings(settings: &Settings) -> Result<Self, ConfigError> {
        let listen = listen(settings)?;
        let data_dir = match settings.text("dataDir") {
            Some(folder) => PathBuf::from(folder),
            None => default_data_dir(),
        };
        let tls = tls(settings, listen, &data_dir)?;
        refuse_plain_network(settings, listen, tls.is_some())?;
        Ok(Self {
            enabled: settings.flag("enabled"),
            show_log: settings.flag("showLog"),
            listen,
            base_path: base_path(settings)?,
            api_token: api_token(settings)?,
            tls,
            allowed_hosts: settings.list("allowedHosts"),
            allowed_origins: settings.list("allowedOrigins"),
            required_services: required_services(settings)?,
            session_idle: settings.seconds("mcpSessionIdleTimeoutSec"),
            sse_heartbeat: settings.seconds("sseHeartbeatSec"),
            sse_enabled: settings.flag("sseEnabled"),
            streamable_enabled: settings.flag("streamableEnabled"),
            fixed_revision: settings
                .text("mcpProtocolVersion")
                .and_then(Revision::from_name),
            disabled_tools: settings
                .text("disabledTools")
                .unwrap_or_default()
                .to_owned(),
            toolsets: ToolSets::parse(&settings.list("toolsets").join(",")).map_err(|name| {
                settings.wrong("toolsets", format!("there is no tool set '{name}'"))
            })?,
            enable_test_setup: settings.flag("enableTestSetup"),
            max_history_records: history_cap(settings),
            vault_key_file: settings.text("identity.vaultKeyFile").map(PathBuf::from),
            user_idle: settings.seconds("identity.idleLogoutSec"),
            user_sessions: settings.count("identity.maxSessions"),
            station_token_tags: settings.flag("identity.stationTokenTags"),
            test_setup_time: settings.seconds("identity.testSetupMinutes") * 60,
            knowledge_file: match settings.text("knowledgeFilePath") {
                Some(path) => PathBuf::from(path),
                None => data_dir.join("knowledge.yaml"),
            },
            knowledge_auto_backup: settings.flag("knowledgeAutoBackup"),
            knowledge_backup_count: settings.count("knowledgeBackupCount"),
            knowledge_read_only: settings.flag("knowledge.readOnly"),
            station: station(settings)?,
            writes: WriteRules::read(settings)?,
            inbound: InboundLimits {
                per_principal: settings.count("limits.inboundPerPrincipal") as u32,
                per_address: settings.count("limits.inboundPerAddress") as u32,
            },
            body_limit: settings.count("limits.bodyMiB") * 1024 * 1024,
            facility_id: settings.text("trends.facilityId").map(str::to_owned),
            ingest_every: settings.seconds("trends.ingestMinutes") * 60,
            ingest_days: settings.count("trends.ingestDays") as u32,
            camber: CamberRules::read(settings)?,
            log_format: if settings.text("log.format") == Some("json") {
                LogFormat::Json
            } else {
                LogFormat::Text
            },
            log_level: settings.text("log.level").unwrap_or("info").to_owned(),
            data_dir,
        })
    }
}

fn listen(settings: &Settings) -> Result<SocketAddr, ConfigError> {
    let text = settings.text("listen").unwrap_or_default();
    let address: SocketAddr = text
        .replace("localhost:", "127.0.0.1:")
        .parse()
        .map_err(|_| {
            settings.wrong(
                "listen",
                format!("'{text}' is not an address such as 127.0.0.1:8723"),
            )
        })?;
    Ok(address)
}

fn refuse_plain_network(
    settings: &Settings,
    listen: SocketAddr,
    encrypted: bool,
) -> Result<(), ConfigError> {
    if listen.ip().is_loopback() || encrypted || settings.flag("allowPlainHttp") {
        return Ok(());
    }
    Err(settings.wrong(
        "listen",
        format!(
            "{listen} can be reached from other machines, and tokens would cross the network unencrypted; \
             fill in the block tls (tls.generate: true makes a certificate), listen on 127.0.0.1, \
             or set allowPlainHttp: true on a trusted network"
        ),
    ))
}

fn tls(
    settings: &Settings,
    listen: SocketAddr,
    data_dir: &Path,
) -> Result<Option<CertificateSource>, ConfigError> {
    let file = |key: &str| settings.text(key).map(PathBuf::from);
    let generate = settings.flag("tls.generate");
    match (file("tls.certFile"), file("tls.keyFile")) {
        (None, None) if generate => Ok(Some(CertificateSource::Generated {
            folder: data_dir.to_owned(),
            names: certificate_names(listen, &settings.list("allowedHosts")),
        })),
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) if !generate => {
            Ok(Some(CertificateSource::Files { certificate, key }))
        }
        (Some(_), Some(_)) => Err(settings.wrong(
            "tls.generate",
            "set either tls.generate or tls.certFile and tls.keyFile".to_owned(),
        )),
        (certificate, _) => {
            let (given, missing) = if certificate.is_some() {
                ("tls.certFile", "tls.keyFile")
            } else {
                ("tls.keyFile", "tls.certFile")
            };
            Err(settings.wrong(given, format!("{missing} is missing beside it")))
        }
    }
}

/// Names that clients may write into the address: the listening address, this machine, the allowed hosts.
fn certificate_names(listen: SocketAddr, allowed_hosts: &[String]) -> Vec<String> {
    let mut names = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    let host = (!listen.ip().is_unspecified()).then(|| listen.ip().to_string());
    let allowed = allowed_hosts.iter().map(|host| bare_host(host));
    for name in host.into_iter().chain(allowed) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A host without port and brackets.
fn bare_host(host: &str) -> String {
    if let Some(inner) = host.strip_prefix('[') {
        return inner.split(']').next().unwrap_or(inner).to_lowercase();
    }
    let name = match host.split_once(':') {
        Some((name, port)) if !port.contains(':') => name,
        _ => host,
    };
    name.to_lowercase()
}

fn base_path(settings: &Settings) -> Result<String, ConfigError> {
    let path = settings.text("basePath").unwrap_or_default();
    let path = path.trim_matches('/');
    // RFC 3986 §2.3: characters that mean themselves in every URL.
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-._~".contains(sign);
    let usable = |segment: &str| {
        !segment.is_empty() && segment.chars().all(plain) && segment.chars().any(|sign| sign != '.')
    };
    if path.is_empty() || path.split('/').all(usable) {
        return Ok(path.to_owned());
    }
    Err(settings.wrong(
        "basePath",
        format!("'{path}' must be names of letters, digits, '-', '.', '_' and '~' between slashes, such as niagaramcp or site/niagara"),
    ))
}

fn api_token(settings: &Settings) -> Result<Option<Secret>, ConfigError> {
    let Some(token) = settings.secret("apiToken")? else {
        return Ok(None);
    };
    check_token(&token).map_err(|problem| settings.wrong("apiToken", problem))?;
    Ok(Some(token))
}

/// Refuses a token that could be guessed.
///
/// # Errors
/// What is wrong with it, without the token.
pub fn check_token(token: &Secret) -> Result<(), String> {
    let length = token.expose().chars().count();
    if length < TOKEN_LENGTH {
        return Err(format!(
            "the token has {length} characters and needs {TOKEN_LENGTH} or more; `niagara-bridge init FILE` makes one"
        ));
    }
    if token
        .expose()
        .chars()
        .any(|sign| sign.is_whitespace() || sign.is_control())
    {
        return Err("the token must not contain blanks or control characters".to_owned());
    }
    Ok(())
}

fn required_services(settings: &Settings) -> Result<Vec<RequiredService>, ConfigError> {
    let services = settings.list("requiredServices");
    services
        .iter()
        .map(|name| match name.as_str() {
            "alarm" => Ok(RequiredService::Alarm),
            "history" => Ok(RequiredService::History),
            other => Err(settings.wrong(
                "requiredServices",
                format!("'{other}' is neither alarm nor history"),
            )),
        })
        .collect()
}

fn history_cap(settings: &Settings) -> usize {
    let wanted = settings.whole("maxHistoryRecordsPerQuery");
    let cap = if wanted < 1 {
        HISTORY_CAP
    } else {
        wanted.min(HISTORY_CAP)
    };
    usize::try_from(cap).unwrap_or(1)
}

fn station(settings: &Settings) -> Result<Option<StationConfig>, ConfigError> {
    let Some(text) = settings.text("station.url") else {
        return Ok(None);
    };
    let url = Url::parse(text)
        .ok()
        .filter(|url| ["http", "https"].contains(&url.scheme()) && url.host().is_some())
        .ok_or_else(|| {
            settings.wrong(
                "station.url",
                format!("'{text}' is not an address such as https://station.example"),
            )
        })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(settings.wrong(
            "station.url",
            "write the account into station.user and station.password".to_owned(),
        ));
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(settings.wrong(
            "station.url",
            format!(
                "'{text}' must end behind the host and port, such as {}: the bridge knows the paths of a station",
                url.origin().ascii_serialization()
            ),
        ));
    }
    let user = settings.text("station.user").ok_or_else(|| {
        settings.wrong(
            "station.user",
            "the station's service account is missing".to_owned(),
        )
    })?;
    let password = settings.secret("station.password")?.ok_or_else(|| {
        settings.wrong(
            "station.password",
            "set it, or station.passwordFile".to_owned(),
        )
    })?;
    Ok(Some(StationConfig {
        url,
        user: user.to_owned(),
        password,
        scheme: match settings.text("station.scheme") {
            Some("header-scram") => LoginScheme::HeaderScram,
            Some("basic") => LoginScheme::Basic,
            _ => LoginScheme::FormScram,
        },
        trust: trust(settings)?,
        time_zone: settings
            .text("station.timeZone")
            .map(|name| {
                name.parse().map_err(|_| {
                    settings.wrong(
                        "station.timeZone",
                        format!("'{name}' is no zone name such as America/New_York"),
                    )
                })
            })
            .transpose()?,
        fox: settings
            .text("station.fox")
            .map(|target| {
                target
                    .parse::<FoxTarget>()
                    .map_err(|error| settings.wrong("station.fox", error.to_string()))
            })
            .transpose()?,
        limits: HttpLimits {
            in_flight: settings.count("limits.inFlight"),
            requests_per_second: settings.count("limits.requestsPerSecond") as u32,
            ..HttpLimits::default()
        },
        latch: settings.seconds("limits.latchSec"),
    }))
}

fn trust(settings: &Settings) -> Result<Trust, ConfigError> {
    let file = settings.text("station.tls.caFile");
    let pin = settings.text("station.tls.fingerprint");
    let insecure = settings.flag("station.tls.insecure");
    match (file, pin, insecure) {
        (None, None, false) => Ok(Trust::System),
        (Some(file), None, false) => Ok(Trust::CaFile(PathBuf::from(file))),
        (None, Some(pin), false) => Trust::pinned(pin)
            .map_err(|error| settings.wrong("station.tls.fingerprint", error.to_string())),
        (None, None, true) => Ok(Trust::Insecure),
        _ => Err(settings.wrong(
            "station",
            "set only one of caFile, fingerprint and insecure".to_owned(),
        )),
    }
}

/// The folder for data when none is configured: the user's own data folder.
pub fn default_data_dir() -> PathBuf {
    directories::ProjectDirs::from("", "", "niagara-bridge").map_or_else(
        || PathBuf::from("niagara-bridge-data"),
        |places| places.data_local_dir().to_owned(),
    )
}

#[cfg(test)]
#[path = "config/tests.rs"]
mod tests;
