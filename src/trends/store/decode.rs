//! The rows of a part, batch by batch (Store §3.1, §3.4).
//!
//! Foreign parts are read as well: stamps in milli- or microseconds, other widths of text and numbers. Zoned stamps are
//! refused, as no filter of the reference works with them.

use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use super::generation::modified_ns;
use super::listing::{ListedFile, Part};
use super::part_facts::COLUMNS;
use super::{FacilityId, StoreError};

/// Rows per batch: a month of one equipment at 15 minutes is one batch, and memory stays bounded for others.
const BATCH_ROWS: usize = 1 << 17;

/// Which columns are wanted beside stamp, equipment and role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub class: bool,
    pub stamp: bool,
    pub value: bool,
}

impl Wanted {
    /// Every column.
    pub const ALL: Self = Self {
        class: true,
        stamp: true,
        value: true,
    };
    /// Which points there are, without their samples.
    pub const POINTS: Self = Self {
        class: true,
        stamp: false,
        value: false,
    };
}

/// A text column of a batch: few words, many rows.
#[derive(Debug)]
pub struct Words<'a> {
    words: Vec<&'a str>,
    codes: Cow<'a, [i32]>,
}

impl<'a> Words<'a> {
    /// The distinct words; one may stand twice.
    pub fn words(&self) -> &[&'a str] {
        &self.words
    }

    /// Index into the words, of a row that is not skipped.
    pub fn code(&self, row: usize) -> Option<usize> {
        usize::try_from(*self.codes.get(row)?).ok()
    }
}

/// Some rows of a part. Columns that were not wanted are empty.
#[derive(Debug)]
pub struct RowBatch<'a> {
    pub rows: usize,
    pub stamps: Cow<'a, [i64]>,
    /// NaN where the part has null.
    pub values: Cow<'a, [f64]>,
    pub equip: Words<'a>,
    /// `""` where the part has null or no such column.
    pub class: Option<Words<'a>>,
    pub role: Words<'a>,
    /// Rows without stamp, equipment or role, which mean nothing; none when there are none.
    skipped: Option<Vec<bool>>,
}

impl RowBatch<'_> {
    /// The rows that mean something.
    pub fn sound_rows(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows).filter(|row| {
            self.skipped
                .as_ref()
                .is_none_or(|skipped| !skipped.get(*row).copied().unwrap_or(true))
        })
    }
}

/// One sample of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleRow {
    /// Indices into the words of their columns.
    pub equip: usize,
    pub role: usize,
    pub stamp: i64,
    pub value: f64,
}

impl RowBatch<'_> {
    /// All rows that mean something, of a batch with stamps and values. Parts mostly hold row after row of all points of an
    /// equipment, so that this is where reading spends its time.
    pub fn samples(&self) -> impl Iterator<Item = SampleRow> + '_ {
        let skipped = self.skipped.as_deref();
        let codes = self.equip.codes.iter().zip(self.role.codes.iter());
        let samples = self.stamps.iter().zip(self.values.iter());
        codes
            .zip(samples)
            .enumerate()
            .filter(move |(row, _)| {
                skipped.is_none_or(|skipped| !skipped.get(*row).copied().unwrap_or(true))
            })
            .filter_map(|(_, ((equip, role), (stamp, value)))| {
                Some(SampleRow {
                    equip: usize::try_from(*equip).ok()?,
                    role: usize::try_from(*role).ok()?,
                    stamp: *stamp,
                    value: *value,
                })
            })
    }

    /// Whether it is of one point and all of its rows mean something.
    pub fn is_of_one_point(&self) -> bool {
        self.equip.words.len() == 1 && self.role.words.len() == 1 && self.skipped.is_none()
    }
}

/// Reads a part that was listed, and shows each batch of its rows.
///
/// # Errors
/// The part is not the one that was listed any more, it is damaged, or `visit` fails.
pub fn part(
    folder: &Path,
    facility: &FacilityId,
    part: &Part,
    wanted: Wanted,
    visit: &mut dyn FnMut(&RowBatch<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let path = folder.join(&part.file.relative);
    let damaged = |problem: String| StoreError::Damaged {
        facility: facility.clone(),
        path: path.clone(),
        problem,
    };
    if let Err(problem) = &part.facts {
        return Err(damaged(problem.clone()));
    }
    let bytes = load(&path, &part.file).map_err(|unread| match unread {
        Unread::Replaced => StoreError::Replaced {
            facility: facility.clone(),
        },
        Unread::Failed(problem) => damaged(problem),
    })?;
    // Damaged pages can make the decoder panic (measured: 8 of 3,000 damaged files).
    catch_unwind(AssertUnwindSafe(|| rows(bytes, wanted, visit)))
        .unwrap_or_else(|_| Err(Undecoded::Damaged("its pages cannot be decoded".to_owned())))
        .map_err(|undecoded| match undecoded {
            Undecoded::Damaged(problem) => damaged(problem),
            Undecoded::Visit(error) => error,
        })
}

enum Unread {
    Replaced,
    Failed(String),
}

/// The content of the listed file, whole: what happens to the name afterwards does not matter.
fn load(path: &Path, listed: &ListedFile) -> Result<Bytes, Unread> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Unread::Replaced,
        _ => Unread::Failed(error.to_string()),
    };
    let mut file = File::open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if facts.len() != listed.size || modified_ns(&facts) != listed.modified_ns {
        return Err(Unread::Replaced);
    }
    let mut content = Vec::with_capacity(usize::try_from(listed.size).unwrap_or(0));
    file.read_to_end(&mut content).map_err(failed)?;
    Ok(Bytes::from(content))
}

enum Undecoded {
    Damaged(String),
    Visit(StoreError),
}

impl<E: std::error::Error> From<E> for Undecoded {
    fn from(error: E) -> Self {
        Self::Damaged(error.to_string())
    }
}

fn rows(
    bytes: Bytes,
    wanted: Wanted,
    visit: &mut dyn FnMut(&RowBatch<'_>) -> Result<(), StoreError>,
) -> Result<(), Undecoded> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::load(&bytes, options)?;
    let schema = Arc::new(with_dictionaries(plain.schema()));
    let metadata = ArrowReaderMetadata::try_new(
        plain.metadata().clone(),
        ArrowReaderOptions::new().with_schema(schema),
    )?;
    let names = metadata.schema().fields().iter().enumerate();
    let roots: Vec<usize> = names
        .filter(|(_, field)| match field.name().as_str() {
            "equip" | "role" => true,
            "ts" => wanted.stamp,
            "equip_class" => wanted.class,
            "value" => wanted.value,
            _ => false,
        })
        .map(|(root, _)| root)
        .collect();
    let total = metadata.metadata().file_metadata().num_rows();
    let size = usize::try_from(total).unwrap_or(0).clamp(1, BATCH_ROWS);
    let mask = ProjectionMask::roots(metadata.parquet_schema(), roots);
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata)
        .with_projection(mask)
        .with_batch_size(size)
        .build()?;
    for batch in reader {
        let batch = batch?;
        let shown = batch_of(&batch, wanted).map_err(Undecoded::Damaged)?;
        visit(&shown).map_err(Undecoded::Visit)?;
    }
    Ok(())
}

/// The file's own schema, with the text columns as dictionaries: their few words are then decoded once.
fn with_dictionaries(own: &Schema) -> Schema {
    let fields: Vec<Field> = own
        .fields()
        .iter()
        .map(|field| {
            let text = COLUMNS[1..4].contains(&field.name().as_str())
                && matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8);
            if text {
                let words =
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                field.as_ref().clone().with_data_type(words)
            } else {
                field.as_ref().clone()
            }
        })
        .collect();
    Schema::new_with_metadata(fields, own.metadata().clone())
}

fn batch_of(batch: &RecordBatch, wanted: Wanted) -> Result<RowBatch<'_>, String> {
    let column = |name: &str| batch.column_by_name(name);
    let required = |name: &'static str| column(name).ok_or(format!("it has no column \"{name}\""));
    let mut skipped = Skipped::default();
    let (equip, equip_nulls) = words(required("equip")?, "equip")?;
    skipped.add(equip_nulls, batch.num_rows());
    let (role, role_nulls) = words(required("role")?, "role")?;
    skipped.add(role_nulls, batch.num_rows());
    let class = match column("equip_class") {
        Some(array) if wanted.class => Some(class_words(array)?),
        _ => None,
    };
    let stamps = if wanted.stamp {
        let array = required("ts")?;
        skipped.add(nulls(array), batch.num_rows());
        stamps(array)?
    } else {
        Cow::Borrowed(&[][..])
    };
    let values = if wanted.value {
        values(required("value")?)?
    } else {
        Cow::Borrowed(&[][..])
    };
    Ok(RowBatch {
        rows: batch.num_rows(),
        stamps,
        values,
        equip,
        class,
        role,
        skipped: skipped.rows,
    })
}

#[derive(Default)]
struct Skipped {
    rows: Option<Vec<bool>>,
}

impl Skipped {
    fn add(&mut self, null_rows: Vec<usize>, rows: usize) {
        if null_rows.is_empty() {
            return;
        }
        let skipped = self.rows.get_or_insert_with(|| vec![false; rows]);
        for row in null_rows {
            if let Some(skip) = skipped.get_mut(row) {
                *skip = true;
            }
        }
    }
}

fn nulls(array: &ArrayRef) -> Vec<usize> {
    if array.logical_null_count() == 0 {
        return Vec::new();
    }
    let Some(nulls) = array.logical_nulls() else {
        return Vec::new();
    };
    (0..array.len()).filter(|row| nulls.is_null(*row)).collect()
}

fn words<'a>(array: &'a ArrayRef, name: &str) -> Result<(Words<'a>, Vec<usize>), String> {
    let null_rows = nulls(array);
    let dictionary = array
        .as_any_dictionary_opt()
        .ok_or_else(|| format!("its column \"{name}\" holds no text"))?;
    let texts: &StringArray = dictionary
        .values()
        .as_string_opt()
        .ok_or_else(|| format!("its column \"{name}\" holds no text"))?;
    let codes = dictionary
        .keys()
        .as_primitive_opt::<Int32Type>()
        .ok_or_else(|| format!("its column \"{name}\" holds no text"))?;
    let words = (0..texts.len())
        .map(|word| {
            if texts.is_null(word) {
                ""
            } else {
                texts.value(word)
            }
        })
        .collect();
    let words = Words {
        words,
        codes: Cow::Borrowed(codes.values()),
    };
    Ok((words, null_rows))
}

/// Classes: a row without one has the class `""`.
fn class_words(array: &ArrayRef) -> Result<Words<'_>, String> {
    if *array.data_type() == DataType::Null {
        return Ok(Words {
            words: vec![""],
            codes: Cow::Owned(vec![0; array.len()]),
        });
    }
    let (mut words, null_rows) = words(array, "equip_class")?;
    if !null_rows.is_empty() {
        let none = i32::try_from(words.words.len()).map_err(|_| "it has too many classes")?;
        words.words.push("");
        let codes = words.codes.to_mut();
        for row in null_rows {
            if let Some(code) = codes.get_mut(row) {
                *code = none;
            }
        }
    }
    Ok(words)
}

fn stamps(array: &ArrayRef) -> Result<Cow<'_, [i64]>, String> {
    fn scaled<T: ArrowPrimitiveType<Native = i64>>(
        array: &ArrayRef,
        factor: i64,
    ) -> Result<Cow<'_, [i64]>, String> {
        let stamps: &PrimitiveArray<T> = array.as_primitive();
        let scaled: Option<Vec<i64>> = (0..stamps.len())
            .map(|row| {
                if stamps.is_null(row) {
                    Some(0)
                } else {
                    stamps.value(row).checked_mul(factor)
                }
            })
            .collect();
        scaled
            .map(Cow::Owned)
            .ok_or_else(|| "a stamp lies outside of the years 1677 to 2262".to_owned())
    }
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, None) => Ok(Cow::Borrowed(
            array.as_primitive::<TimestampNanosecondType>().values(),
        )),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            scaled::<TimestampMicrosecondType>(array, 1_000)
        }
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            scaled::<TimestampMillisecondType>(array, 1_000_000)
        }
        DataType::Timestamp(TimeUnit::Second, None) => {
            scaled::<TimestampSecondType>(array, 1_000_000_000)
        }
        DataType::Timestamp(_, Some(_)) => Err(
            "its stamps carry a time zone; stamps of a store are the site's wall clock".to_owned(),
        ),
        other => Err(format!("its column \"ts\" holds {other}, not stamps")),
    }
}

fn values(array: &ArrayRef) -> Result<Cow<'_, [f64]>, String> {
    fn widened<T: ArrowPrimitiveType>(array: &ArrayRef) -> Cow<'_, [f64]>
    where
        T::Native: Into<f64>,
    {
        let numbers: &PrimitiveArray<T> = array.as_primitive();
        Cow::Owned(
            numbers
                .iter()
                .map(|number| number.map_or(f64::NAN, Into::into))
                .collect(),
        )
    }
    Ok(match array.data_type() {
        DataType::Float64 if array.null_count() == 0 => {
            Cow::Borrowed(array.as_primitive::<Float64Type>().values())
        }
        DataType::Float64 => widened::<Float64Type>(array),
        DataType::Float32 => widened::<Float32Type>(array),
        DataType::Int8 => widened::<Int8Type>(array),
        DataType::Int16 => widened::<Int16Type>(array),
        DataType::Int32 => widened::<Int32Type>(array),
        DataType::UInt8 => widened::<UInt8Type>(array),
        DataType::UInt16 => widened::<UInt16Type>(array),
        DataType::UInt32 => widened::<UInt32Type>(array),
        DataType::Int64 => Cow::Owned(
            array
                .as_primitive::<Int64Type>()
                .iter()
                // Beyond 2^53 the nearest double, as the reference's conversion gives.
                .map(|number| number.map_or(f64::NAN, |number| number as f64))
                .collect(),
        ),
        DataType::Boolean => Cow::Owned(
            array
                .as_boolean()
                .iter()
                .map(|on| on.map_or(f64::NAN, |on| f64::from(u8::from(on))))
                .collect(),
        ),
        other => return Err(format!("its column \"value\" holds {other}, not numbers")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'a>(words: &[&'a str], codes: &'a [i32]) -> Words<'a> {
        Words {
            words: words.to_vec(),
            codes: Cow::Borrowed(codes),
        }
    }

    #[test]
    fn samples_are_the_sound_rows_with_their_points() {
        let (equip, role) = ([0, 1, 0, 1], [0, 0, 1, -1]);
        let mut batch = RowBatch {
            rows: 4,
            stamps: Cow::Borrowed(&[10, 20, 30, 40]),
            values: Cow::Borrowed(&[1.0, 2.0, 3.0, 4.0]),
            equip: words(&["A", "B"], &equip),
            class: None,
            role: words(&["oat", "power"], &role),
            skipped: None,
        };
        let samples = |batch: &RowBatch<'_>| -> Vec<(usize, usize, i64, f64)> {
            let rows = batch.samples();
            rows.map(|row| (row.equip, row.role, row.stamp, row.value))
                .collect()
        };
        let all = [(0, 0, 10, 1.0), (1, 0, 20, 2.0), (0, 1, 30, 3.0)];
        assert_eq!(samples(&batch), all);
        assert!(!batch.is_of_one_point());
        batch.skipped = Some(vec![false, true, false, true]);
        assert_eq!(samples(&batch), [all[0], all[2]]);
    }
}
