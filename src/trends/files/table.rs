//! A CSV file as a frame of text columns.
//!
//! polars reads what is written as RFC 4180 wants it, which is nearly every file. The csv crate reads the header, because
//! its position tells where the records begin, and files with quotes in the middle of a cell, line ends of old Macs or
//! blank lines between the records: polars takes each of them for something else without a word. Neither names the line of
//! broken UTF-8 or of a quote that is never closed in every case, so that is looked for here.

use std::io::{Cursor, Read as _};
use std::path::Path;
use std::sync::Arc;

use polars::prelude::{
    Column, CsvParseOptions, CsvReadOptions, DataFrame, DataType, Field, PlSmallStr, PolarsResult,
    Schema, SerReader as _,
};

use super::FilesError;
use super::profile::Profile;
use crate::durable_file::failed;

/// Larger files are refused: they are better cut into years than held in memory.
const LARGEST: u64 = 2 << 30;

const OPEN_QUOTE: &str = "the quote that begins here is never closed; close it or take it out";

/// The cells of a file.
#[derive(Debug, Clone)]
pub struct Table {
    pub header: Vec<String>,
    frame: DataFrame,
}

impl Table {
    /// Reads a file; records with fewer cells than the header are filled up, further empty cells are left out.
    ///
    /// # Errors
    /// The file cannot be read, is no UTF-8, has no header, a quote that is never closed, or a record with a further cell that
    /// holds something: after a comma within a number the cells would be those of other columns.
    pub fn read(path: &Path, profile: &Profile) -> Result<Self, FilesError> {
        let mut file = std::fs::File::open(path).map_err(failed("open", path))?;
        let size = file.metadata().map_err(failed("read", path))?.len();
        if size > LARGEST {
            return Err(FilesError::Form {
                file: path.to_owned(),
                problem: format!("it has {size} bytes; cut it into files of at most {LARGEST}"),
            });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read", path))?;
        Self::parse(path, &bytes, profile)
    }

    /// The same of bytes that were read already; `path` is for errors.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn parse(path: &Path, bytes: &[u8], profile: &Profile) -> Result<Self, FilesError> {
        let wrong = |line, problem: &str| FilesError::Csv {
            file: path.to_owned(),
            line,
            problem: problem.to_owned(),
        };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if let Err(error) = std::str::from_utf8(bytes) {
            let line = line_at(bytes, error.valid_up_to());
            return Err(wrong(line, "the text is no UTF-8; save the file as UTF-8"));
        }
        let mut reader = records(bytes, profile);
        let header: Vec<String> = match reader.headers() {
            Ok(header) => header.iter().map(str::to_owned).collect(),
            Err(error) => return Err(wrong(1, &error.to_string())),
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(FilesError::Form {
                file: path.to_owned(),
                problem: "it is empty".to_owned(),
            });
        }
        if header.len() < 2 {
            return Err(FilesError::Form {
                file: path.to_owned(),
                problem: format!(
                    "its first line has {} column; is {:?} the delimiter of the file? Choose another --profile",
                    header.len(),
                    char::from(profile.delimiter)
                ),
            });
        }
        let begin = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
        let begin = behind_line_ends(bytes, begin.min(bytes.len()));
        let (head, body) = bytes.split_at_checked(begin).unwrap_or((bytes, &[]));
        let body = without_last_ends(body);
        let frame = match (
            writing_of(head, profile.delimiter),
            writing_of(body, profile.delimiter),
        ) {
            (Writing::Open(at), _) => return Err(wrong(line_at(bytes, at), OPEN_QUOTE)),
            (_, Writing::Open(at)) => return Err(wrong(line_at(bytes, begin + at), OPEN_QUOTE)),
            (_, Writing::Strict) => guarded(|| strict_frame(body, header.len(), profile)),
            (_, Writing::Loose) => guarded(|| loose_frame(&mut reader, header.len())),
        };
        let mut frame = frame.map_err(|problem| FilesError::Form {
            file: path.to_owned(),
            problem: format!("it cannot be read as CSV: {problem}"),
        })?;
        let further = frame.drop_in_place(&name_of(header.len()));
        if let Ok(further) = further.as_ref().map(Column::str)
            && let Ok(cells) = further
            && let Some(row) = cells
                .iter()
                .position(|cell| cell.is_some_and(|cell| !cell.trim().is_empty()))
        {
            let line = line_of_record(bytes, profile, row).unwrap_or(1);
            let problem = format!(
                "this record has more cells than the {} of the first line; put a cell that holds a {:?} in quotes, or choose \
                 another --profile",
                header.len(),
                char::from(profile.delimiter)
            );
            return Err(wrong(line, &problem));
        }
        Ok(Self { header, frame })
    }

    /// The cells of a column without blanks around them, empty where a record is too short.
    pub fn column(&self, number: usize) -> Vec<&str> {
        let column = self.frame.columns().get(number);
        let Some(Ok(cells)) = column.map(Column::str) else {
            return Vec::new();
        };
        cells
            .iter()
            .map(|cell| cell.unwrap_or_default().trim())
            .collect()
    }

    /// Number of the column of that name, in any letter case.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.header
            .iter()
            .position(|head| head.eq_ignore_ascii_case(name.trim()))
    }
}

/// Where the first record after `at` begins.
fn behind_line_ends(bytes: &[u8], at: usize) -> usize {
    let behind = bytes.get(at..).unwrap_or_default().iter();
    at + behind
        .take_while(|byte| matches!(byte, b'\r' | b'\n'))
        .count()
}

fn without_last_ends(mut bytes: &[u8]) -> &[u8] {
    while let Some((b'\r' | b'\n', before)) = bytes.split_last() {
        bytes = before;
    }
    bytes
}

/// Number of the line of a byte.
fn line_at(bytes: &[u8], at: usize) -> u64 {
    let before = bytes.get(..at).unwrap_or(bytes);
    1 + before.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Number of the line in which a record begins; the header is none.
fn line_of_record(bytes: &[u8], profile: &Profile, row: usize) -> Option<u64> {
    let record = records(bytes, profile).into_records().nth(row)?.ok()?;
    Some(record.position()?.line())
}

/// The same of a file, for what is found out later.
pub fn line_in_file(path: &Path, profile: &Profile, row: usize) -> Option<u64> {
    let bytes = std::fs::read(path).ok()?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    line_of_record(bytes, profile, row)
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writing {
    Strict,
    Loose,
    /// The quote at this byte is never closed.
    Open(usize),
}

fn writing_of(text: &[u8], delimiter: u8) -> Writing {
    let mut at = 0;
    let mut writing = Writing::Strict;
    let mut begins_cell = true;
    let mut begins_line = true;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' if begins_cell => {
                let Some(behind) = behind_quoted(text, at + 1) else {
                    return Writing::Open(at);
                };
                at = behind;
                let next = text.get(at);
                let closes = next.is_none_or(|next| [delimiter, b'\n', b'\r'].contains(next));
                if !closes {
                    writing = Writing::Loose;
                }
                (begins_cell, begins_line) = (false, false);
                continue;
            }
            b'"' => writing = Writing::Loose,
            b'\r' if text.get(at + 1) != Some(&b'\n') => writing = Writing::Loose,
            b'\r' => {}
            b'\n' if begins_line => writing = Writing::Loose,
            _ => {}
        }
        begins_line = *byte == b'\n' || (*byte == b'\r' && begins_line);
        begins_cell = *byte == delimiter || *byte == b'\n';
        at += 1;
    }
    writing
}

/// The byte behind the quote that closes a cell.
fn behind_quoted(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += text.get(at..)?.iter().position(|byte| *byte == b'"')? + 1;
        if text.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

fn records<'a>(bytes: &'a [u8], profile: &Profile) -> csv::Reader<&'a [u8]> {
    csv::ReaderBuilder::new()
        .delimiter(profile.delimiter)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(bytes)
}

/// Columns are known by their numbers: headers may repeat each other.
fn name_of(number: usize) -> PlSmallStr {
    PlSmallStr::from_string(number.to_string())
}

fn strict_frame(body: &[u8], width: usize, profile: &Profile) -> Result<DataFrame, String> {
    // One more, for records with too many cells.
    let fields = (0..=width).map(|number| Field::new(name_of(number), DataType::String));
    let schema = Schema::from_iter(fields);
    if body.is_empty() {
        return Ok(DataFrame::empty_with_schema(&schema));
    }
    let parse = CsvParseOptions::default()
        .with_separator(profile.delimiter)
        .with_truncate_ragged_lines(true)
        .with_missing_is_null(false);
    let mut body = body.to_vec();
    // The last record is read like the others, which end with a line end.
    body.push(b'\n');
    CsvReadOptions::default()
        .with_has_header(false)
        .with_infer_schema_length(Some(0))
        .with_schema(Some(Arc::new(schema)))
        .with_parse_options(parse)
        .into_reader_with_file_handle(Cursor::new(body))
        .finish()
        .map_err(|error| error.to_string())
}

fn loose_frame(reader: &mut csv::Reader<&[u8]>, width: usize) -> Result<DataFrame, String> {
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); width + 1];
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        for (number, column) in columns.iter_mut().enumerate() {
            column.push(record.get(number).unwrap_or_default().to_owned());
        }
    }
    let frame: PolarsResult<DataFrame> = DataFrame::new_infer_height(
        columns
            .into_iter()
            .enumerate()
            .map(|(number, cells)| Column::new(name_of(number), cells))
            .collect(),
    );
    frame.map_err(|error| error.to_string())
}

/// A library that gives up on its input ends the reading of this file, not the process.
fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err("its content cannot be understood".to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &[u8]) -> Result<Table, FilesError> {
        let profile = Profile::named("generic").expect("a profile");
        Table::parse(Path::new("log.csv"), text, &profile)
    }

    fn cells(table: &Table) -> Vec<Vec<String>> {
        let columns = (0..table.header.len()).map(|number| table.column(number));
        columns
            .map(|column| column.into_iter().map(str::to_owned).collect())
            .collect()
    }

    /// The cells as the csv crate alone reads them.
    fn by_records(text: &[u8]) -> Vec<Vec<String>> {
        let profile = Profile::named("generic").expect("a profile");
        let mut reader = records(text, &profile);
        let width = reader.headers().expect("a header").len();
        let rows: Vec<csv::StringRecord> =
            reader.records().map(|row| row.expect("UTF-8")).collect();
        let cell = |row: &csv::StringRecord, number| row.get(number).unwrap_or_default().to_owned();
        (0..width)
            .map(|number| rows.iter().map(|row| cell(row, number)).collect())
            .collect()
    }

    fn is_too_wide(text: &[u8]) -> bool {
        let profile = Profile::named("generic").expect("a profile");
        let mut reader = records(text, &profile);
        let width = reader.headers().expect("a header").len();
        reader.records().any(|row| {
            row.expect("UTF-8")
                .get(width)
                .is_some_and(|cell| !cell.is_empty())
        })
    }

    #[test]
    fn files_as_people_have_them_become_columns() {
        for text in [
            "a,b\n1,2\n3,4\n",
            "a,b\r\n1,2\r\n3,4",
            "a,b\n1\n3,4,\n\"5\",6, \n",
            "a,b\n\n1,2\n\n\n3,4\n\n",
            "a,b\r\n\r\n1,2\r\n\r\n3,4\r\n\r\n",
            "\"a, x\",b\n\"1\"\"\",\" 2 \"\n\"3\n4\",5\n",
            "a\" x,b\n1\",2\n\"3\"4,5\n",
            "a,b\r1,2\r3,4\r",
            "a,a\n 1 , 2 \n ,\n",
            "a,b\n",
            "a,b",
        ] {
            let table = parse(text.as_bytes()).expect(text);
            assert_eq!(cells(&table), by_records(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn slips_are_named_with_their_line() {
        for (text, line, word) in [
            (&b"a,b\n1,2\n3,\xff\n"[..], 3, "UTF-8"),
            (b"a,b\n1,2\n3,\"4\n5,6\n", 3, "never closed"),
            (b"\xef\xbb\xbfa,b\xc3\n", 1, "UTF-8"),
            (b"a,b\n\n\n\"1\n2\",\"3\n", 5, "never closed"),
            (b"a,b\n1,2\n3,4,5\n6,7,8\n", 3, "more cells"),
            (b"a,b\n\n\"1\n2\",2\n3,4\"\",5\n", 5, "more cells"),
        ] {
            let error = parse(text).expect_err(word).to_string();
            assert!(
                error.starts_with(&format!("log.csv, line {line}: ")) && error.contains(word),
                "{error}"
            );
        }
        let error = parse(b"one column\n1\n")
            .expect_err("one column")
            .to_string();
        assert!(error.contains("delimiter"), "{error}");
        assert!(parse(b"").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Whichever reader a text is given to, the cells are those of the csv crate.
        #[test]
        fn both_readers_see_the_same_cells(body in "[ab,,\"\"\r\n\n é]{0,40}") {
            let text = format!("h1,h2,h3\n{body}");
            match parse(text.as_bytes()) {
                Ok(table) => prop_assert_eq!(cells(&table), by_records(text.as_bytes())),
                Err(error) if error.to_string().contains("more cells") => prop_assert!(is_too_wide(text.as_bytes())),
                Err(error) => prop_assert!(error.to_string().contains("never closed"), "{}", error),
            }
        }

        /// A damaged file gives cells or an error, whatever is in it.
        #[test]
        fn damage_ends_nothing_but_the_reading(text in proptest::collection::vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>()) {
            let mut bytes = b"timestamp,value\n2026-01-01 00:00,1\n\"2026-01-01 00:15\",2\n".to_vec();
            let at = cut.index(bytes.len());
            bytes.splice(at..at, text);
            if let Err(error) = parse(&bytes) {
                prop_assert!(error.to_string().starts_with("log.csv"), "{}", error);
            }
        }
    }
}
