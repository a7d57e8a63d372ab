//! How far a model is asked about weather that it has not seen (M&V §6.3).

use std::fmt;

use super::daily::DailyFrame;
use super::model::BaselineModel;
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
    /// Of a fit that nothing drove.
    const NONE: Self = Self {
        fit_min: f64::NAN,
        fit_max: f64::NAN,
        low: f64::NAN,
        high: f64::NAN,
        mean: f64::NAN,
        deviation: f64::NAN,
    };

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

/// Everything that drove a fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Domain {
    /// One per driver.
    pub supports: Vec<Support>,
    /// Greatest leverage of a fitted row, where several drivers make combinations that no row has.
    pub leverage: Option<f64>,
}

impl Domain {
    /// The drivers of the rows that a model was fitted on.
    pub fn of(model: &BaselineModel, fitted: &DailyFrame, policy: &ExtrapolationPolicy) -> Self {
        let rows: Vec<Vec<f64>> = (0..fitted.len())
            .map(|row| model.drivers(fitted, row))
            .collect();
        let columns = rows.first().map_or(0, Vec::len);
        let supports: Vec<Support> = (0..columns)
            .filter_map(|driver| {
                let values: Vec<f64> = rows
                    .iter()
                    .filter_map(|row| row.get(driver).copied())
                    .collect();
                Support::of(&values, policy)
            })
            .collect();
        let leverage = |row: &Vec<f64>| model.variance_of(&model.terms(row));
        Self {
            leverage: (supports.len() > 1).then(|| rows.iter().map(leverage).fold(0.0, f64::max)),
            supports,
        }
    }

    /// Whether the means of all drivers of these rows lie within the fit, or near their means (SEP range rule).
    pub fn is_near(&self, model: &BaselineModel, frame: &DailyFrame) -> bool {
        let rows: Vec<Vec<f64>> = (0..frame.len())
            .map(|row| model.drivers(frame, row))
            .collect();
        self.supports.iter().enumerate().all(|(driver, support)| {
            let applied: Vec<f64> = rows
                .iter()
                .filter_map(|row| row.get(driver).copied())
                .collect();
            support.is_near(&applied)
        })
    }

    /// Drivers moved into the support.
    pub fn clipped(&self, drivers: &[f64]) -> Vec<f64> {
        drivers
            .iter()
            .zip(&self.supports)
            .map(|(driver, support)| driver.max(support.low).min(support.high))
            .collect()
    }

    fn is_outside(
        &self,
        model: &BaselineModel,
        drivers: &[f64],
        policy: &ExtrapolationPolicy,
    ) -> bool {
        let beyond_edge = drivers.iter().zip(&self.supports).any(|(driver, support)| {
            let slack = support.slack(policy);
            *driver < support.low - slack || *driver > support.high + slack
        });
        beyond_edge
            || self
                .leverage
                .is_some_and(|most| model.variance_of(&model.terms(drivers)) > most)
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
    /// Judges what drives the rows of a projection.
    pub fn of(
        domain: &Domain,
        model: &BaselineModel,
        frame: &DailyFrame,
        policy: &ExtrapolationPolicy,
    ) -> Self {
        let (mut days, mut outside) = (0, 0);
        let (mut energy, mut energy_outside) = (0.0, 0.0);
        let mut furthest = vec![0.0_f64; domain.supports.len()];
        for row in 0..frame.len() {
            let drivers = model.drivers(frame, row);
            if !drivers.iter().all(|driver| driver.is_finite()) {
                continue;
            }
            let projected = model.at(&drivers) * frame.service_days(row);
            days += 1;
            energy += projected;
            for ((beyond, support), driver) in
                furthest.iter_mut().zip(&domain.supports).zip(&drivers)
            {
                *beyond = beyond
                    .max(support.fit_min - driver)
                    .max(driver - support.fit_max);
            }
            if domain.is_outside(model, &drivers, policy) {
                outside += 1;
                energy_outside += projected;
            }
        }
        // The driver that leaves the fit by most of its width; one that never varied leaves it beyond measure.
        let share = |beyond: f64, support: &Support| match beyond > 0.0 {
            false => 0.0,
            true if support.width() > 0.0 => beyond / support.width(),
            true => f64::INFINITY,
        };
        let (beyond, support, beyond_share) = furthest
            .iter()
            .zip(&domain.supports)
            .map(|(beyond, support)| (*beyond, *support, share(*beyond, support)))
            .reduce(|worst, next| if next.2 > worst.2 { next } else { worst })
            .unwrap_or((0.0, Support::NONE, 0.0));
        let mut coverage = Self {
            tier: CoverageTier::NotEvaluated,
            support,
            days,
            outside,
            share_of_days: share_of(outside) / share_of(days),
            share_of_energy: (energy > 0.0).then(|| energy_outside / energy),
            beyond,
            beyond_share: beyond_share.is_finite().then_some(beyond_share),
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
    use crate::mv::Baseline;
    use crate::mv::testing::worked_days;

    fn weather(temperatures: &[f64]) -> DailyFrame {
        DailyFrame {
            days: vec![0; temperatures.len()],
            temperature: temperatures.to_vec(),
            energy: vec![0.0; temperatures.len()],
            ..DailyFrame::default()
        }
    }

    fn judged(temperatures: &[f64]) -> Coverage {
        let baseline = Baseline::of(&worked_days(), &ExtrapolationPolicy::default()).unwrap();
        Coverage::of(
            &baseline.domain,
            &baseline.model,
            &weather(temperatures),
            &ExtrapolationPolicy::default(),
        )
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
        let mut still = weather(&[60.0; 5]);
        still.energy = vec![5.0, 6.0, 5.0, 6.0, 5.0];
        let baseline = Baseline::of(&still, &policy).unwrap();
        let support = baseline.support;
        let tier = |temperature| {
            let frame = weather(&[temperature]);
            Coverage::of(&baseline.domain, &baseline.model, &frame, &policy).tier
        };
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
