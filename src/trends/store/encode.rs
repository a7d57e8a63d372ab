//! Rows → the bytes of a canonical part (Store §3.2).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray,
    TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use super::part_facts::{COLUMNS, GROUP_ROWS, LAYOUT, LAYOUT_KEY};

/// The rows of a part to be, in any order.
#[derive(Debug, Default)]
pub(super) struct PartRows {
    words: Vocabulary,
    rows: Vec<Row>,
}

/// One row; the texts are numbers of the vocabulary.
#[derive(Debug, Clone, Copy)]
struct Row {
    stamp: i64,
    equip: i32,
    role: i32,
    class: i32,
    value: f64,
}

#[derive(Debug, Default)]
struct Vocabulary {
    words: Vec<String>,
    numbers: BTreeMap<String, i32>,
}

impl Vocabulary {
    fn number(&mut self, word: &str) -> Result<i32, String> {
        if let Some(number) = self.numbers.get(word) {
            return Ok(*number);
        }
        let number = i32::try_from(self.words.len()).map_err(|_| "too many names".to_owned())?;
        self.words.push(word.to_owned());
        self.numbers.insert(word.to_owned(), number);
        Ok(number)
    }
}

/// Names of the rows that follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct PointNumbers {
    equip: i32,
    class: i32,
    role: i32,
}

impl PartRows {
    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Names a point for [`PartRows::push`].
    pub(super) fn point(
        &mut self,
        equip: &str,
        class: &str,
        role: &str,
    ) -> Result<PointNumbers, String> {
        Ok(PointNumbers {
            equip: self.words.number(equip)?,
            class: self.words.number(class)?,
            role: self.words.number(role)?,
        })
    }

    /// Adds a row; NaN is never stored.
    pub(super) fn push(&mut self, point: PointNumbers, stamp: i64, value: f64) {
        if !value.is_nan() {
            self.rows.push(Row {
                stamp,
                equip: point.equip,
                role: point.role,
                class: point.class,
                value,
            });
        }
    }

    /// The part: rows sorted by stamp, equipment, role, class and value, Snappy, one row group per 2^20 rows.
    ///
    /// # Errors
    /// What the Parquet library reports.
    pub(super) fn encode(mut self) -> Result<Vec<u8>, String> {
        self.sort_words();
        self.rows.sort_unstable_by(|a, b| {
            (a.stamp, a.equip, a.role, a.class)
                .cmp(&(b.stamp, b.equip, b.role, b.class))
                .then(a.value.total_cmp(&b.value))
        });
        let schema = Arc::new(schema());
        let options = ArrowWriterOptions::new()
            .with_properties(properties())
            .with_skip_arrow_metadata(true);
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new_with_options(&mut bytes, schema.clone(), options)
            .map_err(|error| error.to_string())?;
        let words: ArrayRef = Arc::new(StringArray::from_iter_values(&self.words.words));
        for rows in self.rows.chunks(GROUP_ROWS) {
            let batch = batch(&schema, &words, rows)?;
            writer.write(&batch).map_err(|error| error.to_string())?;
        }
        writer.close().map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Numbers follow the order of the words, so that rows can be sorted by numbers.
    fn sort_words(&mut self) {
        let mut ranks = vec![0_i32; self.words.words.len()];
        // The map is sorted by word.
        for (rank, number) in (0_i32..).zip(self.words.numbers.values()) {
            if let Some(slot) = usize::try_from(*number)
                .ok()
                .and_then(|number| ranks.get_mut(number))
            {
                *slot = rank;
            }
        }
        let rank = |number: i32| {
            usize::try_from(number)
                .ok()
                .and_then(|number| ranks.get(number).copied())
                .unwrap_or(number)
        };
        for row in &mut self.rows {
            row.equip = rank(row.equip);
            row.role = rank(row.role);
            row.class = rank(row.class);
        }
        self.words.words = self.words.numbers.keys().cloned().collect();
    }
}

fn text() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

fn schema() -> Schema {
    let [ts, equip, class, role, value] = COLUMNS;
    Schema::new(vec![
        Field::new(ts, DataType::Timestamp(TimeUnit::Nanosecond, None), true),
        Field::new(equip, text(), true),
        Field::new(class, text(), true),
        Field::new(role, text(), true),
        Field::new(value, DataType::Float64, true),
    ])
}

/// Bounds of statistics are not shortened: readers skip parts whose bounds for the equipment are equal, and ids may have
/// 200 characters.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(true)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_statistics_truncate_length(None)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(vec![KeyValue::new(
            LAYOUT_KEY.to_owned(),
            LAYOUT.to_owned(),
        )]))
        .build()
}

fn batch(schema: &Arc<Schema>, words: &ArrayRef, rows: &[Row]) -> Result<RecordBatch, String> {
    let column = |number: fn(&Row) -> i32| -> Result<ArrayRef, String> {
        let keys = Int32Array::from_iter_values(rows.iter().map(number));
        DictionaryArray::<Int32Type>::try_new(keys, words.clone())
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| error.to_string())
    };
    let columns = vec![
        Arc::new(TimestampNanosecondArray::from_iter_values(
            rows.iter().map(|row| row.stamp),
        )) as ArrayRef,
        column(|row| row.equip)?,
        column(|row| row.class)?,
        column(|row| row.role)?,
        Arc::new(Float64Array::from_iter_values(
            rows.iter().map(|row| row.value),
        )),
    ];
    RecordBatch::try_new(schema.clone(), columns).map_err(|error| error.to_string())
}
