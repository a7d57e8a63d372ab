//! Samples of files in bins: numbers as means, states as the share of time in which they were on (Store §11).

use std::collections::BTreeMap;

use crate::knowledge::camber_roles::CamberRole;
use crate::trends::duty::{SiteBins, StateDuty};
use crate::trends::store::wall_clock::DAY;
use crate::trends::store::{BinWidth, RoleFrame, StoreError};

const NANOS_PER_MILLI: i64 = 1_000_000;

/// Samples by stamp.
pub type Samples = BTreeMap<i64, f64>;

/// How the samples of files are put into bins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileBins {
    /// Width for numbers; without one they are stored as they are written.
    pub numbers: Option<BinWidth>,
    /// So long a number holds in bins without one, as of a log that records changes only.
    pub hold: Option<BinWidth>,
    /// Width for states; without one that of the facility.
    pub states: Option<BinWidth>,
}

/// Means per bin; a bin without samples takes the last one before it when that is at most `hold` old at its begin.
///
/// # Errors
/// The samples span more bins than fit into memory.
pub fn means(
    equip: &str,
    role: &CamberRole,
    samples: &Samples,
    width: BinWidth,
    hold: Option<BinWidth>,
) -> Result<Samples, StoreError> {
    let frame = RoleFrame {
        equip: equip.to_owned(),
        equip_class: String::new(),
        stamps: samples.keys().copied().collect(),
        columns: [(role.role.clone(), samples.values().copied().collect())].into(),
    };
    let bins = frame
        .resampled(width)
        .map_err(|error| StoreError::Refused(error.to_string()))?;
    let values = bins.column(&role.role).unwrap_or_default();
    let mut found = Samples::new();
    for (stamp, value) in bins.stamps.iter().zip(values) {
        let held = || {
            let (at, value) = samples.range(..=*stamp).next_back()?;
            (stamp.saturating_sub(*at) <= hold?.nanos()).then_some(*value)
        };
        let value = Some(*value).filter(|value| !value.is_nan()).or_else(held);
        found.extend(value.map(|value| (*stamp, value)));
    }
    Ok(found)
}

/// The share of each bin in which a state was on: each event holds until the next, the last one to the end of its bin.
pub fn shares(role: &CamberRole, events: &Samples, width: BinWidth) -> Samples {
    let Some((first, _)) = events.first_key_value() else {
        return Samples::new();
    };
    let midnight = first.div_euclid(DAY).saturating_mul(DAY);
    let bins = SiteBins::of_stamps(width, midnight);
    let millis = |stamp: i64| stamp.div_euclid(NANOS_PER_MILLI);
    let mut duty = StateDuty::new(bins, &role.role, millis(*first), None);
    for (stamp, state) in events {
        duty.change(millis(*stamp), Some(*state));
    }
    duty.close();
    duty.stamps.into_iter().zip(duty.values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::camber_roles::camber_role_named;
    use crate::trends::store::wall_clock::{iso, parse_bound};

    fn samples(of: &[(&str, f64)]) -> Samples {
        let stamp = |time: &str| parse_bound(&format!("2024-03-01T{time}")).expect("a stamp");
        of.iter()
            .map(|(time, value)| (stamp(time), *value))
            .collect()
    }

    fn shown(samples: &Samples) -> Vec<String> {
        let one = |(stamp, value): (&i64, &f64)| format!("{} {value:.2}", &iso(*stamp)[11..16]);
        samples.iter().map(one).collect()
    }

    #[test]
    fn the_example_of_the_specification_comes_out_for_states_and_flags() {
        let events = samples(&[
            ("00:10", 1.0),
            ("00:30", 0.0),
            ("01:45", 1.0),
            ("02:15", 0.0),
        ]);
        let of = |role| {
            shown(&shares(
                camber_role_named(role).expect("a role"),
                &events,
                BinWidth::HOUR,
            ))
        };
        assert_eq!(of("occupancy"), ["00:00 0.40", "01:00 0.25", "02:00 0.25"]);
        assert_eq!(of("warmup"), ["00:00 1.00", "01:00 1.00", "02:00 1.00"]);
    }

    #[test]
    fn a_log_of_changes_holds_its_last_sample_for_a_while() {
        let oat = camber_role_named("oat").expect("a role");
        let changes = samples(&[("00:05", 1.0), ("00:50", 3.0), ("04:30", 7.0)]);
        let of = |hold: Option<&str>| {
            let hold = hold.map(|hold| BinWidth::parse(hold).expect("a width"));
            shown(&means("a", oat, &changes, BinWidth::HOUR, hold).expect("bins"))
        };
        assert_eq!(of(None), ["00:00 2.00", "04:00 7.00"]);
        assert_eq!(
            of(Some("90min")),
            ["00:00 2.00", "01:00 3.00", "02:00 3.00", "04:00 7.00"]
        );
        assert_eq!(
            of(Some("3h")),
            [
                "00:00 2.00",
                "01:00 3.00",
                "02:00 3.00",
                "03:00 3.00",
                "04:00 7.00"
            ]
        );
    }

    #[test]
    fn a_state_that_changes_now_and_then_over_years_is_told_of_every_bin() {
        let events: Samples = [("2020-01-01", 1.0), ("2023-12-31T12:00", 0.0)]
            .map(|(time, state)| (parse_bound(time).expect("a stamp"), state))
            .into();
        let quarter = BinWidth::parse("15min").expect("a width");
        let found = shares(
            camber_role_named("occupancy").expect("a role"),
            &events,
            quarter,
        );
        assert_eq!(found.len(), 1460 * 96 + 48 + 1);
        assert_eq!(
            found.values().filter(|value| **value == 1.0).count(),
            1460 * 96 + 48
        );
    }
}
