//! Mixed air that return and outdoor air cannot give (Engine §3.6 check 6, §3.6.2).

use super::Mark;
use super::copied::Copy;
use crate::frame::{Frame, RoleFrame};
use crate::gates;
use crate::numeric;
use crate::trust::quality::part_of;

const MIXED: &str = "mixed_air_temp";
const OUTDOOR: &str = "oat";
const RETURN: &str = "return_air_temp";

/// Mixed air by the measured flows against mixed air as measured.
pub(super) fn flow_balance(frame: &RoleFrame, copies: &[Copy]) -> Vec<Mark> {
    let (Some(mixed), Some(outdoor), Some(returned), Some(outdoor_flow), Some(flow)) = (
        frame.column(MIXED),
        frame.column(OUTDOOR),
        frame.column(RETURN),
        frame.column("oa_airflow"),
        frame.column("airflow"),
    ) else {
        return Vec::new();
    };
    if copies.iter().any(is_of_balance) {
        return Vec::new();
    }
    let joint: Vec<[f64; 5]> = mixed
        .iter()
        .zip(outdoor)
        .zip(returned)
        .zip(outdoor_flow)
        .zip(flow)
        .map(|((((mixed, outdoor), returned), outdoor_flow), flow)| {
            [*mixed, *outdoor, *returned, *outdoor_flow, *flow]
        })
        .filter(|row| row.iter().all(|value| !value.is_nan()))
        .collect();
    let flows: Vec<f64> = joint.iter().map(|row| row[4]).collect();
    let least = 0.2 * numeric::quantile(&flows, 0.95);
    let (mut residuals, mut bands) = (Vec::new(), Vec::new());
    for [mixed, outdoor, returned, outdoor_flow, flow] in joint {
        let fraction = outdoor_flow / flow;
        let spread = (outdoor - returned).abs();
        if flow >= least && (0.0..=1.0).contains(&fraction) && spread >= 10.0 {
            residuals.push(mixed - (fraction * outdoor + (1.0 - fraction) * returned));
            bands.push(0.10 * fraction * spread);
        }
    }
    let usable = residuals.len();
    if usable < 48 {
        return Vec::new();
    }
    let residual = numeric::median_in_place(&mut residuals);
    let band = numeric::median_in_place(&mut bands);
    if !(residual.abs() > band + 2.0) {
        return Vec::new();
    }
    marks("mixing_flow_balance", "mixing_balance", || {
        format!(
            "mixed air reads {} °F off what outdoor and return air mix to by their flows, over {usable} samples",
            numeric::round(residual, 1)
        )
    })
}

fn is_of_balance(copy: &Copy) -> bool {
    let members = [
        MIXED,
        OUTDOOR,
        RETURN,
        "oa_airflow",
        "airflow",
        "supply_air_temp",
    ];
    copy.roles
        .iter()
        .all(|role| members.contains(&role.as_str()))
}

/// Mixed air that is not between outdoor and return air while the fan runs; where both flows are measured, the balance tells
/// more.
pub(super) fn temperature_order(frame: &RoleFrame) -> Vec<Mark> {
    let (Some(mixed), Some(outdoor), Some(returned)) = (
        frame.column(MIXED),
        frame.column(OUTDOOR),
        frame.column(RETURN),
    ) else {
        return Vec::new();
    };
    if frame.column("oa_airflow").is_some() && frame.column("airflow").is_some() {
        return Vec::new();
    }
    let Some(fan) = gates::fan_on(&Frame::whole(frame)) else {
        return Vec::new();
    };
    let (mut rows, mut outside) = (0, 0);
    let samples = mixed.iter().zip(outdoor).zip(returned).zip(&fan.mask);
    for (((mixed, outdoor), returned), on) in samples {
        if !on || mixed.is_nan() || outdoor.is_nan() || returned.is_nan() {
            continue;
        }
        rows += 1;
        let within = outdoor.min(*returned) - 5.0..=outdoor.max(*returned) + 5.0;
        outside += usize::from(!within.contains(mixed));
    }
    if rows < 10 || part_of(outside, rows) < 0.05 {
        return Vec::new();
    }
    marks("mixing_temperature_order", "mixing_order", || {
        format!(
            "mixed air lies more than 5 °F outside of outdoor and return air in {outside} of {rows} fan-on samples"
        )
    })
}

/// The mixed air loses trust; one of the other two may as well be wrong.
fn marks(check: &'static str, flag: &'static str, explain: impl Fn() -> String) -> Vec<Mark> {
    [(MIXED, Some(0.0)), (OUTDOOR, None), (RETURN, None)]
        .into_iter()
        .map(|(role, share)| Mark {
            role: role.to_owned(),
            check,
            flag,
            explanation: explain(),
            share,
        })
        .collect()
}
