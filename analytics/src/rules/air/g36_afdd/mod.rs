//! Fault conditions 1 to 15 of an air handler by Guideline 36 §5.16.14 (Air rules §2.12).
//!
//! - [`unit`]: the unit's signals, which of its samples are judged, and in which operating state they are.
//! - [`conditions`]: the fifteen conditions: their states, inputs and equations.
//! - [`outcome`]: how long each applied and was reported.
//! - [`report`]: the verdict in figures and words.

mod conditions;
mod outcome;
mod report;
mod unit;

use self::outcome::Outcomes;
use self::unit::Unit;
use super::monthly::check_months;
use crate::finding::{Condition, Flagged, Judgement, Metrics, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::parameters::{ParameterError, Parameters};
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("g36_afdd", analyse)
    .checked_by(check)
    .judged_by(judge);

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    for (by_month, all_year) in [
        ("min_oa_pct_by_month", "min_oa_pct"),
        ("oa_damper_min_by_month", "oa_damper_min"),
    ] {
        check_months(parameters, by_month)?;
        let names_months = parameters
            .mapping(by_month)
            .is_some_and(|months| !months.is_empty());
        if names_months && parameters.optional(all_year).is_none() {
            return Err(parameters.refuse(
                by_month,
                format!("it needs {all_year}, the value of the other months"),
            ));
        }
    }
    Ok(())
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let unit = match Unit::of(frame, parameters) {
        Ok(unit) => unit,
        Err(reason) => {
            let mut metrics = Metrics::new();
            metrics.set("declined", true).set("reason", reason);
            return Some(Verdict::info(
                metrics,
                format!("No fault condition was evaluated: {reason}."),
            ));
        }
    };
    let outcomes = Outcomes::of(&unit, parameters);
    Some(report::verdict(&unit, &outcomes, parameters))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let unit = Unit::of(frame, parameters).ok()?;
    let outcomes = Outcomes::of(&unit, parameters);
    let mut union = Flagged {
        judged: vec![false; frame.len()],
        flagged: vec![false; frame.len()],
    };
    let mut conditions = Vec::new();
    for evaluated in outcomes.evaluated() {
        union.judged = masks::or(&union.judged, &evaluated.applicable);
        union.flagged = masks::or(&union.flagged, &evaluated.reported);
        conditions.push(Condition {
            name: evaluated.condition.name.to_owned(),
            judged_basis: "applicable samples".to_owned(),
            samples: Flagged {
                judged: evaluated.applicable.clone(),
                flagged: evaluated.reported.clone(),
            },
        });
    }
    Some(Judgement {
        conditions,
        ..Judgement::of(
            "samples in which a fault condition applies",
            union.judged,
            union.flagged,
        )
    })
}

#[cfg(test)]
mod tests;
