//! From a request target to an ord: URL forms P1, P2 and Q (Station web specification §3.2).

use percent_encoding::percent_decode_str;
use thiserror::Error;

use crate::switches::{BarePlus, OrdSwitches};

/// Why a request target names no ord; all answer 400.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum OrdUrlError {
    #[error("this station does not accept the ord as {0}")]
    Form(&'static str),
    #[error("a bare `+` is not a blank here; send %20, or %2B for a plus sign")]
    BarePlus,
    #[error("the ord is not valid percent-encoded UTF-8")]
    Encoding,
}

/// The ord a target names; none when it is empty.
pub(crate) fn ord_of(
    raw_path: &str,
    raw_query: Option<&str>,
    switches: &OrdSwitches,
) -> Result<Option<String>, OrdUrlError> {
    let rest = raw_path
        .strip_prefix("/ord")
        .map(|rest| rest.strip_prefix('/').unwrap_or(rest))
        .unwrap_or("");
    check_form(rest, switches)?;
    if switches.bare_plus == BarePlus::Refused
        && (rest.contains('+') || raw_query.is_some_and(|query| query.contains('+')))
    {
        return Err(OrdUrlError::BarePlus);
    }
    let path = decode(rest)?;
    let query = raw_query.map(decode).transpose()?;
    let ord = match (path.is_empty(), query) {
        (true, None) => return Ok(None),
        (true, Some(query)) if query.is_empty() => return Ok(None),
        (true, Some(query)) => {
            if !switches.forms.query {
                return Err(OrdUrlError::Form("a query (/ord?…)"));
            }
            query
        }
        (false, None) => path,
        (false, Some(query)) => format!("{path}?{query}"),
    };
    Ok(Some(ord))
}

/// A path with encoded `:` or `/` is P1, one with literal ones P2; it may be both.
fn check_form(rest: &str, switches: &OrdSwitches) -> Result<(), OrdUrlError> {
    let upper = rest.to_ascii_uppercase();
    let encoded = upper.contains("%3A") || upper.contains("%2F");
    let literal = rest.contains([':', '/']);
    if encoded && !switches.forms.encoded_path {
        return Err(OrdUrlError::Form("a path with encoded reserved characters"));
    }
    if literal && !switches.forms.literal_path {
        return Err(OrdUrlError::Form("a path with literal reserved characters"));
    }
    Ok(())
}

fn decode(text: &str) -> Result<String, OrdUrlError> {
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let digits = rest.get(at + 1..at + 3).ok_or(OrdUrlError::Encoding)?;
        if !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(OrdUrlError::Encoding);
        }
        rest = &rest[at + 3..];
    }
    percent_decode_str(text)
        .decode_utf8()
        .map(|decoded| decoded.into_owned())
        .map_err(|_| OrdUrlError::Encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switches::OrdForms;

    const DRIVERS: &str = "station:|slot:/Drivers|bql:select slotPath as 'p', out.value from control:NumericPoint where name like 'AHU*'|view:file:ITableToCsv";
    const DRIVERS_P2: &str = "/ord/station:%7Cslot:/Drivers%7Cbql:select%20slotPath%20as%20%27p%27,%20out.value%20from%20control:NumericPoint%20where%20name%20like%20%27AHU*%27%7Cview:file:ITableToCsv";
    const DRIVERS_P1: &str = "/ord/station%3A%7Cslot%3A%2FDrivers%7Cbql%3Aselect%20slotPath%20as%20%27p%27%2C%20out.value%20from%20control%3ANumericPoint%20where%20name%20like%20%27AHU%2A%27%7Cview%3Afile%3AITableToCsv";
    const HISTORY: &str = "history:/Stn/Oat?period=timeRange;start=2024-03-01T00:00:00.000+01:00;end=2024-03-02T00:00:00.000+01:00|bql:select timestamp, value|view:file:ITableToCsv";
    const HISTORY_P2: &str = "/ord/history:/Stn/Oat?period=timeRange;start=2024-03-01T00:00:00.000%2B01:00;end=2024-03-02T00:00:00.000%2B01:00%7Cbql:select%20timestamp,%20value%7Cview:file:ITableToCsv";

    fn ord(target: &str, switches: &OrdSwitches) -> Result<Option<String>, OrdUrlError> {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        ord_of(path, query, switches)
    }

    fn all() -> OrdSwitches {
        OrdSwitches {
            forms: OrdForms::ALL,
            ..OrdSwitches::default()
        }
    }

    #[test]
    fn the_worked_encodings_give_their_ords() {
        for target in [DRIVERS_P1, DRIVERS_P2] {
            assert_eq!(ord(target, &all()), Ok(Some(DRIVERS.to_owned())));
        }
        assert_eq!(ord(HISTORY_P2, &all()), Ok(Some(HISTORY.to_owned())));
        let query = HISTORY_P2.replacen("/ord/", "/ord?", 1);
        assert_eq!(ord(&query, &all()), Ok(Some(HISTORY.to_owned())));
    }

    #[test]
    fn the_query_form_accepts_everything_encoded_and_raw_separators() {
        assert_eq!(
            ord("/ord?station%3A%7Cslot%3A/A%3Fx%3D1", &all()),
            Ok(Some("station:|slot:/A?x=1".into()))
        );
        assert_eq!(
            ord("/ord?station:|slot:/A|view:x?a=1;b=2", &all()),
            Ok(Some("station:|slot:/A|view:x?a=1;b=2".into()))
        );
    }

    #[test]
    fn each_form_can_be_refused_alone() {
        let without = |edit: fn(&mut OrdForms)| {
            let mut switches = all();
            edit(&mut switches.forms);
            switches
        };
        let no_p1 = without(|forms| forms.encoded_path = false);
        assert!(ord(DRIVERS_P1, &no_p1).is_err() && ord(DRIVERS_P2, &no_p1).is_ok());
        let no_p2 = without(|forms| forms.literal_path = false);
        assert!(ord(DRIVERS_P2, &no_p2).is_err() && ord(DRIVERS_P1, &no_p2).is_ok());
        let no_query = without(|forms| forms.query = false);
        assert!(ord("/ord?station:", &no_query).is_err() && ord(HISTORY_P2, &no_query).is_ok());
    }

    #[test]
    fn a_bare_plus_is_refused_or_literal_and_never_a_blank() {
        assert_eq!(ord("/ord/slot:/A+B", &all()), Err(OrdUrlError::BarePlus));
        let literal = OrdSwitches {
            bare_plus: BarePlus::Literal,
            ..all()
        };
        assert_eq!(
            ord("/ord/slot:/A+B", &literal),
            Ok(Some("slot:/A+B".into()))
        );
    }

    #[test]
    fn empty_and_broken_targets_are_told_apart() {
        assert_eq!(ord("/ord", &all()), Ok(None));
        assert_eq!(ord("/ord/", &all()), Ok(None));
        assert_eq!(ord("/ord/slot:%2", &all()), Err(OrdUrlError::Encoding));
        assert_eq!(ord("/ord/slot:%zz", &all()), Err(OrdUrlError::Encoding));
        assert_eq!(ord("/ord/slot:%FF", &all()), Err(OrdUrlError::Encoding));
    }
}
