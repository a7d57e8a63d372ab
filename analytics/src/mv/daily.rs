//! Energy and outdoor temperature of every day of a meter (M&V §3).

use std::collections::BTreeMap;

use crate::frame::Frame;
use crate::numeric::{self, nanos};
use crate::wall_clock::{DAY, HOUR, Window};

/// Role of the outdoor air temperature.
const OUTDOOR_AIR: &str = "oat";
/// Outdoor temperatures beyond these are placeholders or sensor faults, °F.
const COLDEST: f64 = -40.0;
const HOTTEST: f64 = 140.0;
/// Slack of the comparison with the least coverage.
const COVERAGE_SLACK: f64 = 1e-9;

/// Which days count.
#[derive(Clone, Copy)]
pub struct DailyRule<'a> {
    /// Least share of a day that the meter's samples must cover, 0 to 1.
    pub min_coverage: f64,
    /// Hours of the day that begins at a stamp: 24, or 23 and 25 where the site's clocks change.
    pub hours_of_day: &'a dyn Fn(i64) -> f64,
    /// Whether the clock on the wall shows the hour of a stamp twice: its one sample stands for both.
    pub shown_twice: &'a dyn Fn(i64) -> bool,
}

/// How often the clock on the wall showed the hours of stamps in the order of time.
struct Passes<'a> {
    rule: DailyRule<'a>,
    /// The last day that was asked about, and whether it has more than 24 hours: no other day shows one twice.
    day: Option<(i64, bool)>,
}

impl<'a> Passes<'a> {
    const USUAL_HOURS: f64 = 24.0;

    fn by(rule: DailyRule<'a>) -> Self {
        Self { rule, day: None }
    }

    fn of(&mut self, stamp: i64) -> u8 {
        let day = day_of(stamp);
        let is_long = match self.day {
            Some((known, is_long)) if known == day => is_long,
            _ => (self.rule.hours_of_day)(day.saturating_mul(DAY)) > Self::USUAL_HOURS,
        };
        self.day = Some((day, is_long));
        match is_long && (self.rule.shown_twice)(stamp) {
            true => 2,
            false => 1,
        }
    }
}

impl DailyRule<'static> {
    /// Nine tenths of 24 hours, the default.
    pub const DEFAULT: Self = Self {
        min_coverage: 0.9,
        hours_of_day: &|_| 24.0,
        shown_twice: &|_| false,
    };
}

/// Why there are no days at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoDays {
    #[error("no data for role {role:?} of {equip:?}; map the meter's rate to this role")]
    NoMeter { equip: String, role: String },
    #[error("no outdoor air temperature for {equip:?}; map `oat`, or name it as `shared_oat`")]
    NoWeather { equip: String },
}

/// The days of a meter, or its bills, in the order of time; all figures are finite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DailyFrame {
    /// Midnights, of bills that of the first day, in nanoseconds of the site's wall clock.
    pub days: Vec<i64>,
    /// Mean outdoor temperature, °F.
    pub temperature: Vec<f64>,
    /// Of a day, in the meter's unit times hours; of a bill the mean of its days, in its own unit.
    pub energy: Vec<f64>,
    /// Columns of a model beside the temperature, in its order; empty for a model of temperature alone.
    pub drivers: Vec<Vec<f64>>,
    /// What stands behind each row of bills; empty where every row is one day.
    pub bills: Vec<BilledDays>,
    /// Days whose samples cover too little.
    pub dropped: usize,
    /// Samples of the outdoor temperature that no outdoor air can have.
    pub screened: usize,
}

/// The days of one bill (M&V §8).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BilledDays {
    /// Days of service.
    pub days: f64,
    /// Outdoor temperatures in °F of each day of which the weather is known.
    pub weather: Vec<Vec<f64>>,
}

impl BilledDays {
    /// Mean degrees below a base.
    pub fn heating_degrees(&self, base: f64) -> f64 {
        self.mean_of(|temperature| (base - temperature).max(0.0))
    }

    /// Mean degrees above a base.
    pub fn cooling_degrees(&self, base: f64) -> f64 {
        self.mean_of(|temperature| (temperature - base).max(0.0))
    }

    /// Mean over the days of the means of each day.
    pub fn mean_of(&self, term: impl Fn(f64) -> f64) -> f64 {
        let days = self
            .weather
            .iter()
            .map(|day| numeric::mean_of(day.iter().map(|temperature| term(*temperature))));
        numeric::mean_of(days)
    }
}

impl DailyFrame {
    /// Sums a meter's rate over the days of a window.
    ///
    /// A sample stands until the next one, for at most the usual gap; gaps are not filled.
    ///
    /// # Errors
    /// The meter, or the weather, has no sample at any time.
    pub fn of(
        frame: &Frame<'_>,
        meter: &str,
        window: Window,
        rule: DailyRule<'_>,
    ) -> Result<Self, NoDays> {
        let rate = frame.with_data(meter).ok_or_else(|| NoDays::NoMeter {
            equip: frame.equip().to_owned(),
            role: meter.to_owned(),
        })?;
        let oat = frame
            .with_data(OUTDOOR_AIR)
            .ok_or_else(|| NoDays::NoWeather {
                equip: frame.equip().to_owned(),
            })?;
        let mut daily = Self::default();
        let weather = daily.mean_temperatures(samples(frame, oat, window), rule);
        for (day, metered) in metered_days(&samples(frame, rate, window), rule) {
            let Some(temperature) = weather.get(&day) else {
                continue;
            };
            if !metered.energy.total.is_finite() || metered.energy.total < 0.0 {
                continue;
            }
            let midnight = day.saturating_mul(DAY);
            let coverage = (metered.hours / (rule.hours_of_day)(midnight)).min(1.0);
            if coverage >= rule.min_coverage - COVERAGE_SLACK {
                daily.days.push(midnight);
                daily.temperature.push(*temperature);
                daily.energy.push(metered.energy.total);
            } else {
                daily.dropped += 1;
            }
        }
        Ok(daily)
    }

    /// Days for which a row stands.
    pub fn service_days(&self, row: usize) -> f64 {
        self.bills.get(row).map_or(1.0, |bill| bill.days)
    }

    /// Days for which all rows stand.
    pub fn total_days(&self) -> f64 {
        (0..self.len()).map(|row| self.service_days(row)).sum()
    }

    /// Weights of the rows of a fit, 1 in the mean; none when all rows stand for as many days.
    pub fn weights(&self) -> Option<Vec<f64>> {
        let first = self.bills.first()?.days;
        if self.bills.iter().all(|bill| bill.days == first) {
            return None;
        }
        let mean = self.total_days() / numeric::share_of(self.len());
        Some(self.bills.iter().map(|bill| bill.days / mean).collect())
    }

    /// The rows for which a condition on their number holds.
    #[must_use]
    pub fn kept(&self, keep: impl Fn(usize) -> bool) -> Self {
        fn those<T: Clone>(all: &[T], keep: &impl Fn(usize) -> bool) -> Vec<T> {
            let rows = all.iter().enumerate().filter(|(row, _)| keep(*row));
            rows.map(|(_, value)| value.clone()).collect()
        }
        Self {
            days: those(&self.days, &keep),
            temperature: those(&self.temperature, &keep),
            energy: those(&self.energy, &keep),
            drivers: self
                .drivers
                .iter()
                .map(|column| those(column, &keep))
                .collect(),
            bills: those(&self.bills, &keep),
            dropped: self.dropped,
            screened: self.screened,
        }
    }

    /// The same rows with these of the columns beside the temperature, in this order.
    #[must_use]
    pub fn with_columns(mut self, places: &[usize]) -> Self {
        self.drivers = places
            .iter()
            .filter_map(|place| self.drivers.get(*place).cloned())
            .collect();
        self
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.days.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    /// Means by day, and counts what is screened.
    fn mean_temperatures(
        &mut self,
        mut samples: Vec<(i64, f64)>,
        rule: DailyRule<'_>,
    ) -> BTreeMap<i64, f64> {
        let all = samples.len();
        samples.retain(|(_, temperature)| (COLDEST..=HOTTEST).contains(temperature));
        self.screened += all - samples.len();
        daily_means(&samples, rule)
    }
}

/// Means by day since 1970, of samples in the order of time.
pub(super) fn daily_means(samples: &[(i64, f64)], rule: DailyRule<'_>) -> BTreeMap<i64, f64> {
    let mut passes = Passes::by(rule);
    samples
        .chunk_by(|(one, _), (other, _)| day_of(*one) == day_of(*other))
        .filter_map(|day| {
            let (mut sum, mut count) = (DaySum::default(), 0);
            for (stamp, value) in day {
                for _ in 0..passes.of(*stamp) {
                    sum.add(*value);
                    count += 1;
                }
            }
            let (first, _) = day.first()?;
            Some((day_of(*first), sum.total / numeric::share_of(count)))
        })
        .collect()
}

/// A sum that keeps what is too small for it, as grouped sums of data frames do: frozen baselines know their rows to the
/// last bit.
#[derive(Debug, Clone, Copy, Default)]
struct DaySum {
    total: f64,
    lost: f64,
}

impl DaySum {
    fn add(&mut self, value: f64) {
        let value = value - self.lost;
        let total = self.total + value;
        self.lost = total - self.total - value;
        self.total = total;
        if !self.lost.is_finite() {
            self.lost = 0.0;
        }
    }
}

/// What the meter says of a day.
#[derive(Debug, Clone, Copy, Default)]
struct MeteredDay {
    energy: DaySum,
    /// Hours for which samples stand.
    hours: f64,
}

/// By day since 1970; empty below two samples, of which nobody knows how long they stand.
fn metered_days(samples: &[(i64, f64)], rule: DailyRule<'_>) -> BTreeMap<i64, MeteredDay> {
    let stamps: Vec<i64> = samples.iter().map(|sample| sample.0).collect();
    let Some(step) = numeric::median_step(&stamps) else {
        return BTreeMap::new();
    };
    let step = step / nanos(HOUR);
    let mut next = stamps.iter().skip(1).copied();
    let mut passes = Passes::by(rule);
    let of_days = samples.chunk_by(|(one, _), (other, _)| day_of(*one) == day_of(*other));
    of_days
        .filter_map(|samples| {
            let mut day = MeteredDay::default();
            for (stamp, rate) in samples {
                let gap = next.next().map_or(step, |next| {
                    nanos(next.saturating_sub(*stamp)) / nanos(HOUR)
                });
                let passes = f64::from(passes.of(*stamp));
                day.energy.add(passes * rate * gap.min(step));
                day.hours += passes * step;
            }
            let (first, _) = samples.first()?;
            Some((day_of(*first), day))
        })
        .collect()
}

/// Samples within a window, in the order of time.
pub(super) fn samples(frame: &Frame<'_>, values: &[f64], window: Window) -> Vec<(i64, f64)> {
    frame
        .stamps()
        .iter()
        .copied()
        .zip(values.iter().copied())
        .filter(|(stamp, value)| !value.is_nan() && window.contains(*stamp))
        .collect()
}

fn day_of(stamp: i64) -> i64 {
    stamp.div_euclid(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RoleFrame;
    use crate::mv::testing::{hourly, since_2023};

    fn days(table: &RoleFrame) -> DailyFrame {
        DailyFrame::of(
            &Frame::whole(table),
            "power",
            Window::OPEN,
            DailyRule::DEFAULT,
        )
        .unwrap()
    }

    #[test]
    fn a_day_is_the_sum_of_its_hours_and_the_mean_of_its_weather() {
        let table = hourly(
            2,
            |hour| 50.0 + f64::from(hour % 24),
            |hour| f64::from(hour / 24 + 1),
        );
        let daily = days(&table);
        assert_eq!(daily.days, [since_2023(0), since_2023(1)]);
        assert_eq!(daily.temperature, [61.5, 61.5]);
        assert_eq!(daily.energy, [24.0, 48.0]);
    }

    #[test]
    fn a_gap_is_not_filled_and_a_day_that_lacks_too_much_is_dropped() {
        // Two hours of the first day are missing, three of the second.
        let gap = |hour| matches!(hour, 10 | 11 | 30..=32);
        let table = hourly(3, |_| 60.0, |hour| if gap(hour) { f64::NAN } else { 2.0 });
        let daily = days(&table);
        assert_eq!(daily.days, [since_2023(0), since_2023(2)]);
        assert_eq!(daily.energy, [44.0, 48.0]);
        assert_eq!(daily.dropped, 1);
    }

    #[test]
    fn weather_needs_no_coverage_but_must_be_possible() {
        // Nothing but placeholders on the second day, one honest hour on the third.
        let table = hourly(
            3,
            |hour| match hour {
                0..24 => 60.0,
                70 => 41.0,
                _ => 200.0,
            },
            |_| 1.0,
        );
        let daily = days(&table);
        assert_eq!(daily.days, [since_2023(0), since_2023(2)]);
        assert_eq!(daily.temperature, [60.0, 41.0]);
        assert_eq!((daily.screened, daily.dropped), (47, 0));
    }

    #[test]
    fn a_day_of_negative_energy_is_left_out() {
        let table = hourly(2, |_| 60.0, |hour| if hour == 5 { -1e6 } else { 1.0 });
        let daily = days(&table);
        assert_eq!(daily.days, [since_2023(1)]);
        assert_eq!(daily.dropped, 0);
    }

    #[test]
    fn a_short_day_needs_fewer_samples() {
        let table = hourly(2, |_| 60.0, |hour| if hour == 2 { f64::NAN } else { 1.0 });
        let whole = |hours_of_day: &dyn Fn(i64) -> f64| {
            let rule = DailyRule {
                min_coverage: 1.0,
                hours_of_day,
                ..DailyRule::DEFAULT
            };
            let daily = DailyFrame::of(&Frame::whole(&table), "power", Window::OPEN, rule).unwrap();
            (daily.len(), daily.dropped)
        };
        assert_eq!(whole(&|_| 24.0), (1, 1));
        assert_eq!(
            whole(&|day| if day == since_2023(0) { 23.0 } else { 24.0 }),
            (2, 0)
        );
    }

    #[test]
    fn an_hour_that_is_shown_twice_counts_twice() {
        let table = hourly(
            1,
            |hour| if hour == 1 { 75.0 } else { 50.0 },
            |hour| if hour == 1 { 110.0 } else { 10.0 },
        );
        let rule = DailyRule {
            min_coverage: 1.0,
            hours_of_day: &|_| 25.0,
            shown_twice: &|stamp| stamp == since_2023(0) + HOUR,
        };
        let daily = DailyFrame::of(&Frame::whole(&table), "power", Window::OPEN, rule).unwrap();
        assert_eq!((daily.energy, daily.temperature), (vec![450.0], vec![52.0]));
    }

    #[test]
    fn a_window_takes_whole_stamps_and_what_is_missing_is_named() {
        let table = hourly(4, |_| 60.0, |_| 1.0);
        let window = Window {
            start: Some(since_2023(1)),
            end: Some(since_2023(3) - 1),
        };
        let daily =
            DailyFrame::of(&Frame::whole(&table), "power", window, DailyRule::DEFAULT).unwrap();
        assert_eq!(daily.days, [since_2023(1), since_2023(2)]);

        let absent = DailyFrame::of(
            &Frame::whole(&table),
            "energy_rate",
            Window::OPEN,
            DailyRule::DEFAULT,
        );
        assert!(matches!(absent, Err(NoDays::NoMeter { .. })));
        let blind = hourly(4, |_| f64::NAN, |_| 1.0);
        let absent = DailyFrame::of(
            &Frame::whole(&blind),
            "power",
            Window::OPEN,
            DailyRule::DEFAULT,
        );
        assert!(matches!(absent, Err(NoDays::NoWeather { .. })));
    }
}
