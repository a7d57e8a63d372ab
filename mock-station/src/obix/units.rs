//! `/obix/units/`: the station's unit database (oBIX specification §4.1).

use super::address::Address;
use super::element::Element;
use super::error::ObixError;
use super::time::real_text;
use crate::model::Unit;

/// Name in the unit database and name of the exponent in `obix:Dimension`.
const BASE_UNITS: [(&str, &str); 7] = [
    ("kg", "kg"),
    ("m", "m"),
    ("s", "sec"),
    ("K", "K"),
    ("A", "A"),
    ("mol", "mol"),
    ("cd", "cd"),
];

/// The list of units, or one of them.
///
/// # Errors
/// When there is no unit of that name.
pub fn read(address: &Address, names: &[&str]) -> Result<Element, ObixError> {
    match names {
        [] => Ok(all()),
        [name] => Unit::find(name).map(one).ok_or_else(|| address.unknown()),
        _ => Err(address.unknown()),
    }
}

fn all() -> Element {
    let mut list = Element::new("obj").with("display", "Units");
    list.children.extend(Unit::all().iter().map(|unit| {
        Element::new("ref")
            .into_member(&unit.name)
            .with("is", "obix:Unit")
            .with("display", unit.symbol.clone())
    }));
    list
}

fn one(unit: &'static Unit) -> Element {
    let mut dimension = Element::named("obj", "dimension").with("is", "obix:Dimension");
    for (base, name) in BASE_UNITS {
        let exponent = exponent(&unit.dimension, base);
        dimension
            .children
            .push(Element::value("int", name, exponent.to_string()));
    }
    Element::new("obj")
        .with("is", "obix:Unit")
        .with("display", unit.name.clone())
        .with_child(Element::value("str", "symbol", unit.symbol.clone()))
        .with_child(dimension)
        .with_child(Element::value("real", "scale", real_text(unit.scale())))
        .with_child(Element::value("real", "offset", real_text(unit.offset())))
}

/// The exponent of a base unit in text like `(kg)(m2)(s-3)`.
fn exponent(dimension: &str, base: &str) -> i32 {
    dimension
        .split(['(', ')'])
        .filter_map(|factor| {
            let digits = factor.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let name = factor.strip_suffix(digits)?;
            (name == base).then(|| match digits {
                "" => 1,
                digits => digits.parse().unwrap_or(0),
            })
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_has_symbol_dimension_and_conversion() {
        let address = Address::of_href("/obix/units/celsius/").unwrap();
        let unit = read(&address, &["celsius"]).unwrap();
        assert_eq!(unit.child("symbol").unwrap().get("val"), Some("°C"));
        assert_eq!(unit.child("offset").unwrap().get("val"), Some("273.15"));
        let kelvin = unit.child("dimension").unwrap().child("K").unwrap();
        assert_eq!(kelvin.get("val"), Some("1"));
        assert!(read(&address, &["farenheit"]).is_err());
    }

    #[test]
    fn exponents_are_read_with_sign() {
        let watt = "(kg)(m2)(s-3)";
        let exponents = ["kg", "m", "s", "K"].map(|base| exponent(watt, base));
        assert_eq!(exponents, [1, 2, -3, 0]);
    }
}
