//! The two windows that a detector compares (Drift §2.2).

use std::ops::Range;

use crate::frame::Frame;
use crate::numeric;
use crate::wall_clock::Window;

/// The rows of a frame within a window.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    frame: Frame<'a>,
    rows: Range<usize>,
}

impl<'a> Side<'a> {
    /// The rows of a sorted frame from the start of a window to its end, both inclusive.
    pub fn of(frame: Frame<'a>, window: Window) -> Self {
        let stamps = frame.stamps();
        let first = window
            .start
            .map_or(0, |start| stamps.partition_point(|stamp| *stamp < start));
        let end = window.end.map_or(stamps.len(), |end| {
            stamps.partition_point(|stamp| *stamp <= end)
        });
        Self {
            frame,
            rows: first..end.max(first),
        }
    }

    /// All rows of a frame.
    pub fn whole(frame: Frame<'a>) -> Self {
        Self::of(frame, Window::OPEN)
    }

    /// Those of the rows that lie in a window.
    #[must_use]
    pub fn within(&self, window: Window) -> Self {
        let inner = Self::of(self.frame, window).rows;
        let first = inner.start.max(self.rows.start);
        Self {
            frame: self.frame,
            rows: first..inner.end.min(self.rows.end).max(first),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The stamps of the rows.
    pub fn stamps(&self) -> &'a [i64] {
        self.frame
            .stamps()
            .get(self.rows.clone())
            .unwrap_or_default()
    }

    /// Whether the column exists, with samples in the window or not.
    pub fn has(&self, role: &str) -> bool {
        self.frame.has(role)
    }

    /// The values of a role in the window.
    pub fn column(&self, role: &str) -> Option<&'a [f64]> {
        self.frame.column(role)?.get(self.rows.clone())
    }

    /// The values of a role that has at least one sample in the window.
    pub fn with_data(&self, role: &str) -> Option<&'a [f64]> {
        self.column(role)
            .filter(|values| values.iter().any(|value| !value.is_nan()))
    }

    /// Rows in which a status says that the machine runs; all of them without such a column (Drift §4).
    pub fn running(&self, status: &str) -> Vec<bool> {
        match self.column(status) {
            Some(values) => values.iter().map(|value| *value >= 0.5).collect(),
            None => vec![true; self.len()],
        }
    }

    /// Median of a role over the rows of a mask; none when the column is not there or has no sample in them.
    pub fn median(&self, role: &str, rows: &[bool]) -> Option<f64> {
        let median = numeric::median(&kept(self.column(role)?, rows));
        (!median.is_nan()).then_some(median)
    }

    /// Median of a role over all rows.
    pub fn whole_median(&self, role: &str) -> Option<f64> {
        let median = numeric::median(self.column(role)?);
        (!median.is_nan()).then_some(median)
    }
}

/// The values of the rows of a mask, and NaN in the others.
pub fn kept(values: &[f64], rows: &[bool]) -> Vec<f64> {
    values
        .iter()
        .zip(rows)
        .map(|(value, keep)| if *keep { *value } else { f64::NAN })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RoleFrame;
    use crate::wall_clock::{HOUR, parse_bound};

    #[test]
    fn a_date_alone_is_its_midnight_and_both_ends_count() {
        let start = parse_bound("2024-04-08").unwrap();
        let table = RoleFrame {
            stamps: (0..48).map(|row| start + row * HOUR).collect(),
            columns: [("oat".to_owned(), (0..48).map(f64::from).collect())].into(),
            ..RoleFrame::default()
        };
        let frame = Frame::whole(&table);
        let window = |start: &str, end: &str| Window {
            start: parse_bound(start),
            end: parse_bound(end),
        };
        let side = Side::of(frame, window("2024-04-08", "2024-04-09"));
        assert_eq!((side.len(), side.column("oat").unwrap()[24]), (25, 24.0));
        assert!(Side::of(frame, window("2024-04-09", "2024-04-08")).is_empty());
        let later = Side::whole(frame).within(Window {
            start: parse_bound("2024-04-09"),
            end: None,
        });
        assert_eq!((later.len(), later.whole_median("oat")), (24, Some(35.5)));
    }
}
