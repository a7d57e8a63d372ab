//! What the rules say of components that lose a link by a write to another one.

use super::WriteGate;
use crate::config::writes::{Intended, Refusal, Ruling, WriteRules};
use crate::station::facade::{LostLink, LostLinks, RemovalSurvey};
use crate::station::ord::Ord;
use crate::tools::station_access::scope;
use crate::tools::{CallContext, Principal};

/// Sinks that are named; the rest is counted.
const MOST_NAMED: usize = 5;

/// What an end is called that the caller is not shown.
const UNSEEN: &str = "a component that cannot be seen";

/// Links that may not be cut.
pub(super) struct Denied {
    pub refusal: Refusal,
    /// Absolute ords of the sinks that the rules forbid to write to, each once.
    pub sinks: Vec<String>,
}

impl WriteGate {
    /// Adds the links whose sinks the caller is not shown, as the service account sees them: the station may let a caller
    /// cut them, and the rules hold for them all the same. Nothing is asked where no rule could forbid it.
    pub async fn add_hidden_links(
        &self,
        context: &CallContext,
        survey: &RemovalSurvey,
        lost: &mut LostLinks,
    ) {
        let user = context.principal.user();
        if user.is_none() || self.rules().judge_unseen(user) == Ok(Ruling::Allowed) {
            return;
        }
        let found = match self.stations.for_caller(&Principal::Service) {
            Ok(service) => {
                let found = service.hidden_lost_links(&scope(context), survey).await;
                found.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.message),
        };
        match found {
            Ok(mut hidden) => {
                lost.links.append(&mut hidden.links);
                lost.is_incomplete |= hidden.is_incomplete;
            }
            Err(error) => {
                tracing::warn!(%error, "whether a removal cuts links that its caller does not see cannot be told");
                lost.is_incomplete = true;
            }
        }
    }
}

/// Judges every sink as if the link were taken from it by itself, as `unlinkSlots` does.
pub(super) fn judge_lost(
    rules: &WriteRules,
    user: Option<&str>,
    lost: &LostLinks,
) -> Result<Ruling, Box<Denied>> {
    let mut ruling = Ruling::Allowed;
    let mut denied: Vec<(&LostLink, Refusal)> = Vec::new();
    for link in &lost.links {
        let judged = match &link.sink {
            Some(path) => rules.judge(&Intended {
                user,
                path,
                priority: link.level,
                override_for: None,
                destructive: true,
                with_subtree: false,
                of_whole_station: false,
            }),
            None => rules.judge_unseen(user),
        };
        match judged {
            Ok(Ruling::Allowed) => {}
            Ok(needs) => ruling = needs,
            Err(refusal) => denied.push((link, told(link, refusal))),
        }
    }
    if let Some(refusal) = refusal_of(&denied) {
        return Err(Box::new(Denied {
            refusal,
            sinks: sinks(&denied),
        }));
    }
    if lost.is_incomplete {
        match rules.judge_unseen(user) {
            Ok(Ruling::Allowed) => {}
            Ok(needs) => ruling = needs,
            Err(mut refusal) => {
                refusal.message = format!(
                    "this may cut links that could not be looked at: {}",
                    refusal.message
                );
                return Err(Box::new(Denied {
                    refusal,
                    sinks: Vec::new(),
                }));
            }
        }
    }
    Ok(ruling)
}

/// Who is not shown a component does not learn its name by a refusal either.
fn told(link: &LostLink, mut refusal: Refusal) -> Refusal {
    if link.is_hidden {
        refusal.message = format!("the rules forbid writes to {UNSEEN}");
    }
    refusal
}

fn refusal_of(denied: &[(&LostLink, Refusal)]) -> Option<Refusal> {
    let (_, first) = denied.first()?;
    let named: Vec<String> = denied
        .iter()
        .take(MOST_NAMED)
        .map(
            |(link, _)| match link.sink.as_ref().filter(|_| !link.is_hidden) {
                Some(path) => format!("{} of {path}", link.slot),
                None => UNSEEN.to_owned(),
            },
        )
        .collect();
    let more = match denied.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Refusal {
        policy: first.policy,
        message: format!(
            "this would cut the links that command {}{more}, and nothing was changed: {}",
            named.join(", "),
            first.message
        ),
        remedy: first.remedy.clone(),
    })
}

fn sinks(denied: &[(&LostLink, Refusal)]) -> Vec<String> {
    let mut sinks: Vec<String> = denied
        .iter()
        .filter(|(link, _)| !link.is_hidden)
        .filter_map(|(link, _)| link.sink.clone())
        .map(|path| Ord::slot(path).absolute())
        .collect();
    sinks.sort();
    sinks.dedup();
    sinks
}
