//! What a command of a point is going to send, found out and checked before anything is sent (Tool surface §13.5.4).

use std::time::Duration;

use super::StationFacade;
use super::error::FacadeResult;
use super::slot_text::status_of;
use super::write_error::{WriteError, WriteResult};
use super::write_obix::ObixWay;
use super::write_point::{
    PointOrder, WriteRoute, bad_value, not_writable, requested_text, writable,
};
use super::write_target::{WriteTarget, needs_to_invoke, needs_to_set};
use super::write_value::point_value;
use crate::station::boxp::encode::{override_argument, simple};
use crate::station::boxp::point::PointKind;
use crate::station::boxp::{Node, PointView};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, unescape};
use crate::station::priority::Priority;
use crate::station::status::StatusBits;
use crate::station::value::{EnumRange, StatusValue, Value};

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
    pub target: WriteTarget,
    /// The input of the level.
    pub slot: Node,
    pub kind: PointKind,
    pub range: EnumRange,
    /// The action that commands the level, with its argument, where its input is not set.
    pub action: Option<(Node, Option<serde_json::Value>)>,
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

    /// Whether an override carries the command out that lasts until somebody releases it: the station times those of
    /// level 8 only (Station web specification §4.8).
    pub fn is_endless(&self) -> bool {
        let is_timed = self.order.priority == Priority::MANUAL
            && self
                .order
                .overriding
                .is_some_and(|duration| !duration.is_zero());
        self.route() != WriteRoute::Input && !is_timed && self.requested != Value::Null
    }

    /// The value as the contract writes it (Tool surface §8.4).
    pub fn requested_text(&self) -> String {
        requested_text(&self.requested)
    }

    /// What commands the output now: 1 to 16, `def` for the fallback; none where the station did not tell.
    pub fn active_level(&self) -> Option<String> {
        match &self.way {
            Way::Box(way) => {
                let level = status_of(way.target.slot("out")?).active_level()?;
                Some(level.to_string())
            }
            Way::Obix(_) => None,
        }
    }

    /// Whether somebody commands at the level now; none where the station does not tell.
    pub fn is_held(&self) -> Option<bool> {
        let input = &self.previous;
        (!input.value.is_null()).then(|| !input.status.bits().contains(StatusBits::NULL))
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

impl StationFacade {
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

    /// The choices of a range; the station is asked for those of a frozen enumeration.
    pub(super) async fn choices(
        &self,
        scope: &CallScope,
        range: &EnumRange,
    ) -> FacadeResult<EnumRange> {
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
    let action = target.slot(name).ok_or_else(|| target.no_action(name))?;
    Ok((action.clone(), argument))
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
