//! The control port: a small JSON interface to what a test does to a station from another process.
//!
//! | request | effect |
//! |---|---|
//! | `GET /state` | addresses, sessions, clock, certificate, faults |
//! | `GET /faults`, `GET /fired` | the faults that are set; what they hit |
//! | `POST /faults` | sets one, as `{"fault":{"kind":"latency","millis":200},"interface":"obix","requests":3}` |
//! | `DELETE /faults`, `DELETE /faults/ID` | clears all or one |
//! | `POST /restart` | restarts the station; `{"downMillis":500}` refuses connections meanwhile |
//! | `POST /clock` | `{"jumpSeconds":-3600}` sets the clock |
//! | `POST /certificate` | `{"profile":"factory"}` replaces the certificate |
//! | `POST /redirect` | `{"https":true}` redirects plain requests to TLS |
//! | `GET /fox`, `POST /fox` | what Fox clients sent; `{"scenario":"ax"}` changes the answer |
//! | `POST /password` | `{"user":"operator","password":"…"}` changes a password |
//! | `POST /box` | `{"sessionLimit":32}` sets how many BOX server sessions there may be |
//! | `GET /writes` | BOX messages that asked for a change, also those that a fault kept from the servlet |
//! | `GET /audit` | the station's audit trail |
//! | `DELETE /sessions`, `DELETE /sessions/USER` | ends all web sessions or those of one user |
//!
//! It has no login: it listens on the loopback interface unless told otherwise.

mod answer;
mod desk;

use std::convert::Infallible;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::faults::delivery::Delivery;
use crate::server::listener;

pub(crate) use desk::Desk;

/// Serves the control port until told to stop. Faults and restarts of the station do not touch it.
pub(crate) async fn serve(listener: TcpListener, desk: Desk, stop: CancellationToken) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let served = serve_connection(stream, desk.clone());
                let stop = stop.clone();
                connections.spawn(async move {
                    tokio::select! {
                        () = served => {}
                        () = stop.cancelled() => {}
                    }
                });
            }
            Err(error) => tracing::warn!(%error, "cannot accept a control connection"),
        }
    }
    connections.close();
    connections.wait().await;
}

async fn serve_connection(stream: TcpStream, desk: Desk) {
    let service = service_fn(move |request: Request<Incoming>| {
        let desk = desk.clone();
        async move {
            let response = match listener::whole_request(request).await {
                Ok(request) => in_background(desk, request).await,
                Err(response) => *response,
            };
            Ok::<_, Infallible>(listener::reply(response, Delivery::default()))
        }
    });
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "control connection ended");
    }
}

/// Restarts wait for the station's lock and do not belong on the asynchronous threads.
async fn in_background(
    desk: Desk,
    request: crate::server::PlainRequest,
) -> crate::server::PlainResponse {
    match tokio::task::spawn_blocking(move || answer::answer(&desk, &request)).await {
        Ok(response) => response,
        Err(error) => answer::failed(&error),
    }
}
