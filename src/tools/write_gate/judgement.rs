//! Whether a write may pass: what the rules say, how often the caller writes, and whether somebody says yes.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};

use super::confirmation::{self, Answer, CONFIRM, CONFIRMATION_TIME, bound_to};
use super::error::{self, About};
use super::lost_links::judge_lost;
use super::rate::{self, TooOften};
use super::{CONFIRMED, WriteGate, WriteRequest};
use crate::audit::Attempt;
use crate::config::writes::{Intended, Refusal, Ruling};
use crate::station::facade::StationFacade;
use crate::station::ord::{Ord, SlotName, SlotPath};
use crate::tools::station_access::{component_ord, scope};
use crate::tools::{CallContext, ToolError, ToolOutput};

/// What would happen to a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsal {
    /// Where the judged component is.
    pub path: SlotPath,
    /// Why somebody must confirm it, where somebody must.
    pub needs_confirmation: Option<&'static str>,
}

/// A write that the rules looked at.
pub(super) struct Judged {
    pub station: Arc<StationFacade>,
    pub ord: Ord,
    pub path: SlotPath,
    pub ruling: Ruling,
}

/// Why a write does not pass: what is answered, and the word of the records.
pub(super) struct Stop {
    pub error: ToolError,
    pub policy: &'static str,
    pub path: Option<SlotPath>,
}

impl WriteGate {
    /// What would happen to a write, for dry runs and plans; nothing is recorded and nothing counted.
    ///
    /// # Errors
    /// The rule that forbids it, or that the ord is none.
    pub async fn rehearse(
        &self,
        context: &CallContext,
        request: &WriteRequest<'_>,
    ) -> Result<Rehearsal, ToolError> {
        context.audited.set();
        let judged = self.judge(context, request).await;
        let judged = judged.map_err(|stop| stop.error)?;
        Ok(Rehearsal {
            path: judged.path,
            needs_confirmation: reason(judged.ruling),
        })
    }

    /// What the rules say of a write.
    pub(super) async fn judge(
        &self,
        context: &CallContext,
        request: &WriteRequest<'_>,
    ) -> Result<Judged, Stop> {
        let policy = self.policy.current();
        let rules = &policy.writes;
        let about = About::of(&context.principal, request);
        let stop = |refusal: Refusal, path| Stop {
            error: error::refused(&about, &refusal),
            policy: refusal.policy,
            path,
        };
        // The switches come before the station is asked for anything.
        let root = SlotPath::root();
        let anywhere = intended(context, request, &root);
        rules
            .check_switches(&anywhere)
            .map_err(|refusal| stop(refusal, None))?;
        let unusable = |error: ToolError| Stop {
            error,
            policy: "not-resolved",
            path: None,
        };
        let ord = component_ord(request.judged_ord()).map_err(unusable)?;
        let station = self.stations.for_writing(&context.principal);
        let station = station.map_err(|error| Stop {
            error: error
                .with("tool", request.tool)
                .with("requiresUserContext", true),
            policy: "no-credential",
            path: None,
        })?;
        let path = match ord.slot_path() {
            Some(path) => path.clone(),
            None => {
                let path = station.slot_path(&scope(context), &ord).await;
                path.map_err(|error| {
                    unusable(crate::tools::station_access::station_error(
                        error,
                        request.judged_ord(),
                    ))
                })?
            }
        };
        let owner = path.parent().filter(|_| request.of_property);
        let mut ruling = Ruling::Allowed;
        for judged in [Some(&path), owner.as_ref()].into_iter().flatten() {
            match rules.judge(&intended(context, request, judged)) {
                Ok(Ruling::Allowed) => {}
                Ok(needs) => ruling = needs,
                Err(refusal) => return Err(stop(refusal, Some(path.clone()))),
            }
        }
        if let Some(added) = request.added.and_then(|name| added_at(&path, name)) {
            match rules.judge_added(context.principal.user(), &added) {
                Ok(Ruling::Allowed) => {}
                Ok(needs) => ruling = needs,
                Err(refusal) => return Err(stop(refusal, Some(path))),
            }
        }
        if let Some(lost) = request.lost {
            match judge_lost(rules, context.principal.user(), lost) {
                Ok(Ruling::Allowed) => {}
                Ok(needs) => ruling = needs,
                Err(denied) => {
                    let denied = *denied;
                    let mut stop = stop(denied.refusal, Some(path));
                    stop.error = stop.error.with("deniedSinks", denied.sinks);
                    return Err(stop);
                }
            }
        }
        Ok(Judged {
            station,
            ord,
            path,
            ruling,
        })
    }

    /// Why that many writes of one call never pass, whoever waits; none when they may.
    pub fn too_many(&self, writes: usize) -> Option<String> {
        let per_minute = self.policy.current().writes.rate_per_minute;
        rate::fits(per_minute, writes).err().map(|_| {
            format!(
                "{writes} writes at once are more than the {per_minute} of a minute; make smaller plans, or raise \
                 writes.ratePerMinute"
            )
        })
    }

    /// The word of the records for writes that pass, or a question.
    pub(super) async fn pass_or_ask(
        &self,
        context: &mut CallContext,
        tool: &str,
        arguments: &Map<String, Value>,
        requests: &[WriteRequest<'_>],
        judged: &[Judged],
    ) -> Result<Result<&'static str, ToolOutput>, Stop> {
        let Some(first) = requests.first() else {
            return Ok(Ok("allowed"));
        };
        let about = About::of(&context.principal, first);
        let stop = |policy: &'static str, message: String, remedy: String| Stop {
            error: error::refused(
                &about,
                &Refusal {
                    policy,
                    message,
                    remedy,
                },
            ),
            policy,
            path: None,
        };
        let per_minute = self.policy.current().writes.rate_per_minute;
        let principal = context.principal.clone();
        let too_often = |too_often: TooOften| match too_often {
            TooOften::Wait(wait) => {
                let seconds = wait.as_secs().max(1);
                let message = format!(
                    "'{principal}' may write {per_minute} times a minute, and that is used up"
                );
                let remedy = format!("wait {seconds} seconds, or raise writes.ratePerMinute");
                let mut stop = stop("rate", message, remedy);
                stop.error = stop.error.with("retryAfterSeconds", seconds);
                stop
            }
            TooOften::Never => stop(
                "rate",
                format!(
                    "{tool} would send {} writes at once, and '{principal}' may write {per_minute} times a minute",
                    requests.len()
                ),
                "split it into smaller calls, or raise writes.ratePerMinute".to_owned(),
            ),
        };
        // Nobody is asked about what never passes. What is asked counts when it is sent: a question is no write.
        rate::fits(per_minute, requests.len()).map_err(too_often)?;
        let take = |principal| self.rate.take(principal, per_minute, requests.len());
        let Some(why) = judged.iter().find_map(|one| reason(one.ruling)) else {
            take(&context.principal).map_err(too_often)?;
            return Ok(Ok("allowed"));
        };
        let token = arguments.get(CONFIRM).and_then(Value::as_str);
        let bound = bound_to(&context.principal, tool, arguments);
        let attempts: Vec<Attempt> = requests
            .iter()
            .map(|request| self.attempt(context, request, None))
            .collect();
        let places: Vec<&str> = requests.iter().map(WriteRequest::judged_ord).collect();
        let question = confirmation::question(tool, &attempts, &places, why);
        let began = Instant::now();
        let answer = self
            .confirmations
            .ask(context, bound, token, &question)
            .await;
        match answer {
            Ok(Answer::Yes) => {
                // A person's time is not the station's.
                context.deadline += began.elapsed();
                take(&context.principal).map_err(too_often)?;
                Ok(Ok(CONFIRMED))
            }
            Ok(Answer::Later(output)) => Ok(Err(output)),
            Ok(Answer::No(reason)) => Err(stop(
                "confirmation",
                format!("it was not confirmed: {reason}"),
                "ask the person again, or leave it".to_owned(),
            )),
            Ok(Answer::Token(token)) => {
                let message = format!("nothing was sent yet, because {why}");
                let remedy = format!(
                    "ask the person, then call {tool} again with the same arguments and \"{CONFIRM}\":\"{token}\" within two minutes"
                );
                let mut stop = stop("confirmation", message, remedy);
                stop.error = stop
                    .error
                    .with(CONFIRM, token)
                    .with("expiresInSeconds", CONFIRMATION_TIME.as_secs());
                Err(stop)
            }
            Err(error) => Err(Stop {
                error,
                policy: "confirmation",
                path: None,
            }),
        }
    }
}

/// Where a new slot would be; none for a name that no slot can have, which the station is not asked for either.
fn added_at(parent: &SlotPath, name: &str) -> Option<SlotPath> {
    let name = SlotName::new(name).or_else(|_| SlotName::escape(name));
    name.ok().map(|name| parent.child(name))
}

fn intended<'a>(
    context: &'a CallContext,
    request: &WriteRequest<'_>,
    path: &'a SlotPath,
) -> Intended<'a> {
    Intended {
        user: context.principal.user(),
        path,
        priority: request.priority,
        override_for: request.override_for,
        destructive: request.destructive,
        with_subtree: request.with_subtree,
        of_whole_station: request.of_whole_station,
    }
}

/// Why somebody must confirm a write.
pub(super) fn reason(ruling: Ruling) -> Option<&'static str> {
    match ruling {
        Ruling::Allowed => None,
        Ruling::NeedsConfirmation(reason) => Some(reason),
    }
}
