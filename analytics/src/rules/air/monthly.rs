//! A minimum that may differ from month to month (Air rules §2.12, §2.15).

use chrono::{DateTime, Datelike};
use serde_json::Value;

use crate::parameters::{ParameterError, Parameters};

/// A value for all year, and those of single months.
#[derive(Debug, Clone, PartialEq)]
pub struct Monthly {
    pub all_year: f64,
    /// January first.
    pub by_month: [Option<f64>; 12],
}

impl Monthly {
    /// The value with the months that the parameter `by_month` names.
    pub fn of(all_year: f64, parameters: &Parameters, by_month: &str) -> Self {
        let mut months = [None; 12];
        for (month, value) in parameters.mapping(by_month).into_iter().flatten() {
            if let Some(slot) = place(month).and_then(|place| months.get_mut(place)) {
                *slot = value.as_f64();
            }
        }
        Self {
            all_year,
            by_month: months,
        }
    }

    /// Whether a month has a value of its own.
    pub fn is_seasonal(&self) -> bool {
        self.by_month.iter().any(Option::is_some)
    }

    /// The value at each stamp.
    pub fn at(&self, stamps: &[i64]) -> Vec<f64> {
        if !self.is_seasonal() {
            return vec![self.all_year; stamps.len()];
        }
        stamps
            .iter()
            .map(|stamp| {
                usize::try_from(DateTime::from_timestamp_nanos(*stamp).month0())
                    .ok()
                    .and_then(|month| self.by_month.get(month).copied().flatten())
                    .unwrap_or(self.all_year)
            })
            .collect()
    }
}

fn place(month: &str) -> Option<usize> {
    let number: usize = month.trim().parse().ok()?;
    number.checked_sub(1).filter(|place| *place < 12)
}

/// Refuses months that are none, and values that are no number.
///
/// # Errors
/// Names the parameter and what is wrong.
pub fn check_months(parameters: &Parameters, by_month: &str) -> Result<(), ParameterError> {
    for (month, value) in parameters.mapping(by_month).into_iter().flatten() {
        if place(month).is_none() {
            return Err(
                parameters.refuse(by_month, format!("\"{month}\" is no month from 1 to 12"))
            );
        }
        if !value.is_number() {
            return Err(
                parameters.refuse(by_month, format!("{value} of month {month} is no number"))
            );
        }
    }
    Ok(())
}

/// The months as a metric: null when there are none.
pub fn months_metric(parameters: &Parameters, by_month: &str) -> Value {
    parameters
        .mapping(by_month)
        .filter(|months| !months.is_empty())
        .map_or(Value::Null, |months| Value::Object(months.clone()))
}
