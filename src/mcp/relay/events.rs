//! An event stream, message by message (Server-sent events, "Interpreting an event stream").

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde_json::Value;

use crate::station::error::StationError;
use crate::station::http::HttpBody;

/// A longer event is not of a bridge: its answers end at 32 MiB.
const LONGEST_EVENT: usize = 64 << 20;

/// Why a stream gave no further message.
#[derive(Debug, thiserror::Error)]
pub(super) enum StreamFault {
    #[error(transparent)]
    Broken(#[from] StationError),
    #[error("an event is longer than {} MiB", LONGEST_EVENT >> 20)]
    TooLong,
    #[error("nothing was heard for {} s", .0.as_secs())]
    Silent(Duration),
}

/// Reads the messages of a body.
pub(super) struct Events {
    body: HttpBody,
    waiting: BytesMut,
    /// How much of `waiting` was searched for an end already.
    searched: usize,
    patience: Option<Duration>,
}

impl Events {
    pub(super) fn of(body: HttpBody) -> Self {
        Self {
            body,
            waiting: BytesMut::new(),
            searched: 0,
            patience: None,
        }
    }

    /// Fails when nothing at all comes for that time.
    pub(super) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// The next message; none at the end of the stream. Comments and events that are no JSON are passed over.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, StreamFault> {
        loop {
            while let Some(event) = self.cut() {
                if let Some(message) = message_of(&event) {
                    return Ok(Some(message));
                }
            }
            match self.piece().await? {
                Some(piece) => self.waiting.extend_from_slice(&piece),
                None => return Ok(None),
            }
            if self.waiting.len() > LONGEST_EVENT {
                return Err(StreamFault::TooLong);
            }
        }
    }

    /// The next piece, within the time after which silence means that nobody is there.
    async fn piece(&mut self) -> Result<Option<Bytes>, StreamFault> {
        let Some(patience) = self.patience else {
            return Ok(self.body.chunk().await?);
        };
        match tokio::time::timeout(patience, self.body.chunk()).await {
            Ok(piece) => Ok(piece?),
            Err(_) => Err(StreamFault::Silent(patience)),
        }
    }

    /// Cuts the first complete event off.
    fn cut(&mut self) -> Option<BytesMut> {
        let end = end_of_event(&self.waiting, self.searched);
        if end.is_none() {
            // An end of four octets may have begun.
            self.searched = self.waiting.len().saturating_sub(3);
        }
        let event = self.waiting.split_to(end?);
        self.searched = 0;
        Some(event)
    }
}

/// Behind the first empty line, whatever the line ends are.
fn end_of_event(text: &[u8], from: usize) -> Option<usize> {
    let tail = text.get(from..)?;
    let ends: [&[u8]; 2] = [b"\n\n", b"\r\n\r\n"];
    let found = ends.iter().filter_map(|end| {
        let at = tail.windows(end.len()).position(|part| part == *end)?;
        Some(from + at + end.len())
    });
    found.min()
}

fn message_of(event: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(event).ok()?;
    let data: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|data| data.strip_prefix(' ').unwrap_or(data))
        .collect();
    if data.is_empty() {
        return None;
    }
    serde_json::from_str(&data.join("\n")).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_end_with_an_empty_line_of_either_kind() {
        assert_eq!(end_of_event(b"data: 1\n\ndata: 2\n\n", 0), Some(9));
        assert_eq!(end_of_event(b"data: 1\r\n\r\nx", 0), Some(11));
        assert_eq!(end_of_event(b"data: 1\n", 0), None);
        assert_eq!(end_of_event(b"data: 1\n\n", 6), Some(9));
    }

    #[test]
    fn comments_are_no_messages_and_data_lines_are_joined() {
        assert_eq!(message_of(b": ping\n\n"), None);
        assert_eq!(message_of(b"data: no json\n\n"), None);
        assert_eq!(
            message_of(b"event: message\ndata:{\"a\":\ndata: 1}\n\n"),
            Some(json!({ "a": 1 }))
        );
    }
}
