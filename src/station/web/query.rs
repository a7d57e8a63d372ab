//! BQL queries as text: bases, limits and literals that cannot smuggle anything.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use crate::station::error::StationError;
use crate::station::http::TimeoutClass;
use crate::station::ord::{HistoryId, Ord};
use crate::station::time::abs_time_in;

/// Rows of one answer that the bridge takes (Tool surface §13.5.1).
pub const MOST_ROWS: usize = 50_000;

/// What kind of base a query stands on; stations differ in what they accept on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BaseKind {
    /// The component tree.
    Component,
    /// `history:` as a whole or one history.
    History,
    /// `alarm:`.
    Alarm,
}

/// A BQL query ready to be asked.
///
/// ```
/// use niagara_bridge::station::web::query::TableQuery;
/// let query = TableQuery::new("station:|slot:/Drivers", "select slotPath from control:ControlPoint").unwrap();
/// assert_eq!(query.ord(), "station:|slot:/Drivers|bql:select slotPath from control:ControlPoint");
/// assert!(TableQuery::new("slot:/", "select name from baja:Station|view:x").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableQuery {
    base: String,
    select: String,
    kind: BaseKind,
    pub(super) machine: bool,
    pub(super) rows: usize,
    pub(super) timeout: TimeoutClass,
}

impl TableQuery {
    /// A query in machine mode with default limits.
    ///
    /// Errors: [`StationError::InvalidInput`] for text that would start another ORD query, reach another scheme or
    /// break the request.
    pub fn new(base: &str, select: &str) -> Result<Self, StationError> {
        let base = base.trim();
        let base = base.strip_prefix("local:|").unwrap_or(base);
        let select = select.trim();
        check(base, select)?;
        let (base, kind) = match base.split(':').next().unwrap_or_default() {
            "slot" | "h" => (format!("station:|{base}"), BaseKind::Component),
            "station" => (base.to_owned(), BaseKind::Component),
            "history" => (base.to_owned(), BaseKind::History),
            "alarm" => (base.to_owned(), BaseKind::Alarm),
            _ => {
                return Err(invalid(format!(
                    "{base:?} is no base for BQL; use station:|slot:/…, history:… or alarm:"
                )));
            }
        };
        Ok(Self {
            base,
            select: select.to_owned(),
            kind,
            machine: true,
            rows: MOST_ROWS,
            timeout: TimeoutClass::Query,
        })
    }

    /// A query below a component.
    pub fn below(component: &Ord, select: &str) -> Result<Self, StationError> {
        Self::new(&component.absolute(), select)
    }

    /// A query on one history, between two instants where given; both ends are inclusive on the station.
    pub fn history(
        id: &HistoryId,
        from: Option<DateTime<Utc>>,
        to: Option<DateTime<Utc>>,
        zone: Tz,
        select: &str,
    ) -> Result<Self, StationError> {
        let mut base = id.ord();
        if from.is_some() || to.is_some() {
            base.push_str("?period=timeRange");
            if let Some(from) = from {
                base.push_str(&format!(";start={}", abs_time_in(from, zone)));
            }
            if let Some(to) = to {
                base.push_str(&format!(";end={}", abs_time_in(to, zone)));
            }
        }
        Self::new(&base, select)
    }

    /// A whole query ORD as a person writes it, `station:|slot:/A|bql:select …`.
    pub fn parse(text: &str) -> Result<Self, StationError> {
        let text = text.trim();
        let (base, select) = text.split_once("bql:").ok_or_else(|| {
            invalid("it holds no bql: part; write for example station:|slot:/Drivers|bql:select slotPath from control:ControlPoint".to_owned())
        })?;
        let base = base.trim_end();
        let base = match base.strip_suffix('|') {
            Some(base) => base,
            None if base.is_empty() => "station:|slot:/",
            None => {
                return Err(invalid(format!(
                    "between {base:?} and bql: a '|' is missing"
                )));
            }
        };
        Self::new(base, select)
    }

    /// Asks for display texts instead of machine encodings.
    pub fn display(mut self) -> Self {
        self.machine = false;
        self
    }

    /// Takes at most so many rows and then closes the connection.
    pub fn rows(mut self, most: usize) -> Self {
        self.rows = most.min(MOST_ROWS);
        self
    }

    /// Takes more rows than an interactive query: what ingest reads.
    pub fn export(mut self, most: usize) -> Self {
        self.rows = most;
        self.timeout = TimeoutClass::Export;
        self
    }

    /// Lets the station stop after `most` rows: inserts `top`, or lowers the one that is there.
    ///
    /// ```
    /// use niagara_bridge::station::web::query::TableQuery;
    /// let ord = |text: &str| TableQuery::parse(text).unwrap().top(5).ord();
    /// assert_eq!(ord("slot:/|bql:select name from baja:Folder"), "station:|slot:/|bql:select top 5 name from baja:Folder");
    /// assert_eq!(ord("alarm:|bql:SELECT TOP 3 *"), "alarm:|bql:SELECT top 3 *");
    /// ```
    pub fn top(mut self, most: usize) -> Self {
        let Some(keyword) = self
            .select
            .get(..6)
            .filter(|word| word.eq_ignore_ascii_case("select"))
        else {
            return self;
        };
        let rest = self.select.get(6..).unwrap_or_default();
        if !rest.is_empty() && !rest.starts_with(|c: char| c.is_whitespace() || c == '*') {
            return self;
        }
        let rest = rest.trim_start();
        let (existing, rest) = match existing_top(rest) {
            Some((existing, rest)) => (existing.min(most), rest),
            None => (most, rest),
        };
        self.select = format!("{keyword} top {existing} {rest}")
            .trim_end()
            .to_owned();
        self
    }

    /// The ORD without exporter.
    pub fn ord(&self) -> String {
        format!("{}|bql:{}", self.base, self.select)
    }

    /// What the query stands on.
    pub fn base_kind(&self) -> BaseKind {
        self.kind
    }
}

fn existing_top(rest: &str) -> Option<(usize, &str)> {
    let word = rest
        .get(..3)
        .filter(|word| word.eq_ignore_ascii_case("top"))?;
    let after = rest.get(word.len()..)?;
    let number = after.trim_start();
    if number.len() == after.len() {
        return None;
    }
    let end = number
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(number.len());
    let count = number.get(..end)?.parse().ok()?;
    Some((count, number.get(end..)?.trim_start()))
}

fn check(base: &str, select: &str) -> Result<(), StationError> {
    let text = || base.chars().chain(select.chars());
    if text().any(char::is_control) {
        return Err(invalid("it contains a control character".to_owned()));
    }
    if select.contains('|') {
        return Err(invalid(
            "'|' after bql: would start another query; it is not allowed, not even in quotes"
                .to_owned(),
        ));
    }
    let lower = base.to_ascii_lowercase();
    for part in lower.split('|') {
        let scheme = part.trim_start();
        if scheme.starts_with("view:") || scheme.starts_with("sql:") {
            return Err(invalid(format!("the scheme of {part:?} is not allowed")));
        }
    }
    let path = base.split('?').next().unwrap_or_default();
    if path.contains("//") || path.split(['/', '|', ':']).any(|segment| segment == "..") {
        return Err(invalid(format!(
            "the path in {base:?} has an empty or '..' segment"
        )));
    }
    if select.is_empty() {
        return Err(invalid("nothing follows bql:".to_owned()));
    }
    Ok(())
}

fn invalid(detail: String) -> StationError {
    StationError::InvalidInput {
        what: "the query",
        detail,
    }
}

/// Quotes user text for BQL. `|` and control characters are refused, because the ORD parser does not know BQL's quotes
/// (Station web specification §3.4, "Injection").
///
/// ```
/// use niagara_bridge::station::web::query::literal;
/// assert_eq!(literal("O'Hare").unwrap(), r"'O\'Hare'");
/// assert!(literal("x'|sql:drop").is_err());
/// ```
pub fn literal(text: &str) -> Result<String, StationError> {
    let refused = |detail: &str| StationError::InvalidInput {
        what: "the search text",
        detail: detail.to_owned(),
    };
    if text.contains('|') {
        return Err(refused("'|' cannot be searched for through BQL"));
    }
    if text.chars().any(char::is_control) {
        return Err(refused("it contains a control character"));
    }
    Ok(format!(
        "'{}'",
        text.replace('\\', "\\\\").replace('\'', "\\'")
    ))
}

/// A time literal with milliseconds and offset (Tool surface §13.5.1, "BQL time").
///
/// ```
/// use niagara_bridge::station::web::query::time_literal;
/// let instant = "2024-02-29T23:00:00Z".parse().unwrap();
/// assert_eq!(time_literal(instant, chrono_tz::Europe::Paris), "baja:AbsTime '2024-03-01T00:00:00.000+01:00'");
/// ```
pub fn time_literal(instant: DateTime<Utc>, zone: Tz) -> String {
    format!("baja:AbsTime '{}'", abs_time_in(instant, zone))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn queries_that_leave_their_lane_are_refused() {
        for text in [
            "slot:/|bql:select name from baja:Station|view:file:ITableToHtml",
            "slot:/|view:x|bql:select name from baja:Station",
            "sql:select 1|bql:select name from baja:Station",
            "slot://A|bql:select name from baja:Station",
            "slot:/A/../B|bql:select name from baja:Station",
            "file:^x|bql:select name from baja:Station",
            "slot:/|bql:",
            "slot:/|neql:n:point",
            "slot:/ bql:select name from baja:Station",
            "slot:/|bql:select name\nfrom baja:Station",
        ] {
            let error = TableQuery::parse(text).unwrap_err();
            assert_eq!(error.kind(), "invalid-input", "{text}");
        }
    }

    #[test]
    fn bases_are_completed_and_recognised() {
        let kind = |text: &str| {
            let query = TableQuery::parse(text).unwrap();
            (query.ord(), query.base_kind())
        };
        assert_eq!(
            kind("local:|station:|slot:/|neql:n:point|bql:select name from baja:Component"),
            (
                "station:|slot:/|neql:n:point|bql:select name from baja:Component".to_owned(),
                BaseKind::Component
            )
        );
        assert_eq!(
            kind("bql:select name from baja:Station").0,
            "station:|slot:/|bql:select name from baja:Station"
        );
        assert_eq!(kind("history:|bql:select id").1, BaseKind::History);
        assert_eq!(kind("alarm:archive|bql:select *").1, BaseKind::Alarm);
    }

    #[test]
    fn a_history_range_carries_offsets_on_both_sides_of_a_clock_change() {
        let id: HistoryId = "/Harborview/Oat".parse().unwrap();
        let at = |text: &str| Some(text.parse().unwrap());
        let zone = chrono_tz::America::New_York;
        let query = TableQuery::history(
            &id,
            at("2025-11-02T05:30:00Z"),
            at("2025-11-02T06:30:00Z"),
            zone,
            "select value",
        );
        assert_eq!(
            query.unwrap().ord(),
            "history:/Harborview/Oat?period=timeRange;start=2025-11-02T01:30:00.000-04:00;end=2025-11-02T01:30:00.000-05:00|bql:select value"
        );
    }

    #[test]
    fn top_is_inserted_or_lowered_but_never_raised() {
        let top = |select: &str| TableQuery::new("slot:/", select).unwrap().top(10).select;
        assert_eq!(
            top("select * from baja:Folder"),
            "select top 10 * from baja:Folder"
        );
        assert_eq!(
            top("select top 500 name from baja:Folder"),
            "select top 10 name from baja:Folder"
        );
        assert_eq!(
            top("select top 7 name from baja:Folder"),
            "select top 7 name from baja:Folder"
        );
        assert_eq!(
            top("select topic from baja:Folder"),
            "select top 10 topic from baja:Folder"
        );
        assert_eq!(
            top("history:HistoryRollup.rollup(x)"),
            "history:HistoryRollup.rollup(x)"
        );
    }

    proptest! {
        #[test]
        fn a_literal_ends_where_it_should(text in "[^|\\p{Cc}]{0,20}") {
            let quoted = literal(&text).unwrap();
            let inner = &quoted[1..quoted.len() - 1];
            let mut unescaped = String::new();
            let mut chars = inner.chars();
            while let Some(c) = chars.next() {
                prop_assert_ne!(c, '\'');
                unescaped.push(if c == '\\' { chars.next().unwrap() } else { c });
            }
            prop_assert_eq!(unescaped, text);
        }

        #[test]
        fn no_text_makes_the_query_parser_panic(text in "\\PC*") {
            if let Ok(query) = TableQuery::parse(&text) {
                let _ = query.top(3);
            }
            let _ = TableQuery::parse(&format!("slot:/|bql:{text}")).map(|query| query.top(3));
        }
    }
}
