//! User accounts as logins see them: schemes, proofs, lockout (Station web specification §2.1, §2.7).

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::login;
use super::scram::{ClientFirst, Exchange, ScramError, Verifier, invented_verifier};
use super::session::OpenSession;
use crate::model::users::{BASIC_SCHEME, DIGEST_SCHEME, User};
use crate::server::{LoginOutcome, LoginWay, ServerContext};
use crate::switches::AccountSchemes;

/// Iterations shown for a user that does not exist.
const INVENTED_ITERATIONS: u32 = 4096;

/// Why a login was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    UnknownUser,
    WrongScheme,
    BadProof,
    Locked,
    Disabled,
    Malformed,
}

impl From<Refusal> for LoginOutcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnknownUser => Self::UnknownUser,
            Refusal::WrongScheme => Self::WrongScheme,
            Refusal::BadProof => Self::BadProof,
            Refusal::Locked => Self::Locked,
            Refusal::Disabled => Self::Disabled,
            Refusal::Malformed => Self::Malformed,
        }
    }
}

/// The scheme an account counts as using.
fn scheme<'a>(context: &ServerContext, account: &'a User) -> &'a str {
    match context.switches.get().login.schemes {
        AccountSchemes::AsConfigured => &account.scheme,
        AccountSchemes::BasicOnly => BASIC_SCHEME,
        AccountSchemes::DigestOnly => DIGEST_SCHEME,
    }
}

/// Answers client-first. An unknown user gets an exchange that cannot succeed.
pub(super) fn challenge(
    context: &ServerContext,
    client_first: ClientFirst,
) -> Result<Exchange, Refusal> {
    let user = client_first.user.clone();
    let known = context.station.read().users.get(&user).map(|account| {
        let record = &account.password;
        let verifier = Verifier {
            salt: record.salt.clone(),
            iterations: record.iterations,
            stored_key: record.stored_key,
            server_key: record.server_key,
        };
        (scheme(context, account) == DIGEST_SCHEME, verifier)
    });
    let nonce = login::server_nonce();
    match known {
        Some((true, verifier)) => Ok(Exchange::start(client_first, &nonce, verifier)),
        Some((false, _)) => {
            note_bad_login(context, &user);
            Err(Refusal::WrongScheme)
        }
        None => {
            let verifier = invented_verifier(&user, INVENTED_ITERATIONS);
            let mut exchange = Exchange::start(client_first, &nonce, verifier);
            exchange.hopeless = true;
            Ok(exchange)
        }
    }
}

/// Checks client-final, keeps the lockout's books and the login log, and returns server-final.
pub(super) fn finish(
    context: &ServerContext,
    exchange: &Exchange,
    client_final: &str,
    way: LoginWay,
) -> Result<String, Refusal> {
    let user = exchange.user();
    let outcome = match exchange.finish(client_final) {
        _ if exchange.hopeless => Err(Refusal::UnknownUser),
        Ok(server_final) => admit(context, user).map(|()| server_final),
        Err(ScramError::BadProof) => Err(Refusal::BadProof),
        Err(_) => Err(Refusal::Malformed),
    };
    settle(context, user, &outcome);
    let logged = match &outcome {
        Ok(_) => LoginOutcome::Success,
        Err(refusal) => (*refusal).into(),
    };
    context.record_login(user, way, logged);
    outcome
}

/// Checks Basic credentials; failures count for the lockout, the caller logs them.
pub(super) fn check_password(
    context: &ServerContext,
    user: &str,
    password: &str,
) -> Result<(), Refusal> {
    let account = context.station.read().users.get(user).cloned();
    let outcome = match account {
        None => Err(Refusal::UnknownUser),
        Some(account) if scheme(context, &account) != BASIC_SCHEME => Err(Refusal::WrongScheme),
        Some(account) if !account.password.verify(password) => Err(Refusal::BadProof),
        Some(_) => admit(context, user),
    };
    settle(context, user, &outcome);
    outcome
}

/// Whether an account with the right password may come in.
fn admit(context: &ServerContext, user: &str) -> Result<(), Refusal> {
    let station = context.station.read();
    if context.switches.get().login.lockout && station.users.is_locked(user, context.now()) {
        return Err(Refusal::Locked);
    }
    match station.users.get(user) {
        Some(account) if account.enabled => Ok(()),
        Some(_) => Err(Refusal::Disabled),
        None => Err(Refusal::UnknownUser),
    }
}

fn settle<T>(context: &ServerContext, user: &str, outcome: &Result<T, Refusal>) {
    match outcome {
        Ok(_) if context.servlet_state::<Suspects>().clear(user) => {
            context.station.write().users.record_good_login(user);
        }
        Ok(_) => {}
        Err(_) => note_bad_login(context, user),
    }
}

/// Users with bad logins since their last good one. Basic users log in with every request: without
/// this note each of them would wait for the station's write lock.
#[derive(Debug, Default)]
struct Suspects {
    names: Mutex<HashSet<String>>,
}

impl Suspects {
    fn add(&self, user: &str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(user.to_owned());
    }

    /// Forgets a user; false when there was nothing to forget.
    fn clear(&self, user: &str) -> bool {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.remove(user)
    }
}

fn note_bad_login(context: &ServerContext, user: &str) {
    if context.switches.get().login.lockout {
        let now = context.now();
        context.servlet_state::<Suspects>().add(user);
        context.station.write().users.record_bad_login(user, now);
    }
}

fn with_account<T>(
    context: &ServerContext,
    user: &str,
    read: impl FnOnce(&User) -> T,
) -> Option<T> {
    context.station.read().users.get(user).map(read)
}

pub(super) fn uses_basic(context: &ServerContext, user: &str) -> bool {
    with_account(context, user, |account| {
        scheme(context, account) == BASIC_SCHEME
    })
    .unwrap_or(false)
}

pub(super) fn concurrent_sessions(context: &ServerContext, user: &str) -> bool {
    with_account(context, user, |account| account.allow_concurrent_sessions).unwrap_or(true)
}

/// Whether the licence agreement stands between this session and the station.
pub(super) fn eula_pending(context: &ServerContext, session: &OpenSession) -> bool {
    !session.eula_accepted
        && (context.switches.get().login.eula_pending
            || with_account(context, &session.user, |account| account.eula_pending)
                .unwrap_or(false))
}

/// Notes that a user accepted the licence agreement.
pub(super) fn accept_eula(context: &ServerContext, session_id: &str, user: &str) {
    context.sessions.accept_eula(session_id);
    if let Some(account) = context.station.write().users.get_mut(user) {
        account.eula_pending = false;
    }
}

/// Opens a session for a user who has just logged in.
pub(super) fn open_session(context: &ServerContext, user: &str) -> OpenSession {
    let concurrent = concurrent_sessions(context, user);
    context
        .sessions
        .open_for_user(user, concurrent, context.now())
}
