//! The one JSON Schema validator of all inputs, and short builders for schemas (CAMBER core §3).
//!
//! A subset of draft 2020-12. Unknown keywords are refused when a schema is compiled, so a typing error in a
//! schema is found when the registry is built and not when a client calls.

mod builders;
mod coercion;
mod pattern;
mod run;
mod stored;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use serde_json::{Number, Value, json};

pub use builders::*;
use pattern::Pattern;
use run::Run;
pub use stored::StoredSchema;

/// A schema that cannot be compiled: names the place in the schema and the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("schema at {place}: {problem}")]
pub struct SchemaError {
    pub place: String,
    pub problem: String,
}

/// What an instance does wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// The schema `false` accepts nothing.
    Never,
    Type {
        expected: String,
        actual: &'static str,
    },
    Missing {
        name: String,
    },
    Unknown {
        name: String,
        /// The known property that is nearly of that name.
        nearest: Option<String>,
    },
    Enum {
        allowed: Vec<Value>,
        /// The allowed word that the text is nearly.
        nearest: Option<String>,
    },
    Const {
        expected: Value,
    },
    /// A length, a count or a number outside its bounds; the text is the rule.
    Bound {
        rule: String,
    },
    Pattern {
        pattern: String,
    },
}

impl Problem {
    /// One word for `errorData.problem` (Tool surface §5.2).
    pub fn word(&self) -> &'static str {
        match self {
            Self::Never | Self::Unknown { .. } => "unknown",
            Self::Type { .. } => "type",
            Self::Missing { .. } => "missing",
            Self::Enum { .. } | Self::Const { .. } => "enum",
            Self::Bound { .. } => "range",
            Self::Pattern { .. } => "pattern",
        }
    }

    /// What would have been accepted, for `errorData.expected`.
    pub fn expected(&self) -> Value {
        match self {
            Self::Never | Self::Unknown { .. } => json!("nothing"),
            Self::Type { expected, .. } => json!(expected),
            Self::Missing { .. } => json!("a value"),
            Self::Enum { allowed, .. } => json!(allowed),
            Self::Const { expected } => expected.clone(),
            Self::Bound { rule } => json!(rule),
            Self::Pattern { pattern } => json!(pattern),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => out.write_str("no value is allowed here"),
            Self::Type { expected, actual } => write!(out, "expected {expected}, got {actual}"),
            Self::Missing { name } => write!(out, "required property '{name}' is missing"),
            Self::Unknown { name, nearest } => {
                write!(out, "property '{name}' is not allowed")?;
                offer(out, nearest.as_deref())
            }
            Self::Enum { allowed, nearest } => {
                let names: Vec<String> = allowed.iter().map(Value::to_string).collect();
                write!(out, "must be one of {}", names.join(", "))?;
                offer(out, nearest.as_deref())
            }
            Self::Const { expected } => write!(out, "must be {expected}"),
            Self::Bound { rule } => write!(out, "must have {rule}"),
            Self::Pattern { pattern } => write!(out, "does not match the pattern {pattern}"),
        }
    }
}

fn offer(out: &mut fmt::Formatter<'_>, nearest: Option<&str>) -> fmt::Result {
    match nearest {
        Some(nearest) => write!(out, "; did you mean '{nearest}'?"),
        None => Ok(()),
    }
}

/// The known name that another is nearly: other capitals, or about a third of its letters differ.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    /// No name of ours is longer, and looking at more takes time.
    const LONGEST: usize = 100;
    let length = name.chars().take(LONGEST + 1).count();
    if length > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    known
        .map(|known| {
            let distance = strsim::damerau_levenshtein(&name, &known.to_lowercase());
            (distance, known)
        })
        .filter(|(distance, _)| *distance <= length / 3)
        .min()
        .map(|(_, known)| known.to_owned())
}

/// One problem and where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// Keys and indices from the root to the instance.
    pub path: Vec<String>,
    pub problem: Problem,
}

impl Violation {
    /// The plain join of `/` and key or index, without escaping; the root is `/`.
    pub fn pointer(&self) -> String {
        if self.path.is_empty() {
            "/".to_owned()
        } else {
            format!("/{}", self.path.join("/"))
        }
    }

    /// The top-level property concerned, none when the whole instance is.
    pub fn argument(&self) -> Option<&str> {
        match (&self.problem, self.path.first()) {
            (_, Some(first)) => Some(first),
            (Problem::Missing { name } | Problem::Unknown { name, .. }, None) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for Violation {
    /// The place is left out where it is the whole instance.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return self.problem.fmt(out);
        }
        write!(out, "{}: {}", self.pointer(), self.problem)
    }
}

/// A compiled schema.
///
/// ```
/// use niagara_bridge::schema::Validator;
/// use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"limit": {"type": "integer", "maximum": 10}}});
/// let validator = Validator::compile(&schema).unwrap();
/// assert!(validator.validate(&json!({"limit": 5.0})).is_empty());
/// assert_eq!(validator.validate(&json!({"limit": 11}))[0].pointer(), "/limit");
/// ```
#[derive(Debug, Clone)]
pub struct Validator(Node);

#[derive(Debug, Clone)]
enum Node {
    Always,
    Never,
    Rules(Box<Rules>),
}

#[derive(Debug, Clone, Default)]
struct Rules {
    types: Vec<Type>,
    allowed: Option<Vec<Value>>,
    constant: Option<Value>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    pattern: Option<Pattern>,
    minimum: Option<Number>,
    maximum: Option<Number>,
    exclusive_minimum: Option<Number>,
    exclusive_maximum: Option<Number>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    items: Option<Node>,
    required: Vec<String>,
    properties: BTreeMap<String, Node>,
    additional: Option<Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    const ALL: [Type; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Integer,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Object,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    fn accepts(self, instance: &Value) -> bool {
        match (self, instance) {
            (Self::Integer, Value::Number(number)) => is_whole(number),
            (Self::Null, Value::Null)
            | (Self::Boolean, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::String, Value::String(_))
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            _ => false,
        }
    }

    fn of(instance: &Value) -> &'static str {
        Self::ALL
            .iter()
            .find(|kind| kind.accepts(instance))
            .map_or("object", |kind| kind.name())
    }
}

fn is_whole(number: &Number) -> bool {
    number.is_i64()
        || number.is_u64()
        || number
            .as_f64()
            .is_some_and(|float| float.is_finite() && float.fract() == 0.0)
}

fn compare(left: &Number, right: &Number) -> Option<std::cmp::Ordering> {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

/// JSON equality: `1` equals `1.0`, `true` does not equal `1`.
pub fn same_json(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            compare(left, right) == Some(std::cmp::Ordering::Equal)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same_json(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same_json(value, other)))
        }
        _ => left == right,
    }
}

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// An unknown keyword or type, or a keyword with a value of the wrong kind; nested schemas included.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        compile_node(schema, "").map(Self)
    }

    /// All problems of `instance`, in the order of CAMBER core §3; empty when it is valid.
    pub fn validate(&self, instance: &Value) -> Vec<Violation> {
        let mut run = Run::default();
        run.node(&self.0, instance);
        run.found
    }
}

/// A schema whose form has been checked, compiled when the first instance is held against it: in most hours a bridge is asked
/// for few of its tools, and compiled schemas are larger than their texts.
///
/// ```
/// use niagara_bridge::schema::CheckedSchema;
/// use serde_json::json;
/// let schema = json!({"maximum": 10});
/// let checked = CheckedSchema::new(&schema).unwrap();
/// assert!(checked.validator(|| schema.clone()).validate(&json!(5)).is_empty());
/// assert!(CheckedSchema::new(&json!({"maximum": "ten"})).is_err());
/// ```
#[derive(Debug, Clone, Default)]
pub struct CheckedSchema(OnceLock<Validator>);

impl CheckedSchema {
    /// Checks a schema.
    ///
    /// # Errors
    /// Those of [`Validator::compile`].
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        Validator::compile(schema).map(|_| Self::default())
    }

    /// The validator of the schema that was checked, which is asked for once; one that differs and is broken refuses
    /// everything.
    pub fn validator(&self, schema: impl FnOnce() -> Value) -> &Validator {
        self.0
            .get_or_init(|| Validator::compile(&schema()).unwrap_or(Validator(Node::Never)))
    }
}

fn refuse<T>(place: &str, problem: impl Into<String>) -> Result<T, SchemaError> {
    let place = if place.is_empty() { "/" } else { place };
    Err(SchemaError {
        place: place.to_owned(),
        problem: problem.into(),
    })
}

fn compile_node(schema: &Value, place: &str) -> Result<Node, SchemaError> {
    match schema {
        Value::Bool(true) => Ok(Node::Always),
        Value::Bool(false) => Ok(Node::Never),
        Value::Object(keywords) => {
            let mut rules = Rules::default();
            for (keyword, value) in keywords {
                compile_keyword(&mut rules, keyword, value, place)?;
            }
            Ok(Node::Rules(Box::new(rules)))
        }
        other => refuse(
            place,
            format!(
                "a schema is an object, true or false, not {}",
                Type::of(other)
            ),
        ),
    }
}

fn compile_keyword(
    rules: &mut Rules,
    keyword: &str,
    value: &Value,
    place: &str,
) -> Result<(), SchemaError> {
    let count = || {
        value
            .as_u64()
            .map_or_else(|| refuse(place, format!("'{keyword}' must be a count")), Ok)
    };
    let bound = || match value {
        Value::Number(number) => Ok(Some(number.clone())),
        _ => refuse(place, format!("'{keyword}' must be a number")),
    };
    match keyword {
        "type" => rules.types = compile_types(value, place)?,
        "enum" => match value {
            Value::Array(allowed) => rules.allowed = Some(allowed.clone()),
            _ => return refuse(place, "'enum' must be a list"),
        },
        "const" => rules.constant = Some(value.clone()),
        "minLength" => rules.min_length = Some(count()?),
        "maxLength" => rules.max_length = Some(count()?),
        "minItems" => rules.min_items = Some(count()?),
        "maxItems" => rules.max_items = Some(count()?),
        "minimum" => rules.minimum = bound()?,
        "maximum" => rules.maximum = bound()?,
        "exclusiveMinimum" => rules.exclusive_minimum = bound()?,
        "exclusiveMaximum" => rules.exclusive_maximum = bound()?,
        "pattern" => match value.as_str().map(Pattern::parse) {
            Some(Ok(pattern)) => rules.pattern = Some(pattern),
            _ => return refuse(place, "'pattern' must be a regular expression"),
        },
        "required" => match value
            .as_array()
            .and_then(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>())
        {
            Some(names) => rules.required = names.into_iter().map(str::to_owned).collect(),
            None => return refuse(place, "'required' must be a list of strings"),
        },
        "properties" => {
            let Value::Object(properties) = value else {
                return refuse(place, "'properties' must be an object");
            };
            for (name, schema) in properties {
                rules.properties.insert(
                    name.clone(),
                    compile_node(schema, &format!("{place}/properties/{name}"))?,
                );
            }
        }
        "additionalProperties" => {
            rules.additional = Some(compile_node(value, &format!("{place}/{keyword}"))?)
        }
        "items" => rules.items = Some(compile_node(value, &format!("{place}/{keyword}"))?),
        "$schema" | "$id" | "$comment" | "title" | "description" | "default" | "examples"
        | "format" => {}
        other => return refuse(place, format!("unknown keyword '{other}'")),
    }
    Ok(())
}

fn compile_types(value: &Value, place: &str) -> Result<Vec<Type>, SchemaError> {
    let names: Vec<&Value> = match value {
        Value::Array(names) => names.iter().collect(),
        name => vec![name],
    };
    names
        .into_iter()
        .map(|name| {
            let found = name
                .as_str()
                .and_then(|name| Type::ALL.into_iter().find(|kind| kind.name() == name));
            found.map_or_else(|| refuse(place, format!("unknown type {name}")), Ok)
        })
        .collect()
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
