//! Commanding a writable point at a priority (Tool surface §8.4, §13.5.4, writePoint).

use std::time::Duration;

use chrono::{DateTime, FixedOffset};

use super::StationFacade;
use super::error::FacadeResult;
use super::points::reading_of;
use super::view::PointReading;
use super::write_error::{Reread, WriteError, WriteResult};
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
        let refusal = match self.write_target(scope, ord).await {
            Ok(target) => {
                let sent = self.command_by_box(scope, ord, &target, order, settle);
                match sent.await {
                    // No server session is free, say: nothing was sent.
                    Err(WriteError::Facade(error)) if self.may_fall_back(&error) => error,
                    outcome => return outcome,
                }
            }
            Err(error) if self.may_fall_back(&error) => error,
            Err(error) => return Err(error.into()),
        };
        self.command_by_obix(scope, ord, order, settle, refusal)
            .await
    }

    async fn command_by_box(
        &self,
        scope: &CallScope,
        ord: &Ord,
        target: &WriteTarget,
        order: &PointOrder,
        settle: Duration,
    ) -> WriteResult<PointCommand> {
        let point = writable(target)?;
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
            .ok_or_else(|| not_writable(target))?;
        if let Some(from) = self.commanding_link(scope, target, &slot_name).await {
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
        let by_action = order.overriding.is_some() || slot.has_flag('r');
        let sent = if by_action {
            let duration = order.overriding.unwrap_or_default();
            self.command_by_action(scope, target, &point, order.priority, &value, duration)
                .await
        } else {
            let (held, bits) = match &value {
                Value::Null => (held_value(&previous, point.kind, &range), StatusBits::NULL),
                value => (value.clone(), StatusBits::default()),
            };
            let encoded = status_value(point.kind, &held, bits);
            let work = self
                .boxp()
                .set_property(scope, &target.handle, &slot_name, encoded);
            self.change(target, &target.ord, needs_to_set(slot), work)
                .await
        };
        if let Err(error) = sent {
            return Err(self.point_doubt(ord, order.priority, error).await);
        }
        Ok(PointCommand {
            ord: target.ord.clone(),
            priority: order.priority,
            requested: value,
            previous,
            route: if by_action {
                WriteRoute::Action
            } else {
                WriteRoute::Input
            },
            observed: self.read_back(scope, ord, order.priority, settle).await,
        })
    }

    async fn command_by_action(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        point: &PointView,
        priority: Priority,
        value: &Value,
        duration: Duration,
    ) -> WriteResult<()> {
        let Some((name, argument)) = action_of(point.kind, priority, value, duration) else {
            return Err(WriteError::ReadOnly {
                ord: target.ord.clone(),
                slot: priority.slot(),
                remedy: "write to another priority",
            });
        };
        let action = target.slot(name).ok_or_else(|| WriteError::NoAction {
            ord: target.ord.clone(),
            action: name.to_owned(),
        })?;
        let work = self.boxp().invoke_action(
            scope,
            &target.handle,
            name,
            argument,
            TimeoutClass::Standard,
        );
        self.change(target, &target.ord, needs_to_invoke(action), work)
            .await
            .map(drop)
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
