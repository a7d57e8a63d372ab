//! A look at the station before a write: nobody is asked to confirm what cannot be written, and a secret is known to be
//! one before anything is recorded.

use std::time::Duration;

use super::error::{About, failed, not_permitted};
use super::{Pass, StationWrite, Stop, WriteFailure, WriteGate, WriteRequest};
use super::{on_disk, reason, scope};
use crate::audit::{Ending, Verdict};
use crate::tools::{CallContext, ErrorCode, ToolError};

/// The word of the records for a write that the station would not take, as a look at it showed.
const NOT_POSSIBLE: &str = "not-possible";

/// A write that was found to be possible.
#[derive(Debug)]
pub struct Checked<P> {
    /// What is to be sent.
    pub plan: P,
    /// Somebody is going to be asked, which may take minutes.
    pub needs_confirmation: bool,
}

impl<P> Checked<P> {
    /// The plan, unless it may be out of date when the write is sent.
    pub fn fresh(self) -> Option<P> {
        (!self.needs_confirmation).then_some(self.plan)
    }
}

impl WriteGate {
    /// Nobody is asked to confirm what the station is not going to let them do: a write that needs a confirmation ends here
    /// when `is_permitted`, the prediction from what the station told of the caller's permissions, says no. Any other goes
    /// on, and the station itself decides.
    ///
    /// # Errors
    /// −32010, recorded as a refusal.
    pub async fn check_permitted(
        &self,
        context: &CallContext,
        request: &WriteRequest<'_>,
        is_permitted: bool,
    ) -> Result<(), ToolError> {
        if is_permitted {
            return Ok(());
        }
        // What the rules forbid is told by the gate itself.
        let Ok(judged) = self.judge(context, request).await else {
            return Ok(());
        };
        if reason(judged.ruling).is_none() {
            return Ok(());
        }
        let stop = Stop {
            error: not_permitted(&About::of(&context.principal, request)),
            policy: "not-permitted",
            path: Some(judged.path),
        };
        self.record_refusal(context, request, &stop).await;
        Err(stop.error)
    }

    /// Looks at the station for a write that [`WriteGate::run`] is to send; `look` changes nothing.
    ///
    /// # Errors
    /// The rule that forbids the write, or why `look` finds it impossible; either is recorded as a refusal.
    pub async fn check<P, Look, Seen>(
        &self,
        context: &CallContext,
        request: &WriteRequest<'_>,
        look: Look,
    ) -> Result<Checked<P>, ToolError>
    where
        Look: FnOnce(StationWrite) -> Seen,
        Seen: Future<Output = Result<P, WriteFailure>>,
    {
        let judged = match self.judge(context, request).await {
            Ok(judged) => judged,
            Err(stop) => {
                self.record_refusal(context, request, &stop).await;
                return Err(stop.error);
            }
        };
        let needs_confirmation = reason(judged.ruling).is_some();
        let path = judged.path.clone();
        let write = StationWrite {
            station: judged.station,
            scope: scope(context),
            ord: judged.ord,
            path: judged.path,
        };
        match look(write).await {
            Ok(plan) => Ok(Checked {
                plan,
                needs_confirmation,
            }),
            Err(failure) => {
                let request = match &failure {
                    WriteFailure::OfSecret(_) => &request.with_secret_value(),
                    _ => request,
                };
                let about = About::of(&context.principal, request);
                let (_, error, _) = failed(&about, failure);
                let stop = Stop {
                    error: with_members(error, &about),
                    policy: NOT_POSSIBLE,
                    path: Some(path),
                };
                self.record_refusal(context, request, &stop).await;
                Err(stop.error)
            }
        }
    }

    /// Records that a write was found impossible by a look that a tool took by itself; gives the error back with what
    /// every refusal of the station carries.
    pub async fn not_possible(
        &self,
        context: &CallContext,
        request: &WriteRequest<'_>,
        error: ToolError,
    ) -> ToolError {
        let stop = Stop {
            error: with_members(error, &About::of(&context.principal, request)),
            policy: NOT_POSSIBLE,
            path: None,
        };
        self.record_refusal(context, request, &stop).await;
        stop.error
    }

    /// Records that writes which were let through are not sent after all, because a look at the station since then found
    /// them impossible.
    pub async fn withdraw(&self, passes: Vec<Pass>, error: &ToolError) {
        for pass in passes {
            let text = pass.recorded_text(error);
            let code = error.code.code();
            let ending = Ending::not_done(Verdict::Refused, Duration::ZERO, code, text);
            pass.audited.set();
            self.note(&pass.tool, Verdict::Refused);
            let trail = self.trail.clone();
            on_disk(move || trail.refused(&pass.attempt, NOT_POSSIBLE, &ending)).await;
        }
    }
}

/// A refusal for want of permission carries who, what and where; other errors have members of their own.
fn with_members(error: ToolError, about: &About<'_>) -> ToolError {
    match error.code {
        ErrorCode::PermissionDenied => about.on(error),
        _ => error,
    }
}
