//! An outdoor-air fraction off its minimum: too much in cooling weather, or too little (Air rules §2.15).

use serde_json::Value;

use super::monthly::{Monthly, check_months, months_metric};
use super::outdoor_air_cost::{Excess, write_cost};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates::FanGate;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, OccupancyBasis, Schedule};
use crate::parameters::{ParameterError, Parameters};
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("outdoor_air_fraction", analyse)
    .checked_by(check)
    .judged_by(judge);

/// Minimum outdoor air where none is configured, percent of supply.
const USUAL_MINIMUM: f64 = 20.0;

/// Points around the minimum that are neither excess nor too little.
const MARGIN: f64 = 5.0;

/// Fewer samples say nothing.
const LEAST_SAMPLES: usize = 10;

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    check_months(parameters, "min_oa_pct_by_month")
}

/// The outdoor-air fraction of a unit, and which samples have one.
struct Fraction {
    gate: FanGate,
    occupancy: OccupancyBasis,
    /// Percent of supply, NaN where it is not judged.
    value: Vec<f64>,
    judged: Vec<bool>,
    cooling: Vec<bool>,
    minimum: Monthly,
    /// The minimum of each row.
    floor: Vec<f64>,
    n_fan_off: usize,
    n_unstable: usize,
    n_out_of_range: usize,
    observed: usize,
}

impl Fraction {
    /// None without outdoor temperature.
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let outdoor = frame.column("oat")?;
        let mixed = frame.column("mixed_air_temp")?;
        let indoor = frame.column("return_air_temp")?;
        let gate = FanGate::of(frame, parameters.flag("fan_gate"));
        let on = gate.rows(frame.len());
        let occupied = occupancy::effective(frame, &Schedule::default(), false);
        let least = parameters.number("denom_min_f");
        let cutoff = parameters.number("cooling_cutoff_f");
        let minimum = Monthly::of(
            parameters.optional("min_oa_pct").unwrap_or(USUAL_MINIMUM),
            parameters,
            "min_oa_pct_by_month",
        );
        let mut fraction = Self {
            occupancy: occupied.basis,
            value: vec![f64::NAN; frame.len()],
            judged: vec![false; frame.len()],
            cooling: vec![false; frame.len()],
            floor: minimum.at(frame.stamps()),
            minimum,
            n_fan_off: 0,
            n_unstable: 0,
            n_out_of_range: 0,
            observed: 0,
            gate,
        };
        let temperatures = outdoor.iter().zip(mixed).zip(indoor);
        let masks = occupied.mask.iter().zip(&on);
        for (row, (((outdoor, mixed), indoor), (occupied, on))) in
            temperatures.zip(masks).enumerate()
        {
            let is_present = !outdoor.is_nan() && !mixed.is_nan() && !indoor.is_nan();
            fraction.observed += usize::from(is_present);
            if !is_present || !occupied {
                continue;
            }
            if !on {
                fraction.n_fan_off += 1;
                continue;
            }
            let is_plausible = (20.0..=130.0).contains(outdoor)
                && (30.0..=120.0).contains(mixed)
                && (40.0..=110.0).contains(indoor);
            if !is_plausible {
                continue;
            }
            if (indoor - outdoor).abs() < least {
                fraction.n_unstable += 1;
                continue;
            }
            let value = 100.0 * (indoor - mixed) / (indoor - outdoor);
            if !(value > -20.0 && value < 120.0) {
                fraction.n_out_of_range += 1;
                continue;
            }
            fraction.set(row, value, *outdoor > cutoff);
        }
        Some(fraction)
    }

    fn set(&mut self, row: usize, value: f64, is_cooling: bool) {
        if let (Some(slot), Some(judged), Some(cooling)) = (
            self.value.get_mut(row),
            self.judged.get_mut(row),
            self.cooling.get_mut(row),
        ) {
            (*slot, *judged, *cooling) = (value, true, is_cooling);
        }
    }

    /// Cooling samples above, and all samples below the minimum.
    fn off(&self) -> (Vec<bool>, Vec<bool>) {
        let above = masks::where_pair(&self.value, &self.floor, |value, floor| {
            value > floor + MARGIN
        });
        let below = masks::where_pair(&self.value, &self.floor, |value, floor| {
            value < floor - MARGIN
        });
        (masks::and(&self.cooling, &above), below)
    }

    /// How bad too little outdoor air is, by the median sample.
    fn under_severity(&self, median: f64) -> Severity {
        let (is_half, is_below) = if self.minimum.is_seasonal() {
            let against = |relation: fn(f64, f64) -> f64| {
                let related: Vec<f64> = self
                    .value
                    .iter()
                    .zip(&self.floor)
                    .map(|(value, floor)| relation(*value, *floor))
                    .collect();
                numeric::median(&masks::picked_values(&related, &self.judged))
            };
            (
                numeric::round(against(|value, floor| value / floor), 3) < 0.5,
                numeric::round(against(|value, floor| value - floor), 1) < -MARGIN,
            )
        } else {
            let floor = self.minimum.all_year;
            (median < 0.5 * floor, median < floor - MARGIN)
        };
        match (is_half, is_below) {
            (true, _) => Severity::Fault,
            (_, true) => Severity::Warn,
            _ => Severity::Ok,
        }
    }
}

fn missing(frame: &Frame<'_>, gate: &FanGate) -> Vec<&'static str> {
    let mut missing: Vec<&str> = ["oat", "oa_damper"]
        .into_iter()
        .filter(|role| !frame.has(role))
        .collect();
    if gate.is_missing() {
        missing.push("supply_fan_status");
    }
    missing
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let fraction = Fraction::of(frame, parameters);
    let n = fraction
        .as_ref()
        .map_or(0, |fraction| masks::count(&fraction.judged));
    let Some(fraction) = fraction.filter(|_| n >= LEAST_SAMPLES) else {
        let gate = FanGate::of(frame, parameters.flag("fan_gate"));
        let why = match frame.has("oat") {
            true => format!(
                "only {n} occupied running samples have three plausible temperatures far enough apart; {LEAST_SAMPLES} are \
                 needed"
            ),
            false => "outdoor temperature is not trended".to_owned(),
        };
        let mut metrics = Metrics::new();
        metrics
            .set("fan_gate", gate.source)
            .set("_missing_optional", missing(frame, &gate));
        return Some(Verdict::info(
            metrics,
            format!("The outdoor-air fraction was not judged: {why}."),
        ));
    };
    Some(judged(frame, parameters, &fraction, n))
}

/// The figures that the verdict and its summary rest on.
struct Shares {
    median: f64,
    median_cooling: Option<f64>,
    excess: f64,
    under: f64,
}

impl Shares {
    fn of(fraction: &Fraction, n: usize) -> Self {
        let (above, below) = fraction.off();
        let n_cooling = masks::count(&fraction.cooling);
        let percent =
            |mask: &[bool], n: usize| numeric::round(numeric::percent_of(masks::count(mask), n), 1);
        let median = |mask: &[bool]| {
            numeric::round(
                numeric::median(&masks::picked_values(&fraction.value, mask)),
                1,
            )
        };
        Self {
            median: median(&fraction.judged),
            median_cooling: (n_cooling > 0).then(|| median(&fraction.cooling)),
            excess: if n_cooling > 0 {
                percent(&above, n_cooling)
            } else {
                0.0
            },
            under: percent(&below, n),
        }
    }
}

fn judged(frame: &Frame<'_>, parameters: &Parameters, fraction: &Fraction, n: usize) -> Verdict {
    let shares = Shares::of(fraction, n);
    let excess = Severity::at_least(shares.excess, 20.0, 50.0);
    let under = fraction.under_severity(shares.median);
    let severity = excess.worse(under);
    let failure = match severity {
        Severity::Ok => None,
        severity if severity == excess => Some("excess_oa"),
        _ => Some("under_ventilation"),
    };
    let missing = missing(frame, &fraction.gate);
    let mut metrics = Metrics::new();
    metrics
        .number("oaf_median_pct", shares.median)
        .number_or_null("median_oaf_cooling", shares.median_cooling)
        .number("excess_oa_pct", shares.excess)
        .number("under_vent_pct", shares.under)
        .number("min_oa_pct", fraction.minimum.all_year)
        .count("n_cooling", masks::count(&fraction.cooling))
        .count("n_valid", n)
        .set("failure_mode", failure.map_or(Value::Null, Value::from))
        .set(
            "min_oa_pct_by_month",
            months_metric(parameters, "min_oa_pct_by_month"),
        )
        .set(
            "occupancy",
            match fraction.occupancy {
                OccupancyBasis::Trended => "trended",
                OccupancyBasis::Assumed => "assumed",
            },
        )
        .set("fan_gate", fraction.gate.source)
        .number("denom_min_f", parameters.number("denom_min_f"))
        .count("n_masked_fan_off", fraction.n_fan_off)
        .count("n_masked_small_delta_t", fraction.n_unstable)
        .count("n_masked_out_of_range", fraction.n_out_of_range)
        .set("_missing_optional", missing)
        .set(
            "min_oa_source",
            match parameters.optional("min_oa_pct") {
                Some(_) => "configured",
                None => "default",
            },
        );
    write_cost(
        &mut metrics,
        frame,
        &Excess {
            rows: &fraction.judged,
            fraction: &fraction.value,
            minimum: &fraction.floor,
            margin: MARGIN,
            observed: fraction.observed,
        },
    );
    metrics.set("oa_cost_flagged", excess != Severity::Ok);
    let summary = summary(fraction, &shares, failure);
    let verdict = Verdict::new(severity, metrics, summary);
    if fraction.gate.is_missing() {
        return verdict.with_caveat(
            "No fan signal is trended: hours with the fan off, whose temperatures tell nothing of the mixing, are judged too.",
        );
    }
    verdict
}

fn summary(fraction: &Fraction, shares: &Shares, failure: Option<&str>) -> String {
    let minimum = match fraction.minimum.is_seasonal() {
        true => "the minimum of the month".to_owned(),
        false => format!("the {} % minimum", fraction.minimum.all_year),
    };
    let cooling = shares.median_cooling.map_or_else(String::new, |median| {
        format!(" ({median:.0} % in cooling weather)")
    });
    let off = match failure {
        Some("under_ventilation") => {
            format!("{:.0} % of samples lie below {minimum}", shares.under)
        }
        _ if shares.median_cooling.is_none() => {
            "there is no cooling weather to judge excess in".to_owned()
        }
        _ => format!(
            "{:.0} % of cooling hours have more than {minimum}",
            shares.excess
        ),
    };
    let gate = match fraction.gate.mask {
        Some(_) => "",
        None => "; not fan-gated",
    };
    format!(
        "The median outdoor-air fraction is {:.0} %{cooling}; {off}{gate}.",
        shares.median
    )
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let fraction = Fraction::of(frame, parameters)?;
    if masks::count(&fraction.judged) < LEAST_SAMPLES {
        return None;
    }
    let (above, below) = fraction.off();
    let basis = match fraction.gate.mask {
        Some(_) => "occupied fan-on samples",
        None => "occupied samples",
    };
    Some(Judgement::of(
        basis,
        fraction.judged,
        masks::or(&above, &below),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, Column, week};

    const FAN: Column<'static> = ("supply_fan_status", &|_| 1.0);
    const HOT: Column<'static> = ("oat", &|_| 95.0);
    const RETURN: Column<'static> = ("return_air_temp", &|_| 75.0);
    const HALF: Column<'static> = ("mixed_air_temp", &|_| 85.0);

    fn run(columns: &[Column<'_>], set: Value) -> Verdict {
        testing::run(&RULE, &week(columns), set).unwrap()
    }

    fn metric(verdict: &Verdict, name: &str) -> Option<f64> {
        verdict.metrics.as_number(name)
    }

    #[test]
    fn half_outdoor_air_in_the_heat_is_a_fault_with_its_price() {
        let verdict = run(&[FAN, HOT, RETURN, HALF], json!({}));
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(metric(&verdict, "oaf_median_pct"), Some(50.0));
        assert_eq!(metric(&verdict, "excess_oa_pct"), Some(100.0));
        assert_eq!(metric(&verdict, "n_valid"), Some(55.0));
        assert_eq!(
            metric(&verdict, "oa_cost_excess_cool_btu_per_cfm"),
            Some(356.4)
        );
        let judgement = testing::judge(&RULE, &week(&[FAN, HOT, RETURN, HALF]), json!({})).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 55);
    }

    #[test]
    fn too_little_outdoor_air_is_under_ventilation() {
        let verdict = run(
            &[FAN, HOT, RETURN, ("mixed_air_temp", &|_| 76.0)],
            json!({"min_oa_pct": 20}),
        );
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            verdict.metrics.get("failure_mode"),
            Some(&json!("under_ventilation"))
        );
        assert_eq!(metric(&verdict, "oaf_median_pct"), Some(5.0));
        assert_eq!(metric(&verdict, "under_vent_pct"), Some(100.0));
    }

    #[test]
    fn humid_outdoor_air_is_priced_by_its_heat_content() {
        let verdict = run(
            &[
                FAN,
                HOT,
                RETURN,
                HALF,
                ("outdoor_rh", &|_| 30.0),
                ("return_air_humidity", &|_| 45.0),
                ("airflow", &|_| 10_000.0),
            ],
            json!({"min_oa_pct": 20}),
        );
        assert_eq!(
            (
                metric(&verdict, "oa_cost_excess_cool_btu_per_cfm"),
                metric(&verdict, "oa_cost_excess_cool_kbtu"),
                verdict.metrics.get("oa_cost_cool_basis"),
            ),
            (Some(545.276), Some(5452.761), Some(&json!("enthalpy")))
        );
    }

    #[test]
    fn the_minimum_of_the_month_is_what_counts() {
        let verdict = run(
            &[FAN, HOT, RETURN, HALF],
            json!({"min_oa_pct": 20, "min_oa_pct_by_month": {"3": 48}}),
        );
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(metric(&verdict, "min_oa_pct"), Some(20.0));
    }

    #[test]
    fn without_outdoor_temperature_nothing_is_judged() {
        let verdict = run(&[FAN, RETURN, HALF], json!({}));
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(
            verdict.metrics.get("_missing_optional"),
            Some(&json!(["oat", "oa_damper"]))
        );
    }
}
