//! An economizer that stays open above its high limit (Air rules §2.10).

use serde_json::Value;

use super::outdoor_air_cost::{Excess, write_cost};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates::{self, FanGate};
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("economizer_high_limit", analyse).judged_by(judge);

/// Fraction of the damper stroke above the minimum that is still the minimum.
const DAMPER_MARGIN: f64 = 0.05;

/// What tells how much outdoor air there is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basis {
    Flow,
    Temperatures,
    Damper,
}

impl Basis {
    const fn word(self) -> &'static str {
        match self {
            Self::Flow => "measured OA fraction",
            Self::Temperatures => "OA-fraction",
            Self::Damper => "damper position",
        }
    }
}

/// The outdoor air of every sample, by the best signal there is.
struct OutdoorAir {
    basis: Basis,
    /// Percent of supply; fraction of the stroke for a damper. NaN where it is not usable.
    value: Vec<f64>,
    /// Both temperatures too close to tell a fraction.
    is_unstable: Vec<bool>,
    is_out_of_range: Vec<bool>,
}

impl OutdoorAir {
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        Self::by_flow(frame)
            .or_else(|| Self::by_temperatures(frame, parameters))
            .or_else(|| Self::by_damper(frame))
    }

    fn plain(basis: Basis, value: Vec<f64>) -> Self {
        Self {
            basis,
            is_unstable: vec![false; value.len()],
            is_out_of_range: vec![false; value.len()],
            value,
        }
    }

    fn by_flow(frame: &Frame<'_>) -> Option<Self> {
        let outdoor = frame.column("oa_airflow")?;
        let supply = frame.column("airflow")?;
        let peak = numeric::quantile(supply, 0.95);
        if !(peak > 0.0) {
            return None;
        }
        let value: Vec<f64> = outdoor
            .iter()
            .zip(supply)
            .map(|(outdoor, supply)| {
                let share = 100.0 * outdoor / supply;
                let is_usable =
                    *supply > 0.10 * peak && *outdoor >= 0.0 && (0.0..=120.0).contains(&share);
                if is_usable { share } else { f64::NAN }
            })
            .collect();
        (numeric::count(&value) >= 10).then(|| Self::plain(Basis::Flow, value))
    }

    fn by_temperatures(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let mixed = frame.column("mixed_air_temp")?;
        let indoor = frame.column("return_air_temp")?;
        let outdoor = frame.column("oat")?;
        let least = parameters.number("denom_min_f");
        let mut air = Self::plain(Basis::Temperatures, Vec::with_capacity(frame.len()));
        air.is_unstable.clear();
        air.is_out_of_range.clear();
        for ((mixed, indoor), outdoor) in mixed.iter().zip(indoor).zip(outdoor) {
            let is_plausible = (20.0..=130.0).contains(outdoor)
                && (30.0..=120.0).contains(mixed)
                && (40.0..=110.0).contains(indoor);
            let is_stable = (indoor - outdoor).abs() >= least;
            let share = 100.0 * (indoor - mixed) / (indoor - outdoor);
            let is_in_range = (-20.0..=120.0).contains(&share);
            air.is_unstable.push(is_plausible && !is_stable);
            air.is_out_of_range
                .push(is_plausible && is_stable && !is_in_range);
            air.value.push(if is_plausible && is_stable && is_in_range {
                share
            } else {
                f64::NAN
            });
        }
        Some(air)
    }

    fn by_damper(frame: &Frame<'_>) -> Option<Self> {
        let damper = gates::percent(frame.column("oa_damper")?);
        let value = damper.iter().map(|value| value / 100.0).collect();
        Some(Self::plain(Basis::Damper, value))
    }
}

/// From where outdoor air is excess.
enum Limit {
    Damper(f64),
    Configured {
        minimum: f64,
        margin: f64,
    },
    /// Without a minimum: above what any unit needs, and above what is usual.
    Unknown {
        certain: f64,
        likely: f64,
    },
}

impl Limit {
    fn of(parameters: &Parameters, basis: Basis) -> Self {
        let margin = parameters.number("oa_margin_pct");
        match (basis, parameters.optional("min_oa_pct")) {
            (Basis::Damper, _) => Self::Damper(parameters.number("min_damper") + DAMPER_MARGIN),
            (_, Some(minimum)) => Self::Configured { minimum, margin },
            (_, None) => Self::Unknown {
                certain: parameters.number("conservative_min_oa_pct") + margin,
                likely: parameters.number("assumed_min_oa_pct") + margin,
            },
        }
    }

    fn threshold(&self) -> f64 {
        match self {
            Self::Damper(threshold) => *threshold,
            Self::Configured { minimum, margin } => minimum + margin,
            Self::Unknown { certain, .. } => *certain,
        }
    }
}

/// The samples above the limit.
struct Hot {
    gate: FanGate,
    air: OutdoorAir,
    hot: Vec<bool>,
    judged: Vec<bool>,
    n_fan_off: usize,
    /// Hot samples in which outdoor air still cools more than return air.
    n_differential: usize,
}

impl Hot {
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let outdoor = frame.column("oat")?;
        let limit = parameters.number("high_limit_f");
        let gate = FanGate::of(frame, parameters.flag("fan_gate"));
        let on = gate.rows(frame.len());
        let above = masks::where_value(outdoor, |value| value > limit);
        let mut hot = masks::and(&above, &on);
        let n_fan_off = masks::count(&masks::and_not(&above, &on));
        let mut n_differential = 0;
        let indoor = frame.column("return_air_temp");
        if let Some(indoor) = indoor.filter(|_| parameters.flag("differential")) {
            let helps = masks::where_pair(outdoor, indoor, |outdoor, indoor| outdoor <= indoor);
            n_differential = masks::count(&masks::and(&hot, &helps));
            hot = masks::and_not(&hot, &helps);
        }
        let air = OutdoorAir::of(frame, parameters)?;
        let judged = masks::and(&hot, &masks::present(&air.value));
        Some(Self {
            gate,
            air,
            hot,
            judged,
            n_fan_off,
            n_differential,
        })
    }

    fn excess(&self, threshold: f64) -> Vec<bool> {
        masks::and(
            &self.judged,
            &masks::where_value(&self.air.value, |value| value > threshold),
        )
    }

    fn write_masked(&self, metrics: &mut Metrics, frame: &Frame<'_>, parameters: &Parameters) {
        let both = |mask: &[bool]| masks::count(&masks::and(&self.hot, mask));
        metrics
            .set("fan_gate", self.gate.source)
            .number("denom_min_f", parameters.number("denom_min_f"))
            .count("n_masked_fan_off", self.n_fan_off)
            .count("n_masked_small_delta_t", both(&self.air.is_unstable))
            .count("n_masked_out_of_range", both(&self.air.is_out_of_range));
        let mut missing: Vec<&str> = ["mixed_air_temp", "return_air_temp", "oa_airflow", "airflow"]
            .into_iter()
            .filter(|role| !frame.has(role))
            .collect();
        if self.gate.is_missing() {
            missing.push("supply_fan_status");
        }
        if !missing.is_empty() {
            metrics.set("_missing_optional", missing);
        }
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let hot = Hot::of(frame, parameters)?;
    let n = masks::count(&hot.judged);
    let high_limit = parameters.number("high_limit_f");
    let mut metrics = Metrics::new();
    if n == 0 {
        hot.write_masked(&mut metrics, frame, parameters);
        return Some(
            Verdict::info(
                metrics,
                format!(
                    "The economizer was not judged: no fan-on sample above {high_limit} °F has a usable reading of the \
                     outdoor air."
                ),
            )
            .with_caveats(differential_caveat(&hot)),
        );
    }
    let limit = Limit::of(parameters, hot.air.basis);
    let warn = parameters.number("warn_pct");
    let fault = parameters.number("fault_pct");
    let share = |threshold| numeric::percent_of(masks::count(&hot.excess(threshold)), n);
    let excess = share(limit.threshold());
    let mut severity = Severity::at_least(excess, warn, fault);
    let likely = match limit {
        Limit::Unknown { likely, .. } => Some(share(likely)),
        _ => None,
    };
    let is_undecided = severity == Severity::Ok
        && likely.is_some_and(|likely| Severity::at_least(likely, warn, fault) != Severity::Ok);
    if is_undecided {
        severity = Severity::Info;
    }
    let minimum = parameters.optional("min_oa_pct");
    metrics
        .number("high_limit_f", high_limit)
        .set("basis", hot.air.basis.word())
        .number_or_null("min_oa_pct", minimum)
        .set(
            "min_oa_source",
            if minimum.is_some() {
                "configured"
            } else {
                "unknown"
            },
        )
        .number("min_damper", parameters.number("min_damper"))
        .count("n_above_limit", n);
    hot.write_masked(&mut metrics, frame, parameters);
    if let Some(likely) = likely {
        metrics
            .rounded("excess_over_assumed_min_pct", likely, 2)
            .number(
                "assumed_min_oa_pct",
                parameters.number("assumed_min_oa_pct"),
            )
            .number(
                "conservative_min_oa_pct",
                parameters.number("conservative_min_oa_pct"),
            );
    }
    write_costs(&mut metrics, frame, parameters, &hot);
    if is_undecided {
        metrics.set("not_locked_out_pct", Value::Null);
    } else {
        metrics
            .rounded("not_locked_out_pct", excess, 2)
            .set("oa_cost_flagged", severity != Severity::Ok);
    }
    let median = numeric::median(&masks::picked_values(&hot.air.value, &hot.judged));
    let summary = summary(
        &limit,
        high_limit,
        excess,
        hot.air.basis,
        is_undecided.then_some(median),
    );
    let mut caveats: Vec<String> = differential_caveat(&hot).into_iter().collect();
    if hot.air.basis == Basis::Damper {
        caveats.push(
            "Neither airflows nor mixed and return air temperature tell the outdoor air: the damper position is a weak \
             stand-in."
                .to_owned(),
        );
    }
    if let (
        Limit::Unknown {
            certain,
            likely: line,
        },
        Some(likely),
    ) = (&limit, likely)
    {
        caveats.push(match severity {
            Severity::Ok => format!(
                "The minimum outdoor air of the unit is not configured; there is no excess above {line:.0} % nor above \
                 {certain:.0} %."
            ),
            Severity::Info => format!(
                "The minimum outdoor air of the unit is not configured: {likely:.0} % of these samples lie above {line:.0} % \
                 (median {median:.0} %), which is excess only if the minimum is low."
            ),
            _ => format!(
                "The minimum outdoor air of the unit is not configured; excess is counted above {certain:.0} %, more than \
                 units need (median {median:.0} %; {likely:.0} % of these samples lie above {line:.0} %)."
            ),
        });
    }
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn write_costs(metrics: &mut Metrics, frame: &Frame<'_>, parameters: &Parameters, hot: &Hot) {
    let declined = match parameters.optional("min_oa_pct") {
        _ if hot.air.basis == Basis::Damper => {
            "the outdoor-air fraction is not known (mixed_air_temp and return_air_temp are needed)"
        }
        None => "the minimum of the unit is not configured (min_oa_pct)",
        Some(_) if !frame.has("return_air_temp") => "return_air_temp is not trended",
        Some(minimum) => {
            let occupied = occupancy::effective(frame, &Schedule::default(), false).mask;
            let rows = masks::and(&hot.judged, &occupied);
            let present = |role| frame.column(role).map(masks::present).unwrap_or_default();
            write_cost(
                metrics,
                frame,
                &Excess {
                    rows: &rows,
                    fraction: &hot.air.value,
                    minimum: &vec![minimum; frame.len()],
                    margin: parameters.number("oa_margin_pct"),
                    observed: masks::count(&masks::and(
                        &present("oat"),
                        &present("return_air_temp"),
                    )),
                },
            );
            return;
        }
    };
    metrics.set("oa_cost_declined", declined);
}

fn differential_caveat(hot: &Hot) -> Option<String> {
    (hot.n_differential > 0).then(|| {
        format!(
            "{} samples above the limit are left out because outdoor air was no warmer than return air.",
            hot.n_differential
        )
    })
}

fn summary(
    limit: &Limit,
    high_limit: f64,
    excess: f64,
    basis: Basis,
    undecided_median: Option<f64>,
) -> String {
    if let Some(median) = undecided_median {
        return format!(
            "Above {high_limit} °F the median outdoor-air fraction is {median:.0} %; whether that is excess depends on the \
             minimum of the unit, which is not configured."
        );
    }
    let line = match limit {
        Limit::Damper(threshold) => format!("damper above {:.0} %", 100.0 * threshold),
        other => format!("outdoor air above {:.0} %", other.threshold()),
    };
    format!(
        "In {excess:.0} % of the fan-on samples above the {high_limit} °F high limit there is more outdoor air than the \
         minimum ({}: {line}).",
        basis.word()
    )
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let hot = Hot::of(frame, parameters)?;
    let limit = Limit::of(parameters, hot.air.basis);
    let flagged = hot.excess(limit.threshold());
    let basis = match hot.gate.mask {
        Some(_) => "fan-on samples above the high limit with a usable outdoor-air reading",
        None => "samples above the high limit with a usable outdoor-air reading",
    };
    Some(Judgement::of(basis, hot.judged, flagged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, Column, hourly};

    fn verdict(columns: &[Column<'_>], set: Value) -> Verdict {
        let mut all: Vec<Column<'_>> = vec![("oa_damper", &|_| 60.0)];
        all.extend_from_slice(columns);
        testing::run(&RULE, &hourly(72, &all), set).unwrap()
    }

    fn metric(verdict: &Verdict, name: &str) -> Option<f64> {
        verdict.metrics.as_number(name)
    }

    const FAN: Column<'static> = ("supply_fan_status", &|_| 1.0);
    const HOT: Column<'static> = ("oat", &|_| 85.0);
    const RETURN: Column<'static> = ("return_air_temp", &|_| 75.0);

    #[test]
    fn a_damper_held_open_in_the_heat_is_a_fault() {
        let columns: &[Column<'_>] = &[("oat", &|_| 80.0)];
        let verdict = verdict(columns, json!({}));
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            verdict.metrics.get("basis"),
            Some(&json!("damper position"))
        );
        assert_eq!(metric(&verdict, "n_above_limit"), Some(72.0));
        assert_eq!(metric(&verdict, "not_locked_out_pct"), Some(100.0));
        let table = hourly(72, &[("oa_damper", &|_| 60.0), ("oat", &|_| 80.0)]);
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 72);
    }

    #[test]
    fn more_outdoor_air_than_any_unit_needs_is_a_fault_without_a_minimum() {
        let verdict = verdict(
            &[FAN, HOT, RETURN, ("mixed_air_temp", &|_| 81.0)],
            json!({}),
        );
        assert_eq!(verdict.severity, Severity::Fault);
        assert!(verdict.metrics.get("oa_cost_declined").is_some());
    }

    #[test]
    fn what_the_minimum_decides_is_left_open_without_one() {
        let columns: &[Column<'_>] = &[FAN, HOT, RETURN, ("mixed_air_temp", &|_| 79.0)];
        let open = verdict(columns, json!({}));
        assert_eq!(open.severity, Severity::Info);
        assert_eq!(open.metrics.get("not_locked_out_pct"), Some(&json!(null)));
        assert_eq!(metric(&open, "excess_over_assumed_min_pct"), Some(100.0));
        assert!(open.summary.contains("40 %"), "{}", open.summary);
        let decided = verdict(columns, json!({"min_oa_pct": 20}));
        assert_eq!(decided.severity, Severity::Fault);
        assert_eq!(
            metric(&decided, "oa_cost_excess_cool_btu_per_cfm"),
            Some(71.28)
        );
    }

    #[test]
    fn little_outdoor_air_is_fine() {
        let verdict = verdict(
            &[FAN, HOT, RETURN, ("mixed_air_temp", &|_| 76.0)],
            json!({}),
        );
        assert_eq!(verdict.severity, Severity::Ok);
    }

    #[test]
    fn outdoor_air_cooler_than_return_air_is_welcome() {
        let verdict = verdict(
            &[
                FAN,
                RETURN,
                ("oat", &|_| 70.0),
                ("mixed_air_temp", &|_| 71.0),
            ],
            json!({}),
        );
        assert_eq!(verdict.severity, Severity::Info);
        assert!(verdict.caveats[0].starts_with("72 samples"));
    }

    #[test]
    fn measured_airflows_price_the_excess_in_all() {
        let verdict = verdict(
            &[
                FAN,
                HOT,
                RETURN,
                ("oa_airflow", &|_| 3000.0),
                ("airflow", &|_| 5000.0),
            ],
            json!({"min_oa_pct": 20}),
        );
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            (
                metric(&verdict, "oa_cost_excess_cool_btu_per_cfm"),
                metric(&verdict, "oa_cost_excess_cool_kbtu")
            ),
            (Some(142.56), Some(712.8))
        );
    }
}
