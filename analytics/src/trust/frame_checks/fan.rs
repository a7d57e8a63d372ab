//! Pressure without a fan, and a fan status that its speed contradicts (Engine §3.6 checks 1 and 2).

use super::Mark;
use crate::frame::RoleFrame;
use crate::gates::percent;
use crate::numeric;
use crate::trust::quality::part_of;

/// Fewer samples are not judged.
const FEWEST: usize = 24;

/// Fan off, by status and speed as far as they are there; missing samples are not off. None without either.
pub(super) fn off(frame: &RoleFrame) -> Option<Vec<bool>> {
    let status = frame.column("supply_fan_status");
    let speed = frame.column("supply_fan_speed").map(percent);
    let rows = status
        .map(<[f64]>::len)
        .or(speed.as_ref().map(|speed| speed.len()))?;
    let mut off = vec![true; rows];
    for (off, status) in off.iter_mut().zip(status.unwrap_or_default()) {
        *off &= *status <= 0.05;
    }
    for (off, speed) in off
        .iter_mut()
        .zip(speed.iter().flat_map(|speed| speed.iter()))
    {
        *off &= *speed < 1.0;
    }
    Some(off)
}

/// A pressure that stands while the fan is off: the sensor's zero is off, or it is another fan's.
pub(super) fn pressure_while_off(frame: &RoleFrame, fan_off: Option<&[bool]>) -> Vec<Mark> {
    let Some(fan_off) = fan_off else {
        return Vec::new();
    };
    let mut marks = Vec::new();
    for (role, limit) in [("duct_static", 0.5), ("filter_diff_press", 0.3)] {
        let Some(pressure) = frame.column(role) else {
            continue;
        };
        let judged: Vec<f64> = pressure
            .iter()
            .zip(fan_off)
            .filter(|(value, off)| **off && !value.is_nan())
            .map(|(value, _)| value.abs())
            .collect();
        let bad = judged.iter().filter(|value| **value > limit).count();
        if judged.len() < FEWEST || part_of(bad, judged.len()) <= 0.5 {
            continue;
        }
        marks.push(Mark {
            role: role.to_owned(),
            check: "fan_off_pressure",
            flag: "implausible_fan_off",
            explanation: format!(
                "reads more than {limit} in. w.c. in {bad} of {} samples with the fan off",
                judged.len()
            ),
            share: Some(part_of(bad, numeric::count(pressure))),
        });
    }
    marks
}

/// A status that is off while the speed is high, or on while it is zero.
pub(super) fn status_against_speed(frame: &RoleFrame) -> Vec<Mark> {
    let (Some(status), Some(speed)) = (
        frame.column("supply_fan_status"),
        frame.column("supply_fan_speed"),
    ) else {
        return Vec::new();
    };
    let speed = percent(speed);
    let (mut joint, mut against) = (0, 0);
    for (status, speed) in status.iter().zip(speed.iter()) {
        if status.is_nan() || speed.is_nan() {
            continue;
        }
        joint += 1;
        if (*status <= 0.05 && *speed > 20.0) || (*status >= 0.95 && *speed < 1.0) {
            against += 1;
        }
    }
    if joint < FEWEST || against < 3 || part_of(against, joint) < 0.01 {
        return Vec::new();
    }
    let mark = |role: &str, share| Mark {
        role: role.to_owned(),
        check: "status_vs_speed",
        flag: "status_speed_mismatch",
        explanation: format!(
            "fan status and speed contradict each other in {against} of {joint} samples"
        ),
        share,
    };
    vec![
        mark("supply_fan_status", Some(0.0)),
        mark("supply_fan_speed", None),
    ]
}
