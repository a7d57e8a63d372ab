//! One record of a history, and the text forms of its cells.

use chrono::{DateTime, FixedOffset};

use crate::station::status::StatusBits;

/// The value of a history record.
#[derive(Debug, Clone, PartialEq)]
pub enum SampleValue {
    Number(f64),
    Boolean(bool),
    /// An enum tag; the ordinal when the station sent it.
    Enum { tag: String, ordinal: Option<i32> },
    Text(String),
    /// The record holds no value.
    Missing,
}

/// What kind of values a history records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    Numeric,
    Boolean,
    Enum,
    Text,
}

impl SampleKind {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Numeric => "numeric",
            Self::Boolean => "boolean",
            Self::Enum => "enum",
            Self::Text => "string",
        }
    }

    /// The kind named by a record type such as `history:NumericTrendRecord`.
    pub fn of_record_type(type_spec: &str) -> Option<Self> {
        let name = type_spec.rsplit(':').next()?;
        [
            ("Numeric", Self::Numeric),
            ("Boolean", Self::Boolean),
            ("Enum", Self::Enum),
            ("String", Self::Text),
        ]
        .into_iter()
        .find_map(|(prefix, kind)| name.starts_with(prefix).then_some(kind))
    }
}

/// One record of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistorySample {
    /// In the station's own offset.
    pub timestamp: DateTime<FixedOffset>,
    pub value: SampleValue,
    /// None when the interface does not tell the status.
    pub status: Option<StatusBits>,
    /// Names such as `start`, `outOfOrder`, `hidden`, `modified`, `interpolated`.
    pub trend_flags: Vec<String>,
}

impl HistorySample {
    /// Whether the operator has hidden this record from evaluation.
    pub fn is_hidden(&self) -> bool {
        self.trend_flags.iter().any(|flag| flag == "hidden")
    }
}

/// The kind that a machine-mode value cell shows; none for an empty cell (Tool surface §13.5.3).
pub fn kind_of_cell(cell: &str) -> Option<SampleKind> {
    let cell = cell.trim();
    if cell.is_empty() {
        None
    } else if parse_number(cell).is_some() {
        Some(SampleKind::Numeric)
    } else if matches!(cell, "true" | "false") {
        Some(SampleKind::Boolean)
    } else if enum_parts(cell).is_some() {
        Some(SampleKind::Enum)
    } else {
        Some(SampleKind::Text)
    }
}

/// Reads a value cell of a history whose kind is known; a cell of another form is kept as text.
pub fn parse_value(kind: SampleKind, cell: &str) -> SampleValue {
    let trimmed = cell.trim();
    if trimmed.is_empty() && kind != SampleKind::Text {
        return SampleValue::Missing;
    }
    let text = || SampleValue::Text(cell.to_owned());
    match kind {
        SampleKind::Numeric => parse_number(trimmed).map_or_else(text, SampleValue::Number),
        SampleKind::Boolean => match trimmed {
            "true" => SampleValue::Boolean(true),
            "false" => SampleValue::Boolean(false),
            _ => text(),
        },
        SampleKind::Enum => match enum_parts(trimmed) {
            Some((ordinal, tag)) => SampleValue::Enum {
                tag: tag.unwrap_or_else(|| ordinal.to_string()),
                ordinal: Some(ordinal),
            },
            None => match trimmed.parse() {
                Ok(ordinal) => SampleValue::Enum {
                    tag: trimmed.to_owned(),
                    ordinal: Some(ordinal),
                },
                Err(_) => SampleValue::Enum {
                    tag: trimmed.to_owned(),
                    ordinal: None,
                },
            },
        },
        SampleKind::Text => text(),
    }
}

/// Numbers of the baja encoding, `nan` and the infinities included.
fn parse_number(text: &str) -> Option<f64> {
    match text {
        "nan" | "NaN" => Some(f64::NAN),
        "+inf" | "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ if text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.')) => {
            text.parse().ok()
        }
        _ => None,
    }
}

/// Splits `<ordinal>@{tag=ordinal,…}` and finds the ordinal's tag.
fn enum_parts(cell: &str) -> Option<(i32, Option<String>)> {
    let (ordinal, range) = cell.split_once('@')?;
    let ordinal: i32 = ordinal.trim().parse().ok()?;
    let body = range.trim().split_once('{').map_or("", |(_, rest)| rest);
    let body = body.rsplit_once('}').map_or(body, |(inside, _)| inside);
    let tag = body.split(',').find_map(|entry| {
        let (tag, number) = entry.split_once('=')?;
        (number.trim().parse() == Ok(ordinal)).then(|| crate::station::ord::unescape(tag.trim()))
    });
    Some((ordinal, tag))
}

/// Names of trend flags in a cell such as `{start,outOfOrder}` or `{ }`; a bare bit mask is kept as it is.
pub fn parse_trend_flags(cell: &str) -> Vec<String> {
    cell.trim()
        .trim_start_matches('{')
        .trim_end_matches('}')
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty() && *name != "0")
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cell_tells_the_kind() {
        for (cell, kind) in [
            (" -5.0", Some(SampleKind::Numeric)),
            ("+inf", Some(SampleKind::Numeric)),
            ("true", Some(SampleKind::Boolean)),
            ("1@{off=0,on=1}", Some(SampleKind::Enum)),
            ("infinite loop", Some(SampleKind::Text)),
            ("", None),
        ] {
            assert_eq!(kind_of_cell(cell), kind, "{cell}");
        }
    }

    #[test]
    fn cells_of_each_kind_are_read() {
        assert_eq!(parse_value(SampleKind::Numeric, " -5.25"), SampleValue::Number(-5.25));
        assert_eq!(parse_value(SampleKind::Boolean, "false"), SampleValue::Boolean(false));
        assert_eq!(
            parse_value(SampleKind::Enum, "1@{off=0,not$20occupied=1}"),
            SampleValue::Enum { tag: "not occupied".into(), ordinal: Some(1) }
        );
        assert_eq!(parse_value(SampleKind::Enum, "heat"), SampleValue::Enum { tag: "heat".into(), ordinal: None });
        assert_eq!(parse_value(SampleKind::Text, "42"), SampleValue::Text("42".into()));
        assert_eq!(parse_value(SampleKind::Numeric, ""), SampleValue::Missing);
    }

    #[test]
    fn trend_flags_are_names_or_nothing() {
        assert!(parse_trend_flags("{ }").is_empty());
        assert_eq!(parse_trend_flags("{start,outOfOrder}"), ["start", "outOfOrder"]);
    }

    #[test]
    fn record_types_name_their_kind() {
        assert_eq!(SampleKind::of_record_type("history:EnumTrendRecord"), Some(SampleKind::Enum));
        assert_eq!(SampleKind::of_record_type("history:AuditRecord"), None);
    }
}
