//! Samples of one point: which belong together, where there are gaps, and what was left out.

use super::scale::LARGEST;

/// How the value between two samples is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A straight line; samples further apart than one and a half usual intervals have a gap between them.
    Sampled,
    /// The value holds until the next sample: states, and points that are recorded when they change.
    Held,
    /// [`Shape::Sampled`] where the samples come at a usual interval, else [`Shape::Held`].
    ByInterval,
    /// Steps: the value holds until the next sample, but where samples come at an interval of a trend, not longer than that
    /// interval.
    Stepped,
}

/// Samples of one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Any text; it is shown on one line and cut when it is long.
    pub label: String,
    /// Series of one unit share an axis.
    pub units: Option<String>,
    /// The values are 0 and 1.
    pub is_state: bool,
    pub shape: Shape,
    /// Milliseconds as on the time axis, in any order.
    pub times: Vec<i64>,
    /// NaN where there is no value to draw: the line is left open there.
    pub values: Vec<f64>,
}

/// A time without samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    pub from: i64,
    pub to: i64,
}

/// States that come at a longer usual interval are recorded when they change, as those of a daily schedule, milliseconds.
const LONGEST_STATE_INTERVAL: i64 = 3_600_000;

/// Share of the distances between samples that are like the usual one where samples come at an interval.
const REGULAR: f64 = 0.75;

/// A series within a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Analysed {
    /// The value holds until the next sample.
    pub is_held: bool,
    /// Samples without a gap between them, oldest first; a held stretch ends with the end of the last value.
    pub stretches: Vec<Vec<(i64, f64)>>,
    pub gaps: Vec<Gap>,
    /// Samples that are drawn or merged into what is drawn.
    pub samples: usize,
    /// Samples of the window that have no value to draw.
    pub excluded: usize,
    pub first: Option<i64>,
    pub last: Option<i64>,
    /// Smallest and largest value.
    pub extremes: Option<(f64, f64)>,
}

impl Series {
    /// What there is of the series from `from` to `to`, both included.
    pub(super) fn within(&self, from: i64, to: i64) -> Analysed {
        let mut found: Vec<(i64, f64)> = self
            .times
            .iter()
            .copied()
            .zip(self.values.iter().copied())
            .filter(|(time, _)| (from..=to).contains(time))
            .collect();
        if !found.is_sorted_by_key(|(time, _)| *time) {
            found.sort_by_key(|(time, _)| *time);
        }
        let is_sound = |value: f64| value.is_finite() && value.abs() <= LARGEST;
        let sound: Vec<i64> = found
            .iter()
            .filter(|(_, value)| is_sound(*value))
            .map(|(time, _)| *time)
            .collect();
        let usual = usual_interval(&sound);
        let is_held = match self.shape {
            Shape::Sampled => false,
            Shape::Held => true,
            Shape::ByInterval => sound.len() > 2 && usual.is_none(),
            Shape::Stepped => true,
        };
        let usual = match self.shape {
            Shape::Stepped => usual.filter(|usual| *usual <= LONGEST_STATE_INTERVAL),
            _ if is_held => None,
            _ => usual,
        };
        let limit = usual.map(|usual| usual.saturating_add(usual / 2));
        let mut analysed = Analysed {
            is_held,
            samples: sound.len(),
            excluded: found.len() - sound.len(),
            first: sound.first().copied(),
            last: sound.last().copied(),
            ..Analysed::default()
        };
        // How long a state holds where it is sampled.
        let hold = usual.filter(|_| is_held);
        analysed.split(&found, is_sound, limit, hold.map(|hold| (hold, to)));
        match hold {
            Some(_) => analysed.close_sampled(from, to, limit),
            None => analysed.close(from, to, limit),
        }
        analysed
    }
}

impl Analysed {
    /// `hold` is how long a sampled state holds, and until when at most.
    fn split(
        &mut self,
        found: &[(i64, f64)],
        is_sound: impl Fn(f64) -> bool,
        limit: Option<i64>,
        hold: Option<(i64, i64)>,
    ) {
        let mut stretch: Vec<(i64, f64)> = Vec::new();
        // Since when there has been no value, where one was before.
        let mut lost: Option<i64> = None;
        for &(time, value) in found {
            if !is_sound(value) {
                lost = lost.or(Some(time));
                continue;
            }
            let before = stretch.last().copied();
            if let Some((last, held)) = before
                && (lost.is_some() || limit.is_some_and(|limit| time.saturating_sub(last) > limit))
            {
                let from = match (self.is_held, lost, hold) {
                    (true, Some(lost), _) => {
                        stretch.push((lost, held));
                        lost
                    }
                    (true, None, Some((interval, _))) => {
                        stretch.push((last.saturating_add(interval), held));
                        last
                    }
                    _ => last,
                };
                self.gaps.push(Gap { from, to: time });
                self.stretches.push(std::mem::take(&mut stretch));
            }
            lost = None;
            let (low, high) = self.extremes.unwrap_or((value, value));
            self.extremes = Some((low.min(value), high.max(value)));
            stretch.push((time, value));
        }
        if !stretch.is_empty() {
            match (stretch.last().copied(), hold, lost) {
                (Some((last, held)), Some((interval, end)), lost) => {
                    let until = lost.unwrap_or(last.saturating_add(interval));
                    stretch.push((until.min(end), held));
                }
                (Some((_, held)), None, Some(lost)) if self.is_held => {
                    stretch.push((lost, held));
                    self.gaps.push(Gap {
                        from: lost,
                        to: lost,
                    });
                }
                _ => {}
            }
            self.stretches.push(stretch);
        }
    }

    /// What the ends of the window add: a value that still holds, and gaps before the first and behind the last sample.
    fn close(&mut self, from: i64, to: i64, limit: Option<i64>) {
        if self.first.is_none() {
            self.gaps = vec![Gap { from, to }];
            return;
        }
        if self.is_held {
            let ended = self.gaps.last_mut().filter(|gap| gap.from == gap.to);
            match (ended, self.stretches.last_mut()) {
                (Some(gap), _) => gap.to = to,
                (None, Some(stretch)) => {
                    let held = stretch.last().map(|(_, value)| (to, *value));
                    stretch.extend(held);
                }
                (None, None) => {}
            }
            return;
        }
        self.close_sampled(from, to, limit);
    }

    /// Gaps before the first and behind the last sample.
    fn close_sampled(&mut self, from: i64, to: i64, limit: Option<i64>) {
        let (Some(first), Some(last), Some(limit)) = (self.first, self.last, limit) else {
            return;
        };
        if first.saturating_sub(from) > limit {
            self.gaps.insert(0, Gap { from, to: first });
        }
        if to.saturating_sub(last) > limit {
            self.gaps.push(Gap { from: last, to });
        }
    }
}

/// The distance that most neighbours have, within a tenth; none where there is no such distance.
fn usual_interval(times: &[i64]) -> Option<i64> {
    let mut distances: Vec<i64> = times
        .windows(2)
        .filter_map(|pair| match pair {
            [one, next] => Some(next.saturating_sub(*one)).filter(|distance| *distance > 0),
            _ => None,
        })
        .collect();
    if distances.len() < 2 {
        return None;
    }
    let middle = distances.len() / 2;
    let median = *distances.select_nth_unstable(middle).1;
    let alike = distances
        .iter()
        .filter(|distance| (**distance - median).abs() <= median / 10)
        .count();
    (alike as f64 >= REGULAR * distances.len() as f64).then_some(median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(shape: Shape, samples: &[(i64, f64)]) -> Series {
        Series {
            label: "AHU-1 supply".to_owned(),
            units: None,
            is_state: false,
            shape,
            times: samples.iter().map(|(time, _)| *time).collect(),
            values: samples.iter().map(|(_, value)| *value).collect(),
        }
    }

    fn gaps(analysed: &Analysed) -> Vec<(i64, i64)> {
        analysed.gaps.iter().map(|gap| (gap.from, gap.to)).collect()
    }

    #[test]
    fn a_missing_sample_opens_the_line() {
        let samples: Vec<(i64, f64)> = (0..10)
            .filter(|n| !(4..6).contains(n))
            .map(|n| (n * 60, n as f64))
            .collect();
        let found = series(Shape::ByInterval, &samples).within(0, 540);
        assert!(!found.is_held);
        assert_eq!(gaps(&found), [(180, 360)]);
        assert_eq!(
            found.stretches.iter().map(Vec::len).collect::<Vec<_>>(),
            [4, 4]
        );
        assert_eq!((found.samples, found.extremes), (8, Some((0.0, 9.0))));
    }

    #[test]
    fn the_ends_of_the_window_may_be_gaps() {
        let samples: Vec<(i64, f64)> = (5..10).map(|n| (n * 60, 1.0)).collect();
        let found = series(Shape::Sampled, &samples).within(0, 1200);
        assert_eq!(gaps(&found), [(0, 300), (540, 1200)]);
        let none = series(Shape::Sampled, &[]).within(0, 1200);
        assert_eq!((gaps(&none), none.stretches.len()), (vec![(0, 1200)], 0));
    }

    #[test]
    fn a_bad_sample_opens_the_line_and_is_counted() {
        let nan = f64::NAN;
        let found = series(
            Shape::Sampled,
            &[(0, 1.0), (60, nan), (120, 1e300), (180, 2.0), (240, 3.0)],
        )
        .within(0, 240);
        assert_eq!((found.samples, found.excluded), (3, 2));
        assert_eq!(gaps(&found), [(0, 180)]);
        assert_eq!(found.extremes, Some((1.0, 3.0)));
    }

    #[test]
    fn what_is_recorded_on_change_holds_until_the_next_sample() {
        let samples = [(0, 1.0), (7, 0.0), (300, 1.0), (1000, 0.0), (1017, 1.0)];
        let found = series(Shape::ByInterval, &samples).within(0, 2000);
        assert!(found.is_held);
        assert!(found.gaps.is_empty());
        assert_eq!(found.stretches[0].last(), Some(&(2000, 1.0)));
    }

    /// Samples of a status every quarter of an hour, without those of one hour and with one bad sample at the end.
    #[test]
    fn sampled_states_are_steps_that_end_at_a_gap() {
        let quarter = 900_000;
        let samples: Vec<(i64, f64)> = (0..12)
            .filter(|n| !(4..8).contains(n))
            .map(|n| (n * quarter, if n == 11 { f64::NAN } else { (n % 2) as f64 }))
            .collect();
        let found = series(Shape::Stepped, &samples).within(0, 20 * quarter);
        assert!(found.is_held);
        assert_eq!(
            gaps(&found),
            [(3 * quarter, 8 * quarter), (10 * quarter, 20 * quarter)]
        );
        let ends: Vec<Option<(i64, f64)>> = found
            .stretches
            .iter()
            .map(|stretch| stretch.last().copied())
            .collect();
        assert_eq!(ends, [Some((4 * quarter, 1.0)), Some((11 * quarter, 0.0))]);
        assert_eq!((found.samples, found.excluded), (7, 1));
        let whole = series(Shape::Stepped, samples.get(..4).unwrap());
        let whole = whole.within(0, 3 * quarter + 1);
        assert_eq!(
            (gaps(&whole), whole.stretches[0].last()),
            (vec![], Some(&(3 * quarter + 1, 1.0)))
        );
    }

    #[test]
    fn states_of_a_daily_schedule_hold_until_the_next_one() {
        let half_day = 43_200_000;
        let samples: Vec<(i64, f64)> = (0..10)
            .filter(|n| !(4..8).contains(n))
            .map(|n| (n * half_day, (n % 2) as f64))
            .collect();
        let found = series(Shape::Stepped, &samples).within(0, 12 * half_day);
        assert!(found.is_held && found.gaps.is_empty(), "{found:?}");
        assert_eq!(found.stretches[0].last(), Some(&(12 * half_day, 1.0)));
    }

    #[test]
    fn a_held_value_ends_where_the_status_became_bad() {
        let nan = f64::NAN;
        let found = series(Shape::Held, &[(0, 1.0), (100, nan), (200, 0.0), (300, nan)]);
        let found = found.within(0, 500);
        assert_eq!(gaps(&found), [(100, 200), (300, 500)]);
        assert_eq!(
            found.stretches,
            [vec![(0, 1.0), (100, 1.0)], vec![(200, 0.0), (300, 0.0)]]
        );
    }

    #[test]
    fn times_in_any_order_are_sorted_and_those_outside_left_out() {
        let found = series(
            Shape::Sampled,
            &[(120, 3.0), (0, 1.0), (60, 2.0), (999, 9.0)],
        );
        let found = found.within(0, 500);
        assert_eq!(found.stretches, [vec![(0, 1.0), (60, 2.0), (120, 3.0)]]);
        assert_eq!((found.first, found.last), (Some(0), Some(120)));
    }
}
