//! `setSlot` and `clearSlot`: properties of components, one at a time (Tool surface §8.4, §13.5.4).

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::put_value;
use super::schema::{self, ObjectSchema, object};
use super::write_gate::{
    Gated, SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::{Arguments, CallContext, ToolError};
use crate::secrecy::{REDACTED, is_secret_name, is_secret_type};
use crate::station::facade::{Given, Reread, SlotChange, SlotPlan, WriteError};
use crate::station::value::Value as StationValue;

/// JSON types of a slot's value.
const VALUE_TYPES: [&str; 4] = ["string", "number", "integer", "boolean"];

/// `setSlot`.
pub struct SetSlot(pub SharedGate);

/// `clearSlot`.
pub struct ClearSlot(pub SharedGate);

impl Tool for SetSlot {
    fn definition(&self) -> ToolDefinition {
        let answer = changed_slot("previousValue", "newValue", "The value that was written.");
        ToolDefinition::new(
            "setSlot",
            Category::Write,
            Annotations::MUTATION,
            "Sets one property of a component to a simple value, as the calling station user. The value is checked \
             against the type and facets of the slot before it is sent: numbers, true or false, texts, names or numbers \
             of choices, and the text form of every other simple type (a duration as PT15M or milliseconds, an ord, \
             facets as precision=i:1). A slot that a link commands is refused. The slot is read back. \
             Example: {\"ord\":\"station:|slot:/Logic/Ramp\",\"slotName\":\"amplitude\",\"value\":25}.",
        )
        .input(with_confirm(
            slot_arguments().required(
                "value",
                schema::any_of_types("The new value; clearSlot puts the default back.", &VALUE_TYPES),
            ),
        ))
        .explaining_null(&["value"])
        .output(answer)
        .for_users()
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let given = given_value(&arguments)?;
            let step = Step::of("setSlot", "set", &arguments, Some(given))?;
            let sent = step.run(&self.0, context).await?;
            sent.answered(|change| Ok(step.answer("newValue", &change)))
        })
    }
}

impl Tool for ClearSlot {
    fn definition(&self) -> ToolDefinition {
        let answer = changed_slot("previousValue", "defaultValue", "The default of the slot.")
            .optional(
                "reason",
                schema::one_of(
                    "Why nothing was sent: a dynamic slot has no default but its present value.",
                    &["dynamic-slot"],
                ),
            );
        ToolDefinition::new(
            "clearSlot",
            Category::Write,
            Annotations::MUTATION,
            "Puts one property of a component back to the default of the component's type, as the calling station user; \
             structs such as an input of a point as a whole. A slot that holds a component is refused: the default would replace it \
             with everything below. A slot that somebody added (a dynamic one) has no default: \
             it stays as it is, with changed=false. \
             Example: {\"ord\":\"station:|slot:/Logic/Setpoint\",\"slotName\":\"facets\"}.",
        )
        .input(with_confirm(slot_arguments()))
        .output(answer)
        .for_users()
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let step = Step::of("clearSlot", "clear", &arguments, None)?;
            let sent = step.run(&self.0, context).await?;
            sent.answered(|change| Ok(step.answer("defaultValue", &change)))
        })
    }
}

fn slot_arguments() -> ObjectSchema {
    object()
        .required(
            "ord",
            schema::string("Ord of the component, for example station:|slot:/Logic/Ramp."),
        )
        .required(
            "slotName",
            schema::string("Name of the property, see getSlots."),
        )
}

/// Types of a value in an answer.
const ANSWER_TYPES: [&str; 4] = ["string", "number", "boolean", "null"];

fn changed_slot(before: &str, after: &str, after_help: &str) -> ObjectSchema {
    let value = |help: &str| schema::any_of_types(help, &ANSWER_TYPES);
    let name = |help: &str| schema::one_of(help, &["NaN", "Infinity", "-Infinity"]);
    object()
        .required("ord", schema::string("The ord as given."))
        .required("slotName", schema::string("The slot as given."))
        .required(before, value("The value before; secrets are not shown."))
        .optional(
            "previousNonFinite",
            name("Set when the number before is not finite."),
        )
        .required(after, value(after_help))
        .optional("nonFinite", name("Set when that number is not finite."))
        .optional("observedValue", value("The slot read back."))
        .optional(
            "observedNonFinite",
            name("Set when the number read back is not finite."),
        )
        .optional(
            "readBackFailed",
            schema::string("Why the slot could not be read back."),
        )
        .required("type", schema::string("Type of the value as module:Type."))
        .required(
            "changed",
            schema::boolean("Whether the value before was another one."),
        )
}

fn given_value(arguments: &Arguments) -> Result<Given, ToolError> {
    match arguments.get("value") {
        None => {
            Err(ToolError::invalid_params("Argument 'value' is missing.").with("missing", "value"))
        }
        Some(Value::Null) => Err(ToolError::invalid_params(
            "null is no value of a slot; clearSlot puts the default back.",
        )
        .with("hint", "Use clearSlot to put the default of the slot back.")),
        Some(value) => Given::of_json(value).ok_or_else(|| {
            ToolError::invalid_params("'value' must be a string, a number, true or false.")
                .with("argument", "value")
        }),
    }
}

/// One change of a slot, asked for by a call.
struct Step<'a> {
    request: WriteRequest<'a>,
    ord: &'a str,
    slot_name: &'a str,
    /// None puts the default back.
    given: Option<Given>,
}

impl<'a> Step<'a> {
    fn of(
        tool: &'static str,
        operation: &'static str,
        arguments: &'a Arguments,
        given: Option<Given>,
    ) -> Result<Self, ToolError> {
        let ord = arguments.string("ord")?;
        Ok(Self {
            request: WriteRequest::new(tool, operation, ord, arguments.values()),
            ord,
            slot_name: arguments.string("slotName")?,
            given,
        })
    }

    async fn run(
        &self,
        gate: &SharedGate,
        context: &CallContext,
    ) -> Result<Gated<SlotChange>, ToolError> {
        let look = |write: StationWrite| async move { self.plan(&write).await };
        let checked = gate.check(context, &self.request, look).await?;
        let request = self.request.for_slot(&checked.plan);
        gate.check_permitted(context, &request, checked.plan.is_permitted())
            .await?;
        let level = checked.plan.level();
        // Commands of levels may be confirmed by themselves, so the plan can be old by then.
        let plan = checked.fresh().filter(|_| level.is_none());
        let work = |write: StationWrite| async move {
            let plan = match plan {
                Some(plan) => plan,
                None => self.plan(&write).await?,
            };
            let StationWrite {
                station,
                scope,
                ord,
                ..
            } = write;
            let sent = station.carry_out_slot(&scope, &ord, plan).await;
            let change = sent.map_err(|error| self.failure(error))?;
            let before = recorded(&change.previous, &change);
            let after = recorded(change.observed.as_ref().unwrap_or(&change.new), &change);
            Ok(Written::new(change).from(before).to(after))
        };
        gate.run(context, request, work).await
    }

    async fn plan(&self, write: &StationWrite) -> Result<SlotPlan, WriteFailure> {
        let StationWrite {
            station,
            scope,
            ord,
            ..
        } = write;
        let plan = match &self.given {
            Some(given) => station.plan_slot(scope, ord, self.slot_name, given).await,
            None => station.plan_default(scope, ord, self.slot_name).await,
        };
        plan.map_err(|error| self.failure(error))
    }

    /// A refusal repeats the value that was given or found, but not that of a secret.
    fn failure(&self, error: WriteError) -> WriteFailure {
        let (error, is_secret) = error.bared();
        let error = match error {
            error if !is_secret && !is_secret_name(self.slot_name) => error,
            WriteError::BadValue { target, reason, .. } => WriteError::BadValue {
                target,
                given: REDACTED.to_owned(),
                reason,
            },
            WriteError::InDoubt { target, cause, .. } => WriteError::InDoubt {
                target,
                cause,
                reread: Reread::Nothing,
            },
            error => error,
        };
        match is_secret {
            true => WriteFailure::OfSecret(Box::new(error.into())),
            false => error.into(),
        }
    }

    fn answer(&self, new_key: &str, change: &SlotChange) -> ToolOutput {
        let mut map = Map::new();
        map.insert("ord".to_owned(), json!(self.ord));
        map.insert("slotName".to_owned(), json!(self.slot_name));
        put(
            &mut map,
            "previousValue",
            "previousNonFinite",
            &change.previous,
            change,
        );
        put(&mut map, new_key, "nonFinite", &change.new, change);
        match &change.observed {
            Ok(value) => put(
                &mut map,
                "observedValue",
                "observedNonFinite",
                value,
                change,
            ),
            Err(reason) => {
                map.insert("readBackFailed".to_owned(), json!(reason));
            }
        }
        map.insert("type".to_owned(), json!(change.type_spec));
        map.insert("changed".to_owned(), json!(change.changed));
        if let Some(reason) = change.untouched {
            map.insert("reason".to_owned(), json!(reason.name()));
        }
        ToolOutput::json(Value::Object(map))
    }
}

/// A value, but not that of a secret.
fn put(
    map: &mut Map<String, Value>,
    key: &str,
    non_finite: &str,
    value: &StationValue,
    change: &SlotChange,
) {
    if is_secret_name(&change.slot) || is_secret_type(&change.type_spec) {
        map.insert(key.to_owned(), json!(REDACTED));
    } else {
        put_value(map, key, non_finite, value);
    }
}

/// A value as it is recorded.
fn recorded(value: &StationValue, change: &SlotChange) -> Value {
    let mut map = Map::new();
    put(&mut map, "value", "nonFinite", value, change);
    map.shift_remove("value").unwrap_or_default()
}
