//! A caller's BQL text made safe to send: one select query, a row limit, no scan of everything (Tool surface §13.5.2, §12).

use crate::station::error::StationError;
use crate::station::web::query::TableQuery;

/// Reads a caller's query and lowers its row limit to at most `rows`.
///
/// Line breaks count as blanks. One row more than wanted should be asked for: it proves truncation.
///
/// ```
/// use niagara_bridge::station::facade::bound_query;
/// let text = "local:|station:|slot:/|bql:SELECT name\n from baja:Folder";
/// assert_eq!(bound_query(text, 101).unwrap().ord(), "station:|slot:/|bql:SELECT top 101 name  from baja:Folder");
/// assert!(bound_query("station:|slot:/|sql:x|bql:select name", 10).is_err());
/// ```
///
/// # Errors
/// [`StationError::InvalidInput`] for a text without `bql:`, with `view:`, `sql:` or a further query, for anything but
/// `select`, and for `select *` on the root of the station.
pub fn bound_query(text: &str, rows: usize) -> Result<TableQuery, StationError> {
    let text: String = text
        .trim()
        .chars()
        .map(|character| {
            if character.is_whitespace() {
                ' '
            } else {
                character
            }
        })
        .collect();
    let refuse = |detail: &str| StationError::InvalidInput {
        what: "the query",
        detail: detail.to_owned(),
    };
    let query = TableQuery::parse(&text)?;
    let ord = query.ord();
    let (base, select) = ord.split_once("|bql:").unwrap_or_default();
    let mut words = select.split_whitespace().peekable();
    if !words
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case("select"))
    {
        return Err(refuse(
            "the bql: part does not begin with 'select'; only select queries are allowed",
        ));
    }
    if words
        .next_if(|word| word.eq_ignore_ascii_case("top"))
        .is_some()
    {
        words.next();
    }
    words.next_if(|word| word.eq_ignore_ascii_case("distinct") || word.eq_ignore_ascii_case("all"));
    let everything = words
        .next()
        .is_none_or(|word| word == "*" || word.eq_ignore_ascii_case("from"));
    if everything && matches!(base, "station:|slot:/" | "station:|slot:") {
        return Err(refuse(
            "'select *' over the whole station is too costly; name the columns, or give a base below the root such as \
             station:|slot:/Drivers",
        ));
    }
    Ok(query.top(rows))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_missing_top_is_inserted_and_a_larger_one_lowered() {
        for (given, sent) in [
            (
                "station:|slot:/A|bql:select name from baja:Folder",
                "station:|slot:/A|bql:select top 11 name from baja:Folder",
            ),
            (
                "slot:/A|bql:select distinct name",
                "station:|slot:/A|bql:select top 11 distinct name",
            ),
            (
                "station:|slot:/A|bql:select top 500 name",
                "station:|slot:/A|bql:select top 11 name",
            ),
            (
                "station:|slot:/A|bql:select top 3 name",
                "station:|slot:/A|bql:select top 3 name",
            ),
            (
                "bql:select name from baja:Folder",
                "station:|slot:/|bql:select top 11 name from baja:Folder",
            ),
            ("alarm:|bql:select *", "alarm:|bql:select top 11 *"),
            (
                "station:|slot:/|neql:n:point|bql:select name",
                "station:|slot:/|neql:n:point|bql:select top 11 name",
            ),
            (
                "history:/S/H?period=today|bql:select timestamp",
                "history:/S/H?period=today|bql:select top 11 timestamp",
            ),
        ] {
            assert_eq!(bound_query(given, 11).unwrap().ord(), sent, "{given}");
        }
    }

    #[test]
    fn what_must_not_reach_the_station_is_refused_with_a_reason() {
        for (given, reason) in [
            ("station:|slot:/", "bql: part"),
            (
                "station:|slot:/|bql:select name|view:file:ITableToCsv",
                "'|' after bql:",
            ),
            ("station:|sql:drop|bql:select name", "not allowed"),
            (
                "history:/S/H|bql:history:HistoryRollup.rollup(x)",
                "begin with 'select'",
            ),
            (
                "station:|slot:/|bql:select * from baja:Component",
                "too costly",
            ),
            (
                "slot:/|bql:select top 5 all * from baja:Component",
                "too costly",
            ),
            ("slot:/|bql:select from baja:Component", "too costly"),
            ("slot:/|bql:select a\u{0}", "control character"),
        ] {
            let refusal = bound_query(given, 11).unwrap_err().to_string();
            assert!(refusal.contains(reason), "{given}: {refusal}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_query_is_one_select_with_a_limit(text in "[a-z:/|' *,0-9]{0,60}") {
            if let Ok(query) = bound_query(&format!("slot:/A|bql:select {text}"), 7) {
                let ord = query.ord();
                let select = ord.rsplit("|bql:").next().unwrap();
                prop_assert!(!select.contains('|'));
                let words: Vec<&str> = select.split_whitespace().collect();
                prop_assert!(words[2].parse::<u64>().unwrap() <= 7);
            }
        }
    }
}
