//! Cookie-free SCRAM in the `Authorization` header: HELLO, SCRAM, BEARER (Station web specification §2.4).

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use http::{HeaderName, HeaderValue, StatusCode};

use super::accounts;
use super::authenticate::{Caller, Means};
use super::random;
use super::scram::{ClientFirst, Exchange};
use crate::server::{LoginOutcome, LoginWay, PlainResponse, ServerContext};
use crate::switches::HandshakeToken;

/// Handshakes kept at once; the oldest go first.
const CAPACITY: usize = 1_000;

/// Handshakes that have begun and not ended.
#[derive(Debug, Default)]
struct Handshakes {
    open: Mutex<OpenHandshakes>,
}

#[derive(Debug, Default)]
struct OpenHandshakes {
    by_token: HashMap<String, Step>,
    order: VecDeque<String>,
}

#[derive(Debug)]
enum Step {
    Greeted,
    Challenged(Box<Exchange>),
}

impl Handshakes {
    fn put(&self, token: String, step: Step) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.order.len() >= CAPACITY
            && let Some(oldest) = open.order.pop_front()
        {
            open.by_token.remove(&oldest);
        }
        open.order.push_back(token.clone());
        open.by_token.insert(token, step);
    }

    fn take(&self, token: &str) -> Option<Step> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.order.retain(|kept| kept != token);
        open.by_token.remove(token)
    }
}

/// Answers a HELLO, SCRAM or BEARER request: the caller once authenticated, else the next step.
pub(super) fn answer(
    context: &ServerContext,
    scheme: &str,
    parameters: &str,
) -> Result<Caller, Box<PlainResponse>> {
    let parameters = parse_parameters(parameters);
    match scheme.to_ascii_uppercase().as_str() {
        "HELLO" => Err(Box::new(hello(context, &parameters))),
        "SCRAM" => scram(context, &parameters),
        _ => bearer(context, &parameters),
    }
}

/// `key=value` pairs, keys in lower case, quotes removed.
fn parse_parameters(text: &str) -> HashMap<String, String> {
    text.split(',')
        .filter_map(|pair| pair.trim().split_once('='))
        .map(|(key, value)| {
            (
                key.trim().to_ascii_lowercase(),
                value.trim().trim_matches('"').to_owned(),
            )
        })
        .collect()
}

/// Base64 of either alphabet, with or without padding.
fn decode(text: &str) -> Option<String> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::URL_SAFE,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    let url_safe = text.replace('+', "-").replace('/', "_");
    let bytes = LENIENT.decode(url_safe).ok()?;
    String::from_utf8(bytes).ok()
}

fn challenge(value: &str) -> PlainResponse {
    PlainResponse::text(StatusCode::UNAUTHORIZED, "").with_header("www-authenticate", value)
}

fn refused() -> PlainResponse {
    super::pages::error(
        StatusCode::UNAUTHORIZED,
        "Unauthorized",
        "The credentials were refused.",
    )
}

fn hello(context: &ServerContext, parameters: &HashMap<String, String>) -> PlainResponse {
    let Some(user) = parameters.get("username").and_then(|text| decode(text)) else {
        context.record_login("", LoginWay::HeaderScram, LoginOutcome::Malformed);
        return refused();
    };
    if accounts::uses_basic(context, &user) {
        context.record_login(&user, LoginWay::HeaderScram, LoginOutcome::WrongScheme);
        return challenge("Basic realm=\"Niagara\", charset=\"UTF-8\"");
    }
    let token = random::token(16);
    context
        .servlet_state::<Handshakes>()
        .put(token.clone(), Step::Greeted);
    challenge(&format!("SCRAM hash=SHA-256, handshakeToken={token}"))
}

fn scram(
    context: &ServerContext,
    parameters: &HashMap<String, String>,
) -> Result<Caller, Box<PlainResponse>> {
    let handshakes = context.servlet_state::<Handshakes>();
    let token = parameters
        .get("handshaketoken")
        .cloned()
        .unwrap_or_default();
    let message = parameters.get("data").and_then(|text| decode(text));
    match (handshakes.take(&token), message) {
        (Some(Step::Greeted), Some(client_first)) => Err(Box::new(client_first_step(
            context,
            &handshakes,
            token,
            &client_first,
        ))),
        (Some(Step::Challenged(exchange)), Some(client_final)) => {
            client_final_step(context, &exchange, &client_final)
        }
        (Some(_), None) | (None, _) => {
            context.record_login("", LoginWay::HeaderScram, LoginOutcome::Malformed);
            Err(Box::new(refused()))
        }
    }
}

fn client_first_step(
    context: &ServerContext,
    handshakes: &Handshakes,
    token: String,
    client_first: &str,
) -> PlainResponse {
    let Ok(client_first) = ClientFirst::parse(client_first) else {
        context.record_login("", LoginWay::HeaderScram, LoginOutcome::Malformed);
        return refused();
    };
    let user = client_first.user.clone();
    let exchange = match accounts::challenge(context, client_first) {
        Ok(exchange) => exchange,
        Err(refusal) => {
            context.record_login(&user, LoginWay::HeaderScram, refusal.into());
            return refused();
        }
    };
    let next = match context.switches.get().login.handshake_token {
        HandshakeToken::New => random::token(16),
        HandshakeToken::Unchanged => token,
    };
    let data = URL_SAFE_NO_PAD.encode(exchange.server_first());
    handshakes.put(next.clone(), Step::Challenged(Box::new(exchange)));
    challenge(&format!(
        "SCRAM handshakeToken={next}, data={data}, hash=SHA-256"
    ))
}

fn client_final_step(
    context: &ServerContext,
    exchange: &Exchange,
    client_final: &str,
) -> Result<Caller, Box<PlainResponse>> {
    let server_final = accounts::finish(context, exchange, client_final, LoginWay::HeaderScram)
        .map_err(|_| Box::new(refused()))?;
    let session = accounts::open_session(context, exchange.user());
    let info = format!(
        "authToken={}, hash=SHA-256, data={}",
        session.id,
        URL_SAFE_NO_PAD.encode(server_final)
    );
    Ok(Caller {
        session,
        means: Means::Bearer,
        reply_headers: HeaderValue::from_str(&info)
            .into_iter()
            .map(|value| (HeaderName::from_static("authentication-info"), value))
            .collect(),
    })
}

fn bearer(
    context: &ServerContext,
    parameters: &HashMap<String, String>,
) -> Result<Caller, Box<PlainResponse>> {
    let token = parameters.get("authtoken").map(String::as_str);
    context
        .sessions
        .authenticated(token, context.now(), &context.switches.get().login)
        .map(|session| Caller {
            session,
            means: Means::Bearer,
            reply_headers: Vec::new(),
        })
        .ok_or_else(|| Box::new(refused()))
}

/// The token of a request's BEARER header, whether it is known or not.
pub(super) fn presented_token(headers: &http::HeaderMap) -> Option<String> {
    let authorization = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, parameters) = authorization.trim().split_once(char::is_whitespace)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    parse_parameters(parameters).remove("authtoken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_accept_any_case_order_quotes_and_padding() {
        let parameters = parse_parameters("Data=\"YQ==\", HANDSHAKETOKEN=t-1");
        assert_eq!(parameters.get("data").map(String::as_str), Some("YQ=="));
        assert_eq!(
            parameters.get("handshaketoken").map(String::as_str),
            Some("t-1")
        );
        assert_eq!(decode("YQ==").as_deref(), Some("a"));
        assert_eq!(decode("YQ").as_deref(), Some("a"));
        assert_eq!(decode("w7w_").as_deref(), Some("ü?"));
        assert_eq!(decode("w7w/").as_deref(), Some("ü?"));
        assert_eq!(decode("!"), None);
    }
}
