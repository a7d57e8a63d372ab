//! The form login and the pages around it (Station web specification §2.3, §2.7).

use http::{Method, StatusCode};

use super::accounts;
use super::scram::ClientFirst;
use super::session::{OpenSession, Stage};
use super::{cookies, pages, random};
use crate::server::{LoginOutcome, LoginWay, PlainRequest, PlainResponse, ServerContext};
use crate::switches::{BadProofAnswer, ClientFirstCookie, SessionRenewal, UnknownUserAnswer};

/// Where a logged-in user lands.
pub(super) const HOME: &str = "/ord/station:%7Cslot:/";

const FAILED: &str = "/login?auth=fail";

/// Answers the paths that need no authentication; none for all others.
pub(super) fn public(context: &ServerContext, request: &PlainRequest) -> Option<PlainResponse> {
    let path = request.raw_path.trim_end_matches('/');
    Some(match path {
        "/login/loginN4.js" => PlainResponse::content(
            StatusCode::OK,
            "text/javascript;charset=utf-8",
            pages::LOGIN_SCRIPT,
        ),
        "" if open_session(context, request).is_none() => {
            PlainResponse::redirect(StatusCode::FOUND, "/login")
        }
        "/login" | "/prelogin" if request.method == Method::POST => user_step(context, request),
        "/login" => login_page(context, request),
        "/prelogin" => prelogin_page(context, request),
        "/j_security_check" | "/prelogin/j_security_check" => security_check(context, request),
        "/favicon.ico" => PlainResponse::new(StatusCode::NOT_FOUND),
        "/robots.txt" => PlainResponse::text(StatusCode::OK, "User-agent: *\nDisallow: /\n"),
        _ => return None,
    })
}

fn open_session(context: &ServerContext, request: &PlainRequest) -> Option<OpenSession> {
    context.sessions.authenticated(
        cookies::values(&request.headers, cookies::SESSION),
        context.now(),
        &context.switches.get().login,
    )
}

/// `GET /login`: home for a logged-in user, else the step that is due.
fn login_page(context: &ServerContext, request: &PlainRequest) -> PlainResponse {
    if let Some(session) = open_session(context, request) {
        let target = if accounts::eula_pending(context, &session) {
            "/prelogin"
        } else {
            HOME
        };
        return PlainResponse::redirect(StatusCode::FOUND, target);
    }
    if request.query_parameter("auth").as_deref() == Some("fail") {
        let user = cookies::remembered_user(&request.headers).unwrap_or_default();
        return pages::password(&user, Some("The user name or the password is not right."));
    }
    match cookies::remembered_user(&request.headers) {
        Some(user) => pages::password(&user, None),
        None => PlainResponse::redirect(StatusCode::FOUND, "/prelogin"),
    }
}

/// `GET /prelogin`: the user-name step, or the agreement that stands open.
fn prelogin_page(context: &ServerContext, request: &PlainRequest) -> PlainResponse {
    if let Some(session) = open_session(context, request)
        && accounts::eula_pending(context, &session)
    {
        return pages::eula();
    }
    if request.query_parameter("clear").as_deref() == Some("true") {
        let mut response = pages::user_name();
        set_cookies(
            context,
            &mut response,
            vec![cookies::cleared(cookies::USER_ID)],
        );
        return response;
    }
    match cookies::remembered_user(&request.headers) {
        Some(user) => pages::password(&user, None),
        None => pages::user_name(),
    }
}

fn set_cookies(context: &ServerContext, response: &mut PlainResponse, values: Vec<String>) {
    let shuffle = context.switches.get().login.shuffle_set_cookie;
    cookies::set(response, values, shuffle);
}

/// Step 1: the user name, in the body or in the query.
fn user_step(context: &ServerContext, request: &PlainRequest) -> PlainResponse {
    let user = request
        .body_parameter("j_username")
        .or_else(|| request.query_parameter("j_username"))
        .filter(|user| !user.is_empty());
    let Some(user) = user else {
        return pages::user_name();
    };
    let id = context.sessions.open(Stage::Fresh, context.now());
    let mut response = pages::password(&user, None);
    let values = vec![cookies::session(&id), cookies::user_id(&user)];
    set_cookies(context, &mut response, values);
    response
}

/// Steps 2 to 4 share one path; the body says which is meant.
fn security_check(context: &ServerContext, request: &PlainRequest) -> PlainResponse {
    let body = request.body_text();
    let (action, rest) = body.split_once('&').unwrap_or((&body, ""));
    match action.trim().strip_prefix("action=") {
        Some("sendClientFirstMessage") => match rest.strip_prefix("clientFirstMessage=") {
            Some(message) => client_first(context, request, message.trim()),
            None => malformed(context),
        },
        Some("sendClientFinalMessage") => match rest.strip_prefix("clientFinalMessage=") {
            Some(message) => client_final(context, request, message.trim()),
            None => malformed(context),
        },
        Some("acceptEula") => last_step(context, request, true),
        Some(_) => malformed(context),
        None => last_step(context, request, false),
    }
}

fn malformed(context: &ServerContext) -> PlainResponse {
    context.record_login("", LoginWay::FormScram, LoginOutcome::Malformed);
    pages::error(
        StatusCode::BAD_REQUEST,
        "Bad Request",
        "The login message is not understood.",
    )
}

fn client_first(context: &ServerContext, request: &PlainRequest, message: &str) -> PlainResponse {
    let Ok(first) = ClientFirst::parse(message) else {
        return malformed(context);
    };
    let user = first.user.clone();
    let exchange = match accounts::challenge(context, first) {
        Ok(exchange) => exchange,
        Err(refusal) => {
            context.record_login(&user, LoginWay::FormScram, refusal.into());
            return refused_at_step_2();
        }
    };
    let switches = context.switches.get();
    if exchange.hopeless && switches.login.unknown_user == UnknownUserAnswer::Unauthorized {
        context.record_login(&user, LoginWay::FormScram, LoginOutcome::UnknownUser);
        return refused_at_step_2();
    }
    let now = context.now();
    let ids = cookies::values(&request.headers, cookies::SESSION);
    let reusable = context
        .sessions
        .any_known(ids.iter().copied(), now, &switches.login)
        .filter(|id| !context.sessions.is_open(id, now, &switches.login));
    let mut response = PlainResponse::text(StatusCode::OK, exchange.server_first().to_owned());
    let stage = Stage::Challenged(Box::new(exchange));
    let (id, known) = match reusable {
        Some(id) => {
            context.sessions.set_stage(&id, stage, now);
            (id, true)
        }
        None => (context.sessions.open(stage, now), false),
    };
    if !known || switches.login.client_first_cookie == ClientFirstCookie::Always {
        set_cookies(context, &mut response, vec![cookies::session(&id)]);
    }
    response
}

fn refused_at_step_2() -> PlainResponse {
    pages::error(
        StatusCode::UNAUTHORIZED,
        "Unauthorized",
        "This account cannot log in here.",
    )
}

fn client_final(context: &ServerContext, request: &PlainRequest, message: &str) -> PlainResponse {
    let ids = cookies::values(&request.headers, cookies::SESSION);
    let challenged = context
        .sessions
        .take_stage(ids, |stage| matches!(stage, Stage::Challenged(_)));
    let Some((id, Stage::Challenged(exchange))) = challenged else {
        return malformed(context);
    };
    let login = context.switches.get().login.clone();
    match accounts::finish(context, &exchange, message, LoginWay::FormScram) {
        Ok(server_final) => {
            let answer = if login.wrong_server_signature {
                corrupted(&server_final)
            } else {
                server_final
            };
            let proven = Stage::Proven(exchange.user().to_owned());
            context.sessions.set_stage(&id, proven, context.now());
            let mut response = PlainResponse::text(StatusCode::OK, answer);
            if login.session_renewal == SessionRenewal::AfterStep3
                && let Some(renewed) = context.sessions.renew(&id)
            {
                set_cookies(context, &mut response, vec![cookies::session(&renewed)]);
            }
            response
        }
        Err(_) => bad_proof(context, login.bad_proof),
    }
}

/// A server signature in which one character differs.
fn corrupted(server_final: &str) -> String {
    let other = |first: char| if first == 'A' { 'B' } else { 'A' };
    let signature = server_final.strip_prefix("v=").unwrap_or(server_final);
    let mut characters = signature.chars();
    match characters.next() {
        Some(first) => format!("v={}{}", other(first), characters.as_str()),
        None => "v=".to_owned(),
    }
}

fn bad_proof(context: &ServerContext, answer: BadProofAnswer) -> PlainResponse {
    let mut response = match answer {
        BadProofAnswer::Unauthorized => PlainResponse::text(StatusCode::UNAUTHORIZED, ""),
        BadProofAnswer::RedirectFail => PlainResponse::redirect(StatusCode::FOUND, FAILED),
        BadProofAnswer::OkWithoutSignature => PlainResponse::text(StatusCode::OK, "failed"),
        BadProofAnswer::OkWithError => PlainResponse::text(StatusCode::OK, "e=other-error"),
    };
    let cause = format!("{}=badCredentials; Path=/", cookies::FAILURE_CAUSE);
    set_cookies(context, &mut response, vec![cause]);
    response
}

/// Step 4: one more request to the check path completes the login.
fn last_step(context: &ServerContext, request: &PlainRequest, accept_eula: bool) -> PlainResponse {
    let ids = cookies::values(&request.headers, cookies::SESSION);
    let proven = context
        .sessions
        .take_stage(ids, |stage| matches!(stage, Stage::Proven(_)));
    if let Some((id, Stage::Proven(user))) = proven {
        return complete(context, &id, &user, accept_eula);
    }
    match open_session(context, request) {
        Some(session) => {
            if accept_eula {
                accounts::accept_eula(context, &session.id, &session.user);
            }
            PlainResponse::redirect(StatusCode::FOUND, HOME)
        }
        None => {
            let mut response = PlainResponse::redirect(StatusCode::FOUND, FAILED);
            let cause = format!("{}=loginRequired; Path=/", cookies::FAILURE_CAUSE);
            set_cookies(context, &mut response, vec![cause]);
            response
        }
    }
}

fn complete(context: &ServerContext, id: &str, user: &str, accept_eula: bool) -> PlainResponse {
    if !accounts::concurrent_sessions(context, user) {
        context.sessions.end_sessions_of(user);
    }
    let now = context.now();
    context
        .sessions
        .set_stage(id, Stage::User(user.to_owned()), now);
    if accept_eula {
        accounts::accept_eula(context, id, user);
    }
    let login = context.switches.get().login.clone();
    let opened = context.sessions.authenticated([id], now, &login);
    let pending = opened.is_some_and(|session| accounts::eula_pending(context, &session));
    let target = if pending { "/prelogin" } else { HOME };
    let mut response = PlainResponse::redirect(StatusCode::FOUND, target);
    let renewed = (login.session_renewal == SessionRenewal::AfterStep4)
        .then(|| context.sessions.renew(id))
        .flatten();
    if let Some(renewed) = renewed {
        let values = vec![cookies::session(&renewed), cookies::user_id(user)];
        set_cookies(context, &mut response, values);
    }
    response
}

/// Ends the session and leads back to the user-name step.
pub(super) fn logout(context: &ServerContext, session_id: &str) -> PlainResponse {
    context.sessions.end(session_id);
    let mut response = PlainResponse::redirect(StatusCode::FOUND, "/prelogin");
    let values = vec![cookies::cleared(cookies::SESSION)];
    set_cookies(context, &mut response, values);
    response
}

/// Milliseconds until the idle limit, counted from the user's last activity that the caller states.
pub(super) fn time_left(context: &ServerContext, request: &PlainRequest) -> PlainResponse {
    let offset: u128 = request
        .body_parameter("offset")
        .or_else(|| request.query_parameter("offset"))
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0);
    let limit = context.switches.get().login.session_idle.as_millis();
    PlainResponse::text(StatusCode::OK, limit.saturating_sub(offset).to_string())
}

/// Nonce of the server's part of an exchange.
pub(super) fn server_nonce() -> String {
    random::token(18)
}
