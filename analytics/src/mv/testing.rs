//! Figures that several tests share.

use super::daily::DailyFrame;
use crate::frame::RoleFrame;
use crate::wall_clock::{DAY, HOUR, parse_bound};

/// Daily mean temperatures of the worked example, °F (M&V §4.5).
pub const TEMPERATURE: [f64; 12] = [
    30.0, 35.0, 42.0, 50.0, 57.0, 64.0, 70.0, 76.0, 80.0, 72.0, 60.0, 45.0,
];

/// Daily energies of the worked example (M&V §4.5).
pub const ENERGY: [f64; 12] = [
    100.0, 101.0, 99.0, 100.0, 102.0, 110.0, 125.0, 138.0, 149.0, 128.0, 104.0, 100.0,
];

/// The worked example as days.
pub fn worked_days() -> DailyFrame {
    DailyFrame {
        days: (0..12).map(since_2023).collect(),
        temperature: TEMPERATURE.to_vec(),
        energy: ENERGY.to_vec(),
        ..DailyFrame::default()
    }
}

/// Midnight so many days after 2023-01-01.
pub fn since_2023(days: usize) -> i64 {
    parse_bound("2023-01-01").unwrap() + i64::try_from(days).unwrap() * DAY
}

/// A meter with a sample each hour from 2023 on; figures by the number of the hour.
pub fn hourly(days: u32, oat: impl Fn(u32) -> f64, power: impl Fn(u32) -> f64) -> RoleFrame {
    let hours = 0..days * 24;
    RoleFrame {
        equip: "METER-1".to_owned(),
        equip_class: "METER".to_owned(),
        stamps: hours
            .clone()
            .map(|hour| since_2023(0) + i64::from(hour) * HOUR)
            .collect(),
        columns: [
            ("oat".to_owned(), hours.clone().map(oat).collect()),
            ("power".to_owned(), hours.map(power).collect()),
        ]
        .into(),
    }
}
