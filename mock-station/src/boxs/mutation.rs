//! Which messages change the station: what tests count, and what faults can be limited to.

use serde_json::Value;

use super::frame::{Frame, Message};

/// A message that asks the station to change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The server session that the message names.
    pub session: Option<String>,
    /// The handler key: `syncTo`, `invokeAction`, `checkLinks`, `save`.
    pub key: String,
    /// What it is about, as `s 2f1/in10` or `2f1.override`; several operations separated by `; `.
    pub target: String,
}

impl Mutation {
    /// What a message asks to change; none for one that only reads.
    pub fn of(message: &Message, frame_session: Option<&str>) -> Option<Self> {
        if (message.channel.as_str(), message.key.as_str()) != ("ssession", "callssc") {
            return None;
        }
        let body = &message.body;
        let key = body.get("sck")?.as_str()?;
        let argument = body.get("scarg").unwrap_or(&Value::Null);
        let text = |name: &str| argument.get(name).and_then(Value::as_str).unwrap_or("?");
        let target = match key {
            "syncTo" => operations(argument),
            "invokeAction" => format!("{}.{}", text("h"), text("a")),
            "checkLinks" | "checkLink" if argument.get("c") == Some(&Value::Bool(true)) => {
                format!(
                    "{}/{} -> {}/{}",
                    text("s"),
                    text("ss"),
                    text("t"),
                    text("ts")
                )
            }
            "save" => String::new(),
            _ => return None,
        };
        let session = body.get("id").and_then(Value::as_str).or(frame_session);
        Some(Self {
            session: session.map(str::to_owned),
            key: key.to_owned(),
            target,
        })
    }
}

/// All mutations of a request body; none for one that is no frame.
pub fn all(body: &[u8]) -> Vec<Mutation> {
    // Most requests read: those need not be parsed twice.
    if !contains(body, b"callssc") {
        return Vec::new();
    }
    let Ok(frame) = Frame::parse(body) else {
        return Vec::new();
    };
    let session = frame.session_id.as_deref();
    let messages = frame.messages.iter();
    messages
        .filter_map(|message| Mutation::of(message, session))
        .collect()
}

fn contains(body: &[u8], word: &[u8]) -> bool {
    body.windows(word.len()).any(|window| window == word)
}

fn operations(argument: &Value) -> String {
    let operations = argument.get("ops").and_then(Value::as_array);
    let told = operations.into_iter().flatten().map(|operation| {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let slot = text("n").or_else(|| text("o")).unwrap_or("");
        format!(
            "{} {}/{slot}",
            text("nm").unwrap_or("?"),
            text("h").unwrap_or("?")
        )
    });
    told.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mutations(key: &str, argument: Value) -> Vec<(String, String)> {
        let body = json!({"id": "s1", "scid": "station:", "sck": key, "scarg": argument});
        let message = json!({"r": 0, "t": "rt", "c": "ssession", "k": "callssc", "b": body});
        let frame = json!({"p": "box", "n": 1, "m": [message]}).to_string();
        all(frame.as_bytes())
            .into_iter()
            .map(|mutation| {
                assert_eq!(mutation.session.as_deref(), Some("s1"));
                (mutation.key, mutation.target)
            })
            .collect()
    }

    #[test]
    fn only_what_changes_the_station_counts() {
        let sync = json!({"ops": [{"nm": "s", "h": "2f1", "n": "in10"}, {"nm": "r", "h": "3", "o": "A", "n": "B"}]});
        let named = |key: &str, target: &str| vec![(key.to_owned(), target.to_owned())];
        assert_eq!(
            mutations("syncTo", sync),
            named("syncTo", "s 2f1/in10; r 3/B")
        );
        let invoke = json!({"h": "2f1", "a": "auto"});
        assert_eq!(
            mutations("invokeAction", invoke),
            named("invokeAction", "2f1.auto")
        );
        let ends =
            |create: bool| json!({"s": "1", "ss": "out", "t": "2", "ts": "in10", "c": create});
        assert_eq!(
            mutations("checkLinks", ends(true)),
            named("checkLinks", "1/out -> 2/in10")
        );
        assert_eq!(mutations("checkLinks", ends(false)), []);
        assert_eq!(mutations("loadSlots", json!({"o": "slot:/"})), []);
        assert_eq!(all(b"callssc"), []);
    }
}
