//! The oBIX servlet: the station as XML objects under `/obix/` (oBIX specification).
//!
//! - `element`, `encode`, `decode`: objects and their XML; `time`, `value`: lexical forms and station values.
//! - `address`: what a URL or an href names; `dispatch`: which file answers it, for requests and for batch members alike.
//! - `lobby`, `about`, `config` (with `component`, `op`, `range`), `definition`, `units`, `history`, `alarm`, `watch`,
//!   `batch`: one file or folder per branch of the tree.
//! - `command` (with `argument`): ops and writable properties of components.

mod about;
mod address;
mod alarm;
mod argument;
mod batch;
mod command;
mod component;
mod config;
mod contract;
mod decode;
mod definition;
mod dispatch;
mod element;
mod encode;
mod error;
mod history;
mod lobby;
mod op;
mod range;
mod scope;
mod time;
mod units;
mod value;
mod watch;

#[cfg(test)]
mod tests;

use http::{Method, StatusCode};

use crate::server::{AuthenticatedUser, PlainRequest, PlainResponse, ServerContext};
use crate::switches::ObixMode;
use address::Address;
use element::Element;
use error::ObixError;
use scope::Caller;

pub use watch::count as watch_count;

/// Answers one authenticated request to the oBIX servlet; failures are `<err>` documents with HTTP 200
/// (oBIX specification §1.2, §9).
pub fn handle(
    context: &ServerContext,
    user: &AuthenticatedUser,
    request: PlainRequest,
) -> PlainResponse {
    let switches = context.switches.get();
    if let Some(refusal) = refusal(switches.obix.mode) {
        return refusal;
    }
    let caller = Caller {
        context,
        user,
        switches: &switches.obix,
        origin: origin(&request),
    };
    let href = match request.raw_query.as_deref() {
        Some(query) => format!("{}{}?{query}", caller.origin, request.raw_path),
        None => format!("{}{}", caller.origin, request.raw_path),
    };
    let (status, outcome) = match request.method {
        Method::GET | Method::HEAD => (StatusCode::OK, get(&caller, &request)),
        Method::POST => (StatusCode::OK, post(&caller, &request)),
        Method::PUT => (StatusCode::OK, put(&caller, &request)),
        _ => (
            StatusCode::METHOD_NOT_ALLOWED,
            Err(ObixError::Unsupported(format!(
                "{} is no oBIX request: use GET, PUT or POST",
                request.method
            ))),
        ),
    };
    let root = outcome.unwrap_or_else(|error| error.element(&href));
    PlainResponse::xml(status, encode::document(&root))
}

/// Whether a request asks the station to change something: a PUT, an op of a component or alarm, or a batch with one.
pub(crate) fn writes(request: &PlainRequest) -> bool {
    if request.method == Method::PUT {
        return true;
    }
    let path = request.raw_path.trim_end_matches('/');
    let mut names = path.split('/').skip(2);
    // Ops whose names start with `~` are queries.
    let query = path
        .rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with('~'));
    request.method == Method::POST
        && match names.next() {
            Some("config" | "alarm") => !query,
            Some("batch") => {
                let body = request.body_text();
                body.contains("obix:Write") || body.contains("obix:Invoke")
            }
            _ => false,
        }
}

fn get(caller: &Caller<'_>, request: &PlainRequest) -> Result<Element, ObixError> {
    let address = Address::of_request(&request.raw_path, request.raw_query.as_deref())?;
    let mut root = dispatch::read(caller, &address)?;
    if root.get("href").is_none() {
        root.set("href", format!("{}{}", caller.origin, address.canonical()));
    }
    Ok(root)
}

fn post(caller: &Caller<'_>, request: &PlainRequest) -> Result<Element, ObixError> {
    let address = Address::of_request(&request.raw_path, request.raw_query.as_deref())?;
    let argument = decode::document(&request.body)?;
    dispatch::invoke(caller, &address, argument.as_ref())
}

fn put(caller: &Caller<'_>, request: &PlainRequest) -> Result<Element, ObixError> {
    let address = Address::of_request(&request.raw_path, request.raw_query.as_deref())?;
    let value = decode::document(&request.body)?
        .ok_or_else(|| ObixError::Failed("A PUT needs a value element as its body".into()))?;
    let mut written = dispatch::write(caller, &address, &value)?;
    if written.get("href").is_none() {
        written.set("href", format!("{}{}", caller.origin, address.canonical()));
    }
    Ok(written)
}

/// The answer of a servlet that is not set up to serve (oBIX specification §14).
fn refusal(mode: ObixMode) -> Option<PlainResponse> {
    let (status, text) = match mode {
        ObixMode::BasicOk | ObixMode::DigestOnly | ObixMode::RedirectLogin => return None,
        ObixMode::Disabled => (StatusCode::GONE, "The oBIX server is disabled.\n"),
        ObixMode::Unlicensed500 => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "javax.baja.license.LicenseException: obixDriver.export\n",
        ),
        ObixMode::Unlicensed403 => (StatusCode::FORBIDDEN, "Obix server not licensed\n"),
        ObixMode::NoServlet => (
            StatusCode::NOT_FOUND,
            "No servlet is registered for this path.\n",
        ),
    };
    Some(PlainResponse::text(status, text))
}

/// Scheme and authority as the station sees them: its own transport and the request's `Host` (oBIX specification §3 rule 5).
fn origin(request: &PlainRequest) -> String {
    let scheme = if request.secure { "https" } else { "http" };
    let authority = request.header("host").unwrap_or("localhost");
    format!("{scheme}://{authority}")
}
