//! The time zone of a hello (Fox specification §4.2).

use chrono::{NaiveTime, Weekday};

/// A station's time zone as its hello tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoxTimeZone {
    /// Zone id, such as `America/Chicago` or `EST5EDT`.
    pub id: String,
    /// Offsets and rules; none where the hello has only the id or a rule of unknown form.
    pub rules: Option<FoxZoneRules>,
}

/// Offsets of a zone, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoxZoneRules {
    /// Standard offset from UTC.
    pub standard_ms: i64,
    /// What daylight saving adds.
    pub saving_ms: i64,
    /// Start and end of daylight saving; none where there is no such time.
    pub saving: Option<(FoxZoneChange, FoxZoneChange)>,
}

/// The first `weekday` on or after a day of a month, at a wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoxZoneChange {
    pub at: NaiveTime,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub on_or_after: u32,
    pub weekday: Weekday,
}

impl FoxTimeZone {
    /// Reads `ID;RAW;DST;START;END`; a form that is not known leaves the id alone. None for an empty id.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let id = parts.next()?.trim();
        if id.is_empty() {
            return None;
        }
        let rest: Vec<&str> = parts.collect();
        let rules = match rest.as_slice() {
            [standard, saving, start, end] => read_rules(standard, saving, start, end),
            _ => None,
        };
        Some(Self {
            id: id.to_owned(),
            rules,
        })
    }
}

fn read_rules(standard: &str, saving: &str, start: &str, end: &str) -> Option<FoxZoneRules> {
    let changes = match (start, end) {
        ("null", "null") => None,
        _ => Some((read_change(start)?, read_change(end)?)),
    };
    Some(FoxZoneRules {
        standard_ms: standard.parse().ok()?,
        saving_ms: saving.parse().ok()?,
        saving: changes,
    })
}

fn read_change(text: &str) -> Option<FoxZoneChange> {
    let parts: Vec<&str> = text.split(',').collect();
    let [time, "wall", month, day, "on or after", weekday, _] = parts.as_slice() else {
        return None;
    };
    let month = month.parse::<chrono::Month>().ok()?.number_from_month();
    Some(FoxZoneChange {
        at: NaiveTime::parse_from_str(time, "%H:%M:%S%.f").ok()?,
        month,
        on_or_after: day.parse().ok().filter(|day| (1..=31).contains(day))?,
        weekday: weekday.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_with_and_without_rules_are_read() {
        let perth = FoxTimeZone::parse("Australia/Perth;28800000;0;null;null").expect("a zone");
        assert_eq!(
            (perth.id.as_str(), perth.rules),
            (
                "Australia/Perth",
                Some(FoxZoneRules {
                    standard_ms: 28_800_000,
                    saving_ms: 0,
                    saving: None
                })
            )
        );
        let eastern = FoxTimeZone::parse("EST5EDT;-18000000;3600000;02:00:00.000,wall,march,8,on or after,sunday,undefined;02:00:00.000,wall,november,1,on or after,sunday,undefined").expect("a zone");
        let (start, end) = eastern.rules.and_then(|rules| rules.saving).expect("rules");
        assert_eq!(
            (start.month, start.on_or_after, start.weekday),
            (3, 8, Weekday::Sun)
        );
        assert_eq!((end.month, end.on_or_after), (11, 1));
        assert_eq!(start.at, NaiveTime::from_hms_opt(2, 0, 0).expect("a time"));
    }

    #[test]
    fn an_unknown_rule_leaves_the_id() {
        for text in [
            "Europe/Paris",
            "Europe/Paris;3600000;3600000;01:00:00.000,utc,march,0,last,sunday,undefined;null",
            "Europe/Paris;;;;;;;",
        ] {
            let zone = FoxTimeZone::parse(text).expect("a zone");
            assert_eq!(
                (zone.id.as_str(), zone.rules),
                ("Europe/Paris", None),
                "{text}"
            );
        }
        assert_eq!(FoxTimeZone::parse(";1;2"), None);
    }
}
