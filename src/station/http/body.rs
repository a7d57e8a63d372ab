//! Answers and their bodies, received under size and time limits.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::connections::PoolInUse;
use super::failure::chain;
use crate::station::error::{CallTime, StationError};

/// The head of an answer and the connection that still carries its body.
#[derive(Debug)]
pub struct HttpResponse {
    /// Status code.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    pub(super) body: HttpBody,
}

impl HttpResponse {
    /// The body as a stream.
    pub fn into_body(self) -> HttpBody {
        self.body
    }

    /// `Content-Type` without parameters, lower case; empty when absent.
    pub fn content_type(&self) -> String {
        content_type_of(&self.headers)
    }
}

pub(crate) fn content_type_of(headers: &HeaderMap) -> String {
    headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(|value| value.trim().to_ascii_lowercase())
        .unwrap_or_default()
}

/// A body being received. Dropping it closes the connection and frees its place among the requests in flight.
#[derive(Debug)]
pub struct HttpBody {
    pub(super) response: reqwest::Response,
    pub(super) pool: PoolInUse,
    pub(super) ahead: Option<Bytes>,
    pub(super) target: String,
    pub(super) station: String,
    pub(super) received: u64,
    pub(super) limit: u64,
    pub(super) expires: Instant,
    /// The call whose time ends the body, where its own limit does not.
    pub(super) call: Option<Box<CallTime>>,
    pub(super) begin: Instant,
    pub(super) _place: OwnedSemaphorePermit,
}

impl HttpBody {
    /// The next piece; none at the end. Fails when the connection breaks, the time is up or the size limit is reached.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, StationError> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        let received = tokio::time::timeout_at(self.expires, self.response.chunk()).await;
        let chunk = match received {
            Err(_) => {
                return Err(StationError::Timeout {
                    what: self.target.clone(),
                    after: self.begin.elapsed(),
                    call: self.call.clone(),
                });
            }
            Ok(Err(error)) => {
                self.pool.broke();
                return Err(StationError::Cut {
                    station: self.station.clone(),
                    target: self.target.clone(),
                    received: self.received,
                    cause: chain(&error),
                });
            }
            Ok(Ok(chunk)) => chunk,
        };
        let length = chunk.as_ref().map_or(0, Bytes::len) as u64;
        self.received = self.received.saturating_add(length);
        if self.received > self.limit {
            return Err(StationError::TooLarge {
                target: self.target.clone(),
                limit: self.limit,
            });
        }
        Ok(chunk)
    }

    /// Puts a piece back, so that the next [`chunk`](Self::chunk) gives it again.
    pub fn put_back(&mut self, piece: Bytes) {
        self.ahead = Some(match self.ahead.take() {
            Some(rest) => {
                let mut joined = BytesMut::from(piece.as_ref());
                joined.extend_from_slice(&rest);
                joined.freeze()
            }
            None => piece,
        });
    }

    /// The rest of the body in one piece.
    pub async fn bytes(mut self) -> Result<Bytes, StationError> {
        let mut all = BytesMut::new();
        while let Some(piece) = self.chunk().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }

    /// At most the first `limit` bytes of the body; the rest is not received.
    pub async fn first_bytes(mut self, limit: usize) -> Result<Bytes, StationError> {
        let mut all = BytesMut::new();
        while all.len() < limit {
            match self.chunk().await? {
                Some(piece) => all.extend_from_slice(&piece),
                None => break,
            }
        }
        all.truncate(limit);
        Ok(all.freeze())
    }
}
