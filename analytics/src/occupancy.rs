//! Which samples are occupied (Engine §2.3; Air rules §1.3).

use crate::frame::Frame;
use crate::parameters::Parameters;
use crate::wall_clock::{DAY, HOUR, MINUTE};

/// 1970-01-01 was a Thursday.
const WEEKDAY_OF_EPOCH: i64 = 3;

/// Weekday of a stamp, Monday 0.
///
/// ```
/// use niagara_analytics::occupancy::weekday;
/// use niagara_analytics::wall_clock::parse_bound;
/// assert_eq!(weekday(parse_bound("2024-02-29T23:59").unwrap()), 3);
/// assert_eq!(weekday(parse_bound("1969-12-28").unwrap()), 6);
/// ```
pub fn weekday(stamp: i64) -> u32 {
    let day = (stamp.div_euclid(DAY) + WEEKDAY_OF_EPOCH).rem_euclid(7);
    u32::try_from(day).unwrap_or(0)
}

/// Hour of the day with minutes as a fraction; seconds are ignored.
pub fn hour(stamp: i64) -> f64 {
    let minutes = stamp.rem_euclid(DAY) / MINUTE;
    let parts = [minutes / 60, minutes % 60].map(|part| u32::try_from(part).unwrap_or(0));
    f64::from(parts[0]) + f64::from(parts[1]) / 60.0
}

/// Hour of the day, 0 to 23.
pub fn whole_hour(stamp: i64) -> u32 {
    u32::try_from(stamp.rem_euclid(DAY) / HOUR).unwrap_or(0)
}

/// Assumed hours of use.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pub start_hour: f64,
    pub end_hour: f64,
    /// Monday 0.
    pub days: Vec<u32>,
}

impl Default for Schedule {
    /// Monday to Friday, 07:00 to 18:00.
    fn default() -> Self {
        Self {
            start_hour: 7.0,
            end_hour: 18.0,
            days: vec![0, 1, 2, 3, 4],
        }
    }
}

impl Schedule {
    /// The schedule of the parameters `start_hour`, `end_hour`, `occupied_days`.
    pub fn of(parameters: &Parameters) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "filtered to 0 … 6"
        )]
        let days = parameters
            .numbers("occupied_days")
            .into_iter()
            .filter(|day| (0.0..=6.0).contains(day) && day.fract() == 0.0)
            .map(|day| day as u32)
            .collect();
        Self {
            start_hour: parameters.number("start_hour"),
            end_hour: parameters.number("end_hour"),
            days,
        }
    }

    /// Whether a stamp lies within.
    pub fn contains(&self, stamp: i64) -> bool {
        let hour = hour(stamp);
        hour >= self.start_hour && hour < self.end_hour && self.days.contains(&weekday(stamp))
    }
}

/// What an occupied mask rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OccupancyBasis {
    Trended,
    Assumed,
}

impl OccupancyBasis {
    /// The words of metrics: `trended occupancy`, `assumed schedule`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Trended => "trended occupancy",
            Self::Assumed => "assumed schedule",
        }
    }
}

/// A mask of occupied samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupied {
    pub mask: Vec<bool>,
    pub basis: OccupancyBasis,
}

/// The effective form: trended occupancy with any sample replaces the schedule at all hours (missing is unoccupied), else
/// the schedule; without samples of warm-up or cool-down when `preparation_excluded` (Air rules §1.3, OCC_EFF).
pub fn effective(frame: &Frame<'_>, schedule: &Schedule, preparation_excluded: bool) -> Occupied {
    let (mut mask, basis) = match frame.with_data("occupancy") {
        Some(occupancy) => (
            occupancy.iter().map(|value| *value > 0.5).collect(),
            OccupancyBasis::Trended,
        ),
        None => (scheduled(frame, schedule), OccupancyBasis::Assumed),
    };
    if preparation_excluded {
        exclude_preparation(frame, &mut mask);
    }
    Occupied { mask, basis }
}

/// The strict form: the schedule and, where it is trended, occupancy; never warm-up or cool-down (Air rules §1.3, OCC_AND).
pub fn strict(frame: &Frame<'_>, schedule: &Schedule) -> Vec<bool> {
    let mut mask = scheduled_without_preparation(frame, schedule);
    if let Some(occupancy) = frame.with_data("occupancy") {
        for (occupied, value) in mask.iter_mut().zip(occupancy) {
            *occupied &= *value > 0.5;
        }
    }
    mask
}

/// Samples within the schedule.
pub fn scheduled(frame: &Frame<'_>, schedule: &Schedule) -> Vec<bool> {
    frame
        .stamps()
        .iter()
        .map(|stamp| schedule.contains(*stamp))
        .collect()
}

/// Samples within the schedule, without warm-up and cool-down.
pub fn scheduled_without_preparation(frame: &Frame<'_>, schedule: &Schedule) -> Vec<bool> {
    let mut mask = scheduled(frame, schedule);
    exclude_preparation(frame, &mut mask);
    mask
}

fn exclude_preparation(frame: &Frame<'_>, mask: &mut [bool]) {
    for role in ["warmup", "cooldown"] {
        for (occupied, value) in mask.iter_mut().zip(frame.column(role).unwrap_or_default()) {
            *occupied &= !(*value > 0.5);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RoleFrame;
    use crate::wall_clock::{HOUR, parse_bound};

    type Column<'a> = (&'a str, fn(usize) -> f64);

    /// 168 hourly samples from Monday 2024-03-04 00:00, the "W" of the specification.
    fn week(columns: &[Column<'_>]) -> RoleFrame {
        let start = parse_bound("2024-03-04").unwrap();
        RoleFrame {
            stamps: (0..168).map(|row| start + row * HOUR).collect(),
            columns: columns
                .iter()
                .map(|(role, value)| ((*role).to_owned(), (0..168).map(value).collect()))
                .collect(),
            ..RoleFrame::default()
        }
    }

    fn total(mask: &[bool]) -> usize {
        mask.iter().filter(|occupied| **occupied).count()
    }

    #[test]
    fn a_working_week_has_55_occupied_hours() {
        let table = week(&[("warmup", |row| f64::from(u8::from(row == 7)))]);
        let frame = Frame::whole(&table);
        let with = effective(&frame, &Schedule::default(), false);
        assert_eq!(
            (total(&with.mask), with.basis),
            (55, OccupancyBasis::Assumed)
        );
        let without = effective(&frame, &Schedule::default(), true);
        assert_eq!(total(&without.mask), 54);
    }

    #[test]
    fn trended_occupancy_replaces_the_schedule_only_in_the_effective_form() {
        let table = week(&[("occupancy", |row| if row < 24 { 1.0 } else { f64::NAN })]);
        let frame = Frame::whole(&table);
        let occupied = effective(&frame, &Schedule::default(), true);
        assert_eq!(
            (total(&occupied.mask), occupied.basis.words()),
            (24, "trended occupancy")
        );
        assert_eq!(total(&strict(&frame, &Schedule::default())), 11);
    }

    #[test]
    fn minutes_count_and_seconds_do_not() {
        let stamp = |text: &str| parse_bound(text).unwrap();
        let schedule = Schedule {
            end_hour: 7.5,
            ..Schedule::default()
        };
        assert!(schedule.contains(stamp("2024-03-04T07:29:59")));
        assert!(!schedule.contains(stamp("2024-03-04T07:30:00")));
        assert!(!schedule.contains(stamp("2024-03-09T07:00:00")));
    }
}
