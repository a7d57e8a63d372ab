//! What a capability answers (CAMBER core §1.1).

use serde_json::{Map, Value, json};

/// The structured result, its summary, and the facts that the summary cites.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CapabilityResult {
    /// Valid against the output schema; lists sit under keys.
    pub data: Map<String, Value>,
    /// One line; every sentence with a figure cites fact ids in square brackets.
    pub text: String,
    pub facts: Vec<Map<String, Value>>,
    /// Notices that must be shown to the user.
    pub banners: Vec<String>,
    /// A list in `data` is not the whole list, or a value was cut.
    pub truncated: bool,
}

impl CapabilityResult {
    /// A result that has data and nothing to say yet.
    pub fn of(data: Value) -> Self {
        Self {
            data: match data {
                Value::Object(data) => data,
                _ => Map::new(),
            },
            ..Self::default()
        }
    }

    /// The result as the command line prints it.
    pub fn to_json(&self) -> Value {
        json!({
            "data": self.data,
            "text": self.text,
            "facts": self.facts,
            "banners": self.banners,
            "truncated": self.truncated,
        })
    }
}

/// Collects the facts of one call under ids `F1@<capability>`, `F2@<capability>`, …, those beside under other letters.
#[derive(Debug)]
pub struct Facts {
    capability: &'static str,
    list: Vec<Map<String, Value>>,
}

impl Facts {
    /// No facts yet.
    pub fn of(capability: &'static str) -> Self {
        Self {
            capability,
            list: Vec::new(),
        }
    }

    /// Adds a fact and returns its citation, `[F1@points]`.
    pub fn add(
        &mut self,
        kind: &str,
        value: impl Into<Value>,
        text: impl Into<String>,
        extra: &[(&str, Value)],
    ) -> String {
        self.add_under('F', kind, value, text, extra)
    }

    /// The same under another letter with numbers of its own: `[R1@sensor_trust]`.
    pub fn add_under(
        &mut self,
        letter: char,
        kind: &str,
        value: impl Into<Value>,
        text: impl Into<String>,
        extra: &[(&str, Value)],
    ) -> String {
        let of_letter = |fact: &&Map<String, Value>| {
            let id = fact.get("id").and_then(Value::as_str);
            id.is_some_and(|id| id.starts_with(letter))
        };
        let number = self.list.iter().filter(of_letter).count() + 1;
        let id = format!("{letter}{number}@{}", self.capability);
        let mut fact = Map::new();
        fact.insert("id".to_owned(), id.clone().into());
        fact.insert("kind".to_owned(), kind.into());
        fact.insert("value".to_owned(), value.into());
        fact.insert("text".to_owned(), text.into().into());
        for (key, value) in extra {
            fact.insert((*key).to_owned(), value.clone());
        }
        self.list.push(fact);
        format!("[{id}]")
    }

    /// The facts.
    pub fn into_list(self) -> Vec<Map<String, Value>> {
        self.list
    }
}

/// "1 point", "2 points".
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
