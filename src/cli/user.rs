//! `user`: binds station users to tokens of their own.
//!
//! Tokens go to standard output, once; everything else that is said goes to standard error. A password is asked for at
//! the terminal without echo, or read from a file or from standard input, never from the command line.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use chrono::{DateTime, SecondsFormat, Utc};
use zeroize::Zeroizing;

use super::arguments::{BindOptions, LogOptions, UserAction, UserOptions};
use super::assembly::web_options;
use super::init::mint_token;
use super::serve::{environment, usual_place};
use super::shutdown::Ending;
use super::{logging, output};
use crate::clock::SystemClock;
use crate::config::load::load;
use crate::config::{Config, LogFormat, Secret};
use crate::identity::{Identities, IdentityError, Rights, Vault, VaultKey, check_name, vault_file};
use crate::station::http::CallScope;
use crate::station::web::WebSession;

/// Time for the login that proves a password.
const LOGIN: Duration = Duration::from_secs(30);

/// Longest password that is read, in bytes; more is a wrong file.
const LONGEST_PASSWORD: u64 = 4096;

const DAY: u64 = 24 * 60 * 60;

/// Runs one of the actions.
///
/// # Errors
/// What failed, and what was not changed by it.
pub async fn run(options: UserOptions, log: &LogOptions) -> anyhow::Result<Ending> {
    let _level = logging::start(log, LogFormat::Text, "warn");
    if let UserAction::Key { file } = &options.action {
        VaultKey::make(file)?;
        output::say(&format!(
            "Wrote a new key into {}. Name it in the configuration as identity.vaultKeyFile, and keep a copy apart from \
             the data folder: without it the passwords in the vault are lost.",
            file.display()
        ));
        return Ok(Ending::Finished);
    }
    let config = load(
        options.config.or_else(usual_place).as_deref(),
        environment(),
    )?;
    let desk = Desk {
        identities: Identities::new(&config.data_dir, SystemClock::shared()),
        key_file: options
            .vault_key_file
            .or_else(|| config.vault_key_file.clone()),
        config,
    };
    match options.action {
        UserAction::Bind(bind) => desk.bind(&bind).await?,
        UserAction::List => desk.list()?,
        UserAction::Rotate {
            name,
            overlap_minutes,
        } => desk.rotate(&name, overlap_minutes)?,
        UserAction::Revoke { name } => desk.revoke(&name)?,
        UserAction::Verify { name } => desk.verify(&name).await?,
        UserAction::Key { .. } => {}
    }
    Ok(Ending::Finished)
}

struct Desk {
    config: Config,
    identities: Identities,
    key_file: Option<std::path::PathBuf>,
}

impl Desk {
    fn vault(&self) -> Result<Vault, IdentityError> {
        let key = VaultKey::find(self.key_file.as_deref(), variable)?;
        Vault::open(vault_file(&self.config.data_dir), &key)
    }

    async fn bind(&self, options: &BindOptions) -> anyhow::Result<()> {
        let name = &options.name;
        // Before anybody types a password, or the vault keeps one.
        check_name(name)?;
        let rights = match options.rights.is_empty() && options.toolsets.is_empty() {
            true => None,
            false => Some(Rights::parse(&options.rights, &options.toolsets)?),
        };
        if !options.no_password {
            // Opened first: nobody types a password that then cannot be kept.
            let vault = self.vault()?;
            let password = password(name, options.password_file.as_deref())?;
            self.prove(name, password.clone()).await?;
            vault.keep(name, &password)?;
        }
        let token = mint_token()?;
        let lifetime = options
            .expires_days
            .map(|days| Duration::from_secs(u64::from(days) * DAY));
        self.identities
            .grant(name, &token, rights, lifetime, Duration::ZERO)?;
        if options.no_password {
            output::say(&format!(
                "'{name}' is bound without a station password: this token reads by the service account and changes \
                 nothing on the station."
            ));
        } else {
            output::say(&format!(
                "The station accepted the password of '{name}'; it is kept in the vault."
            ));
        }
        output::say(&format!(
            "The token is shown this once; earlier tokens of '{name}' no longer work:"
        ));
        show(&token)
    }

    fn rotate(&self, name: &str, overlap_minutes: u32) -> anyhow::Result<()> {
        let token = mint_token()?;
        let overlap = Duration::from_secs(u64::from(overlap_minutes) * 60);
        self.identities.rotate(name, &token, overlap)?;
        output::say(&format!(
            "The new token of '{name}' is shown this once; earlier ones work for {overlap_minutes} more minutes:"
        ));
        show(&token)
    }

    fn revoke(&self, name: &str) -> anyhow::Result<()> {
        let had_token = self.identities.revoke(name)?;
        let had_password = match vault_file(&self.config.data_dir).exists() {
            true => self.vault().and_then(|vault| vault.forget(name)).with_context(|| {
                format!("no token of '{name}' works any longer, but the station password stays in the vault")
            })?,
            false => false,
        };
        if !had_token && !had_password {
            return Err(IdentityError::UnknownUser {
                name: name.to_owned(),
            }
            .into());
        }
        output::say(&format!(
            "'{name}' is no longer bound: no token works, and no station password is kept."
        ));
        Ok(())
    }

    async fn verify(&self, name: &str) -> anyhow::Result<()> {
        let Some((password, _)) = self.vault()?.password(name)? else {
            bail!(
                "no station password of '{name}' is kept; `niagara-bridge user bind {name}` asks for it"
            );
        };
        self.prove(name, password).await?;
        output::say(&format!(
            "The station accepts the kept password of '{name}'."
        ));
        Ok(())
    }

    /// Logs in once and out again.
    async fn prove(&self, name: &str, password: Secret) -> anyhow::Result<()> {
        let station =
            self.config.station.as_ref().context(
                "station.url is not set; fill in the block 'station' of the configuration",
            )?;
        let session = WebSession::new(web_options(station, name, password), SystemClock::shared())?;
        let login = session.login(&CallScope::within(LOGIN)).await;
        login.with_context(|| format!("'{name}' was not logged in, and nothing was changed"))?;
        session.close().await;
        Ok(())
    }

    fn list(&self) -> anyhow::Result<()> {
        let kept = match vault_file(&self.config.data_dir).exists() {
            true => Some(self.vault().and_then(|vault| vault.names())),
            false => None,
        };
        let station = |name: &String| match &kept {
            Some(Ok(names)) if names.contains(name) => "kept",
            Some(Err(_)) => "unknown",
            Some(Ok(_)) | None => "none",
        };
        let mut text = String::new();
        let mut row = |cells: [&str; 7]| {
            let [name, created, used, tokens, expires, password, rights] = cells;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{name:<20} {created:<20} {used:<20} {tokens:>6} {expires:<20} {password:<8} {rights}"
            );
        };
        row([
            "USER",
            "CREATED",
            "LAST USED",
            "TOKENS",
            "EXPIRES",
            "PASSWORD",
            "RIGHTS",
        ]);
        for (facts, used) in self.identities.list()? {
            row([
                &facts.name,
                &stamp(Some(facts.created)),
                &stamp(used),
                &facts.tokens.to_string(),
                &stamp(facts.expires),
                station(&facts.name),
                &facts.rights.to_string(),
            ]);
        }
        if let Some(Err(error)) = &kept {
            output::say(&format!("Which passwords are kept is not known: {error}."));
        }
        output::print(&text)
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn stamp(time: Option<DateTime<Utc>>) -> String {
    time.map_or("-".to_owned(), |time| {
        time.to_rfc3339_opts(SecondsFormat::Secs, true)
    })
}

fn show(token: &str) -> anyhow::Result<()> {
    output::hand_over(&Zeroizing::new(format!("{token}\n")))
}

/// The password of a station user: from a file, from the terminal without echo, or the first line of standard input.
fn password(name: &str, file: Option<&Path>) -> anyhow::Result<Secret> {
    let text = match file {
        Some(file) => from_file(file)?,
        None if std::io::stdin().is_terminal() => Zeroizing::new(
            rpassword::prompt_password(format!("Station password of '{name}': ")).context(
                "the password cannot be asked for at this terminal; use --password-file",
            )?,
        ),
        None => first_line(std::io::stdin().lock())?,
    };
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        bail!(
            "there is no password: type it at the terminal, give --password-file FILE, or send it to standard input"
        );
    }
    Ok(Secret::new(text))
}

fn from_file(file: &Path) -> anyhow::Result<Zeroizing<String>> {
    let opened = std::fs::File::open(file)
        .with_context(|| format!("the password file {} cannot be read", file.display()))?;
    first_line(std::io::BufReader::new(opened))
        .with_context(|| format!("the password file {} cannot be used", file.display()))
}

fn first_line(input: impl BufRead) -> anyhow::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::with_capacity(LONGEST_PASSWORD as usize + 1));
    std::io::Read::take(input, LONGEST_PASSWORD)
        .read_line(&mut text)
        .context("the password cannot be read")?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_the_first_line_without_its_end() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("password");
        for (content, expected) in [("Pass word\r\nmore\n", "Pass word"), ("Пароль", "Пароль")]
        {
            std::fs::write(&file, content).expect("write");
            let secret = password("olga", Some(&file)).expect("a password");
            assert_eq!(secret.expose(), expected);
        }
        std::fs::write(&file, "\n").expect("write");
        let error = password("olga", Some(&file))
            .expect_err("empty")
            .to_string();
        assert!(error.starts_with("there is no password"), "{error}");
        let error = password("olga", Some(&folder.path().join("none"))).expect_err("missing");
        assert!(format!("{error:#}").contains("cannot be read"), "{error:#}");
    }
}
