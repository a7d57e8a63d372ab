//! The worked examples of M&V §11 as a caller sees them: a configuration and frames in, rows out.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::*;
use crate::finding::Severity;
use crate::frame::RoleFrame;
use crate::mv::MvRule;
use crate::mv::testing::{hourly, since_2023};
use crate::run_config::{NoFiles, RunConfig};
use crate::wall_clock::HOUR;

/// Two years from 2023 on, of which the second uses a tenth less.
fn meter() -> RunFrame {
    let temperature =
        |day: f64| 55.0 + 25.0 * (std::f64::consts::TAU * (day - 105.0) / 365.0).sin();
    let day = |hour: u32| f64::from(hour / 24);
    RunFrame::of_resampled(
        hourly(
            731,
            |hour| temperature(day(hour)),
            |hour| {
                let load =
                    40.0 + 1.5 * (temperature(day(hour)) - 60.0).max(0.0) + (1.7 * day(hour)).sin();
                load * if hour >= 365 * 24 { 0.9 } else { 1.0 }
            },
        ),
        &[],
    )
}

/// An entry over 2023 and 2024 with more keys, or with others; a null takes one away.
fn entry(more: Value) -> Value {
    let mut entry = json!({"class": "METER", "role": "power", "period": ["2023-01-01", "2023-12-31"],
        "reporting_period": ["2024-01-01", "2024-12-31"], "method": "forecast"});
    for (key, value) in more.as_object().unwrap() {
        entry[key] = value.clone();
    }
    entry
}

fn rows_of(frames: &[RunFrame], content: Value) -> Result<Vec<MvFinding>, MvError> {
    let Value::Object(content) = content else {
        panic!("an object");
    };
    let config = RunConfig::read(content, &NoFiles).unwrap();
    findings(
        &config.mv_entries().unwrap(),
        frames,
        Sources {
            site: SiteDays::WITHOUT_ZONE,
            weather: &|_| Err("there is no outdoor temperature".to_owned()),
            frozen: None,
        },
    )
}

fn rows(more: Value) -> Vec<MvFinding> {
    rows_of(&[meter()], json!({"mv": [entry(more)]})).unwrap()
}

fn one(rows: &[MvFinding], rule: MvRule) -> &MvFinding {
    rows.iter().find(|row| row.rule == rule).unwrap()
}

/// The figures of the saving by these names.
fn figures<const N: usize>(rows: &[MvFinding], names: [&str; N]) -> [Value; N] {
    let row = one(rows, MvRule::Savings);
    names.map(|name| {
        let metrics = row.verdict.metrics.as_map();
        metrics
            .get(name)
            .cloned()
            .unwrap_or_else(|| json!("absent"))
    })
}

fn told(row: &MvFinding, caveat: &str) -> bool {
    row.verdict.caveats.iter().any(|told| told.contains(caveat))
}

#[test]
fn a_year_is_a_baseline_and_the_next_one_a_saving() {
    let rows = rows(json!({"method": null}));
    let baseline = one(&rows, MvRule::Baseline);
    assert_eq!(
        (baseline.id.as_str(), baseline.severity()),
        ("mv_baseline@METER-1", Severity::Ok)
    );
    let metrics: Map<String, Value> = baseline.verdict.metrics.as_map().clone();
    for (name, value) in [
        ("model", json!("4P")),
        ("n_days", json!(365)),
        ("r2", json!(0.9959)),
        ("cv_rmse", json!(0.0152)),
        ("nmbe", json!(0.0)),
        ("accept", json!(true)),
        ("rho", json!(0.0)),
        ("short_baseline", json!(false)),
    ] {
        assert_eq!(metrics[name], value, "{name}");
    }
    assert!(!metrics.contains_key("n_days_dropped") && !metrics.contains_key("unit_system"));
    assert_eq!(
        figures(
            &rows,
            [
                "avoided_energy",
                "baseline_projected",
                "reporting_actual",
                "savings_pct",
                "fsu",
                "abs_uncertainty",
                "enpi",
                "enpi_uncertainty",
                "n_report_days",
                "fsu_extrapolation_factor",
                "method_declared",
                "coverage_tier",
                "kernel",
                "baseline_version",
                "sep_valid",
            ]
        ),
        [
            json!(42543.58),
            json!(425197.9),
            json!(382654.32),
            json!(0.1001),
            json!(0.0165),
            json!(702.13),
            json!(0.899944),
            json!(0.001486),
            json!(366),
            json!(null),
            json!(false),
            json!("in_range"),
            json!("g14"),
            json!(null),
            json!("absent"),
        ]
    );
    let saving = one(&rows, MvRule::Savings);
    assert_eq!(
        saving.verdict.summary,
        "avoided energy 42,544 in the meter's own unit (10.0%) ± 702 at 90% confidence over 366 reporting days; coverage in \
         range"
    );
    assert!(told(saving, "declares no method") && told(saving, "kernel g14 under-covers"));
}

#[test]
fn energies_are_told_in_the_units_of_the_configuration() {
    let content = json!({"units": "ip", "mv": [entry(json!({"kernel": "exact", "units": "kW", "validity": "sep"}))]});
    let rows = rows_of(&[meter()], content).unwrap();
    assert_eq!(
        figures(
            &rows,
            [
                "avoided_energy",
                "abs_uncertainty",
                "fsu",
                "enpi_uncertainty",
                "fsu_extrapolation_factor",
                "unit_system",
                "meter_unit",
                "energy_unit",
                "sep_valid",
            ]
        ),
        [
            json!(145164.72),
            json!(2678.26),
            json!(0.0184),
            json!(0.001661),
            json!(1.0),
            json!("ip"),
            json!("kWh"),
            json!("kBtu"),
            json!(true),
        ]
    );
    let saving = one(&rows, MvRule::Savings);
    assert!(
        saving
            .verdict
            .summary
            .starts_with("avoided energy 145,165 kBtu (10.0%) ± 2,678 kBtu"),
        "{}",
        saving.verdict.summary
    );
    let baseline = one(&rows, MvRule::Baseline).verdict.metrics.as_map();
    assert_eq!(
        (&baseline["unit_system"], baseline.get("energy_unit")),
        (&json!("ip"), None)
    );
}

#[test]
fn backcast_and_standard_conditions_project_what_the_reporting_year_taught() {
    let names = [
        "measured",
        "projected",
        "savings",
        "savings_pct",
        "abs_uncertainty",
        "fsu",
        "enpi",
        "enpi_uncertainty",
        "reporting_model",
        "rho",
    ];
    assert_eq!(
        figures(&rows(json!({"method": "backcast"})), names),
        [
            json!(424235.58),
            json!(381788.48),
            json!(42447.11),
            json!(0.1001),
            json!(627.15),
            json!(0.0148),
            json!(0.899944),
            json!(0.00133),
            json!("4P"),
            json!(0.0),
        ]
    );
    let mut year = vec![40.0; 100];
    year.extend([60.0; 100]);
    year.extend([75.0; 165]);
    let standard = json!({"method": "standard_conditions", "normal_year": year});
    assert_eq!(
        figures(&rows(standard.clone()), names),
        [
            json!(null),
            json!(440628.33),
            json!(44068.13),
            json!(0.1),
            json!(820.98),
            json!(0.0186),
            json!(0.899988),
            json!(0.001762),
            json!("4P"),
            json!(null),
        ]
    );
    let mut by_guideline = standard;
    by_guideline["kernel"] = json!("g14");
    assert_eq!(
        figures(
            &rows(by_guideline),
            ["abs_uncertainty", "fsu", "enpi_uncertainty"]
        ),
        [json!(1546.18), json!(0.0351), json!(null)]
    );
}

#[test]
fn a_method_is_proposed_and_no_saving_told() {
    let rows = rows(json!({"method": "auto"}));
    let proposal = one(&rows, MvRule::MethodProposal);
    let metrics = proposal.verdict.metrics.as_map();
    assert_eq!(
        (&metrics["proposed"], &metrics["declined"]),
        (&json!("forecast"), &json!(false))
    );
    assert_eq!(metrics["valid_methods"], json!(["forecast", "backcast"]));
    assert!(told(proposal, "from 0.900 to 0.900"));
    assert!(rows.iter().all(|row| row.rule != MvRule::Savings));
}

#[test]
fn what_cannot_be_told_is_declined_with_its_reason() {
    for (more, baseline, saving) in [
        (
            json!({"period": ["2023-01-01", "2023-02-10"]}),
            "only 41 usable days, fewer than 60",
            "no baseline: only 41 usable days",
        ),
        (
            json!({"role": "energy_rate"}),
            "there is no data of the role energy_rate",
            "no baseline: there is no data",
        ),
        (
            json!({"model": "cp_driver", "drivers": ["airflow"]}),
            "there is no data of the drivers airflow",
            "no baseline: there is no data",
        ),
        (
            json!({"reporting_period": ["2025-06-01", "2025-08-31"]}),
            "",
            "the reporting period has no usable day",
        ),
        (
            json!({"method": "chaining", "period": ["2023-01-01", "2023-03-01"],
                "intermediate_period": ["2023-03-02", "2023-04-30"],
                "reporting_period": ["2024-06-01", "2024-07-30"]}),
            "",
            "severe extrapolation",
        ),
    ] {
        let rows = rows(more);
        let told = |rule| {
            let metrics = &one(&rows, rule).verdict.metrics;
            metrics
                .get("declined_reason")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        assert!(told(MvRule::Baseline).starts_with(baseline));
        let reason = told(MvRule::Savings);
        assert!(reason.contains(saving), "{reason}");
        let row = one(&rows, MvRule::Savings);
        assert!(row.is_declined() && row.severity() == Severity::Info);
    }
}

#[test]
fn a_winter_declines_a_summer_but_tells_what_was_metered() {
    let rows = rows(json!({"period": ["2023-01-01", "2023-04-10"],
        "reporting_period": ["2023-06-01", "2023-08-31"]}));
    assert_eq!(
        figures(
            &rows,
            [
                "declined",
                "avoided_energy",
                "reporting_actual",
                "n_outside",
                "max_beyond_rel",
                "fsu_extrapolation_factor",
                "sep_range_valid",
            ]
        ),
        [
            json!(true),
            json!(null),
            json!(146183.65),
            json!(92),
            json!(1.2299),
            json!(2.2631),
            json!(false),
        ]
    );
    let saving = one(&rows, MvRule::Savings);
    assert!(told(saving, "for information only") && told(saving, "short or gappy"));
    let baseline = one(&rows, MvRule::Baseline);
    assert_eq!(baseline.severity(), Severity::Info);
    assert_eq!(
        baseline.verdict.metrics.get("short_baseline"),
        Some(&json!(true))
    );
}

#[test]
fn days_that_lack_samples_and_odd_weather_are_counted() {
    let mut table = meter().table().clone();
    for (name, hours, value) in [("power", 48..53, f64::NAN), ("oat", 100..110, 999.0)] {
        for hour in hours {
            table.columns.get_mut(name).unwrap()[hour] = value;
        }
    }
    let rows = rows_of(
        &[RunFrame::of_resampled(table, &[])],
        json!({"mv": [entry(json!({}))]}),
    )
    .unwrap();
    let metrics = one(&rows, MvRule::Baseline).verdict.metrics.as_map();
    assert_eq!(
        (
            &metrics["n_days"],
            &metrics["n_days_dropped"],
            &metrics["n_temp_screened"]
        ),
        (&json!(364), &json!(1), &json!(10))
    );
    assert!(told(
        one(&rows, MvRule::Savings),
        "1 days of the baseline were dropped"
    ));
}

#[test]
fn weekdays_stand_beside_the_weather() {
    let mut table = meter().table().clone();
    let stamps = table.stamps.clone();
    let power = table.columns.get_mut("power").unwrap();
    for (value, stamp) in power.iter_mut().zip(stamps) {
        *value += if crate::run_config::mv_drivers::is_weekday(stamp) {
            12.0
        } else {
            0.0
        };
    }
    let frames = [RunFrame::of_resampled(table, &[])];
    let figures_of = |more: Value| {
        let rows = rows_of(&frames, json!({"mv": [entry(more)]})).unwrap();
        let metrics = one(&rows, MvRule::Baseline)
            .verdict
            .metrics
            .as_map()
            .clone();
        (
            metrics["r2"].as_f64().unwrap(),
            metrics.get("model_form").cloned(),
        )
    };
    let (alone, form) = figures_of(json!({}));
    assert!(alone < 0.93 && form.is_none());
    let (beside, form) = figures_of(json!({"model": "cp_driver", "drivers": ["weekday"]}));
    assert!(beside > 0.99);
    assert_eq!(form, Some(json!("cp_driver")));
}

/// A store with one version of the meter's baseline: what it uses below and above 60 °F, and terms beside the temperature.
fn frozen_store(drivers: Value) -> String {
    json!({"schema": 1, "mv_baselines": [{
        "facility_id": "hq", "equip": "M1", "kind": "mv_power",
        "period_start": "2023-01-01", "period_end": "2023-12-31", "frozen_at": "2024-01-02T00:00:00Z",
        "coefficients": {
            "type": "ChangePointDriverModel", "kind": "3PC", "change_points": [60.0], "sse": 100.0,
            "coeffs": {"base": 960.0, "slope": 36.0, "Tc": 60.0}, "driver_names": drivers, "driver_coef": [],
            "fit_record": {"xtx_pinv": [[1e-3, 0.0], [0.0, 1e-3]], "values": [[30.0, 55.0, 80.0]], "rho": 0.0},
        },
        "provenance": {
            "version": 1, "method": "forecast", "fit_frame_sha256": "as frozen",
            "fit_stats": {"n": 365, "p": 2, "r2": 0.9, "adj_r2": 0.9, "rmse": 10.0, "cv_rmse": 0.1, "nmbe": 0.009,
                "f_stat": 100.0, "accept": false},
        },
    }]})
    .to_string()
}

#[test]
fn a_frozen_baseline_whose_rows_changed_is_judged_by_what_they_say_now() {
    let frames = [meter()];
    let equip = frames[0].whole().equip().to_owned();
    let against = |digest: &'static str, drivers: Value| {
        let content = json!({ "mv": [entry(json!({}))] });
        let config = RunConfig::read(content.as_object().unwrap().clone(), &NoFiles).unwrap();
        let text = frozen_store(drivers).replace("M1", &equip);
        let sources = Sources {
            site: SiteDays::WITHOUT_ZONE,
            weather: &|_| Err("there is no outdoor temperature".to_owned()),
            frozen: Some(Frozen {
                text: &text,
                places: &["hq"],
                digest: &|_| digest.to_owned(),
            }),
        };
        findings(&config.mv_entries().unwrap(), &frames, sources).unwrap()
    };
    let told_of = |digest| {
        let rows = against(digest, json!([]));
        let metrics = one(&rows, MvRule::Baseline)
            .verdict
            .metrics
            .as_map()
            .clone();
        ["accept", "r2", "baseline_data_changed"].map(|name| metrics[name].clone())
    };
    assert_eq!(
        told_of("as frozen"),
        [json!(false), json!(0.9), json!(false)]
    );
    let [accepted, r2, changed] = told_of("other rows");
    assert_eq!((accepted, changed), (json!(true), json!(true)));
    assert!(r2.as_f64().unwrap() > 0.99);
    // What the model knows of a day must be known of every day.
    let rows = against("as frozen", json!(["weekday"]));
    let [declined] = &rows[..] else {
        panic!("one row");
    };
    assert!(declined.is_declined());
    assert!(told(declined, "knows weekday beside the temperature"));
}

#[test]
fn a_class_without_equipment_gives_no_row_and_several_meters_give_theirs() {
    assert!(rows(json!({"class": "BTU"})).is_empty());
    let mut other = meter().table().clone();
    other.equip = "METER-0".to_owned();
    let frames = [meter(), RunFrame::of_resampled(other, &[])];
    let both = json!({"mv": [entry(json!({})), entry(json!({"kernel": "exact"}))]});
    let ids: Vec<String> = rows_of(&frames, both)
        .unwrap()
        .into_iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(
        ids,
        [
            "mv_savings@METER-0",
            "mv_savings@METER-0#2",
            "mv_savings@METER-1",
            "mv_savings@METER-1#2",
            "mv_baseline@METER-0",
            "mv_baseline@METER-0#2",
            "mv_baseline@METER-1",
            "mv_baseline@METER-1#2",
        ]
    );
}

#[test]
fn a_period_of_two_days_is_refused_and_not_declined() {
    let error = rows_of(
        &[meter()],
        json!({"mv": [entry(json!({"min_days": 1, "period": ["2023-01-01", "2023-01-02"]}))]}),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.starts_with("mv[0]: no model can be fitted to the 2 days"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_trend_makes_a_project_panic_and_no_figure_is_infinite(
        oat in prop::collection::vec(select(vec![f64::NAN, f64::INFINITY, -1e300, -40.0, 20.0, 55.0, 61.5, 80.0, 1e300]), 96),
        power in prop::collection::vec(select(vec![f64::NAN, f64::NEG_INFINITY, 1e300, 5e-324, 0.0, 1.0, 40.0, -3.0]), 96),
        hours in prop::collection::vec(0_i64..500, 96),
        method in select(vec!["forecast", "backcast", "standard_conditions", "chaining", "auto"]),
        drivers in any::<bool>(),
    ) {
        let mut stamps: Vec<i64> = hours.iter().map(|hour| since_2023(0) + hour * HOUR).collect();
        stamps.sort_unstable();
        stamps.dedup();
        let rows = stamps.len();
        let table = RoleFrame {
            equip: "M".to_owned(),
            equip_class: "METER".to_owned(),
            stamps,
            columns: [
                ("oat".to_owned(), oat[..rows].to_vec()),
                ("power".to_owned(), power[..rows].to_vec()),
                ("airflow".to_owned(), power[..rows].to_vec()),
            ].into(),
        };
        let mut asked = entry(json!({"method": method, "min_days": 1, "min_coverage": 0,
            "period": ["2023-01-01", "2023-01-07"], "intermediate_period": ["2023-01-08", "2023-01-14"],
            "reporting_period": ["2023-01-15", "2023-01-21"], "normal_year": [40, 60, 80], "validity": "both"}));
        if drivers && !matches!(method, "auto" | "standard_conditions") {
            asked["model"] = json!("cp_driver");
            asked["drivers"] = json!(["weekday", "airflow"]);
        }
        if let Ok(found) = rows_of(&[RunFrame::of_resampled(table, &[])], json!({"mv": [asked]})) {
            for row in found {
                for value in row.verdict.metrics.as_map().values() {
                    prop_assert!(value.as_f64().is_none_or(f64::is_finite));
                }
            }
        }
    }
}
