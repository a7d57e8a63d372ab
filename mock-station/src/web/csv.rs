//! The CSV exporter's two dialects (Station web specification §3.3).

use crate::switches::CsvDialect;

/// How a table is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CsvFormat {
    pub headers: bool,
    pub byte_order_mark: bool,
    pub crlf: bool,
    pub delimiter: String,
    pub injection_guard: bool,
    pub dialect: CsvDialect,
}

/// One cell's text, and whether its value is a number, boolean or time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellText {
    pub text: String,
    pub plain: bool,
}

/// Writes a table.
pub(crate) fn write(
    format: &CsvFormat,
    headers: &[String],
    rows: impl Iterator<Item = Vec<CellText>>,
) -> String {
    let mut writer = Writer {
        format,
        text: String::new(),
    };
    if format.byte_order_mark {
        writer.text.push('\u{FEFF}');
    }
    if format.headers {
        writer.line(headers.iter(), |writer, header| writer.header(header));
    }
    for row in rows {
        writer.line(row.iter(), |writer, cell| writer.cell(cell));
    }
    writer.text
}

struct Writer<'a> {
    format: &'a CsvFormat,
    text: String,
}

impl Writer<'_> {
    fn line<T>(&mut self, cells: impl Iterator<Item = T>, write: impl Fn(&mut Self, T)) {
        for (index, cell) in cells.enumerate() {
            if index > 0 {
                self.text.push_str(&self.format.delimiter);
            }
            write(self, cell);
        }
        self.text
            .push_str(if self.format.crlf { "\r\n" } else { "\n" });
    }

    fn header(&mut self, header: &str) {
        match self.format.dialect {
            CsvDialect::Modern => self.modern(header),
            CsvDialect::Legacy => {
                let replaced = header.replace(',', "_").replace('"', "'");
                self.text.push_str(&replaced);
            }
        }
    }

    fn cell(&mut self, cell: &CellText) {
        match self.format.dialect {
            CsvDialect::Modern => self.modern(&cell.text),
            CsvDialect::Legacy => {
                let guarded = self.guarded(&cell.text);
                // The old writer does not double quotes inside a quoted cell.
                if cell.plain && !guarded.contains(',') {
                    self.text.push_str(&guarded);
                } else {
                    self.text.push('"');
                    self.text.push_str(&guarded);
                    self.text.push('"');
                }
            }
        }
    }

    fn modern(&mut self, text: &str) {
        let guarded = self.guarded(text);
        let special = guarded.contains(['"', '\n', '\r'])
            || (!self.format.delimiter.is_empty() && guarded.contains(&self.format.delimiter));
        if special {
            self.text.push('"');
            self.text.push_str(&guarded.replace('"', "\"\""));
            self.text.push('"');
        } else {
            self.text.push_str(&guarded);
        }
    }

    /// A blank in front of text that a spreadsheet would run as a formula.
    fn guarded<'t>(&self, text: &'t str) -> std::borrow::Cow<'t, str> {
        if self.format.injection_guard && text.starts_with(['=', '@', '+', '-']) {
            format!(" {text}").into()
        } else {
            text.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format() -> CsvFormat {
        CsvFormat {
            headers: true,
            byte_order_mark: false,
            crlf: false,
            delimiter: ",".into(),
            injection_guard: true,
            dialect: CsvDialect::Modern,
        }
    }

    fn one(format: &CsvFormat, text: &str, plain: bool) -> String {
        let row = vec![CellText {
            text: text.into(),
            plain,
        }];
        let format = CsvFormat {
            headers: false,
            ..format.clone()
        };
        write(&format, &[], std::iter::once(row))
    }

    #[test]
    fn modern_cells_are_quoted_only_where_needed() {
        for (text, expected) in [
            ("12.5 {ok}", "12.5 {ok}\n"),
            ("1,024.0 {ok}", "\"1,024.0 {ok}\"\n"),
            ("say \"hi\"", "\"say \"\"hi\"\"\"\n"),
            ("two\nlines", "\"two\nlines\"\n"),
            ("-5.0", " -5.0\n"),
            ("+inf", " +inf\n"),
            ("=1+1", " =1+1\n"),
            ("@x", " @x\n"),
            ("", "\n"),
        ] {
            assert_eq!(one(&format(), text, false), expected, "{text}");
        }
    }

    #[test]
    fn the_guard_can_be_off() {
        let open = CsvFormat {
            injection_guard: false,
            ..format()
        };
        assert_eq!(one(&open, "-5.0", true), "-5.0\n");
    }

    #[test]
    fn legacy_cells_are_always_quoted_unless_plain_and_quotes_stay_single() {
        let legacy = CsvFormat {
            dialect: CsvDialect::Legacy,
            ..format()
        };
        assert_eq!(one(&legacy, "a \"b\"", false), "\"a \"b\"\"\n");
        assert_eq!(one(&legacy, "12.5", true), "12.5\n");
        assert_eq!(one(&legacy, "1,024.0", true), "\"1,024.0\"\n");
        let headers = ["Value, \"x\"".to_owned()];
        assert_eq!(write(&legacy, &headers, std::iter::empty()), "Value_ 'x'\n");
    }

    #[test]
    fn mark_line_end_and_delimiter_follow_the_parameters() {
        let german = CsvFormat {
            byte_order_mark: true,
            crlf: true,
            delimiter: ";".into(),
            ..format()
        };
        let headers = ["A".to_owned(), "B;C".to_owned()];
        let row = vec![
            CellText {
                text: "1,5".into(),
                plain: true,
            },
            CellText {
                text: "x".into(),
                plain: false,
            },
        ];
        assert_eq!(
            write(&german, &headers, std::iter::once(row)),
            "\u{FEFF}A;\"B;C\"\r\n1,5;x\r\n"
        );
    }

    #[test]
    fn an_empty_table_is_its_header_line() {
        assert_eq!(
            write(&format(), &["A".to_owned()], std::iter::empty()),
            "A\n"
        );
    }
}
