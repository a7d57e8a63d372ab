//! From the unit in which a point is recorded to the one in which the store holds its role (Store §10.2).
//!
//! Files of a store state no unit, so a sample whose unit is not known for certain must not enter one.

use crate::knowledge::camber_roles::CamberRole;
use crate::station::units::{Unit, unit_by_name, unit_by_symbol};

/// Pascal in an inch of water (Store §10.2).
const PASCAL_PER_INCH_OF_WATER: f64 = 249.088_91;
/// Absolute pressure of the air in psi, as CAMBER takes it off (Store §10.2).
const ATMOSPHERE_PSI: f64 = 14.696;

/// The factors to cubic feet per minute, as CAMBER multiplies (Store §10.2).
const TO_CFM: [(&str, f64); 4] = [
    ("liters_per_second", 2.118_879_972_759_7),
    ("cubic_meters_per_hour", 0.588_577_770_211_02),
    ("cubic_meters_per_minute", 35.314_666_721_489),
    ("cubic_meters_per_second", 2_118.879_972_759_7),
];

/// The unit names of mapping files; any letter case (Store §10.2).
const FILE_UNITS: [(&str, &[&str]); 15] = [
    ("fahrenheit", &["degf", "f", "fahrenheit", "°f"]),
    ("celsius", &["degc", "c", "celsius", "°c"]),
    ("kelvin", &["k", "degk", "kelvin"]),
    ("cubic_feet_per_minute", &["cfm"]),
    ("liters_per_second", &["l/s", "lps"]),
    ("cubic_meters_per_hour", &["m3/h", "m³/h", "cmh"]),
    ("cubic_meters_per_minute", &["m3/min", "cmm"]),
    ("cubic_meters_per_second", &["m3/s"]),
    ("inches_of_water", &["inh2o", "in_h2o"]),
    ("pascal", &["pa"]),
    ("kilopascal", &["kpa"]),
    ("kilowatt", &["kw"]),
    ("watt", &["w"]),
    ("pounds_per_square_inch", &["psig", "psi"]),
    ("percent", &["percent", "%"]),
];

/// What to do with each value of a point.
#[derive(Debug, Clone, PartialEq)]
pub enum Conversion {
    /// The unit is the one of the store.
    Same,
    /// `(value + before) · factor / divisor + after`, in the order in which CAMBER computes.
    Affine {
        before: f64,
        factor: f64,
        divisor: f64,
        after: f64,
    },
    /// Two units of one quantity that Store §10.2 does not list, by their definitions.
    ByDefinition {
        from: Box<Unit>,
        to: Box<Unit>,
        difference: bool,
    },
    /// A state: anything but zero is on.
    OnOff,
}

/// Why a unit does not fit a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitProblem {
    /// Nobody says in which unit the values are.
    #[error(
        "no unit is known, and {role} is stored in {wanted}; set the unit in the facets of the point, or under 'units' of \
         its equipment in the knowledge file"
    )]
    Missing { role: String, wanted: String },
    /// A name that nothing is known of.
    #[error(
        "the unit {unit:?} is not known, and {role} is stored in {wanted}; correct it in the facets of the point, or name a \
         known one under 'units' of its equipment in the knowledge file"
    )]
    Unknown {
        role: String,
        unit: String,
        wanted: String,
    },
    /// The unit measures something else than the role.
    #[error(
        "the unit {unit} contradicts the role {role}, which is stored in {wanted}; map another point to the role or correct \
         the unit in the facets of the point"
    )]
    Contradictory {
        role: String,
        unit: String,
        wanted: String,
    },
    /// History and point state different units.
    #[error(
        "the history is recorded in {history} and the point shows {point}; make the units of both the same, or say which of \
         the two is right under 'units' of the equipment in the knowledge file"
    )]
    Disagreeing { history: String, point: String },
    /// The knowledge file states another unit than the station.
    #[error(
        "'units' of the equipment in the knowledge file states {stated} for {role}, and the station states {station}; remove \
         the wrong one: the entry under 'units', or the unit in the facets of the point and its history"
    )]
    Overruled {
        role: String,
        stated: String,
        station: String,
    },
    /// Numbers that measure something under a role of states.
    #[error(
        "the numbers are in {unit}, and {role} is a state, 0 or 1; map a point to the role that tells whether it is on"
    )]
    NoState { role: String, unit: String },
    /// A known name with another size than everybody's.
    #[error(
        "the station defines {unit} differently from its usual meaning; choose a standard unit in the facets of the point"
    )]
    Redefined { unit: String },
}

impl Conversion {
    const fn affine(before: f64, factor: f64, divisor: f64, after: f64) -> Self {
        Self::Affine {
            before,
            factor,
            divisor,
            after,
        }
    }

    const fn times(factor: f64) -> Self {
        Self::affine(0.0, factor, 1.0, 0.0)
    }

    const fn divided_by(divisor: f64) -> Self {
        Self::affine(0.0, 1.0, divisor, 0.0)
    }

    /// The value in the unit of the store; NaN stays NaN.
    ///
    /// ```
    /// use niagara_bridge::knowledge::camber_roles::camber_role_named;
    /// use niagara_bridge::trends::units::file_unit;
    /// let role = camber_role_named("supply_air_temp").unwrap();
    /// assert_eq!(file_unit(role, "degC").unwrap().apply(21.0), 69.8);
    /// ```
    pub fn apply(&self, value: f64) -> f64 {
        match self {
            Self::Same => value,
            Self::Affine {
                before,
                factor,
                divisor,
                after,
            } => (value + before) * factor / divisor + after,
            Self::ByDefinition {
                from,
                to,
                difference,
            } => {
                let converted = if *difference {
                    from.convert_difference(value, to)
                } else {
                    from.convert(value, to)
                };
                // The pair was tried when the conversion was made.
                converted.unwrap_or(f64::NAN)
            }
            Self::OnOff if value.is_nan() => value,
            Self::OnOff => f64::from(u8::from(value != 0.0)),
        }
    }
}

/// What the store's unit of a role demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    OnOff,
    /// Bare numbers.
    Count,
    Temperature,
    TemperatureDifference,
    Percent,
    PartsPerMillion,
    /// A unit of the station's table.
    Named(&'static str),
}

fn target(role: &CamberRole) -> Target {
    match role.unit.as_str() {
        _ if role.status => Target::OnOff,
        "degF" => Target::Temperature,
        "degF difference" => Target::TemperatureDifference,
        "percent" | "percent RH" => Target::Percent,
        "ppm" => Target::PartsPerMillion,
        "cfm" => Target::Named("cubic_feet_per_minute"),
        "gpm" => Target::Named("gallons_per_minute"),
        "inH2O" => Target::Named("inches_of_water"),
        "kW" => Target::Named("kilowatt"),
        unit if unit.starts_with("psi") => Target::Named("pounds_per_square_inch"),
        unit if unit.starts_with("kBtu/h") => Target::Named("kilobtus_per_hour"),
        _ => Target::Count,
    }
}

/// The conversion for values that a station records in `unit`; none stands for bare numbers.
///
/// # Errors
/// The unit is missing, not known, or measures something else than the role.
///
/// ```
/// use niagara_bridge::knowledge::camber_roles::camber_role_named;
/// use niagara_bridge::station::units::unit_by_name;
/// use niagara_bridge::trends::units::station_unit;
/// let static_pressure = camber_role_named("duct_static").unwrap();
/// let pascal = unit_by_name("pascal");
/// assert_eq!(station_unit(static_pressure, pascal).unwrap().apply(249.08891), 1.0);
/// assert!(station_unit(static_pressure, unit_by_name("celsius")).is_err());
/// assert!(station_unit(static_pressure, None).is_err());
/// ```
pub fn station_unit(role: &CamberRole, unit: Option<&Unit>) -> Result<Conversion, UnitProblem> {
    let target = target(role);
    if target == Target::OnOff {
        return Ok(Conversion::OnOff);
    }
    let Some(unit) = unit.filter(|unit| !unit.is_null()) else {
        return match target {
            Target::Count => Ok(Conversion::Same),
            _ => Err(UnitProblem::Missing {
                role: role.role.clone(),
                wanted: role.unit.clone(),
            }),
        };
    };
    let known = known_unit(role, unit)?;
    conversion(target, known).ok_or_else(|| UnitProblem::Contradictory {
        role: role.role.clone(),
        unit: known.name().to_owned(),
        wanted: role.unit.clone(),
    })
}

/// The conversion for a unit as a mapping file or a knowledge file writes it; an empty one says that nothing is to be done.
///
/// # Errors
/// As [`station_unit`].
pub fn file_unit(role: &CamberRole, text: &str) -> Result<Conversion, UnitProblem> {
    let word = text.trim().to_lowercase();
    if target(role) == Target::OnOff {
        return Ok(Conversion::OnOff);
    }
    match word.as_str() {
        "" => return Ok(Conversion::Same),
        "fraction" if target(role) == Target::Percent => return Ok(Conversion::times(100.0)),
        "psia" if target(role) == Target::Named("pounds_per_square_inch") => {
            return Ok(Conversion::affine(0.0, 1.0, 1.0, -ATMOSPHERE_PSI));
        }
        _ => {}
    }
    let listed = FILE_UNITS
        .iter()
        .find(|(_, words)| words.contains(&word.as_str()));
    let unit = match listed {
        Some((name, _)) => unit_by_name(name),
        None => unit_by_name(text.trim()).or_else(|| unit_by_symbol(text.trim())),
    };
    let unknown = Unit::unknown(text.trim());
    station_unit(role, Some(unit.unwrap_or(&unknown)))
}

/// The one unit that history and point agree on; either may be silent.
///
/// # Errors
/// They state different units.
pub fn agreed<'a>(
    history: Option<&'a Unit>,
    point: Option<&'a Unit>,
) -> Result<Option<&'a Unit>, UnitProblem> {
    let stated = |unit: Option<&'a Unit>| unit.filter(|unit| !unit.is_null());
    match (stated(history), stated(point)) {
        (Some(history), Some(point)) if !same_unit(history, point) => {
            Err(UnitProblem::Disagreeing {
                history: history.name().to_owned(),
                point: point.name().to_owned(),
            })
        }
        (Some(history), _) => Ok(Some(history)),
        (None, point) => Ok(point),
    }
}

/// The conversion and the name of the unit that counts: what history and point state, or what the knowledge file states
/// where they do not. Of two units of the station the file may say which one is right, and that is remarked.
///
/// # Errors
/// As [`station_unit`] and [`agreed`], or the knowledge file contradicts the station.
pub fn chosen_unit(
    role: &CamberRole,
    history: Option<&Unit>,
    point: Option<&Unit>,
    stated: Option<&str>,
    remarks: &mut Vec<String>,
) -> Result<(Conversion, String), UnitProblem> {
    let of_station = agreed(history, point);
    let Some(stated) = stated.map(str::trim).filter(|stated| !stated.is_empty()) else {
        let unit = of_station?;
        let name = unit.map(Unit::name).unwrap_or_default().to_owned();
        return Ok((station_unit(role, unit)?, name));
    };
    let conversion = file_unit(role, stated)?;
    let overruled = |unit: &Unit| UnitProblem::Overruled {
        role: role.role.clone(),
        stated: stated.to_owned(),
        station: unit.name().to_owned(),
    };
    match of_station {
        Ok(None) => {}
        Ok(Some(unit)) if speaks_against(role, unit, stated, &conversion)? => {
            return Err(overruled(unit));
        }
        Ok(Some(_)) => {}
        Err(disagreeing) => {
            let mut confirmed = false;
            for unit in [history, point].into_iter().flatten() {
                confirmed |= !speaks_against(role, unit, stated, &conversion)?;
            }
            if !confirmed {
                return Err(history.map_or(disagreeing, overruled));
            }
            remarks.push(format!(
                "is recorded in {} while its point shows {}; {stated} is taken, as the knowledge file says",
                history.map(Unit::name).unwrap_or_default(),
                point.map(Unit::name).unwrap_or_default()
            ));
        }
    }
    Ok((conversion, stated.to_owned()))
}

/// Whether a unit of the station makes something else of the values than the one that the knowledge file states.
fn speaks_against(
    role: &CamberRole,
    unit: &Unit,
    stated: &str,
    conversion: &Conversion,
) -> Result<bool, UnitProblem> {
    match station_unit(role, Some(unit)) {
        Ok(of_station) => {
            // Stations know no other unit for absolute pressure.
            let is_absolute = stated.eq_ignore_ascii_case("psia") && of_station == Conversion::Same;
            Ok(of_station != *conversion && !is_absolute)
        }
        // Of a name that nothing is known of nothing can be said.
        Err(UnitProblem::Unknown { .. }) => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// Refuses numbers of a physical unit under a role of states; people are counted in none.
///
/// # Errors
/// The role is a state, and the unit measures something.
pub fn check_state_unit(role: &CamberRole, unit: &str) -> Result<(), UnitProblem> {
    if target(role) != Target::OnOff || unit.is_empty() || role.role == "occupancy" {
        return Ok(());
    }
    Err(UnitProblem::NoState {
        role: role.role.clone(),
        unit: unit.to_owned(),
    })
}

fn same_unit(one: &Unit, other: &Unit) -> bool {
    match (listed_unit(one), listed_unit(other)) {
        (Some(one), Some(other)) => one.name() == other.name(),
        _ => one.name() == other.name() || one.symbol() == other.symbol(),
    }
}

fn listed_unit(unit: &Unit) -> Option<&'static Unit> {
    unit_by_name(unit.name()).or_else(|| unit_by_symbol(unit.symbol()))
}

/// The unit of the table that a station means; one that the table lacks counts by its own definition.
fn known_unit<'a>(role: &CamberRole, unit: &'a Unit) -> Result<&'a Unit, UnitProblem> {
    let Some(listed) = listed_unit(unit) else {
        return if unit.exponents().is_empty() {
            Err(UnitProblem::Unknown {
                role: role.role.clone(),
                unit: unit.name().to_owned(),
                wanted: role.unit.clone(),
            })
        } else {
            Ok(unit)
        };
    };
    if unit.exponents().is_empty() {
        // Only name or symbol were sent, or the unit is a bare ratio.
        return Ok(listed);
    }
    // Stations round the sizes of their units differently; a percent is no rounding.
    let same = unit
        .convert(1000.0, listed)
        .is_ok_and(|value| (value - 1000.0).abs() < 1.0);
    if same {
        Ok(listed)
    } else {
        Err(UnitProblem::Redefined {
            unit: unit.name().to_owned(),
        })
    }
}

/// None when the unit measures something else.
fn conversion(target: Target, unit: &Unit) -> Option<Conversion> {
    match target {
        Target::OnOff => Some(Conversion::OnOff),
        Target::Count => None,
        Target::Temperature => match unit.name() {
            // A difference is no temperature.
            "celsius_degrees" | "fahrenheit_degrees" => None,
            "fahrenheit" => Some(Conversion::Same),
            "celsius" => Some(Conversion::affine(0.0, 9.0, 5.0, 32.0)),
            "kelvin" => Some(Conversion::affine(-273.15, 9.0, 5.0, 32.0)),
            _ => by_definition(unit, "fahrenheit", false),
        },
        Target::TemperatureDifference => match unit.name() {
            "fahrenheit" | "fahrenheit_degrees" | "rankine" => Some(Conversion::Same),
            "celsius" | "celsius_degrees" | "kelvin" => {
                Some(Conversion::affine(0.0, 9.0, 5.0, 0.0))
            }
            _ => by_definition(unit, "fahrenheit_degrees", true),
        },
        Target::Percent => match unit.name() {
            "percent" | "percent_relative_humidity" => Some(Conversion::Same),
            "ratio" => Some(Conversion::times(100.0)),
            _ => None,
        },
        Target::PartsPerMillion => match unit.name() {
            "parts_per_million" => Some(Conversion::Same),
            "parts_per_billion" => Some(Conversion::divided_by(1000.0)),
            _ => None,
        },
        Target::Named(name) if unit.name() == name => Some(Conversion::Same),
        Target::Named(name) => {
            listed_factor(name, unit.name()).or_else(|| by_definition(unit, name, false))
        }
    }
}

/// The pairs whose arithmetic Store §10.2 fixes.
fn listed_factor(target: &str, unit: &str) -> Option<Conversion> {
    match (target, unit) {
        ("cubic_feet_per_minute", _) => TO_CFM
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, factor)| Conversion::times(*factor)),
        ("inches_of_water", "pascal") => Some(Conversion::divided_by(PASCAL_PER_INCH_OF_WATER)),
        ("inches_of_water", "kilopascal") => {
            Some(Conversion::times(1000.0 / PASCAL_PER_INCH_OF_WATER))
        }
        ("kilowatt", "watt") => Some(Conversion::divided_by(1000.0)),
        _ => None,
    }
}

fn by_definition(unit: &Unit, target: &str, difference: bool) -> Option<Conversion> {
    let to = unit_by_name(target)?;
    unit.convert(1.0, to).ok()?;
    Some(Conversion::ByDefinition {
        from: Box::new(unit.clone()),
        to: Box::new(to.clone()),
        difference,
    })
}

#[cfg(test)]
mod tests;
