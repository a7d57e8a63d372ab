//! Monthly bills as a project declares them (M&V §8; Engine §5.9).

use super::files::{ConfigFiles, CsvTable};
use super::mv_bill_columns::Columns;
use super::mv_bill_scale::{Quantities, ScaleCheck, ScaleOverride, scale_check, scale_override};
use super::mv_terms::whole;
use super::mv_units::MeterUnit;
use super::section::{ConfigError, Section};
use super::site::UnitBlock;
use crate::mv::{BaseSearch, SettledBills};

/// Base of the degree days unless the entry names one, °F.
const USUAL_BASE: f64 = 65.0;
/// Fewest bills of a baseline.
const MIN_BILLS: usize = 9;

/// Where the weather of the bills is taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BillWeather {
    /// A CSV file: times, then temperatures.
    File(String),
    /// A weather service, which no call asks.
    Fetched,
    /// What `shared_oat` says; none when the configuration has none.
    Shared,
}

/// What the energy that was not used would have cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CostOfEnergy {
    /// What each bill says.
    Billed,
    /// Per unit of the bills.
    Rate(f64),
}

/// Base of the degree days.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DegreeDayBase {
    /// °F; the model is one of temperature, and degree days are told beside it.
    Fixed(f64),
    /// The bills choose bases, and a model over degree days competes with that over temperature.
    Chosen(BaseSearch),
}

/// A meter that is billed.
#[derive(Debug, Clone, PartialEq)]
pub struct BilledMeter {
    /// Its name in findings: `name`, else the name of the file without its extension.
    pub label: String,
    /// Read when the configuration was.
    pub bills: SettledBills,
    /// Unit of the quantities as the entry or the file names it.
    pub unit_name: Option<String>,
    /// The same, with what it is in the report; none where the configuration has no `units` block.
    pub unit: Option<MeterUnit>,
    pub scale: Option<ScaleOverride>,
    pub check: Option<ScaleCheck>,
    pub weather: BillWeather,
    pub base: DegreeDayBase,
    /// Fewest usable bills of a baseline.
    pub min_bills: usize,
    pub cost: Option<CostOfEnergy>,
}

/// Keys of a billing entry.
const ENTRY_KEYS: [&str; 25] = [
    "bills",
    "name",
    "oat",
    "base_f",
    "base_search",
    "min_bills",
    "min_coverage",
    "calendarize",
    "avoided_cost",
    "period",
    "reporting_period",
    "intermediate_period",
    "method",
    "kernel",
    "normal_year",
    "interval",
    "min_days",
    "extrapolation",
    "model",
    "validity",
    "adjustments",
    "ecm_dates",
    "settle_days",
    "materiality_threshold",
    "rebaseline",
];

/// Keys of `bills`.
const BILLS_KEYS: [&str; 15] = [
    "file",
    "start",
    "end",
    "energy",
    "estimated",
    "units",
    "units_column",
    "end_inclusive",
    "merge_estimated",
    "cost",
    "heat_content",
    "enthalpy",
    "meter_type",
    "scale_check",
    "scale_override",
];

impl BilledMeter {
    /// Reads the keys of an entry that are those of bills, and its file.
    ///
    /// # Errors
    /// A key is unknown or wrong, or the bills cannot be used.
    pub fn read(
        entry: &Section<'_>,
        units: Option<&UnitBlock>,
        files: &dyn ConfigFiles,
    ) -> Result<Self, ConfigError> {
        check_entry(entry)?;
        let empty = serde_json::Map::new();
        let (bills, file) = match entry.text("bills") {
            Ok(Some(file)) => (Section::root(&empty), file),
            _ => {
                let bills = entry.section("bills")?.ok_or_else(|| no_file(entry))?;
                bills.only(&BILLS_KEYS)?;
                let file = bills.text("file")?.filter(|file| !file.is_empty());
                (bills.clone(), file.ok_or_else(|| no_file(entry))?)
            }
        };
        let place = entry.at("bills");
        let table = CsvTable::read(files, file, &place)?;
        let columns = Columns::find(&bills, &table, &place)?;
        let scale = scale_override(&bills)?;
        let factor = scale.as_ref().map_or(1.0, |scale| scale.factor);
        let day_after_end = bills.flag("end_inclusive")?.unwrap_or(true);
        let rows = columns.bills(&table, day_after_end, factor, &place)?;
        let merge = bills.flag("merge_estimated")?.unwrap_or(true);
        let settled = SettledBills::of(&rows, merge)
            .map_err(|wrong| ConfigError::new(place.clone(), format!("{file:?}: {wrong}")))?;
        let unit_name = match bills.text("units")? {
            Some(unit) => Some(unit.to_owned()),
            None => columns.unit(&table, &place)?,
        };
        let quantities = Quantities {
            table: &table,
            energy: columns.energy,
            factor,
            unit: unit_name.as_deref(),
        };
        Ok(Self {
            label: label(entry, file)?,
            bills: settled,
            unit: MeterUnit::of_bills(&bills, unit_name.as_deref(), units)?,
            check: scale_check(&bills, &quantities, units, &place)?,
            unit_name,
            scale,
            weather: weather(entry)?,
            base: base(entry)?,
            min_bills: whole(entry, "min_bills")?.unwrap_or(MIN_BILLS),
            cost: cost(entry, columns.cost.is_some())?,
        })
    }
}

fn no_file(entry: &Section<'_>) -> ConfigError {
    entry.refuse(
        "bills",
        "it must be the name of a file, or an object with file and the columns of it",
    )
}

fn check_entry(entry: &Section<'_>) -> Result<(), ConfigError> {
    for (key, problem) in [
        (
            "drivers",
            "bills know no days, so that only model \"change_point\" can be fitted",
        ),
        (
            "occupied_weekdays",
            "bills know no days, so that only model \"change_point\" can be fitted",
        ),
    ] {
        if entry.value(key).is_some() {
            return Err(entry.refuse(key, problem));
        }
    }
    entry.only(&ENTRY_KEYS)?;
    if let Some(model) = entry.text("model")?
        && model != "change_point"
    {
        return Err(entry.refuse(
            "model",
            "bills know no days, so that only model \"change_point\" can be fitted",
        ));
    }
    match entry.value("calendarize") {
        None => Ok(()),
        Some(serde_json::Value::Bool(_)) => Ok(()),
        Some(_) => {
            let refuse =
                || entry.refuse("calendarize", "it must be true, or {\"max_gap_days\": n}");
            let calendar = entry.section("calendarize").map_err(|_| refuse())?;
            let calendar = calendar.ok_or_else(refuse)?;
            calendar.only(&["max_gap_days"])?;
            calendar.number_within("max_gap_days", 0.0, f64::MAX)?;
            Ok(())
        }
    }
}

fn label(entry: &Section<'_>, file: &str) -> Result<String, ConfigError> {
    if let Some(name) = entry.text("name")?.filter(|name| !name.trim().is_empty()) {
        return Ok(name.to_owned());
    }
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    Ok(match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    })
}

fn weather(entry: &Section<'_>) -> Result<BillWeather, ConfigError> {
    let Some(oat) = entry.section("oat").map_err(|_| {
        entry.refuse(
            "oat",
            "it must be an object: {\"file\": a CSV file of times and temperatures}",
        )
    })?
    else {
        return Ok(BillWeather::Shared);
    };
    Ok(match oat.text("file")? {
        Some(file) => BillWeather::File(file.to_owned()),
        None if oat.value("fetch").is_some() => BillWeather::Fetched,
        None => BillWeather::Shared,
    })
}

fn base(entry: &Section<'_>) -> Result<DegreeDayBase, ConfigError> {
    let is_chosen = entry.value("base_f").and_then(serde_json::Value::as_str) == Some("auto");
    if !is_chosen {
        if entry.value("base_search").is_some() {
            return Err(entry.refuse("base_search", "it needs base_f: \"auto\""));
        }
        let base = entry
            .number("base_f")
            .map_err(|_| entry.refuse("base_f", "it must be a temperature in °F, or \"auto\""))?;
        return Ok(DegreeDayBase::Fixed(base.unwrap_or(USUAL_BASE)));
    }
    let mut search = BaseSearch::default();
    if let Some(given) = entry.section("base_search")? {
        given.only(&["heating", "cooling", "step"])?;
        for (key, bounds) in [
            ("heating", &mut search.heating),
            ("cooling", &mut search.cooling),
        ] {
            match given.numbers(key)?.as_deref() {
                None => {}
                Some([low, high]) if low < high => *bounds = (*low, *high),
                Some(_) => {
                    return Err(
                        given.refuse(key, "it must be [low, high] in °F with low below high")
                    );
                }
            }
        }
        if let Some(step) = given.number("step")? {
            if step <= 0.0 {
                return Err(given.refuse("step", "it must be above 0"));
            }
            search.step = step;
        }
        for (side, (low, high)) in [("heating", search.heating), ("cooling", search.cooling)] {
            let count = search.count((low, high));
            if count > BaseSearch::MOST_BASES as f64 {
                let problem = format!(
                    "{side} from {low} to {high} °F by {} makes {count:.0} bases; at most {} are tried: take a larger step, or \
                     narrower bounds",
                    search.step,
                    BaseSearch::MOST_BASES
                );
                return Err(given.refuse("step", problem));
            }
        }
    }
    Ok(DegreeDayBase::Chosen(search))
}

fn cost(entry: &Section<'_>, bills_state_cost: bool) -> Result<Option<CostOfEnergy>, ConfigError> {
    let refuse = || {
        entry.refuse(
            "avoided_cost",
            "it must be \"bills\", or {\"rate\": cost of a unit of the bills}",
        )
    };
    let Some(value) = entry.value("avoided_cost") else {
        return Ok(None);
    };
    if value.as_str() == Some("bills") {
        return match bills_state_cost {
            true => Ok(Some(CostOfEnergy::Billed)),
            false => Err(entry.refuse(
                "avoided_cost",
                "\"bills\" needs bills.cost, the column of what was billed",
            )),
        };
    }
    let section = Section::of(value, entry.at("avoided_cost")).map_err(|_| refuse())?;
    section.only(&["rate"]).map_err(|_| refuse())?;
    match section.number("rate").map_err(|_| refuse())? {
        Some(rate) => Ok(Some(CostOfEnergy::Rate(rate))),
        None => Err(refuse()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str, entry: Value) -> Result<BilledMeter, String> {
        let files = BTreeMap::from([("bills/main gas.csv".to_owned(), text.to_owned())]);
        Section::of(&entry, "mv[0]")
            .and_then(|section| BilledMeter::read(&section, None, &files))
            .map_err(|error| error.to_string())
    }

    const TWO: &str = "start,end,energy,read,cost,unit\n2023-01-01,2023-01-31,310,A,31,therm\n\
                       2023-02-01,2023-02-28,280,e,,therm\n3/1/2023,\"Mar 31, 2023\",x,no,5,\n";

    #[test]
    fn bills_are_read_by_their_columns() {
        let meter = read(
            TWO,
            json!({"bills": {"file": "bills/main gas.csv", "estimated": "read", "cost": "cost",
                "units_column": "unit", "scale_override": {"factor": 10.0, "reason": "tenths"}},
                "avoided_cost": "bills", "base_f": "auto", "base_search": {"heating": [50, 60]}}),
        )
        .unwrap();
        assert_eq!(meter.label, "main gas");
        assert_eq!((meter.bills.bills.len(), meter.bills.merged), (2, 1));
        let [january, merged] = meter.bills.bills[..] else {
            panic!("two bills");
        };
        assert_eq!((january.energy, january.cost), (3100.0, 31.0));
        assert_eq!(january.end_day - january.first_day, 31);
        assert!(merged.energy.is_nan());
        assert_eq!(merged.end_day - merged.first_day, 59);
        assert_eq!(meter.unit_name.as_deref(), Some("therm"));
        assert_eq!(meter.cost, Some(CostOfEnergy::Billed));
        let DegreeDayBase::Chosen(search) = meter.base else {
            panic!("chosen");
        };
        assert_eq!(
            (search.heating, search.cooling),
            ((50.0, 60.0), (50.0, 80.0))
        );
        assert_eq!((meter.weather, meter.min_bills), (BillWeather::Shared, 9));
    }

    #[test]
    fn the_last_day_of_a_bill_may_be_the_first_of_the_next() {
        let text = "start,end,energy\n2023-01-01,2023-02-01,1\n2023-02-01 06:00,2023-03-01,2\n";
        let exclusive = json!({"bills": {"file": "bills/main gas.csv", "end_inclusive": false},
            "name": "Gas", "oat": {"fetch": "x"}});
        let meter = read(text, exclusive).unwrap();
        assert_eq!((meter.label.as_str(), meter.bills.bills.len()), ("Gas", 2));
        assert_eq!(meter.weather, BillWeather::Fetched);
        let refused = read(text, json!({"bills": "bills/main gas.csv"})).unwrap_err();
        assert!(refused.contains("bills 1 and 2 overlap"), "{refused}");
    }

    #[test]
    fn everything_wrong_is_refused_with_its_place() {
        let file = "bills/main gas.csv";
        for (entry, told) in [
            (json!({"bills": 5}), "mv[0].bills: it must be"),
            (json!({"bills": {}}), "mv[0].bills: it must be the name"),
            (json!({"bills": "no.csv"}), "mv[0].bills: \"no.csv\""),
            (
                json!({"bills": file, "class": "METER"}),
                "mv[0].class: there is no such key",
            ),
            (
                json!({"bills": file, "drivers": ["weekday"]}),
                "mv[0].drivers",
            ),
            (json!({"bills": file, "model": "cp_driver"}), "mv[0].model"),
            (
                json!({"bills": file, "calendarize": "month"}),
                "mv[0].calendarize",
            ),
            (json!({"bills": file, "oat": "x"}), "mv[0].oat"),
            (json!({"bills": file, "base_f": "x"}), "mv[0].base_f"),
            (
                json!({"bills": file, "base_search": {}}),
                "mv[0].base_search: it needs",
            ),
            (
                json!({"bills": file, "base_f": "auto", "base_search": {"step": 0}}),
                "mv[0].base_search.step",
            ),
            (
                json!({"bills": file, "base_f": "auto", "base_search": {"step": 0.05}}),
                "heating from 40 to 70 °F by 0.05 makes 601 bases; at most 400",
            ),
            (
                json!({"bills": file, "base_f": "auto", "base_search": {"cooling": [-1e300, 1e300]}}),
                "mv[0].base_search.step: cooling from",
            ),
            (
                json!({"bills": file, "base_f": "auto", "base_search": {"cooling": [60, 60]}}),
                "mv[0].base_search.cooling",
            ),
            (
                json!({"bills": file, "avoided_cost": "bills"}),
                "needs bills.cost",
            ),
            (
                json!({"bills": file, "avoided_cost": {"rate": "x"}}),
                "mv[0].avoided_cost",
            ),
            (json!({"bills": {"file": file, "x": 1}}), "mv[0].bills.x"),
            (
                json!({"bills": {"file": file, "energy": "kWh"}}),
                "no column \"kWh\"; they have",
            ),
            (
                json!({"bills": {"file": file, "estimated": "energy"}}),
                "row 2 of the bills",
            ),
            (
                json!({"bills": {"file": file, "scale_override": {"factor": 2.0}}}),
                "mv[0].bills.scale_override.reason",
            ),
            (
                json!({"bills": {"file": file, "scale_override": {"factor": 0, "reason": "x"}}}),
                "mv[0].bills.scale_override.factor",
            ),
        ] {
            let refused = read(TWO, entry).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        let undated = read(
            "start,end,energy\n2023-01-01,soon,1\n",
            json!({"bills": file}),
        );
        assert!(
            undated
                .unwrap_err()
                .contains("row 2 of the bills: \"soon\" is no date")
        );
        let mixed =
            "start,end,energy,u\n2023-01-01,2023-01-31,1,kWh\n2023-02-01,2023-02-28,1,therm\n";
        let refused =
            read(mixed, json!({"bills": {"file": file, "units_column": "u"}})).unwrap_err();
        assert!(refused.contains("kWh, therm"), "{refused}");
    }
}
