//! How far a model is asked about weather that it has not seen (M&V §6.3).

use std::fmt;

use super::change_point::ChangePointModel;
use crate::numeric::{self, share_of, std_sample};

/// A mean this many standard deviations from that of the fit is still near it (SEP range rule, M&V §6.2).
const NEAR_DEVIATIONS: f64 = 3.0;

/// What counts as extrapolation, and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExtrapolationPolicy {
    /// Share of the fitted days cut off at either end of the support.
    pub support_quantile: f64,
    /// Slack at either end, as a share of the support's width.
    pub edge_tolerance: f64,
    /// Largest share outside that needs no caveat.
    pub caveat_share: f64,
    /// Largest distance beyond the fit that needs no caveat, as a share of its width.
    pub caveat_distance: f64,
    /// Share outside from which a saving is declined.
    pub decline_share: f64,
    /// Distance beyond which a saving is declined, as a share of the fit's width.
    pub decline_distance: f64,
    /// Fewest days outside that count as a share.
    pub min_points_outside: usize,
    /// Whether a severe extrapolation declines the saving.
    pub decline: bool,
    /// Whether extrapolation widens the Guideline 14 band.
    pub widen_fsu: bool,
}

impl Default for ExtrapolationPolicy {
    fn default() -> Self {
        Self {
            support_quantile: 0.01,
            edge_tolerance: 0.05,
            caveat_share: 0.05,
            caveat_distance: 0.10,
            decline_share: 0.25,
            decline_distance: 0.5,
            min_points_outside: 2,
            decline: true,
            widen_fsu: true,
        }
    }
}

/// The weather that a model was fitted on, °F.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Support {
    /// Coldest and warmest fitted day.
    pub fit_min: f64,
    pub fit_max: f64,
    /// The same without the rarest days at either end.
    pub low: f64,
    pub high: f64,
    mean: f64,
    deviation: f64,
}

impl Support {
    /// The support of fitted temperatures; none without any.
    ///
    /// ```
    /// use niagara_analytics::mv::{ExtrapolationPolicy, Support};
    /// let fitted: Vec<f64> = (0..=100).map(f64::from).collect();
    /// let support = Support::of(&fitted, &ExtrapolationPolicy::default()).unwrap();
    /// assert_eq!((support.fit_min, support.low, support.high, support.fit_max), (0.0, 1.0, 99.0, 100.0));
    /// ```
    pub fn of(fitted: &[f64], policy: &ExtrapolationPolicy) -> Option<Self> {
        let mut sorted: Vec<f64> = fitted.iter().copied().filter(|t| t.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (fit_min, fit_max) = (*sorted.first()?, *sorted.last()?);
        let last = share_of(sorted.len() - 1);
        let ordered = |position: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to 0 and the last place"
            )]
            let place = position.clamp(0.0, last) as usize;
            sorted.get(place).copied()
        };
        Some(Self {
            fit_min,
            fit_max,
            low: ordered((policy.support_quantile * last).floor())?,
            high: ordered(((1.0 - policy.support_quantile) * last).ceil())?,
            mean: numeric::mean(&sorted),
            deviation: std_sample(&sorted),
        })
    }

    /// Whether the mean of applied temperatures lies within the fit, or near its mean; false without any.
    pub fn is_near(&self, applied: &[f64]) -> bool {
        let mean = numeric::mean(applied);
        (self.fit_min..=self.fit_max).contains(&mean)
            || (mean - self.mean).abs() <= NEAR_DEVIATIONS * self.deviation
    }

    fn width(&self) -> f64 {
        self.fit_max - self.fit_min
    }

    fn slack(&self, policy: &ExtrapolationPolicy) -> f64 {
        let width = if self.high > self.low {
            self.high - self.low
        } else {
            self.width()
        };
        policy.edge_tolerance * width
    }
}

/// How far a projection leaves the support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoverageTier {
    /// There is no day to judge.
    NotEvaluated,
    InRange,
    Moderate,
    Severe,
}

impl CoverageTier {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotEvaluated => "not_evaluated",
            Self::InRange => "in_range",
            Self::Moderate => "moderate",
            Self::Severe => "severe",
        }
    }
}

/// The weather of a projection against the support of its model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coverage {
    pub tier: CoverageTier,
    pub support: Support,
    /// Days judged.
    pub days: usize,
    /// Days outside the support.
    pub outside: usize,
    /// Share of the days outside; NaN without days.
    pub share_of_days: f64,
    /// Share of the projected energy outside; none when the total is not positive.
    pub share_of_energy: Option<f64>,
    /// Degrees by which the furthest day leaves the fit, °F.
    pub beyond: f64,
    /// The same as a share of the fit's width; none when that is 0 and a day leaves it.
    pub beyond_share: Option<f64>,
}

impl Coverage {
    /// Judges the temperatures of a projection.
    pub fn of(
        support: Support,
        model: &ChangePointModel,
        temperatures: &[f64],
        policy: &ExtrapolationPolicy,
    ) -> Self {
        let slack = support.slack(policy);
        let (mut days, mut outside) = (0, 0);
        let (mut energy, mut energy_outside) = (0.0, 0.0);
        let mut beyond = 0.0_f64;
        for temperature in temperatures.iter().copied().filter(|t| t.is_finite()) {
            let projected = model.at(temperature);
            days += 1;
            energy += projected;
            beyond = beyond
                .max(support.fit_min - temperature)
                .max(temperature - support.fit_max);
            if temperature < support.low - slack || temperature > support.high + slack {
                outside += 1;
                energy_outside += projected;
            }
        }
        let mut coverage = Self {
            tier: CoverageTier::NotEvaluated,
            support,
            days,
            outside,
            share_of_days: share_of(outside) / share_of(days),
            share_of_energy: (energy > 0.0).then(|| energy_outside / energy),
            beyond,
            beyond_share: if beyond > 0.0 {
                (support.width() > 0.0).then(|| beyond / support.width())
            } else {
                Some(0.0)
            },
        };
        coverage.tier = coverage.judged(policy);
        coverage
    }

    fn judged(&self, policy: &ExtrapolationPolicy) -> CoverageTier {
        if self.days == 0 {
            return CoverageTier::NotEvaluated;
        }
        // The baseline's weather never varied, so that any other is beyond measure.
        let Some(beyond) = self.beyond_share else {
            return CoverageTier::Severe;
        };
        let share = self
            .share_of_energy
            .map_or(self.share_of_days, |energy| energy.max(self.share_of_days));
        if (share >= policy.decline_share && self.outside >= policy.min_points_outside)
            || beyond > policy.decline_distance
        {
            CoverageTier::Severe
        } else if share <= policy.caveat_share && beyond <= policy.caveat_distance {
            CoverageTier::InRange
        } else {
            CoverageTier::Moderate
        }
    }
}

/// The sentence of a caveat or of a declined saving.
impl fmt::Display for Coverage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} of {} days ({:.1}%",
            self.outside,
            self.days,
            100.0 * self.share_of_days
        )?;
        if let Some(energy) = self.share_of_energy {
            write!(
                formatter,
                ", {:.1}% of the projected energy",
                100.0 * energy
            )?;
        }
        write!(
            formatter,
            ") lie outside the outdoor temperatures that the baseline knows, {:.1} to {:.1} °F",
            self.support.low, self.support.high
        )?;
        match self.beyond_share {
            None => formatter.write_str("; the baseline's weather never varied"),
            Some(share) if share > 0.0 => write!(
                formatter,
                "; the furthest is {:.1} °F beyond ({:.0}% of the fitted width)",
                self.beyond,
                100.0 * share
            ),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mv::testing::worked_days;

    fn judged(temperatures: &[f64]) -> Coverage {
        let days = worked_days();
        let model = ChangePointModel::chosen(&days.temperature, &days.energy).unwrap();
        let policy = ExtrapolationPolicy::default();
        let support = Support::of(&days.temperature, &policy).unwrap();
        Coverage::of(support, &model, temperatures, &policy)
    }

    #[test]
    fn the_edges_have_a_slack_of_a_twentieth() {
        // The support reaches from 30 to 80 °F, the slack is 2.5 °F.
        let near = judged(&[27.5, 82.5]);
        assert_eq!((near.tier, near.outside), (CoverageTier::InRange, 0));
        assert_eq!((near.beyond, near.beyond_share), (2.5, Some(0.05)));
        assert_eq!(judged(&[27.4, 60.0]).outside, 1);
    }

    #[test]
    fn one_day_outside_is_no_share_and_two_are() {
        let mut temperatures = vec![60.0, 60.0, 84.0];
        assert_eq!(judged(&temperatures).tier, CoverageTier::Moderate);
        temperatures.push(84.0);
        let severe = judged(&temperatures);
        assert_eq!(
            (severe.tier, severe.share_of_days),
            (CoverageTier::Severe, 0.5)
        );
        assert!(severe.share_of_energy.unwrap() > 0.5);
    }

    #[test]
    fn a_single_day_far_beyond_is_severe() {
        let mut temperatures = vec![60.0; 99];
        temperatures.push(105.0);
        assert_eq!(judged(&temperatures).tier, CoverageTier::Moderate);
        temperatures.push(105.5);
        let severe = judged(&temperatures);
        assert_eq!(
            (severe.tier, severe.beyond_share),
            (CoverageTier::Severe, Some(0.51))
        );
        assert_eq!(
            severe.to_string(),
            "2 of 101 days (2.0%, 3.9% of the projected energy) lie outside the outdoor temperatures that the baseline \
             knows, 30.0 to 80.0 °F; the furthest is 25.5 °F beyond (51% of the fitted width)"
        );
    }

    #[test]
    fn weather_that_never_varied_knows_itself_only() {
        let policy = ExtrapolationPolicy::default();
        let model = ChangePointModel::chosen(&[60.0; 5], &[5.0, 6.0, 5.0, 6.0, 5.0]).unwrap();
        let support = Support::of(&[60.0; 5], &policy).unwrap();
        let tier = |temperature| Coverage::of(support, &model, &[temperature], &policy).tier;
        assert_eq!(tier(60.0), CoverageTier::InRange);
        assert_eq!(tier(60.1), CoverageTier::Severe);
        assert!(support.is_near(&[60.0]) && !support.is_near(&[60.1]));
    }

    #[test]
    fn no_weather_is_not_judged() {
        assert_eq!(judged(&[f64::NAN]).tier, CoverageTier::NotEvaluated);
        assert_eq!(Support::of(&[], &ExtrapolationPolicy::default()), None);
    }
}
