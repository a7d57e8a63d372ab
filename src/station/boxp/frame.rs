//! BOX frames: requests out, replies in, in the forms of Niagara 4 and of AX (Station web specification §4.2).

use serde_json::{Map, Value as Json, json};
use thiserror::Error;

/// The version Niagara 4 clients send.
const VERSION: &str = "2.3";

/// One request of a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub channel: &'static str,
    pub key: &'static str,
    pub body: Json,
}

impl Request {
    pub fn new(channel: &'static str, key: &'static str, body: Json) -> Self {
        Self { channel, key, body }
    }
}

/// What the station said to one request: its body, or its refusal.
pub type Reply = Result<Json, Refusal>;

/// An error message of the station.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct Refusal {
    /// The station's text; a generic one where the station hides details.
    pub text: String,
    /// Error type name of AX and BajaScript 1 stations, such as `BoxSessionLimitError`.
    pub error_type: Option<String>,
    /// The station asks the client to take the connection as lost.
    pub connection_lost: bool,
}

/// Why a body is not the answer to a frame.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    #[error("the answer is an HTML page, not a BOX frame")]
    Html,
    #[error("the answer is a fragment of a BOX frame, which stations send over WebSocket only")]
    Fragment,
    #[error("the answer is not JSON: {reason}")]
    NotJson { reason: String },
    #[error("the answer is not a BOX frame: {reason}")]
    NotBox { reason: &'static str },
    #[error("the answer belongs to frame {got}, not to frame {expected}")]
    WrongSequence { expected: u64, got: i64 },
}

/// Writes a frame; request numbers are the positions.
pub fn encode(sequence: u64, requests: &[Request]) -> String {
    let messages: Vec<Json> = requests
        .iter()
        .enumerate()
        .map(|(number, request)| {
            json!({"r": number, "t": "rt", "c": request.channel, "k": request.key, "b": request.body})
        })
        .collect();
    json!({"p": "box", "v": VERSION, "n": sequence, "m": messages}).to_string()
}

/// Reads the answer to a frame of `count` requests: one entry per request in request order, `None`
/// where the station left the request without answer. Replies are matched by number, not by place.
pub fn decode(body: &[u8], sequence: u64, count: usize) -> Result<Vec<Option<Reply>>, FrameError> {
    let body = body
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(body)
        .trim_ascii_start();
    match body.first() {
        Some(b'<') => return Err(FrameError::Html),
        Some(b'F') if body.get(1) == Some(&b';') => return Err(FrameError::Fragment),
        _ => {}
    }
    let frame: Json = serde_json::from_slice(body).map_err(|error| FrameError::NotJson {
        reason: error.to_string(),
    })?;
    let frame = frame.as_object().ok_or(FrameError::NotBox {
        reason: "it is not a JSON object",
    })?;
    if frame.get("p").and_then(Json::as_str) != Some("box") {
        return Err(FrameError::NotBox {
            reason: "its protocol field \"p\" is not \"box\"",
        });
    }
    if let Some(got) = frame.get("n").and_then(whole_number)
        && u64::try_from(got) != Ok(sequence)
    {
        return Err(FrameError::WrongSequence {
            expected: sequence,
            got,
        });
    }
    let messages = frame
        .get("m")
        .and_then(Json::as_array)
        .ok_or(FrameError::NotBox {
            reason: "its message list \"m\" is missing",
        })?;
    let mut replies: Vec<Option<Reply>> = Vec::new();
    replies.resize_with(count, || None);
    for message in messages.iter().filter_map(Json::as_object) {
        let number = message
            .get("r")
            .and_then(whole_number)
            .and_then(|number| usize::try_from(number).ok());
        let slot = number.and_then(|number| replies.get_mut(number));
        if let (Some(slot), Some(reply)) = (slot, read_reply(message)) {
            slot.get_or_insert(reply);
        }
    }
    Ok(replies)
}

/// A number, also where it comes as text or with a fraction of zero.
fn whole_number(json: &Json) -> Option<i64> {
    json.as_i64()
        .or_else(|| {
            json.as_f64()
                .filter(|number| number.fract() == 0.0)
                .map(|number| number as i64)
        })
        .or_else(|| json.as_str().and_then(|text| text.trim().parse().ok()))
}

/// A reply or an error; unsolicited messages and requests are not replies.
fn read_reply(message: &Map<String, Json>) -> Option<Reply> {
    let body = message.get("b").cloned().unwrap_or(Json::Null);
    let is_error_body = body.get("isErr").and_then(Json::as_bool) == Some(true);
    match message.get("t").and_then(Json::as_str)? {
        "rp" if !is_error_body => Some(Ok(body)),
        "rp" | "e" => Some(Err(read_refusal(message, &body))),
        _ => None,
    }
}

fn read_refusal(message: &Map<String, Json>, body: &Json) -> Refusal {
    let text = match body {
        Json::String(text) => text.trim().to_owned(),
        Json::Object(fields) => fields
            .get("m")
            .and_then(Json::as_str)
            .unwrap_or_default()
            .trim()
            .to_owned(),
        _ => String::new(),
    };
    Refusal {
        text: if text.is_empty() {
            "the station gave no reason".to_owned()
        } else {
            text
        },
        error_type: message.get("et").and_then(Json::as_str).map(str::to_owned),
        connection_lost: message.get("cf").and_then(Json::as_bool).unwrap_or(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_frame_has_the_fields_browsers_send() {
        let frame: Json =
            serde_json::from_str(&encode(7, &[Request::new("ssession", "make", json!({}))]))
                .expect("our own JSON");
        assert_eq!(
            frame,
            json!({"p":"box","v":"2.3","n":7,"m":[{"r":0,"t":"rt","c":"ssession","k":"make","b":{}}]})
        );
    }

    #[test]
    fn replies_are_matched_by_number_whatever_their_order() {
        let body = br#"{"p":"box","v":1,"n":3,"m":[
            {"r":1,"t":"rp","c":"ord","k":"resolve","b":"second"},
            {"r":-1,"t":"u","c":"x","k":"y","b":"unsolicited"},
            {"r":0,"t":"rp","c":"ord","k":"resolve","b":"first"}]}"#;
        let replies = decode(body, 3, 3).expect("a frame");
        assert_eq!(
            replies,
            [Some(Ok(json!("first"))), Some(Ok(json!("second"))), None]
        );
    }

    #[test]
    fn every_error_form_is_read() {
        let refusal = |message: &str| {
            let body = format!(r#"{{"p":"box","v":"2.1","n":1,"m":[{message}]}}"#);
            decode(body.as_bytes(), 1, 1)
                .expect("a frame")
                .remove(0)
                .expect("answered")
                .expect_err("refused")
        };
        let n4 = refusal(
            r#"{"r":0,"t":"e","c":"ord","k":"resolve","b":{"isErr":true,"m":"Unresolved ord"}}"#,
        );
        assert_eq!(
            (n4.text.as_str(), n4.error_type, n4.connection_lost),
            ("Unresolved ord", None, false)
        );
        let ax = refusal(r#"{"r":0,"t":"e","b":"too many","et":"BoxSessionLimitError","cf":true}"#);
        assert_eq!(ax.error_type.as_deref(), Some("BoxSessionLimitError"));
        assert!(ax.connection_lost);
        assert_eq!(
            refusal(r#"{"r":0,"t":"rp","b":{"isErr":true,"m":"no"}}"#).text,
            "no"
        );
        assert_eq!(
            refusal(r#"{"r":0,"t":"e"}"#).text,
            "the station gave no reason"
        );
    }

    #[test]
    fn other_bodies_are_refused_by_name() {
        assert_eq!(decode(b"\n<html>", 1, 1), Err(FrameError::Html));
        assert_eq!(decode(b"F;1;a;b;2;0;u;{", 1, 1), Err(FrameError::Fragment));
        assert!(matches!(
            decode(b"oops", 1, 1),
            Err(FrameError::NotJson { .. })
        ));
        assert!(matches!(
            decode(b"[]", 1, 1),
            Err(FrameError::NotBox { .. })
        ));
        assert!(matches!(
            decode(br#"{"p":"fox","m":[]}"#, 1, 1),
            Err(FrameError::NotBox { .. })
        ));
        assert_eq!(
            decode(br#"{"p":"box","n":2,"m":[]}"#, 1, 1),
            Err(FrameError::WrongSequence {
                expected: 1,
                got: 2
            })
        );
        let deep = format!(r#"{{"p":"box","m":{}"#, "[".repeat(100_000));
        assert!(matches!(
            decode(deep.as_bytes(), 1, 1),
            Err(FrameError::NotJson { .. })
        ));
    }

    proptest! {
        #[test]
        fn no_bytes_upset_the_decoder(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&body, 1, 2);
        }

        #[test]
        fn no_frame_like_text_upsets_the_decoder(n in "-?[0-9.e]{0,8}|\"x\"|null", r in "-?[0-9]{0,20}", t in "rp|e|u|.", b in "\\{\\}|null|\"x\"|[0-9]{1,3}|\\[\\]") {
            let body = format!(r#"{{"p":"box","n":{n},"m":[{{"r":{r},"t":"{t}","b":{b}}}]}}"#);
            let _ = decode(body.as_bytes(), 1, 2);
        }
    }
}
