//! How an ORD becomes the target of a request to the ord servlet (Station web specification §3.2).

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// P2 and Q keep what a path may carry, but never `+`, `&`, `%`, quotes or `|`.
const LITERAL: &AsciiSet = &RESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b',')
    .remove(b'=')
    .remove(b';')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'$');

/// The forms that stations accept; none works on all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UrlForm {
    /// `/ord/…` with the harmless characters literal.
    PathLiteral,
    /// `/ord/…` with every reserved character encoded.
    PathEncoded,
    /// `/ord?…` with the harmless characters literal.
    Query,
}

impl UrlForm {
    /// The forms in the order in which they are tried: P2, P1, Q.
    pub const IN_ORDER: [Self; 3] = [Self::PathLiteral, Self::PathEncoded, Self::Query];

    /// How the form carries a `?` of the ORD unless the station wants it otherwise.
    pub fn question_mark(self) -> QuestionMark {
        match self {
            Self::PathEncoded => QuestionMark::Encoded,
            Self::PathLiteral | Self::Query => QuestionMark::Literal,
        }
    }

    /// The request target for an ORD.
    ///
    /// ```
    /// use niagara_bridge::station::web::ord_url::{QuestionMark, UrlForm};
    /// let ord = "history:/Stn/Oat?period=today|view:file:ITableToCsv";
    /// assert_eq!(
    ///     UrlForm::PathLiteral.target(ord, QuestionMark::Literal),
    ///     "/ord/history:/Stn/Oat?period=today%7Cview:file:ITableToCsv",
    /// );
    /// ```
    pub fn target(self, ord: &str, question_mark: QuestionMark) -> String {
        let (prefix, set) = match self {
            Self::PathLiteral => ("/ord/", LITERAL),
            Self::PathEncoded => ("/ord/", RESERVED),
            Self::Query => ("/ord?", LITERAL),
        };
        let mark = match question_mark {
            QuestionMark::Literal => "?",
            QuestionMark::Encoded => "%3F",
        };
        let encoded: Vec<String> = ord
            .split('?')
            .map(|part| utf8_percent_encode(part, set).to_string())
            .collect();
        format!("{prefix}{}", encoded.join(mark))
    }
}

impl fmt::Display for UrlForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PathLiteral => "P2",
            Self::PathEncoded => "P1",
            Self::Query => "Q",
        })
    }
}

/// How a `?` inside the ORD is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuestionMark {
    /// `?`; the first begins the query string, which the servlet appends again.
    Literal,
    /// `%3F`.
    Encoded,
}

impl QuestionMark {
    /// The other way.
    pub fn other(self) -> Self {
        match self {
            Self::Literal => Self::Encoded,
            Self::Encoded => Self::Literal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: &str = "station:|slot:/Drivers|bql:select slotPath as 'p', out.value from control:NumericPoint where name like 'AHU*'|view:file:ITableToCsv";
    const HISTORY: &str = "history:/Stn/Oat?period=timeRange;start=2024-03-01T00:00:00.000+01:00;end=2024-03-02T00:00:00.000+01:00|bql:select timestamp, value|view:file:ITableToCsv";

    #[test]
    fn worked_encodings_of_the_specification_come_out() {
        assert_eq!(
            UrlForm::PathLiteral.target(POINTS, QuestionMark::Literal),
            "/ord/station:%7Cslot:/Drivers%7Cbql:select%20slotPath%20as%20%27p%27,%20out.value%20from%20control:NumericPoint%20where%20name%20like%20%27AHU*%27%7Cview:file:ITableToCsv"
        );
        assert_eq!(
            UrlForm::PathEncoded.target(POINTS, QuestionMark::Encoded),
            "/ord/station%3A%7Cslot%3A%2FDrivers%7Cbql%3Aselect%20slotPath%20as%20%27p%27%2C%20out.value%20from%20control%3ANumericPoint%20where%20name%20like%20%27AHU%2A%27%7Cview%3Afile%3AITableToCsv"
        );
        assert_eq!(
            UrlForm::PathLiteral.target(HISTORY, QuestionMark::Literal),
            "/ord/history:/Stn/Oat?period=timeRange;start=2024-03-01T00:00:00.000%2B01:00;end=2024-03-02T00:00:00.000%2B01:00%7Cbql:select%20timestamp,%20value%7Cview:file:ITableToCsv"
        );
    }

    #[test]
    fn question_marks_go_where_the_form_or_the_station_wants_them() {
        let ord = "history:/S/H?a=1|view:x?b=2";
        let default = |form: UrlForm| form.target(ord, form.question_mark());
        assert_eq!(
            default(UrlForm::PathLiteral),
            "/ord/history:/S/H?a=1%7Cview:x?b=2"
        );
        assert_eq!(
            default(UrlForm::PathEncoded),
            "/ord/history%3A%2FS%2FH%3Fa%3D1%7Cview%3Ax%3Fb%3D2"
        );
        assert_eq!(
            default(UrlForm::Query),
            "/ord?history:/S/H?a=1%7Cview:x?b=2"
        );
        assert_eq!(
            UrlForm::Query.target(ord, QuestionMark::Encoded),
            "/ord?history:/S/H%3Fa=1%7Cview:x%3Fb=2"
        );
    }

    #[test]
    fn escapes_and_foreign_letters_are_encoded_once() {
        let target =
            UrlForm::PathLiteral.target("slot:/A$20B/Temp%20é&+#\"<>", QuestionMark::Literal);
        assert_eq!(target, "/ord/slot:/A$20B/Temp%2520%C3%A9%26%2B%23%22%3C%3E");
    }
}
