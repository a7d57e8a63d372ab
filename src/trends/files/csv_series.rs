//! One series of samples out of a CSV file: a column of times and one of values.

use niagara_analytics::run_config::CsvTable;

use super::profile::Profile;
use super::timestamps::read_stamps;
use crate::trends::site_time::SiteClock;

/// Samples in the order of time; each stamp once, the first sample of several counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CsvSeries {
    /// Nanoseconds of the site's wall clock.
    pub stamps: Vec<i64>,
    /// Never NaN.
    pub values: Vec<f64>,
}

/// Reads a file's text. Without names the time is in the first column, and the values are in the next one. Cells that are
/// no time or no number are left out.
///
/// # Errors
/// A named column is missing, there are fewer than two, or no row is a sample.
pub fn parse(
    text: &str,
    [time, value]: [Option<&str>; 2],
    clock: Option<SiteClock>,
) -> Result<CsvSeries, String> {
    let table = CsvTable::parse(text).ok_or("it has no header")?;
    let column = |name: Option<&str>, usual: usize| match name {
        Some(name) => table.column(name).ok_or_else(|| {
            format!(
                "it has no column {name:?}; it has {}",
                table.headers.join(", ")
            )
        }),
        None if usual < table.headers.len() => Ok(usual),
        None => Err("it needs two columns, a time and a value".to_owned()),
    };
    let time = column(time, 0)?;
    let value = column(value, if time == 0 { 1 } else { 0 })?;
    if time == value {
        return Err("the times and the values are the same column".to_owned());
    }
    let profile = Profile::named("generic").ok_or("there is no generic profile")?;
    let times: Vec<&str> = table
        .rows
        .iter()
        .map(|row| row.get(time).map_or("", String::as_str))
        .collect();
    let mut samples: Vec<(i64, f64)> = read_stamps(&times, &profile, clock)
        .stamps
        .into_iter()
        .zip(&table.rows)
        .filter_map(|(stamp, row)| {
            let value = profile.number(row.get(value)?)?;
            Some((stamp?, value))
        })
        .collect();
    samples.sort_by_key(|(stamp, _)| *stamp);
    samples.dedup_by_key(|(stamp, _)| *stamp);
    if samples.is_empty() {
        return Err("no row has a time and a number".to_owned());
    }
    let (stamps, values) = samples.into_iter().unzip();
    Ok(CsvSeries { stamps, values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trends::store::wall_clock::iso;

    #[test]
    fn samples_are_in_the_order_of_time_each_stamp_once() {
        let text = "t,v,w\n2024-03-01 01:00,2,9\n2024-03-01 00:00,1,8\n2024-03-01 01:00,3,7\nx,4,6\n2024-03-01 02:00,bad,5\n";
        let series = parse(text, [None, None], None).unwrap();
        assert_eq!(series.values, [1.0, 2.0]);
        assert_eq!(iso(series.stamps[0]), "2024-03-01T00:00:00");
        let named = parse(text, [Some("T"), Some("w")], None).unwrap();
        assert_eq!(named.values, [8.0, 9.0, 5.0]);
    }

    #[test]
    fn instants_become_the_clock_of_the_site() {
        let berlin = SiteClock::named("Europe/Berlin");
        assert!(berlin.is_some());
        let series = parse("t,v\n2024-03-01T00:00:00Z,1\n", [None, None], berlin).unwrap();
        assert_eq!(iso(series.stamps[0]), "2024-03-01T01:00:00");
    }

    #[test]
    fn what_is_no_series_is_refused() {
        for (text, columns, told) in [
            ("", [None, None], "no header"),
            ("t\n1\n", [None, None], "two columns"),
            ("t,v\n2024-03-01,1\n", [None, Some("x")], "no column \"x\""),
            ("t,v\n2024-03-01,1\n", [Some("v"), Some("v")], "same column"),
            ("t,v\nx,y\n", [None, None], "no row"),
        ] {
            let refused = parse(text, columns, None).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
