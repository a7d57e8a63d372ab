//! One record of a history, and the text forms of its cells.

use chrono::{DateTime, FixedOffset};

use crate::station::status::StatusBits;
use crate::station::value::{DynamicEnum, parse_double};

/// The value of a history record.
#[derive(Debug, Clone, PartialEq)]
pub enum SampleValue {
    Number(f64),
    Boolean(bool),
    /// An enum tag, unescaped; the ordinal when the station sent it.
    Enum {
        tag: String,
        ordinal: Option<i32>,
    },
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
    } else if parse_double(cell).is_ok() {
        Some(SampleKind::Numeric)
    } else if matches!(cell, "true" | "false") {
        Some(SampleKind::Boolean)
    } else if cell.contains('@') && cell.parse::<DynamicEnum>().is_ok() {
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
        SampleKind::Numeric => parse_double(trimmed).map_or_else(|_| text(), SampleValue::Number),
        SampleKind::Boolean => match trimmed {
            "true" => SampleValue::Boolean(true),
            "false" => SampleValue::Boolean(false),
            _ => text(),
        },
        SampleKind::Enum => match trimmed.parse::<DynamicEnum>() {
            Ok(choice) => SampleValue::Enum {
                tag: choice
                    .tag()
                    .map_or_else(|| choice.ordinal.to_string(), str::to_owned),
                ordinal: Some(choice.ordinal),
            },
            Err(_) => SampleValue::Enum {
                tag: trimmed.to_owned(),
                ordinal: None,
            },
        },
        SampleKind::Text => text(),
    }
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
            ("nan", Some(SampleKind::Numeric)),
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
        assert_eq!(
            parse_value(SampleKind::Numeric, " -5.25"),
            SampleValue::Number(-5.25)
        );
        assert_eq!(
            parse_value(SampleKind::Boolean, "false"),
            SampleValue::Boolean(false)
        );
        assert_eq!(
            parse_value(SampleKind::Enum, "1@{off=0,not$20occupied=1}"),
            SampleValue::Enum {
                tag: "not occupied".into(),
                ordinal: Some(1)
            }
        );
        assert_eq!(
            parse_value(SampleKind::Enum, "heat"),
            SampleValue::Enum {
                tag: "heat".into(),
                ordinal: None
            }
        );
        assert_eq!(
            parse_value(SampleKind::Text, "42"),
            SampleValue::Text("42".into())
        );
        assert_eq!(parse_value(SampleKind::Numeric, ""), SampleValue::Missing);
    }

    #[test]
    fn trend_flags_are_names_or_nothing() {
        assert!(parse_trend_flags("{ }").is_empty());
        assert_eq!(
            parse_trend_flags("{start,outOfOrder}"),
            ["start", "outOfOrder"]
        );
    }

    #[test]
    fn record_types_name_their_kind() {
        assert_eq!(
            SampleKind::of_record_type("history:EnumTrendRecord"),
            Some(SampleKind::Enum)
        );
        assert_eq!(SampleKind::of_record_type("history:AuditRecord"), None);
    }
}
