use super::*;
use crate::knowledge::camber_roles::{camber_role_named, camber_roles};

fn role(slug: &str) -> &'static CamberRole {
    camber_role_named(slug).expect("a role")
}

fn station(slug: &str, unit: &str, value: f64) -> Option<f64> {
    let unit = unit_by_name(unit).expect("a unit");
    let conversion = station_unit(role(slug), Some(unit)).ok()?;
    Some(conversion.apply(value))
}

#[test]
fn the_listed_conversions_are_those_of_the_store_to_the_last_bit() {
    for (slug, unit, value, expected) in [
        ("supply_air_temp", "celsius", 21.0, 21.0 * 9.0 / 5.0 + 32.0),
        (
            "supply_air_temp",
            "kelvin",
            300.0,
            (300.0 - 273.15) * 9.0 / 5.0 + 32.0,
        ),
        ("superheat_temp", "celsius", 5.0, 9.0),
        ("superheat_temp", "kelvin", 5.0, 9.0),
        ("superheat_temp", "fahrenheit", 5.0, 5.0),
        (
            "airflow",
            "liters_per_second",
            100.0,
            100.0 * 2.118_879_972_759_7,
        ),
        (
            "airflow",
            "cubic_meters_per_hour",
            100.0,
            100.0 * 0.588_577_770_211_02,
        ),
        ("airflow", "cubic_feet_per_minute", 812.5, 812.5),
        ("duct_static", "pascal", 249.088_91, 1.0),
        ("duct_static", "kilopascal", 1.0, 1000.0 / 249.088_91),
        ("power", "watt", 1500.0, 1.5),
        ("oa_damper", "ratio", 0.25, 25.0),
        ("outdoor_rh", "percent_relative_humidity", 40.0, 40.0),
        ("co2", "parts_per_billion", 400_000.0, 400.0),
    ] {
        assert_eq!(station(slug, unit, value), Some(expected), "{slug} {unit}");
    }
}

#[test]
fn other_units_of_the_quantity_convert_by_their_definitions() {
    for (slug, unit, value, expected) in [
        ("hw_diff_press", "kilopascal", 100.0, 14.503_77),
        ("chw_flow", "liters_per_second", 1.0, 15.850_32),
        ("gas_input_rate", "kilobtus_per_hour", 100.0, 29.307_1),
        ("energy_rate", "kilowatt", 10.0, 34.121_4),
        ("oat", "rankine", 519.67, 60.0),
    ] {
        let found = station(slug, unit, value).expect("converts");
        assert!((found - expected).abs() < 1e-3, "{slug} {unit}: {found}");
    }
}

#[test]
fn a_missing_unknown_or_contradictory_unit_is_refused_with_a_remedy() {
    let oat = role("oat");
    let error = station_unit(oat, None).expect_err("no unit").to_string();
    assert!(
        error.contains("oat is stored in degF") && error.contains("facets"),
        "{error}"
    );
    let misspelt = Unit::unknown("farenheit");
    let error = station_unit(oat, Some(&misspelt))
        .expect_err("unknown")
        .to_string();
    assert!(error.contains("farenheit"), "{error}");
    for (slug, unit) in [
        ("oat", "kilowatt"),
        ("oat", "fahrenheit_degrees"),
        ("oa_damper", "parts_per_million"),
        ("co2", "percent"),
        ("airflow", "pascal"),
        ("heat_stage", "celsius"),
    ] {
        assert_eq!(station(slug, unit, 1.0), None, "{slug} {unit}");
    }
    let redefined: Unit = "celsius;°C;(K);*2.0+273.15;".parse().expect("a unit");
    assert!(matches!(
        station_unit(oat, Some(&redefined)),
        Err(UnitProblem::Redefined { .. })
    ));
    let rounded: Unit = "fahrenheit;°F;(K);*0.55556+255.37;"
        .parse()
        .expect("a unit");
    assert_eq!(station_unit(oat, Some(&rounded)), Ok(Conversion::Same));
}

#[test]
fn history_and_point_must_agree() {
    let (celsius, fahrenheit) = (unit_by_name("celsius"), unit_by_name("fahrenheit"));
    assert_eq!(agreed(celsius, None), Ok(celsius));
    assert_eq!(agreed(None, fahrenheit), Ok(fahrenheit));
    assert_eq!(agreed(celsius, celsius), Ok(celsius));
    assert_eq!(agreed(Some(&Unit::null()), celsius), Ok(celsius));
    let error = agreed(celsius, fahrenheit)
        .expect_err("two units")
        .to_string();
    assert!(
        error.contains("celsius") && error.contains("fahrenheit"),
        "{error}"
    );
}

#[test]
fn files_name_units_in_any_case_and_may_leave_them_out() {
    for (slug, text, value, expected) in [
        ("supply_air_temp", "°C", 21.0, 69.8),
        ("supply_air_temp", "", 21.0, 21.0),
        ("airflow", "LPS", 100.0, 100.0 * 2.118_879_972_759_7),
        ("suction_pressure", "psia", 100.0, 85.304),
        ("heat_valve", "Fraction", 0.5, 50.0),
        ("supply_fan_status", "whatever", 3.0, 1.0),
        ("chw_flow", "gpm", 12.0, 12.0),
    ] {
        let conversion = file_unit(role(slug), text).expect("a unit");
        assert_eq!(conversion.apply(value), expected, "{slug} {text}");
    }
    assert!(file_unit(role("airflow"), "parsec").is_err());
}

#[test]
fn every_role_has_a_unit_that_needs_no_conversion() {
    for role in camber_roles() {
        let word = role.unit.split([' ', '(']).next().unwrap_or_default();
        let word = match word {
            "0/1" | "count" | "stage" => "",
            "kBtu/h" => "kilobtus_per_hour",
            word => word,
        };
        let expected = if role.status {
            Conversion::OnOff
        } else {
            Conversion::Same
        };
        assert_eq!(file_unit(role, word), Ok(expected), "{}", role.role);
    }
}
