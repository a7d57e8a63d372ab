//! The client's end: one message per line, from many writers.

use futures::SinkExt;
use serde_json::Value;
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::codec::{FramedWrite, LinesCodec};

/// Messages that may wait for a slow reader; further writers wait too.
const QUEUE: usize = 64;

/// Writes messages to the client.
#[derive(Clone)]
pub(super) struct Output(mpsc::Sender<String>);

impl Output {
    /// Writes to `output` until every copy is dropped; the task ends when all is written.
    pub(super) fn to(output: impl AsyncWrite + Send + Unpin + 'static) -> (Self, JoinHandle<()>) {
        let (sender, mut lines) = mpsc::channel::<String>(QUEUE);
        let task = tokio::spawn(async move {
            let mut output = FramedWrite::new(output, LinesCodec::new());
            while let Some(line) = lines.recv().await {
                if let Err(error) = output.send(line).await {
                    tracing::error!(%error, "standard output cannot be written");
                    return;
                }
            }
        });
        (Self(sender), task)
    }

    /// Hands a message over; one for a client that is gone is dropped, which the end of input tells as well.
    pub(super) async fn write(&self, message: &Value) {
        if self.0.send(message.to_string()).await.is_err() {
            tracing::debug!("a message found no reader");
        }
    }

    /// Ends when the client reads no longer.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}
