//! The HTTP/1.1 listener: connections in, whole requests to the web tier, faults on the way out.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::context::ServerContext;
use super::exchange::{PlainRequest, PlainResponse};
use super::log::{RequestEntry, masked_target};
use crate::web;

/// Largest request body taken; a BOX envelope is 1 MB at most (Station web specification §4.1).
const BODY_LIMIT: usize = 8 * 1024 * 1024;

/// How long requests in work may take to end after shutdown was asked for.
const GRACE: Duration = Duration::from_secs(2);

type ReplyBody = BoxBody<Bytes, io::Error>;

/// Closes the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("connection cut by a fault switch")]
struct Cut;

pub(super) async fn serve(listener: TcpListener, context: ServerContext, stop: CancellationToken) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(serve_connection(stream, context.clone(), stop.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                // Out of file handles: accepting again at once would spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn serve_connection(stream: TcpStream, context: ServerContext, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot switch off Nagle's algorithm");
    }
    let service = service_fn(move |request| answer(context.clone(), request));
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
        Ok(request) => request,
        Err(response) => return Ok(reply(*response, None)),
    };
    if request.raw_path.starts_with("/obix") {
        let obix = context.switches.get().obix.clone();
        if let Some(delay) = obix.delay {
            tokio::time::sleep(delay).await;
        }
        if drops(&context, obix.drop_every) {
            return Err(Cut);
        }
    }
    let response = dispatch(context, request).await;
    Ok(reply(response, faults.body_limit))
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

async fn whole_request(request: Request<Incoming>) -> Result<PlainRequest, Box<PlainResponse>> {
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
    })
}

fn reply(response: PlainResponse, cut_at: Option<usize>) -> Response<ReplyBody> {
    let length = response.body.len();
    let body = match cut_at {
        Some(limit) if limit < length => CutBody {
            part: Some(response.body.slice(..limit)),
            flushed: false,
        }
        .boxed(),
        _ => Full::new(response.body)
            .map_err(|never: Infallible| match never {})
            .boxed(),
    };
    let mut reply = Response::new(body);
    *reply.status_mut() = response.status;
    *reply.headers_mut() = response.headers;
    reply
        .headers_mut()
        .insert(CONTENT_LENGTH, HeaderValue::from(length));
    reply
}

/// A body that sends its first bytes and then breaks the connection.
struct CutBody {
    part: Option<Bytes>,
    flushed: bool,
}

impl Body for CutBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(part) = self.part.take() {
            return Poll::Ready(Some(Ok(Frame::data(part))));
        }
        if !self.flushed {
            // The server flushes what it has when a body makes it wait.
            self.flushed = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::new(
            io::ErrorKind::ConnectionReset,
            "body cut by a fault switch",
        ))))
    }
}
