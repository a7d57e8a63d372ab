//! `serve`: the bridge of a configuration, over HTTP or over standard input and output.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::arguments::{LogOptions, ServeOptions};
use super::assembly::{Assembly, ServiceAccount, StationEnd, assemble_around};
use super::data_folder::DataFolder;
use super::ingest_schedule::IngestSchedule;
use super::knowledge_lock::take_knowledge_file;
use super::logging::{self, LogSwitch};
use super::reload::{Reload, log_level};
use super::shutdown::{self, Ending};
use crate::config::Config;
use crate::config::load::{ENVIRONMENT_PREFIX, Settings, read};
use crate::config::policy::SharedPolicy;
use crate::identity::IdentityError;
use crate::knowledge::KnowledgeStore;
use crate::mcp::bridge::Bridge;
use crate::mcp::http::certificate::{CertificateSource, Certificates};
use crate::mcp::http::{HttpServer, OpenSessions};
use crate::mcp::list_changes::follow_knowledge;
use crate::mcp::stdio;
use crate::tools::station_access::StationDirectory;
use crate::tools::{Principal, ToolSets};

/// Serves until the end is asked for.
///
/// # Errors
/// The configuration is wrong, the data folder is in use, or the address cannot be listened on.
pub async fn run(options: ServeOptions, log: &LogOptions) -> anyhow::Result<Ending> {
    let file = options.config.or_else(usual_place);
    let settings = read(file.as_deref(), environment())?;
    let config = Config::from_settings(&settings)?;
    let log = logging::start(log, config.log_format, log_level(&config));
    if let Some(file) = &file {
        let files = settings.files_with_secrets(file);
        files.iter().for_each(|file| warn_of_readers(file));
    }
    let account = ServiceAccount::of(&config)?;
    let _folder = DataFolder::take(&config.data_dir)?;
    let _knowledge = take_knowledge_file(&config.knowledge_file, &config.data_dir)?;
    let (stop, watcher) = shutdown::watch();
    // In the background: a wrong address or password shows in the log before the first call, and the login takes its time
    // while the rest is assembled.
    let greeting = account.greet();
    let farewell = account.farewell();
    let end = stop.clone();
    let greeting = tokio::spawn(async move { end.run_until_cancelled(greeting).await });
    let assembly = match assemble_around(account, &config) {
        Ok(assembly) => assembly,
        Err(error) => {
            // A service manager starts again and again: no session may stay behind each time.
            greeting.abort();
            farewell.await;
            return Err(error);
        }
    };
    resume_audit(&assembly);
    let schedule = IngestSchedule::of(&config, &assembly)?;
    let schedule = schedule.map(|schedule| schedule.start(&stop));
    let source = file.map(|file| Source {
        file,
        settings,
        log,
    });
    if options.stdio {
        let caller = match options.as_user {
            Some(name) => acting_user(&assembly, name)?,
            None => (Principal::Service, ToolSets::all()),
        };
        serve_stdio(assembly, caller, source, stop.clone()).await?;
    } else {
        serve_http(assembly, &config, source, stop.clone()).await?;
    }
    if let Some(schedule) = schedule {
        schedule.end().await;
    }
    if stop.is_cancelled() {
        return Ok(watcher.await.unwrap_or(Ending::Finished));
    }
    watcher.abort();
    Ok(Ending::Finished)
}

/// Gives an outcome to writes that an earlier process left without one. A bridge whose audit cannot be written serves
/// nevertheless: it reads, and refuses writes.
pub(super) fn resume_audit(assembly: &Assembly) {
    if let Err(error) = assembly.audit.resume() {
        tracing::error!(%error, "the audit cannot be written; writes to the station are refused until it can");
    }
}

/// Says so when other users of this machine can read a file with secrets.
#[cfg(unix)]
fn warn_of_readers(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    /// Permission of everybody to read.
    const OTHERS_READ: u32 = 0o004;
    match std::fs::metadata(file) {
        Ok(facts) if facts.permissions().mode() & OTHERS_READ != 0 => tracing::warn!(
            file = %file.display(),
            "every user of this machine can read this file, and it holds a secret; chmod 600 it and replace the secret"
        ),
        // A file that cannot be read is reported where it is read.
        Ok(_) | Err(_) => {}
    }
}

/// Windows: files inherit the access list of their folder, and that of a user's own folders excludes other users.
#[cfg(windows)]
fn warn_of_readers(_file: &Path) {}

/// The variables of this process that override the file.
pub(super) fn environment() -> Vec<(String, String)> {
    let own = std::env::vars_os().filter_map(|(name, value)| {
        let name = name
            .into_string()
            .ok()
            .filter(|name| name.starts_with(ENVIRONMENT_PREFIX))?;
        Some((name, value.to_string_lossy().into_owned()))
    });
    own.collect()
}

/// Where the configuration came from.
struct Source {
    file: PathBuf,
    settings: Settings,
    log: LogSwitch,
}

impl Source {
    /// Applies later changes of the file. A bridge whose file cannot be watched serves nevertheless.
    fn watch(
        self,
        bridge: Arc<Bridge>,
        policy: SharedPolicy,
        sessions: Option<OpenSessions>,
        stop: CancellationToken,
    ) {
        let path = self.file.clone();
        let reload = Reload {
            file: self.file,
            environment,
            settings: self.settings,
            bridge,
            policy,
            sessions,
            log: self.log,
        };
        if let Err(error) = reload.start(stop) {
            tracing::warn!(file = %path.display(), %error, "the configuration file cannot be watched; changes need a restart");
        }
    }
}

/// Takes up what other programs write into the knowledge file. A bridge that cannot watch it serves nevertheless.
fn watch_knowledge(knowledge: &Arc<KnowledgeStore>, stop: CancellationToken) {
    if let Err(error) = knowledge.watch(stop) {
        tracing::warn!(file = %knowledge.path().display(), %error, "the knowledge file cannot be watched; call reloadKnowledge after changing it by hand");
    }
}

/// The user of `--as`, with what that user may call.
fn acting_user(assembly: &Assembly, name: String) -> anyhow::Result<(Principal, ToolSets)> {
    let rights = assembly.identities.rights(&name)?;
    let rights = rights.ok_or_else(|| IdentityError::UnknownUser { name: name.clone() })?;
    let principal = Principal::User { name };
    let acting = assembly.station.users().may_change_station(&principal);
    acting.map_err(|reason| anyhow::anyhow!("--as {principal} is not possible: {reason}"))?;
    Ok((principal, rights.within(ToolSets::all())))
}

async fn serve_stdio(
    assembly: Assembly,
    (principal, toolsets): (Principal, ToolSets),
    source: Option<Source>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    if let Some(source) = source {
        let (bridge, policy) = (assembly.bridge.clone(), assembly.policy.clone());
        source.watch(bridge, policy, None, stop.clone());
    }
    watch_knowledge(&assembly.knowledge, stop.clone());
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let bridge = assembly.bridge.clone();
    follow_knowledge(bridge.clone(), &assembly.knowledge, stop.clone());
    assembly.station.users().keep_tidy(stop.clone());
    let outcome = stdio::serve(bridge, principal, toolsets, input, output, stop).await;
    assembly.station.close().await;
    outcome.context("the session ended by a fault")
}

async fn serve_http(
    assembly: Assembly,
    config: &Config,
    source: Option<Source>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    if config.api_token.is_none() {
        tracing::warn!(
            "apiToken is not set: only users' own tokens are accepted (`niagara-bridge user bind NAME`); \
             `niagara-bridge init FILE` makes one"
        );
    }
    let (bridge, policy) = (assembly.bridge.clone(), assembly.policy.clone());
    let (server, station) = start_http(assembly, config, stop.clone()).await?;
    if let Some(source) = source {
        source.watch(bridge, policy, Some(server.sessions()), stop);
    }
    tracing::info!(endpoint = %server.endpoint(), "serving");
    server.wait().await;
    station.close().await;
    Ok(())
}

/// Starts the HTTP front of an assembly.
///
/// # Errors
/// The address cannot be listened on.
pub async fn start_http(
    assembly: Assembly,
    config: &Config,
    stop: CancellationToken,
) -> anyhow::Result<(HttpServer, StationEnd)> {
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("{} cannot be listened on; is another bridge running? Choose another address (demo: --listen, serve: listen in the configuration)", config.listen))?;
    let Assembly {
        bridge,
        authenticator,
        health,
        mut http,
        station,
        knowledge,
        identities: _,
        policy: _,
        audit: _,
        capabilities: _,
    } = assembly;
    station.users().keep_tidy(stop.clone());
    follow_knowledge(bridge.clone(), &knowledge, stop.clone());
    watch_knowledge(&knowledge, stop.clone());
    if let Some(source) = &config.tls {
        http.tls = Some(open_certificate(source, &stop)?);
    }
    let server = HttpServer::start(bridge, authenticator, health, http, listener, stop).await?;
    Ok((server, station))
}

/// The bridge's certificate, read again when its files change.
fn open_certificate(
    source: &CertificateSource,
    stop: &CancellationToken,
) -> anyhow::Result<Arc<Certificates>> {
    let certificates = Arc::new(Certificates::open(source)?);
    if let Err(error) = certificates.watch(stop.clone()) {
        tracing::warn!(%error, "a new certificate will need a restart");
    }
    tracing::info!(
        fingerprint = %certificates.fingerprint(), file = %certificates.file().display(),
        "serving HTTPS; clients can pin this SHA-256 fingerprint or trust this certificate file"
    );
    Ok(certificates)
}

/// The configuration file of the user, else that of the service.
pub(super) fn usual_place() -> Option<PathBuf> {
    let own = directories::ProjectDirs::from("", "", "niagara-bridge")
        .map(|places| places.config_dir().join("config.yaml"));
    own.into_iter()
        .chain([service_place()])
        .find(|path| path.is_file())
}

#[cfg(not(windows))]
fn service_place() -> PathBuf {
    Path::new("/etc/niagara-bridge/config.yaml").to_owned()
}

#[cfg(windows)]
fn service_place() -> PathBuf {
    let data = std::env::var_os("ProgramData").unwrap_or_else(|| "C:\\ProgramData".into());
    Path::new(&data).join("niagara-bridge").join("config.yaml")
}
