//! The exact spelling of a response header's name.
//!
//! Header names are case-insensitive and hyper writes them in lower case, but the surface's own client looks for
//! exactly `WWW-Authenticate` (Tool surface §14). hyper keeps the spelling of parsed headers in a private extension
//! and uses it again when it writes; so one canned request is parsed at start and its extensions are kept.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::http::Extensions;
use axum::response::Response;
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;

/// Extensions that make hyper spell a header as wanted.
#[derive(Clone, Default)]
pub struct HeaderSpelling(Extensions);

impl HeaderSpelling {
    /// Learns the spelling of `name`; without success names stay in lower case.
    pub async fn of(name: &str) -> Self {
        let (mut client, server) = tokio::io::duplex(1024);
        let request =
            format!("GET / HTTP/1.1\r\nhost: x\r\n{name}: x\r\nconnection: close\r\n\r\n");
        if client.write_all(request.as_bytes()).await.is_err() {
            return Self::default();
        }
        let kept = Arc::new(Mutex::new(Extensions::new()));
        let keeper = kept.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            if let Ok(mut kept) = keeper.lock() {
                *kept = request.extensions().clone();
            }
            std::future::ready(Ok::<_, Infallible>(hyper::Response::new(
                Empty::<Bytes>::new(),
            )))
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .preserve_header_case(true)
            .serve_connection(TokioIo::new(server), service);
        if let Err(error) = connection.await {
            tracing::debug!(%error, "the spelling of a header could not be learned");
        }
        let extensions = kept.lock().map(|kept| kept.clone()).unwrap_or_default();
        Self(extensions)
    }

    /// Applies the spelling to one response.
    pub fn apply(&self, response: &mut Response) {
        response.extensions_mut().extend(self.0.clone());
    }
}
