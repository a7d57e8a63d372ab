//! What the bridge says outside requests: subscriptions and changed lists, passed on as they come.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, header};
use tokio::io::AsyncWrite;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{Output, Relay};
use crate::tools::RpcError;

/// Pause before a stream that ended early is opened again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl Relay {
    /// Keeps a stream of the present session open; ends with the relay.
    pub(super) async fn listen<W: AsyncWrite + Send + Unpin>(&self, output: &Mutex<Output<W>>) {
        let mut sessions = self.opened.subscribe();
        let mut pause = FIRST_PAUSE;
        loop {
            let session = match sessions.wait_for(Option::is_some).await {
                Ok(session) => session.clone(),
                Err(_) => return,
            };
            let begin = Instant::now();
            let again = match self.listen_once(session, output).await {
                Ok(again) => again,
                Err(error) => {
                    tracing::debug!(error = %error.message, "the stream of the session ended");
                    true
                }
            };
            if begin.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            let changed = tokio::select! {
                changed = sessions.changed() => changed.is_ok(),
                () = tokio::time::sleep(pause), if again => {
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    true
                }
            };
            if !changed {
                return;
            }
        }
    }

    /// False when the bridge does not know the session or has no stream for it: another one has to be opened first.
    async fn listen_once<W: AsyncWrite + Send + Unpin>(
        &self,
        session: Option<HeaderValue>,
        output: &Mutex<Output<W>>,
    ) -> Result<bool, RpcError> {
        let mut headers = self.headers(session)?;
        let stream = HeaderValue::from_static("text/event-stream");
        headers.insert(header::ACCEPT, stream);
        let response = self.exchange(Method::GET, headers, Bytes::new()).await?;
        if response.status != 200 {
            return Ok(false);
        }
        self.forward_events(response.into_body(), output).await?;
        Ok(true)
    }
}
