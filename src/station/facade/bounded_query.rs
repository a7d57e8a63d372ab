//! A caller's BQL text made safe to send: one query, a known base, a row limit (Tool surface §13.5.2, §12).

/// Why a query text is refused before anything is sent; each sentence ends with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryRefusal {
    #[error("the query holds no 'bql:' part; write for example station:|slot:/Drivers|bql:select name, out from control:ControlPoint")]
    NoBql,
    #[error("the query uses the scheme '{scheme}:', which is not allowed here; give a base ord and one bql: part only")]
    Scheme { scheme: String },
    #[error("the query goes on behind the bql: part with '|'; remove the rest, a literal may not hold '|' either")]
    Tail,
    #[error("the query holds a control character at position {position}; remove it")]
    Control { position: usize },
    #[error("the bql: part does not begin with 'select'; only select queries are allowed")]
    NoSelect,
    #[error("'select *' over the whole station is too costly; name the columns, or give a base below the root such as station:|slot:/Drivers")]
    Cost,
}

/// The text of a select query with its row limit lowered to at most `limit`.
///
/// The answer keeps the caller's base and columns; `local:|` is stripped, a base without a host is taken from the
/// station. One row more than wanted should be asked for: it proves truncation.
///
/// ```
/// use niagara_bridge::station::facade::bound_query;
/// let text = "local:|station:|slot:/|bql:SELECT name from baja:Folder";
/// assert_eq!(bound_query(text, 101).unwrap(), "station:|slot:/|bql:SELECT top 101 name from baja:Folder");
/// assert!(bound_query("station:|slot:/|sql:x|bql:select name", 10).is_err());
/// ```
pub fn bound_query(text: &str, limit: usize) -> Result<String, QueryRefusal> {
    let text = text.trim();
    if let Some(position) = text.chars().position(|character| character.is_control() && !character.is_whitespace()) {
        return Err(QueryRefusal::Control { position });
    }
    let segments: Vec<&str> = text.split('|').map(str::trim).collect();
    let at = segments
        .iter()
        .position(|segment| scheme(segment) == "bql")
        .ok_or(QueryRefusal::NoBql)?;
    let (base, rest) = segments.split_at(at);
    if let Some(forbidden) = base.iter().map(|segment| scheme(segment)).find(|name| matches!(name.as_str(), "view" | "sql")) {
        return Err(QueryRefusal::Scheme { scheme: forbidden });
    }
    let [query] = rest else {
        return Err(QueryRefusal::Tail);
    };
    let select = query.split_once(':').map_or("", |(_, body)| body).trim();
    let base = base_ord(base);
    let bounded = bound_select(select, limit)?;
    if is_root(&base) && projects_everything(&bounded) {
        return Err(QueryRefusal::Cost);
    }
    Ok(format!("{base}|bql:{bounded}"))
}

fn scheme(segment: &str) -> String {
    segment
        .split_once(':')
        .map_or_else(String::new, |(name, _)| name.trim().to_ascii_lowercase())
}

fn base_ord(segments: &[&str]) -> String {
    let mut kept: Vec<&str> = segments
        .iter()
        .copied()
        .filter(|segment| !segment.is_empty() && *segment != "local:")
        .collect();
    let relative = kept
        .first()
        .is_none_or(|first| matches!(scheme(first).as_str(), "slot" | "h" | "neql"));
    if relative {
        kept.insert(0, "station:");
    }
    if kept == ["station:"] {
        kept.push("slot:/");
    }
    kept.join("|")
}

fn is_root(base: &str) -> bool {
    matches!(base, "station:|slot:/" | "station:|slot:")
}

/// Inserts `top limit` behind `select`, or lowers the caller's own.
fn bound_select(select: &str, limit: usize) -> Result<String, QueryRefusal> {
    let (keyword, rest) = split_word(select);
    if !keyword.eq_ignore_ascii_case("select") {
        return Err(QueryRefusal::NoSelect);
    }
    let (next, after) = split_word(rest);
    if next.eq_ignore_ascii_case("top") {
        let (number, columns) = split_word(after);
        if let Ok(asked) = number.parse::<u64>() {
            let rows = asked.min(limit as u64);
            return Ok(format!("{keyword} {next} {rows} {}", columns.trim_start()));
        }
    }
    Ok(format!("{keyword} top {limit} {}", rest.trim_start()))
}

fn projects_everything(select: &str) -> bool {
    let (_, rest) = split_word(select);
    let (_, rest) = split_word(rest);
    let (_, mut rest) = split_word(rest);
    let (word, after) = split_word(rest);
    if word.eq_ignore_ascii_case("distinct") || word.eq_ignore_ascii_case("all") {
        rest = after;
    }
    let (first, _) = split_word(rest);
    first == "*" || first.eq_ignore_ascii_case("from") || first.is_empty()
}

fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_missing_top_is_inserted_and_a_larger_one_lowered() {
        for (given, sent) in [
            ("station:|slot:/A|bql:select name from baja:Folder", "station:|slot:/A|bql:select top 11 name from baja:Folder"),
            ("slot:/A|bql:select distinct name", "station:|slot:/A|bql:select top 11 distinct name"),
            ("station:|slot:/A|bql:select TOP 500 name", "station:|slot:/A|bql:select TOP 11 name"),
            ("station:|slot:/A|bql:select top 3 name", "station:|slot:/A|bql:select top 3 name"),
            ("station:|slot:/A|bql:select\n  name\nfrom baja:Folder", "station:|slot:/A|bql:select top 11 name\nfrom baja:Folder"),
            ("bql:select name from baja:Folder", "station:|slot:/|bql:select top 11 name from baja:Folder"),
            ("alarm:|bql:select *", "alarm:|bql:select top 11 *"),
            ("station:|slot:/|neql:n:point|bql:select name", "station:|slot:/|neql:n:point|bql:select top 11 name"),
            ("history:/S/H?period=today|bql:select timestamp", "history:/S/H?period=today|bql:select top 11 timestamp"),
            // A column called `top` is no limit.
            ("station:|slot:/A|bql:select top, name", "station:|slot:/A|bql:select top 11 top, name"),
        ] {
            assert_eq!(bound_query(given, 11).unwrap(), sent, "{given}");
        }
    }

    #[test]
    fn what_must_not_reach_the_station_is_refused() {
        for (given, refusal) in [
            ("station:|slot:/", QueryRefusal::NoBql),
            ("station:|slot:/|bql:select name|view:file:ITableToCsv", QueryRefusal::Tail),
            ("station:|slot:/|bql:select name where name = 'a|b'", QueryRefusal::Tail),
            ("station:|sql:drop|bql:select name", QueryRefusal::Scheme { scheme: "sql".into() }),
            ("station:|slot:/|View:x|bql:select name", QueryRefusal::Scheme { scheme: "view".into() }),
            ("history:/S/H|bql:history:HistoryRollup.rollup(x)", QueryRefusal::NoSelect),
            ("station:|slot:/|bql:select * from baja:Component", QueryRefusal::Cost),
            ("slot:/|bql:select top 5 all * from baja:Component", QueryRefusal::Cost),
            ("slot:/|bql:select from baja:Component", QueryRefusal::Cost),
            ("slot:/|bql:select a\u{0}", QueryRefusal::Control { position: 19 }),
        ] {
            assert_eq!(bound_query(given, 11).unwrap_err(), refusal, "{given}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_query_is_one_select_with_a_limit(text in "[a-z:/|' *,0-9]{0,60}") {
            if let Ok(sent) = bound_query(&text, 7) {
                let select = sent.rsplit("|bql:").next().unwrap();
                prop_assert!(!select.contains('|'));
                let words: Vec<&str> = select.split_whitespace().collect();
                prop_assert!(words[2].parse::<u64>().unwrap() <= 7);
            }
        }
    }
}
