//! Starts the stand-in station alone.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use clap::{Parser, ValueEnum};
use mock_station::clock::{StationClock, SystemClock};
use mock_station::fox::{FoxScenario, FoxSettings};
use mock_station::model::accounts;
use mock_station::server::MockStation;
use mock_station::site::{SiteName, SiteOptions};
use mock_station::switches::{OrdForms, Switches};

/// A stand-in Niagara 4 station for tests and demonstrations.
#[derive(Debug, Parser)]
#[command(name = "mock-station", version)]
struct Arguments {
    /// Address of the web service.
    #[arg(long, default_value = "127.0.0.1:8080")]
    http: SocketAddr,
    /// Also serve the web tier over TLS; without an address at 127.0.0.1:8443.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8443")]
    https: Option<SocketAddr>,
    /// Redirect plain requests to TLS.
    #[arg(long, requires = "https")]
    https_only: bool,
    /// Also answer Fox hellos; without an address at 127.0.0.1:1911.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:1911")]
    fox: Option<SocketAddr>,
    /// Also answer Fox hellos over TLS; without an address at 127.0.0.1:4911.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:4911")]
    foxs: Option<SocketAddr>,
    /// What the Fox ports do.
    #[arg(long, default_value = "n4", help = fox_help())]
    fox_scenario: FoxScenario,
    /// Also open the control port, which has no login; without an address at 127.0.0.1:8090.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8090")]
    control: Option<SocketAddr>,
    /// The station's time at start (RFC 3339); it runs on from there. Default: the machine's time.
    #[arg(long)]
    clock: Option<DateTime<Utc>>,
    /// Which demo site.
    #[arg(long, value_enum, default_value = "harborview")]
    site: SiteName,
    /// Days of history before the start.
    #[arg(long, default_value_t = 400)]
    days: u32,
    /// Points to reach by adding buildings to the demo site; 0 builds it alone.
    #[arg(long, default_value_t = 0)]
    points: usize,
    /// Seed of the simulation.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Lock accounts after five bad logins in 30 seconds.
    #[arg(long, value_enum, default_value = "on")]
    lockout: OnOff,
    /// BOX server sessions at once.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    box_sessions: usize,
    /// Ord URL forms that are accepted.
    #[arg(long, value_enum, default_value = "paths")]
    ord_forms: Forms,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnOff {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Forms {
    /// `/ord/…` with reserved characters encoded or literal.
    Paths,
    /// Also `/ord?…`, as third-party clients use it.
    All,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env()
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn")),
        )
        .init();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    match runtime.block_on(run(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error.as_ref()),
    }
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("mock-station: {error}");
    ExitCode::FAILURE
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let clock: Arc<dyn StationClock> = match arguments.clock {
        Some(start) => Arc::new(SystemClock::starting_at(start)),
        None => Arc::new(SystemClock::new()),
    };
    let site = SiteOptions {
        name: arguments.site,
        seed: arguments.seed,
        days: arguments.days,
        points: arguments.points,
        ..SiteOptions::at(clock.now())
    };
    let mut builder = MockStation::builder()
        .site(site)
        .clock(clock)
        .switches(switches(&arguments))
        .fox_settings(FoxSettings::from(arguments.fox_scenario))
        .bind(arguments.http);
    if let Some(address) = arguments.https {
        builder = builder.bind_https(address);
    }
    if let Some(address) = arguments.fox {
        builder = builder.bind_fox(address);
    }
    if let Some(address) = arguments.foxs {
        builder = builder.bind_foxs(address);
    }
    if let Some(address) = arguments.control {
        builder = builder.bind_control(address);
    }
    let mock = builder.start().await?;
    if arguments.https_only {
        mock.redirect_to_https();
    }
    announce(&mock);
    tokio::signal::ctrl_c().await?;
    mock.shutdown().await;
    Ok(())
}

/// The help of `--fox-scenario` names every value.
fn fox_help() -> String {
    let names: Vec<String> = FoxScenario::ALL.iter().map(ToString::to_string).collect();
    format!("What the Fox ports do: {}", names.join(", "))
}

fn switches(arguments: &Arguments) -> Switches {
    let mut switches = Switches::default();
    switches.login.lockout = matches!(arguments.lockout, OnOff::On);
    switches.boxs.session_limit = arguments.box_sessions;
    if matches!(arguments.ord_forms, Forms::All) {
        switches.ord.forms = OrdForms::ALL;
    }
    switches
}

/// Tells where everything is; that nobody reads it is no reason to end.
fn announce(mock: &MockStation) {
    let mut out = std::io::stdout().lock();
    let told = out.write_all(announcement(mock).as_bytes());
    if let Err(error) = told.and_then(|()| out.flush()) {
        tracing::debug!(%error, "standard output cannot be written");
    }
}

fn announcement(mock: &MockStation) -> String {
    let station = mock.station().read();
    let mut lines = vec![format!("Station {} at {}", station.name(), mock.url())];
    lines.extend(mock.https_url().map(|url| format!("TLS at {url}")));
    if let Some(fox) = mock.fox() {
        for (name, address) in [("Fox", fox.address()), ("Foxs", fox.secure_address())] {
            lines.extend(address.map(|address| format!("{name} at {address}")));
        }
    }
    let control = mock.control_url();
    lines.extend(control.map(|url| format!("Control at {url}/state")));
    if mock.serves_tls() {
        let certificate = mock.certificate();
        lines.push(format!(
            "Certificate {}, SHA-256 {}",
            certificate.subject, certificate.fingerprint
        ));
    }
    lines.push(format!("Components: {}", station.component_count()));
    lines.push("Accounts:".to_owned());
    for account in accounts::ALL {
        let user = station.users.get(account.user);
        let scheme = user.map_or("", |user| user.scheme.as_str());
        lines.push(format!(
            "  {:<10} {:<24} {scheme}",
            account.user, account.password
        ));
    }
    lines.push("Ctrl-C ends it.\n".to_owned());
    lines.join("\n")
}
