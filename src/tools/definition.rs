//! What a tool is: its definition for clients, what it answers, and the one trait of all tools.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::context::CallContext;
use super::error::ToolError;
use super::schema::{ObjectSchema, StoredSchema};

/// Time for a whole station-tool call; clients of the surface give up at 10 s (Tool surface §14).
pub const STATION_CALL_LIMIT: Duration = Duration::from_secs(9);

/// Time for a call that sends many messages, one after the other; what one call takes of it depends on their number.
pub const LONG_CALL_LIMIT: Duration = Duration::from_secs(110);

/// Time for a call that does so many things one after the other, each of which takes up to `each` on a slow controller.
pub(super) fn time_for(things: usize, each: Duration) -> Duration {
    let things = u32::try_from(things).unwrap_or(u32::MAX);
    let all = STATION_CALL_LIMIT.saturating_add(each.saturating_mul(things));
    all.min(LONG_CALL_LIMIT)
}

/// Categories of tools, in display order (Tool surface §8.11); their names are the names of the tool sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    TransportTest,
    Read,
    Write,
    WalkthroughRead,
    WalkthroughWrite,
    Management,
    Search,
    History,
    Alarms,
    Diagnostic,
    General,
    Camber,
}

impl Category {
    /// Every category in display order.
    pub const ALL: [Category; 12] = [
        Self::TransportTest,
        Self::Read,
        Self::Write,
        Self::WalkthroughRead,
        Self::WalkthroughWrite,
        Self::Management,
        Self::Search,
        Self::History,
        Self::Alarms,
        Self::Diagnostic,
        Self::General,
        Self::Camber,
    ];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TransportTest => "transport-test",
            Self::Read => "read",
            Self::Write => "write",
            Self::WalkthroughRead => "walkthrough-read",
            Self::WalkthroughWrite => "walkthrough-write",
            Self::Management => "management",
            Self::Search => "search",
            Self::History => "history",
            Self::Alarms => "alarms",
            Self::Diagnostic => "diagnostic",
            Self::General => "general",
            Self::Camber => "camber",
        }
    }

    /// The category of that name, whatever its case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|category| category.name().eq_ignore_ascii_case(name))
    }
}

/// What a client may assume of a tool; `openWorldHint` is always false (Tool surface §8.0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotations {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
}

impl Annotations {
    /// Reads and changes nothing.
    pub const READ: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
    };
    /// Adds or changes, never removes.
    pub const MUTATION: Self = Self {
        read_only: false,
        destructive: false,
        idempotent: false,
    };
    /// May remove or replace.
    pub const DESTRUCTIVE: Self = Self {
        read_only: false,
        destructive: true,
        idempotent: false,
    };
    /// Discards unsaved state and reads again.
    pub const RELOAD: Self = Self {
        read_only: false,
        destructive: false,
        idempotent: true,
    };

    fn to_json(self) -> Value {
        json!({
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": false,
        })
    }
}

/// Everything a client sees of a tool, and how its calls are treated.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    pub name: String,
    /// A name for people; most tools do without.
    pub title: Option<String>,
    pub category: Category,
    pub annotations: Annotations,
    /// What it does, in English, with one example.
    pub description: String,
    pub input_schema: StoredSchema,
    /// Schema of `structuredContent`; none for tools that answer with plain text.
    pub output_schema: Option<StoredSchema>,
    /// The service identity is refused with −32011.
    pub requires_user_context: bool,
    /// Calls may ask the client's person or model something before they answer; reading tools do not, unless they say so.
    pub asks: bool,
    /// Time for the whole call.
    pub limit: Duration,
    /// Whole-number arguments that are refused outside their bounds; all others are clamped.
    pub refused_out_of_range: Vec<&'static str>,
    /// String arguments whose listed words are what clients are told; other words are the tool's to judge.
    pub open_words: Vec<&'static str>,
    /// Arguments whose null reaches the tool although clients are told not to send it: the tool says what to do instead.
    pub explained_nulls: Vec<&'static str>,
    /// Arguments are validated exactly as given, without the conventions of Tool surface §7.
    pub strict_arguments: bool,
    /// The tool checks its arguments itself and says in its own way what is wrong with them.
    pub judges_arguments: bool,
}

impl ToolDefinition {
    /// A tool without arguments, for any identity, with the limit of a station call.
    pub fn new(
        name: impl Into<String>,
        category: Category,
        annotations: Annotations,
        description: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            category,
            annotations,
            description: description.into(),
            input_schema: super::schema::object().into(),
            output_schema: None,
            requires_user_context: false,
            asks: !annotations.read_only,
            limit: STATION_CALL_LIMIT,
            refused_out_of_range: Vec::new(),
            open_words: Vec::new(),
            explained_nulls: Vec::new(),
            strict_arguments: false,
            judges_arguments: false,
        }
    }

    /// Sets the input schema.
    pub fn input(mut self, schema: ObjectSchema) -> Self {
        self.input_schema = schema.into();
        self
    }

    /// Sets the output schema.
    pub fn output(mut self, schema: impl Into<StoredSchema>) -> Self {
        self.output_schema = Some(schema.into());
        self
    }

    /// Refuses the service identity.
    pub fn for_users(mut self) -> Self {
        self.requires_user_context = true;
        self
    }

    /// A reading tool that asks its client something.
    pub fn asking(mut self) -> Self {
        self.asks = true;
        self
    }

    /// Sets the time for the whole call.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Refuses these whole-number arguments outside their bounds instead of clamping them.
    pub fn refusing_out_of_range(mut self, names: &[&'static str]) -> Self {
        self.refused_out_of_range = names.to_vec();
        self
    }

    /// Refuses arguments that the schema does not have, where others ignore them (Tool surface §8.1): what is asked for shows
    /// in a picture only if it was understood.
    pub fn refusing_unknown(mut self) -> Self {
        let mut schema = self.input_schema.to_value();
        schema["additionalProperties"] = json!(false);
        self.input_schema = schema.into();
        self
    }

    /// Leaves it to the tool what becomes of words outside the `enum` of these arguments.
    pub fn accepting_other_words(mut self, names: &[&'static str]) -> Self {
        self.open_words = names.to_vec();
        self
    }

    /// Leaves it to the tool to say why null is no value of these required arguments.
    pub fn explaining_null(mut self, names: &[&'static str]) -> Self {
        self.explained_nulls = names.to_vec();
        self
    }

    /// Whether calls may change the station.
    pub fn changes_station(&self) -> bool {
        self.requires_user_context || self.category == Category::Write
    }

    /// Whether calls may bind tokens: setupTestUser is the one diagnostic tool that changes anything.
    pub fn binds_users(&self) -> bool {
        self.category == Category::Diagnostic && !self.annotations.read_only
    }

    /// Whether calls may change the knowledge file.
    pub fn changes_knowledge(&self) -> bool {
        self.category == Category::WalkthroughWrite
            || self.category == Category::Management && !self.annotations.read_only
    }

    /// The schema that arguments are checked against: the input schema without the lists of open words, and with null
    /// where the tool explains it.
    pub(super) fn checked_schema(&self) -> Value {
        if self.judges_arguments {
            return super::schema::object().into();
        }
        let mut schema = self.input_schema.to_value();
        for name in &self.open_words {
            let property = schema.pointer_mut(&format!("/properties/{name}"));
            if let Some(property) = property.and_then(Value::as_object_mut) {
                property.shift_remove("enum");
            }
        }
        for name in &self.explained_nulls {
            let kinds = schema.pointer_mut(&format!("/properties/{name}/type"));
            if let Some(Value::Array(kinds)) = kinds {
                kinds.push(json!("null"));
            }
        }
        schema
    }

    /// The entry of `tools/list` (Tool surface §2).
    pub fn to_json(&self) -> Value {
        let mut entry = json!({
            "name": self.name,
            "category": self.category.name(),
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": self.annotations.to_json(),
            "requiresUserContext": self.requires_user_context,
        });
        if let Some(schema) = &self.output_schema {
            entry["outputSchema"] = schema.to_value();
        }
        if let Some(title) = &self.title {
            entry["title"] = json!(title);
            entry["annotations"]["title"] = json!(title);
        }
        entry
    }
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    text: String,
    structured: Option<Value>,
    /// Content of other kinds instead of the text.
    content: Option<Vec<Value>>,
    /// Questions instead of a result (revision 2026-07-28).
    input_required: Option<Box<Value>>,
    /// `_meta` of the result.
    meta: Option<Box<Value>>,
    failed: bool,
}

impl ToolOutput {
    /// A JSON object as in [`ToolOutput::json`], with content of other kinds behind its text.
    pub fn json_and(value: Map<String, Value>, blocks: impl IntoIterator<Item = Value>) -> Self {
        let value = Value::Object(value);
        let text = json!({ "type": "text", "text": value.to_string() });
        Self {
            content: Some(std::iter::once(text).chain(blocks).collect()),
            structured: Some(value),
            ..Self::empty()
        }
    }

    /// Plain text; a text that is itself a JSON object is promoted to `structuredContent` (Tool surface §5.1).
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        let structured = text
            .starts_with('{')
            .then(|| serde_json::from_str::<Map<String, Value>>(&text).ok())
            .flatten()
            .map(Value::Object);
        Self {
            text,
            structured,
            ..Self::empty()
        }
    }

    /// A JSON object: compact text and the same object as `structuredContent`; other values are text only.
    pub fn json(value: Value) -> Self {
        let text = value.to_string();
        Self {
            text,
            structured: value.is_object().then_some(value),
            ..Self::empty()
        }
    }

    /// Text for people beside an object for programs.
    pub fn text_with(text: impl Into<String>, structured: Map<String, Value>) -> Self {
        Self {
            text: text.into(),
            structured: Some(Value::Object(structured)),
            ..Self::empty()
        }
    }

    /// Content blocks of the protocol: images, audio, embedded resources beside text.
    pub fn content(blocks: Vec<Value>) -> Self {
        Self {
            content: Some(blocks),
            ..Self::empty()
        }
    }

    /// Questions that the client answers by repeating the call; `state` comes back with the answers.
    pub fn input_required(requests: Map<String, Value>, state: Option<String>) -> Self {
        let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
        if let Some(state) = state {
            result["requestState"] = json!(state);
        }
        Self {
            input_required: Some(Box::new(result)),
            ..Self::empty()
        }
    }

    /// A failure that a tool tells in its own way: text for people, and what programs read in `_meta`.
    pub fn failure(text: impl Into<String>, meta: Value) -> Self {
        Self {
            text: text.into(),
            meta: Some(Box::new(meta)),
            failed: true,
            ..Self::empty()
        }
    }

    /// Several texts beside an object for programs, and what belongs to it in `_meta`.
    pub fn texts_with(texts: &[String], structured: Map<String, Value>, meta: Value) -> Self {
        let blocks = texts
            .iter()
            .map(|text| json!({ "type": "text", "text": text }));
        Self {
            content: Some(blocks.collect()),
            structured: Some(Value::Object(structured)),
            meta: Some(Box::new(meta)),
            ..Self::empty()
        }
    }

    fn empty() -> Self {
        Self {
            text: String::new(),
            structured: None,
            content: None,
            input_required: None,
            meta: None,
            failed: false,
        }
    }

    /// The text content.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// The structured content.
    pub fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    /// The result of `tools/call`.
    pub(crate) fn into_json(self) -> Value {
        if let Some(result) = self.input_required {
            return *result;
        }
        let content = self
            .content
            .unwrap_or_else(|| vec![json!({ "type": "text", "text": self.text })]);
        let mut answer = json!({ "content": content });
        if let Some(structured) = self.structured {
            answer["structuredContent"] = structured;
        }
        answer["isError"] = json!(self.failed);
        if let Some(meta) = self.meta {
            answer["_meta"] = *meta;
        }
        answer
    }
}

/// Result of [`Tool::run`].
pub type ToolResult = Result<ToolOutput, ToolError>;

/// One tool: what it is and what it does.
pub trait Tool: Send + Sync {
    /// What clients see; asked once, when the registry is built.
    fn definition(&self) -> ToolDefinition;

    /// Runs one call with arguments that are valid by the input schema.
    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult>;
}
