//! The HTTP/1.1 listener: connections in, whole requests to the web tier, faults on the way out.

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::context::ServerContext;
use super::exchange::{PlainRequest, PlainResponse};
use super::log::{RequestEntry, masked_target};
use crate::faults::delivery::{Delivery, ReplyBody};
use crate::faults::plan::Plan;
use crate::faults::{Interface, Occasion};
use crate::{boxs, obix, tls, web};

/// Largest request body taken; a BOX envelope is 1 MB at most (Station web specification §4.1).
const BODY_LIMIT: usize = 8 * 1024 * 1024;

/// How long requests in work may take to end after shutdown was asked for.
const GRACE: Duration = Duration::from_secs(2);

/// Longest TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Closes the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("connection cut by a fault switch")]
struct Cut;

/// Serves the web tier on a listener, in TLS when settings for it are given, until told to stop.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    context: ServerContext,
    stop: CancellationToken,
) {
    let connections = TaskTracker::new();
    while let Some(stream) = accept(&listener, &context, &stop).await {
        connections.spawn(serve_stream(
            stream,
            tls.clone(),
            context.clone(),
            stop.clone(),
        ));
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// The next connection to a station that is up; none when it stops.
pub(crate) async fn accept(
    listener: &TcpListener,
    context: &ServerContext,
    stop: &CancellationToken,
) -> Option<TcpStream> {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return None,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(_) if context.lifecycle.is_down() => {}
            Ok((stream, _)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot switch off Nagle's algorithm");
                }
                return Some(stream);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                // Out of file handles: accepting again at once would spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve_stream(
    stream: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    context: ServerContext,
    stop: CancellationToken,
) {
    let process = context.lifecycle.connections();
    let served = async {
        let Some(config) = tls else {
            return serve_connection(stream, false, context, stop).await;
        };
        let handshake = TlsAcceptor::from(config).accept(stream);
        match tokio::time::timeout(HANDSHAKE, handshake).await {
            Ok(Ok(stream)) => serve_connection(stream, true, context, stop).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    };
    tokio::select! {
        () = served => {}
        () = process.cancelled() => {}
    }
}

async fn serve_connection<Stream>(
    stream: Stream,
    secure: bool,
    context: ServerContext,
    stop: CancellationToken,
) where
    Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| answer(context.clone(), secure, request));
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        () = stop.cancelled() => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(GRACE, connection)
                .await
                .unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

async fn answer(
    context: ServerContext,
    secure: bool,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Cut> {
    let faults = context.switches.get().faults.clone();
    if let Some(delay) = faults.delay {
        tokio::time::sleep(delay).await;
    }
    if faults.cut {
        return Err(Cut);
    }
    let request = match whole_request(request).await {
        Ok(request) => PlainRequest { secure, ..request },
        Err(response) => return Ok(reply(*response, Delivery::default())),
    };
    let occasion = occasion(&context, &request);
    let plan = Plan::new(context.faults.draw(&occasion));
    let sender = occasion
        .writes
        .then(|| web::presented_user(&context, &request))
        .flatten();
    let lost = || {
        if occasion.interface == Interface::Box && occasion.writes {
            boxs::note_lost(&context, sender.as_deref(), &request.body);
        }
    };
    if plan.cuts() || plan.restart().is_some() {
        // Before the restart, which drops this connection and with it the work on its request.
        lost();
    }
    disturb(&plan, &context).await?;
    if request.raw_path.starts_with("/obix") {
        let obix = context.switches.get().obix.clone();
        if let Some(delay) = obix.delay {
            tokio::time::sleep(delay).await;
        }
        if drops(&context, obix.drop_every) {
            return Err(Cut);
        }
    }
    let seen = transport_view(plan.context(&context), secure);
    let mut response = match plan.refusal(&seen, &request) {
        Some(refusal) => {
            lost();
            log_refusal(&seen, &request, refusal)
        }
        None => dispatch(seen, request).await,
    };
    if plan.cuts_after() {
        return Err(Cut);
    }
    plan.alter(&mut response);
    if secure {
        tls::mark_secure(&mut response.headers);
    }
    let mut delivery = plan.delivery(response.body.len());
    if let Some(limit) = faults.body_limit {
        delivery.cut_at(limit);
    }
    Ok(reply(response, delivery))
}

fn occasion(context: &ServerContext, request: &PlainRequest) -> Occasion {
    let interface = Interface::of(&request.raw_path, &request.headers);
    Occasion {
        time: context.now(),
        interface,
        writes: match interface {
            Interface::Box => request.method == Method::POST && boxs::mutates(&request.body),
            Interface::Obix => obix::writes(request),
            _ => false,
        },
        method: request.method.to_string(),
        target: masked_target(&request.raw_path, request.raw_query.as_deref()),
    }
}

/// Lets happen what the faults do before the request is looked at.
async fn disturb(plan: &Plan, context: &ServerContext) -> Result<(), Cut> {
    let latency = plan.latency();
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    if let Some(down) = plan.restart() {
        let context = context.clone();
        // Waits for the station's lock, which servlets may hold for a while.
        let restarted = tokio::task::spawn_blocking(move || context.restart(down)).await;
        if let Err(error) = restarted {
            tracing::error!(%error, "the station could not be restarted");
        }
        return Err(Cut);
    }
    for step in plan.clock_jumps() {
        context.station.jump_clock(step);
    }
    if plan.cuts() { Err(Cut) } else { Ok(()) }
}

/// A request that came over TLS needs no redirect to TLS.
fn transport_view(context: ServerContext, secure: bool) -> ServerContext {
    let switches = context.switches.get();
    if !secure || switches.login.https_only.is_none() {
        return context;
    }
    let mut switches = (*switches).clone();
    switches.login.https_only = None;
    context.with_switches(switches)
}

fn log_refusal(
    context: &ServerContext,
    request: &PlainRequest,
    response: PlainResponse,
) -> PlainResponse {
    context.requests.push(RequestEntry {
        time: context.now(),
        method: request.method.to_string(),
        target: masked_target(&request.raw_path, request.raw_query.as_deref()),
        status: response.status.as_u16(),
        user: None,
        session: None,
    });
    response
}

/// Counts oBIX requests for the switch that drops every n-th.
#[derive(Debug, Default)]
struct DropCounter(std::sync::atomic::AtomicU32);

fn drops(context: &ServerContext, every: Option<u32>) -> bool {
    let Some(every) = every.filter(|every| *every > 0) else {
        return false;
    };
    let counter = context.servlet_state::<DropCounter>();
    let count = counter
        .0
        .fetch_add(1, std::sync::atomic::Ordering::Relaxed)
        .wrapping_add(1);
    count.is_multiple_of(every)
}

/// Evaluates off the asynchronous threads: a query over the whole station takes a while.
async fn dispatch(context: ServerContext, request: PlainRequest) -> PlainResponse {
    let method = request.method.to_string();
    let target = masked_target(&request.raw_path, request.raw_query.as_deref());
    let work = context.clone();
    let outcome = tokio::task::spawn_blocking(move || web::handle(&work, request)).await;
    let served = match outcome {
        Ok(served) => served,
        Err(error) => {
            tracing::error!(%error, %method, %target, "a servlet failed");
            web::Served::anonymous(web::pages::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Internal Server Error",
                "The servlet failed; see the station's log.",
            ))
        }
    };
    context.requests.push(RequestEntry {
        time: context.now(),
        method,
        target,
        status: served.response.status.as_u16(),
        user: served.user,
        session: served.session,
    });
    served.response
}

/// Reads a request with its body, as one over a plain connection.
pub(crate) async fn whole_request(
    request: Request<Incoming>,
) -> Result<PlainRequest, Box<PlainResponse>> {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => {
            return Err(Box::new(PlainResponse::text(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("The request body could not be read: {error}\n"),
            )));
        }
    };
    Ok(PlainRequest {
        method: head.method,
        raw_path: head.uri.path().to_owned(),
        raw_query: head.uri.query().map(str::to_owned),
        headers: head.headers,
        body,
        secure: false,
    })
}

pub(crate) fn reply(response: PlainResponse, delivery: Delivery) -> Response<ReplyBody> {
    let length = response.body.len();
    let mut reply = Response::new(delivery.body(response.body));
    *reply.status_mut() = response.status;
    *reply.headers_mut() = response.headers;
    reply
        .headers_mut()
        .insert(CONTENT_LENGTH, HeaderValue::from(length));
    reply
}
