//! Units of meters, and of the energy that is reported (M&V §6.5).

use super::section::{ConfigError, Section};
use super::site::{GasRegion, UnitBlock, UnitSystem};

/// kBtu of a kWh, by the international table.
pub const KBTU_PER_KWH: f64 = 3.412_141_633_1;
/// Cubic feet of a cubic metre.
const CUBIC_FEET_PER_CUBIC_METRE: f64 = 35.314_666_721_488_59;

/// Rates that a meter may be trended in: names, the energy of an hour of it, and that energy in kBtu.
const POWERS: [(&[&str], &str, f64); 7] = [
    (&["w"], "Wh", KBTU_PER_KWH / 1_000.0),
    (&["kw"], "kWh", KBTU_PER_KWH),
    (&["mw"], "MWh", KBTU_PER_KWH * 1_000.0),
    (&["btu/h"], "Btu", 0.001),
    (&["kbtu/h", "mbh"], "kBtu", 1.0),
    (&["mmbtu/h"], "MMBtu", 1_000.0),
    (&["ton", "tons"], "ton-hour", 12.0),
];

/// Volume flows of gas: names, the volume of an hour of it, and that volume in cubic feet.
const FLOWS: [(&[&str], &str, f64); 4] = [
    (&["cfh", "ft3/h"], "ft3", 1.0),
    (&["ccf/h"], "CCF", 100.0),
    (&["mcf/h"], "Mcf", 1_000.0),
    (&["m3/h"], "m3", CUBIC_FEET_PER_CUBIC_METRE),
];

/// Energies of a heat content, in kBtu.
pub(super) const ENERGIES: [(&str, f64); 12] = [
    ("wh", KBTU_PER_KWH / 1_000.0),
    ("kwh", KBTU_PER_KWH),
    ("mwh", KBTU_PER_KWH * 1_000.0),
    ("gwh", KBTU_PER_KWH * 1_000_000.0),
    ("btu", 0.001),
    ("kbtu", 1.0),
    ("mmbtu", 1_000.0),
    ("therm", 100.0),
    ("ton-hour", 12.0),
    ("kj", KBTU_PER_KWH / 3_600.0),
    ("mj", KBTU_PER_KWH / 3.6),
    ("gj", KBTU_PER_KWH * 1_000.0 / 3.6),
];

/// Volumes of a heat content, in cubic feet.
pub(super) const VOLUMES: [(&[&str], f64); 4] = [
    (&["ft3", "ft³", "cf", "scf"], 1.0),
    (&["ccf"], 100.0),
    (&["mcf"], 1_000.0),
    (&["m3", "m³"], CUBIC_FEET_PER_CUBIC_METRE),
];

/// Heat of natural gas by the factor set `energy_star_thermal_2015`, kBtu per ft3, CCF, Mcf and m3; its Canadian figures are
/// rounded each for itself.
const ENERGY_STAR_GAS: [(GasRegion, [(&str, f64); 4]); 2] = [
    (
        GasRegion::UnitedStates,
        [
            ("ft3", 1.026),
            ("CCF", 102.6),
            ("Mcf", 1_026.0),
            ("m3", 36.303),
        ],
    ),
    (
        GasRegion::Canada,
        [
            ("ft3", 1.031),
            ("CCF", 103.143),
            ("Mcf", 1_031.0),
            ("m3", 36.425),
        ],
    ),
];

/// The energy that a meter counts, and what one of it is in the units of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct MeterUnit {
    /// Energy, or volume of gas, of an hour of the rate: `kWh`, `ft3`.
    pub energy: &'static str,
    /// What the report is written in; none when the configuration has no `units` block.
    pub report: Option<ReportUnit>,
}

/// Energies as the report writes them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportUnit {
    pub system: UnitSystem,
    /// By what the meter's energy is multiplied.
    pub factor: f64,
}

impl UnitSystem {
    /// The word in a configuration and on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Si => "si",
        }
    }

    /// The unit of energy.
    pub const fn energy(self) -> &'static str {
        match self {
            Self::Ip => "kBtu",
            Self::Si => "kWh",
        }
    }

    /// By what kBtu are multiplied.
    pub const fn of_kbtu(self) -> f64 {
        match self {
            Self::Ip => 1.0,
            Self::Si => 1.0 / KBTU_PER_KWH,
        }
    }
}

impl MeterUnit {
    /// Reads `units`, `heat_content` and `meter_type` of an entry; none when the entry names no unit.
    ///
    /// # Errors
    /// A unit is unknown, gas has no heat content, or the configuration's `units` block needs a unit that is missing.
    pub fn read(
        section: &Section<'_>,
        units: Option<&UnitBlock>,
    ) -> Result<Option<Self>, ConfigError> {
        let text = section.text("units")?;
        let name = text.map(str::to_lowercase).unwrap_or_default();
        let flow = FLOWS
            .iter()
            .find(|(names, _, _)| names.contains(&name.as_str()));
        let heat = match section.text("heat_content")? {
            Some(text) => Some(
                heat_content(text).map_err(|problem| section.refuse("heat_content", problem))?,
            ),
            None => None,
        };
        let meter_type = section.text("meter_type")?;
        if flow.is_none() {
            for (key, is_there) in [
                ("heat_content", heat.is_some()),
                ("meter_type", meter_type.is_some()),
            ] {
                if is_there {
                    return Err(section.refuse(
                        key,
                        "it is for gas that is trended as a volume flow: give units as cfh, CCF/h, Mcf/h or m3/h",
                    ));
                }
            }
        }
        let region = units.and_then(|block| block.gas_region);
        if let Some(kind) = meter_type {
            if region.is_none() {
                return Err(section.refuse("meter_type", "it needs units.factor_set"));
            }
            if kind != "natural_gas" {
                return Err(section.refuse(
                    "meter_type",
                    format!("there is no heat of {kind:?} by volume; known is natural_gas"),
                ));
            }
        }
        if text.is_none() {
            return match units {
                None => Ok(None),
                Some(block) => Err(section.refuse(
                    "units",
                    format!(
                        "the configuration's units are {}, so that the entry must name the unit of its meter's rate, such \
                         as \"kW\"",
                        block.system.word()
                    ),
                )),
            };
        }
        let (energy, kbtu) = match flow {
            Some((_, volume, cubic_feet)) => {
                let heat = heat
                    .map(|heat| heat * cubic_feet)
                    .or_else(|| gas_heat(region?, volume));
                (*volume, heat)
            }
            None => POWERS
                .iter()
                .find(|(names, _, _)| names.contains(&name.as_str()))
                .map(|(_, energy, kbtu)| (*energy, Some(*kbtu)))
                .ok_or_else(|| unknown_rate(section, text.unwrap_or_default()))?,
        };
        let report = match (units, kbtu) {
            (None, _) => None,
            (Some(block), Some(kbtu)) => Some(ReportUnit {
                system: block.system,
                factor: kbtu * block.system.of_kbtu(),
            }),
            (Some(_), None) => {
                return Err(section.refuse(
                    "heat_content",
                    "a volume of gas needs it, such as \"1037 Btu/ft3\", or units.factor_set; there is no default",
                ));
            }
        };
        Ok(Some(Self { energy, report }))
    }
}

fn unknown_rate(section: &Section<'_>, name: &str) -> ConfigError {
    section.refuse(
        "units",
        format!(
            "{name:?} is no rate of a meter; known are W, kW, MW, Btu/h, kBtu/h, MBH, MMBtu/h, tons, cfh, CCF/h, Mcf/h, m3/h"
        ),
    )
}

/// Heat of one volume of natural gas, kBtu.
pub(super) fn gas_heat(region: GasRegion, volume: &str) -> Option<f64> {
    let (_, heats) = ENERGY_STAR_GAS.into_iter().find(|(of, _)| *of == region)?;
    let heat = heats.into_iter().find(|(of, _)| *of == volume);
    heat.map(|(_, kbtu)| kbtu)
}

/// Reads `1037 Btu/ft3` as kBtu per cubic foot.
///
/// # Errors
/// It has another form, an unknown unit, or is not positive; the problem for people.
pub fn heat_content(text: &str) -> Result<f64, String> {
    let unreadable = || format!("{text:?} is no heat content, such as 1037 Btu/ft3");
    let text_end = text
        .find(|letter: char| letter.is_alphabetic() && !matches!(letter, 'e' | 'E'))
        .ok_or_else(unreadable)?;
    let (number, unit) = text.split_at(text_end);
    let number: f64 = number
        .trim()
        .replace(',', "")
        .parse()
        .map_err(|_| unreadable())?;
    let (energy, volume) = unit.split_once('/').ok_or_else(unreadable)?;
    let (energy, volume) = (energy.trim().to_lowercase(), volume.trim().to_lowercase());
    if !(number > 0.0 && number.is_finite()) {
        return Err(format!("it is {number}; it must be a positive number"));
    }
    let kbtu = ENERGIES
        .iter()
        .find(|(name, _)| *name == energy)
        .ok_or_else(|| format!("{energy:?} is no energy, such as Btu, kWh, therm or MJ"))?;
    let cubic_feet = VOLUMES
        .iter()
        .find(|(names, _)| names.contains(&volume.as_str()))
        .ok_or_else(|| format!("{volume:?} is no volume, such as ft3, CCF, Mcf or m3"))?;
    Ok(number * kbtu.1 / cubic_feet.1)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::numeric::round;

    fn read(entry: Value, units: Value) -> Result<Option<MeterUnit>, String> {
        let root = json!({ "units": units });
        let block = super::super::site::units(&Section::root(root.as_object().unwrap()))
            .map_err(|error| error.to_string())?;
        Section::of(&entry, "mv[0]")
            .and_then(|section| MeterUnit::read(&section, block.as_ref()))
            .map_err(|error| error.to_string())
    }

    fn factor(entry: Value, units: Value) -> f64 {
        let report = read(entry, units).unwrap().unwrap().report.unwrap();
        round(report.factor * 42_543.58, 2)
    }

    /// Figures that the reference answers for an energy of 42,543.58.
    #[test]
    fn every_rate_becomes_the_energy_of_the_report() {
        let ip = || json!("ip");
        for (unit, energy) in [
            ("W", 145.16),
            ("kW", 145_164.72),
            ("MW", 145_164_720.54),
            ("Btu/h", 42.54),
            ("MBH", 42_543.58),
            ("MMBtu/h", 42_543_580.0),
            ("tons", 510_522.96),
        ] {
            assert_eq!(factor(json!({ "units": unit }), ip()), energy, "{unit}");
        }
        assert_eq!(factor(json!({"units": "ton"}), json!("si")), 149_619.51);
        assert_eq!(factor(json!({"units": "kw"}), json!("si")), 42_543.58);
        for (unit, heat, system, energy) in [
            ("cfh", "1037 Btu/ft3", "ip", 44_117.69),
            ("cfh", "38 MJ/m3", "ip", 43_389.74),
            ("cfh", "1.03 therm/CCF", "ip", 43_819.89),
            ("cfh", "10.5kWh/m3", "ip", 43_161.37),
            ("Mcf/h", "1 GJ/m3", "si", 334_638_896.76),
            ("m3/h", "10 kWh/ccf", "si", 150_241.23),
            ("m3/h", "1e1 kWh/m3", "si", 425_435.8),
            ("m3/h", "1 ton-hour/m3", "si", 149_619.51),
        ] {
            let entry = json!({"units": unit, "heat_content": heat});
            assert_eq!(factor(entry, json!(system)), energy, "{heat}");
        }
        for (unit, region, energy) in [
            ("cfh", "US", 43_649.71),
            ("m3/h", "US", 1_544_459.58),
            ("cfh", "CA", 43_862.43),
            ("m3/h", "CA", 1_549_649.9),
            ("CCF/h", "US", 4_364_971.31),
            ("CCF/h", "CA", 4_388_072.47),
        ] {
            let units =
                json!({"system": "ip", "factor_set": "energy_star_thermal_2015", "region": region});
            assert_eq!(factor(json!({ "units": unit }), units), energy, "{unit}");
        }
    }

    #[test]
    fn units_that_make_no_sense_are_refused() {
        for (entry, units, told) in [
            (json!({}), json!("ip"), "mv[0].units"),
            (json!({"units": "therm/h"}), json!(null), "no rate"),
            (json!({"units": "cfh"}), json!("ip"), "mv[0].heat_content"),
            (
                json!({"units": "kW", "heat_content": "1037 Btu/ft3"}),
                json!("ip"),
                "volume flow",
            ),
            (
                json!({"units": "cfh", "heat_content": "1037 Btu/lb"}),
                json!("ip"),
                "no volume",
            ),
            (
                json!({"units": "cfh", "heat_content": "x"}),
                json!("ip"),
                "such as 1037",
            ),
            (
                json!({"units": "cfh", "heat_content": "-5 Btu/ft3"}),
                json!("ip"),
                "positive",
            ),
            (
                json!({"units": "cfh", "meter_type": "x"}),
                json!("ip"),
                "factor_set",
            ),
            (
                json!({"units": "kW"}),
                json!({"area": "m2"}),
                "units.system",
            ),
            (
                json!({"units": "kW"}),
                json!({"system": "si", "area": "x"}),
                "units.area",
            ),
        ] {
            let refused = read(entry, units).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        assert_eq!(read(json!({}), json!(null)), Ok(None));
        assert_eq!(
            read(json!({"units": "kW"}), json!(null))
                .unwrap()
                .unwrap()
                .report,
            None
        );
    }
}
