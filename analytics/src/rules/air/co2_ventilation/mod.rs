//! Whether the CO2 of a zone shows too little or too much ventilation (Air rules §2.3, §2.4).

mod system;
mod zone;

use self::zone::{Evidence, Zone};
use super::economizer_mode::{EconomizerMode, EconomizerSetting, economizer_mode};
use crate::finding::{Judgement, Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// Each zone by itself.
pub const RULE: RuleCode = RuleCode::equipment("co2_ventilation", |frame, parameters| {
    let evidence = own_evidence(frame, parameters);
    Some(verdict(frame, parameters, &evidence))
})
.judged_by(judge);

/// Zones with what their air handlers tell of free cooling.
pub const SYSTEM: RuleCode = RuleCode::fleet("co2_ventilation_system", system::analyse);

/// Shares of samples above which a zone is under-ventilated (%).
const UNDER_FAULT_PCT: f64 = 20.0;
const UNDER_WARN_PCT: f64 = 5.0;
/// Share of samples near outdoor CO2 from which a zone is over-ventilated (%).
const OVER_WARN_PCT: f64 = 60.0;
/// Fewer samples are not judged.
const MIN_SAMPLES: usize = 10;

fn mode(frame: &Frame<'_>, parameters: &Parameters) -> Option<EconomizerMode> {
    let setting = EconomizerSetting {
        high_limit_f: parameters.number("econ_high_limit_f"),
        damper_min_pct: parameters.optional("oa_damper_min_pct"),
    };
    economizer_mode(frame, setting)
}

fn own_evidence(frame: &Frame<'_>, parameters: &Parameters) -> Evidence {
    if !parameters.flag("exclude_economizer") {
        return Evidence::Disabled;
    }
    match mode(frame, parameters) {
        Some(mode) => Evidence::Mode { mode, source: None },
        None => Evidence::None,
    }
}

fn is_over(under_pct: f64, over_pct: Option<f64>) -> bool {
    under_pct < UNDER_WARN_PCT && over_pct.is_some_and(|over| over >= OVER_WARN_PCT)
}

/// Judges a zone with that evidence of free cooling.
fn verdict(frame: &Frame<'_>, parameters: &Parameters, evidence: &Evidence) -> Verdict {
    let zone = Zone::of(frame, evidence);
    let mut metrics = Metrics::new();
    if zone.rows.len() < MIN_SAMPLES {
        metrics.set("occupancy_basis", zone.basis());
        return Verdict::info(
            metrics,
            "Ventilation was not judged: fewer than 10 occupied samples have a plausible CO2 level.",
        );
    }
    let under = numeric::round(zone.under_pct(), 1);
    let over = zone.over_pct().map(|share| numeric::round(share, 1));
    let levels = zone.levels();
    let p95 = numeric::quantile(&levels, 0.95);
    metrics
        .rounded("co2_median_ppm", numeric::median(&levels), 0)
        .rounded("co2_p95_ppm", p95, 0)
        .number("under_vent_pct", under)
        .number_or_null("over_vent_pct", over)
        .rounded("outdoor_co2_ppm", zone.outdoor, 0)
        .count("n_occupied", zone.rows.len())
        .set("occupancy_basis", zone.basis());
    let mut caveats = Vec::new();
    if !zone.is_trended {
        caveats.push(
            "Occupancy is not trended: weekdays from 7 to 18 are taken as occupied.".to_owned(),
        );
    }
    caveats.extend(economizer_figures(
        &zone,
        evidence,
        under,
        over,
        &mut metrics,
    ));
    let severity = if under >= UNDER_FAULT_PCT {
        Severity::Fault
    } else if under >= UNDER_WARN_PCT || is_over(under, over) {
        Severity::Warn
    } else {
        Severity::Ok
    };
    let summary = summary(&zone, parameters, (under, over), (&levels, p95));
    Verdict::new(severity, metrics, summary).with_caveats(caveats)
}

/// The figures of samples with free cooling, and what is told of them.
fn economizer_figures(
    zone: &Zone,
    evidence: &Evidence,
    under: f64,
    over: Option<f64>,
    metrics: &mut Metrics,
) -> Option<String> {
    match evidence {
        Evidence::Mode { mode, source } => {
            let hours = numeric::round(zone.economizing_pct(), 1);
            let within = zone.over_economizing_pct().map(|share| numeric::round(share, 1));
            metrics
                .set("economizer_basis", mode.basis)
                .number("econ_hours_pct", hours)
                .set("over_vent_econ_pct", within.map_or(serde_json::Value::Null, number))
                .rounded("over_vent_all_pct", zone.over_all_pct(), 1);
            if let Some(source) = source {
                metrics.set("economizer_source", source.as_str());
            }
            let near = within.map_or_else(String::new, |share| {
                format!(" ({share:.0} % of them near outdoor CO2)")
            });
            let shown_by = match (mode.basis, source) {
                ("econ_cmd", None) => "the economizer command".to_owned(),
                ("econ_cmd", Some(source)) => format!("the economizer command of {source}"),
                (_, None) => "outdoor temperature with damper or mixed air".to_owned(),
                (_, Some(source)) => {
                    format!("outdoor temperature with damper or mixed air of {source}")
                }
            };
            Some(format!(
                "{hours:.0} % of the occupied samples are free cooling by {shown_by} and do not count as \
                 over-ventilation{near}."
            ))
        }
        Evidence::None if is_over(under, over) => Some(
            "Nothing shows when the air handler economizes: part of the outdoor air may be free cooling."
                .to_owned(),
        ),
        Evidence::None | Evidence::Disabled => None,
    }
}

fn summary(
    zone: &Zone,
    parameters: &Parameters,
    (under, over): (f64, Option<f64>),
    (levels, p95): (&[f64], f64),
) -> String {
    let median = numeric::median(levels);
    if under >= UNDER_WARN_PCT {
        return format!(
            "CO2 is above {:.0} ppm (outdoor + 700) in {under:.0} % of occupied samples; its 95th percentile is {p95:.0} \
             ppm: too little outdoor air.",
            zone.outdoor + zone::HIGH_RISE
        );
    }
    match over {
        Some(over) if over >= OVER_WARN_PCT => {
            let samples = if zone.economizing.is_some() {
                "occupied samples without free cooling"
            } else {
                "occupied samples"
            };
            format!(
                "CO2 is within 150 ppm of outdoor air in {over:.0} % of {samples}: likely more outdoor air than people need."
            )
        }
        Some(_) => format!("Ventilation suits the zone: the median CO2 is {median:.0} ppm."),
        None => format!(
            "Over-ventilation was not judged: the economizer (limit {} °F) ran in {:.0} % of occupied samples. The median \
             CO2 is {median:.0} ppm.",
            parameters.number("econ_high_limit_f"),
            zone.economizing_pct()
        ),
    }
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let evidence = own_evidence(frame, parameters);
    let zone = Zone::of(frame, &evidence);
    if zone.rows.len() < MIN_SAMPLES {
        return None;
    }
    let under = numeric::round(zone.under_pct(), 1);
    let over = zone.over_pct().map(|share| numeric::round(share, 1));
    let mut judged = vec![false; frame.len()];
    let mut flagged = vec![false; frame.len()];
    let for_over = is_over(under, over);
    for sample in zone.samples() {
        let counts = !(for_over && sample.is_economizing);
        let speaks = if for_over {
            zone::is_near(sample.rise)
        } else {
            zone::is_high(sample.rise)
        };
        if let (Some(judged), Some(flagged)) =
            (judged.get_mut(sample.row), flagged.get_mut(sample.row))
        {
            *judged = counts;
            *flagged = counts && speaks;
        }
    }
    let basis = if for_over && zone.economizing.is_some() {
        "non-economizer occupied samples"
    } else {
        "occupied samples"
    };
    Some(Judgement::of(basis, judged, flagged))
}

#[cfg(test)]
mod tests;
