//! Commanding a writable point at a priority (Tool surface §8.4, §13.5.4, writePoint).

use std::time::Duration;

use chrono::{DateTime, FixedOffset};

use super::StationFacade;
use super::points::reading_of;
use super::view::PointReading;
use super::write_error::{Reread, WriteError, WriteResult};
use super::write_plan::{BoxWay, PointPlan, Way};
use super::write_target::{WriteTarget, doubt, doubt_scope, needs_to_invoke, needs_to_set};
use super::write_value::Given;
use crate::station::boxp::encode::status_value;
use crate::station::boxp::point::PointKind;
use crate::station::boxp::types::display_name;
use crate::station::boxp::{Node, PointView};
use crate::station::http::{CallScope, TimeoutClass};
use crate::station::ord::Ord;
use crate::station::priority::Priority;
use crate::station::status::StatusBits;
use crate::station::value::{EnumRange, StatusValue, Value};

/// What a point is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct PointOrder {
    pub priority: Priority,
    /// Null releases the level.
    pub value: Given,
    /// By the point's override actions, for this long, rather than by its input; only at levels 8 and 1, and only
    /// level 8 ends by itself. Zero means until released.
    pub overriding: Option<Duration>,
    /// An override that lasts until somebody releases it may carry the command out where the input cannot be set.
    pub may_be_endless: bool,
}

impl PointOrder {
    /// A command of the level's input.
    pub fn new(priority: Priority, value: Given) -> Self {
        Self {
            priority,
            value,
            overriding: None,
            may_be_endless: true,
        }
    }
}

/// How a command went to the station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteRoute {
    /// The input `in1` to `in16` over BOX.
    Input,
    /// An action of the point over BOX.
    Action,
    /// An operation of the point over oBIX.
    Obix,
}

/// A command that the station took, and what the point did.
#[derive(Debug, Clone, PartialEq)]
pub struct PointCommand {
    /// Absolute ord.
    pub ord: String,
    pub priority: Priority,
    /// The value as it was sent; null for a release.
    pub requested: Value,
    /// The level's input before.
    pub previous: StatusValue,
    pub route: WriteRoute,
    /// The point read back, or why that failed.
    pub observed: Result<PointObserved, String>,
}

impl PointCommand {
    /// The value as the contract writes it: `21.0`, `true`, `enum(3)`, `"text"`, `null` (Tool surface §8.4).
    pub fn requested_text(&self) -> String {
        requested_text(&self.requested)
    }

    /// Whether the level commands the output now; unknown when the point could not be read back.
    pub fn is_winning(&self) -> Option<bool> {
        let observed = self.observed.as_ref().ok()?;
        Some(observed.reading.active_level == Some(self.priority.to_string()))
    }

    /// Whether the command can be expected to survive a restart of the station (Station web specification §4.8).
    pub fn is_persistent(&self) -> bool {
        [Priority::EMERGENCY, Priority::MANUAL].contains(&self.priority)
    }
}

/// A point after it was commanded.
#[derive(Debug, Clone, PartialEq)]
pub struct PointObserved {
    pub reading: PointReading,
    /// The input of the level, where it is told.
    pub input: Option<StatusValue>,
    /// When an override at level 8 ends.
    pub expires: Option<DateTime<FixedOffset>>,
}

impl PointObserved {
    /// When what commands the output now ends by itself: the station ends level 8 only, and keeps that time while a higher
    /// level commands.
    pub fn active_until(&self) -> Option<&DateTime<FixedOffset>> {
        let is_manual = self.reading.active_level == Some(Priority::MANUAL.to_string());
        self.expires.as_ref().filter(|_| is_manual)
    }
}

/// A value as the contract of writePoint writes it.
pub(super) fn requested_text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Enum(choice) => format!("enum({})", choice.ordinal),
        Value::String(text) => format!("\"{text}\""),
        other => other.encode(),
    }
}

impl StationFacade {
    /// Commands a point, or releases a level of it, with one message to the station; everything that can be checked is
    /// checked before. After `settle` the point is read back.
    ///
    /// Over oBIX, which reaches levels 8 and 1 only, where BOX is not offered.
    ///
    /// # Errors
    /// [`WriteError::InDoubt`] when the answer was lost; with any other error nothing was changed.
    pub async fn command_point(
        &self,
        scope: &CallScope,
        ord: &Ord,
        order: &PointOrder,
        settle: Duration,
    ) -> WriteResult<PointCommand> {
        let plan = self.plan_point(scope, ord, order).await?;
        self.carry_out_point(scope, ord, plan, settle).await
    }

    /// Sends a planned command with one message, and reads the point back after `settle`.
    ///
    /// # Errors
    /// As [`StationFacade::command_point`].
    pub async fn carry_out_point(
        &self,
        scope: &CallScope,
        ord: &Ord,
        plan: PointPlan,
        settle: Duration,
    ) -> WriteResult<PointCommand> {
        let sent = self.send_point(scope, ord, plan).await?;
        let observed = self.read_point_back(scope, ord, &sent, settle).await;
        Ok(PointCommand {
            priority: sent.order.priority,
            route: sent.route(),
            ord: sent.ord,
            requested: sent.requested,
            previous: sent.previous,
            observed,
        })
    }

    /// Sends a planned command with one message, and gives the plan as it was carried out.
    ///
    /// # Errors
    /// As [`StationFacade::command_point`].
    pub async fn send_point(
        &self,
        scope: &CallScope,
        ord: &Ord,
        plan: PointPlan,
    ) -> WriteResult<PointPlan> {
        let sent = match &plan.way {
            Way::Box(way) => self.command_by_box(scope, ord, &plan, way).await,
            Way::Obix(way) => self.command_by_obix(scope, &plan, way).await,
        };
        match sent {
            // No server session is free, say: nothing was sent.
            Err(WriteError::Facade(error))
                if matches!(plan.way, Way::Box(_)) && self.may_fall_back(&error) =>
            {
                let refusal = error.clone();
                let other = self.plan_by_obix(scope, ord, &plan.order, error).await?;
                if other.is_endless() && !plan.order.may_be_endless {
                    return Err(refusal.into());
                }
                Box::pin(self.send_point(scope, ord, other)).await
            }
            Err(error) => Err(error),
            Ok(()) => Ok(plan),
        }
    }

    /// The point after a command, when it had time to act on it.
    ///
    /// # Errors
    /// Why it could not be read.
    pub async fn read_point_back(
        &self,
        scope: &CallScope,
        ord: &Ord,
        sent: &PointPlan,
        settle: Duration,
    ) -> Result<PointObserved, String> {
        let asleep = async {
            tokio::time::sleep(settle).await;
            Ok(())
        };
        scope
            .run("waiting for the point to act", asleep)
            .await
            .map_err(|error| error.to_string())?;
        let priority = sent.order.priority;
        match &sent.way {
            Way::Box(_) => self
                .observe_point(scope, ord, priority)
                .await
                .map_err(|error| error.to_string()),
            Way::Obix(way) => self.observe_by_obix(scope, way, priority).await,
        }
    }

    async fn command_by_box(
        &self,
        scope: &CallScope,
        ord: &Ord,
        plan: &PointPlan,
        way: &BoxWay,
    ) -> WriteResult<()> {
        let target = &way.target;
        let priority = plan.order.priority;
        let sent = match &way.action {
            Some((action, argument)) => {
                let work = self.boxp().invoke_action(
                    scope,
                    &target.handle,
                    action.slot_name(),
                    argument.clone(),
                    TimeoutClass::Standard,
                );
                self.change(target, &target.ord, needs_to_invoke(action), work)
                    .await
                    .map(drop)
            }
            None => {
                let (held, bits) = match &plan.requested {
                    Value::Null => (
                        held_value(&plan.previous, way.kind, &way.range),
                        StatusBits::NULL,
                    ),
                    value => (value.clone(), StatusBits::default()),
                };
                let encoded = status_value(way.kind, &held, bits);
                let work =
                    self.boxp()
                        .set_property(scope, &target.handle, way.slot.slot_name(), encoded);
                self.change(target, &target.ord, needs_to_set(&way.slot), work)
                    .await
            }
        };
        match sent {
            Ok(()) => Ok(()),
            Err(error) => Err(self.point_doubt(ord, priority, error).await),
        }
    }

    async fn observe_point(
        &self,
        scope: &CallScope,
        ord: &Ord,
        priority: Priority,
    ) -> WriteResult<PointObserved> {
        let target = self.write_target(scope, ord).await?;
        let point = writable(&target)?;
        let array = point.priority_array.as_ref();
        let name = match (&target.node.display_name, ord.slot_path()) {
            (None, Some(path)) => path.name().map(|name| name.display()).unwrap_or_default(),
            _ => display_name(&target.node),
        };
        Ok(PointObserved {
            input: array.map(|array| array.get(priority).clone()),
            expires: point.override_expiration,
            reading: reading_of(point, name),
        })
    }

    /// What a lost answer leaves: the point as it is now. Other errors stay as they are.
    async fn point_doubt(&self, ord: &Ord, priority: Priority, error: WriteError) -> WriteError {
        let Some(cause) = doubt(&error).map(str::to_owned) else {
            return error;
        };
        let observed = self.observe_point(&doubt_scope(), ord, priority).await;
        WriteError::InDoubt {
            target: ord.absolute(),
            cause,
            reread: match observed {
                Ok(observed) => Reread::Point(Box::new(observed)),
                Err(error) => Reread::Failed(error.to_string()),
            },
        }
    }
}

pub(super) fn writable(target: &WriteTarget) -> WriteResult<PointView> {
    PointView::read(&target.node, target.contract.as_deref())
        .filter(|point| point.priority_array.is_some())
        .ok_or_else(|| not_writable(target))
}

pub(super) fn not_writable(target: &WriteTarget) -> WriteError {
    WriteError::NotWritable {
        ord: target.ord.clone(),
        type_spec: target.node.type_name().to_owned(),
    }
}

pub(super) fn bad_value(target: &str, given: &Given, reason: String) -> WriteError {
    WriteError::BadValue {
        target: target.to_owned(),
        given: given.text(),
        reason,
    }
}

/// A released input keeps its value; one that never had any takes the default of its type.
fn held_value(previous: &StatusValue, kind: PointKind, range: &EnumRange) -> Value {
    match (&previous.value, kind.default_value()) {
        (Value::Null, Value::Enum(mut choice)) => {
            choice.range = range.clone();
            Value::Enum(choice)
        }
        (Value::Null, default) => default,
        (held, _) => held.clone(),
    }
}

/// Whether two nodes hold the same, at any depth.
pub(super) fn holds_same(left: &Node, right: &Node) -> bool {
    left.value == right.value
        && left.properties().count() == right.properties().count()
        && left.properties().all(|child| {
            right
                .child(child.slot_name())
                .is_some_and(|other| holds_same(child, other))
        })
}
