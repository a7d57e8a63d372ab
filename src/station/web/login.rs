//! The three login schemes; each is one conversation from anonymous to logged in.

use bytes::Bytes;
use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::challenge::Challenge;
use super::expiry::is_login_path;
use super::markup::csrf_token;
use super::request::LoginScheme;
use super::scram::{ClientFirst, ScramError};
use super::session::Inner;
use super::step::{Answer, Step};
use crate::secrecy::Secret;
use crate::station::error::{AuthCause, StationError};
use crate::station::http::station_of;

/// Side-effect free target that any account may ask for: the URL-form probe of Station web specification §3.2.
const PROBE: &str =
    "/ord/station:%7Cslot:/%7Cbql:select%20name%20from%20baja:Station%7Cview:file:ITableToCsv";
const CHECK: &str = "/j_security_check/";
const LOGIN_SUPPORT: &str = "application/x-niagara-login-support";
const FORM: &str = "application/x-www-form-urlencoded";
/// The home page may redirect a few times; more is a loop.
const MOST_REDIRECTS: usize = 6;

const FORM_VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Logs in by the configured scheme.
pub(super) async fn log_in(session: &Inner) -> Result<(), StationError> {
    find_https(session).await?;
    match session.options.scheme {
        LoginScheme::FormScram => form_scram(session).await,
        LoginScheme::HeaderScram => header_scram(session).await,
        LoginScheme::Basic => basic(session).await,
    }
}

/// Ends the session, with the CSRF token that current versions want (Station web specification §2.7).
pub(super) async fn log_out(session: &Inner) -> Result<(), StationError> {
    if session.state().csrf.is_none() {
        let page = follow(session, Method::GET, "/ord/station:%7Cslot:/").await?;
        keep_csrf(session, &page.body);
    }
    let token = session
        .state()
        .csrf
        .as_ref()
        .map(|token| utf8_percent_encode(token.expose(), FORM_VALUE).to_string());
    let target = match token {
        Some(token) => format!("/logout?csrfToken={token}"),
        None => "/logout".to_owned(),
    };
    Step::get(&target)
        .authorised(session)
        .send(session)
        .await
        .map(drop)
}

/// A configured http address is asked once without credentials; if it leads to https, the login happens there.
async fn find_https(session: &Inner) -> Result<(), StationError> {
    let base = session.state().base.clone();
    if base.scheme() != "http" {
        return Ok(());
    }
    let answer = Step::get("/").anonymous().send(session).await?;
    let Some(location) = answer
        .location
        .filter(|location| location.scheme() == "https")
    else {
        return Ok(());
    };
    if location.host() != base.host() {
        return Err(StationError::Protocol {
            target: station_of(&base),
            expected: "the station itself",
            found: format!("a redirect to {}", station_of(&location)),
        });
    }
    let mut secure = location;
    secure.set_path("/");
    secure.set_query(None);
    secure.set_fragment(None);
    session.state().base = secure;
    Ok(())
}

async fn basic(session: &Inner) -> Result<(), StationError> {
    let user = &session.options.user;
    if user.contains(':') {
        return Err(StationError::Setup {
            detail: "a user name with ':' cannot log in by HTTP Basic".to_owned(),
        });
    }
    let credentials =
        zeroize::Zeroizing::new(format!("{user}:{}", session.options.password.expose()));
    session.state().authorization = Some(Secret::new(format!(
        "Basic {}",
        STANDARD.encode(credentials.as_bytes())
    )));
    let answer = Step::get(PROBE).authorised(session).send(session).await?;
    if answer.wants_login() {
        return Err(session.auth(AuthCause::Refused, answer.describe()));
    }
    not_ready(session, &answer)
}

async fn form_scram(session: &Inner) -> Result<(), StationError> {
    let user = &session.options.user;
    let encoded_user = utf8_percent_encode(user, FORM_VALUE).to_string();
    let prelogin = Step::post("/prelogin", FORM, format!("j_username={encoded_user}"))
        .send(session)
        .await?;
    not_ready(session, &prelogin)?;
    session.state().jar.ensure("niagara_userid", &encoded_user);

    let first = ClientFirst::new(user).map_err(|error| broken_exchange(session, error))?;
    let body = format!(
        "action=sendClientFirstMessage&clientFirstMessage={}",
        first.message()
    );
    let answer = Step::post(CHECK, LOGIN_SUPPORT, body).send(session).await?;
    not_ready(session, &answer)?;
    let text = answer.text();
    if answer.status != 200 || !text.trim_start().starts_with("r=") {
        let is_station = prelogin.is_of_niagara() || answer.is_of_niagara();
        return Err(no_exchange(session, &answer, is_station));
    }
    let last = first
        .answer(&text, session.options.password.expose())
        .map_err(|error| broken_exchange(session, error))?;
    let body = format!(
        "action=sendClientFinalMessage&clientFinalMessage={}",
        last.message()
    );
    let answer = Step::post(CHECK, LOGIN_SUPPORT, body)
        .send_proof(session)
        .await?;
    not_ready(session, &answer)?;
    if !(200..300).contains(&answer.status) {
        return Err(session.auth(AuthCause::Refused, answer.describe()));
    }
    last.verify(&answer.text())
        .map_err(|error| refused_proof(session, error))?;
    enter(session).await
}

/// The request behind `v=` that makes the session count, and the page that carries the CSRF token.
async fn enter(session: &Inner) -> Result<(), StationError> {
    let page = follow(session, Method::GET, CHECK).await?;
    not_ready(session, &page)?;
    if page.asked.path().starts_with("/prelogin") || page.text().contains("acceptEula") {
        return Err(session.auth(
            AuthCause::EulaPending,
            "it leads back to the login page although the password is right",
        ));
    }
    if page.wants_login() || is_login_path(page.asked.path()) {
        return Err(session.auth(AuthCause::SessionNotKept, page.describe()));
    }
    keep_csrf(session, &page.body);
    Ok(())
}

/// Follows redirects on the station itself, as a browser would after the login form.
async fn follow(session: &Inner, method: Method, target: &str) -> Result<Answer, StationError> {
    let mut answer = Step::new(method, target, None, Bytes::new())
        .authorised(session)
        .send(session)
        .await?;
    for _ in 0..MOST_REDIRECTS {
        let Some(next) = answer.location.clone() else {
            break;
        };
        if next.origin() != answer.asked.origin() || is_login_path(next.path()) {
            break;
        }
        let target = match next.query() {
            Some(query) => format!("{}?{query}", next.path()),
            None => next.path().to_owned(),
        };
        answer = Step::get(&target).authorised(session).send(session).await?;
    }
    if let Some(next) = &answer.location
        && is_login_path(next.path())
    {
        answer.asked = next.clone();
    }
    Ok(answer)
}

async fn header_scram(session: &Inner) -> Result<(), StationError> {
    let user = &session.options.user;
    let hello = format!("HELLO username={}", URL_SAFE_NO_PAD.encode(user));
    let answer = handshake(session, hello).await?;
    let challenge = match answer.challenge() {
        Some(challenge) => challenge,
        None => {
            let is_station = answer.is_of_niagara() || has_login_page(session).await?;
            return Err(no_exchange(session, &answer, is_station));
        }
    };
    let first = ClientFirst::new(user).map_err(|error| broken_exchange(session, error))?;
    let message = challenge.reply(first.message());
    let answer = handshake(session, message).await?;
    let challenge = answer
        .challenge()
        .ok_or_else(|| no_exchange(session, &answer, true))?;
    let server_first = challenge
        .data()
        .ok_or_else(|| broken_exchange(session, ScramError::FirstMessage))?;
    let last = first
        .answer(&server_first, session.options.password.expose())
        .map_err(|error| broken_exchange(session, error))?;
    let answer = Step::get(PROBE)
        .with_authorization(challenge.reply(last.message().to_owned()))
        .send_proof(session)
        .await?;
    not_ready(session, &answer)?;
    let info = answer
        .headers
        .get("authentication-info")
        .and_then(|value| value.to_str().ok())
        .map(Challenge::parameters);
    let Some(info) = info else {
        return Err(session.auth(AuthCause::Refused, answer.describe()));
    };
    let server_final = info.data().unwrap_or_default();
    last.verify(&server_final)
        .map_err(|error| refused_proof(session, error))?;
    let Some(token) = info.get("authtoken") else {
        return Err(session.auth(
            AuthCause::Refused,
            "it confirmed the password but handed out no token",
        ));
    };
    if answer
        .location
        .as_ref()
        .is_some_and(|next| next.path().starts_with("/prelogin"))
    {
        return Err(session.auth(AuthCause::EulaPending, answer.describe()));
    }
    session.state().authorization = Some(Secret::new(format!("BEARER authToken={token}")));
    Ok(())
}

/// One step that should be answered 401 with the next challenge.
async fn handshake(session: &Inner, authorization: String) -> Result<Answer, StationError> {
    let answer = Step::get(PROBE)
        .with_authorization(authorization)
        .send(session)
        .await?;
    not_ready(session, &answer)?;
    Ok(answer)
}

/// Whether a Niagara login page stands at the address, asked without a credential.
async fn has_login_page(session: &Inner) -> Result<bool, StationError> {
    let page = Step::get("/prelogin").anonymous().send(session).await?;
    Ok(page.is_of_niagara())
}

/// An answer before the proof that does not go on with the exchange: no credential was judged yet. Only a station that
/// is known as one can say that the scheme is wrong; anything else may be a stranger who must not be told a password.
fn no_exchange(session: &Inner, answer: &Answer, is_station: bool) -> StationError {
    if is_station && answer.turns_away() {
        return session.auth(AuthCause::WrongScheme, answer.describe());
    }
    StationError::Protocol {
        target: format!("the login at {}", session.station()),
        expected: "a Niagara login",
        found: answer.describe(),
    }
}

/// A SCRAM message before the proof that cannot be used.
fn broken_exchange(session: &Inner, error: ScramError) -> StationError {
    match error {
        ScramError::Nonce => session.auth(AuthCause::ServerSignature, error.to_string()),
        ScramError::Random => StationError::Setup {
            detail: error.to_string(),
        },
        _ => StationError::Protocol {
            target: format!("the login at {}", session.station()),
            expected: "a SCRAM message",
            found: format!("something else: {error}"),
        },
    }
}

/// The station's answer to the proof does not confirm it.
fn refused_proof(session: &Inner, error: ScramError) -> StationError {
    let cause = match error {
        ScramError::WrongSignature => AuthCause::ServerSignature,
        _ => AuthCause::Refused,
    };
    session.auth(cause, error.to_string())
}

/// A station that is starting or overloaded has not judged the password: no failed login.
fn not_ready(session: &Inner, answer: &Answer) -> Result<(), StationError> {
    match answer.status {
        status @ (429 | 503) => Err(StationError::Busy {
            station: session.station(),
            status,
        }),
        502 | 504 => Err(StationError::Unreachable {
            station: session.station(),
            cause: format!("a gateway in front of it answered HTTP {}", answer.status),
        }),
        status @ 500.. => Err(StationError::Server {
            target: format!("the login at {}", session.station()),
            status,
            detail: "the login page failed".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn keep_csrf(session: &Inner, page: &[u8]) {
    if let Some(token) = csrf_token(&String::from_utf8_lossy(page)) {
        session.state().csrf = Some(Secret::new(token));
    }
}
