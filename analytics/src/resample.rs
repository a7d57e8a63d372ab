//! Frames in equal steps, by the rules of pandas (Store §5 step 4).

use std::fmt;

use crate::frame::{Mean, RoleFrame};
use crate::wall_clock::{DAY, HOUR, MINUTE, SECOND, iso};

/// More bins than this come from a damaged stamp or a wrong width, and would fill the memory.
const MOST_BINS: i64 = 20_000_000;

/// Roles of which a bin keeps the greatest value: on at any time in the bin counts as on (Store §10.1).
const ANY_ON: [&str; 2] = ["warmup", "cooldown"];

/// A frame that spans too many bins: a stamp of it is damaged, or the width is too small.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "equipment {equip:?} cannot be resampled to {bins}: its stamps reach from {first} to {last}; narrow the window"
)]
pub struct ResampleError {
    pub equip: String,
    pub bins: BinWidth,
    pub first: String,
    pub last: String,
}

/// Length of a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinWidth(i64);

impl BinWidth {
    /// One hour, the default of runs.
    pub const HOUR: Self = Self(HOUR);

    /// A width in nanoseconds, above zero.
    pub fn from_nanos(nanos: i64) -> Option<Self> {
        (nanos > 0).then_some(Self(nanos))
    }

    /// The width in nanoseconds.
    pub fn nanos(self) -> i64 {
        self.0
    }

    /// Reads a width as pandas writes it: `15min`, `1h`, `7h`, `1D`, `1h30min`.
    ///
    /// ```
    /// use niagara_analytics::BinWidth;
    /// assert_eq!(BinWidth::parse("15min").unwrap().nanos(), 900_000_000_000);
    /// assert_eq!(BinWidth::parse("h"), Some(BinWidth::HOUR));
    /// assert_eq!(BinWidth::parse("0h"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let mut total = 0_i64;
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, behind) = rest.split_at(digits);
            let letters = behind
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(behind.len());
            let (unit, behind) = behind.split_at(letters);
            let unit = match unit {
                "D" | "d" => DAY,
                "h" | "H" => HOUR,
                "min" | "T" | "t" => MINUTE,
                "s" | "S" => SECOND,
                "ms" => SECOND / 1_000,
                _ => return None,
            };
            let number: i64 = if number.is_empty() {
                1
            } else {
                number.parse().ok()?
            };
            total = total.checked_add(number.checked_mul(unit)?)?;
            rest = behind.trim_start();
        }
        Self::from_nanos(total)
    }
}

impl fmt::Display for BinWidth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, nanos) in [("D", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND)] {
            if self.0 % nanos == 0 {
                return write!(formatter, "{}{unit}", self.0 / nanos);
            }
        }
        write!(formatter, "{}ns", self.0)
    }
}

impl RoleFrame {
    /// The frame in bins of equal width: closed and labelled left, anchored at midnight of the first day, from the first
    /// stamp's bin to the last; empty bins are NaN.
    ///
    /// # Errors
    /// The frame spans more than 20 million bins: a stamp of it is damaged, or the width is too small.
    pub fn resampled(&self, bins: BinWidth) -> Result<Self, ResampleError> {
        let (Some(first), Some(last)) = (self.stamps.first(), self.stamps.last()) else {
            return Ok(self.clone());
        };
        let width = bins.nanos();
        let midnight = first.div_euclid(DAY).saturating_mul(DAY);
        let bin_of = |stamp: i64| stamp.saturating_sub(midnight).div_euclid(width);
        let (first_bin, last_bin) = (bin_of(*first), bin_of(*last));
        if last_bin - first_bin >= MOST_BINS {
            return Err(ResampleError {
                equip: self.equip.clone(),
                bins,
                first: iso(*first),
                last: iso(*last),
            });
        }
        let stamps: Vec<i64> = (first_bin..=last_bin)
            .map(|bin| midnight.saturating_add(bin.saturating_mul(width)))
            .collect();
        let bins: Vec<usize> = self
            .stamps
            .iter()
            .map(|stamp| usize::try_from(bin_of(*stamp) - first_bin).unwrap_or(0))
            .collect();
        let columns = self
            .columns
            .iter()
            .map(|(role, values)| {
                let column = if ANY_ON.contains(&role.as_str()) {
                    greatest(values, &bins, stamps.len())
                } else {
                    means(values, &bins, stamps.len())
                };
                (role.clone(), column)
            })
            .collect();
        Ok(Self {
            equip: self.equip.clone(),
            equip_class: self.equip_class.clone(),
            stamps,
            columns,
        })
    }
}

fn means(values: &[f64], bins: &[usize], count: usize) -> Vec<f64> {
    let mut column = vec![f64::NAN; count];
    let mut samples = values.iter().zip(bins).peekable();
    while let Some((value, bin)) = samples.next() {
        let mut mean = Mean::default();
        mean.add(*value);
        while let Some((value, _)) = samples.next_if(|(_, next)| *next == bin) {
            mean.add(*value);
        }
        if let Some(cell) = column.get_mut(*bin) {
            *cell = mean.value();
        }
    }
    column
}

fn greatest(values: &[f64], bins: &[usize], count: usize) -> Vec<f64> {
    let mut column = vec![f64::NAN; count];
    for (value, bin) in values.iter().zip(bins) {
        if let Some(cell) = column.get_mut(*bin) {
            // The greater of NaN and a number is the number.
            *cell = cell.max(*value);
        }
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall_clock::parse_bound;

    fn frame(role: &str, samples: &[(&str, f64)]) -> RoleFrame {
        RoleFrame {
            stamps: samples
                .iter()
                .map(|(time, _)| parse_bound(&format!("2024-03-01T{time}")).unwrap())
                .collect(),
            columns: [(
                role.to_owned(),
                samples.iter().map(|(_, value)| *value).collect(),
            )]
            .into(),
            ..RoleFrame::default()
        }
    }

    fn shown(frame: &RoleFrame, role: &str) -> Vec<String> {
        frame
            .stamps
            .iter()
            .zip(frame.column(role).unwrap())
            .map(|(stamp, value)| format!("{} {value}", &iso(*stamp)[11..16]))
            .collect()
    }

    #[test]
    fn bins_are_those_of_the_specification() {
        let samples = frame(
            "oat",
            &[
                ("00:05", 1.0),
                ("00:59:59", 3.0),
                ("01:00", 5.0),
                ("03:10", 7.0),
            ],
        );
        assert_eq!(
            shown(&samples.resampled(BinWidth::HOUR).unwrap(), "oat"),
            ["00:00 2", "01:00 5", "02:00 NaN", "03:00 7"]
        );
        assert_eq!(
            shown(
                &samples
                    .resampled(BinWidth::parse("45min").unwrap())
                    .unwrap(),
                "oat"
            ),
            ["00:00 1", "00:45 4", "01:30 NaN", "02:15 NaN", "03:00 7"]
        );
    }

    #[test]
    fn the_first_bin_lies_on_the_grid_of_its_day() {
        let samples = frame("oat", &[("13:30", 1.0), ("23:00", 2.0)]);
        assert_eq!(
            shown(
                &samples.resampled(BinWidth::parse("7h").unwrap()).unwrap(),
                "oat"
            ),
            ["07:00 1", "14:00 NaN", "21:00 2"]
        );
    }

    #[test]
    fn a_warm_up_at_any_time_of_the_bin_counts() {
        let samples = frame(
            "warmup",
            &[("00:00", 0.0), ("00:15", 1.0), ("01:00", f64::NAN)],
        );
        assert_eq!(
            shown(&samples.resampled(BinWidth::HOUR).unwrap(), "warmup"),
            ["00:00 1", "01:00 NaN"]
        );
    }

    #[test]
    fn widths_are_read_as_pandas_writes_them() {
        for (text, shown) in [
            ("15min", "15min"),
            ("1h30min", "90min"),
            ("1D", "1D"),
            ("2T", "2min"),
            ("H", "1h"),
        ] {
            assert_eq!(BinWidth::parse(text).unwrap().to_string(), shown);
        }
        for wrong in [
            "",
            "h1",
            "1w",
            "-1h",
            "0min",
            "99999999999999999999h",
            "1 x",
        ] {
            assert_eq!(BinWidth::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn absurd_spans_do_not_fill_the_memory() {
        let mut samples = frame("oat", &[("00:00", 1.0), ("01:00", 2.0)]);
        samples.stamps[1] = i64::MAX;
        let error = samples
            .resampled(BinWidth::parse("1s").unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains("2262"), "{error}");
    }
}
