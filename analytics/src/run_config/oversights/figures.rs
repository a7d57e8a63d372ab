//! Figures of a report that are used as they are, and are hardly those that were meant: shares in percent, cents for
//! dollars, more hours than a year has.

use super::Oversight;
use crate::run_config::ReportOptions;

const HOURS_OF_YEAR: f64 = 8784.0;
/// No machine that moves heat does better.
const BEST_COP: f64 = 15.0;
/// Dollars; above it the price was given in cents.
const DEAREST_KWH: f64 = 2.0;
const DEAREST_THERM: f64 = 20.0;

/// Assumptions that are shares of a whole.
const SHARES: [&str; 6] = [
    "boiler_efficiency",
    "chiller_load_factor",
    "fan_excess_frac",
    "pump_excess_frac",
    "reheat_diversity",
    "reset_fan_excess_frac",
];

/// What the options of a report say that can hardly be.
pub(super) fn of_report(options: &ReportOptions) -> Vec<Oversight> {
    let mut found = Vec::new();
    let mut say = |place: String, problem: String| {
        found.push(Oversight::new(
            place,
            format!("{problem}; it is used as it is"),
        ));
    };
    for parameter in options.cost.all() {
        let place = || format!("report.rcx.cost_params.{}", parameter.name);
        let value = parameter.value;
        if SHARES.contains(&parameter.name) && value > 1.0 {
            say(
                place(),
                format!("{value} is no share from 0 to 1 (90 % is 0.9)"),
            );
        }
        if parameter.name == "cool_cop" && value > BEST_COP {
            say(
                place(),
                format!("{value} is no coefficient of performance that a machine has"),
            );
        }
    }
    for (key, dollars, dearest) in [
        (
            "electricity",
            options.price.electricity_per_kwh,
            DEAREST_KWH,
        ),
        ("gas", options.price.gas_per_therm, DEAREST_THERM),
    ] {
        let unit = if key == "gas" { "therm" } else { "kWh" };
        if dollars > dearest {
            say(
                format!("report price of {key}"),
                format!(
                    "{dollars:.2} $ a {unit} is hardly a price; prices are in dollars, not cents"
                ),
            );
        }
    }
    for (equip, load) in &options.loads {
        let place = |key: &str| format!("report loads.{equip}.{key}");
        if let Some(hours) = load.annual_hours.filter(|hours| *hours > HOURS_OF_YEAR) {
            say(
                place("annual_hours"),
                format!("{hours} are more hours than a year has (8760)"),
            );
        }
        if let Some(cop) = load.heat_pump_cop.filter(|cop| *cop > BEST_COP) {
            say(
                place("heat_pump_cop"),
                format!("{cop} is no coefficient of performance that a machine has"),
            );
        }
    }
    let hours = &options.occupancy;
    if hours.end_hour <= hours.start_hour || hours.days.is_empty() {
        say(
            "report.rcx.occupancy".to_owned(),
            format!(
                "from hour {} to hour {} on {} days of the week nobody is ever there (end_hour lies after start_hour, days are 0 \
                 to 6)",
                hours.start_hour,
                hours.end_hour,
                hours.days.len()
            ),
        );
    }
    found
}
