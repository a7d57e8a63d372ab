//! Files that a configuration names, and the tables in them.

use std::collections::BTreeMap;

use super::section::ConfigError;

/// Reads what a configuration names, relative to its own folder.
pub trait ConfigFiles {
    /// The text of a file.
    ///
    /// # Errors
    /// It cannot be read; the problem for people.
    fn text(&self, path: &str) -> Result<String, String>;
}

/// No files: every name is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl ConfigFiles for NoFiles {
    fn text(&self, _: &str) -> Result<String, String> {
        Err("this configuration is no file, so that it cannot name files".to_owned())
    }
}

impl ConfigFiles for BTreeMap<String, String> {
    fn text(&self, path: &str) -> Result<String, String> {
        self.get(path)
            .cloned()
            .ok_or_else(|| "there is no such file".to_owned())
    }
}

/// A CSV file: its headers, and rows as long as these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsvTable {
    pub headers: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl CsvTable {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or has no header.
    pub fn read(files: &dyn ConfigFiles, path: &str, place: &str) -> Result<Self, ConfigError> {
        let refuse = |problem: String| ConfigError::new(place, format!("{path:?}: {problem}"));
        let text = files.text(path).map_err(refuse)?;
        Self::parse(&text).ok_or_else(|| refuse("it has no header".to_owned()))
    }

    /// Reads a text; none when it has no header.
    pub fn parse(text: &str) -> Option<Self> {
        let mut records = records(text.trim_start_matches('\u{feff}')).into_iter();
        let headers: Vec<String> = records
            .next()?
            .into_iter()
            .map(|header| header.trim().to_owned())
            .collect();
        let rows = records
            .filter(|record| record.iter().any(|cell| !cell.trim().is_empty()))
            .map(|mut record| {
                record.resize(headers.len(), String::new());
                record
                    .into_iter()
                    .map(|cell| cell.trim().to_owned())
                    .collect()
            })
            .collect();
        Some(Self { headers, rows })
    }

    /// The number of a column, by its name in any case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.headers
            .iter()
            .position(|header| header.eq_ignore_ascii_case(name))
    }
}

/// Records of RFC 4180, with line ends of any system.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.trim().is_empty() => {
                cell.clear();
                quoted = true;
            }
            ',' if !quoted => record.push(std::mem::take(&mut cell)),
            '\r' | '\n' if !quoted => {
                if letter == '\r' && letters.peek() == Some(&'\n') {
                    letters.next();
                }
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            letter => cell.push(letter),
        }
    }
    if !cell.is_empty() || !record.is_empty() {
        record.push(cell);
        records.push(record);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_quotes_and_any_line_ends() {
        let table = CsvTable::parse("\u{feff}Child, Parent\r\n\"VAV \"\"1\"\", a\",AHU\n\n x \r\n")
            .unwrap();
        assert_eq!(table.headers, ["Child", "Parent"]);
        assert_eq!(
            table.rows,
            [["VAV \"1\", a", "AHU"], ["x", ""]].map(|row| row.map(str::to_owned).to_vec())
        );
        assert_eq!(table.column("parent"), Some(1));
        assert_eq!(CsvTable::parse(""), None);
    }
}
