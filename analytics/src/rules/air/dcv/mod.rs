//! Demand-controlled ventilation: whether outdoor air rises with demand and keeps its floor (Air rules §2.8, §2.9).
//!
//! - `setting`: the parameters. - `assess`: the response of one outdoor-air signal. - `floor`: outdoor air below its floor.
//! - `unit`: the signals, occupied time, fan and economizer of one unit. - `report`: figures, words, samples.
//! - `system`: air handlers with the demand of their zones.

mod assess;
mod floor;
mod report;
mod setting;
mod system;
mod unit;

use self::setting::Setting;
use self::unit::Unit;
use crate::finding::{Judgement, Verdict};
use crate::frame::Frame;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// A unit that has both CO2 and a signal of outdoor air.
pub const RULE: RuleCode = RuleCode::equipment("dcv_verification", analyse)
    .checked_by(setting::check)
    .judged_by(judge);

/// Air handlers with the CO2 of the zones that they serve.
pub const SYSTEM: RuleCode =
    RuleCode::fleet("dcv_system_verification", system::analyse).checked_by(setting::check);

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let setting = Setting::of(parameters);
    let unit = Unit::of(frame, frame.column("co2")?, &setting)?;
    let mut verdict = report::verdict(&unit, &setting)?;
    if unit.is_return_air() {
        verdict.caveats.insert(0, report::RETURN_AIR.to_owned());
    }
    Some(verdict)
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let setting = Setting::of(parameters);
    let unit = Unit::of(frame, frame.column("co2")?, &setting)?;
    Some(report::judgement(&unit, frame.len()))
}

#[cfg(test)]
mod tests;
