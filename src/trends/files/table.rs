//! A CSV file as columns of text.

use std::io::Read as _;
use std::path::Path;

use super::FilesError;
use super::profile::Profile;
use crate::durable_file::failed;

/// Larger files are refused: they are better cut into years than held in memory.
const LARGEST: u64 = 2 << 30;

/// The cells of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub header: Vec<String>,
    records: Vec<csv::StringRecord>,
}

impl Table {
    /// Reads a file; records with fewer cells than the header are filled up, further cells are left out.
    ///
    /// # Errors
    /// The file cannot be read, is no UTF-8 or has no header.
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
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(profile.delimiter)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text);
        let wrong = |error: csv::Error| FilesError::Csv {
            file: path.to_owned(),
            line: error.position().map_or(1, csv::Position::line),
            problem: match error.kind() {
                csv::ErrorKind::Utf8 { .. } => {
                    "the text is no UTF-8; save the file as UTF-8".to_owned()
                }
                _ => error.to_string(),
            },
        };
        let header: Vec<String> = reader
            .headers()
            .map_err(wrong)?
            .iter()
            .map(str::to_owned)
            .collect();
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
        let records = reader
            .records()
            .collect::<Result<Vec<_>, _>>()
            .map_err(wrong)?;
        Ok(Self { header, records })
    }

    /// The cells of a column, empty where a record is too short.
    pub fn column(&self, number: usize) -> Vec<&str> {
        self.records
            .iter()
            .map(|record| record.get(number).unwrap_or_default())
            .collect()
    }

    /// Number of the column of that name, in any letter case.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.header
            .iter()
            .position(|head| head.eq_ignore_ascii_case(name.trim()))
    }
}
