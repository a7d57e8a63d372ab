//! Incremental reader for both CSV dialects of the station's table exporter (Station web specification §3.3).

use std::collections::VecDeque;

use thiserror::Error;

use super::cells::Cells;

/// A cell beyond this is a sign of unbalanced quotes, not of data.
const LONGEST_CELL: usize = 1 << 20;

/// One line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Line of the document on which the record begins, from 1.
    pub line: u64,
    /// Cells without the blanks around them.
    pub cells: Cells,
}

/// Why a document is not CSV.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CsvError {
    /// A cell that does not end.
    #[error(
        "line {line}, column {column}: the cell does not end within 1 MiB, a quote may be missing"
    )]
    CellTooLong { line: u64, column: usize },
    /// Bytes that are not UTF-8.
    #[error("line {line}, column {column}: the cell is not UTF-8")]
    NotUtf8 { line: u64, column: usize },
    /// A record with another number of cells than the header.
    #[error("line {line}: {found} cells where the header has {expected}")]
    Width {
        line: u64,
        expected: usize,
        found: usize,
    },
}

/// How a document ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Behind a line end.
    Complete,
    /// In the middle of the record that begins on this line, which is dropped.
    Torn { line: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    RecordStart,
    CellStart,
    Plain,
    Quoted,
    QuoteInQuoted,
}

/// Turns pieces of a document into records as they arrive.
///
/// Inside a quoted cell `""` is one quote; a single quote ends the cell only before a delimiter, a line end or the end
/// of input, otherwise it is literal. A cell that is quoted without need shows the legacy dialect, which quotes every
/// text and doubles no quotes: from then on `""` is a quote and what ends the cell, or two quotes.
///
/// ```
/// use niagara_bridge::station::web::csv::{CsvReader, Ending};
/// let mut reader = CsvReader::new();
/// reader.feed(b"\xef\xbb\xbfname,val").unwrap();
/// reader.feed(b"ue\nA, -5.0\nB,\"1,024.0\"\nC,7").unwrap();
/// let cells: Vec<_> = std::iter::from_fn(|| reader.record()).map(|r| r.cells.to_texts()).collect();
/// assert_eq!(cells, [["name", "value"], ["A", "-5.0"], ["B", "1,024.0"]]);
/// assert_eq!(reader.finish().unwrap(), Ending::Torn { line: 4 });
/// ```
#[derive(Debug)]
pub struct CsvReader {
    state: State,
    cell: Vec<u8>,
    cells: Cells,
    ready: VecDeque<Record>,
    line: u64,
    record_line: u64,
    width: Option<usize>,
    after_cr: bool,
    quoted: bool,
    legacy: bool,
    bom: BomState,
}

const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BomState {
    Matching(usize),
    Present,
    Absent,
}

impl Default for CsvReader {
    fn default() -> Self {
        Self::new()
    }
}

impl CsvReader {
    /// A reader at the beginning of a document.
    pub fn new() -> Self {
        Self {
            state: State::RecordStart,
            cell: Vec::new(),
            cells: Cells::default(),
            ready: VecDeque::new(),
            line: 1,
            record_line: 1,
            width: None,
            after_cr: false,
            quoted: false,
            legacy: false,
            bom: BomState::Matching(0),
        }
    }

    /// The document begins with a byte order mark; known after the first three bytes.
    pub fn has_bom(&self) -> bool {
        self.bom == BomState::Present
    }

    /// Takes the next piece of the document.
    pub fn feed(&mut self, mut piece: &[u8]) -> Result<(), CsvError> {
        while let BomState::Matching(matched) = self.bom {
            let Some((first, rest)) = piece.split_first() else {
                return Ok(());
            };
            if BOM.get(matched) == Some(first) {
                piece = rest;
                self.bom = if matched + 1 == BOM.len() {
                    BomState::Present
                } else {
                    BomState::Matching(matched + 1)
                };
            } else {
                self.bom = BomState::Absent;
                self.scan(BOM.get(..matched).unwrap_or_default())?;
            }
        }
        self.scan(piece)
    }

    /// The next complete record.
    pub fn record(&mut self) -> Option<Record> {
        self.ready.pop_front()
    }

    /// Says how the document ended. Records may still be waiting.
    pub fn finish(&mut self) -> Result<Ending, CsvError> {
        if let BomState::Matching(matched) = self.bom {
            self.bom = BomState::Absent;
            self.scan(BOM.get(..matched).unwrap_or_default())?;
        }
        Ok(match self.state {
            State::RecordStart => Ending::Complete,
            _ => Ending::Torn {
                line: self.record_line,
            },
        })
    }

    fn scan(&mut self, mut piece: &[u8]) -> Result<(), CsvError> {
        while let Some((&byte, rest)) = piece.split_first() {
            if std::mem::take(&mut self.after_cr) && byte == b'\n' {
                piece = rest;
                continue;
            }
            match self.state {
                State::RecordStart | State::CellStart if byte == b'"' => {
                    self.state = State::Quoted;
                    self.quoted = true;
                    piece = rest;
                }
                State::RecordStart | State::CellStart | State::Plain => {
                    piece = self.plain(byte, piece)?
                }
                State::Quoted => piece = self.quoted(byte, piece)?,
                State::QuoteInQuoted => {
                    piece = rest;
                    match byte {
                        b'"' => {
                            self.push(b"\"")?;
                            if !self.legacy {
                                self.state = State::Quoted;
                            }
                        }
                        b',' | b'\n' | b'\r' => self.delimiter(byte)?,
                        _ => {
                            self.push(&[b'"', byte])?;
                            self.state = State::Quoted;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn plain<'p>(&mut self, byte: u8, piece: &'p [u8]) -> Result<&'p [u8], CsvError> {
        if matches!(byte, b',' | b'\n' | b'\r') {
            self.delimiter(byte)?;
            return Ok(piece.get(1..).unwrap_or_default());
        }
        let end = piece
            .iter()
            .position(|b| matches!(b, b',' | b'\n' | b'\r'))
            .unwrap_or(piece.len());
        let (text, rest) = piece.split_at(end);
        self.push(text)?;
        self.state = State::Plain;
        Ok(rest)
    }

    fn quoted<'p>(&mut self, byte: u8, piece: &'p [u8]) -> Result<&'p [u8], CsvError> {
        if byte == b'"' {
            self.state = State::QuoteInQuoted;
            return Ok(piece.get(1..).unwrap_or_default());
        }
        let end = piece.iter().position(|b| *b == b'"').unwrap_or(piece.len());
        let (text, rest) = piece.split_at(end);
        self.line += text.iter().filter(|b| **b == b'\n').count() as u64;
        self.push(text)?;
        Ok(rest)
    }

    fn push(&mut self, text: &[u8]) -> Result<(), CsvError> {
        if self.cell.len() + text.len() > LONGEST_CELL {
            return Err(CsvError::CellTooLong {
                line: self.record_line,
                column: self.cells.len() + 1,
            });
        }
        self.cell.extend_from_slice(text);
        Ok(())
    }

    fn delimiter(&mut self, byte: u8) -> Result<(), CsvError> {
        let quoted = std::mem::take(&mut self.quoted);
        self.legacy |= quoted
            && !self
                .cell
                .iter()
                .any(|b| matches!(b, b'"' | b',' | b'\n' | b'\r'));
        let text = std::str::from_utf8(&self.cell).map_err(|_| CsvError::NotUtf8 {
            line: self.record_line,
            column: self.cells.len() + 1,
        })?;
        // The exporter's injection guard puts a blank before signs: every cell is trimmed.
        self.cells.push(text.trim());
        self.cell.clear();
        self.state = State::CellStart;
        if byte != b',' {
            self.after_cr = byte == b'\r';
            self.end_record()?;
        }
        Ok(())
    }

    fn end_record(&mut self) -> Result<(), CsvError> {
        let line = std::mem::replace(&mut self.record_line, self.line + 1);
        self.line += 1;
        self.state = State::RecordStart;
        let next = Cells::like(&self.cells);
        let cells = std::mem::replace(&mut self.cells, next);
        let found = cells.len();
        let expected = *self.width.get_or_insert(found);
        let blank = found == 1 && cells.are_blank();
        if found != expected {
            // A blank line is no record of a table with several columns.
            return if blank {
                Ok(())
            } else {
                Err(CsvError::Width {
                    line,
                    expected,
                    found,
                })
            };
        }
        self.ready.push_back(Record { line, cells });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(document: &str) -> (Vec<Vec<String>>, Ending) {
        let mut reader = CsvReader::new();
        reader.feed(document.as_bytes()).unwrap();
        let ending = reader.finish().unwrap();
        (
            std::iter::from_fn(|| reader.record())
                .map(|r| r.cells.to_texts())
                .collect(),
            ending,
        )
    }

    #[test]
    fn modern_quoting_keeps_quotes_commas_and_line_breaks() {
        let (rows, ending) = read("a,b\n\"x, \"\"y\"\"\",\"one\ntwo\"\n");
        assert_eq!(rows[1], ["x, \"y\"", "one\ntwo"]);
        assert_eq!(ending, Ending::Complete);
    }

    #[test]
    fn legacy_quoting_keeps_single_quotes_inside_a_quoted_cell() {
        let (rows, _) = read("a,b\n\"the \"old\" valve\",\"1,024.0\"\n");
        assert_eq!(rows[1], ["the \"old\" valve", "1,024.0"]);
        let (rows, ending) = read("a,b\n\"slot:/A\",\"as built, \"2019\"\"\n\"\",\"x\"\n");
        assert_eq!(rows[1..], [["slot:/A", "as built, \"2019\""], ["", "x"]]);
        assert_eq!(ending, Ending::Complete);
    }

    #[test]
    fn every_line_end_counts_once() {
        for end in ["\n", "\r\n", "\r"] {
            let (rows, ending) = read(&format!("a,b{end}1,2{end}3,4{end}"));
            assert_eq!(rows.len(), 3, "{end:?}");
            assert_eq!(ending, Ending::Complete);
        }
    }

    #[test]
    fn a_single_column_keeps_its_empty_cells() {
        let (rows, _) = read("a\n1\n\n2\n");
        assert_eq!(rows, [["a"], ["1"], [""], ["2"]]);
    }

    #[test]
    fn a_byte_order_mark_before_a_quoted_header_is_no_text() {
        let mut reader = CsvReader::new();
        for byte in "\u{feff}\"name\",b\n".as_bytes() {
            reader.feed(&[*byte]).unwrap();
        }
        assert!(reader.has_bom());
        assert_eq!(reader.record().unwrap().cells, ["name", "b"]);
    }

    #[test]
    fn errors_name_the_line() {
        let mut reader = CsvReader::new();
        let error = reader.feed(b"a,b\n\"x\ny\",2\n1,2,3\n").unwrap_err();
        assert_eq!(
            error,
            CsvError::Width {
                line: 4,
                expected: 2,
                found: 3
            }
        );
        let error = CsvReader::new().feed(b"a,b\n1,\xff\n").unwrap_err();
        assert_eq!(error, CsvError::NotUtf8 { line: 2, column: 2 });
    }

    #[test]
    fn a_missing_quote_cannot_swallow_memory() {
        let mut reader = CsvReader::new();
        reader.feed(b"a\n\"").unwrap();
        let piece = [b'x'; 1 << 16];
        let failed = (0..32).find_map(|_| reader.feed(&piece).err());
        assert_eq!(failed, Some(CsvError::CellTooLong { line: 2, column: 1 }));
    }

    proptest! {
        #[test]
        fn any_table_survives_whatever_its_pieces(
            rows in proptest::collection::vec(proptest::collection::vec("[a-z\",\n é]{0,6}", 3), 1..6),
            cut in 1usize..7,
        ) {
            let quote = |cell: &String| match cell.contains(['"', ',', '\n']) {
                true => format!("\"{}\"", cell.replace('"', "\"\"")),
                false => cell.clone(),
            };
            let document: String = rows
                .iter()
                .map(|row| row.iter().map(quote).collect::<Vec<_>>().join(",") + "\n")
                .collect();
            let mut reader = CsvReader::new();
            for piece in document.as_bytes().chunks(cut) {
                reader.feed(piece).unwrap();
            }
            prop_assert_eq!(reader.finish().unwrap(), Ending::Complete);
            let got: Vec<Vec<String>> = std::iter::from_fn(|| reader.record()).map(|r| r.cells.to_texts()).collect();
            let trimmed: Vec<Vec<String>> =
                rows.iter().map(|row| row.iter().map(|cell| cell.trim().to_owned()).collect()).collect();
            prop_assert_eq!(got, trimmed);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = CsvReader::new();
            if reader.feed(&bytes).is_ok() {
                let _ = reader.finish();
            }
        }
    }
}
