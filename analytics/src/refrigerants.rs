//! Saturation of refrigerants, and what equipment that trends pressures tells by it (Plant rules §1.7; Engine §4.2).

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::frame::RoleFrame;
use crate::masks;
use crate::tables;

const CURVES: &str = include_str!("../../knowledge/camber/refrigerants.json");

static TABLE: LazyLock<Table> = LazyLock::new(|| tables::table(CURVES));

#[derive(Debug, Default, Deserialize)]
struct Table {
    standard_atm_psia: f64,
    psi_per_kpa: f64,
    bisection_iterations: u32,
    /// Other names, as they are compared.
    aliases: HashMap<String, String>,
    fluids: BTreeMap<String, Refrigerant>,
}

/// One refrigerant. Temperatures are °F, pressures psi above the standard atmosphere.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Refrigerant {
    /// Critical temperature, K.
    tc_k: f64,
    /// Critical pressure, kPa.
    pc_kpa: f64,
    /// Lowest temperature of the curves, K.
    tmin_k: f64,
    bubble: Curve,
    dew: Curve,
}

/// ln(p/pc) = Tc/T · Σ nᵢ·(1 − T/Tc)^tᵢ.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Curve {
    n: Vec<f64>,
    t: Vec<f64>,
}

impl Curve {
    fn reduced_pressure_log(&self, kelvin: f64, critical: f64) -> f64 {
        let distance = 1.0 - kelvin / critical;
        let terms = self.n.iter().zip(&self.t);
        critical / kelvin * terms.map(|(n, t)| n * distance.powf(*t)).sum::<f64>()
    }
}

/// Letters and digits in upper case, with the R that a bare number lacks.
fn plain(name: &str) -> String {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_uppercase())
        .collect();
    match plain.starts_with('R') || TABLE.aliases.contains_key(&plain) {
        true => plain,
        false => format!("R{plain}"),
    }
}

/// The refrigerant of a name, with its usual spelling: "r410a", "410A", "CO2".
///
/// ```
/// use niagara_analytics::refrigerants::named;
/// assert_eq!(named("r 410a").unwrap().0, "R-410A");
/// assert_eq!(named("CO2").unwrap().0, "R-744");
/// assert!(named("R-9").is_none());
/// ```
pub fn named(name: &str) -> Option<(&'static str, &'static Refrigerant)> {
    let wanted = plain(name);
    let wanted = TABLE
        .aliases
        .get(&wanted)
        .map_or(wanted, |alias| plain(alias));
    TABLE
        .fluids
        .iter()
        .find(|(known, _)| plain(known) == wanted)
        .map(|(known, fluid)| (known.as_str(), fluid))
}

/// All refrigerants whose curves are known, by name.
pub fn names() -> Vec<&'static str> {
    TABLE.fluids.keys().map(String::as_str).collect()
}

impl Refrigerant {
    /// Temperature at which liquid of that pressure begins to boil; NaN outside of the curve.
    ///
    /// ```
    /// use niagara_analytics::{numeric::round, refrigerants::named};
    /// let (_, r410a) = named("R-410A").unwrap();
    /// assert_eq!(round(r410a.bubble_temperature(118.0), 4), 39.6533);
    /// assert_eq!(round(r410a.dew_temperature(118.0), 4), 39.8429);
    /// assert!(r410a.dew_temperature(1100.0).is_nan());
    /// ```
    pub fn bubble_temperature(&self, psig: f64) -> f64 {
        self.temperature(&self.bubble, psig)
    }

    /// Temperature at which vapour of that pressure begins to condense; NaN outside of the curve.
    pub fn dew_temperature(&self, psig: f64) -> f64 {
        self.temperature(&self.dew, psig)
    }

    /// Pressure at which liquid of that temperature boils; NaN outside of the curve.
    pub fn bubble_pressure(&self, temperature_f: f64) -> f64 {
        self.pressure(&self.bubble, temperature_f)
    }

    /// Pressure at which vapour of that temperature condenses; NaN outside of the curve.
    pub fn dew_pressure(&self, temperature_f: f64) -> f64 {
        self.pressure(&self.dew, temperature_f)
    }

    fn temperature(&self, curve: &Curve, psig: f64) -> f64 {
        let kpa = (psig + TABLE.standard_atm_psia) / TABLE.psi_per_kpa;
        let wanted = (kpa / self.pc_kpa).ln();
        let log_at = |kelvin: f64| curve.reduced_pressure_log(kelvin, self.tc_k);
        // False for NaN too.
        if !(wanted >= log_at(self.tmin_k) && kpa < self.pc_kpa) {
            return f64::NAN;
        }
        let (mut low, mut high) = (self.tmin_k, self.tc_k);
        for _ in 0..TABLE.bisection_iterations {
            let middle = f64::midpoint(low, high);
            if log_at(middle) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        (f64::midpoint(low, high) - 273.15) * 1.8 + 32.0
    }

    fn pressure(&self, curve: &Curve, temperature_f: f64) -> f64 {
        let kelvin = (temperature_f - 32.0) / 1.8 + 273.15;
        if !(self.tmin_k..=self.tc_k).contains(&kelvin) {
            return f64::NAN;
        }
        let kpa = self.pc_kpa * curve.reduced_pressure_log(kelvin, self.tc_k).exp();
        kpa * TABLE.psi_per_kpa - TABLE.standard_atm_psia
    }
}

/// What a role that is derived from a pressure and a temperature is.
struct Derivation {
    role: &'static str,
    /// The first one that is trended.
    pressures: &'static [&'static str],
    temperature: &'static str,
    value: fn(&Refrigerant, f64, f64) -> f64,
}

const DERIVATIONS: [Derivation; 5] = [
    Derivation {
        role: "subcooling_temp",
        pressures: &["liquid_line_pressure", "discharge_pressure"],
        temperature: "liquid_line_temp",
        value: |fluid, pressure, line| fluid.bubble_temperature(pressure) - line,
    },
    Derivation {
        role: "superheat_temp",
        pressures: &["suction_pressure"],
        temperature: "suction_line_temp",
        value: |fluid, pressure, line| line - fluid.dew_temperature(pressure),
    },
    Derivation {
        role: "discharge_superheat_temp",
        pressures: &["discharge_pressure"],
        temperature: "discharge_line_temp",
        value: |fluid, pressure, line| line - fluid.dew_temperature(pressure),
    },
    Derivation {
        role: "cond_approach_temp",
        pressures: &["discharge_pressure"],
        temperature: "cw_return_temp",
        value: |fluid, pressure, water| fluid.dew_temperature(pressure) - water,
    },
    Derivation {
        role: "evap_approach_temp",
        pressures: &["suction_pressure"],
        temperature: "chw_supply_temp",
        value: |fluid, pressure, water| water - fluid.dew_temperature(pressure),
    },
];

/// Adds the roles that the pressures of an equipment tell and that it does not store itself: subcooling, superheats and
/// approaches. To be done on the stored rows, before they are resampled.
pub fn derive_roles(frame: &mut RoleFrame, fluid: &Refrigerant) {
    for derivation in &DERIVATIONS {
        if frame.columns.contains_key(derivation.role) {
            continue;
        }
        let pressure = derivation
            .pressures
            .iter()
            .find_map(|role| frame.column(role));
        let (Some(pressure), Some(temperature)) = (pressure, frame.column(derivation.temperature))
        else {
            continue;
        };
        let values = masks::paired(pressure, temperature, |pressure, temperature| {
            (derivation.value)(fluid, pressure, temperature)
        });
        frame.columns.insert(derivation.role.to_owned(), values);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::numeric::round;

    fn fluid(name: &str) -> &'static Refrigerant {
        named(name).unwrap().1
    }

    #[test]
    fn every_check_value_of_the_table_is_met() {
        let table: Value = serde_json::from_str(CURVES).unwrap();
        let checks = table["checks"].as_array().unwrap();
        assert!(checks.len() > 50);
        for check in checks {
            let fluid = fluid(check["fluid"].as_str().unwrap());
            let same = |ours: f64, name: &str| match check[name].as_f64() {
                Some(known) => assert_eq!(round(ours, 4), known, "{name} of {check}"),
                None => assert!(ours.is_nan(), "{name} of {check} is {ours}"),
            };
            if let Some(psig) = check.get("psig").and_then(Value::as_f64) {
                same(fluid.bubble_temperature(psig), "bubble_f");
                same(fluid.dew_temperature(psig), "dew_f");
            } else {
                let temperature = check["temp_f"].as_f64().unwrap();
                same(fluid.bubble_pressure(temperature), "psig_bubble");
                same(fluid.dew_pressure(temperature), "psig_dew");
            }
        }
        for missing in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -20.0] {
            assert!(fluid("R-22").dew_temperature(missing).is_nan());
            assert!(fluid("R-22").dew_pressure(missing * 1e6).is_nan());
        }
    }

    #[test]
    fn names_are_known_in_every_spelling() {
        for (spelled, known) in [
            ("R410A", "R-410A"),
            ("134a", "R-134a"),
            ("carbon dioxide", "R-744"),
            ("r-22", "R-22"),
        ] {
            assert_eq!(named(spelled).map(|found| found.0), Some(known));
        }
        assert!(named("").is_none() && named("R-1234yf").is_none());
        assert_eq!(names().len(), 5);
    }

    #[test]
    fn pressures_tell_subcooling_and_superheat_unless_they_are_trended() {
        let column = |role: &str, value: f64| (role.to_owned(), vec![value, f64::NAN]);
        let mut frame = RoleFrame {
            stamps: vec![0, 1],
            columns: [
                column("discharge_pressure", 340.0),
                column("liquid_line_temp", 95.0),
                column("suction_pressure", 118.0),
                column("suction_line_temp", 52.0),
                column("cw_return_temp", 100.0),
                column("evap_approach_temp", 3.0),
                column("chw_supply_temp", 45.0),
            ]
            .into(),
            ..RoleFrame::default()
        };
        derive_roles(&mut frame, fluid("R-410A"));
        let first = |role: &str| round(frame.column(role).unwrap()[0], 2);
        assert_eq!(first("subcooling_temp"), 9.61);
        assert_eq!(first("superheat_temp"), 12.16);
        assert_eq!(first("cond_approach_temp"), 4.82);
        assert_eq!(first("evap_approach_temp"), 3.0);
        assert!(frame.column("subcooling_temp").unwrap()[1].is_nan());
        assert!(frame.column("discharge_superheat_temp").is_none());
    }
}
