//! The one gate that every write to the station passes (Tool surface §4.1, §12 item 8).
//!
//! Rules → rate → confirmation → record of the intent → the write → record of its outcome. A write whose intent cannot
//! be recorded is not sent; an executed write has exactly one intent and one outcome, whatever happens to the call.
//!
//! - [`WriteGate`]: what tools call; [`WriteGate::run`] for one write, [`WriteGate::admit`] and [`WriteGate::perform`]
//!   for several under one confirmation, [`WriteGate::rehearse`] for dry runs.
//! - `check`: the look at the station before anybody is asked.
//! - `request`: what a tool wants, and what came of it; [`error`]: failures in the codes of the surface.
//! - `unasked`: calls that end before the gate is asked.
//! - `judgement`: whether a write may pass; `lost_links`: what it takes from components elsewhere; `confirmation`: the second step; `rate`: writes per minute; `counts`: for the metrics.

mod check;
mod confirmation;
mod counts;
pub mod error;
mod judgement;
mod lost_links;
mod rate;
mod request;
mod unasked;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

pub use check::Checked;
pub use confirmation::{CONFIRM, CONFIRMATION_TIME};
pub use counts::WriteCounts;
pub use judgement::Rehearsal;
pub use request::{Gated, StationWrite, WriteFailure, WriteRequest, Written};
pub(crate) use unasked::split_undeclared;

use confirmation::{Confirmations, bound_to};
use error::About;
use judgement::{Stop, reason};
use rate::WriteRate;

use super::context::Audited;
use super::schema::{self, ObjectSchema};
use super::station_access::{SharedStations, scope};
use super::{CallContext, ErrorCode, Principal, ToolError, ToolOutput};
use crate::audit::{Attempt, AuditError, AuditTrail, Ending, LOG_NAME, OpenWrite, Verdict};
use crate::clock::SharedClock;
use crate::config::policy::SharedPolicy;
use crate::config::writes::WriteRules;
use crate::station::facade::StationFacade;
use crate::station::http::CallScope;
use crate::station::ord::SlotPath;

/// Kept back of a call's time, so that what a lost answer left can still be read.
const REREAD_TIME: Duration = Duration::from_secs(3);

/// The word of the records for a write that somebody said yes to.
const CONFIRMED: &str = "confirmed";

/// Adds the argument that confirms a write.
pub fn with_confirm(schema: ObjectSchema) -> ObjectSchema {
    schema.optional(
        CONFIRM,
        schema::string(
            "Only to confirm: the token that an earlier call with the same arguments answered in errorData.confirm. \
             Ask the person before you send it.",
        ),
    )
}

/// A gate shared by all writing tools.
pub type SharedGate = Arc<WriteGate>;

/// Lets writes through, or not, and records them.
pub struct WriteGate {
    policy: SharedPolicy,
    trail: Arc<AuditTrail>,
    stations: SharedStations,
    clock: SharedClock,
    rate: WriteRate,
    confirmations: Confirmations,
    counts: Arc<WriteCounts>,
}

/// A write that may be sent; it is recorded when it is.
pub struct Pass {
    attempt: Attempt,
    /// The word of the records for why it was let through.
    policy: &'static str,
    principal: Principal,
    tool: String,
    operation: String,
    ord: String,
    write: StationWrite,
    audited: Audited,
}

impl Pass {
    /// Station and component of the write.
    pub fn write(&self) -> &StationWrite {
        &self.write
    }

    /// Whether somebody said yes to it, which may have taken minutes.
    pub fn was_confirmed(&self) -> bool {
        self.policy == CONFIRMED
    }

    /// What the records say of a failure: errors repeat the value that they complain of.
    fn recorded_text(&self, error: &ToolError) -> String {
        match self.attempt.has_secret_value() {
            true => format!(
                "{}; the text is left out, because the value is a secret",
                error.code.meaning()
            ),
            false => error.message.clone(),
        }
    }
}

/// What the gate says to writes before they are sent.
pub enum Admission {
    /// One pass for each request, in their order.
    Granted(Vec<Pass>),
    /// Answer with this: the client asks a person and repeats the call (revision 2026-07-28).
    Asked(ToolOutput),
}

impl WriteGate {
    /// A gate with its own counts; `stations` find the session that acts for each caller.
    pub fn new(
        policy: SharedPolicy,
        trail: Arc<AuditTrail>,
        stations: SharedStations,
        clock: SharedClock,
    ) -> SharedGate {
        Arc::new(Self {
            policy,
            trail,
            stations,
            confirmations: Confirmations::new(clock.clone()),
            clock,
            rate: WriteRate::default(),
            counts: Arc::default(),
        })
    }

    /// How many writes ended how.
    pub fn counts(&self) -> Arc<WriteCounts> {
        self.counts.clone()
    }

    /// The trail that writes are recorded in.
    pub fn trail(&self) -> &Arc<AuditTrail> {
        &self.trail
    }

    /// The clock of confirmations and records.
    pub fn clock(&self) -> &SharedClock {
        &self.clock
    }

    /// The session in which the caller reads: what is to be changed is looked at first.
    ///
    /// # Errors
    /// −32011 when the caller's station password cannot be used.
    pub fn reading_station(&self, context: &CallContext) -> Result<Arc<StationFacade>, ToolError> {
        self.stations.for_caller(&context.principal)
    }

    /// Whether the station can be changed in the caller's own name; else what is read by the service account says nothing of
    /// the caller's permissions.
    pub fn acts_as_caller(&self, context: &CallContext) -> bool {
        self.stations.may_change_station(&context.principal).is_ok()
    }

    /// The rules at present.
    pub fn rules(&self) -> WriteRules {
        self.policy.current().writes.clone()
    }

    /// Time between a write and reading it back (`writes.readbackDelayMs`).
    pub fn readback_delay(&self) -> Duration {
        self.policy.current().writes.readback_delay
    }

    /// Sends one write, if it may be sent. `work` sends it with the station session that it is given, once.
    ///
    /// # Errors
    /// −32010 when a rule or the person says no, with `errorData.confirm` when the call is to be repeated with that
    /// token; −32006 for an ord that is none; −32603 when it cannot be recorded; else what became of the work.
    pub async fn run<T, Work, Sent>(
        &self,
        context: &CallContext,
        request: WriteRequest<'_>,
        work: Work,
    ) -> Result<Gated<T>, ToolError>
    where
        Work: FnOnce(StationWrite) -> Sent,
        Sent: Future<Output = Result<Written<T>, WriteFailure>>,
    {
        let tool = request.tool;
        match self
            .admit(context, tool, request.arguments, &[request])
            .await?
        {
            Admission::Asked(output) => Ok(Gated::Asked(output)),
            Admission::Granted(passes) => match passes.into_iter().next() {
                Some(pass) => self.perform(pass, work).await.map(Gated::Done),
                None => Err(ToolError::internal(
                    "The gate lost a write; nothing was sent.",
                )),
            },
        }
    }

    /// Asks for passes for the writes of one call: all or none. `tool` and `arguments` are those of the call; a
    /// confirmation counts for them.
    ///
    /// # Errors
    /// As [`WriteGate::run`], for the first write that does not pass; all are recorded as refused.
    pub async fn admit(
        &self,
        context: &CallContext,
        tool: &str,
        arguments: &Map<String, Value>,
        requests: &[WriteRequest<'_>],
    ) -> Result<Admission, ToolError> {
        let mut judged = Vec::with_capacity(requests.len());
        for request in requests {
            match self.judge(context, request).await {
                Ok(one) => judged.push(one),
                Err(stop) => {
                    self.record_refusal(context, request, &stop).await;
                    return Err(stop.error);
                }
            }
        }
        let mut context = context.clone();
        let policy = match self
            .pass_or_ask(&mut context, tool, arguments, requests, &judged)
            .await
        {
            Ok(Ok(policy)) => policy,
            Ok(Err(output)) => return Ok(Admission::Asked(output)),
            Err(stop) => {
                for (request, one) in requests.iter().zip(judged) {
                    let stop = Stop {
                        error: stop.error.clone(),
                        policy: stop.policy,
                        path: Some(one.path),
                    };
                    self.record_refusal(&context, request, &stop).await;
                }
                return Err(stop.error);
            }
        };
        if policy == CONFIRMED {
            // A person took their time: rules, rights and sessions are those of now.
            for (request, one) in requests.iter().zip(&mut judged) {
                match self.judge(&context, request).await {
                    Ok(now) => *one = now,
                    Err(stop) => {
                        self.record_refusal(&context, request, &stop).await;
                        return Err(stop.error);
                    }
                }
            }
        }
        let passes = requests.iter().zip(judged);
        let passes = passes.map(|(request, one)| Pass {
            attempt: self.attempt(&context, request, Some(&one.path)),
            policy,
            principal: context.principal.clone(),
            tool: request.tool.to_owned(),
            operation: request.operation.to_owned(),
            ord: request.ord.to_owned(),
            audited: context.audited.clone(),
            write: StationWrite {
                station: one.station,
                scope: self.sending_scope(&context),
                ord: one.ord,
                path: one.path,
            },
        });
        Ok(Admission::Granted(passes.collect()))
    }

    /// Sends a write that was admitted.
    ///
    /// # Errors
    /// −32603 when it cannot be recorded, and then nothing was sent; else what became of the work.
    pub async fn perform<T, Work, Sent>(&self, pass: Pass, work: Work) -> Result<T, ToolError>
    where
        Work: FnOnce(StationWrite) -> Sent,
        Sent: Future<Output = Result<Written<T>, WriteFailure>>,
    {
        let (write, open) = self.begin(&pass).await?;
        // Dropped, or torn down by a panic, `open` records that the outcome is unknown.
        let outcome = work(write).await;
        let took = open.elapsed();
        let about = About {
            principal: &pass.principal,
            tool: &pass.tool,
            operation: &pass.operation,
            ord: &pass.ord,
        };
        let (ending, answer) = match outcome {
            Ok(written) => (
                Ending::done(took, written.old_value, written.new_value),
                Ok(written.value),
            ),
            Err(failure) => {
                let (verdict, error, values) = error::failed(&about, failure);
                let code = error.code.code();
                let message = pass.recorded_text(&error);
                let mut ending = Ending::not_done(verdict, took, code, message);
                ending.old_value = values.old;
                ending.new_value = values.new;
                (ending, Err(error))
            }
        };
        self.note(&pass.tool, ending.verdict);
        on_disk(move || open.finish(&ending)).await;
        answer
    }

    /// The station session that would write for a caller, for dry runs to look with.
    ///
    /// # Errors
    /// −32011 when the station cannot be changed in the caller's name.
    pub fn station_of(&self, context: &CallContext) -> Result<Arc<StationFacade>, ToolError> {
        self.stations.for_writing(&context.principal)
    }

    /// A token that confirms the call with these arguments, for the answer of a dry run; `confirm` and `dryRun` make no
    /// difference to it.
    ///
    /// # Errors
    /// The machine has no random numbers.
    pub fn confirmation_token(
        &self,
        context: &CallContext,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<String, ToolError> {
        let bound = bound_to(&context.principal, tool, arguments);
        self.confirmations.issue(&context.principal, bound)
    }

    /// The scope of the work: it ends before the call does, and no message goes out in the name of somebody who was revoked
    /// since the call began.
    fn sending_scope(&self, context: &CallContext) -> CallScope {
        let remaining = context.remaining();
        let kept = REREAD_TIME.min(remaining / 3);
        let (stations, principal) = (self.stations.clone(), context.principal.clone());
        scope(context)
            .at_most(remaining.saturating_sub(kept))
            .permitted_by(move || stations.may_change_station(&principal))
    }

    async fn begin(&self, pass: &Pass) -> Result<(StationWrite, OpenWrite), ToolError> {
        pass.audited.set();
        let (trail, attempt, policy) = (self.trail.clone(), pass.attempt.clone(), pass.policy);
        let mut refusal = unrecorded(pass);
        let message = refusal.message.clone();
        let code = refusal.code.code();
        let ending = Ending::not_done(Verdict::Refused, Duration::ZERO, code, message);
        // One step for the files: nobody else may find the intent without its outcome in between.
        let begun = on_disk(move || trail.begin_or_refuse(attempt, policy, &ending)).await;
        match begun {
            Some(Ok(open)) => return Ok((pass.write.clone(), open)),
            Some(Err(error)) => {
                tracing::error!(%error, "a write was refused because it cannot be recorded");
                if let Some(text) = displaced(&error) {
                    refusal.message = text;
                }
            }
            None => {}
        }
        self.note(&pass.tool, Verdict::Refused);
        Err(refusal)
    }

    async fn record_refusal(&self, context: &CallContext, request: &WriteRequest<'_>, stop: &Stop) {
        context.audited.set();
        let attempt = self.attempt(context, request, stop.path.as_ref());
        let error = &stop.error;
        // A token that confirms is as good as a yes; the records do not keep it.
        let message = match error.data.get(CONFIRM).and_then(Value::as_str) {
            Some(token) => error.message.replace(token, crate::secrecy::REDACTED),
            None => error.message.clone(),
        };
        let ending = Ending::not_done(Verdict::Refused, Duration::ZERO, error.code.code(), message);
        self.note(request.tool, Verdict::Refused);
        let (trail, policy) = (self.trail.clone(), stop.policy);
        on_disk(move || trail.refused(&attempt, policy, &ending)).await;
    }

    fn attempt(
        &self,
        context: &CallContext,
        request: &WriteRequest<'_>,
        path: Option<&SlotPath>,
    ) -> Attempt {
        let mut arguments = request.arguments.clone();
        arguments.shift_remove(CONFIRM);
        let mut attempt = Attempt::new(
            self.clock.now(),
            context.principal.to_string(),
            request.tool,
            request.operation,
            request.ord,
            &arguments,
            request.secret_value,
        );
        attempt.name_undeclared(&context.undeclared);
        attempt.session_id = context.session_id.clone();
        attempt.request_id = context.request_id.clone();
        attempt.path = path.map(SlotPath::to_string).unwrap_or_default();
        attempt
    }

    fn note(&self, tool: &str, verdict: Verdict) {
        self.counts.add(tool, verdict);
        tracing::info!(tool, outcome = verdict.name(), "write");
    }
}

impl std::fmt::Debug for WriteGate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "WriteGate({:?})", self.trail)
    }
}

/// The refusal of a write whose intent is not on the disk.
fn unrecorded(pass: &Pass) -> ToolError {
    ToolError::station(
        "audit",
        "The write was not sent, because it cannot be recorded: a file of the audit (audit.journal or \
         niagaramcp.audit.log) cannot be written. The bridge's log names the reason; check the free space and the rights of its data folder.",
    )
    .with("tool", pass.tool.clone())
    .with("ord", pass.ord.clone())
}

/// What a person reads when a file of the audit is not where the bridge left it; the folder is told in the log only.
fn displaced(error: &AuditError) -> Option<String> {
    let AuditError::Displaced { path, problem } = error else {
        return None;
    };
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let remedy = match file == LOG_NAME {
        true => "the bridge makes it anew from its journal, so call again; find out who touched it",
        false => {
            "put it back where it was; if it is lost, stop the bridge, move the other audit files away as well and start it \
             again"
        }
    };
    Some(format!(
        "The write was not sent, because it cannot be recorded: the file {file} is not as the bridge left it: {problem}; \
         {remedy}."
    ))
}

/// Files are written on a thread that may wait; none when that thread ended by a fault.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => Some(outcome),
        Err(error) => {
            tracing::error!(%error, "a record of the audit was not written");
            None
        }
    }
}

/// −32011: the station cannot be changed in a caller's name.
pub(crate) fn cannot_write(reason: &str) -> ToolError {
    ToolError::new(
        ErrorCode::UserNotFound,
        format!("The station cannot be changed in this name: {reason}."),
    )
    .with("reason", reason)
}
