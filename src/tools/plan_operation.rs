//! One operation of a plan: read from its arguments, checked against the station, sent through the gate, undone.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::plan_arguments::planned_arguments;
use super::point_overrides::{given_value, minutes_of, priority_of};
use super::result_value::value_json;
use super::station_access::{component_ord, sentence};
use super::write_gate::error::{About, write_error};
use super::write_gate::{SharedGate, StationWrite, WriteFailure, WriteRequest, Written};
use super::write_point::recorded_level;
use super::write_schedule::{concluded, edit_error};
use super::write_schedule_json::{Undo, changes_json, edit_of};
use super::{Arguments, CallContext, ToolError};
use crate::station::facade::{
    ActionPlan, Given, PointOrder, PointPlan, ScheduleEdit, SchedulePlan, SlotPlan, StationFacade,
    WriteError,
};
use crate::station::http::CallScope;
use crate::station::ord::Ord;
use crate::station::priority::Priority;
use crate::station::value::Value as StationValue;

/// Level of a writePoint that names none (Tool surface §8.4).
const LOWEST: i64 = 16;

/// Tools whose calls can be planned.
pub const PLANNED_TOOLS: [&str; 7] = [
    "writePoint",
    "overridePoint",
    "releasePoint",
    "setSlot",
    "clearSlot",
    "invokeAction",
    "writeSchedule",
];

/// An operation with the arguments of its tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub tool: &'static str,
    pub ord: String,
    pub arguments: Map<String, Value>,
    /// A look at the station showed that the value is a secret.
    pub is_secret: bool,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Point(PointOrder),
    Slot { slot: String, given: Given },
    Default { slot: String },
    Action { name: String, given: Option<Given> },
    Schedule(ScheduleEdit),
}

/// An operation that the station would take, as far as it can be told.
pub enum Checked {
    Point(Box<PointPlan>),
    Slot(Box<SlotPlan>),
    Action(Box<ActionPlan>),
    Schedule(Box<SchedulePlan>),
}

/// What an operation did.
pub struct Done {
    /// What stood there before.
    pub old: Value,
    /// What was read back, or sent.
    pub new: Value,
    /// The operation that leads back, or why none does.
    pub undo: Result<Operation, String>,
    /// What does not come back although the undo leads back.
    pub lost: Vec<String>,
    /// What the undo will find.
    pub left: Value,
    /// Why it could not be read back.
    pub read_back_failed: Option<String>,
    /// The command as it was carried out, where the point is to be read back.
    pub point: Option<PointPlan>,
}

impl Operation {
    /// Reads an entry `{tool, arguments}`; the arguments are those that a call of the tool takes.
    ///
    /// # Errors
    /// −32602 that names the operation.
    pub fn read(gate: &SharedGate, index: usize, entry: &Value) -> Result<Self, ToolError> {
        let wrong = |problem: String| {
            ToolError::invalid_params(format!("Operation {index}: {problem}."))
                .with("argument", "operations")
                .with("index", index)
        };
        let tool = entry
            .get("tool")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let tool = PLANNED_TOOLS.into_iter().find(|known| *known == tool);
        let tool = tool.ok_or_else(|| {
            wrong(format!(
                "'tool' must be one of {}",
                PLANNED_TOOLS.join(", ")
            ))
        })?;
        let arguments = entry.get("arguments").and_then(Value::as_object);
        let arguments =
            arguments.ok_or_else(|| wrong("'arguments' must be an object".to_owned()))?;
        let arguments = planned_arguments(gate, tool, arguments);
        let operation = arguments.and_then(|arguments| Self::of(tool, arguments));
        operation.map_err(|error| {
            let mut error = error.with("argument", "operations").with("index", index);
            error.message = format!("Operation {index}: {}", error.message);
            error
        })
    }

    /// The operation with arguments that are valid by the tool's schema.
    pub(super) fn of(tool: &'static str, arguments: Map<String, Value>) -> Result<Self, ToolError> {
        let arguments = Arguments::new(arguments);
        let text = |name: &str| match arguments.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
            Some(Value::String(_)) | None => Err(ToolError::invalid_params(format!(
                "'{name}' is missing for {tool}."
            ))
            .with("missing", name)),
            Some(_) => Err(ToolError::invalid_params(format!(
                "'{name}' of {tool} must be a text."
            ))
            .with("argument", name)),
        };
        let ord = text("ord")?;
        component_ord(&ord)?;
        let given = |name: &str| match arguments.get(name) {
            Some(value) => Given::of_json(value).map(Some).ok_or_else(|| {
                ToolError::invalid_params(format!(
                    "'{name}' of {tool} must be a number, true or false, or a text."
                ))
            }),
            None => Ok(None),
        };
        let value = || {
            given("value")?.ok_or_else(|| {
                ToolError::invalid_params(format!("'value' is missing for {tool}."))
                    .with("missing", "value")
            })
        };
        let kind = match tool {
            "overridePoint" => {
                let priority = priority_of(&arguments)?;
                let minutes = minutes_of(&arguments, priority)?;
                Kind::Point(PointOrder {
                    priority,
                    value: given_value(&arguments)?,
                    overriding: Some(Duration::from_secs(minutes.saturating_mul(60))),
                    may_be_endless: true,
                })
            }
            "releasePoint" => Kind::Point(PointOrder {
                priority: priority_of(&arguments)?,
                value: Given::Null,
                overriding: Some(Duration::ZERO),
                may_be_endless: true,
            }),
            "setSlot" => Kind::Slot {
                slot: text("slotName")?,
                given: value()?,
            },
            "clearSlot" => Kind::Default {
                slot: text("slotName")?,
            },
            "invokeAction" => Kind::Action {
                name: text("actionName")?,
                given: given("args")?,
            },
            "writeSchedule" => Kind::Schedule(edit_of(arguments.values())?),
            _ => {
                let level = arguments.integer("priority", LOWEST);
                let priority = Priority::new(level).map_err(|error| {
                    ToolError::invalid_params(sentence(&error)).with("priority", level)
                })?;
                Kind::Point(PointOrder::new(priority, value()?))
            }
        };
        Ok(Self {
            tool,
            ord,
            arguments: arguments.values().clone(),
            is_secret: false,
            kind,
        })
    }

    /// The operation as callers write it.
    pub fn to_json(&self) -> Value {
        json!({ "tool": self.tool, "arguments": self.arguments })
    }

    /// What the gate is asked for.
    pub fn request(&self, checked: Option<&Checked>) -> WriteRequest<'_> {
        let operation = match (&self.kind, self.tool) {
            (Kind::Slot { .. }, _) => "set",
            (Kind::Default { .. }, _) => "clear",
            (Kind::Action { .. }, _) => "invoke",
            (Kind::Schedule(_), _) => "schedule",
            (Kind::Point(_), "overridePoint") => "override",
            (Kind::Point(_), "releasePoint") => "release",
            (Kind::Point(_), _) => "write",
        };
        let mut request = WriteRequest::new(self.tool, operation, &self.ord, &self.arguments);
        if self.is_secret {
            request = request.with_secret_value();
        }
        if let Kind::Point(order) = &self.kind {
            request = request.at_priority(order.priority);
            if self.tool == "overridePoint" {
                request = request.overriding_for(order.overriding.unwrap_or_default());
            }
        }
        // An input or a command action is judged like a command of its level.
        if let Some(level) = self.commanded_level() {
            request = request.at_priority(level);
        }
        if matches!(&self.kind, Kind::Schedule(edit) if !edit.removed_events.is_empty()) {
            request = request.removing();
        }
        match checked {
            Some(Checked::Point(plan)) => request.for_point(plan),
            Some(Checked::Slot(plan)) => request.for_slot(plan),
            Some(Checked::Action(plan)) => request.for_action(plan),
            Some(Checked::Schedule(_)) | None => request,
        }
    }

    fn commanded_level(&self) -> Option<Priority> {
        match &self.kind {
            Kind::Slot { slot, .. } | Kind::Default { slot } => {
                let outer = slot.split('/').next().unwrap_or_default();
                Priority::all().find(|level| level.slot() == outer)
            }
            Kind::Action { name, .. } => match name.as_str() {
                "override" | "active" | "inactive" | "auto" => Some(Priority::MANUAL),
                name if name.starts_with("emergency") => Some(Priority::EMERGENCY),
                _ => None,
            },
            Kind::Point(_) | Kind::Schedule(_) => None,
        }
    }

    /// Checks the operation against the station; a read.
    ///
    /// # Errors
    /// Why the station would not take it, in the codes of the surface.
    pub async fn check(
        &self,
        context: &CallContext,
        station: &StationFacade,
        scope: &CallScope,
    ) -> Result<Checked, ToolError> {
        let ord = component_ord(&self.ord)?;
        let request = self.request(None);
        let about = About {
            principal: &context.principal,
            tool: self.tool,
            operation: request.operation,
            ord: &self.ord,
        };
        let failed = |error: WriteError| write_error(error, &about);
        Ok(match &self.kind {
            Kind::Point(order) => {
                let plan = station.plan_point(scope, &ord, order).await;
                Checked::Point(Box::new(plan.map_err(failed)?))
            }
            Kind::Slot { slot, given } => {
                let plan = station.plan_slot(scope, &ord, slot, given).await;
                Checked::Slot(Box::new(plan.map_err(failed)?))
            }
            Kind::Default { slot } => {
                let plan = station.plan_default(scope, &ord, slot).await;
                Checked::Slot(Box::new(plan.map_err(failed)?))
            }
            Kind::Action { name, given } => {
                let plan = station.plan_action(scope, &ord, name, given.as_ref()).await;
                Checked::Action(Box::new(plan.map_err(failed)?))
            }
            Kind::Schedule(edit) => {
                let plan = station.plan_schedule(scope, &ord, edit).await;
                let plan = plan.map_err(|error| edit_error(error, &self.ord))?;
                Checked::Schedule(Box::new(plan))
            }
        })
    }

    /// Sends the operation, once. Points are not read back: all of a plan are, when they had time to act.
    ///
    /// # Errors
    /// What became of it instead.
    pub async fn send(
        &self,
        write: StationWrite,
        checked: Checked,
    ) -> Result<Written<Done>, WriteFailure> {
        let StationWrite {
            station,
            scope,
            ord,
            ..
        } = write;
        let old = checked.old();
        let done = match checked {
            Checked::Point(plan) => {
                let undo = self.point_undo(&plan);
                let before = recorded_level(plan.previous.valid());
                let sent = station.send_point(&scope, &ord, *plan).await?;
                let requested = &sent.requested;
                let after = recorded_level(Some(requested));
                let done = Done::new(old, value_json(requested), undo);
                let done = done.leaving(fingerprint(requested)).by(sent);
                return Ok(Written::new(done).from(before).to(after));
            }
            Checked::Slot(plan) => {
                let undo = self.slot_undo(&plan);
                let is_secret = plan.is_secret();
                let change = station.carry_out_slot(&scope, &ord, *plan).await?;
                let seen = change.observed.as_ref().unwrap_or(&change.new);
                let done = Done::new(old, shown(seen, is_secret), undo);
                done.leaving(fingerprint(&change.new))
            }
            Checked::Action(plan) => {
                let result = station.carry_out_action(&scope, *plan).await?;
                let undo = Err("what an action did is not known".to_owned());
                Done::new(old, value_json(&result.returned), undo)
            }
            Checked::Schedule(plan) => {
                return self.send_schedule(&station, &scope, &ord, &plan).await;
            }
        };
        let (before, after) = (done.old.clone(), done.new.clone());
        Ok(Written::new(done).from(before).to(after))
    }

    async fn send_schedule(
        &self,
        station: &StationFacade,
        scope: &CallScope,
        ord: &Ord,
        plan: &SchedulePlan,
    ) -> Result<Written<Done>, WriteFailure> {
        let outcome = station.write_schedule(scope, ord, plan).await;
        let written = concluded(&self.ord, plan, outcome)?;
        let changed = written.value;
        let seen = changed.after.as_ref().unwrap_or(&plan.after);
        let Undo {
            arguments,
            lost,
            displaced,
        } = Undo::of(&self.ord, &plan.before, seen);
        let undo = match lost.is_empty() {
            true => Self::of("writeSchedule", arguments).map_err(|error| error.message),
            false => Err(lost.join(", ")),
        };
        let old = json!(changes_json(seen, &plan.before));
        let new = json!(changes_json(&plan.before, seen));
        let mut done = Done::new(old, new, undo).leaving(json!(format!("{seen:?}")));
        done.lost = displaced;
        done.read_back_failed = changed.after.err();
        Ok(Written {
            value: done,
            old_value: written.old_value,
            new_value: written.new_value,
        })
    }

    fn point_undo(&self, plan: &PointPlan) -> Result<Self, String> {
        let level = plan.order.priority;
        let held = plan.previous.valid();
        if level == Priority::MANUAL
            && let Some(held) = held
        {
            return Err(format!(
                "priority 8 was held at {} by an override whose end is not known; write it again with overridePoint if it is still wanted",
                value_json(held)
            ));
        }
        let mut arguments = Map::new();
        arguments.insert("ord".to_owned(), json!(self.ord));
        arguments.insert("priority".to_owned(), json!(level.level()));
        match held {
            None if self.tool == "overridePoint" => Self::of("releasePoint", arguments),
            held => {
                arguments.insert("value".to_owned(), held.map_or(Value::Null, writable_json));
                Self::of("writePoint", arguments)
            }
        }
        .map_err(|error| error.message)
    }

    fn slot_undo(&self, plan: &SlotPlan) -> Result<Self, String> {
        if plan.is_secret() {
            return Err("the value before is a secret".to_owned());
        }
        let value = match &plan.previous {
            StationValue::Null => return Err("the value before is not known".to_owned()),
            StationValue::Other { type_spec, .. } if self.tool == "clearSlot" => {
                return Err(format!("{type_spec} is no simple value"));
            }
            previous => writable_json(previous),
        };
        let mut arguments = Map::new();
        arguments.insert("ord".to_owned(), json!(self.ord));
        arguments.insert("slotName".to_owned(), json!(plan.slot()));
        arguments.insert("value".to_owned(), value);
        Self::of("setSlot", arguments).map_err(|error| error.message)
    }
}

impl Done {
    fn new(old: Value, new: Value, undo: Result<Operation, String>) -> Self {
        Self {
            old,
            new,
            undo,
            lost: Vec::new(),
            left: Value::Null,
            read_back_failed: None,
            point: None,
        }
    }

    fn leaving(mut self, left: Value) -> Self {
        self.left = left;
        self
    }

    fn by(mut self, sent: PointPlan) -> Self {
        self.point = Some(sent);
        self
    }
}

impl Checked {
    /// Absolute ord of the component.
    pub fn ord(&self) -> &str {
        match self {
            Self::Point(plan) => &plan.ord,
            Self::Slot(plan) => plan.ord(),
            Self::Action(plan) => plan.ord(),
            Self::Schedule(plan) => &plan.ord,
        }
    }

    /// What is written of the component: two operations on the same thing are in conflict.
    pub fn part(&self) -> String {
        match self {
            Self::Point(plan) => plan.order.priority.slot(),
            Self::Slot(plan) => plan.slot().to_owned(),
            Self::Action(plan) => format!("action {}", plan.action()),
            Self::Schedule(_) => "schedule".to_owned(),
        }
    }

    /// What stands there now.
    pub fn old(&self) -> Value {
        match self {
            Self::Point(plan) => plan.previous.valid().map_or(Value::Null, value_json),
            Self::Slot(plan) => shown(&plan.previous, plan.is_secret()),
            Self::Action(_) => Value::Null,
            Self::Schedule(plan) => json!(changes_json(&plan.after, &plan.before)),
        }
    }

    /// What will stand there.
    pub fn new_value(&self) -> Value {
        match self {
            Self::Point(plan) => value_json(&plan.requested),
            Self::Slot(plan) => shown(&plan.new, plan.is_secret()),
            Self::Action(plan) => match plan.is_secret() {
                true => json!(crate::secrecy::REDACTED),
                false => plan.argument().as_ref().map_or(Value::Null, value_json),
            },
            Self::Schedule(plan) => json!(changes_json(&plan.before, &plan.after)),
        }
    }

    /// Whether nobody may read what is written, by its name or type.
    pub fn is_secret(&self) -> bool {
        match self {
            Self::Slot(plan) => plan.is_secret(),
            Self::Action(plan) => plan.is_secret(),
            Self::Point(_) | Self::Schedule(_) => false,
        }
    }

    /// The present state, to be compared when the plan is applied.
    pub fn found(&self) -> Value {
        match self {
            Self::Point(plan) => plan.previous.valid().map_or(Value::Null, fingerprint),
            Self::Slot(plan) => fingerprint(&plan.previous),
            Self::Action(_) => Value::Null,
            Self::Schedule(plan) => json!(format!("{:?}", plan.before)),
        }
    }

    /// Whether the caller's permissions allow it, as far as the station told them.
    pub fn is_permitted(&self) -> bool {
        match self {
            Self::Point(plan) => plan.is_permitted(),
            Self::Slot(plan) => plan.is_permitted(),
            Self::Action(plan) => plan.is_permitted(),
            Self::Schedule(plan) => plan.denied.is_none(),
        }
    }

    /// The level of a command and what commands the point now.
    pub fn levels(&self) -> Option<(Priority, bool, Option<String>)> {
        match self {
            Self::Point(plan) => {
                let releases = plan.requested == StationValue::Null;
                Some((plan.order.priority, releases, plan.active_level()))
            }
            _ => None,
        }
    }
}

/// A value in a form that does not depend on how the station spells its range.
fn fingerprint(value: &StationValue) -> Value {
    match value {
        StationValue::Enum(choice) => json!({ "ordinal": choice.ordinal }),
        other => value_json(other),
    }
}

/// A value that the writing tools take.
fn writable_json(value: &StationValue) -> Value {
    match value {
        StationValue::Enum(choice) => json!(choice.ordinal),
        other => value_json(other),
    }
}

fn shown(value: &StationValue, is_secret: bool) -> Value {
    match is_secret {
        true => json!(crate::secrecy::REDACTED),
        false => value_json(value),
    }
}
