//! Who may come in, in the order of Tool surface §1.1, extended by host, origin and rate.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use serde_json::{Value, json};
use url::Url;

use super::connections::read_body;
use super::guesses::Guesses;
use super::tls::PeerAddress;
use super::{Front, HttpOptions, prefix};
use crate::mcp::auth::AuthFailure;
use crate::mcp::message::{Incoming, error_body};
use crate::mcp::protocol::{all_revisions, is_supported_header};
use crate::station::echo::shortened;
use crate::tools::{Category, ErrorCode, Principal, RpcError, ToolSets};

/// Header that carries the session.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
pub const REVISION_HEADER: &str = "mcp-protocol-version";
const TOOLSETS_HEADER: &str = "x-mcp-toolsets";

/// Requests per second that are let in; 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboundLimits {
    pub per_principal: u32,
    pub per_address: u32,
}

impl Default for InboundLimits {
    fn default() -> Self {
        Self {
            per_principal: 100,
            per_address: 200,
        }
    }
}

/// Rules about hosts, origins and rates.
pub struct Visitors {
    hosts: Hosts,
    origins: Vec<String>,
    addresses: Option<DefaultKeyedRateLimiter<IpAddr>>,
    principals: Option<DefaultKeyedRateLimiter<Principal>>,
    guesses: Guesses,
}

#[derive(Debug, PartialEq, Eq)]
enum Hosts {
    Any,
    Loopback,
    Only(Vec<String>),
}

fn limiter<K: std::hash::Hash + Eq + Clone>(per_second: u32) -> Option<DefaultKeyedRateLimiter<K>> {
    NonZeroU32::new(per_second).map(|rate| RateLimiter::keyed(Quota::per_second(rate)))
}

impl Visitors {
    /// Rules for a server that listens on `address`.
    pub fn new(options: &HttpOptions, address: SocketAddr) -> Self {
        let hosts = if !options.allowed_hosts.is_empty() {
            Hosts::Only(
                options
                    .allowed_hosts
                    .iter()
                    .map(|host| host.to_lowercase())
                    .collect(),
            )
        } else if address.ip().is_loopback() {
            Hosts::Loopback
        } else {
            Hosts::Any
        };
        Self {
            hosts,
            origins: options
                .allowed_origins
                .iter()
                .map(|origin| origin.trim_end_matches('/').to_lowercase())
                .collect(),
            addresses: limiter(options.limits.per_address),
            principals: limiter(options.limits.per_principal),
            guesses: Guesses::default(),
        }
    }

    /// Drops what is remembered of addresses and principals that have been quiet.
    pub fn forget_idle(&self) {
        self.guesses.forget_idle();
        if let Some(addresses) = &self.addresses {
            addresses.retain_recent();
        }
        if let Some(principals) = &self.principals {
            principals.retain_recent();
        }
    }

    fn host_allowed(&self, headers: &HeaderMap) -> bool {
        let Some(host) = headers
            .get(header::HOST)
            .map(|host| host.to_str().unwrap_or("?"))
        else {
            return true;
        };
        let name = host_name(host);
        match &self.hosts {
            Hosts::Any => true,
            Hosts::Loopback => is_loopback(&name),
            Hosts::Only(names) => names
                .iter()
                .any(|known| *known == name || known.eq_ignore_ascii_case(host)),
        }
    }

    fn origin(&self, headers: &HeaderMap) -> Origin {
        let Some(value) = headers.get(header::ORIGIN) else {
            return Origin::None;
        };
        let text = value
            .to_str()
            .unwrap_or("")
            .trim_end_matches('/')
            .to_lowercase();
        if self.origins.contains(&text) {
            return Origin::Listed(value.clone());
        }
        let name = Url::parse(&text)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned));
        let own = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok())
            .map(host_name);
        match name {
            Some(name) if is_loopback(&name) || Some(&name) == own.as_ref() => Origin::Own,
            _ => Origin::Foreign,
        }
    }
}

#[derive(Debug, PartialEq)]
enum Origin {
    None,
    Own,
    Listed(HeaderValue),
    Foreign,
}

/// Host name without its port, in lower case; IPv6 addresses keep their brackets.
fn host_name(host: &str) -> String {
    let name = match host.rfind(']') {
        Some(end) => host.get(..=end).unwrap_or(host),
        None => host.split(':').next().unwrap_or(host),
    };
    name.to_lowercase()
}

fn is_loopback(name: &str) -> bool {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || name.ends_with(".localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What the checks found out about a request.
#[derive(Debug, Clone)]
pub struct Admitted {
    pub principal: Principal,
    /// The tool sets that the request names; none leaves those of its session.
    pub asked: Option<ToolSets>,
    /// The connection comes from the bridge's own machine; a proxy there stands for all its clients.
    pub from_this_machine: bool,
}

/// Lets a request in or answers it.
pub async fn admit(State(front): State<Arc<Front>>, request: Request, next: Next) -> Response {
    let origin = front.visitors.origin(request.headers());
    let (mut parts, body) = request.into_parts();
    let mut response = match check(&front, &parts, &origin).await {
        Ok(None) => StatusCode::NO_CONTENT.into_response(),
        Ok(Some(admitted)) => {
            parts.extensions.insert(admitted);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(response)
            if parts.method == Method::POST && response.extensions().get::<TooFast>().is_some() =>
        {
            too_fast_answer(*response, body, &front.options).await
        }
        Err(response) => *response,
    };
    front.bridge.metrics.answer(response.status().as_u16());
    if let Origin::Listed(origin) = origin {
        allow_origin(response.headers_mut(), origin);
    }
    response
}

/// None means: a browser's preflight, allowed.
async fn check(
    front: &Front,
    request: &Parts,
    origin: &Origin,
) -> Result<Option<Admitted>, Box<Response>> {
    let headers = &request.headers;
    if !front.bridge.switches.enabled.load(Ordering::Relaxed) {
        return Err(plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "The service is disabled.",
        ));
    }
    if !front.visitors.host_allowed(headers) {
        return Err(refused(
            StatusCode::FORBIDDEN,
            "host-not-served",
            "This host name is not served; add it to allowedHosts.",
        ));
    }
    if *origin == Origin::Foreign {
        return Err(refused(
            StatusCode::FORBIDDEN,
            "origin-not-allowed",
            "This origin is not allowed; add it to allowedOrigins.",
        ));
    }
    if request.method == Method::OPTIONS && matches!(origin, Origin::Listed(_)) {
        return Ok(None);
    }
    let address = request
        .extensions
        .get::<ConnectInfo<PeerAddress>>()
        .map(|ConnectInfo(PeerAddress(address))| address.ip());
    if let (Some(limiter), Some(address)) = (&front.visitors.addresses, address)
        && limiter.check_key(&address).is_err()
    {
        return Err(too_many());
    }
    let authorization = headers
        .get(header::AUTHORIZATION)
        .map(HeaderValue::as_bytes);
    let authorization = authorization.map(String::from_utf8_lossy);
    let principal = match front
        .authenticator
        .authenticate(authorization.as_deref())
        .await
    {
        Ok(principal) => principal,
        Err(failure) => {
            refuse_token(front, address, failure).await;
            return Err(Box::new(unauthorized(front, failure)));
        }
    };
    if front
        .visitors
        .principals
        .as_ref()
        .is_some_and(|limiter| limiter.check_key(&principal).is_err())
    {
        let mut refusal = too_many();
        refusal.extensions_mut().insert(TooFast);
        return Err(refusal);
    }
    check_transport(front, &request.method, request.uri.path(), headers)?;
    let asked = toolsets(headers, request.uri.query())?;
    Ok(Some(Admitted {
        principal,
        asked,
        from_this_machine: address.is_some_and(|address| address.to_canonical().is_loopback()),
    }))
}

/// Tells a guesser later and later that the guess was wrong; who has a token is never held up.
async fn refuse_token(front: &Front, address: Option<IpAddr>, failure: AuthFailure) {
    if failure != AuthFailure::Invalid {
        return;
    }
    front.bridge.metrics.refused_token();
    let Some(address) = address else { return };
    let (count, delay) = front.visitors.guesses.wrong(address);
    tracing::warn!(%address, count, "a bearer was refused that nobody has");
    tokio::select! {
        () = tokio::time::sleep(delay) => {}
        () = front.stop.cancelled() => {}
    }
}

fn check_transport(
    front: &Front,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Result<(), Box<Response>> {
    let switches = &front.bridge.switches;
    let base = prefix(&front.options.base_path);
    match path.strip_prefix(&base) {
        Some("/mcp") if !switches.streamable.load(Ordering::Relaxed) => {
            Err(Box::new(transport_disabled("streamable-http")))
        }
        // A POST is looked at with its body, which may name a revision too.
        Some("/mcp") if method != Method::POST => check_revision(headers, Value::Null),
        Some("/sse" | "/messages") if !switches.sse.load(Ordering::Relaxed) => {
            Err(Box::new(transport_disabled("sse")))
        }
        _ => Ok(()),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Box<Response> {
    Box::new((status, text).into_response())
}

fn refused(status: StatusCode, kind: &str, text: &str) -> Box<Response> {
    Box::new(refusal(status, kind, text))
}

/// The JSON answer to a request that is refused before its message is looked at.
pub fn refusal(status: StatusCode, kind: &str, text: impl Into<String>) -> Response {
    let code = match status.is_server_error() {
        true => ErrorCode::Internal,
        false => ErrorCode::InvalidRequest,
    };
    let error = RpcError::new(code, text).with("kind", kind);
    json_response(status, &error_body(Value::Null, &error))
}

fn too_fast() -> RpcError {
    RpcError::new(
        ErrorCode::Internal,
        "Too many requests; try again in a second.",
    )
    .with("kind", "rate-limited")
    .with("retryAfterSeconds", 1)
}

fn too_many() -> Box<Response> {
    let body = error_body(Value::Null, &too_fast());
    let mut response = json_response(StatusCode::TOO_MANY_REQUESTS, &body);
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    Box::new(response)
}

/// Marks the 429 of a caller who is known, so that the answer may cost the reading of the body.
#[derive(Debug, Clone, Copy)]
struct TooFast;

/// The 429 as an answer to the request in `body`, so that a client can tell its user.
async fn too_fast_answer(mut refusal: Response, body: Body, options: &HttpOptions) -> Response {
    let body = read_body(body, options.body_limit, options.connections.body)
        .await
        .unwrap_or_default();
    let Ok(Incoming::Request { id, .. }) = Incoming::parse(&body) else {
        return refusal;
    };
    *refusal.body_mut() = Body::from(error_body(id, &too_fast()).to_string());
    refusal
}

fn unauthorized(front: &Front, failure: AuthFailure) -> Response {
    let mut response = (StatusCode::UNAUTHORIZED, failure.to_string()).into_response();
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    front.spelling.apply(&mut response);
    response
}

fn transport_disabled(transport: &str) -> Response {
    let error = RpcError::new(
        ErrorCode::TransportDisabled,
        format!("The transport {transport} is switched off."),
    )
    .with("transport", transport);
    json_response(
        StatusCode::SERVICE_UNAVAILABLE,
        &error_body(Value::Null, &error),
    )
}

/// Refuses a session request of a revision that is not spoken; the answer carries `id`.
pub fn check_revision(headers: &HeaderMap, id: Value) -> Result<(), Box<Response>> {
    let Some(value) = headers.get(REVISION_HEADER) else {
        return Ok(());
    };
    let value = value.to_str().unwrap_or("?");
    if is_supported_header(value) {
        return Ok(());
    }
    let error = RpcError::new(
        ErrorCode::InvalidRequest,
        format!("The protocol revision '{value}' is not supported."),
    )
    .with("supported", json!(all_revisions()))
    .with("requested", value);
    Err(Box::new(json_response(
        StatusCode::BAD_REQUEST,
        &error_body(id, &error),
    )))
}

/// The header wins over the query parameter; what is given more than once counts together.
fn toolsets(headers: &HeaderMap, query: Option<&str>) -> Result<Option<ToolSets>, Box<Response>> {
    let mut names: Vec<String> = headers
        .get_all(TOOLSETS_HEADER)
        .iter()
        .map(|value| value.to_str().unwrap_or("?").to_owned())
        .collect();
    if names.is_empty() {
        names = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes())
            .filter(|(key, _)| key == "toolsets")
            .map(|(_, value)| value.into_owned())
            .collect();
    }
    if names.is_empty() {
        return Ok(None);
    }
    ToolSets::parse(&names.join(",")).map(Some).map_err(|name| {
        let known = Category::ALL.map(Category::name);
        let error = RpcError::new(
            ErrorCode::InvalidRequest,
            format!(
                "There is no tool set '{}'; there are {}.",
                shortened(&name),
                known.join(", ")
            ),
        )
        .with("toolset", shortened(&name).into_owned())
        .with("known", json!(known));
        Box::new(json_response(
            StatusCode::BAD_REQUEST,
            &error_body(Value::Null, &error),
        ))
    })
}

fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    let fixed = [
        (
            header::ACCESS_CONTROL_ALLOW_METHODS,
            "GET, POST, DELETE, OPTIONS",
        ),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-MCP-Toolsets, Last-Event-ID",
        ),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Mcp-Session-Id"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// A JSON answer with the content type of Tool surface §1.2.
pub fn json_response(status: StatusCode, body: &Value) -> Response {
    json_text(status, body.to_string())
}

/// The same for JSON that is written already.
pub fn json_text(status: StatusCode, body: String) -> Response {
    (
        status,
        [(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json; charset=utf-8"),
        )],
        body,
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("value")))
            .collect()
    }

    fn visitors(address: &str, hosts: &[&str], origins: &[&str]) -> Visitors {
        let options = HttpOptions {
            allowed_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            allowed_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
            ..HttpOptions::default()
        };
        Visitors::new(&options, address.parse().expect("address"))
    }

    #[test]
    fn on_loopback_only_loopback_names_are_served() {
        let local = visitors("127.0.0.1:8723", &[], &[]);
        for host in [
            "localhost",
            "LOCALHOST:8723",
            "127.0.0.1:8723",
            "[::1]:8723",
            "app.localhost",
        ] {
            assert!(local.host_allowed(&headers(&[("host", host)])), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8723",
            "192.168.1.4",
        ] {
            assert!(!local.host_allowed(&headers(&[("host", host)])), "{host}");
        }
        assert!(
            visitors("10.0.0.4:8723", &[], &[]).host_allowed(&headers(&[("host", "bms.example")]))
        );
        let named = visitors("10.0.0.4:8723", &["BMS.example"], &[]);
        assert!(named.host_allowed(&headers(&[("host", "bms.example:8723")])));
        assert!(!named.host_allowed(&headers(&[("host", "10.0.0.4:8723")])));
    }

    #[test]
    fn own_loopback_and_listed_origins_may_come() {
        let rules = visitors("10.0.0.4:8723", &[], &["https://Console.example/"]);
        let origin = |value: &str| {
            rules.origin(&headers(&[("host", "bms.example:8723"), ("origin", value)]))
        };
        assert_eq!(origin("http://bms.example:8723"), Origin::Own);
        assert_eq!(origin("http://localhost:6274"), Origin::Own);
        assert!(matches!(
            origin("https://console.example"),
            Origin::Listed(_)
        ));
        for foreign in [
            "https://evil.example",
            "null",
            "",
            "http://bms.example.evil",
        ] {
            assert_eq!(origin(foreign), Origin::Foreign, "{foreign}");
        }
        assert_eq!(rules.origin(&HeaderMap::new()), Origin::None);
    }

    #[test]
    fn the_header_chooses_tool_sets_before_the_query() {
        let chosen = toolsets(
            &headers(&[("x-mcp-toolsets", "read")]),
            Some("toolsets=write"),
        )
        .expect("known");
        assert_eq!(chosen, ToolSets::parse("read").ok());
        let both = ToolSets::parse("read,history").ok();
        for query in [
            "a=1&toolsets=read%2Chistory",
            "toolsets=read&toolsets=history",
            "toolsets=READ&b=2&toolsets=,History,",
        ] {
            let chosen = toolsets(&HeaderMap::new(), Some(query)).expect("known");
            assert_eq!(chosen, both, "{query}");
        }
        let mut twice = HeaderMap::new();
        for name in ["Read", "history"] {
            twice.append(TOOLSETS_HEADER, name.parse().expect("value"));
        }
        assert_eq!(toolsets(&twice, None).expect("known"), both);
        assert_eq!(
            toolsets(&HeaderMap::new(), Some("a=1")).expect("none"),
            None
        );
        let refusal =
            toolsets(&HeaderMap::new(), Some("toolsets=read&toolsets=reed")).expect_err("unknown");
        assert_eq!(refusal.status(), StatusCode::BAD_REQUEST);
    }
}
