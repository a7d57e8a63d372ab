//! Condenser water that does not follow the wet bulb (Plant rules §2.16).

use super::wet_bulb_source::{self, WetBulb, WetBulbBasis};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// Fewer operating samples tell nothing.
const MIN_SAMPLES: usize = 10;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("condenser_water_reset", analyse).judged_by(judge);

/// Operating samples of a tower with its wet bulb.
struct Operation<'a> {
    wet_bulb: WetBulb<'a>,
    water: &'a [f64],
    judged: Vec<bool>,
}

fn operation<'a>(frame: &Frame<'a>, parameters: &Parameters) -> Option<Operation<'a>> {
    let water = frame.column("cw_supply_temp")?;
    let wet_bulb = WetBulb::of(frame, parameters)?;
    let mut judged = wet_bulb_source::credible_rows(frame, &wet_bulb.values)?;
    let operating = match frame.column("tower_fan_speed") {
        Some(speed) => wet_bulb_source::fan_runs(speed),
        None => wet_bulb_source::water_is_cooled(frame),
    };
    masks::narrow(&mut judged, &operating);
    (masks::count(&judged) >= MIN_SAMPLES).then_some(Operation {
        wet_bulb,
        water,
        judged,
    })
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let Some(operation) = operation(frame, parameters) else {
        return Some(Verdict::info(
            Metrics::new(),
            format!(
                "{equip}: the condenser-water reset was not judged: fewer than {MIN_SAMPLES} operating samples have water and \
                 wet bulb."
            ),
        ));
    };
    let water = masks::picked_values(operation.water, &operation.judged);
    let wet_bulb = masks::picked_values(&operation.wet_bulb.values, &operation.judged);
    let flat = parameters.number("reset_slope_flat");
    let design = parameters.number("design_approach_f");
    let slope = numeric::fitted_slope(&wet_bulb, &water);
    let is_reset = slope.is_some_and(|slope| slope >= flat);
    let median = numeric::median(&water);
    // Summed in the order of the reference: the median may lie exactly between two decimals.
    let above = masks::paired(&water, &wet_bulb, |water, wet_bulb| {
        water - (wet_bulb + design)
    });
    let mut metrics = Metrics::new();
    metrics
        .rounded("cws_median_f", median, 1)
        .number_or_null(
            "cws_slope_per_wetbulb",
            slope.map(|slope| numeric::round(slope, 3)),
        )
        .set("reset_present", is_reset)
        .set("wetbulb_source", operation.wet_bulb.basis.source())
        .count("n_operating", water.len())
        .rounded(
            "cws_above_wb_plus_approach_median_f",
            numeric::median(&above),
            1,
        )
        .number("design_approach_f", design);
    let told = match slope {
        Some(slope) => format!("it moves {slope:.2} °F for each °F of wet bulb"),
        None => "the wet bulb does not vary".to_owned(),
    };
    let (severity, reset) = match is_reset {
        true => (Severity::Ok, "it is reset"),
        false => (Severity::Warn, "it is not reset"),
    };
    let summary =
        format!("{equip}: condenser water is at {median:.1} °F (median); {told}: {reset}.");
    let sea_level = (operation.wet_bulb.basis == WetBulbBasis::SeaLevel).then(|| {
        "The wet bulb is formed from temperature and humidity at sea level: at altitude it reads high, and the slope shifts. \
         Set elevation_ft or pressure_psia."
            .to_owned()
    });
    Some(Verdict::new(severity, metrics, summary).with_caveats(sea_level))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    operation(frame, parameters)?;
    Some(Judgement::whole_period(
        "the rule judges the slope over the operating samples of the window and flags no single ones",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::testing::{self, Column, hourly};

    fn half(row: usize) -> f64 {
        numeric::share_of(row % 24) / 2.0
    }

    fn verdict(columns: &[Column<'_>], set: Value) -> Verdict {
        testing::run(&RULE, &hourly(240, columns), set).unwrap()
    }

    #[test]
    fn water_that_stands_still_is_not_reset() {
        let fixed = verdict(
            &[
                ("cw_supply_temp", &|_| 75.0),
                ("wetbulb_temp", &|row| 50.0 + half(row)),
                ("tower_fan_speed", &|_| 60.0),
            ],
            json!({}),
        );
        assert_eq!(fixed.severity, Severity::Warn);
        assert_eq!(fixed.metrics.as_number("cws_slope_per_wetbulb"), Some(0.0));
        assert!(fixed.summary.contains("75.0 °F") && fixed.summary.ends_with("it is not reset."));
        let constant = verdict(
            &[("cw_supply_temp", &|_| 75.0), ("wetbulb_temp", &|_| 50.0)],
            json!({}),
        );
        assert_eq!(
            constant.metrics.get("cws_slope_per_wetbulb"),
            Some(&Value::Null)
        );
        assert_eq!(constant.severity, Severity::Warn);
    }

    #[test]
    fn water_that_follows_a_formed_wet_bulb_is_reset_with_a_caveat_at_sea_level_only() {
        let columns: &[Column<'_>] = &[
            ("cw_supply_temp", &|row| 64.0 + half(row)),
            ("oat", &|row| 70.0 + half(row)),
            ("outdoor_rh", &|_| 50.0),
        ];
        let sea = verdict(columns, json!({}));
        assert_eq!((sea.severity, sea.caveats.len()), (Severity::Ok, 1));
        let high = verdict(columns, json!({"elevation_ft": 5000}));
        assert_eq!((high.severity, high.caveats.len()), (Severity::Ok, 0));
        let slope = |verdict: &Verdict| verdict.metrics.as_number("cws_slope_per_wetbulb");
        assert_eq!((slope(&sea), slope(&high)), (Some(1.163), Some(1.213)));
    }

    #[test]
    fn temperature_alone_makes_no_wet_bulb() {
        let none = verdict(
            &[("cw_supply_temp", &|_| 75.0), ("oat", &|_| 80.0)],
            json!({}),
        );
        assert_eq!(
            (none.severity, none.metrics.as_map().len()),
            (Severity::Info, 0)
        );
    }
}
