//! Columns that stand beside the outdoor temperature in a model (M&V §4.4).

use super::daily::{DailyFrame, DailyRule, daily_means, samples};
use crate::frame::Frame;
use crate::run_config::mv_drivers::{Driver, Drivers, is_weekday};
use crate::wall_clock::{DAY, Window};

impl DailyFrame {
    /// The days on which all drivers are known, with a column for each.
    #[must_use]
    pub fn with_drivers(
        mut self,
        frame: &Frame<'_>,
        window: Window,
        drivers: &Drivers,
        rule: DailyRule<'_>,
    ) -> Self {
        self.drivers = drivers
            .list
            .iter()
            .map(|driver| self.column(driver, frame, window, drivers, rule))
            .collect();
        let known = |row: usize| {
            self.drivers
                .iter()
                .all(|column| column.get(row).is_some_and(|value| value.is_finite()))
        };
        self.kept(known)
    }

    fn column(
        &self,
        driver: &Driver,
        frame: &Frame<'_>,
        window: Window,
        drivers: &Drivers,
        rule: DailyRule<'_>,
    ) -> Vec<f64> {
        let flag = |is_set: &dyn Fn(i64) -> Option<bool>| {
            let known = |day: &i64| is_set(*day).map(|set| f64::from(u8::from(set)));
            self.days
                .iter()
                .map(|day| known(day).unwrap_or(f64::NAN))
                .collect()
        };
        match driver {
            Driver::Weekday => flag(&|day| Some(is_weekday(day))),
            Driver::OccupiedDay => flag(&|day| drivers.is_occupied(day)),
            Driver::BreakDay => flag(&|day| drivers.is_break(day)),
            Driver::Role(role) => {
                let values = frame.column(role).unwrap_or_default();
                let means = daily_means(&samples(frame, values, window), rule);
                self.days
                    .iter()
                    .map(|day| means.get(&day.div_euclid(DAY)).copied().unwrap_or(f64::NAN))
                    .collect()
            }
        }
    }
}
