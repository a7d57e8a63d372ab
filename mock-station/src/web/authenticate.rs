//! Who a request comes from (Station web specification §2.1, §2.2, §2.4).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, SET_COOKIE};
use http::{HeaderName, HeaderValue, StatusCode};

use super::accounts;
use super::session::OpenSession;
use super::{cookies, header_auth};
use crate::server::{LoginOutcome, LoginWay, PlainRequest, PlainResponse, ServerContext};
use crate::switches::{BasicRefusal, ObixMode, UnauthenticatedAnswer};

/// How a caller proved who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    Cookie,
    Basic,
    Bearer,
}

/// An authenticated caller, with headers to add to its reply.
#[derive(Debug)]
pub(crate) struct Caller {
    pub session: OpenSession,
    pub means: Means,
    pub reply_headers: Vec<(HeaderName, HeaderValue)>,
}

/// Finds the caller, or the answer that refuses the request.
pub(crate) fn caller(
    context: &ServerContext,
    request: &PlainRequest,
) -> Result<Caller, Box<PlainResponse>> {
    let authorization = request
        .headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .map(str::trim)
        .unwrap_or("");
    let (scheme, parameters) = authorization
        .split_once(char::is_whitespace)
        .unwrap_or((authorization, ""));
    match scheme.to_ascii_uppercase().as_str() {
        "BASIC" => basic(context, request, parameters.trim()),
        "HELLO" | "SCRAM" | "BEARER" if context.switches.get().login.header_auth => {
            header_auth::answer(context, scheme, parameters)
        }
        _ => by_cookie(context, request).ok_or_else(|| Box::new(unauthenticated(context, request))),
    }
}

fn by_cookie(context: &ServerContext, request: &PlainRequest) -> Option<Caller> {
    let session = context.sessions.authenticated(
        cookies::values(&request.headers, cookies::SESSION),
        context.now(),
        &context.switches.get().login,
    )?;
    Some(Caller {
        session,
        means: Means::Cookie,
        reply_headers: Vec::new(),
    })
}

/// The answer of a protected path to a request without authentication.
pub(crate) fn unauthenticated(context: &ServerContext, request: &PlainRequest) -> PlainResponse {
    match context.switches.get().login.unauthenticated {
        // AJAX requests to `/rpc` get no login page (§2.6).
        _ if request.raw_path.split('/').nth(1) == Some("rpc") => unauthorized(),
        UnauthenticatedAnswer::RedirectLogin => {
            PlainResponse::redirect(StatusCode::FOUND, "/login")
        }
        UnauthenticatedAnswer::RedirectPrelogin => {
            PlainResponse::redirect(StatusCode::FOUND, "/prelogin")
        }
        UnauthenticatedAnswer::Unauthorized => unauthorized(),
    }
}

fn unauthorized() -> PlainResponse {
    super::pages::error(
        StatusCode::UNAUTHORIZED,
        "Unauthorized",
        "Authentication is required.",
    )
}

/// The user name of Basic credentials.
pub(crate) fn basic_name(request: &PlainRequest) -> Option<String> {
    let value = request.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.trim().split_once(char::is_whitespace)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let bytes = STANDARD.decode(encoded.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':').map(|(user, _)| user.to_owned())
}

fn basic(
    context: &ServerContext,
    request: &PlainRequest,
    encoded: &str,
) -> Result<Caller, Box<PlainResponse>> {
    let on_obix = request.raw_path.starts_with("/obix");
    match context.switches.get().obix.mode {
        ObixMode::DigestOnly if on_obix => return Err(Box::new(unauthorized())),
        ObixMode::RedirectLogin if on_obix => {
            return Err(Box::new(PlainResponse::redirect(
                StatusCode::FOUND,
                "/login",
            )));
        }
        _ => {}
    }
    let refused = || Box::new(basic_refusal(context, request));
    let credentials = STANDARD
        .decode(encoded)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let Some((user, password)) = credentials.as_deref().and_then(|text| text.split_once(':'))
    else {
        context.record_login("", LoginWay::Basic, LoginOutcome::Malformed);
        return Err(refused());
    };
    if let Err(refusal) = accounts::check_password(context, user, password) {
        context.record_login(user, LoginWay::Basic, refusal.into());
        return Err(refused());
    }
    Ok(basic_session(context, request, user))
}

/// The caller's own session when its cookie came back, else a new one.
fn basic_session(context: &ServerContext, request: &PlainRequest, user: &str) -> Caller {
    if let Some(caller) = by_cookie(context, request).filter(|caller| caller.session.user == user) {
        return Caller {
            means: Means::Basic,
            ..caller
        };
    }
    context.record_login(user, LoginWay::Basic, LoginOutcome::Success);
    let session = accounts::open_session(context, user);
    let cookie = HeaderValue::from_str(&cookies::session(&session.id));
    Caller {
        session,
        means: Means::Basic,
        reply_headers: cookie
            .into_iter()
            .map(|value| (SET_COOKIE, value))
            .collect(),
    }
}

fn basic_refusal(context: &ServerContext, request: &PlainRequest) -> PlainResponse {
    let answer = context.switches.get().login.basic_refused;
    if request.raw_path.starts_with("/box") || answer == BasicRefusal::Unauthorized {
        unauthorized()
    } else {
        PlainResponse::redirect(StatusCode::FOUND, "/login")
    }
}
