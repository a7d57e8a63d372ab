//! What can be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use clap::{Args, Parser, Subcommand, ValueEnum};
use url::Url;

use super::ingest::IngestArguments;
use super::report::ReportOptions;
use super::rules::RulesOptions;
use super::store::StoreOptions;
use super::trends::TrendsArguments;
use crate::station::fox::probe::{FOX_PORT, FOXS_PORT};

/// Lets MCP clients work with a Tridium Niagara station, from beside it.
#[derive(Debug, Parser)]
#[command(name = "niagara-bridge", version, about, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub logging: LogOptions,
}

/// How log lines look; overrides the configuration.
#[derive(Debug, Args)]
pub struct LogOptions {
    /// Form of log lines on standard error.
    #[arg(long, global = true, value_enum)]
    pub log_format: Option<LogFormat>,
    /// How much is logged.
    #[arg(long, global = true, value_enum)]
    pub log_level: Option<LogLevel>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a stand-in station and a bridge to it, and print how to connect.
    Demo(DemoOptions),
    /// Serve a station.
    Serve(ServeOptions),
    /// Let a client that speaks MCP on standard input and output use a bridge that runs already.
    Stdio(StdioOptions),
    /// Write a commented configuration file with a fresh token.
    Init(InitOptions),
    /// Bind station users to tokens of their own.
    User(UserOptions),
    /// Tell what a station offers, in words, and which settings fit it.
    Probe(ProbeOptions),
    /// Tell who changed what on the station, and whether the records are whole.
    Audit(AuditOptions),
    /// Look after the trends store: what it holds, whether it is whole, packing, pruning, removing.
    Store(StoreOptions),
    /// Read the histories of mapped points into the trends store.
    Ingest(IngestArguments),
    /// Write stored trends into files, or read files into the trends store.
    Trends(TrendsArguments),
    /// Answer one call of a capability over stored trends, or serve the capabilities alone.
    Camber(CamberOptions),
    /// Write the ranked issues of a facility as one HTML file for people.
    Report(ReportOptions),
    /// Tell what fault rules and drift detectors there are, and what each looks for, reads and can be told.
    Rules(RulesOptions),
    /// Write the tables of tools, resources, prompts, rules and metrics into the README.
    Docs(DocsOptions),
}

#[derive(Debug, Args)]
pub struct DemoOptions {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8723")]
    pub listen: SocketAddr,
    /// Bearer token, 32 characters or more; without it one is made up.
    #[arg(long, env = "NIAGARA_BRIDGE_DEMO_TOKEN", hide_env_values = true)]
    pub api_token: Option<String>,
    /// Folder to keep data in; without it a temporary one that is removed at the end.
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Open the tool setupTestUser, which binds tokens that callers on this machine choose.
    #[arg(long)]
    pub test_setup: bool,
}

#[derive(Debug, Args)]
pub struct ServeOptions {
    /// Configuration file; without it the usual places are looked at, then the environment alone.
    #[arg(long)]
    pub config: Option<PathBuf>,
    /// Speak MCP on standard input and output instead of HTTP.
    #[arg(long)]
    pub stdio: bool,
    /// Act as this bound user instead of the service account; the vault must keep the user's station password.
    #[arg(long = "as", value_name = "USER", requires = "stdio")]
    pub as_user: Option<String>,
}

#[derive(Debug, Args)]
pub struct StdioOptions {
    /// Address of the bridge's MCP endpoint, such as http://127.0.0.1:8723/niagaramcp/mcp.
    #[arg(long)]
    pub url: Url,
    /// Environment variable that holds the bearer token.
    #[arg(long, default_value = "NIAGARA_BRIDGE_TOKEN")]
    pub token_env: String,
    /// PEM file of the authority that signed the bridge's certificate.
    #[arg(long)]
    pub ca_file: Option<PathBuf>,
    /// SHA-256 fingerprint of the bridge's certificate, as the bridge prints it at its start.
    #[arg(long, conflicts_with = "ca_file")]
    pub fingerprint: Option<String>,
}

#[derive(Debug, Args)]
pub struct InitOptions {
    /// File to write; without it the configuration goes to standard output.
    pub file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct UserOptions {
    #[command(subcommand)]
    pub action: UserAction,
    /// Configuration file; without it the usual places are looked at, then the environment alone.
    #[arg(long, global = true)]
    pub config: Option<PathBuf>,
    /// File with the key of the vault; overrides identity.vaultKeyFile.
    #[arg(long, global = true)]
    pub vault_key_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum UserAction {
    /// Prove a user's station password by logging in, keep it in the vault, and make a token.
    Bind(BindOptions),
    /// Tell which users are bound.
    List,
    /// Make another token for a bound user.
    Rotate {
        /// Name of the station user.
        name: String,
        /// Minutes for which earlier tokens still work.
        #[arg(long, default_value_t = 60)]
        overlap_minutes: u32,
    },
    /// End all tokens of a user and forget the station password.
    Revoke {
        /// Name of the station user.
        name: String,
    },
    /// Log in once with the kept station password.
    Verify {
        /// Name of the station user.
        name: String,
    },
    /// Write a new key for the vault into a file that does not exist yet.
    Key {
        /// The file.
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct BindOptions {
    /// Name of the station user.
    pub name: String,
    /// File whose first line is the station password; without it the terminal is asked, or standard input read.
    #[arg(long)]
    pub password_file: Option<PathBuf>,
    /// Keep no station password: the token only reads, by the service account.
    #[arg(long, conflicts_with = "password_file")]
    pub no_password: bool,
    /// What the token may be used for: read, knowledge, write. Without it: all, or what the user had.
    #[arg(long, value_delimiter = ',')]
    pub rights: Vec<String>,
    /// Tool sets that the token opens. Without it: all.
    #[arg(long, value_delimiter = ',', requires = "rights")]
    pub toolsets: Vec<String>,
    /// Days after which the token stops working, 1 or more.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub expires_days: Option<u32>,
}

#[derive(Debug, Args)]
pub struct ProbeOptions {
    /// Address of the station, such as https://192.0.2.10 or station.example:8443; without http:// or https:// both
    /// are tried. fox:// and foxs:// name a Fox port.
    #[arg(value_name = "URL|HOST[:PORT]", required_unless_present = "config")]
    pub address: Option<String>,
    /// Port of plain Fox.
    #[arg(long, default_value_t = FOX_PORT)]
    pub fox_port: u16,
    /// Port of Fox over TLS.
    #[arg(long, default_value_t = FOXS_PORT)]
    pub foxs_port: u16,
    /// Leave the Fox ports alone.
    #[arg(long)]
    pub no_fox: bool,
    /// Station account to log in with, once; the password comes from --password-file or --password-env.
    #[arg(long)]
    pub user: Option<String>,
    /// File that holds its password.
    #[arg(long, requires = "user")]
    pub password_file: Option<PathBuf>,
    /// Environment variable that holds its password.
    #[arg(long, default_value = "NIAGARA_STATION_PASSWORD")]
    pub password_env: String,
    /// How the account logs in; other ways are not tried.
    #[arg(long, value_enum, default_value_t = ProbeScheme::FormScram)]
    pub scheme: ProbeScheme,
    /// Configuration file of the bridge: its station, account and certificate settings are used.
    #[arg(long)]
    pub config: Option<PathBuf>,
    /// SHA-256 fingerprint of the station's certificate.
    #[arg(long)]
    pub fingerprint: Option<String>,
    /// PEM file of the authority that signed the station's certificate.
    #[arg(long, conflicts_with = "fingerprint")]
    pub ca_file: Option<PathBuf>,
}

/// The ways to log in, as `station.scheme` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProbeScheme {
    FormScram,
    HeaderScram,
    Basic,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct CamberOptions {
    #[command(subcommand)]
    pub command: Option<CamberCommand>,
    #[command(flatten)]
    pub call: Option<CamberCall>,
}

#[derive(Debug, Subcommand)]
pub enum CamberCommand {
    /// Write a run configuration of a facility out of the site's model: classes, weather, who serves whom.
    InitConfig(InitConfigOptions),
}

#[derive(Debug, Args)]
pub struct InitConfigOptions {
    /// Facility in the trend store.
    #[arg(long, value_name = "ID")]
    pub facility: String,
    /// Knowledge file of the site.
    #[arg(long, value_name = "FILE", default_value = "knowledge.yaml")]
    pub knowledge: PathBuf,
    /// Folder of the trend store that has the facility; the folder trends beside the knowledge file when there is one.
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// File to write; without it standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// One capability call, or the capabilities alone.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("allowance").required(true).args(["allow", "allow_all_active"])))]
pub struct CamberCall {
    /// Name of the capability, such as coverage.
    #[arg(required_unless_present = "stdio", conflicts_with = "stdio")]
    pub capability: Option<String>,
    /// Its arguments as JSON.
    #[arg(value_name = "JSON", conflicts_with = "stdio")]
    pub arguments: Option<String>,
    /// Folder of the trend store, or of a portfolio workspace.
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// Facility that may be shown; may be given several times.
    #[arg(long, value_name = "ID")]
    pub allow: Vec<String>,
    /// Every facility of the store that is active now.
    #[arg(long)]
    pub allow_all_active: bool,
    /// Run configuration of one facility; may be given several times.
    #[arg(long, alias = "config", value_name = "FILE")]
    pub run_config: Vec<PathBuf>,
    /// Lowest trust score of a sensor that an analysis may rest on, 0 to 1.
    #[arg(long, value_name = "X", default_value_t = 0.5, value_parser = share)]
    pub min_trust: f64,
    /// Speak MCP on standard input and output instead of answering one call.
    #[arg(long)]
    pub stdio: bool,
}

/// A number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("'{text}' is no number from 0 to 1"))
}

#[derive(Debug, Args)]
pub struct AuditOptions {
    #[command(subcommand)]
    pub command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Show the last writes.
    Tail {
        #[command(flatten)]
        place: AuditPlace,
        #[command(flatten)]
        filter: AuditFilter,
        /// How many.
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: usize,
    },
    /// Check every byte of the journal and of the log; exit code 1 when something was changed or is missing.
    Verify {
        #[command(flatten)]
        place: AuditPlace,
        /// Earlier files of the journal are kept elsewhere: check those that are there.
        #[arg(long)]
        archived: bool,
    },
    /// Write all recorded writes as JSON lines or CSV.
    Export {
        #[command(flatten)]
        place: AuditPlace,
        #[command(flatten)]
        filter: AuditFilter,
        #[arg(long, value_enum, default_value_t = AuditFormat::Json)]
        format: AuditFormat,
        /// File to write; without it standard output.
        #[arg(long)]
        output: Option<PathBuf>,
    },
}

/// Where the audit files are.
#[derive(Debug, Args)]
pub struct AuditPlace {
    /// Data folder of the bridge.
    #[arg(long, conflicts_with = "config")]
    pub data_dir: Option<PathBuf>,
    /// Configuration file that names the data folder; without both the usual places are looked at.
    #[arg(long)]
    pub config: Option<PathBuf>,
}

/// Which writes are told.
#[derive(Debug, Args)]
pub struct AuditFilter {
    /// Only those of this user; `service` for those with apiToken.
    #[arg(long)]
    pub user: Option<String>,
    /// Only those by this tool.
    #[arg(long)]
    pub tool: Option<String>,
    /// Only those whose ord contains this text.
    #[arg(long)]
    pub ord: Option<String>,
    /// Only those since then: 2026-03-08, 2026-03-08T07:00:00Z, or 90m, 24h, 7d ago.
    #[arg(long, value_parser = since)]
    pub since: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    Json,
    Csv,
}

/// A time as people type it; days begin at midnight UTC, as the records are in UTC.
fn since(text: &str) -> Result<DateTime<Utc>, String> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.to_utc());
    }
    if let Ok(day) = text.parse::<NaiveDate>() {
        return Ok(day.and_time(NaiveTime::MIN).and_utc());
    }
    let ago = || {
        let number = text.strip_suffix(['m', 'h', 'd'])?.parse::<u32>().ok()?;
        let seconds = match text.chars().last()? {
            'm' => 60,
            'h' => 3600,
            _ => 86_400,
        };
        let ago = TimeDelta::try_seconds(i64::from(number) * seconds)?;
        Utc::now().checked_sub_signed(ago)
    };
    ago().ok_or_else(|| {
        "write a day as 2026-03-08, a time as 2026-03-08T07:00:00Z, or how long ago as 90m, 24h, 7d"
            .to_owned()
    })
}

#[derive(Debug, Args)]
pub struct DocsOptions {
    /// The file that holds the tables.
    #[arg(default_value = "README.md")]
    pub file: PathBuf,
    /// Only tell whether the tables are up to date; exit code 1 if not.
    #[arg(long)]
    pub check: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_fit_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_are_taken_as_people_type_them() {
        let time = |text| since(text).map(|time| time.to_rfc3339());
        assert_eq!(
            time("2026-03-08").as_deref(),
            Ok("2026-03-08T00:00:00+00:00")
        );
        assert_eq!(
            time("2026-03-08T07:00:00+01:00").as_deref(),
            Ok("2026-03-08T06:00:00+00:00")
        );
        let day_ago = since("24h").unwrap();
        assert_eq!(
            since("1d")
                .unwrap()
                .signed_duration_since(day_ago)
                .num_minutes(),
            0
        );
        for wrong in ["", "h", "-1h", "yesterday", "5y", "4294967296d"] {
            assert!(since(wrong).unwrap_err().contains("24h"), "{wrong}");
        }
    }
}
