//! Units of bills, and of prices, which are per unit of a bill (M&V §6.5, §8).

use super::mv_units::{ENERGIES, MeterUnit, ReportUnit, VOLUMES, gas_heat, heat_content};
use super::section::{ConfigError, Section};
use super::site::{GasRegion, UnitBlock};
use crate::mv::unit_scale::Fuel;

/// Units of billed energy as findings write them.
const BILLED: [&str; 19] = [
    "kWh", "MWh", "GWh", "Wh", "Btu", "kBtu", "MMBtu", "therm", "ton-hour", "kJ", "MJ", "GJ",
    "ft3", "CCF", "Mcf", "m3", "lb", "klb", "kg",
];
/// Masses of steam, in pounds.
const MASSES: [(&str, f64); 3] = [("lb", 1.0), ("klb", 1_000.0), ("kg", 1.0 / 0.453_592_37)];

impl MeterUnit {
    /// The unit of bills, with `heat_content`, `enthalpy` and `meter_type`; none without a `units` block, where bills may be
    /// in any unit.
    ///
    /// # Errors
    /// A unit is unknown or missing, or a volume or mass has no heat.
    pub fn of_bills(
        bills: &Section<'_>,
        name: Option<&str>,
        units: Option<&UnitBlock>,
    ) -> Result<Option<Self>, ConfigError> {
        let heat = bills
            .text("heat_content")?
            .map(|text| heat_content(text).map_err(|problem| bills.refuse("heat_content", problem)))
            .transpose()?;
        let enthalpy = bills
            .text("enthalpy")?
            .map(|text| enthalpy(text).map_err(|problem| bills.refuse("enthalpy", problem)))
            .transpose()?;
        let region = units.and_then(|block| block.gas_region);
        if bills.text("meter_type")?.is_some() && region.is_none() {
            return Err(bills.refuse("meter_type", "it needs units.factor_set"));
        }
        let Some(block) = units else {
            return Ok(None);
        };
        let name = name.ok_or_else(|| {
            bills.refuse(
                "units",
                format!(
                    "the configuration's units are {}, so that the bills must name theirs, such as \"kWh\" or \"therm\"",
                    block.system.word()
                ),
            )
        })?;
        let unit = billed_unit(name);
        let (written, kbtu) = match unit {
            Some((written, BilledUnit::Energy(kbtu))) => (written, kbtu),
            Some((written, BilledUnit::Volume(cubic_feet))) => {
                let heat = heat
                    .map(|heat| heat * cubic_feet)
                    .or_else(|| region.and_then(|region| gas_heat(region, written)));
                let heat = heat.ok_or_else(|| {
                    bills.refuse(
                        "heat_content",
                        "a volume of gas needs it, such as \"1037 Btu/ft3\", or units.factor_set; there is no default",
                    )
                })?;
                (written, heat)
            }
            Some((written, BilledUnit::Mass(pounds))) => {
                let heat = enthalpy.map(|heat| heat * pounds).ok_or_else(|| {
                    bills.refuse(
                        "enthalpy",
                        "a mass of steam needs it, such as \"1194 Btu/lb\"; there is no default",
                    )
                })?;
                (written, heat)
            }
            None => {
                return Err(bills.refuse(
                    "units",
                    format!(
                        "{name:?} is no unit of bills; known are {}",
                        BILLED.join(", ")
                    ),
                ));
            }
        };
        Ok(Some(Self {
            energy: written,
            report: Some(ReportUnit {
                system: block.system,
                factor: kbtu * block.system.of_kbtu(),
            }),
        }))
    }
}

/// What the unit of bills counts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum BilledUnit {
    /// In kBtu.
    Energy(f64),
    /// Of gas, in cubic feet.
    Volume(f64),
    /// Of steam, in pounds.
    Mass(f64),
}

/// The unit of bills of this name, as findings write it; none when it is no such unit.
fn billed_unit(name: &str) -> Option<(&'static str, BilledUnit)> {
    let lower = name.to_lowercase();
    let lower = match lower.strip_suffix('s') {
        Some(single @ ("therm" | "ton-hour" | "lb" | "klb")) => single,
        _ => lower.as_str(),
    };
    let energy = ENERGIES.iter().find(|(known, _)| *known == lower);
    let volume = VOLUMES.iter().find(|(names, _)| names.contains(&lower));
    let mass = MASSES.iter().find(|(known, _)| *known == lower);
    let unit = match (energy, volume, mass) {
        (Some((_, kbtu)), _, _) => BilledUnit::Energy(*kbtu),
        (_, Some((_, cubic_feet)), _) => BilledUnit::Volume(*cubic_feet),
        (_, _, Some((_, pounds))) => BilledUnit::Mass(*pounds),
        _ => return None,
    };
    let written = BILLED
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(lower))
        .unwrap_or("ft3");
    Some((written, unit))
}

/// Heat of a pound of district steam by the factor set `energy_star_thermal_2015`, kBtu.
const ENERGY_STAR_STEAM: f64 = 1.194;

/// What one of the unit of bills holds, well enough to see whether a quantity can be right.
pub(super) struct ScreeningHeat {
    pub kbtu: f64,
    /// None for energies, which may be of anything.
    pub fuel: Option<Fuel>,
    /// Which heat was taken where the bills name none.
    pub caveat: Option<String>,
}

/// The heat of a unit of bills; none when it is no unit of energy, gas or steam.
///
/// # Errors
/// `heat_content` or `enthalpy` cannot be read.
pub(super) fn screening(
    bills: &Section<'_>,
    name: &str,
    region: Option<GasRegion>,
) -> Result<Option<ScreeningHeat>, ConfigError> {
    let own = |key: &str, read: fn(&str) -> Result<f64, String>| {
        let text = bills.text(key)?;
        let read = text.map(|text| read(text).map_err(|problem| bills.refuse(key, problem)));
        read.transpose()
    };
    let taken = |kbtu: f64| {
        Some(format!(
            "{name} were taken for {kbtu} kBtu each (factor set energy_star_thermal_2015), only to see whether the quantities \
             can be right"
        ))
    };
    let Some((written, unit)) = billed_unit(name) else {
        return Ok(None);
    };
    let (kbtu, fuel, caveat) = match unit {
        BilledUnit::Energy(kbtu) => {
            let fuel = match written {
                "kWh" | "MWh" => Some(Fuel::Electricity),
                "therm" => Some(Fuel::Gas),
                "ton-hour" => Some(Fuel::ChilledWater),
                _ => None,
            };
            (kbtu, fuel, None)
        }
        BilledUnit::Volume(cubic_feet) => {
            let usual = gas_heat(region.unwrap_or(GasRegion::UnitedStates), written);
            match (own("heat_content", heat_content)?, usual) {
                (Some(heat), _) => (heat * cubic_feet, Some(Fuel::Gas), None),
                (None, Some(kbtu)) => (kbtu, Some(Fuel::Gas), taken(kbtu)),
                (None, None) => return Ok(None),
            }
        }
        BilledUnit::Mass(pounds) => match own("enthalpy", enthalpy)? {
            Some(heat) => (heat * pounds, Some(Fuel::Steam), None),
            None => {
                let kbtu = ENERGY_STAR_STEAM * pounds;
                (kbtu, Some(Fuel::Steam), taken(kbtu))
            }
        },
    };
    Ok(Some(ScreeningHeat { kbtu, fuel, caveat }))
}

/// kBtu of the unit that a price is per: `per`, with `heat_content` of a volume or `enthalpy` of a mass.
///
/// # Errors
/// The unit is unknown, may be one of two, or a volume or mass has no heat.
pub(super) fn kbtu_of_price(price: &Section<'_>) -> Result<f64, ConfigError> {
    let per = price.required_text("per")?;
    let ambiguous = |meanings: &str| Err(price.refuse("per", format!("{per:?} {meanings}")));
    let lower = per.to_lowercase();
    let name = match lower.as_str() {
        "mbtu" => return ambiguous("is a thousand Btu or a million; write kBtu or MMBtu"),
        "mlb" => return ambiguous("is a thousand pounds or a million; write klb"),
        "dth" | "dekatherm" | "dekatherms" => "mmbtu",
        other => other,
    };
    let heat = |key: &str, example: &str, read: fn(&str) -> Result<f64, String>| {
        let text = price.text(key)?.ok_or_else(|| {
            let missing = format!("{per:?} is no energy: give what one holds, such as {example}");
            price.refuse(key, missing)
        })?;
        read(text).map_err(|problem| price.refuse(key, problem))
    };
    match billed_unit(name) {
        Some((_, BilledUnit::Energy(kbtu))) => Ok(kbtu),
        Some((_, BilledUnit::Volume(cubic_feet))) => {
            Ok(cubic_feet * heat("heat_content", "\"1037 Btu/ft3\"", heat_content)?)
        }
        Some((_, BilledUnit::Mass(pounds))) => {
            Ok(pounds * heat("enthalpy", "\"1194 Btu/lb\"", enthalpy)?)
        }
        None => Err(price.refuse(
            "per",
            format!("{per:?} is no unit; units are {}", BILLED.join(", ")),
        )),
    }
}

/// Reads `1194 Btu/lb` as kBtu per pound.
fn enthalpy(text: &str) -> Result<f64, String> {
    let unreadable = || format!("{text:?} is no heat of a mass, such as 1194 Btu/lb");
    let (energy, mass) = text.rsplit_once('/').ok_or_else(unreadable)?;
    let mass = mass.trim().to_lowercase();
    let (_, pounds) = MASSES
        .iter()
        .find(|(known, _)| *known == mass)
        .ok_or_else(unreadable)?;
    // A heat content per pound is read like one per cubic foot.
    Ok(heat_content(&format!("{energy}/ft3"))? / pounds)
}
