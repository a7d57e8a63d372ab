//! The time axis: instants in the time of the station, or the wall clock of a site as the store has it.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, TimeDelta, Timelike};
use chrono_tz::Tz;

use super::scale::{Scale, Tick};
use crate::trends::site_time::SiteClock;
use crate::trends::store::wall_clock::stamp_of;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Ticks are found by stepping; no axis has more.
const MOST_STEPS: usize = 200;

/// From when to when, in milliseconds since 1970-01-01.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeAxis {
    pub from: i64,
    pub to: i64,
    /// In whose time ticks are set and labelled.
    pub zone: Tz,
    /// What the axis says of its time.
    pub zone_name: String,
    is_wall_clock: bool,
}

impl TimeAxis {
    /// Instants, shown in the time of a zone.
    pub fn of_instants(from: i64, to: i64, zone: Tz) -> Self {
        Self {
            from,
            to,
            zone,
            zone_name: zone.name().to_owned(),
            is_wall_clock: false,
        }
    }

    /// Times of a wall clock, which know no zone; `zone_name` is only told.
    pub fn of_wall_clock(from: i64, to: i64, zone_name: Option<&str>) -> Self {
        Self {
            from,
            to,
            zone: Tz::UTC,
            zone_name: match zone_name {
                Some(name) => format!("wall clock of {name}"),
                None => "wall clock of the site".to_owned(),
            },
            is_wall_clock: true,
        }
    }

    /// Whether times are those of a wall clock, and no instants.
    pub fn is_wall_clock(&self) -> bool {
        self.is_wall_clock
    }

    /// The whole window in words.
    pub(super) fn caption(&self) -> String {
        let shown = |time: i64| {
            let form = if time.rem_euclid(MINUTE) == 0 {
                "%Y-%m-%d %H:%M"
            } else {
                "%Y-%m-%d %H:%M:%S"
            };
            self.local(time)
                .map(|local| local.format(form).to_string())
                .unwrap_or_default()
        };
        let (from, to) = (shown(self.from), shown(self.to));
        format!("{from} to {to}, {}", self.zone_name)
    }

    /// None outside of the years 1 to 9999, far from the ends of the calendar.
    fn local(&self, time: i64) -> Option<NaiveDateTime> {
        const YEARS: std::ops::Range<i64> = -62_135_596_800_000..253_402_300_800_000;
        if !YEARS.contains(&time) {
            return None;
        }
        let instant = DateTime::from_timestamp_millis(time)?;
        Some(instant.with_timezone(&self.zone).naive_local())
    }

    fn instant(&self, local: NaiveDateTime) -> Option<i64> {
        let stamp = stamp_of(local)?;
        Some(
            SiteClock::new(self.zone)
                .first_instant(stamp)
                .timestamp_millis(),
        )
    }

    /// The axis with at most about so many ticks, at round times of the zone.
    pub(super) fn scale(&self, most_ticks: usize) -> Scale {
        let span = self.to.saturating_sub(self.from);
        let most = i64::try_from(most_ticks.max(1)).unwrap_or(1);
        let step = Step::ALL
            .into_iter()
            .find(|step| span / step.millis() <= most)
            .unwrap_or(Step::Months(6000));
        Scale {
            low: self.from as f64,
            high: self.to as f64,
            ticks: self.ticks(step).unwrap_or_default(),
        }
    }

    /// None outside of the years that calendars know.
    fn ticks(&self, step: Step) -> Option<Vec<Tick>> {
        let mut local = step.floor(self.local(self.from)?)?;
        let mut ticks: Vec<Tick> = Vec::new();
        for _ in 0..MOST_STEPS {
            let Some(at) = self.instant(local) else {
                break;
            };
            if at > self.to {
                break;
            }
            let is_new = ticks.last().is_none_or(|last| at as f64 > last.at);
            if at >= self.from && is_new {
                ticks.push(Tick {
                    at: at as f64,
                    label: local.format(step.form(local)).to_string(),
                });
            }
            let Some(next) = step.after(local) else {
                break;
            };
            local = next;
        }
        Some(ticks)
    }
}

/// Distance of ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Divides a day.
    Seconds(u32),
    Days(i64),
    Months(i32),
}

impl Step {
    const ALL: [Self; 31] = [
        Self::Seconds(1),
        Self::Seconds(2),
        Self::Seconds(5),
        Self::Seconds(10),
        Self::Seconds(30),
        Self::Seconds(60),
        Self::Seconds(2 * 60),
        Self::Seconds(5 * 60),
        Self::Seconds(10 * 60),
        Self::Seconds(15 * 60),
        Self::Seconds(30 * 60),
        Self::Seconds(3600),
        Self::Seconds(2 * 3600),
        Self::Seconds(3 * 3600),
        Self::Seconds(6 * 3600),
        Self::Seconds(12 * 3600),
        Self::Days(1),
        Self::Days(2),
        Self::Days(7),
        Self::Days(14),
        Self::Months(1),
        Self::Months(2),
        Self::Months(3),
        Self::Months(6),
        Self::Months(12),
        Self::Months(24),
        Self::Months(60),
        Self::Months(120),
        Self::Months(240),
        Self::Months(600),
        Self::Months(1200),
    ];

    fn millis(self) -> i64 {
        match self {
            Self::Seconds(seconds) => i64::from(seconds) * SECOND,
            Self::Days(days) => days * DAY,
            Self::Months(months) => i64::from(months) * 30 * DAY,
        }
    }

    /// The last round time that is not after this one.
    fn floor(self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        let date = local.date();
        match self {
            Self::Seconds(seconds) => {
                let second = local.time().num_seconds_from_midnight();
                let floor = TimeDelta::seconds(i64::from(second - second % seconds.max(1)));
                date.and_hms_opt(0, 0, 0)?.checked_add_signed(floor)
            }
            Self::Days(days) => {
                // Day 1 is a Monday, 0001-01-01.
                let past = i64::from(date.num_days_from_ce() - 1).rem_euclid(days);
                date.checked_sub_signed(TimeDelta::days(past))?
                    .and_hms_opt(0, 0, 0)
            }
            Self::Months(months) => {
                let month = date.year() * 12 + i32::try_from(date.month0()).ok()?;
                month_start(month - month.rem_euclid(months))
            }
        }
    }

    fn after(self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        match self {
            Self::Seconds(seconds) => {
                local.checked_add_signed(TimeDelta::seconds(i64::from(seconds)))
            }
            Self::Days(days) => local.checked_add_signed(TimeDelta::days(days)),
            Self::Months(months) => {
                let month = local.year() * 12 + i32::try_from(local.month0()).ok()?;
                month_start(month.checked_add(months)?)
            }
        }
    }

    fn form(self, local: NaiveDateTime) -> &'static str {
        let is_midnight = local.time().num_seconds_from_midnight() == 0;
        match self {
            Self::Seconds(_) | Self::Days(_) if is_midnight => "%-d %b",
            Self::Seconds(seconds) if seconds < 60 => "%H:%M:%S",
            Self::Seconds(_) | Self::Days(_) => "%H:%M",
            Self::Months(months) if months < 12 => "%b %Y",
            Self::Months(_) => "%Y",
        }
    }
}

fn month_start(month: i32) -> Option<NaiveDateTime> {
    let month0 = u32::try_from(month.rem_euclid(12)).ok()?;
    NaiveDate::from_ymd_opt(month.div_euclid(12), month0 + 1, 1)?.and_hms_opt(0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW_YORK: Tz = chrono_tz::America::New_York;

    fn at(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text)
            .expect("a time")
            .timestamp_millis()
    }

    fn labels(axis: &TimeAxis, most: usize) -> Vec<String> {
        axis.scale(most)
            .ticks
            .into_iter()
            .map(|tick| tick.label)
            .collect()
    }

    #[test]
    fn hours_are_those_of_the_station_and_midnight_is_a_date() {
        let axis = TimeAxis::of_instants(
            at("2026-03-01T14:00:00-05:00"),
            at("2026-03-02T13:00:00-05:00"),
            NEW_YORK,
        );
        assert_eq!(
            labels(&axis, 8),
            [
                "15:00", "18:00", "21:00", "2 Mar", "03:00", "06:00", "09:00", "12:00"
            ]
        );
        assert_eq!(
            axis.caption(),
            "2026-03-01 14:00 to 2026-03-02 13:00, America/New_York"
        );
    }

    #[test]
    fn a_changed_clock_moves_no_tick_off_its_hour() {
        let axis = TimeAxis::of_instants(
            at("2026-03-08T00:00:00-05:00"),
            at("2026-03-08T06:00:00-04:00"),
            NEW_YORK,
        );
        let scale = axis.scale(8);
        // 02:00 is skipped: as if the clock had gone on it is 03:00.
        let hours: Vec<f64> = scale
            .ticks
            .iter()
            .map(|tick| (tick.at - scale.low) / HOUR as f64)
            .collect();
        assert_eq!(hours, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn weeks_begin_on_mondays_and_years_have_their_number() {
        let wall = |from: &str, to: &str| TimeAxis::of_wall_clock(at(from), at(to), None);
        let axis = wall("2026-03-01T00:00:00Z", "2026-04-10T00:00:00Z");
        assert_eq!(
            labels(&axis, 6),
            ["2 Mar", "9 Mar", "16 Mar", "23 Mar", "30 Mar", "6 Apr"]
        );
        let axis = wall("2019-06-01T00:00:00Z", "2026-04-10T00:00:00Z");
        assert_eq!(
            labels(&axis, 8),
            ["2020", "2021", "2022", "2023", "2024", "2025", "2026"]
        );
        assert!(axis.caption().ends_with("wall clock of the site"));
    }

    #[test]
    fn no_window_is_too_long_or_too_early() {
        for (from, to) in [
            (i64::MIN, i64::MAX),
            (-1_i64 << 50, 0),
            (0, 1),
            (i64::MAX - 1, i64::MAX),
        ] {
            let axis = TimeAxis::of_instants(from, to, NEW_YORK);
            assert!(axis.scale(6).ticks.len() <= MOST_STEPS);
            assert!(axis.caption().contains("America/New_York"));
        }
    }
}
