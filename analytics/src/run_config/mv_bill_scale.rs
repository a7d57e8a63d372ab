//! Whether quantities of bills can be right by what they cost, and by what they are multiplied (M&V §8).

use super::files::CsvTable;
use super::mv_bill_columns::{amount, find};
use super::mv_bill_units::{ScreeningHeat, screening};
use super::section::{ConfigError, Section};
use super::site::UnitBlock;
use crate::mv::unit_scale::{BilledPrice, Fuel};

/// By what all quantities of the bills are multiplied, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleOverride {
    pub factor: f64,
    pub reason: String,
}

/// What is asked of the scale of the quantities.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleCheck {
    pub price: BilledPrice,
    /// Whether a baseline of implausible quantities is declined, or only warned of.
    pub declines: bool,
}

/// Keys that the reference knows and by which nothing is judged here: the check of a price needs none of them.
pub(super) const NOT_JUDGED: [&str; 4] = ["area", "property_type", "demand", "tariff"];

/// Reads `scale_override` of the bills.
///
/// # Errors
/// It has no factor above 0, or no reason.
pub(super) fn scale_override(bills: &Section<'_>) -> Result<Option<ScaleOverride>, ConfigError> {
    let Some(section) = bills.section("scale_override")? else {
        return Ok(None);
    };
    section.only(&["factor", "reason"])?;
    let factor = section
        .number("factor")?
        .filter(|factor| *factor > 0.0)
        .ok_or_else(|| section.refuse("factor", "it must be a number above 0, as 0.001"))?;
    let reason = section.required_text("reason").map_err(|_| {
        section.refuse(
            "reason",
            "it is missing; say why the scale of the bills is wrong",
        )
    })?;
    Ok(Some(ScaleOverride {
        factor,
        reason: reason.to_owned(),
    }))
}

/// Bills with their quantities as they count.
pub(super) struct Quantities<'a> {
    pub table: &'a CsvTable,
    /// The column of quantities.
    pub energy: usize,
    pub factor: f64,
    pub unit: Option<&'a str>,
}

/// Reads `scale_check` of the bills; none where it is switched off, or where nobody knows what the energy cost.
///
/// # Errors
/// It is neither false nor an object, has an unknown key, or lacks what it needs.
pub(super) fn scale_check(
    bills: &Section<'_>,
    quantities: &Quantities<'_>,
    units: Option<&UnitBlock>,
    place: &str,
) -> Result<Option<ScaleCheck>, ConfigError> {
    let empty = serde_json::Map::new();
    let check = match bills.value("scale_check") {
        Some(serde_json::Value::Bool(false)) => return Ok(None),
        None => Section::root(&empty),
        Some(_) => bills.section("scale_check").ok().flatten().ok_or_else(|| {
            bills.refuse(
                "scale_check",
                "it must be false, or an object with on_implausible",
            )
        })?,
    };
    let known = ["enabled", "on_implausible", "fuel", "cost"];
    let all: Vec<&str> = known.into_iter().chain(NOT_JUDGED).collect();
    check.only(&all)?;
    let is_told = all.iter().any(|key| check.value(key).is_some());
    if is_told && quantities.unit.is_none() {
        return Err(bills.refuse(
            "scale_check",
            "it needs the unit of the bills: give units, or units_column",
        ));
    }
    let word = check.word("on_implausible", &["decline", "warn"])?;
    let own = check.text("cost")?;
    let own = own
        .map(|name| find(quantities.table, name, place))
        .transpose()?;
    let usual = || {
        let headers = &quantities.table.headers;
        headers.iter().position(|header| header == "cost")
    };
    // As in the reference, the column that bills.cost names for avoided costs is not asked.
    let cost = own.or_else(usual);
    if check.flag("enabled")? == Some(false) {
        return Ok(None);
    }
    let (Some(unit), Some(cost)) = (quantities.unit, cost) else {
        return Ok(None);
    };
    let region = units.and_then(|block| block.gas_region);
    let Some(ScreeningHeat { kbtu, fuel, caveat }) = screening(bills, unit, region)? else {
        return Ok(None);
    };
    let declared = check.text("fuel")?.map(Fuel::named);
    let Some(fuel) = declared.unwrap_or(fuel) else {
        return Ok(None);
    };
    let (mut dollars, mut energy) = (0.0, 0.0);
    for row in &quantities.table.rows {
        let (own_cost, own_energy) = (amount(row, cost), amount(row, quantities.energy));
        if own_cost.is_finite() && own_energy.is_finite() {
            dollars += own_cost;
            energy += own_energy * quantities.factor;
        }
    }
    let is_told = dollars > 0.0 && energy > 0.0;
    Ok(is_told.then(|| ScaleCheck {
        price: BilledPrice {
            fuel,
            unit: unit.to_owned(),
            dollars_per_mmbtu: dollars / energy * 1_000.0 / kbtu,
            caveat,
        },
        declines: word != Some("warn"),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A bill of a thousand units at a dollar each, and one of which nobody knows the cost.
    fn read(bills: Value) -> Result<Option<ScaleCheck>, String> {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = CsvTable {
            headers: row(["energy", "cost"]),
            rows: vec![row(["1000", "1000"]), row(["1000", ""])],
        };
        let quantities = Quantities {
            table: &table,
            energy: 0,
            factor: 1.0,
            unit: bills.get("units").and_then(Value::as_str),
        };
        Section::of(&bills, "mv[0].bills")
            .and_then(|section| scale_check(&section, &quantities, None, "mv[0].bills"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_price_is_told_of_an_energy_whatever_the_unit_of_the_bills() {
        let price = |bills: Value| {
            let check = read(bills).unwrap()?;
            Some((
                check.price.fuel,
                crate::numeric::round(check.price.dollars_per_mmbtu, 4),
            ))
        };
        for (bills, told) in [
            (json!({"units": "kWh"}), Some((Fuel::Electricity, 293.0711))),
            (json!({"units": "therms"}), Some((Fuel::Gas, 10.0))),
            (json!({"units": "CCF"}), Some((Fuel::Gas, 9.7466))),
            (
                json!({"units": "CCF", "heat_content": "10 kBtu/ft3"}),
                Some((Fuel::Gas, 1.0)),
            ),
            (json!({"units": "klb"}), Some((Fuel::Steam, 0.8375))),
            (
                json!({"units": "ton-hours"}),
                Some((Fuel::ChilledWater, 83.3333)),
            ),
            // What an energy is of is not known from its unit.
            (json!({"units": "MMBtu"}), None),
            (
                json!({"units": "MMBtu", "scale_check": {"fuel": "natural_gas"}}),
                Some((Fuel::Gas, 1.0)),
            ),
            (
                json!({"units": "MMBtu", "scale_check": {"fuel": "wood"}}),
                None,
            ),
            (json!({"units": "furlong"}), None),
            (json!({}), None),
            (json!({"units": "kWh", "scale_check": false}), None),
            (
                json!({"units": "kWh", "scale_check": {"enabled": false}}),
                None,
            ),
        ] {
            assert_eq!(price(bills.clone()), told, "{bills}");
        }
        let declines = |bills| read(bills).unwrap().unwrap().declines;
        assert!(declines(json!({"units": "kWh"})));
        assert!(!declines(
            json!({"units": "kWh", "scale_check": {"on_implausible": "warn"}})
        ));
    }

    #[test]
    fn everything_wrong_is_refused_with_its_place() {
        for (bills, told) in [
            (
                json!({"scale_check": 5}),
                "mv[0].bills.scale_check: it must be false",
            ),
            (
                json!({"units": "kWh", "scale_check": {"x": 1}}),
                "mv[0].bills.scale_check.x",
            ),
            (
                json!({"scale_check": {"on_implausible": "warn"}}),
                "mv[0].bills.scale_check: it needs the unit",
            ),
            (
                json!({"units": "kWh", "scale_check": {"on_implausible": "shout"}}),
                "mv[0].bills.scale_check.on_implausible",
            ),
            (
                json!({"units": "kWh", "scale_check": {"cost": "price"}}),
                "the bills have no column \"price\"",
            ),
        ] {
            let refused = read(bills).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
