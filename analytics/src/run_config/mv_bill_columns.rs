//! Columns of a file of bills (M&V §8).

use super::dates::day;
use super::files::CsvTable;
use super::section::{ConfigError, Section};
use crate::mv::Bill;

/// Words of a column that tells estimated reads, and what each means.
const ESTIMATES: [(&[&str], bool); 2] = [
    (
        &[
            "true",
            "t",
            "yes",
            "y",
            "1",
            "1.0",
            "e",
            "est",
            "estimate",
            "estimated",
        ],
        true,
    ),
    (
        &[
            "", "false", "f", "no", "n", "0", "0.0", "a", "act", "actual", "nan",
        ],
        false,
    ),
];

/// Where the parts of a bill stand in its row.
pub(super) struct Columns {
    start: usize,
    end: usize,
    pub energy: usize,
    estimated: Option<usize>,
    unit: Option<usize>,
    pub cost: Option<usize>,
}

impl Columns {
    /// Finds the columns that `bills` names, or those of the usual names.
    ///
    /// # Errors
    /// The file has no such column.
    pub fn find(bills: &Section<'_>, table: &CsvTable, place: &str) -> Result<Self, ConfigError> {
        let find = |name: &str| find(table, name, place);
        let named = |key: &str| bills.text(key)?.map(find).transpose();
        let or_usual = |key: &str| Ok(bills.text(key)?.unwrap_or(key).to_owned());
        let usual = |key: &str| or_usual(key).and_then(|name: String| find(&name));
        Ok(Self {
            start: usual("start")?,
            end: usual("end")?,
            energy: usual("energy")?,
            estimated: named("estimated")?,
            unit: named("units_column")?,
            cost: named("cost")?,
        })
    }

    /// The rows as bills, their quantities multiplied by a factor.
    ///
    /// # Errors
    /// A date is none, or a word does not tell whether a read is estimated.
    pub fn bills(
        &self,
        table: &CsvTable,
        day_after_end: bool,
        factor: f64,
        place: &str,
    ) -> Result<Vec<Bill>, ConfigError> {
        let mut bills = Vec::with_capacity(table.rows.len());
        for (number, row) in (2..).zip(&table.rows) {
            let cell = |column: usize| row.get(column).map_or("", String::as_str);
            let refuse = |problem: String| {
                ConfigError::new(place, format!("row {number} of the bills: {problem}"))
            };
            let date = |column: usize| {
                day(cell(column)).ok_or_else(|| {
                    refuse(format!(
                        "{:?} is no date; write it as 2024-03-31 or 3/31/2024",
                        cell(column)
                    ))
                })
            };
            let amount = |column: usize| amount(row, column);
            let estimated = match self.estimated {
                None => false,
                Some(column) => is_estimated(cell(column)).ok_or_else(|| {
                    refuse(format!(
                        "{:?} does not tell whether the read is estimated; write true or false, yes or no, 1 or 0, E or A",
                        cell(column)
                    ))
                })?,
            };
            bills.push(Bill {
                first_day: date(self.start)?,
                end_day: date(self.end)?.saturating_add(i64::from(day_after_end)),
                energy: amount(self.energy) * factor,
                cost: self.cost.map_or(f64::NAN, amount),
                estimated,
            });
        }
        Ok(bills)
    }

    /// The one unit that the rows name.
    ///
    /// # Errors
    /// They name several.
    pub fn unit(&self, table: &CsvTable, place: &str) -> Result<Option<String>, ConfigError> {
        let Some(column) = self.unit else {
            return Ok(None);
        };
        let mut units: Vec<&str> = table
            .rows
            .iter()
            .filter_map(|row| row.get(column).map(String::as_str))
            .filter(|unit| !unit.is_empty())
            .collect();
        units.sort_unstable();
        units.dedup();
        match units[..] {
            [] => Ok(None),
            [unit] => Ok(Some(unit.to_owned())),
            _ => Err(ConfigError::new(
                place,
                format!(
                    "the bills are in several units ({}); convert them to one",
                    units.join(", ")
                ),
            )),
        }
    }
}

fn is_estimated(word: &str) -> Option<bool> {
    let word = word.to_lowercase();
    let known = ESTIMATES
        .iter()
        .find(|(words, _)| words.contains(&word.as_str()));
    known.map(|(_, estimated)| *estimated)
}

/// The column of this name.
///
/// # Errors
/// There is none.
pub(super) fn find(table: &CsvTable, name: &str, place: &str) -> Result<usize, ConfigError> {
    let found = table.headers.iter().position(|header| header == name);
    found.ok_or_else(|| {
        ConfigError::new(
            place,
            format!(
                "the bills have no column {name:?}; they have {}",
                table.headers.join(", ")
            ),
        )
    })
}

/// The number of a cell; NaN when it is none.
pub(super) fn amount(row: &[String], column: usize) -> f64 {
    let cell = row.get(column).map_or("", String::as_str);
    cell.parse().unwrap_or(f64::NAN)
}
