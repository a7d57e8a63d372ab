//! What the bridge says by itself: notifications and questions outside the answers to calls.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use http::HeaderValue;
use tokio::time::Instant;

use super::Shared;
use super::events::Events;
use super::link::failed;
use crate::tools::RpcError;

/// Pauses between attempts to have a stream again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    pub first: Duration,
    pub longest: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(200),
            longest: Duration::from_secs(30),
        }
    }
}

impl Pauses {
    /// Growing, jittered pauses without an end.
    pub(super) fn row(self) -> impl Iterator<Item = Duration> {
        let growing = ExponentialBuilder::default()
            .with_min_delay(self.first)
            .with_max_delay(self.longest)
            .without_max_times()
            .with_jitter();
        // The iterator has no end, and the longest pause stands in where it had one.
        growing.build().chain(std::iter::repeat(self.longest))
    }
}

/// A silent stream is opened again: a bridge sends a sign of life every `sseHeartbeatSec`, 25 s unless configured otherwise.
const PATIENCE: Duration = Duration::from_secs(300);

/// A stream that lived as long was not refused.
pub(super) const LASTING: Duration = Duration::from_secs(5);

/// How a connection ended.
struct Cut {
    /// It was of use before: the next attempt need not wait for long.
    served: bool,
    /// Something may have been said that did not arrive.
    gap: bool,
    cause: String,
}

/// How a stream ended.
enum End {
    /// The session has another id now.
    OtherSession,
    /// The bridge does not know the session.
    Lost(HeaderValue),
    Cut(Cut),
    /// The bridge serves no stream to this client.
    Refused(RpcError),
}

/// Passes on what the bridge says by itself, as long as the relay runs.
pub(super) async fn pass_on_pushed(shared: Arc<Shared>) {
    let mut ids = shared.session.ids();
    let mut pauses = shared.pauses.row();
    let mut gap = false;
    loop {
        let id = match ids.wait_for(Option::is_some).await {
            Ok(id) => id.clone(),
            Err(_) => return,
        };
        let Some(id) = id else { continue };
        let end = tokio::select! {
            end = one_stream(&shared, id.clone(), &mut gap) => end,
            () = changed(&mut ids, &id) => End::OtherSession,
        };
        match end {
            End::OtherSession => {
                gap = false;
                pauses = shared.pauses.row();
            }
            End::Lost(lost) => {
                let again = shared.session.reopen(&shared.link, Some(lost));
                gap = true;
                match again.await {
                    Ok(_) => pauses = shared.pauses.row(),
                    Err(error) => {
                        tracing::debug!(error = %error.message, "the session is not open yet");
                        pause(&mut pauses).await;
                    }
                }
            }
            End::Cut(cut) => {
                tracing::debug!(cause = %cut.cause, "the stream of pushed messages is opened again");
                gap |= cut.gap;
                if cut.served {
                    pauses = shared.pauses.row();
                }
                pause(&mut pauses).await;
            }
            End::Refused(error) => {
                tracing::warn!(error = %error.message, "the bridge pushes no messages to this client");
                changed(&mut ids, &id).await;
            }
        }
    }
}

async fn pause(pauses: &mut impl Iterator<Item = Duration>) {
    tokio::time::sleep(pauses.next().unwrap_or_default()).await;
}

/// Waits until the session has another id than this one.
async fn changed(ids: &mut tokio::sync::watch::Receiver<Option<HeaderValue>>, id: &HeaderValue) {
    let gone = ids.wait_for(|now| now.as_ref() != Some(id)).await.is_err();
    if gone {
        // The session is dropped with the relay, and this task with it.
        std::future::pending::<()>().await;
    }
}

async fn one_stream(shared: &Shared, id: HeaderValue, gap: &mut bool) -> End {
    let not_served = |cause| {
        End::Cut(Cut {
            served: false,
            // What a session says before it has its stream is lost.
            gap: true,
            cause,
        })
    };
    let answer = shared.link.listen(id.clone()).await;
    shared.tried.send_replace(Some(id.clone()));
    let response = match answer {
        Ok(response) => response,
        Err(error) => return not_served(error.message),
    };
    match (response.status, response.content_type().as_str()) {
        (200, "text/event-stream") => {}
        (404, _) => return End::Lost(id),
        (status @ (429 | 500..), _) => return not_served(format!("HTTP {status}")),
        (200, kind) => return End::Refused(failed(format!("It answers with '{kind}'."))),
        _ => return End::Refused(shared.link.refusal(response).await),
    }
    // The stream is there before the client is told to look again: nothing can change unseen in between.
    if std::mem::take(gap) {
        shared.session.tell_gap(&shared.output).await;
    }
    let begun = Instant::now();
    let mut events = Events::of(response.into_body()).with_patience(PATIENCE);
    let mut heard = false;
    let (broken, cause) = loop {
        match events.next().await {
            Ok(Some(message)) => {
                heard = true;
                shared.output.write(&message).await;
            }
            // A bridge without anything to say ends its stream at once and in good order.
            Ok(None) => break (false, "it ended".to_owned()),
            Err(fault) => break (true, fault.to_string()),
        }
    };
    let served = heard || begun.elapsed() >= LASTING;
    End::Cut(Cut {
        served,
        gap: served || broken,
        cause,
    })
}
