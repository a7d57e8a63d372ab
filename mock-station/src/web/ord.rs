//! Ord texts as chains of queries (Station web specification §0.3).

use thiserror::Error;

/// One `scheme:body` of an ord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrdQuery {
    pub scheme: String,
    pub body: String,
}

/// The text is no ord this station follows.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum OrdError {
    #[error("the ord is empty")]
    Empty,
    #[error("`{0}` has no scheme; an ord is a chain of `scheme:body` separated by `|`")]
    NoScheme(String),
    #[error("the scheme `sql:` is refused")]
    Sql,
    #[error("`//` is not allowed in `{0}`")]
    DoubleSlash(String),
}

/// Splits an ord at `|`, which no quotes protect, and leaves `local:` out.
pub(crate) fn parse(text: &str) -> Result<Vec<OrdQuery>, OrdError> {
    // A tab at the end may be the value of an exporter's `delimiter`.
    let text = text.trim_start().trim_end_matches(' ');
    if text.is_empty() {
        return Err(OrdError::Empty);
    }
    let mut queries = Vec::new();
    for part in text.split('|') {
        let part = part.trim_start().trim_end_matches(' ');
        let (scheme, body) = part
            .split_once(':')
            .filter(|(scheme, _)| {
                !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric())
            })
            .ok_or_else(|| OrdError::NoScheme(part.to_owned()))?;
        match scheme {
            "sql" => return Err(OrdError::Sql),
            "local" => continue,
            "slot" | "history" if path_part(body).contains("//") => {
                return Err(OrdError::DoubleSlash(part.to_owned()));
            }
            _ => {}
        }
        queries.push(OrdQuery {
            scheme: scheme.to_owned(),
            body: body.to_owned(),
        });
    }
    Ok(queries)
}

fn path_part(body: &str) -> &str {
    body.split('?').next().unwrap_or("")
}

/// `path?a=1;b=2` as path and parameters; a parameter without `=` has an empty value.
pub(crate) fn with_parameters(body: &str) -> (&str, Vec<(&str, &str)>) {
    let (path, parameters) = body.split_once('?').unwrap_or((body, ""));
    let pairs = parameters
        .split(';')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .collect();
    (path, pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemes(text: &str) -> Vec<String> {
        parse(text)
            .expect("valid")
            .into_iter()
            .map(|query| query.scheme)
            .collect()
    }

    #[test]
    fn chains_are_split_and_local_is_left_out() {
        assert_eq!(
            schemes("local:|station:|slot:/A|bql:select name from baja:Component"),
            ["station", "slot", "bql"]
        );
        assert_eq!(parse("h:2f1").expect("valid")[0].body, "2f1");
    }

    #[test]
    fn refused_texts_say_why() {
        assert_eq!(parse(" "), Err(OrdError::Empty));
        assert_eq!(parse("station:|sql:select"), Err(OrdError::Sql));
        assert_eq!(
            parse("slot://A"),
            Err(OrdError::DoubleSlash("slot://A".into()))
        );
        assert_eq!(parse("station:|/A"), Err(OrdError::NoScheme("/A".into())));
    }

    #[test]
    fn parameters_follow_the_first_question_mark() {
        assert_eq!(
            with_parameters("/Stn/Oat?period=timeRange;start=2024-03-01T00:00:00.000Z;x"),
            (
                "/Stn/Oat",
                vec![
                    ("period", "timeRange"),
                    ("start", "2024-03-01T00:00:00.000Z"),
                    ("x", "")
                ]
            )
        );
    }
}
