//! Invoking actions, and saving the station (Tool surface §8.4, invokeAction and commitStation).

use std::time::Duration;

use serde_json::Value as Json;

use super::StationFacade;
use super::error::FacadeError;
use super::write_error::{Reread, WriteError, WriteResult};
use super::write_point::bad_value;
use super::write_slot::decoded;
use super::write_target::{WriteTarget, doubt, needs_to_invoke};
use super::write_value::{Given, SlotRule, slot_text};
use crate::secrecy::{is_secret_name, is_secret_type};
use crate::station::boxp::encode::{property, simple};
use crate::station::boxp::{Node, SlotKind};
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::{CallScope, TimeoutClass};
use crate::station::ord::{Ord, SlotPath};
use crate::station::priority::Priority;
use crate::station::value::Value;

/// What an action gave back.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionResult {
    /// Absolute ord of the component.
    pub ord: String,
    /// Escaped name of the action.
    pub action: String,
    /// The argument as it was sent; none for an action without, and for a struct.
    pub argument: Option<Value>,
    /// Null when nothing came back; structs by their display text.
    pub returned: Value,
    /// Type of what came back.
    pub return_type: Option<String>,
    /// The station answers before the action has ended.
    pub is_asynchronous: bool,
    pub took: Duration,
}

/// An action with its argument that was checked against the station and can be invoked.
#[derive(Debug)]
pub struct ActionPlan {
    target: WriteTarget,
    action: Node,
    argument: Option<Json>,
}

impl ActionPlan {
    /// Absolute ord of the component.
    pub fn ord(&self) -> &str {
        &self.target.ord
    }

    /// Escaped name of the action.
    pub fn action(&self) -> &str {
        self.action.slot_name()
    }

    /// The argument as it is sent; none for an action without, and for a struct.
    pub fn argument(&self) -> Option<Value> {
        self.argument.as_ref().and_then(simple_value)
    }

    /// Whether the argument is a secret, by the action's name or the parameter's type.
    pub fn is_secret(&self) -> bool {
        let types = self.action.action.as_deref();
        let parameter = types.and_then(|types| types.parameter.as_deref());
        is_secret_name(self.action()) || parameter.is_some_and(is_secret_type)
    }

    /// The priority level that the action commands or releases.
    pub fn level(&self) -> Option<Priority> {
        self.target.level_of(&self.action)
    }

    /// How long the override lasts that the action makes, zero until it is released; none for other actions.
    pub fn override_for(&self) -> Option<Duration> {
        self.level()?;
        if is_release(self.action()) {
            return None;
        }
        let argument = self
            .argument
            .as_ref()
            .and_then(|argument| Node::decode(argument).ok());
        let text = argument.and_then(|node| node.child("duration")?.value.clone());
        let millis = text.and_then(|text| text.trim().parse().ok());
        Some(Duration::from_millis(millis.unwrap_or_default()))
    }

    /// Whether the caller's permissions allow it, as far as the station told them.
    pub fn is_permitted(&self) -> bool {
        self.target.may(needs_to_invoke(&self.action))
    }
}

/// The priority level that an action of a writable point commands or releases (Station web specification §4.8).
pub(super) fn level_of_action(action: &str) -> Option<Priority> {
    match action {
        "override" | "active" | "inactive" | "auto" => Some(Priority::MANUAL),
        "emergencyOverride" | "emergencyActive" | "emergencyInactive" | "emergencyAuto" => {
            Some(Priority::EMERGENCY)
        }
        _ => None,
    }
}

/// Whether an action of a writable point gives a level back.
pub(super) fn is_release(action: &str) -> bool {
    ["auto", "emergencyAuto"].contains(&action)
}

/// The answer to a request to save the station, which is no proof that the file is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StationSaved {
    pub station_name: String,
    pub took: Duration,
}

impl StationFacade {
    /// Invokes an action, with one message to the station; `given` null or absent takes the default of its parameter.
    ///
    /// # Errors
    /// [`WriteError::InDoubt`] when the answer was lost; with any other error nothing was changed, except what an
    /// action that the station reports as failed did before.
    pub async fn invoke_action(
        &self,
        scope: &CallScope,
        ord: &Ord,
        name: &str,
        given: Option<&Given>,
    ) -> WriteResult<ActionResult> {
        let plan = self.plan_action(scope, ord, name, given).await?;
        self.carry_out_action(scope, plan).await
    }

    /// Checks an action and its argument; changes nothing.
    ///
    /// # Errors
    /// Whatever would keep the action from being invoked, as far as it can be told before.
    pub async fn plan_action(
        &self,
        scope: &CallScope,
        ord: &Ord,
        name: &str,
        given: Option<&Given>,
    ) -> WriteResult<ActionPlan> {
        let target = self.write_target(scope, ord).await?;
        let action = target
            .slot(name)
            .filter(|slot| slot.kind == SlotKind::Action)
            .ok_or_else(|| target.no_action(name))?
            .clone();
        let given = given.filter(|given| **given != Given::Null);
        let argument = self.argument(scope, &target, &action, given).await;
        let mut plan = ActionPlan {
            argument: None,
            action,
            target,
        };
        plan.argument = argument.map_err(|error| match plan.is_secret() {
            true => error.of_secret(),
            false => error,
        })?;
        Ok(plan)
    }

    /// Invokes a planned action with one message.
    ///
    /// # Errors
    /// As [`StationFacade::invoke_action`].
    pub async fn carry_out_action(
        &self,
        scope: &CallScope,
        plan: ActionPlan,
    ) -> WriteResult<ActionResult> {
        let sent = plan.argument();
        let ActionPlan {
            target,
            action,
            argument,
        } = plan;
        let (answer, took) = self
            .invoke(scope, &target, &action, argument, TimeoutClass::Standard)
            .await?;
        let returned = match &answer {
            Json::Object(_) => Node::decode(&answer).ok(),
            _ => None,
        };
        Ok(ActionResult {
            ord: target.ord.clone(),
            action: action.slot_name().to_owned(),
            argument: sent,
            returned: returned.as_ref().map_or(Value::Null, returned_value),
            return_type: returned.and_then(|node| node.type_spec),
            is_asynchronous: action.has_flag('a'),
            took,
        })
    }

    /// Asks the station to save itself; the caller's scope should allow for the minutes that this takes on controllers.
    ///
    /// # Errors
    /// As [`StationFacade::invoke_action`].
    pub async fn save_station(&self, scope: &CallScope) -> WriteResult<StationSaved> {
        let root = Ord::slot(SlotPath::root());
        let station_name = self.station_name(scope).await?;
        let target = self.write_target(scope, &root).await?;
        // Stations whose contract is not told still have it.
        let undeclared = Node::property("save", None);
        let action = target.slot("save").unwrap_or(&undeclared);
        let (_, took) = self
            .invoke(scope, &target, action, None, TimeoutClass::Export)
            .await?;
        Ok(StationSaved { station_name, took })
    }

    async fn invoke(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        action: &Node,
        argument: Option<Json>,
        timeout: TimeoutClass,
    ) -> WriteResult<(Json, Duration)> {
        let name = action.slot_name();
        let what = format!("{}/{name}", target.ord.trim_end_matches('/'));
        let begun = self.clock.monotonic();
        let work = self
            .boxp()
            .invoke_action(scope, &target.handle, name, argument, timeout);
        let outcome = self
            .change(target, &what, needs_to_invoke(action), work)
            .await;
        let answer = outcome.map_err(|error| match doubt(&error) {
            Some(cause) => WriteError::InDoubt {
                target: what,
                cause: cause.to_owned(),
                reread: Reread::Nothing,
            },
            None => error,
        })?;
        Ok((answer, self.clock.monotonic().saturating_sub(begun)))
    }

    async fn argument(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        action: &Node,
        given: Option<&Given>,
    ) -> WriteResult<Option<Json>> {
        let place = format!(
            "{}/{}",
            target.ord.trim_end_matches('/'),
            action.slot_name()
        );
        let types = action.action.as_deref();
        let Some(parameter) = types.and_then(|types| types.parameter.as_deref()) else {
            return match given {
                Some(given) => {
                    let reason = "the action takes no argument".to_owned();
                    Err(bad_value(&place, given, reason))
                }
                None => Ok(None),
            };
        };
        let described = types.and_then(|types| types.parameter_default.as_ref());
        let Some(given) = given else {
            if let Some(default) = described {
                return Ok(Some(property(default)));
            }
            return self
                .asked_default(scope, target, action, parameter)
                .await
                .map(Some);
        };
        if !self.is_simple(scope, parameter).await? {
            return Err(WriteError::ComplexParameter {
                ord: target.ord.clone(),
                action: action.slot_name().to_owned(),
                type_spec: parameter.to_owned(),
            });
        }
        let tags = self.frozen_tags(scope, parameter).await?;
        // A choice is known by the range of the default, or of the point that is commanded.
        let own_range = target
            .slot("out")
            .and_then(|out| out.child("value"))
            .and_then(|value| value.value.as_deref());
        let facets = target.slot("facets").and_then(|slot| slot.value.as_deref());
        let facets = facets.and_then(|text| text.parse::<Facets>().ok());
        let rule = SlotRule {
            type_spec: parameter,
            current: described
                .and_then(|node| node.value.as_deref())
                .or(own_range),
            tags: &tags,
            facets: facets.unwrap_or_default(),
            commands: true,
        };
        let text = slot_text(&rule, given).map_err(|reason| bad_value(&place, given, reason))?;
        Ok(Some(simple(parameter, &text)))
    }

    /// The default of a parameter, which stations from 4.15 on tell only when they are asked.
    async fn asked_default(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        action: &Node,
        parameter: &str,
    ) -> WriteResult<Json> {
        let name = action.slot_name();
        let asked = self
            .over_box(async {
                let boxp = self.boxp();
                Ok(boxp.action_default(scope, &target.handle, name).await?)
            })
            .await;
        match asked {
            Ok(answer) => match Node::decode(&answer) {
                Ok(node) if node.type_spec.is_some() => Ok(property(&node)),
                _ => Err(no_default(target, name, parameter)),
            },
            Err(FacadeError::Station(StationError::NotFound { .. })) => {
                Err(no_default(target, name, parameter))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn no_default(target: &WriteTarget, action: &str, parameter: &str) -> WriteError {
    WriteError::BadValue {
        target: format!("{}/{action}", target.ord),
        given: "null".to_owned(),
        reason: format!(
            "the action needs an argument of type {parameter}, and the station tells no default"
        ),
    }
}

fn simple_value(argument: &Json) -> Option<Value> {
    let node = Node::decode(argument).ok()?;
    Some(decoded(node.type_name(), node.value.as_deref()?))
}

fn returned_value(node: &Node) -> Value {
    match (&node.value, &node.display) {
        (Some(text), _) => decoded(node.type_name(), text),
        (None, Some(display)) => Value::String(display.clone()),
        (None, None) => Value::Null,
    }
}
