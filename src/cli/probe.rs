//! `probe`: what a station offers over all its interfaces, in words, and the settings that go with it.
//!
//! - [`address`]: what was typed; [`web`]: anonymous requests to the web service; [`account`]: one login, if asked for.
//! - [`report`]: the findings in words; [`settings`]: the `station:` block that fits them.
//!
//! Fox ports get one hello each and nothing else, and never a login (Fox specification §8).

pub mod account;
pub mod address;
pub mod report;
pub mod settings;
pub mod web;

use std::time::Duration;

use anyhow::{Context, bail};
use clap::CommandFactory;
use clap::error::ErrorKind;
use futures::future::{BoxFuture, join_all};

use self::account::{Account, AccountFindings};
use self::address::{AddressError, ProbeAddress};
use self::web::WebFindings;
use super::arguments::{Arguments, LogOptions, ProbeOptions, ProbeScheme};
use super::serve::environment;
use super::shutdown::Ending;
use super::{logging, output};
use crate::clock::SystemClock;
use crate::config::load::load;
use crate::config::{LogFormat, Secret};
use crate::station::error::StationError;
use crate::station::fox::{FoxProber, FoxReport, FoxTarget};
use crate::station::http::{CallScope, Trust};
use crate::station::web::LoginScheme;

/// Time for one anonymous answer of the web service.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Time for each step of a hello (Fox specification §8).
const FOX_LIMIT: Duration = Duration::from_secs(5);

/// What to look at, and as whom.
#[derive(Debug, Clone)]
pub struct Inquiry {
    pub address: ProbeAddress,
    /// Fox ports to say hello to.
    pub fox: Vec<FoxTarget>,
    /// How certificates are trusted; none = as this machine does.
    pub trust: Option<Trust>,
    /// Without an account nothing but anonymous requests is sent.
    pub account: Option<Account>,
    /// Patience for each answer of the web service.
    pub patience: Duration,
    /// Patience for each step of a hello.
    pub fox_patience: Duration,
}

impl Inquiry {
    /// Asks the web service at an address anonymously, and the Fox ports that belong to it.
    pub fn new(address: ProbeAddress, fox_port: u16, foxs_port: u16) -> Self {
        let typed = address.fox.clone();
        let port = |port: u16, secure: bool| FoxTarget {
            host: address.host.clone(),
            port,
            secure,
        };
        let of_kind = |secure: bool, usual: u16| match &typed {
            Some(target) if target.secure == secure => target.clone(),
            _ => port(usual, secure),
        };
        Self {
            fox: vec![of_kind(false, fox_port), of_kind(true, foxs_port)],
            address,
            trust: None,
            account: None,
            patience: ANSWER_LIMIT,
            fox_patience: FOX_LIMIT,
        }
    }
}

/// Everything that was found out.
#[derive(Debug)]
pub struct Findings {
    pub address: ProbeAddress,
    /// The web service, or why none of its addresses answers.
    pub web: Result<WebFindings, Vec<StationError>>,
    pub fox: Vec<FoxReport>,
    /// None without an account.
    pub account: Option<AccountFindings>,
    pub user: Option<(String, LoginScheme)>,
}

impl Findings {
    /// A Niagara station answered over one of its interfaces.
    pub fn shows_station(&self) -> bool {
        self.web.as_ref().is_ok_and(WebFindings::is_station)
            || self.fox.iter().any(|report| report.is_fox)
    }

    /// Something answered, whatever it is.
    pub fn shows_anything(&self) -> bool {
        let accepts = |error: &StationError| !matches!(error, StationError::Unreachable { .. });
        match &self.web {
            Ok(_) => true,
            Err(errors) => {
                errors.iter().any(accepts) || self.fox.iter().any(|report| report.reachable)
            }
        }
    }
}

/// Asks the interfaces; whatever they do is a finding.
pub async fn examine(inquiry: &Inquiry) -> Findings {
    // Boxed: two long chains of futures side by side.
    let web: BoxFuture<'_, _> = Box::pin(examine_web(inquiry));
    let fox: BoxFuture<'_, _> = Box::pin(examine_fox(inquiry));
    let ((web, account), fox) = futures::join!(web, fox);
    Findings {
        address: inquiry.address.clone(),
        web,
        fox,
        account,
        user: inquiry
            .account
            .as_ref()
            .map(|account| (account.user.clone(), account.scheme)),
    }
}

async fn examine_web(
    inquiry: &Inquiry,
) -> (
    Result<WebFindings, Vec<StationError>>,
    Option<AccountFindings>,
) {
    let trust = inquiry.trust.as_ref();
    let web = web::look_for(&inquiry.address.web, trust, inquiry.patience).await;
    let account = match &inquiry.account {
        Some(account) => Some(account::look(account, web.as_ref().ok(), trust).await),
        None => None,
    };
    (web, account)
}

async fn examine_fox(inquiry: &Inquiry) -> Vec<FoxReport> {
    // The hello holds no secret, and whoever runs the probe named the host.
    let trust = inquiry.trust.clone().unwrap_or(Trust::Insecure);
    let prober = FoxProber::new(inquiry.fox.clone(), trust, SystemClock::shared())
        .with_patience(inquiry.fox_patience);
    let scope = CallScope::unlimited();
    let probes = inquiry.fox.iter().map(|target| {
        let (prober, scope) = (&prober, &scope);
        async move {
            match prober.probe(scope, target).await {
                Ok(answer) => Some((*answer.report).clone()),
                Err(error) => {
                    tracing::warn!(%target, %error, "the Fox port was not asked");
                    None
                }
            }
        }
    });
    join_all(probes).await.into_iter().flatten().collect()
}

/// Asks the station and prints what it offers.
///
/// # Errors
/// Nothing answers at the address, or nothing that is a station.
pub async fn run(options: &ProbeOptions, log: &LogOptions) -> anyhow::Result<Ending> {
    let _level = logging::start(log, LogFormat::Text, "error");
    let address = options.address.as_deref().map(usable);
    let inquiry = inquiry(options, address)?;
    if let [first, second] = inquiry.address.web.as_slice() {
        output::say(&format!(
            "The address names no scheme: {first} is tried, then {second}."
        ));
    }
    let findings = examine(&inquiry).await;
    if !findings.shows_anything() {
        bail!("{}", report::silence(&findings));
    }
    output::print(&report::report(&findings))?;
    if !findings.shows_station() {
        bail!("no Niagara station was found at {}", inquiry.address.text);
    }
    Ok(Ending::Finished)
}

/// The typed address; one that cannot be asked ends the program as wrong usage does.
fn usable(text: &str) -> ProbeAddress {
    // Not a value parser: clap would repeat the text as it is, with a password that it may hold.
    text.parse().unwrap_or_else(|error: AddressError| {
        Arguments::command()
            .error(ErrorKind::ValueValidation, error)
            .exit()
    })
}

fn inquiry(options: &ProbeOptions, typed: Option<ProbeAddress>) -> anyhow::Result<Inquiry> {
    let station = match &options.config {
        Some(file) => Some(
            load(Some(file), environment())?
                .station
                .with_context(|| format!("{} has no station.url", file.display()))?,
        ),
        None => None,
    };
    let address = match (typed, &station) {
        (Some(address), _) => address,
        (None, Some(station)) => station.url.as_str().parse()?,
        (None, None) => bail!("give an address, or --config"),
    };
    let mut inquiry = Inquiry::new(address, options.fox_port, options.foxs_port);
    if options.no_fox {
        inquiry.fox.clear();
    } else if let Some(fox) = station.as_ref().and_then(|station| station.fox.clone()) {
        inquiry.fox.retain(|target| target.secure != fox.secure);
        inquiry.fox.push(fox);
    }
    inquiry.trust = match (&options.fingerprint, &options.ca_file) {
        (Some(pin), _) => Some(Trust::pinned(pin)?),
        (None, Some(file)) => Some(Trust::CaFile(file.clone())),
        (None, None) => station.as_ref().map(|station| station.trust.clone()),
    };
    inquiry.account = match (&options.user, &station) {
        (Some(user), _) => Some(Account {
            user: user.clone(),
            password: password(options)?,
            scheme: match options.scheme {
                ProbeScheme::FormScram => LoginScheme::FormScram,
                ProbeScheme::HeaderScram => LoginScheme::HeaderScram,
                ProbeScheme::Basic => LoginScheme::Basic,
            },
        }),
        (None, station) => station.as_ref().map(Account::from),
    };
    Ok(inquiry)
}

/// From a file or the environment: a command line is visible to every user of the machine.
fn password(options: &ProbeOptions) -> anyhow::Result<Secret> {
    if let Some(file) = &options.password_file {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        return Ok(Secret::new(text.trim_end_matches(['\r', '\n'])));
    }
    let variable = &options.password_env;
    std::env::var(variable)
        .ok()
        .filter(|text| !text.is_empty())
        .map(Secret::new)
        .with_context(|| format!("{variable} holds no password; set it, or give --password-file"))
}
