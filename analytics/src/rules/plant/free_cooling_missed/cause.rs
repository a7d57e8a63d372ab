//! Why free cooling was missed: the damper was not told to open, or did not deliver (Plant rules §2.20, cause).

use serde_json::json;

use super::Hours;
use super::economizer::Mixing;
use crate::finding::Metrics;
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric::{self, round};
use crate::parameters::Parameters;

/// What the samples tell of a cause; figures that could not be formed are missing.
#[derive(Debug, Default)]
pub struct Cause {
    word: Option<&'static str>,
    commanded_open_pct: Option<f64>,
    commanded_open_hours: Option<f64>,
    commanded_open_fraction_pct: Option<f64>,
    damper_median_pct: Option<f64>,
}

const UNDETERMINED: &str = "undetermined";
const NOT_COMMANDED: &str = "economizer_not_commanded";
const NOT_DELIVERING: &str = "damper_not_delivering";

impl Cause {
    /// The cause of these missed samples.
    pub fn of(frame: &Frame<'_>, missed: &[bool], hours: &Hours, parameters: &Parameters) -> Self {
        if masks::count(missed) == 0 {
            return Self::default();
        }
        let (Some(damper), Some(oat)) = (frame.column("oa_damper"), frame.column("oat")) else {
            return Self::named(UNDETERMINED);
        };
        let damper = gates::percent(damper);
        let median = numeric::median(&masks::picked_values(&damper, missed));
        let cause = Self {
            damper_median_pct: Some(round(median, 1)),
            ..Self::default()
        };
        let Some(mixing) = Mixing::of(frame, oat) else {
            return Self {
                word: Some(NOT_COMMANDED),
                ..cause
            };
        };
        let mut stable = masks::and(missed, &mixing.is_telling());
        masks::narrow(&mut stable, &masks::present(&damper));
        let n_stable = masks::count(&stable);
        if n_stable == 0 {
            return Self {
                word: Some(UNDETERMINED),
                ..cause
            };
        }
        let (command, delivered) = (
            parameters.number("cmd_open_pct"),
            parameters.number("oaf_open_pct"),
        );
        let fractions = mixing.fraction_pct();
        let undelivered = masks::where_pair(&damper, &fractions, |damper, fraction| {
            damper >= command && fraction < delivered
        });
        let open = masks::and(&stable, &undelivered);
        let n_open = masks::count(&open);
        let share = numeric::percent_of(n_open, n_stable);
        let is_frequent = share >= parameters.number("stuck_min_share_pct");
        let is_long = hours
            .of_samples(n_open)
            .is_some_and(|hours| hours >= parameters.number("stuck_min_hours"));
        let open_fractions = masks::picked_values(&fractions, &open);
        Self {
            word: Some(match (is_frequent, is_long) {
                (true, true) => NOT_DELIVERING,
                (true, false) => UNDETERMINED,
                (false, _) => NOT_COMMANDED,
            }),
            commanded_open_pct: Some(round(share, 1)),
            commanded_open_hours: hours.rounded(n_open),
            commanded_open_fraction_pct: (n_open > 0)
                .then(|| round(numeric::median(&open_fractions), 1)),
            ..cause
        }
    }

    fn named(word: &'static str) -> Self {
        Self {
            word: Some(word),
            ..Self::default()
        }
    }

    /// Writes the figures of a cause.
    pub fn write(&self, metrics: &mut Metrics) {
        metrics
            .set("missed_cause", json!(self.word))
            .number_or_null("commanded_open_pct", self.commanded_open_pct)
            .number_or_null("commanded_open_hours", self.commanded_open_hours)
            .number_or_null(
                "commanded_open_oaf_median_pct",
                self.commanded_open_fraction_pct,
            )
            .number_or_null("missed_damper_cmd_median_pct", self.damper_median_pct);
    }
}
