//! Commanding a writable point at a priority (Tool surface §8.4, §13.5.4, writePoint).

use std::time::Duration;

use chrono::{DateTime, FixedOffset};

use super::StationFacade;
use super::error::FacadeResult;
use super::points::reading_of;
use super::view::PointReading;
use super::write_error::{Reread, WriteError, WriteResult};
use super::write_obix::ObixWay;
use super::write_target::{WriteTarget, doubt, doubt_scope, needs_to_invoke, needs_to_set};
use super::write_value::{Given, point_value};
use crate::station::boxp::encode::{override_argument, simple, status_value};
use crate::station::boxp::point::PointKind;
use crate::station::boxp::types::display_name;
use crate::station::boxp::{Node, PointView};
use crate::station::error::StationError;
use crate::station::http::{CallScope, TimeoutClass};
use crate::station::ord::{Ord, unescape};
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
}

impl PointOrder {
    /// A command of the level's input.
    pub fn new(priority: Priority, value: Given) -> Self {
        Self {
            priority,
            value,
            overriding: None,
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

/// A command that was checked against the station and can be sent.
#[derive(Debug)]
pub struct PointPlan {
    /// Absolute ord.
    pub ord: String,
    pub order: PointOrder,
    /// The value as it is sent; null for a release.
    pub requested: Value,
    /// The level's present input.
    pub previous: StatusValue,
    pub(super) way: Way,
}

/// What is sent.
#[derive(Debug)]
pub(super) enum Way {
    Box(Box<BoxWay>),
    Obix(Box<ObixWay>),
}

#[derive(Debug)]
pub(super) struct BoxWay {
    target: WriteTarget,
    slot: Node,
    kind: PointKind,
    range: EnumRange,
    /// The action that commands the level, with its argument, where its input is not set.
    action: Option<(Node, Option<serde_json::Value>)>,
}

impl PointPlan {
    /// How the command goes to the station.
    pub fn route(&self) -> WriteRoute {
        match &self.way {
            Way::Box(way) if way.action.is_some() => WriteRoute::Action,
            Way::Box(_) => WriteRoute::Input,
            Way::Obix(_) => WriteRoute::Obix,
        }
    }

    /// The value as the contract writes it (Tool surface §8.4).
    pub fn requested_text(&self) -> String {
        requested_text(&self.requested)
    }

    /// Whether the caller's permissions allow it, as far as the station told them.
    pub fn is_permitted(&self) -> bool {
        match &self.way {
            Way::Box(way) => way.target.may(match &way.action {
                Some((action, _)) => needs_to_invoke(action),
                None => needs_to_set(&way.slot),
            }),
            Way::Obix(_) => true,
        }
    }
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

/// A value as the contract of writePoint writes it.
fn requested_text(value: &Value) -> String {
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

    /// Checks a command; changes nothing.
    ///
    /// # Errors
    /// Whatever would keep the point from being commanded, as far as it can be told before.
    pub async fn plan_point(
        &self,
        scope: &CallScope,
        ord: &Ord,
        order: &PointOrder,
    ) -> WriteResult<PointPlan> {
        let refusal = match self.write_target(scope, ord).await {
            Ok(target) => match self.plan_by_box(scope, target, order).await {
                Err(WriteError::Facade(error)) if self.may_fall_back(&error) => error,
                outcome => return outcome,
            },
            Err(error) if self.may_fall_back(&error) => error,
            Err(error) => return Err(error.into()),
        };
        self.plan_by_obix(scope, ord, order, refusal).await
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
        match &plan.way {
            Way::Box(way) => match self.command_by_box(scope, ord, &plan, way, settle).await {
                // No server session is free, say: nothing was sent.
                Err(WriteError::Facade(error)) if self.may_fall_back(&error) => {
                    let plan = self.plan_by_obix(scope, ord, &plan.order, error).await?;
                    Box::pin(self.carry_out_point(scope, ord, plan, settle)).await
                }
                outcome => outcome,
            },
            Way::Obix(way) => self.command_by_obix(scope, &plan, way, settle).await,
        }
    }

    async fn plan_by_box(
        &self,
        scope: &CallScope,
        target: WriteTarget,
        order: &PointOrder,
    ) -> WriteResult<PointPlan> {
        let point = writable(&target)?;
        let range = range_of(&point);
        let choices = self.choices(scope, &range).await?;
        let mut value = point_value(point.kind, &order.value, &choices, &point.facets)
            .map_err(|reason| bad_value(&target.ord, &order.value, reason))?;
        if let Value::Enum(choice) = &mut value {
            choice.range = range.clone();
        }
        let slot_name = order.priority.slot();
        let slot = target
            .slot(&slot_name)
            .ok_or_else(|| not_writable(&target))?
            .clone();
        if let Some(from) = self.commanding_link(scope, &target, &slot_name).await {
            return Err(WriteError::Linked {
                ord: target.ord.clone(),
                slot: slot_name,
                from,
            });
        }
        let previous = point
            .priority_array
            .as_ref()
            .map(|array| array.get(order.priority).clone())
            .unwrap_or_default();
        let action = match order.overriding.is_some() || slot.has_flag('r') {
            true => Some(action_for(&target, &point, order, &value)?),
            false => None,
        };
        Ok(PointPlan {
            ord: target.ord.clone(),
            order: order.clone(),
            requested: value,
            previous,
            way: Way::Box(Box::new(BoxWay {
                slot,
                action,
                kind: point.kind,
                range,
                target,
            })),
        })
    }

    /// Whether only an action of the point commands this level, because its input is read-only.
    ///
    /// # Errors
    /// The point cannot be read.
    pub async fn is_commanded_by_action(
        &self,
        scope: &CallScope,
        ord: &Ord,
        priority: Priority,
    ) -> FacadeResult<bool> {
        let target = self.write_target(scope, ord).await?;
        let slot = target.slot(&priority.slot());
        Ok(slot.is_some_and(|slot| slot.has_flag('r')))
    }

    async fn command_by_box(
        &self,
        scope: &CallScope,
        ord: &Ord,
        plan: &PointPlan,
        way: &BoxWay,
        settle: Duration,
    ) -> WriteResult<PointCommand> {
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
        if let Err(error) = sent {
            return Err(self.point_doubt(ord, priority, error).await);
        }
        Ok(PointCommand {
            ord: plan.ord.clone(),
            priority,
            requested: plan.requested.clone(),
            previous: plan.previous.clone(),
            route: plan.route(),
            observed: self.read_back(scope, ord, priority, settle).await,
        })
    }

    /// The choices of a range; the station is asked for those of a frozen enumeration.
    async fn choices(&self, scope: &CallScope, range: &EnumRange) -> FacadeResult<EnumRange> {
        let Some(frozen) = range.frozen_type().filter(|_| range.choices().is_empty()) else {
            return Ok(range.clone());
        };
        match self.boxp().contract(scope, frozen).await {
            Ok(contract) => {
                let tags = contract.tags.iter();
                let choices = tags.map(|member| (member.ordinal, unescape(&member.tag)));
                Ok(EnumRange::dynamic(choices))
            }
            Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => {
                Ok(range.clone())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The point after a command, when it had time to act on it.
    async fn read_back(
        &self,
        scope: &CallScope,
        ord: &Ord,
        priority: Priority,
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
        self.observe_point(scope, ord, priority)
            .await
            .map_err(|error| error.to_string())
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

fn writable(target: &WriteTarget) -> WriteResult<PointView> {
    PointView::read(&target.node, target.contract.as_deref())
        .filter(|point| point.priority_array.is_some())
        .ok_or_else(|| not_writable(target))
}

/// The range of an enumerated point: that of its output, else of its facets; empty for other points.
fn range_of(point: &PointView) -> EnumRange {
    let own = point.out.value.as_enum().map(|choice| &choice.range);
    own.filter(|range| !range.is_empty())
        .or_else(|| point.facets.range())
        .cloned()
        .unwrap_or_default()
}

/// The action that commands a level, as the point offers it.
fn action_for(
    target: &WriteTarget,
    point: &PointView,
    order: &PointOrder,
    value: &Value,
) -> WriteResult<(Node, Option<serde_json::Value>)> {
    let duration = order.overriding.unwrap_or_default();
    let Some((name, argument)) = action_of(point.kind, order.priority, value, duration) else {
        return Err(WriteError::ReadOnly {
            ord: target.ord.clone(),
            slot: order.priority.slot(),
            remedy: "write to another priority",
        });
    };
    let action = target.slot(name).ok_or_else(|| WriteError::NoAction {
        ord: target.ord.clone(),
        action: name.to_owned(),
    })?;
    Ok((action.clone(), argument))
}

fn not_writable(target: &WriteTarget) -> WriteError {
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

/// The action that commands a level, with its argument; none for levels that no action reaches
/// (Station web specification §4.8).
fn action_of(
    kind: PointKind,
    priority: Priority,
    value: &Value,
    duration: Duration,
) -> Option<(&'static str, Option<serde_json::Value>)> {
    let overriding = || Some(override_argument(kind, value, duration));
    if priority == Priority::MANUAL {
        Some(match value {
            Value::Null => ("auto", None),
            Value::Boolean(true) => ("active", overriding()),
            Value::Boolean(false) => ("inactive", overriding()),
            _ => ("override", overriding()),
        })
    } else if priority == Priority::EMERGENCY {
        Some(match value {
            Value::Null => ("emergencyAuto", None),
            Value::Boolean(true) => ("emergencyActive", None),
            Value::Boolean(false) => ("emergencyInactive", None),
            value => (
                "emergencyOverride",
                Some(simple(kind.value_type(), &value.encode())),
            ),
        })
    } else {
        None
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
