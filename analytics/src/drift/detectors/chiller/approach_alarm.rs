//! The alarm on a lasting rise of the approach, by itself (Drift §5.2).

use super::approach::{LEGS, Leg, inputs};
use super::over_tons;
use crate::drift::alarm::{Alarm, AlarmRule};
use crate::drift::detector::{Case, Detector, Inputs, Judged, note_confidence};
use crate::drift::measure::Measured;
use crate::drift::shift::Direction;
use crate::finding::{Metrics, Severity};
use crate::wall_clock::spaced;

const SUBJECT: &str = "a lasting rise of the approach";

/// The detector.
pub struct ApproachAlarm;

impl Detector for ApproachAlarm {
    fn rule(&self) -> &'static str {
        "chiller_approach_drift_sustained"
    }

    fn inputs(&self) -> Inputs {
        inputs()
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let mut metrics = Metrics::new();
        let mut alarming = Vec::new();
        let mut caveats = Vec::new();
        let mut traces = Vec::new();
        for leg in LEGS {
            let Some((measured, alarm)) = followed(case, leg) else {
                caveats.push(format!(
                    "The approach of the {} could not be followed: it is not trended, has too few rows of enough load, or its \
                     baseline has no scatter.",
                    leg.word
                ));
                continue;
            };
            let prefix = leg.prefix;
            // The place of the alarming row; -1 without one.
            let place = alarm
                .first
                .and_then(|(place, _, _)| i64::try_from(place).ok());
            let at = alarm.first.map(|(_, stamp, _)| spaced(stamp));
            metrics
                .set(&format!("{prefix}_sustained_alarm"), alarm.first.is_some())
                .set(&format!("{prefix}_first_alarm_at"), at.unwrap_or_default())
                .set(&format!("{prefix}_first_alarm_n"), place.unwrap_or(-1))
                .rounded(&format!("{prefix}_peak_climbing_f"), alarm.peak_up, 4)
                .rounded(&format!("{prefix}_cusum_limit_f"), alarm.limit, 4)
                .count(&format!("{prefix}_n_current"), measured.shift.n_current);
            if alarm.first.is_some() {
                alarming.push(leg.word);
            }
            traces.push(measured.trace());
        }
        if traces.is_empty() {
            return case.no_baseline(None, SUBJECT);
        }
        note_confidence(&mut metrics, false, true);
        let (severity, summary) = match alarming.is_empty() {
            true => (
                Severity::Ok,
                format!(
                    "{}: the approach does not lastingly rise above {} at the same tons",
                    case.equip,
                    case.basis.words()
                ),
            ),
            false => (
                Severity::Warn,
                format!(
                    "{}: the approach of the {} has lastingly risen above {} at the same tons",
                    case.equip,
                    alarming.join(" and the "),
                    case.basis.words()
                ),
            ),
        };
        let mut judged = Judged::with(severity, metrics, summary, caveats);
        judged.traces = traces;
        judged
    }
}

fn followed(case: &Case<'_>, leg: Leg) -> Option<(Measured, Alarm)> {
    let signals = over_tons(case, |side| side.column(leg.role).map(<[f64]>::to_vec))?;
    let over = leg.over_tons();
    let (_, mut measure) = over.measure(&signals[0]);
    measure.alarm = Some((AlarmRule::default(), Direction::Up));
    let measured = Measured::of(case, &measure, &signals[0], &signals[1]).ok()?;
    let alarm = measured.alarm.clone()?;
    Some((measured, alarm))
}
