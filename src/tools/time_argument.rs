//! The arguments `from` and `to` of history and alarm tools (Tool surface §7, "Time arguments").

use chrono::{DateTime, FixedOffset, Utc};
use chrono_tz::Tz;

use super::result_value::time_text;
use super::{Arguments, ToolError};
use crate::station::time::parse_client_time;

/// Two instants in the station's offset, the first not after the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    pub from: DateTime<FixedOffset>,
    pub to: DateTime<FixedOffset>,
}

impl TimeRange {
    /// Reads `from` (required) and `to` (now when absent).
    ///
    /// # Errors
    /// −32602 for a text that is no time, or a range that runs backwards.
    pub fn from_arguments(
        arguments: &Arguments,
        zone: &Tz,
        now: DateTime<Utc>,
    ) -> Result<Self, ToolError> {
        let from = instant("from", arguments.string("from")?, zone)?;
        let to = match arguments
            .optional_string("to")
            .filter(|text| !text.trim().is_empty())
        {
            Some(text) => instant("to", text, zone)?,
            None => now,
        };
        let local = |time: DateTime<Utc>| time.with_timezone(zone).fixed_offset();
        if from > to {
            let (from, to) = (time_text(&local(from)), time_text(&local(to)));
            return Err(ToolError::invalid_params(format!(
                "'from' ({from}) lies after 'to' ({to}); swap them or choose an earlier 'from'."
            ))
            .with("argument", "from"));
        }
        Ok(Self {
            from: local(from),
            to: local(to),
        })
    }
}

fn instant(name: &str, text: &str, zone: &Tz) -> Result<DateTime<Utc>, ToolError> {
    parse_client_time(text, *zone).map_err(|error| {
        ToolError::invalid_params(format!("Argument '{name}': {error}.")).with("argument", name)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn range(arguments: Value) -> Result<TimeRange, ToolError> {
        let Value::Object(values) = arguments else {
            panic!("object")
        };
        let now = "2026-11-30T12:00:00Z".parse().unwrap();
        TimeRange::from_arguments(&Arguments::new(values), &chrono_tz::America::New_York, now)
    }

    #[test]
    fn a_date_is_local_midnight_and_the_end_defaults_to_now() {
        let range = range(json!({"from": "2026-11-01"})).unwrap();
        assert_eq!(range.from.to_rfc3339(), "2026-11-01T00:00:00-04:00");
        assert_eq!(range.to.to_rfc3339(), "2026-11-30T07:00:00-05:00");
    }

    #[test]
    fn bad_times_and_backward_ranges_name_the_argument() {
        let error = range(json!({"from": "yesterday"})).unwrap_err();
        assert_eq!(
            (error.code.code(), &error.data["argument"]),
            (-32602, &json!("from"))
        );
        let error = range(json!({"from": "2026-11-02", "to": "2026-11-01"})).unwrap_err();
        assert_eq!(error.code.code(), -32602);
        assert_eq!(
            error.message,
            "'from' (2026-11-02T00:00:00.000-05:00) lies after 'to' (2026-11-01T00:00:00.000-04:00); swap them or \
             choose an earlier 'from'."
        );
    }
}
