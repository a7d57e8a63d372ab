//! What a call can say to its client beside its answer: log messages, and questions to the person or the model.

use std::fmt;
use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use ring::hmac;
use ring::rand::SystemRandom;
use serde_json::{Map, Value, json};

use super::{ErrorCode, ToolError, ToolOutput};

/// How important a log message is, least important first (the levels of syslog).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    const ALL: [(LogLevel, &'static str); 8] = [
        (Self::Debug, "debug"),
        (Self::Info, "info"),
        (Self::Notice, "notice"),
        (Self::Warning, "warning"),
        (Self::Error, "error"),
        (Self::Critical, "critical"),
        (Self::Alert, "alert"),
        (Self::Emergency, "emergency"),
    ];

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut levels = Self::ALL.iter();
        levels
            .find(|(_, known)| *known == name)
            .map(|(level, _)| *level)
    }

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        let mut levels = Self::ALL.iter();
        levels
            .find(|(level, _)| *level == self)
            .map_or("info", |(_, name)| name)
    }
}

/// A question that the client's person or model answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Tells the questions of one call apart.
    pub key: String,
    pub method: &'static str,
    pub params: Value,
}

impl Question {
    /// Asks the person to fill in a form; the answer is `{action, content}`.
    pub fn form(key: &str, message: &str, schema: Value) -> Self {
        Self {
            key: key.to_owned(),
            method: "elicitation/create",
            params: json!({ "message": message, "requestedSchema": schema }),
        }
    }

    /// Asks the model of the client.
    pub fn model(key: &str, prompt: &str, max_tokens: u32) -> Self {
        Self {
            key: key.to_owned(),
            method: "sampling/createMessage",
            params: json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
                "maxTokens": max_tokens,
            }),
        }
    }

    /// Asks which folders the client works in.
    pub fn roots(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            method: "roots/list",
            params: json!({}),
        }
    }

    /// The capability that a client declares when it can answer.
    pub fn capability(&self) -> &'static str {
        match self.method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            _ => "roots",
        }
    }
}

/// How questions reach the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Asking {
    /// The client can be asked while the call runs.
    Now,
    /// The client asks again with the answers: what it sent this time.
    NextCall {
        answers: Map<String, Value>,
        state: Option<String>,
    },
}

/// The client's end of a call; the transport implements it.
pub trait ClientPort: Send + Sync {
    /// Sends a log message if the client wants messages of this level.
    fn log(&self, level: LogLevel, data: Value);

    /// What the client declared that it can do.
    fn capabilities(&self) -> &Value;

    /// How this client is asked.
    fn asking(&self) -> &Asking;

    /// Asks now; only for [`Asking::Now`].
    ///
    /// # Errors
    /// A sentence: the client is gone, or refuses.
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Value, String>>;
}

/// What became of questions.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// An answer under each key.
    Answers(Map<String, Value>),
    /// Answer the call with this; the client repeats it with the answers.
    Later(ToolOutput),
}

/// The client of one call; one that cannot be reached outside a server.
#[derive(Clone, Default)]
pub struct Client(Option<Arc<dyn ClientPort>>);

impl Client {
    /// The client at the other end of `port`.
    pub fn at(port: Arc<dyn ClientPort>) -> Self {
        Self(Some(port))
    }

    /// Sends a log message; dropped when the client wants none.
    pub fn log(&self, level: LogLevel, data: impl Into<Value>) {
        if let Some(port) = &self.0 {
            port.log(level, data.into());
        }
    }

    /// Whether the client declared that it can answer such questions: `elicitation`, `sampling` or `roots`.
    pub fn can(&self, capability: &str) -> bool {
        self.0
            .as_ref()
            .and_then(|port| port.capabilities().get(capability))
            .is_some_and(Value::is_object)
    }

    /// Whether the client answers while the call runs; else it repeats the call with the answers.
    pub fn asks_now(&self) -> bool {
        let asking = self.0.as_ref().map(|port| port.asking());
        matches!(asking, Some(Asking::Now))
    }

    /// Asks these questions; `state` comes back with the answers where the client repeats the call.
    ///
    /// # Errors
    /// −32021 when the client cannot answer such questions; −32603 when it did not answer.
    pub async fn ask(
        &self,
        questions: &[Question],
        state: Option<&Value>,
    ) -> Result<Reply, ToolError> {
        for question in questions {
            self.require(question.capability())?;
        }
        let Some(port) = &self.0 else {
            return Err(missing("elicitation"));
        };
        match port.asking() {
            Asking::Now => {
                let mut answers = Map::new();
                for question in questions {
                    let answer = port.ask(question.clone()).await.map_err(|reason| {
                        ToolError::internal(format!("The client did not answer: {reason}."))
                    })?;
                    answers.insert(question.key.clone(), answer);
                }
                Ok(Reply::Answers(answers))
            }
            Asking::NextCall { answers, .. } => {
                let answered =
                    |question: &&Question| answers.get(&question.key).is_some_and(Value::is_object);
                if questions.iter().all(|question| answered(&question)) {
                    return Ok(Reply::Answers(answers.clone()));
                }
                let open = questions.iter().filter(|question| !answered(question));
                let requests: Map<String, Value> = open
                    .map(|question| {
                        let request =
                            json!({ "method": question.method, "params": question.params });
                        (question.key.clone(), request)
                    })
                    .collect();
                Ok(Reply::Later(ToolOutput::input_required(
                    requests,
                    state.map(seal),
                )))
            }
        }
    }

    /// Refuses a client that cannot do this.
    ///
    /// # Errors
    /// −32021 with `requiredCapabilities`.
    pub fn require(&self, capability: &str) -> Result<(), ToolError> {
        if self.can(capability) {
            Ok(())
        } else {
            Err(missing(capability))
        }
    }

    /// The state that an earlier answer to this call carried, proven to be ours.
    ///
    /// # Errors
    /// −32602 for a state that this process has not sealed.
    pub fn state(&self) -> Result<Option<Value>, ToolError> {
        let Some(Asking::NextCall { state, .. }) = self.0.as_ref().map(|port| port.asking()) else {
            return Ok(None);
        };
        let Some(state) = state else { return Ok(None) };
        match open(state) {
            Some(state) => Ok(Some(state)),
            None => Err(ToolError::new(
                ErrorCode::RequestState,
                "'requestState' was changed or belongs to another run of the bridge; begin the call anew.",
            )
            .with("argument", "requestState")),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Client(reachable: {})", self.0.is_some())
    }
}

fn missing(capability: &str) -> ToolError {
    let mut required = Map::new();
    required.insert(capability.to_owned(), json!({}));
    ToolError::new(
        ErrorCode::MissingClientCapability,
        format!("This call needs a client with the capability '{capability}'."),
    )
    .with("requiredCapabilities", Value::Object(required))
}

/// States live as long as the process: a client repeats a call within seconds.
static KEY: LazyLock<Option<hmac::Key>> =
    LazyLock::new(|| hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok());

fn seal(state: &Value) -> String {
    let body = state.to_string();
    let tag = KEY.as_ref().map(|key| hmac::sign(key, body.as_bytes()));
    let tag = tag.as_ref().map_or(&[][..], AsRef::as_ref);
    format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(&body),
        URL_SAFE_NO_PAD.encode(tag)
    )
}

fn open(sealed: &str) -> Option<Value> {
    let (body, tag) = sealed.split_once('.')?;
    let body = URL_SAFE_NO_PAD.decode(body).ok()?;
    let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
    hmac::verify(KEY.as_ref()?, &body, &tag).ok()?;
    serde_json::from_slice(&body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_state_opens_and_a_changed_one_does_not() {
        let state = json!({ "round": 1, "name": "grüße" });
        let sealed = seal(&state);
        assert_eq!(open(&sealed), Some(state));
        for changed in [
            format!("{sealed}A"),
            format!("A{sealed}"),
            sealed.replace('.', ""),
            String::new(),
            ".".into(),
        ] {
            assert_eq!(open(&changed), None, "{changed}");
        }
    }

    #[test]
    fn levels_are_ordered_and_named() {
        assert!(LogLevel::Debug < LogLevel::Emergency);
        for (level, name) in LogLevel::ALL {
            assert_eq!(LogLevel::from_name(name), Some(level));
            assert_eq!(level.name(), name);
        }
        assert_eq!(LogLevel::from_name("loud"), None);
    }
}
