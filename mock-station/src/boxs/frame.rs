//! BOX frames and messages: JSON text in, numbered replies out (Station web specification §4.2).

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::error::BoxError;
use crate::switches::{BoxErrorStyle, BoxSwitches};

/// Text that stands for every error on stations that hide exception details.
const HIDDEN_TEXT: &str =
    "An error occurred on the station. Ask the system administrator to look into the station log.";

/// A request frame: what has to be echoed, and its messages in order.
#[derive(Clone, Debug)]
pub struct Frame {
    /// `n`, echoed as it came; none when the client sent none.
    pub sequence: Option<Value>,
    /// `id`: the server session of all messages that name none themselves.
    pub session_id: Option<String>,
    pub messages: Vec<Message>,
}

/// One request message.
#[derive(Clone, Debug)]
pub struct Message {
    /// `r`, echoed as it came; `-1` when the client sent none.
    pub number: Value,
    pub channel: String,
    pub key: String,
    pub body: Value,
}

/// A request body that is no BOX frame.
#[derive(Debug, Error)]
pub enum FrameError {
    #[error("the request body is not JSON: {0}; send one frame as a JSON object")]
    NotJson(#[from] serde_json::Error),
    #[error("the request body is JSON but not an object; send one frame as a JSON object")]
    NotAnObject,
    #[error("protocol `p` is {found}; a BOX frame has \"box\"")]
    WrongProtocol { found: String },
    #[error("the frame has no array `m` of messages")]
    NoMessages,
}

impl Frame {
    /// Reads a frame; messages that are not requests (`t` other than `rt`) are dropped, as the station ignores them.
    ///
    /// # Errors
    /// When the text is no JSON object with protocol `box` and an array of messages.
    pub fn parse(text: &[u8]) -> Result<Self, FrameError> {
        let Value::Object(mut frame) = serde_json::from_slice(text)? else {
            return Err(FrameError::NotAnObject);
        };
        if frame.get("p").and_then(Value::as_str) != Some("box") {
            let found = frame.get("p").map_or("absent".to_owned(), Value::to_string);
            return Err(FrameError::WrongProtocol { found });
        }
        let Some(Value::Array(messages)) = frame.remove("m") else {
            return Err(FrameError::NoMessages);
        };
        Ok(Self {
            sequence: frame.remove("n"),
            session_id: frame.get("id").and_then(Value::as_str).map(str::to_owned),
            messages: messages.into_iter().filter_map(Message::read).collect(),
        })
    }
}

impl Message {
    fn read(value: Value) -> Option<Self> {
        let Value::Object(mut message) = value else {
            return None;
        };
        if message.get("t").and_then(Value::as_str) != Some("rt") {
            return None;
        }
        let text = |key: &str| {
            let found = message.get(key).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let (channel, key) = (text("c"), text("k"));
        Some(Self {
            number: message.remove("r").unwrap_or(json!(-1)),
            channel,
            key,
            body: message.remove("b").unwrap_or(Value::Null),
        })
    }

    /// The reply to this message, in the station's error style where it failed.
    pub fn reply(&self, outcome: Result<Value, BoxError>, switches: &BoxSwitches) -> Value {
        match outcome {
            Ok(body) => self.envelope("rp", body),
            Err(error) => error_reply(self.envelope("e", Value::Null), &error, switches),
        }
    }

    fn envelope(&self, kind: &str, body: Value) -> Value {
        let mut envelope =
            json!({"r": self.number, "t": kind, "c": self.channel, "k": self.key, "b": null});
        // Moved in, as the macro would copy a body that can be megabytes.
        envelope["b"] = body;
        envelope
    }
}

fn error_reply(mut reply: Value, error: &BoxError, switches: &BoxSwitches) -> Value {
    let text = if switches.hide_error_text {
        HIDDEN_TEXT.to_owned()
    } else {
        error.to_string()
    };
    match switches.error_style {
        BoxErrorStyle::N4 | BoxErrorStyle::N4Reply => {
            if switches.error_style == BoxErrorStyle::N4Reply {
                reply["t"] = json!("rp");
            }
            reply["b"] = json!({"isErr": true, "m": text});
            if let Some(special) = error.special_type() {
                reply["et"] = json!(special);
            }
        }
        BoxErrorStyle::Ax => {
            reply["b"] = json!(text);
            reply["et"] = json!(error.type_name());
            if error.ends_connection() {
                reply["cf"] = json!(true);
            }
        }
    }
    reply
}

/// The text of a reply frame that answers `frame`.
pub fn reply_text(frame: &Frame, replies: Vec<Value>, switches: &BoxSwitches) -> String {
    frame_text(
        frame.sequence.clone(),
        frame.session_id.as_deref(),
        replies,
        switches,
    )
}

/// The text of a frame that reports a request body which is JSON but no frame.
pub fn refusal_text(error: &FrameError, switches: &BoxSwitches) -> String {
    let reply = json!({"r": -1, "t": "e", "c": "sys", "k": "error", "b": null});
    let error = BoxError::Frame(error.to_string());
    frame_text(
        Some(json!(-1)),
        None,
        vec![error_reply(reply, &error, switches)],
        switches,
    )
}

fn frame_text(
    sequence: Option<Value>,
    session_id: Option<&str>,
    replies: Vec<Value>,
    switches: &BoxSwitches,
) -> String {
    let mut frame = Map::new();
    frame.insert("p".to_owned(), json!("box"));
    frame.insert("v".to_owned(), json!(switches.version));
    if let Some(sequence) = sequence {
        frame.insert("n".to_owned(), sequence);
    }
    if let Some(id) = session_id {
        frame.insert("id".to_owned(), json!(id));
    }
    frame.insert("m".to_owned(), Value::Array(replies));
    Value::Object(frame).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Frame {
        Frame::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn only_requests_are_read_and_numbers_keep_their_form() {
        let frame = frame(
            r#"{"p":"box","v":1,"n":7,"id":"s1","m":[
                {"r":3,"t":"rt","c":"sys","k":"props","b":{}},
                {"r":4,"t":"rp","c":"sys","k":"props","b":{}},
                {"r":5,"t":"u","c":"sys","k":"props"},
                "noise",
                {"t":"rt","c":"sys"}]}"#,
        );
        assert_eq!(frame.sequence, Some(json!(7)));
        assert_eq!(frame.session_id.as_deref(), Some("s1"));
        let numbers: Vec<&Value> = frame.messages.iter().map(|m| &m.number).collect();
        assert_eq!(numbers, [&json!(3), &json!(-1)]);
        assert_eq!(frame.messages[1].key, "");
    }

    #[test]
    fn bodies_that_are_no_frames_are_told_apart() {
        let kind = |text: &str| Frame::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(kind("{").contains("not JSON"));
        assert!(kind("F;1;s;0;2;0;u;x").contains("not JSON"));
        assert!(kind("[]").contains("not an object"));
        assert!(kind(r#"{"p":"fox","m":[]}"#).contains("\"fox\""));
        assert!(kind(r#"{"p":"box"}"#).contains("`m`"));
    }

    #[test]
    fn replies_echo_the_frame_and_carry_the_stations_version() {
        let frame = frame(r#"{"p":"box","v":"2.1","n":0,"id":"s1","m":[]}"#);
        let text = reply_text(&frame, vec![json!({"r": 1})], &BoxSwitches::default());
        assert_eq!(
            text,
            r#"{"p":"box","v":"2.3","n":0,"id":"s1","m":[{"r":1}]}"#
        );
    }

    #[test]
    fn errors_come_in_both_styles_and_can_be_hidden() {
        let frame = frame(r#"{"p":"box","n":1,"m":[{"r":9,"t":"rt","c":"ssession","k":"make"}]}"#);
        let reply = |switches: &BoxSwitches| {
            frame.messages[0].reply(Err(BoxError::SessionLimit { limit: 20 }), switches)
        };
        let mut switches = BoxSwitches::default();
        let n4 = reply(&switches);
        assert_eq!(
            (&n4["r"], &n4["t"], &n4["c"], &n4["k"]),
            (&json!(9), &json!("e"), &json!("ssession"), &json!("make"))
        );
        assert_eq!(n4["b"]["isErr"], json!(true));
        assert!(n4["b"]["m"].as_str().unwrap().contains("20"));
        assert_eq!(n4["et"], json!("BoxSessionLimitError"));

        switches.error_style = BoxErrorStyle::Ax;
        let ax = reply(&switches);
        assert!(ax["b"].as_str().unwrap().contains("20"));
        assert_eq!(ax["et"], json!("BoxSessionLimitError"));

        switches.hide_error_text = true;
        assert_eq!(reply(&switches)["b"], json!(HIDDEN_TEXT));
    }
}
