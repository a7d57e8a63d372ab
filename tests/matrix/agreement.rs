//! Whether two answers of a tool agree, whichever interfaces they came over.

use serde_json::Value;

/// Whatever two answers say differently, and what every interface should say but one does not.
pub fn differences(expected: &Value, answer: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", expected, answer, &mut found);
    found
}

/// What every interface tells of whatever it tells at all.
const SAID_BY_ALL: [&str; 7] = [
    "displayName",
    "units",
    "out",
    "value",
    "valueNumber",
    "valueBool",
    "status",
];

/// What oBIX does not tell of histories: settings, and the status of records (oBIX specification §10.2, §10.3).
fn cannot_be_told(place: &str, key: &str) -> bool {
    (place.starts_with("/records/") && key == "status")
        || (place.starts_with("/histories/") && key == "units")
}

/// Keys whose value depends on the route by its nature.
const TELL_OF_THE_ROUTE: [&str; 4] = [
    // oBIX histories carry no status (oBIX specification §10.3).
    "statusAvailable",
    // oBIX names the server, which may be the host (oBIX specification §4.3).
    "stationName",
    // oBIX does not tell a pending acknowledgement from a missing one (oBIX specification §11.2).
    "ackState",
    // Parts of a schedule that the bridge does not know are repeated as the interface writes them.
    "otherProperties",
];

fn compare(place: &str, expected: &Value, answer: &Value, found: &mut Vec<String>) {
    match (expected, answer) {
        (Value::Object(expected), Value::Object(answer)) => {
            let silent = SAID_BY_ALL
                .iter()
                .filter(|key| expected.contains_key(**key) && !answer.contains_key(**key))
                .filter(|key| !cannot_be_told(place, key));
            found.extend(silent.map(|key| format!("{place}/{key}: missing here")));
            for (key, value) in answer {
                let expected = expected.get(key);
                if let Some(expected) = expected.filter(|_| !TELL_OF_THE_ROUTE.contains(&&**key)) {
                    compare(&format!("{place}/{key}"), expected, value, found);
                }
            }
        }
        (Value::Array(expected), Value::Array(answer)) if expected.len() == answer.len() => {
            for (index, (expected, value)) in by_id(expected).iter().zip(by_id(answer)).enumerate()
            {
                compare(&format!("{place}/{index}"), expected, value, found);
            }
        }
        (Value::String(expected), Value::String(answer))
            if place.starts_with("/rows/") && without_unit(answer) == expected => {}
        _ if expected == answer => {}
        _ => found.push(format!(
            "{place}: {expected} over all interfaces, {answer} here"
        )),
    }
}

/// The members by their id where they have one: interfaces list histories in orders of their own.
fn by_id(list: &[Value]) -> Vec<&Value> {
    let mut members: Vec<&Value> = list.iter().collect();
    members.sort_by_key(|member| member["id"].as_str());
    members
}

/// Tables are repeated as the station prints them, and its exporter leaves out units (Station web specification §3.3).
fn without_unit(cell: &str) -> &str {
    cell.split_once(' ').map_or(cell, |(number, _)| number)
}
