//! What a configuration says of the report of issues: sizes and prices for costs, written sequences, what is shown
//! (Engine §5.8; RCx report §2.1, §4).

use std::collections::BTreeMap;

use super::mv_bill_units::kbtu_of_price;
use super::mv_units;
use super::section::{ConfigError, Section};
use crate::occupancy::Schedule;

/// Ranked issues on a page.
const TOP_ISSUES: usize = 8;
/// Most ranked issues that a page may hold.
const MOST_ISSUES: f64 = 50.0;

/// kBtu of one kilowatt-hour and of one therm, as the cost models count (RCx report §4).
pub const KBTU_PER_KWH: f64 = 3.412;
pub const KBTU_PER_THERM: f64 = 100.0;

/// The sections that may be chosen (RCx report §8).
pub const SECTIONS: [&str; 12] = [
    "cover",
    "summary",
    "data",
    "week",
    "economizer",
    "sat",
    "air",
    "mv",
    "issues",
    "verify",
    "reading",
    "appendix",
];

/// What energy costs, US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergyPrice {
    pub electricity_per_kwh: f64,
    pub gas_per_therm: f64,
    /// Said by the configuration, not assumed.
    pub configured: bool,
}

impl Default for EnergyPrice {
    /// The placeholders of the report.
    fn default() -> Self {
        Self {
            electricity_per_kwh: 0.15,
            gas_per_therm: 1.20,
            configured: false,
        }
    }
}

/// How large an equipment is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EquipmentLoad {
    pub heating_capacity_kbtuh: Option<f64>,
    pub cooling_tons: Option<f64>,
    pub chiller_kw_per_ton: Option<f64>,
    pub fan_kw: Option<f64>,
    pub pump_kw: Option<f64>,
    /// A whole year by default.
    pub annual_hours: Option<f64>,
    pub supply_airflow_cfm: Option<f64>,
    pub design_oa_cfm: Option<f64>,
    pub heat_pump_cop: Option<f64>,
}

impl EquipmentLoad {
    /// Hours of a year that the equipment is in service.
    pub fn hours(&self) -> f64 {
        self.annual_hours.unwrap_or(8760.0)
    }
}

/// One assumption of the cost models.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostParameter {
    pub name: &'static str,
    pub value: f64,
    pub configured: bool,
}

const COST_DEFAULTS: [(&str, f64); 11] = [
    ("boiler_efficiency", 0.8),
    ("chiller_load_factor", 0.6),
    ("chiller_target_kw_per_ton", 0.65),
    ("cool_cop", 3.5),
    ("ct_kw_per_approach_f", 0.015),
    ("fan_excess_frac", 0.15),
    ("g36_gap_ref_f", 5.0),
    ("per_start_loss", 0.005),
    ("pump_excess_frac", 0.15),
    ("reheat_diversity", 0.3),
    ("reset_fan_excess_frac", 0.15),
];

/// The assumptions of the cost models, by name.
#[derive(Debug, Clone, PartialEq)]
pub struct CostParameters(Vec<CostParameter>);

impl Default for CostParameters {
    fn default() -> Self {
        Self(
            COST_DEFAULTS
                .iter()
                .map(|(name, value)| CostParameter {
                    name,
                    value: *value,
                    configured: false,
                })
                .collect(),
        )
    }
}

impl CostParameters {
    /// The value of an assumption; NaN for a name that is none.
    pub fn get(&self, name: &str) -> f64 {
        self.0
            .iter()
            .find(|parameter| parameter.name == name)
            .map_or(f64::NAN, |parameter| parameter.value)
    }

    /// All, by name.
    pub fn all(&self) -> &[CostParameter] {
        &self.0
    }

    fn read(section: &Section<'_>) -> Result<Self, ConfigError> {
        let names: Vec<&str> = COST_DEFAULTS.iter().map(|(name, _)| *name).collect();
        section.only(&names)?;
        let mut read = Self::default();
        for parameter in &mut read.0 {
            if let Some(value) = section.number_within(parameter.name, 0.0, f64::MAX)? {
                parameter.value = value;
                parameter.configured = true;
            }
        }
        for divisor in ["boiler_efficiency", "cool_cop", "g36_gap_ref_f"] {
            if read.get(divisor) <= 0.0 {
                return Err(section.refuse(divisor, "it must be above 0"));
            }
        }
        Ok(read)
    }
}

/// A written reset of the supply air: its temperature at two outdoor temperatures, °F.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeclaredReset {
    /// Lower and higher outdoor temperature.
    pub oat: [f64; 2],
    /// Supply air at each.
    pub supply: [f64; 2],
    pub tolerance: f64,
}

/// What a configuration says of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportOptions {
    pub title: Option<String>,
    /// Ranked issues on a page.
    pub top_issues: usize,
    /// Only these sections; all without.
    pub sections: Option<Vec<String>>,
    pub occupancy: Schedule,
    pub supply_reset: Option<DeclaredReset>,
    pub cost: CostParameters,
    pub price: EnergyPrice,
    pub loads: BTreeMap<String, EquipmentLoad>,
    /// Whether the benchmark of the rules counts in the confidence.
    pub corroboration: bool,
    /// An outdoor temperature would be fetched over the network: never done here.
    pub fetches_weather: bool,
    /// Classes with a declared Guideline 36 sequence.
    pub g36_classes: Vec<String>,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            title: None,
            top_issues: TOP_ISSUES,
            sections: None,
            occupancy: Schedule::default(),
            supply_reset: None,
            cost: CostParameters::default(),
            price: EnergyPrice::default(),
            loads: BTreeMap::new(),
            corroboration: true,
            fetches_weather: false,
            g36_classes: Vec::new(),
        }
    }
}

impl ReportOptions {
    /// Reads `report` and the classes of `soo`.
    ///
    /// # Errors
    /// A key does not exist or a value cannot be one.
    pub fn read(root: &Section<'_>) -> Result<Self, ConfigError> {
        let mut read = Self {
            g36_classes: g36_classes(root)?,
            ..Self::default()
        };
        let Some(report) = root.section("report")? else {
            return Ok(read);
        };
        let rcx = report.section("rcx")?;
        // What the report of issues says itself wins over what the report says.
        let inner = |key: &str| match &rcx {
            Some(rcx) => Ok(match rcx.section(key)? {
                Some(section) => Some(section),
                None => report.section(key)?,
            }),
            None => report.section(key),
        };
        if let Some(price) = inner("price")? {
            read.price = read_price(&price)?;
        }
        if let Some(loads) = inner("loads")? {
            read.loads = read_loads(&loads)?;
        }
        let Some(rcx) = rcx else {
            return Ok(read);
        };
        read.title = rcx.text("title")?.map(str::to_owned);
        if let Some(count) = rcx.number_within("top_n", 1.0, MOST_ISSUES)? {
            read.top_issues = whole(&rcx, "top_n", count)?;
        }
        read.sections = match rcx.texts("sections")? {
            None => None,
            Some(ids) => {
                if let Some(unknown) = ids.iter().find(|id| !SECTIONS.contains(id)) {
                    return Err(rcx.refuse(
                        "sections",
                        format!(
                            "there is no section {unknown:?}; there are {}",
                            SECTIONS.join(", ")
                        ),
                    ));
                }
                Some(ids.into_iter().map(str::to_owned).collect())
            }
        };
        if let Some(occupancy) = rcx.section("occupancy")? {
            read.occupancy = read_occupancy(&occupancy)?;
        }
        if let Some(sequence) = rcx.section("sequence")?
            && let Some(reset) = sequence.section("sat_reset")?
        {
            read.supply_reset = Some(read_reset(&reset)?);
        }
        if let Some(cost) = rcx.section("cost_params")? {
            read.cost = CostParameters::read(&cost)?;
        }
        if let Some(corroboration) = rcx.flag("corroboration")? {
            read.corroboration = corroboration;
        }
        read.fetches_weather = fetches(&rcx)?;
        Ok(read)
    }

    /// The size of an equipment; empty when nothing is said of it.
    pub fn load(&self, equip: &str) -> EquipmentLoad {
        self.loads.get(equip).copied().unwrap_or_default()
    }
}

/// Whether the outdoor reference of the site would be fetched.
fn fetches(rcx: &Section<'_>) -> Result<bool, ConfigError> {
    let is_fetched = |spec: Option<Section<'_>>| {
        spec.is_some_and(|spec| spec.value("fetch").is_some() && spec.value("csv").is_none())
    };
    if is_fetched(rcx.section("oat_reference")?) {
        return Ok(true);
    }
    let Some(references) = rcx.section("references")? else {
        return Ok(false);
    };
    let Some(every) = references.section("*")? else {
        return Ok(false);
    };
    Ok(is_fetched(every.section("oat")?))
}

fn g36_classes(root: &Section<'_>) -> Result<Vec<String>, ConfigError> {
    let mut classes = Vec::new();
    for entry in root.sections("soo")? {
        if entry
            .text("library")?
            .is_some_and(|name| name.starts_with("g36"))
            && let Some(class) = entry.text("class")?
        {
            classes.push(class.to_owned());
        }
    }
    Ok(classes)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number within bounds"
)]
fn whole(section: &Section<'_>, key: &str, value: f64) -> Result<usize, ConfigError> {
    match value.fract() == 0.0 {
        true => Ok(value as usize),
        false => Err(section.refuse(key, "it must be a whole number")),
    }
}

fn read_loads(section: &Section<'_>) -> Result<BTreeMap<String, EquipmentLoad>, ConfigError> {
    let mut loads = BTreeMap::new();
    for equip in section.fields().keys() {
        let Some(load) = section.section(equip)? else {
            continue;
        };
        load.only(&[
            "heating_capacity_kbtuh",
            "cooling_tons",
            "chiller_kw_per_ton",
            "fan_kw",
            "pump_kw",
            "annual_hours",
            "supply_airflow_cfm",
            "design_oa_cfm",
            "heat_pump_cop",
        ])?;
        let number = |key: &str| load.number_within(key, 0.0, f64::MAX);
        loads.insert(
            equip.clone(),
            EquipmentLoad {
                heating_capacity_kbtuh: number("heating_capacity_kbtuh")?,
                cooling_tons: number("cooling_tons")?,
                chiller_kw_per_ton: number("chiller_kw_per_ton")?,
                fan_kw: number("fan_kw")?,
                pump_kw: number("pump_kw")?,
                annual_hours: number("annual_hours")?,
                supply_airflow_cfm: number("supply_airflow_cfm")?,
                design_oa_cfm: number("design_oa_cfm")?,
                heat_pump_cop: number("heat_pump_cop")?,
            },
        );
    }
    Ok(loads)
}

fn read_occupancy(section: &Section<'_>) -> Result<Schedule, ConfigError> {
    section.only(&["start_hour", "end_hour", "days"])?;
    let usual = Schedule::default();
    let days = match section.numbers("days")? {
        None => usual.days,
        Some(days) => days
            .into_iter()
            .map(|day| match (0.0..=6.0).contains(&day) {
                true => whole(section, "days", day).and_then(|day| {
                    u32::try_from(day).map_err(|_| section.refuse("days", "no day"))
                }),
                false => Err(section.refuse("days", "days are 0 (Monday) to 6")),
            })
            .collect::<Result<_, _>>()?,
    };
    Ok(Schedule {
        start_hour: section
            .number_within("start_hour", 0.0, 24.0)?
            .unwrap_or(usual.start_hour),
        end_hour: section
            .number_within("end_hour", 0.0, 24.0)?
            .unwrap_or(usual.end_hour),
        days,
    })
}

fn read_reset(section: &Section<'_>) -> Result<DeclaredReset, ConfigError> {
    section.only(&["oat", "sat", "tol_f"])?;
    let pair = |key: &str| match section.numbers(key)?.as_deref() {
        Some([one, other]) if one.is_finite() && other.is_finite() => Ok([*one, *other]),
        _ => Err(section.refuse(key, "give two numbers")),
    };
    let (mut oat, mut supply) = (pair("oat")?, pair("sat")?);
    let [one, other] = oat;
    if one == other {
        return Err(section.refuse("oat", "the two outdoor temperatures must differ"));
    }
    if one > other {
        oat.reverse();
        supply.reverse();
    }
    Ok(DeclaredReset {
        oat,
        supply,
        tolerance: section.number_within("tol_f", 0.0, 100.0)?.unwrap_or(1.0),
    })
}

fn read_price(section: &Section<'_>) -> Result<EnergyPrice, ConfigError> {
    section.only(&["electricity_per_kwh", "gas_per_therm", "electricity", "gas"])?;
    let usual = EnergyPrice::default();
    let of_fuel = |plain: &str, fuel: &str, kbtu_per_unit: f64, usual: f64| {
        let own = section.number_within(plain, 0.0, f64::MAX)?;
        match (own, section.section(fuel)?) {
            (Some(_), Some(_)) => {
                Err(section.refuse(fuel, format!("{plain} says the same; give one of them")))
            }
            (Some(price), None) => Ok(price),
            (None, Some(rate)) => Ok(per_kbtu(&rate)? * kbtu_per_unit),
            (None, None) => Ok(usual),
        }
    };
    Ok(EnergyPrice {
        electricity_per_kwh: of_fuel(
            "electricity_per_kwh",
            "electricity",
            mv_units::KBTU_PER_KWH,
            usual.electricity_per_kwh,
        )?,
        gas_per_therm: of_fuel("gas_per_therm", "gas", KBTU_PER_THERM, usual.gas_per_therm)?,
        configured: true,
    })
}

/// What a kBtu costs by a rate per any unit.
fn per_kbtu(section: &Section<'_>) -> Result<f64, ConfigError> {
    section.only(&["rate", "per", "heat_content", "enthalpy"])?;
    let rate = section
        .number_within("rate", 0.0, f64::MAX)?
        .ok_or_else(|| section.refuse("rate", "it is missing; give a number"))?;
    Ok(rate / kbtu_of_price(section)?)
}

#[cfg(test)]
mod tests;
