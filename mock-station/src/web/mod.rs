//! The web tier: login, sessions, the ord servlet, BQL and the exporters.
//!
//! - `authenticate`: who a request comes from (cookie, Basic, header SCRAM).
//! - `login`: the form login and its pages; `header_auth`: the cookie-free handshake.
//! - `ord_url`: which ord a request target names; `ord_servlet`: what it answers.
//! - [`bql`]: parser and evaluation to a [`table::Table`]; `export`: what writes it as CSV or HTML.

mod accounts;
mod authenticate;
pub mod bql;
mod cookies;
mod csv;
mod export;
mod header_auth;
mod login;
mod ord;
mod ord_servlet;
mod ord_url;
pub(crate) mod pages;
mod random;
mod scram;
pub(crate) mod session;
pub mod table;
mod time_range;
mod wire_time;

use http::{Method, StatusCode};

use crate::server::{AuthenticatedUser, PlainRequest, PlainResponse, ServerContext};
use authenticate::{Caller, Means};

/// A response and what the request log keeps of its caller.
pub(crate) struct Served {
    pub response: PlainResponse,
    pub user: Option<String>,
    pub session: Option<u64>,
}

impl Served {
    pub(crate) fn anonymous(response: PlainResponse) -> Self {
        Self {
            response,
            user: None,
            session: None,
        }
    }
}

/// Answers one request to the station's WebService port.
pub(crate) fn handle(context: &ServerContext, request: PlainRequest) -> Served {
    let switches = context.switches.get();
    if request.head_size() > switches.ord.header_limit {
        return Served::anonymous(pages::error(
            StatusCode::URI_TOO_LONG,
            "URI Too Long",
            "The request line and headers exceed the server's limit; split the query.",
        ));
    }
    if let Some(status) = switches.faults.status {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        return Served::anonymous(pages::error(status, "Unavailable", "Try again later."));
    }
    if let Some(authority) = &switches.login.https_only {
        let query = request
            .raw_query
            .as_ref()
            .map_or(String::new(), |query| format!("?{query}"));
        let location = format!("https://{authority}{}{query}", request.raw_path);
        return Served::anonymous(PlainResponse::redirect(StatusCode::SEE_OTHER, &location));
    }
    if let Some(response) = login::public(context, &request) {
        return Served::anonymous(response);
    }
    match authenticate::caller(context, &request) {
        Ok(caller) => protected(context, caller, request),
        Err(refusal) => Served::anonymous(*refusal),
    }
}

/// The user whose session or Basic credentials a request carries, unchecked: for the books of tests.
pub(crate) fn presented_user(context: &ServerContext, request: &PlainRequest) -> Option<String> {
    let token = header_auth::presented_token(&request.headers);
    let cookies = cookies::values(&request.headers, cookies::SESSION);
    let ids: Vec<&str> = token.as_deref().into_iter().chain(cookies).collect();
    let switches = context.switches.get();
    context
        .sessions
        .authenticated(ids, context.now(), &switches.login)
        .map(|session| session.user)
        .or_else(|| authenticate::basic_name(request))
}

/// Ends the sessions whose cookies or bearer tokens a request carries.
pub(crate) fn end_presented_sessions(context: &ServerContext, request: &PlainRequest) {
    for id in cookies::values(&request.headers, cookies::SESSION) {
        context.sessions.end(id);
    }
    if let Some(token) = header_auth::presented_token(&request.headers) {
        context.sessions.end(&token);
    }
}

fn protected(context: &ServerContext, caller: Caller, request: PlainRequest) -> Served {
    let switches = context.switches.get();
    let mut response = if accounts::eula_pending(context, &caller.session) {
        PlainResponse::redirect(StatusCode::FOUND, "/prelogin")
    } else if switches.faults.html_for_data && !is_page(&request.raw_path) {
        pages::view("Station", &caller.session.csrf_token, std::iter::empty())
    } else {
        route(context, &caller, request)
    };
    for (name, value) in &caller.reply_headers {
        response.headers.append(name.clone(), value.clone());
    }
    Served {
        response,
        user: Some(caller.session.user),
        session: Some(caller.session.number),
    }
}

fn is_page(path: &str) -> bool {
    matches!(path, "/" | "/logout" | "/timeout" | "/session/timeout")
}

fn route(context: &ServerContext, caller: &Caller, request: PlainRequest) -> PlainResponse {
    let path = request.raw_path.clone();
    let first = path.split('/').nth(1).unwrap_or("");
    let user = AuthenticatedUser {
        name: caller.session.user.clone(),
        session_id: caller.session.id.clone(),
    };
    let switches = context.switches.get();
    match first {
        "" => PlainResponse::redirect(StatusCode::FOUND, login::HOME),
        "logout" => guarded(switches.login.csrf_logout, caller, &request, |_| {
            login::logout(context, &caller.session.id)
        }),
        "timeout" | "session" => login::time_left(context, &request),
        "box" if !switches.boxs.present => not_found(&path),
        "box" => guarded(
            switches.login.csrf_box && request.method == Method::POST,
            caller,
            &request,
            |request| crate::boxs::handle(context, &user, request.clone()),
        ),
        "obix" => guarded(
            switches.login.csrf_obix
                && request.method != Method::GET
                && caller.means == Means::Cookie,
            caller,
            &request,
            |request| crate::obix::handle(context, &user, request.clone()),
        ),
        "ord" => ord_servlet::answer(context, caller, &request),
        "rpc" => guarded(switches.login.csrf_rpc, caller, &request, |request| {
            not_found(&request.raw_path)
        }),
        "file" if path.contains("..") || path.contains("%7C") || path.ends_with(".bog") => {
            pages::error(
                StatusCode::FORBIDDEN,
                "Forbidden",
                "This file is not served.",
            )
        }
        "wb" => pages::error(
            StatusCode::FORBIDDEN,
            "Forbidden",
            "Only Workbench may use this path.",
        ),
        _ => not_found(&path),
    }
}

fn not_found(path: &str) -> PlainResponse {
    pages::error(
        StatusCode::NOT_FOUND,
        "Not Found",
        &format!("Nothing is served at {path}."),
    )
}

/// Runs a servlet behind the CSRF filter; BEARER callers have no ambient credentials to forge (§2.6).
fn guarded(
    demanded: bool,
    caller: &Caller,
    request: &PlainRequest,
    servlet: impl FnOnce(&PlainRequest) -> PlainResponse,
) -> PlainResponse {
    let sent = || {
        request
            .header("x-niagara-csrftoken")
            .map(str::to_owned)
            .or_else(|| request.query_parameter("csrfToken"))
            .or_else(|| request.body_parameter("csrfToken"))
    };
    if demanded
        && caller.means != Means::Bearer
        && sent().as_deref() != Some(caller.session.csrf_token.as_str())
    {
        return pages::error(
            StatusCode::FORBIDDEN,
            "Forbidden",
            "The CSRF token is missing or wrong.",
        );
    }
    servlet(request)
}

#[cfg(test)]
mod tests;
