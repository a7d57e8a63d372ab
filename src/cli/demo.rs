//! `demo`: a stand-in station and a bridge to it, ready to be connected to.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use chrono::{DateTime, Datelike, Months, NaiveDate, TimeDelta, Utc};
use mock_station::clock::{StationClock, SystemClock};
use mock_station::model::{SharedStation, accounts};
use mock_station::server::MockStation;
use mock_station::site::{Harborview, SiteOptions};
use zeroize::Zeroizing;

use super::arguments::{DemoOptions, LogOptions};
use super::assembly::assemble;
use super::data_folder::DataFolder;
use super::ingest_schedule::IngestSchedule;
use super::init::mint_token;
use super::knowledge_lock::take_knowledge_file;
use super::serve::{resume_audit, start_http};
use super::shutdown::{self, Ending};
use super::{logging, output};
use crate::config::load::Settings;
use crate::config::{Config, LogFormat, Secret, check_token};
use crate::durable_file::Staged;
use crate::identity::{Identities, Vault, VaultKey, vault_file};
use crate::knowledge::{DocumentFormat, KnowledgeState, KnowledgeStore, demo_model};

/// The environment variable that the printed stdio configuration uses.
const TOKEN_VARIABLE: &str = "NIAGARA_BRIDGE_TOKEN";

/// Days of trends that are read first: a season is there within a minute, the year follows.
const RECENT_DAYS: u32 = 90;

/// Runs the demo until it is ended.
///
/// # Errors
/// The station or the bridge cannot start.
pub async fn run(options: DemoOptions, log: &LogOptions) -> anyhow::Result<Ending> {
    let _level = logging::start(log, LogFormat::Text, "warn");
    let token = match options.api_token {
        Some(token) => Zeroizing::new(token),
        None => mint_token()?,
    };
    if let Err(problem) = check_token(&Secret::new(token.as_str())) {
        bail!("--api-token is not usable: {problem}");
    }
    let temporary = match &options.data_dir {
        Some(_) => None,
        None => Some(
            tempfile::Builder::new()
                .prefix("niagara-bridge-demo-")
                .tempdir()
                .context("no temporary folder can be made")?,
        ),
    };
    let data_dir = match (&options.data_dir, &temporary) {
        (Some(folder), _) => folder.as_path(),
        (None, Some(folder)) => folder.path(),
        (None, None) => Path::new("."),
    };
    let folder = DataFolder::take(data_dir)?;
    let station = start_station()
        .await
        .context("the stand-in station cannot start")?;
    let run_config = take_run_config(folder.path(), SystemClock::new().now())?;
    let mut config = demo_config(
        &station.url(),
        &token,
        folder.path(),
        &run_config,
        options.test_setup,
    )?;
    config.listen = options.listen;
    config.enable_test_setup = options.test_setup;
    let users = bound_users(&mut config)?;
    let _knowledge = take_knowledge_file(&config.knowledge_file, folder.path())?;
    let mapped = mapped_site(&config.knowledge_file)?;
    let (stop, watcher) = shutdown::watch();
    let assembly = assemble(&config)?;
    resume_audit(&assembly);
    let schedule = IngestSchedule::of(&config, &assembly)?;
    let (server, end) = start_http(assembly, &config, stop.clone()).await?;
    let greeting = greeting(&server.endpoint(), &station.url(), &token, &users, &mapped);
    output::print(&greeting)?;
    let schedule = schedule.map(|schedule| schedule.aloud(RECENT_DAYS).start(&stop));
    server.wait().await;
    if let Some(schedule) = schedule {
        schedule.end().await;
    }
    let ending = watcher.await.unwrap_or(Ending::Finished);
    end.close().await;
    station.shutdown().await;
    output::say("The demo has ended.");
    Ok(ending)
}

async fn start_station() -> anyhow::Result<MockStation> {
    let clock: Arc<dyn StationClock> = Arc::new(SystemClock::new());
    let now = clock.now();
    let site =
        tokio::task::spawn_blocking(move || Harborview::build(SiteOptions::at(now))).await??;
    Ok(MockStation::builder()
        .station(SharedStation::new(site.station, clock))
        .start()
        .await?)
}

/// The run configuration of the demo site: what `camber init-config` makes of its model, and windows of its history.
pub const RUN_CONFIG: &str = include_str!("../../knowledge/harborview-run.yaml");

/// The month in which a station is started whose history [`RUN_CONFIG`] has its dates of, counted from the year 0.
const MONTH_OF_RUN_CONFIG: i32 = 2026 * 12 + 11;

/// What the supply-air sensor of AHU-3 did at its fan (FAULTS.md, fault 3), with the dates of [`RUN_CONFIG`]: while it read too
/// warm, the boxes took less of the air that was too cold, so that the saving since it was recalibrated is below zero.
pub const FAN_PROJECT: &str = r#"# The supply-air sensor of ahu-3 read too warm in the period, until it was recalibrated: its boxes took less of air that was
# too cold, and since then its fan moves more of it again, a saving below zero. (Heat was wasted at the boxes instead.)
- class: AHU
  role: power
  units: kW
  model: cp_driver
  drivers: [weekday]
  method: forecast
  kernel: exact
  period: ["2026-04-01", "2026-07-31"]
  reporting_period: ["2026-08-01", "2026-09-30"]
"#;

/// Days of the demo station's history; those behind the baseline year are reported.
const HISTORY_DAYS: i64 = 400;
const BASELINE_DAYS: i64 = 365;

/// Makes sure that the demo has its run configuration; one from an earlier run is left as it is.
fn take_run_config(data_dir: &Path, now: DateTime<Utc>) -> anyhow::Result<PathBuf> {
    let file = data_dir.join("harborview-run.yaml");
    if !file.exists() {
        let fans = dated(FAN_PROJECT, now);
        write_whole(
            &file,
            &with_savings(&run_config(now), &fans, now.date_naive()),
        )?;
    }
    Ok(file)
}

/// The run configuration whose meters have a baseline year and the days behind it, in kBtu, and the project of the fans.
fn with_savings(config: &str, fans: &str, today: NaiveDate) -> String {
    let before = |days: i64| today - TimeDelta::days(days);
    let (first, last) = (before(HISTORY_DAYS - 1), before(1));
    let year_end = first + TimeDelta::days(BASELINE_DAYS - 1);
    let reporting = year_end + TimeDelta::days(1);
    config.replace(
        "mv:\n- class: Meter\n  role: power\n",
        &format!(
            "units: ip\nmv:\n- class: Meter\n  role: power\n  units: kW\n  model: cp_driver\n  drivers: [weekday]\n\
             \x20 method: forecast\n  kernel: exact\n\
             \x20 period: ['{first}', '{year_end}']\n  reporting_period: ['{reporting}', '{last}']\n{fans}"
        ),
    )
}

/// The run configuration of a station that is started now: its dates are moved by whole months, as the planted faults are.
pub fn run_config(now: DateTime<Utc>) -> String {
    dated(RUN_CONFIG, now)
}

/// A text whose dates are those of a station that is started now.
fn dated(text: &str, now: DateTime<Utc>) -> String {
    let local = now.with_timezone(&chrono_tz::America::New_York);
    let month = local.year() * 12 + i32::try_from(local.month()).unwrap_or_default();
    let later = month - MONTH_OF_RUN_CONFIG;
    // Only quoted texts are dates.
    let parts = text.split('"').map(|part| moved(part, later));
    parts.collect::<Vec<_>>().join("\"")
}

/// A date so many months later; any other text as it is.
fn moved(text: &str, months: i32) -> Cow<'_, str> {
    let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") else {
        return Cow::Borrowed(text);
    };
    let by = Months::new(months.unsigned_abs());
    let moved = match months < 0 {
        true => date.checked_sub_months(by),
        false => date.checked_add_months(by),
    };
    moved.map_or(Cow::Borrowed(text), |date| Cow::Owned(date.to_string()))
}

fn write_whole(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut staged = Staged::create(file.with_extension("yaml.new"), file.to_owned())?;
    staged.fill(text.as_bytes())?;
    staged.sync()?;
    staged.commit()?;
    Ok(())
}

/// The acceptance script of the in-station module removes in one step, so a test setup does not ask before.
fn demo_config(
    station: &str,
    token: &str,
    data_dir: &Path,
    run_config: &Path,
    test_setup: bool,
) -> anyhow::Result<Config> {
    let account = accounts::BRIDGE;
    let mut settings = Settings::empty("the demo".to_owned());
    let text = Zeroizing::new(
        serde_json::json!({
            "apiToken": token,
            "dataDir": data_dir,
            "station": { "url": station, "user": account.user, "password": account.password },
            "limits": { "requestsPerSecond": 0 },
            "writes": { "enabled": true, "confirmDestructive": !test_setup },
            "trends": { "ingestMinutes": 15 },
            "camber": { "allow": "all-active", "config": [run_config] },
        })
        .to_string(),
    );
    settings.read_text("the demo", &text)?;
    Ok(Config::from_settings(&settings)?)
}

/// A station user with a token of their own.
type BoundUser = (&'static str, Zeroizing<String>);

/// Binds the people of the demo site, as `niagara-bridge user bind` would; their tokens are made anew at each start.
fn bound_users(config: &mut Config) -> anyhow::Result<Vec<BoundUser>> {
    let key_file = config.data_dir.join("demo-vault.key");
    let key = match key_file.exists() {
        true => VaultKey::from_file(&key_file)?,
        false => VaultKey::make(&key_file)?,
    };
    let vault = Vault::open(vault_file(&config.data_dir), &key)?;
    let identities = Identities::new(&config.data_dir, crate::clock::SystemClock::shared());
    // Test setups bind the service account's user as well.
    let bridge = accounts::BRIDGE;
    vault.keep(bridge.user, &Secret::new(bridge.password))?;
    let mut users = Vec::new();
    for account in [accounts::ADMIN, accounts::OPERATOR, accounts::VIEWER] {
        vault.keep(account.user, &Secret::new(account.password))?;
        let token = mint_token()?;
        identities.grant(account.user, &token, None, None, Duration::ZERO)?;
        users.push((account.user, token));
    }
    config.vault_key_file = Some(key_file);
    Ok(users)
}

/// Makes sure that the demo has a knowledge file, and tells what it maps; one from an earlier run is left as it is.
fn mapped_site(file: &Path) -> anyhow::Result<String> {
    // A file that was lost is not replaced by the demo's own: what copies there are may hold a person's work.
    if matches!(
        KnowledgeStore::open(file).snapshot().state,
        KnowledgeState::Missing
    ) {
        let text = demo_model::harborview()?.to_text("the demo site", DocumentFormat::Yaml)?;
        write_whole(file, &text)?;
    }
    let snapshot = KnowledgeStore::open(file).snapshot();
    if let KnowledgeState::Unreadable(error) = &snapshot.state {
        return Ok(format!("The site's model cannot be used: {error}."));
    }
    let document = snapshot.model.document();
    let points: usize = document
        .equipment
        .iter()
        .map(|entry| entry.points.len())
        .sum();
    Ok(format!(
        "The site is mapped: {} pieces of equipment with {points} points, {} other points, {} spaces, {} equipment types.",
        document.equipment.len(),
        document.points.len(),
        document.spaces.len(),
        document.equipment_types.len(),
    ))
}

/// What to paste where.
fn greeting(
    endpoint: &str,
    station: &str,
    token: &str,
    users: &[BoundUser],
    mapped: &str,
) -> String {
    let program = std::env::current_exe().map_or_else(
        |_| "niagara-bridge".into(),
        |path| path.display().to_string(),
    );
    let http = serde_json::json!({ "mcpServers": { "niagara": {
        "type": "http", "url": endpoint, "headers": { "Authorization": format!("Bearer {token}") } } } });
    let stdio = serde_json::json!({ "mcpServers": { "niagara": {
        "command": program,
        "args": ["stdio", "--url", endpoint, "--token-env", TOKEN_VARIABLE],
        "env": { TOKEN_VARIABLE: token } } } });
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "The stand-in station Harborview runs at {station}, the bridge to it at"
    );
    let _ = writeln!(text, "\n  endpoint  {endpoint}\n  token     {token}\n");
    let _ = writeln!(
        text,
        "Tokens of people, each acting as that station user with that user's rights:\n"
    );
    for (user, token) in users {
        let _ = writeln!(text, "  {user:<9} {}", token.as_str());
    }
    let _ = writeln!(text, "\n{mapped}\n");
    let _ = writeln!(
        text,
        "Configuration for clients that speak HTTP:\n\n{http:#}\n"
    );
    let _ = writeln!(
        text,
        "Configuration for clients that start a program (stdio):\n\n{stdio:#}\n"
    );
    let _ = writeln!(text, "Ctrl-C ends both.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::validation::validate;

    #[test]
    fn the_meters_of_the_demo_have_a_baseline_year_and_the_days_since() {
        let folder = tempfile::tempdir().expect("folder");
        let today: DateTime<Utc> = "2026-05-10T15:00:00Z".parse().expect("a time");
        let file = take_run_config(folder.path(), today).expect("written");
        let read = crate::camber::run_config::RunConfigFile::read(&file).expect("a configuration");
        let entries = read.config.mv_entries().expect("entries");
        let terms = &entries[0].terms;
        let period = terms.period.expect("a baseline");
        let reporting = terms.reporting.expect("reporting days");
        assert_eq!(
            (period.to_string(), period.days()),
            ("2025-04-06..2026-04-05".to_owned(), 365)
        );
        assert_eq!(
            (reporting.to_string(), reporting.days()),
            ("2026-04-06..2026-05-09".to_owned(), 34)
        );
        let later = take_run_config(folder.path(), today + TimeDelta::days(9)).expect("kept");
        assert_eq!(
            crate::camber::run_config::RunConfigFile::read(&later).expect("a configuration"),
            read
        );
    }

    #[test]
    fn the_demo_starts_with_its_site_mapped_and_keeps_what_was_changed_since() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("knowledge.yaml");
        let said = mapped_site(&file).expect("written");
        assert!(
            said.starts_with("The site is mapped: 39 pieces of equipment with 537 points"),
            "{said}"
        );
        let snapshot = KnowledgeStore::open(&file).snapshot();
        assert!(snapshot.warnings.is_empty(), "{:?}", snapshot.warnings);
        assert_eq!(
            *snapshot.model.document(),
            demo_model::harborview().expect("readable")
        );
        let remarks: Vec<String> = validate(&snapshot.model)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(remarks.is_empty(), "{remarks:#?}");

        std::fs::write(
            &file,
            "equipment:\n- {id: mine, points: {oat: 'slot:/A'}}\n",
        )
        .expect("write");
        let said = mapped_site(&file).expect("left alone");
        assert!(
            said.contains("1 pieces of equipment with 1 points"),
            "{said}"
        );
        std::fs::write(&file, "equipment: 3").expect("write");
        let said = mapped_site(&file).expect("told");
        assert!(
            said.contains("cannot be used") && said.contains("not a list"),
            "{said}"
        );
    }

    #[test]
    fn the_run_configuration_has_the_dates_of_its_station() {
        let section = |now: &str| {
            let text = run_config(now.parse().expect("a time"));
            let folder = tempfile::tempdir().expect("folder");
            let file = folder.path().join("run.yaml");
            std::fs::write(&file, &text).expect("write");
            let read = crate::camber::run_config::RunConfigFile::read(&file).expect("readable");
            (text, read.config.drift.expect("a drift section"))
        };
        let (text, drift) = section("2026-11-30T22:00:00Z");
        assert_eq!(text, RUN_CONFIG);
        let current = drift.families[0].current.clone().expect("a window");
        assert_eq!(current.start.as_deref(), Some("2026-04-01"));
        // Still January on the wall clock of the site.
        let (_, earlier) = section("2026-02-01T03:00:00Z");
        let current = earlier.families[0].current.clone().expect("a window");
        assert_eq!(
            (current.start.as_deref(), current.end.as_deref()),
            (Some("2025-06-01"), Some("2025-10-01"))
        );
    }

    #[test]
    fn the_project_of_the_demo_is_read_with_the_dates_of_its_station() {
        let now: DateTime<Utc> = "2026-12-31T22:00:00Z".parse().expect("a time");
        let folder = tempfile::tempdir().expect("folder");
        let file = take_run_config(folder.path(), now).expect("written");
        let read = crate::camber::run_config::RunConfigFile::read(&file).expect("readable");
        let entries = read.config.mv_entries().expect("entries");
        assert_eq!(entries.len(), 2);
        let text = std::fs::read_to_string(&file).expect("text");
        assert!(text.contains("  reporting_period: [\"2026-09-01\", \"2026-10-30\"]"));
    }

    #[test]
    fn both_client_configurations_can_be_pasted() {
        let text = greeting(
            "http://127.0.0.1:1/niagaramcp/mcp",
            "http://127.0.0.1:2",
            "the-token",
            &[("operator", Zeroizing::new("her-token".into()))],
            "The site is mapped.",
        );
        assert!(text.contains("\n  operator  her-token\n"), "{text}");
        let blocks: Vec<serde_json::Value> = text
            .split("\n\n")
            .filter(|block| block.starts_with('{'))
            .map(|block| serde_json::from_str(block).expect("JSON"))
            .collect();
        assert_eq!(blocks.len(), 2);
        assert_eq!(
            blocks[0]["mcpServers"]["niagara"]["headers"]["Authorization"],
            "Bearer the-token"
        );
        let stdio = &blocks[1]["mcpServers"]["niagara"];
        assert_eq!(stdio["args"][2], "http://127.0.0.1:1/niagaramcp/mcp");
        assert_eq!(stdio["env"][TOKEN_VARIABLE], "the-token");
    }
}
