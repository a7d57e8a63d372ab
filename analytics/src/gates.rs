//! Which samples count because something runs (Engine §2.1, §2.3).

use std::borrow::Cow;

use crate::frame::Frame;
use crate::numeric;

/// Percent values as 0 to 100: a column whose values all lie in −0.01 … 1.5 is a fraction and is multiplied by 100
/// (Engine §2.1).
///
/// ```
/// use niagara_analytics::gates::percent;
/// assert_eq!(*percent(&[0.0, 0.5]), [0.0, 50.0]);
/// assert_eq!(*percent(&[2.0, 0.5]), [2.0, 0.5]);
/// ```
pub fn percent(values: &[f64]) -> Cow<'_, [f64]> {
    if is_fraction(values) {
        Cow::Owned(values.iter().map(|value| value * 100.0).collect())
    } else {
        Cow::Borrowed(values)
    }
}

/// Whether the values of a percent role are fractions of one.
pub fn is_fraction(values: &[f64]) -> bool {
    // A comparison with NaN, the extreme of nothing, is false.
    numeric::max(values) <= 1.5 && numeric::min(values) >= -0.01
}

/// A mask over the rows of a frame, and which signal it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    pub mask: Vec<bool>,
    /// "fan status", "chiller power proxy", …
    pub source: &'static str,
}

/// What a fan-gated figure is told to be when there is no fan signal.
pub const UNGATED: &str = "ungated — no fan signal";

/// Fan on, by the first of status, speed and airflow that has any sample (Engine §2.3). Missing samples are off.
pub fn fan_on(frame: &Frame<'_>) -> Option<Gate> {
    if let Some(status) = frame.with_data("supply_fan_status") {
        return Some(gate("fan status", status, |value| value > 0.5));
    }
    if let Some(speed) = frame.with_data("supply_fan_speed") {
        return Some(gate("fan speed proxy", &percent(speed), |value| {
            value > 1.0
        }));
    }
    airflow_proxy(frame)
}

/// The fan gate of a rule that may be told to do without it (Air rules §1.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FanGate {
    /// None: every sample counts.
    pub mask: Option<Vec<bool>>,
    /// The signal, [`UNGATED`] or `off`.
    pub source: &'static str,
}

impl FanGate {
    /// The gate of a frame, or none when it is not wanted.
    pub fn of(frame: &Frame<'_>, wanted: bool) -> Self {
        if !wanted {
            return Self {
                mask: None,
                source: "off",
            };
        }
        match fan_on(frame) {
            Some(gate) => Self {
                mask: Some(gate.mask),
                source: gate.source,
            },
            None => Self {
                mask: None,
                source: UNGATED,
            },
        }
    }

    /// One flag per row: whether the sample counts.
    pub fn rows(&self, rows: usize) -> Vec<bool> {
        self.mask.clone().unwrap_or_else(|| vec![true; rows])
    }

    /// "fan-on samples", or "samples" without a gate.
    pub fn basis(&self) -> &'static str {
        match self.mask {
            Some(_) => "fan-on samples",
            None => "samples",
        }
    }

    /// Whether a gate was wanted and there is no fan signal.
    pub fn is_missing(&self) -> bool {
        self.source == UNGATED
    }
}

/// The same without the airflow proxy, for rules that judge the airflow itself.
pub fn fan_on_without_airflow(frame: &Frame<'_>) -> Option<Gate> {
    fan_on(frame).filter(|gate| gate.source != "airflow proxy")
}

fn airflow_proxy(frame: &Frame<'_>) -> Option<Gate> {
    let airflow = frame.with_data("airflow")?;
    let peak = numeric::quantile(airflow, 0.95);
    (peak > 0.0).then(|| gate("airflow proxy", airflow, |value| value > 0.05 * peak))
}

/// Chiller running (Engine §2.3, loop `chw`).
pub fn chiller_running(frame: &Frame<'_>) -> Option<Gate> {
    if let Some(status) = frame.with_data("compressor_status") {
        return Some(gate("chiller status", status, |value| value > 0.5));
    }
    let power = frame.with_data("power")?;
    let is_plant = ["chw_supply_temp", "chw_return_temp", "chw_flow"]
        .iter()
        .any(|role| frame.has(role));
    let has_fan = frame.has("supply_fan_status") || frame.has("supply_fan_speed");
    let peak = numeric::quantile(power, 0.95);
    (is_plant && !has_fan && peak > 0.0)
        .then(|| gate("chiller power proxy", power, |value| value > 0.10 * peak))
}

/// Boiler running (Engine §2.3, loop `hw`).
pub fn boiler_running(frame: &Frame<'_>) -> Option<Gate> {
    if let Some(status) = frame.with_data("boiler_status") {
        return Some(gate("boiler status", status, |value| value > 0.5));
    }
    let gas = frame.with_data("gas_input_rate")?;
    let peak = numeric::quantile(gas, 0.95);
    (peak > 0.0).then(|| {
        gate("boiler firing (gas input)", gas, |value| {
            value > 0.05 * peak
        })
    })
}

fn gate(source: &'static str, values: &[f64], on: impl Fn(f64) -> bool) -> Gate {
    Gate {
        mask: values.iter().map(|value| on(*value)).collect(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RoleFrame;

    fn table(columns: &[(&str, &[f64])]) -> RoleFrame {
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        RoleFrame {
            stamps: (0..rows)
                .map(|row| i64::try_from(row).unwrap() * 3_600_000_000_000)
                .collect(),
            columns: columns
                .iter()
                .map(|(role, values)| ((*role).to_owned(), values.to_vec()))
                .collect(),
            ..RoleFrame::default()
        }
    }

    const NONE: f64 = f64::NAN;

    #[test]
    fn the_first_fan_signal_with_data_decides_and_missing_is_off() {
        let fan = |columns: &[(&str, &[f64])]| {
            fan_on(&Frame::whole(&table(columns))).map(|gate| (gate.source, gate.mask))
        };
        let status: &[f64] = &[1.0, NONE, 0.5];
        assert_eq!(
            fan(&[
                ("supply_fan_status", status),
                ("supply_fan_speed", &[0.0, 90.0, 90.0])
            ]),
            Some(("fan status", vec![true, false, false]))
        );
        assert_eq!(
            fan(&[
                ("supply_fan_status", &[NONE, NONE]),
                ("supply_fan_speed", &[0.005, 0.9])
            ]),
            Some(("fan speed proxy", vec![false, true]))
        );
        assert_eq!(
            fan(&[("airflow", &[0.0, 1000.0])]),
            Some(("airflow proxy", vec![false, true]))
        );
        assert_eq!(fan(&[("airflow", &[0.0, 0.0])]), None);
    }

    #[test]
    fn power_tells_a_chiller_only_beside_chilled_water() {
        let power: &[f64] = &[3.0, 200.0, NONE];
        let running = |columns: &[(&str, &[f64])]| {
            chiller_running(&Frame::whole(&table(columns))).map(|gate| gate.mask)
        };
        assert_eq!(running(&[("power", power)]), None);
        assert_eq!(
            running(&[("power", power), ("chw_flow", &[NONE; 3])]),
            Some(vec![false, true, false])
        );
        assert_eq!(
            running(&[
                ("power", power),
                ("chw_flow", &[NONE; 3]),
                ("supply_fan_speed", &[NONE; 3])
            ]),
            None
        );
    }
}
