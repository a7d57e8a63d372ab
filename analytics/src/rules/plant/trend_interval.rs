//! How finely something is trended, and what counts over coarse samples are worth (Plant rules §1.3, §1.4).

use crate::finding::{Severity, Verdict};
use crate::numeric::{self, nanos};
use crate::wall_clock::MINUTE;

/// Median spacing of stamps in minutes, three decimals; none below two stamps.
pub fn interval_minutes(stamps: &[i64]) -> Option<f64> {
    numeric::median_step(stamps).map(|step| numeric::round(step / nanos(MINUTE), 3))
}

/// Whether a trend is fine enough to count with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resolution<'a> {
    /// What is counted, in the plural: "boiler starts".
    pub counted: &'a str,
    pub interval_min: Option<f64>,
    /// Longest interval in minutes over which a count is taken as it is.
    pub max_interval_min: f64,
    /// Samples that are part-way between two states.
    pub n_partial: usize,
    /// Per day; the limit that the count is compared with.
    pub limit: f64,
}

impl Resolution<'_> {
    /// Adds what a coarse trend demands to a verdict: a caveat, and for a clean verdict over part-way samples that nothing
    /// was judged. True when the verdict was declined.
    pub fn apply(&self, verdict: &mut Verdict) -> bool {
        let Some(interval) = self
            .interval_min
            .filter(|interval| *interval > self.max_interval_min)
        else {
            return false;
        };
        let Self {
            counted,
            max_interval_min,
            n_partial,
            limit,
            ..
        } = self;
        let mut caveat = format!(
            "Samples are {interval} min apart, more than {max_interval_min} min: the count of {counted} is the least \
             that they allow."
        );
        let declined = verdict.severity == Severity::Ok && *n_partial > 0;
        if declined {
            verdict.severity = Severity::Info;
            caveat.push_str(&format!(
                " {n_partial} samples are part-way, so that fewer than {limit} a day cannot be confirmed."
            ));
            verdict.summary.push_str(&format!(
                " Not judged: at an interval of {interval} min the true number may be higher."
            ));
        }
        verdict.caveats.push(caveat);
        declined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;

    fn applied(severity: Severity, interval_min: Option<f64>, n_partial: usize) -> (bool, Verdict) {
        let mut verdict = Verdict::new(severity, Metrics::new(), "Few starts.");
        let resolution = Resolution {
            counted: "boiler starts",
            interval_min,
            max_interval_min: 15.0,
            n_partial,
            limit: 6.0,
        };
        (resolution.apply(&mut verdict), verdict)
    }

    #[test]
    fn only_a_clean_verdict_over_part_way_samples_is_declined() {
        let (declined, verdict) = applied(Severity::Ok, Some(60.0), 4);
        assert!(declined && verdict.severity == Severity::Info);
        assert!(verdict.caveats[0].contains("60 min") && verdict.caveats[0].contains("4 samples"));
        assert!(verdict.summary.contains("60 min"));
        let (declined, verdict) = applied(Severity::Fault, Some(60.0), 4);
        assert!(!declined && verdict.caveats.len() == 1);
        let (declined, verdict) = applied(Severity::Ok, Some(15.0), 4);
        assert!(!declined && verdict.caveats.is_empty());
        assert!(applied(Severity::Ok, None, 4).1.caveats.is_empty());
    }

    #[test]
    fn the_interval_is_the_median_spacing() {
        assert_eq!(
            interval_minutes(&[0, MINUTE, 6 * MINUTE, 11 * MINUTE]),
            Some(5.0)
        );
        assert_eq!(interval_minutes(&[0]), None);
    }
}
