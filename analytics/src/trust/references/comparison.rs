//! One point against one reference (Engine §3.8).

use serde_json::{Value, json};

use crate::finding::Severity;
use crate::numeric::{self, round};
use crate::run_config::ReferenceLimits;
use crate::wall_clock::DAY;

/// A drift needs so many days with samples.
const FEWEST_DAYS: usize = 14;
/// Days of a month.
const MONTH: f64 = 30.44;

/// Sorted stamps and a value each, NaN where there is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReferenceSeries {
    pub stamps: Vec<i64>,
    pub values: Vec<f64>,
}

/// What a comparison found. Figures are none with too few common samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The point that is compared.
    pub equip: String,
    pub role: String,
    /// The reference as it is shown.
    pub reference: String,
    pub severity: Severity,
    /// For people.
    pub verdict: String,
    /// Median of point minus reference, two decimals: a positive one reads high.
    pub bias: Option<f64>,
    pub rmse: Option<f64>,
    /// None also where either side is constant.
    pub correlation: Option<f64>,
    /// By the median of all slopes; none over too short a time.
    pub drift_per_month: Option<f64>,
    /// Samples of both sides at the same stamp.
    pub samples: usize,
    /// First and last common sample, nanoseconds of the site's wall clock.
    pub overlap: Option<(i64, i64)>,
    /// Days from the first to the last common sample.
    pub overlap_days: f64,
    pub caveats: Vec<String>,
    /// Equipment on which findings that read the role rest on this point.
    pub read_by: Vec<String>,
}

impl Comparison {
    /// `reads high`, `reads low` or `even`, by the rounded bias.
    pub fn bias_sign(&self) -> Option<&'static str> {
        self.bias.map(|bias| match bias {
            high if high > 0.0 => "reads high",
            low if low < 0.0 => "reads low",
            _ => "even",
        })
    }

    /// Whether there were samples enough to judge the point by; the caveats tell why not.
    pub fn is_judged(&self) -> bool {
        self.severity != Severity::Info
    }

    /// Whether the point is not to be taken at its word.
    pub fn speaks_against(&self) -> bool {
        matches!(self.severity, Severity::Warn | Severity::Fault)
    }

    /// The flag of the point; none when the comparison does not speak against it.
    pub fn flag(&self) -> Option<&'static str> {
        match self.severity {
            Severity::Warn => Some("reference_warn"),
            Severity::Fault => Some("reference_fault"),
            Severity::Info | Severity::Ok => None,
        }
    }

    /// What a finding is conditional on: `sensor_drift:supply_air_temp warn`.
    pub fn condition(&self) -> String {
        format!("sensor_drift:{} {}", self.role, self.severity.word())
    }

    /// An item of `conditional_on` of a finding.
    pub fn condition_json(&self) -> Value {
        json!({
            "kind": "sensor_drift",
            "role": self.role,
            "severity": self.severity.word(),
            "bias": self.bias,
            "reference": self.reference,
            "text": format!("{}: {}", self.condition(), self.verdict),
        })
    }
}

/// The differences at common samples.
struct Joint {
    stamps: Vec<i64>,
    point: Vec<f64>,
    reference: Vec<f64>,
    differences: Vec<f64>,
}

impl Joint {
    /// At the same stamps exactly; nothing is interpolated.
    fn of(stamps: &[i64], values: &[f64], reference: &ReferenceSeries) -> Self {
        let mut joint = Self {
            stamps: Vec::new(),
            point: Vec::new(),
            reference: Vec::new(),
            differences: Vec::new(),
        };
        let mut others = reference.stamps.iter().zip(&reference.values).peekable();
        for (stamp, value) in stamps.iter().zip(values) {
            while others.next_if(|(known, _)| *known < stamp).is_some() {}
            let Some((_, other)) = others.peek().filter(|(known, _)| *known == stamp) else {
                continue;
            };
            if value.is_nan() || other.is_nan() {
                continue;
            }
            joint.stamps.push(*stamp);
            joint.point.push(*value);
            joint.reference.push(**other);
            joint.differences.push(value - *other);
        }
        joint
    }

    /// First and last stamp.
    fn ends(&self) -> Option<(i64, i64)> {
        Some((*self.stamps.first()?, *self.stamps.last()?))
    }

    /// Days since the first day, and the median difference of that day.
    fn daily(&self) -> Vec<(f64, f64)> {
        let day = |stamp: i64| stamp.div_euclid(DAY);
        let Some(first) = self.stamps.first().map(|stamp| day(*stamp)) else {
            return Vec::new();
        };
        let mut places = 0;
        self.stamps
            .chunk_by(|one, next| day(*one) == day(*next))
            .map(|stamps| {
                let start = places;
                places += stamps.len();
                let number = stamps.first().map_or(0, |stamp| day(*stamp) - first);
                let of_day = self.differences.get(start..places).unwrap_or_default();
                (numeric::nanos(number), numeric::median(of_day))
            })
            .collect()
    }
}

/// Median of the slopes between all pairs of points with different x; none without such a pair.
fn theil_sen(points: &[(f64, f64)]) -> Option<f64> {
    let mut slopes: Vec<f64> = points
        .iter()
        .enumerate()
        .flat_map(|(place, one)| points.iter().skip(place + 1).map(move |next| (one, next)))
        .filter(|(one, next)| next.0 > one.0)
        .map(|(one, next)| (next.1 - one.1) / (next.0 - one.0))
        .filter(|slope| !slope.is_nan())
        .collect();
    (!slopes.is_empty()).then(|| numeric::median_in_place(&mut slopes))
}

fn drift(joint: &Joint, days: f64, limits: &ReferenceLimits) -> Result<f64, String> {
    if days < limits.min_drift_days {
        return Err(format!(
            "no drift: the comparison spans {} days, and a drift needs {}",
            round(days, 1),
            limits.min_drift_days
        ));
    }
    let daily: Vec<(f64, f64)> = joint
        .daily()
        .into_iter()
        .map(|(day, difference)| (day / MONTH, difference))
        .collect();
    if daily.len() < FEWEST_DAYS {
        return Err(format!(
            "no drift: {} days have common samples, and a drift needs {FEWEST_DAYS}",
            daily.len()
        ));
    }
    theil_sen(&daily).ok_or_else(|| "no drift: all samples are of one day".to_owned())
}

/// Compares a point with a reference.
pub fn compare(
    (equip, role): (&str, &str),
    (stamps, values): (&[i64], &[f64]),
    label: &str,
    reference: &ReferenceSeries,
    limits: &ReferenceLimits,
) -> Comparison {
    let joint = Joint::of(stamps, values, reference);
    let samples = joint.stamps.len();
    let overlap = joint.ends();
    let days = overlap.map_or(0.0, |(first, last)| {
        numeric::nanos(last.saturating_sub(first)) / numeric::nanos(DAY)
    });
    let mut found = Comparison {
        equip: equip.to_owned(),
        role: role.to_owned(),
        reference: label.to_owned(),
        severity: Severity::Info,
        verdict: "insufficient overlap".to_owned(),
        bias: None,
        rmse: None,
        correlation: None,
        drift_per_month: None,
        samples,
        overlap,
        overlap_days: round(days, 2),
        caveats: Vec::new(),
        read_by: vec![equip.to_owned()],
    };
    if samples == 0 || samples < limits.min_samples {
        found.caveats.push(format!(
            "only {samples} common samples, a comparison needs {}",
            limits.min_samples.max(1)
        ));
        return found;
    }
    let bias = numeric::median(&joint.differences);
    let squares = joint
        .differences
        .iter()
        .map(|difference| difference.powi(2));
    let rmse = numeric::mean_of(squares).sqrt();
    let correlation = numeric::pearson(&joint.point, &joint.reference);
    let drift = match drift(&joint, days, limits) {
        Ok(drift) => Some(drift),
        Err(caveat) => {
            found.caveats.push(caveat);
            None
        }
    };
    let known = |value: f64, decimals| (!value.is_nan()).then(|| round(value, decimals));
    found.bias = known(bias, 2);
    found.rmse = known(rmse, 2);
    found.correlation = known(correlation, 3);
    found.drift_per_month = drift.and_then(|drift| known(drift, 3));
    judge(&mut found, bias, correlation, drift, limits);
    found
}

/// Severity and verdict, by the figures before they are rounded.
fn judge(
    found: &mut Comparison,
    bias: f64,
    correlation: f64,
    drift: Option<f64>,
    limits: &ReferenceLimits,
) {
    let of_bias = Severity::at_least(bias.abs(), limits.bias_warn, limits.bias_fault);
    let of_drift = drift.map_or(Severity::Ok, |drift| {
        Severity::at_least(drift.abs(), limits.drift_warn, limits.drift_fault)
    });
    if correlation < limits.min_correlation {
        found.severity = Severity::Fault;
        found.verdict = format!(
            "does not track {} (r {})",
            found.reference,
            round(correlation, 3)
        );
        return;
    }
    found.severity = of_bias.min(of_drift);
    let mut issues = Vec::new();
    if of_bias != Severity::Ok {
        let side = if bias > 0.0 { "high" } else { "low" };
        let size = round(bias.abs(), 2);
        issues.push((
            of_bias,
            format!("reads {size} {side} against {}", found.reference),
        ));
    }
    if let (Some(drift), true) = (drift, of_drift != Severity::Ok) {
        issues.push((of_drift, format!("drifts {} a month", round(drift, 3))));
    }
    // Stable: bias stays before drift at equal severity.
    issues.sort_by_key(|(severity, _)| *severity);
    found.verdict = if issues.is_empty() {
        format!("tracks {}", found.reference)
    } else {
        let issues: Vec<String> = issues.into_iter().map(|(_, issue)| issue).collect();
        issues.join("; ")
    };
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::numeric::share_of;
    use crate::wall_clock::{HOUR, parse_bound};

    fn wave(row: usize) -> f64 {
        50.0 + 10.0 * (2.0 * PI * share_of(row) / 24.0).sin()
    }

    /// Hourly over 40 days from midnight.
    fn against_wave(rows: usize, value: impl Fn(usize) -> f64) -> Comparison {
        let start = parse_bound("2024-03-01").unwrap();
        let stamps: Vec<i64> = (0..960).map(|row| start + row * HOUR).collect();
        let reference = ReferenceSeries {
            stamps: stamps.clone(),
            values: (0..960).map(wave).collect(),
        };
        let values: Vec<f64> = (0..rows).map(value).collect();
        compare(
            ("AHU-1", "oat"),
            (&stamps, &values),
            "logger",
            &reference,
            &ReferenceLimits::default(),
        )
    }

    fn figures(found: &Comparison) -> [Option<f64>; 4] {
        [
            found.bias,
            found.drift_per_month,
            found.rmse,
            found.correlation,
        ]
    }

    #[test]
    fn comparisons_are_those_worked() {
        let drifting = against_wave(960, |row| wave(row) + 3.0 + 0.05 * share_of(row) / 24.0);
        assert_eq!(
            figures(&drifting),
            [Some(4.0), Some(1.522), Some(4.04), Some(0.997)]
        );
        assert_eq!(drifting.severity, Severity::Warn);
        assert_eq!(
            drifting.verdict,
            "reads 4 high against logger; drifts 1.522 a month"
        );
        assert_eq!(drifting.condition(), "sensor_drift:oat warn");

        let high = against_wave(960, |row| wave(row) + 6.0);
        assert_eq!(figures(&high), [Some(6.0), Some(0.0), Some(6.0), Some(1.0)]);
        assert_eq!(
            (high.severity, high.flag()),
            (Severity::Fault, Some("reference_fault"))
        );

        let short = against_wave(240, |row| wave(row) + 1.0);
        assert_eq!(figures(&short), [Some(1.0), None, Some(1.0), Some(1.0)]);
        assert_eq!((short.severity, short.overlap_days), (Severity::Ok, 9.96));
        assert_eq!(
            (short.verdict.as_str(), short.caveats.len()),
            ("tracks logger", 1)
        );

        let few = against_wave(50, wave);
        assert_eq!((figures(&few), few.samples), ([None; 4], 50));
        assert_eq!(
            (few.severity, few.verdict.as_str()),
            (Severity::Info, "insufficient overlap")
        );

        let constant = against_wave(960, |_| 50.0);
        assert_eq!(figures(&constant), [Some(0.0), Some(0.0), Some(7.07), None]);
        assert_eq!(
            (constant.severity, constant.bias_sign()),
            (Severity::Ok, Some("even"))
        );
    }

    #[test]
    fn a_sensor_that_goes_its_own_way_does_not_track() {
        let other = against_wave(960, |row| wave(row + 9));
        assert_eq!(other.severity, Severity::Fault);
        assert!(other.verdict.starts_with("does not track logger (r -0.7"));
        let low = against_wave(960, |row| wave(row) - 2.5);
        assert_eq!(low.bias_sign(), Some("reads low"));
        assert_eq!(low.verdict, "reads 2.5 low against logger");
    }

    #[test]
    fn samples_are_common_only_at_the_same_stamp() {
        let reference = ReferenceSeries {
            stamps: vec![0, 10, 20, 40],
            values: vec![1.0, 2.0, f64::NAN, 4.0],
        };
        let joint = Joint::of(&[0, 11, 20, 30, 40], &[5.0, 6.0, 7.0, 8.0, 9.0], &reference);
        assert_eq!(
            (joint.stamps, joint.differences),
            (vec![0, 40], vec![4.0, 5.0])
        );
    }

    mod hostile {
        use proptest::prelude::*;

        use super::*;

        fn series() -> impl Strategy<Value = ReferenceSeries> {
            let stamp = prop_oneof![any::<i64>(), (0..2_000_i64).prop_map(|hour| hour * HOUR)];
            let value = prop_oneof![
                4 => -50.0..150.0_f64,
                1 => Just(f64::NAN),
                1 => Just(f64::INFINITY),
                1 => Just(-1e300),
            ];
            proptest::collection::vec((stamp, value), 0..300).prop_map(|samples| {
                let (stamps, values) = samples.into_iter().unzip();
                ReferenceSeries { stamps, values }
            })
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(64))]
            #[test]
            fn no_samples_stop_a_comparison(point in series(), mut reference in series()) {
                reference.stamps.sort_unstable();
                let limits = ReferenceLimits { min_samples: 1, ..ReferenceLimits::default() };
                let samples = (point.stamps.as_slice(), point.values.as_slice());
                let found = compare(("A", "oat"), samples, "r", &reference, &limits);
                prop_assert!(found.samples <= point.stamps.len());
                let own = compare(("A", "oat"), samples, "r", &point, &limits);
                prop_assert!(own.bias.is_none_or(|bias| bias == 0.0));
            }
        }
    }
}
