//! Reference samples in a CSV file.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime};

use super::comparison::ReferenceSeries;
use crate::frame::Mean;
use crate::run_config::CsvTable;
use crate::wall_clock::parse_bound;

/// Forms of times beside the ISO ones; months first, as loggers of this field write them.
const FORMS: [&str; 6] = [
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M:%S%.f",
    "%m/%d/%Y %H:%M:%S%.f",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %I:%M:%S %p",
];

/// The samples of a file. Without names the time is the first column, and the values are the next one; what cannot be read
/// is no sample; of several samples at one time the mean counts.
///
/// # Errors
/// There is no such column, or not one row can be read; for people.
pub(super) fn series(
    text: &str,
    time_column: Option<&str>,
    value_column: Option<&str>,
) -> Result<ReferenceSeries, String> {
    let table = CsvTable::parse(text).ok_or("the file has no header")?;
    let place = |name: &str| {
        table
            .column(name)
            .ok_or_else(|| format!("the file has no column {name:?}"))
    };
    let time = time_column.map_or(Ok(0), place)?;
    let value = match value_column {
        Some(name) => place(name)?,
        // The next one that is not the time.
        None => usize::from(time == 0),
    };
    if value >= table.headers.len() {
        return Err("the file has no column of values".to_owned());
    }
    let mut samples: BTreeMap<i64, Mean> = BTreeMap::new();
    for row in &table.rows {
        let sample = row.get(time).and_then(|cell| stamp(cell));
        let number = row.get(value).and_then(|cell| cell.parse::<f64>().ok());
        if let (Some(stamp), Some(number)) = (sample, number) {
            samples.entry(stamp).or_default().add(number);
        }
    }
    if samples.is_empty() {
        return Err("no row of the file has a time and a number".to_owned());
    }
    let (stamps, values) = samples
        .into_iter()
        .map(|(stamp, mean)| (stamp, mean.value()))
        .unzip();
    Ok(ReferenceSeries { stamps, values })
}

/// A time of the site's wall clock; one with an offset is taken as its own clock shows it.
fn stamp(cell: &str) -> Option<i64> {
    let cell = cell.trim();
    let form = |form: &&str| NaiveDateTime::parse_from_str(cell, form).ok();
    parse_bound(cell).or_else(|| {
        let time = FORMS.iter().find_map(form).or_else(|| {
            DateTime::parse_from_rfc3339(cell)
                .ok()
                .map(|time| time.naive_local())
        })?;
        time.and_utc().timestamp_nanos_opt()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall_clock::iso;

    #[test]
    fn files_of_loggers_are_read() {
        let text = "Nr,Date Time,Temp\n1,03/01/2024 01:00:00 PM,55.5\n2,2024-03-01T14:00:00,56\n\
                    3,2024-03-01 14:00:00,58\n4,soon,60\n5,2024-03-01 15:00,n/a\n";
        let read = series(text, Some("date time"), Some("Temp")).unwrap();
        let stamps: Vec<String> = read.stamps.iter().map(|stamp| iso(*stamp)).collect();
        assert_eq!(stamps, ["2024-03-01T13:00:00", "2024-03-01T14:00:00"]);
        assert_eq!(read.values, [55.5, 57.0]);
        let usual = series("t,v\n2024-03-01,1\n", None, None).unwrap();
        assert_eq!(usual.values, [1.0]);
    }

    #[test]
    fn files_without_samples_are_refused() {
        for (text, time, told) in [
            ("", None, "no header"),
            ("t\n2024-03-01\n", None, "no column of values"),
            ("t,v\n2024-03-01,1\n", Some("when"), "no column \"when\""),
            ("t,v\nsoon,1\n", None, "no row"),
        ] {
            let refused = series(text, time, None).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
