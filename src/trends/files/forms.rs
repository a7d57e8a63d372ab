//! The forms in which files hold the samples of points (Store §11), and the history exports of Niagara itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::FilesError;
use super::profile::{Profile, is_nothing};
use super::table::{Table, line_in_file};
use super::timestamps::read_stamps;
use crate::station::facade::parse_trend_flags;
use crate::station::status::StatusWords;
use crate::trends::site_time::SiteClock;

/// How a file holds its points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileForm {
    /// A column of times and one per point; the times are the first column unless one is named.
    Wide { timestamp: Option<String> },
    /// One record per sample.
    Long(LongColumns),
    /// Files `<equip>_<measure>.csv`; which part is the equipment is found by a measure that each one has.
    PerPoint { marker: String },
    /// Niagara's own export of a history: Timestamp, Trend Flags, Status, Value.
    NiagaraHistory,
}

/// Names of the columns of the long form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongColumns {
    pub timestamp: String,
    pub point: String,
    pub value: String,
    /// Left out where there is no such column.
    pub unit: String,
}

impl Default for LongColumns {
    fn default() -> Self {
        Self {
            timestamp: "timestamp".into(),
            point: "point".into(),
            value: "value".into(),
            unit: "unit".into(),
        }
    }
}

/// The measure that finds the equipment of per-point files (Store §11).
pub const USUAL_MARKER: &str = "SpaceTemp";

/// The samples of one point of a file, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSeries {
    /// What the mapping is asked for.
    pub token: String,
    /// Equipment that the name of the file tells.
    pub equip: Option<String>,
    /// Unit that the file states.
    pub unit: Option<String>,
    pub stamps: Vec<i64>,
    pub cells: Vec<String>,
    /// Records left out because their status or flags are bad.
    pub invalid: u64,
    /// Values left out because another record has the same time.
    pub repeated: u64,
}

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileContent {
    pub series: Vec<FileSeries>,
    /// Cells that are no times.
    pub without_time: u64,
    /// The first of them: its line and what it holds.
    pub first_without_time: Option<(u64, String)>,
    /// The line and the cell that tell that the day stands before the month.
    pub day_first: Option<(u64, String)>,
    /// Instants kept the clock that the file shows, because the zone of the site is not known.
    pub clock_as_written: bool,
}

/// Reads one file; `equips` are the equipment ids of a folder of per-point files.
///
/// # Errors
/// The file is not of the form.
pub fn read_file(
    path: &Path,
    form: &FileForm,
    profile: &Profile,
    site: Option<SiteClock>,
    equips: &[String],
) -> Result<FileContent, FilesError> {
    let table = Table::read(path, profile)?;
    let reader = Reader {
        path,
        table: &table,
        profile,
        site,
    };
    match form {
        FileForm::Wide { timestamp } => reader.wide(timestamp.as_deref()),
        FileForm::Long(columns) => reader.long(columns),
        FileForm::PerPoint { .. } => reader.per_point(equips),
        FileForm::NiagaraHistory => reader.niagara(),
    }
}

/// The equipment ids of per-point files: the names of those with the marker measure, the longest first.
pub fn equipment_of_files(files: &[PathBuf], marker: &str) -> Vec<String> {
    let ending = format!("_{marker}");
    let mut equips: Vec<String> = files
        .iter()
        .filter_map(|file| stem(file).strip_suffix(&ending).map(str::to_owned))
        .collect();
    equips.sort_by_key(|equip| std::cmp::Reverse(equip.len()));
    equips
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// `Zone temp (degC)` → the unit.
fn unit_in(header: &str) -> Option<String> {
    let (_, behind) = header.rsplit_once('(')?;
    let unit = behind.trim_end().strip_suffix(')')?.trim();
    (!unit.is_empty()).then(|| unit.to_owned())
}

struct Reader<'a> {
    path: &'a Path,
    table: &'a Table,
    profile: &'a Profile,
    site: Option<SiteClock>,
}

impl Reader<'_> {
    fn wrong(&self, problem: String) -> FilesError {
        FilesError::Form {
            file: self.path.to_owned(),
            problem,
        }
    }

    fn need(&self, name: &str) -> Result<usize, FilesError> {
        self.table.find(name).ok_or_else(|| {
            self.wrong(format!(
                "it has no column {name:?}; it has {}",
                self.table.header.join(", ")
            ))
        })
    }

    /// Number of the line of a record.
    fn line(&self, row: usize) -> u64 {
        // Without blank lines and line ends in cells, should the file be gone meanwhile.
        let counted = u64::try_from(row).unwrap_or(u64::MAX).saturating_add(2);
        line_in_file(self.path, self.profile, row).unwrap_or(counted)
    }

    /// The stamps of a column, with what is worth noting about them.
    fn stamps(
        &self,
        column: usize,
        content: &mut FileContent,
    ) -> Result<Vec<Option<i64>>, FilesError> {
        let cells = self.table.column(column);
        let read = read_stamps(&cells, self.profile, self.site);
        let missing = read.stamps.iter().filter(|stamp| stamp.is_none()).count();
        if missing == read.stamps.len() && missing > 0 {
            return Err(self.wrong(format!(
                "no cell of the column {:?} is a time; choose another --profile or --timestamp column",
                self.table.header.get(column).map_or("", String::as_str)
            )));
        }
        content.day_first = read.day_first.map(|row| {
            let cell = cells.get(row).copied().unwrap_or_default();
            (self.line(row), cell.to_owned())
        });
        content.without_time += missing as u64;
        if let Some(row) = read.stamps.iter().position(Option::is_none) {
            let cell = cells.get(row).copied().unwrap_or_default();
            content.first_without_time = Some((self.line(row), cell.to_owned()));
        }
        content.clock_as_written |= read.clock_as_written;
        Ok(read.stamps)
    }

    fn wide(&self, timestamp: Option<&str>) -> Result<FileContent, FilesError> {
        let mut content = FileContent::default();
        let at = timestamp.map_or(Ok(0), |name| self.need(name))?;
        let stamps = self.stamps(at, &mut content)?;
        // Of two records of one time the first counts, whatever its cells hold.
        let mut seen = std::collections::HashSet::new();
        let mut again = Vec::new();
        let mut first = Vec::with_capacity(stamps.len());
        for (row, stamp) in stamps.into_iter().enumerate() {
            let is_new = stamp.is_none_or(|stamp| seen.insert(stamp));
            if !is_new {
                again.push(row);
            }
            first.push(stamp.filter(|_| is_new));
        }
        let holds =
            |cells: &[&str], row: &usize| cells.get(*row).is_some_and(|cell| !is_nothing(cell));
        for (number, head) in self.table.header.iter().enumerate() {
            if number != at && !head.is_empty() {
                let cells = self.table.column(number);
                let repeated = again.iter().filter(|row| holds(&cells, row)).count();
                content.series.push(FileSeries {
                    token: head.clone(),
                    repeated: repeated as u64,
                    ..collect(&first, &cells)
                });
            }
        }
        Ok(content)
    }

    fn long(&self, columns: &LongColumns) -> Result<FileContent, FilesError> {
        let mut content = FileContent::default();
        let stamps = self.stamps(self.need(&columns.timestamp)?, &mut content)?;
        let points = self.table.column(self.need(&columns.point)?);
        let values = self.table.column(self.need(&columns.value)?);
        let units = self
            .table
            .find(&columns.unit)
            .map(|number| self.table.column(number));
        let mut series: BTreeMap<&str, FileSeries> = BTreeMap::new();
        for (row, (stamp, point)) in stamps.into_iter().zip(points).enumerate() {
            let (Some(stamp), Some(value)) = (stamp, values.get(row)) else {
                continue;
            };
            let of_point = series.entry(point).or_insert_with(|| FileSeries {
                token: point.to_owned(),
                ..FileSeries::default()
            });
            let unit = units
                .as_ref()
                .and_then(|units| units.get(row))
                .filter(|unit| !unit.is_empty());
            match (&of_point.unit, unit) {
                (None, Some(unit)) => of_point.unit = Some((*unit).to_owned()),
                (Some(known), Some(unit)) if known != unit => {
                    return Err(self.wrong(format!(
                        "the point {point:?} is in {known} and in {unit}; split it into two points"
                    )));
                }
                _ => {}
            }
            of_point.stamps.push(stamp);
            of_point.cells.push((*value).to_owned());
        }
        content.series = series
            .into_values()
            .filter(|series| !series.token.is_empty())
            .collect();
        Ok(content)
    }

    fn per_point(&self, equips: &[String]) -> Result<FileContent, FilesError> {
        let mut content = FileContent::default();
        let stamps = self.stamps(0, &mut content)?;
        let name = stem(self.path);
        let owner = equips
            .iter()
            .find_map(|equip| Some((equip, name.strip_prefix(equip.as_str())?.strip_prefix('_')?)));
        let (equip, token) = match owner {
            Some((equip, measure)) => (Some(equip.clone()), measure.to_owned()),
            None => (None, name.clone()),
        };
        content.series.push(FileSeries {
            token,
            equip,
            unit: self.table.header.get(1).and_then(|head| unit_in(head)),
            ..collect(&stamps, &self.table.column(1))
        });
        Ok(content)
    }

    fn niagara(&self) -> Result<FileContent, FilesError> {
        let starts = |word: &str| {
            let plain = |text: &str| text.to_lowercase().replace([' ', '_'], "");
            self.table
                .header
                .iter()
                .position(|head| plain(head).starts_with(word))
        };
        let need = |word: &str| {
            starts(word).ok_or_else(|| {
                self.wrong(format!(
                    "it has no column {word:?} as Niagara's history exports have; it has {}",
                    self.table.header.join(", ")
                ))
            })
        };
        let (timestamp, value) = (need("timestamp")?, need("value")?);
        let mut content = FileContent::default();
        let mut stamps = self.stamps(timestamp, &mut content)?;
        let mut invalid = 0;
        let status = starts("status").map(|number| self.table.column(number));
        let flags = starts("trendflags").map(|number| self.table.column(number));
        for (row, stamp) in stamps.iter_mut().enumerate() {
            let cell = |column: &Option<Vec<&str>>| {
                column
                    .as_ref()
                    .and_then(|cells| cells.get(row))
                    .map(|cell| (*cell).to_owned())
            };
            let bad = cell(&status).is_some_and(|status| !StatusWords::parse(&status).is_valid());
            let hidden = cell(&flags).is_some_and(|flags| {
                parse_trend_flags(&flags)
                    .iter()
                    .any(|flag| flag == "hidden")
            });
            if (bad || hidden) && stamp.take().is_some() {
                invalid += 1;
            }
        }
        let mut series = collect(&stamps, &self.table.column(value));
        let stated = self.table.header.get(value).and_then(|head| unit_in(head));
        series.unit = stated.or_else(|| strip_units(&mut series.cells));
        content.series.push(FileSeries {
            token: stem(self.path),
            invalid,
            ..series
        });
        Ok(content)
    }
}

/// Takes the unit off cells such as `72.5 °F`, where all have the same.
fn strip_units(cells: &mut [String]) -> Option<String> {
    let unit_of = |cell: &str| {
        let (number, unit) = cell.split_once([' ', '\u{a0}'])?;
        let starts = number.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        starts.then(|| unit.trim().to_owned())
    };
    let unit = cells.iter().find_map(|cell| unit_of(cell))?;
    for cell in cells {
        if unit_of(cell).as_deref() == Some(unit.as_str()) {
            let end = cell.find([' ', '\u{a0}']).unwrap_or(cell.len());
            cell.truncate(end);
        }
    }
    Some(unit)
}

fn collect(stamps: &[Option<i64>], cells: &[&str]) -> FileSeries {
    let mut series = FileSeries::default();
    for (stamp, cell) in stamps.iter().zip(cells) {
        if let Some(stamp) = stamp {
            series.stamps.push(*stamp);
            series.cells.push((*cell).to_owned());
        }
    }
    series
}
