//! Which samples of plant count as running (Plant rules §1.2).

use std::borrow::Cow;

use crate::families;
use crate::finding::Metrics;
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;

/// On, where a status or a duty is above one half; missing is off. None when no sample is there.
pub fn status_on(frame: &Frame<'_>, role: &str) -> Option<Vec<bool>> {
    frame
        .with_data(role)
        .map(|status| masks::where_value(status, |duty| duty > 0.5))
}

/// On, where the values are above that share of their own 95th percentile; missing is off. None when that is not positive.
pub fn above_peak_share(values: &[f64], share: f64) -> Option<Vec<bool>> {
    let peak = numeric::quantile(values, 0.95);
    (peak > 0.0).then(|| masks::where_value(values, |value| value > share * peak))
}

/// Share of the 95th percentile of gas, flow and loop power above which something runs; chiller power has its own.
const RUNNING_SHARE: f64 = 0.05;
const POWER_SHARE: f64 = 0.10;

/// Firing of a boiler: its status, or read from its gas (Plant rules §1.2e).
#[derive(Debug, Clone)]
pub struct Firing<'a> {
    /// Status or duty per row, NaN where it is not known.
    pub duty: Cow<'a, [f64]>,
    pub is_from_gas: bool,
}

impl<'a> Firing<'a> {
    /// The firing of a boiler; none when neither status nor gas tells.
    pub fn of(frame: &Frame<'a>) -> Option<Self> {
        if let Some(status) = frame.with_data("boiler_status") {
            return Some(Self {
                duty: Cow::Borrowed(status),
                is_from_gas: false,
            });
        }
        let gas = frame.with_data("gas_input_rate")?;
        let on = above_peak_share(gas, RUNNING_SHARE)?;
        let duty = gas
            .iter()
            .zip(on)
            .map(|(gas, on)| match gas.is_nan() {
                true => f64::NAN,
                false => f64::from(u8::from(on)),
            })
            .collect();
        Some(Self {
            duty: Cow::Owned(duty),
            is_from_gas: true,
        })
    }

    /// What has to be said of firing that is read from gas.
    pub fn caveat(&self) -> Option<String> {
        self.is_from_gas.then(|| {
            "No run status is mapped: firing was read from gas above 5 % of its own 95th percentile on the resampled \
             trend. Firings shorter than the interval do not show, so that counts are approximate; map the flame or \
             firing signal."
                .to_owned()
        })
    }

    /// Sets `run_source` when firing is read from gas.
    pub fn mark(&self, metrics: &mut Metrics) {
        if self.is_from_gas {
            metrics.set("run_source", "gas");
        }
    }
}

/// Running of a chiller or of a chilled-water loop (Plant rules §1.2f).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChilledWaterGate {
    /// None: running is told by the supply temperature alone.
    pub mask: Option<Vec<bool>>,
    /// `status`, `power`, `pump_status`, `flow`, `pump_power` or `temperature`.
    pub source: &'static str,
    is_loop: bool,
}

impl ChilledWaterGate {
    /// Supply temperatures in °F that tell a running plant when nothing else does.
    const COLD_SUPPLY: std::ops::RangeInclusive<f64> = 38.0..=58.0;

    /// The gate of a frame.
    pub fn of(frame: &Frame<'_>) -> Self {
        let is_loop = families::is_chilled_water_loop(frame.equip_class());
        let gate = |mask: Option<Vec<bool>>, source| {
            mask.map(|mask| Self {
                mask: Some(mask),
                source,
                is_loop,
            })
        };
        let above = |role, share| {
            frame
                .with_data(role)
                .and_then(|values| above_peak_share(values, share))
        };
        let of_loop = || {
            gate(status_on(frame, "pump_status"), "pump_status")
                .or_else(|| gate(above("chw_flow", RUNNING_SHARE), "flow"))
                .or_else(|| gate(above("power", POWER_SHARE), "pump_power"))
        };
        let of_chiller = || gate(gates::chiller_running(frame).map(|gate| gate.mask), "power");
        gate(status_on(frame, "compressor_status"), "status")
            .or_else(|| if is_loop { of_loop() } else { of_chiller() })
            .unwrap_or(Self {
                mask: None,
                source: "temperature",
                is_loop,
            })
    }

    /// Whether a mask says that nothing ever ran.
    pub fn is_never_on(&self) -> bool {
        self.mask
            .as_ref()
            .is_some_and(|mask| !mask.iter().any(|on| *on))
    }

    /// Running samples by a mask `on`, else those with a supply that is cold enough.
    pub fn running(&self, on: Option<&[bool]>, supply: &[f64]) -> Vec<bool> {
        match on {
            Some(on) => on.to_vec(),
            None => masks::where_value(supply, |value| Self::COLD_SUPPLY.contains(&value)),
        }
    }

    /// What the judged samples are called.
    pub fn words(&self) -> &'static str {
        match self.source {
            "status" => "by the run status",
            "power" => "by the power",
            "pump_status" => "by the pump status",
            "flow" => "by the flow",
            "pump_power" => "by the pump power",
            _ => "by the supply temperature",
        }
    }

    /// What has to be said of a gate that is no status.
    pub fn caveat(&self) -> Option<String> {
        let text = match (self.source, self.is_loop) {
            ("temperature", true) => {
                "Running was inferred from chilled-water supply of 38 to 58 °F: a loop that stands still but stays cold \
                 counts as running. Map the pump status or the flow."
            }
            ("temperature", false) => {
                "Running was inferred from chilled-water supply of 38 to 58 °F: a stopped chiller on a cold loop counts \
                 as running. Map the chiller status."
            }
            ("power", _) => {
                "No run status is mapped: the chiller counts as running above 10 % of the 95th percentile of its power."
            }
            ("flow", _) => {
                "No run status is mapped: the loop counts as running above 5 % of the 95th percentile of its flow."
            }
            ("pump_power", _) => {
                "No run status is mapped: the loop counts as running above 10 % of the 95th percentile of its pump power."
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// Running of a chiller by its status or power (Plant rules §1.2g).
#[derive(Debug, Clone, PartialEq)]
pub struct PowerGate {
    /// One flag per row; off where there is no power.
    pub mask: Vec<bool>,
    /// `status`, `power_kw` or `power_p95`.
    pub source: &'static str,
    /// kW from which the chiller runs; none by status, or when it never draws power.
    pub threshold_kw: Option<f64>,
}

impl PowerGate {
    /// The gate over rows with a power reading.
    pub fn of(
        power: &[f64],
        status: Option<&[f64]>,
        min_power_kw: Option<f64>,
        running_share: f64,
    ) -> Self {
        let gate = |mask, source, threshold_kw| Self {
            mask,
            source,
            threshold_kw,
        };
        if let Some(status) = status {
            let mut is_known = false;
            let mask = masks::where_pair(power, status, |power, _| !power.is_nan());
            let mask = mask
                .iter()
                .zip(status)
                .map(|(has_power, duty)| {
                    is_known |= *has_power && !duty.is_nan();
                    *has_power && *duty > 0.5
                })
                .collect();
            if is_known {
                return gate(mask, "status", None);
            }
        }
        if let Some(least) = min_power_kw {
            let mask = masks::where_value(power, |value| value >= least);
            return gate(mask, "power_kw", Some(least));
        }
        let drawn: Vec<f64> = numeric::present(power)
            .filter(|value| *value > 0.0)
            .collect();
        if drawn.is_empty() {
            return gate(vec![false; power.len()], "power_p95", None);
        }
        let threshold = running_share * numeric::quantile(&drawn, 0.95);
        let mask = masks::where_value(power, |value| value > threshold);
        gate(mask, "power_p95", Some(threshold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{hourly, named};

    const NONE: f64 = f64::NAN;

    #[test]
    fn firing_is_read_from_gas_only_without_a_status_and_stays_unknown_without_gas() {
        let table = hourly(
            4,
            &[
                ("boiler_status", &|_| NONE),
                ("gas_input_rate", &|row| [100.0, 2.0, NONE, 90.0][row]),
            ],
        );
        let firing = Firing::of(&Frame::whole(&table)).unwrap();
        assert!(firing.is_from_gas && firing.caveat().is_some());
        assert_eq!(firing.duty[..2], [1.0, 0.0]);
        assert!(firing.duty[2].is_nan());
        let off = hourly(4, &[("gas_input_rate", &|_| 0.0)]);
        assert!(Firing::of(&Frame::whole(&off)).is_none());
    }

    #[test]
    fn a_loop_runs_by_its_pump_its_flow_or_its_power_and_a_chiller_by_its_own_power() {
        let source = |class: &str, roles: &[&str]| {
            let table = RoleTable::of(class, roles);
            ChilledWaterGate::of(&Frame::whole(&table)).source
        };
        assert_eq!(
            source("CHW_LOOP", &["chw_flow", "power", "pump_status"]),
            "pump_status"
        );
        assert_eq!(source("CHW_LOOP", &["chw_flow", "power"]), "flow");
        assert_eq!(source("SECLOOP", &["power"]), "pump_power");
        assert_eq!(source("SECLOOP", &["power", "compressor_status"]), "status");
        assert_eq!(
            source("CHILLER", &["chw_flow", "power", "pump_status"]),
            "power"
        );
        assert_eq!(source("CHILLER", &["pump_status"]), "temperature");
    }

    struct RoleTable;

    impl RoleTable {
        fn of(class: &str, roles: &[&str]) -> crate::RoleFrame {
            let mut table = hourly(3, &[("chw_supply_temp", &|_| 44.0)]);
            for role in roles {
                table
                    .columns
                    .insert((*role).to_owned(), vec![1.0, 0.0, 1.0]);
            }
            named("CH-1", class, table)
        }
    }

    #[test]
    fn chiller_power_is_told_by_a_status_then_a_limit_then_its_own_peak() {
        let power = [100.0, 8.0, NONE, 12.0];
        let status = [0.0, 1.0, 1.0, NONE];
        let by_status = PowerGate::of(&power, Some(&status), Some(2.0), 0.1);
        assert_eq!((by_status.source, by_status.threshold_kw), ("status", None));
        assert_eq!(by_status.mask, [false, true, false, false]);
        // The status is known only where there is no power.
        let unknown = PowerGate::of(&power, Some(&[NONE, NONE, 1.0, NONE]), Some(12.0), 0.1);
        assert_eq!(
            (unknown.source, unknown.mask),
            ("power_kw", vec![true, false, false, true])
        );
        let by_peak = PowerGate::of(&power, None, None, 0.1);
        assert_eq!(by_peak.source, "power_p95");
        assert_eq!(by_peak.mask, [true, false, false, true]);
        let dead = PowerGate::of(&[0.0, -1.0], None, None, 0.1);
        assert_eq!((dead.threshold_kw, dead.mask), (None, vec![false, false]));
    }
}
