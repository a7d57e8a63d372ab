//! What the footer of a part tells, without its rows (Store §3).

use std::fs::File;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use parquet::basic::{Compression, LogicalType, TimeUnit};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::statistics::Statistics;

/// The columns of a part, in this order.
pub const COLUMNS: [&str; 5] = ["ts", "equip", "equip_class", "role", "value"];

/// Rows of a row group in the canonical layout.
pub const GROUP_ROWS: usize = 1 << 20;

/// Metadata key of the canonical layout, and its value.
pub const LAYOUT_KEY: &str = "camber.layout";
pub const LAYOUT: &str = "1";

const PANDAS_KEY: &str = "pandas";
const ROLLUP_KEY: &str = "camber.rollup.covers";
const ARROW_KEY: &str = "ARROW:schema";

/// Which equipment a part holds, by its statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EquipmentRange {
    /// Nothing but this one.
    One(String),
    /// Any between these two, by bytes.
    Between(Vec<u8>, Vec<u8>),
    /// No statistics.
    Unknown,
}

impl EquipmentRange {
    /// Whether the part may hold rows of that equipment.
    pub fn may_hold(&self, equip: &str) -> bool {
        match self {
            Self::One(only) => only == equip,
            Self::Between(least, greatest) => {
                least.as_slice() <= equip.as_bytes() && equip.as_bytes() <= greatest.as_slice()
            }
            Self::Unknown => true,
        }
    }
}

/// What distinguishes a part from the canonical layout, as far as the footer tells (Store §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayoutFacts {
    pub has_marker: bool,
    pub has_pandas_metadata: bool,
    pub has_foreign_metadata: bool,
    /// Marked as a rollup: hourly or daily values that a retention policy made.
    pub is_rollup: bool,
    /// The five columns come first, in their order.
    pub columns_in_order: bool,
    /// There are more than the five columns.
    pub has_extra_columns: bool,
    pub too_many_row_groups: bool,
}

impl LayoutFacts {
    /// What keeps the part from being canonical; the order of its rows is not looked at.
    pub fn departures(&self) -> Vec<&'static str> {
        [
            (!self.has_marker, "no layout marker"),
            (self.has_pandas_metadata, "pandas metadata"),
            (self.has_foreign_metadata, "other metadata keys"),
            (!self.columns_in_order, "columns in another order"),
            (self.too_many_row_groups, "row groups too small"),
        ]
        .into_iter()
        .filter_map(|(departs, what)| departs.then_some(what))
        .collect()
    }
}

/// Points of one part: (equipment, class, role), each once, in the order of the rows.
pub type PartPoints = Vec<(String, String, String)>;

/// The facts of one part.
#[derive(Debug)]
pub struct PartFacts {
    pub rows: u64,
    pub equipment: EquipmentRange,
    /// First and last stamp, when the statistics tell.
    pub span: Option<(i64, i64)>,
    pub layout: LayoutFacts,
    /// Read from the rows when first asked for.
    pub(super) points: OnceLock<Arc<PartPoints>>,
}

/// Why a footer could not be read.
#[derive(Debug)]
pub enum Unreadable {
    /// The file is gone: replaced since it was listed.
    Missing,
    /// What is wrong with it.
    Damaged(String),
}

/// Reads the footer of a part.
///
/// # Errors
/// The file is gone, or is no part that can be read.
pub fn read(path: &Path) -> Result<PartFacts, Unreadable> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Unreadable::Missing,
        _ => Unreadable::Damaged(error.to_string()),
    })?;
    let metadata = footer(&file).map_err(Unreadable::Damaged)?;
    facts(&metadata).map_err(Unreadable::Damaged)
}

/// Reads the metadata of a Parquet file; damaged ones can make the library panic.
fn footer(file: &File) -> Result<ParquetMetaData, String> {
    catch_unwind(AssertUnwindSafe(|| {
        ParquetMetaDataReader::new().parse_and_finish(file)
    }))
    .map_err(|_| "its footer cannot be decoded".to_owned())?
    .map_err(|error| error.to_string())
}

fn facts(metadata: &ParquetMetaData) -> Result<PartFacts, String> {
    let names: Vec<&str> = metadata
        .file_metadata()
        .schema()
        .get_fields()
        .iter()
        .map(|field| field.name())
        .collect();
    for wanted in ["ts", "equip", "role", "value"] {
        if !names.contains(&wanted) {
            return Err(format!("it has no column \"{wanted}\""));
        }
    }
    if let Some(codec) = unsupported_codec(metadata) {
        return Err(format!(
            "it is compressed with {codec}; Snappy and uncompressed parts are read"
        ));
    }
    let mut rows: u64 = 0;
    for group in metadata.row_groups() {
        let count = u64::try_from(group.num_rows()).map_err(|_| "a row count is negative")?;
        rows = rows.checked_add(count).ok_or("a row count is too large")?;
    }
    Ok(PartFacts {
        rows,
        equipment: equipment(metadata),
        span: span(metadata),
        layout: layout(metadata, &names, rows),
        points: OnceLock::new(),
    })
}

fn unsupported_codec(metadata: &ParquetMetaData) -> Option<String> {
    metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
        .map(|column| column.compression())
        .find(|codec| !matches!(codec, Compression::UNCOMPRESSED | Compression::SNAPPY))
        .map(|codec| {
            // Its level in parentheses is of no interest.
            let text = codec.to_string();
            text.split('(').next().unwrap_or(&text).to_owned()
        })
}

/// Statistics of a column, one per row group with rows; none when one is missing.
fn column_statistics<'a>(metadata: &'a ParquetMetaData, name: &str) -> Option<Vec<&'a Statistics>> {
    metadata
        .row_groups()
        .iter()
        .filter(|group| group.num_rows() > 0)
        .map(|group| {
            group
                .columns()
                .iter()
                .find(|column| column.column_path().parts() == [name])?
                .statistics()
        })
        .collect()
}

fn equipment(metadata: &ParquetMetaData) -> EquipmentRange {
    let bounds = || {
        let mut bounds: Option<(&[u8], &[u8])> = None;
        for statistics in column_statistics(metadata, "equip")? {
            let Statistics::ByteArray(_) = statistics else {
                return None;
            };
            let (least, greatest) = (statistics.min_bytes_opt()?, statistics.max_bytes_opt()?);
            // Old writers compared bytes as signed numbers: only equal bounds mean something then.
            if statistics.is_min_max_deprecated() && least != greatest {
                return None;
            }
            bounds = Some(match bounds {
                None => (least, greatest),
                Some((a, b)) => (a.min(least), b.max(greatest)),
            });
        }
        bounds
    };
    match bounds() {
        None => EquipmentRange::Unknown,
        // Shortened bounds differ from each other, so equal ones are the value itself.
        Some((least, greatest)) if least == greatest => match std::str::from_utf8(least) {
            Ok(only) => EquipmentRange::One(only.to_owned()),
            Err(_) => EquipmentRange::Unknown,
        },
        Some((least, greatest)) => EquipmentRange::Between(least.to_vec(), greatest.to_vec()),
    }
}

fn span(metadata: &ParquetMetaData) -> Option<(i64, i64)> {
    let schema = metadata.file_metadata().schema_descr();
    let column = schema
        .columns()
        .iter()
        .find(|column| column.path().parts() == ["ts"])?;
    let factor = match column.logical_type_ref()? {
        LogicalType::Timestamp(stamp) => match stamp.unit {
            TimeUnit::NANOS => 1,
            TimeUnit::MICROS => 1_000,
            TimeUnit::MILLIS => 1_000_000,
        },
        _ => return None,
    };
    let mut span: Option<(i64, i64)> = None;
    for statistics in column_statistics(metadata, "ts")? {
        let Statistics::Int64(values) = statistics else {
            return None;
        };
        let first = values.min_opt()?.checked_mul(factor)?;
        let last = values.max_opt()?.checked_mul(factor)?;
        span = Some(span.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
    }
    span
}

fn layout(metadata: &ParquetMetaData, names: &[&str], rows: u64) -> LayoutFacts {
    let mut layout = LayoutFacts {
        columns_in_order: names.starts_with(&COLUMNS),
        has_extra_columns: names.iter().any(|name| !COLUMNS.contains(name)),
        too_many_row_groups: metadata.num_row_groups() as u64
            > rows.div_ceil(GROUP_ROWS as u64).max(1),
        ..LayoutFacts::default()
    };
    for pair in metadata
        .file_metadata()
        .key_value_metadata()
        .into_iter()
        .flatten()
    {
        match pair.key.as_str() {
            LAYOUT_KEY => layout.has_marker = pair.value.as_deref() == Some(LAYOUT),
            PANDAS_KEY => layout.has_pandas_metadata = true,
            ROLLUP_KEY => layout.is_rollup = true,
            ARROW_KEY => {}
            _ => layout.has_foreign_metadata = true,
        }
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_tell_which_equipment_a_part_may_hold() {
        let one = EquipmentRange::One("AHU-1".to_owned());
        assert!(one.may_hold("AHU-1") && !one.may_hold("AHU-10"));
        let some = EquipmentRange::Between(b"AHU-1".to_vec(), b"AHU-3".to_vec());
        assert!(some.may_hold("AHU-1") && some.may_hold("AHU-2") && some.may_hold("AHU-3"));
        assert!(!some.may_hold("VAV-1") && !some.may_hold("AHU-"));
        assert!(EquipmentRange::Unknown.may_hold("anything"));
    }

    #[test]
    fn a_file_that_is_no_part_says_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part-0-0.parquet");
        assert!(matches!(read(&path), Err(Unreadable::Missing)));
        for content in [&b""[..], b"PAR1", b"hello, this is no Parquet file at all"] {
            std::fs::write(&path, content).unwrap();
            let Err(Unreadable::Damaged(problem)) = read(&path) else {
                panic!("{content:?} passed")
            };
            assert!(!problem.is_empty());
        }
    }
}
