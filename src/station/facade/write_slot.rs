//! Setting a slot of a simple type, and putting one back to its default (Tool surface §8.4, setSlot and clearSlot).

use super::StationFacade;
use super::error::FacadeResult;
use super::write_error::{Reread, WriteError, WriteResult};
use super::write_point::{bad_value, holds_same};
use super::write_target::{WriteTarget, doubt, doubt_scope, needs_to_set};
use super::write_value::{Given, SlotRule, slot_text};
use crate::secrecy::{is_secret_name, is_secret_type};
use crate::station::boxp::contract::EnumTag;
use crate::station::boxp::encode::{property, simple};
use crate::station::boxp::{Node, SlotKind};
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::Ord;
use crate::station::priority::Priority;
use crate::station::value::Value;

use super::slot_text::{default_member, status_of};

/// A slot that was changed, or found to need no change.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotChange {
    /// Absolute ord of the component.
    pub ord: String,
    /// Escaped slot name.
    pub slot: String,
    pub type_spec: String,
    pub previous: Value,
    /// What was sent; structs by their text.
    pub new: Value,
    pub changed: bool,
    /// Why nothing was sent.
    pub untouched: Option<Untouched>,
    /// The slot read back, or why that failed.
    pub observed: Result<Value, String>,
}

/// Why a slot was left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untouched {
    /// The default of a dynamic slot is its present value.
    DynamicSlot,
}

impl Untouched {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::DynamicSlot => "dynamic-slot",
        }
    }
}

/// A change of a slot that was checked against the station and can be sent.
#[derive(Debug)]
pub struct SlotPlan {
    target: WriteTarget,
    slot: Node,
    /// What is to be sent; none where nothing is.
    encoded: Option<serde_json::Value>,
    /// Type of the value that is written.
    pub type_spec: String,
    pub previous: Value,
    pub new: Value,
    /// Whether the new value differs from the present one.
    pub changes: bool,
    /// Why nothing is sent.
    pub untouched: Option<Untouched>,
}

impl SlotPlan {
    /// Absolute ord of the component.
    pub fn ord(&self) -> &str {
        &self.target.ord
    }

    /// Escaped slot name.
    pub fn slot(&self) -> &str {
        self.slot.slot_name()
    }

    /// Whether nobody may read what the slot holds, by its name or type.
    pub fn is_secret(&self) -> bool {
        is_secret_name(self.slot()) || is_secret_type(&self.type_spec)
    }

    /// The priority level that the slot is the input of.
    pub fn level(&self) -> Option<Priority> {
        let level = self.slot().strip_prefix("in")?.parse().ok()?;
        let is_input = self.type_spec.starts_with("baja:Status") && self.target.is_writable_point();
        is_input.then_some(level)
    }

    /// Whether the caller's permissions allow the change, as far as the station told them.
    pub fn is_permitted(&self) -> bool {
        self.target.may(needs_to_set(&self.slot))
    }
}

impl StationFacade {
    /// Sets a property of a simple type, with one message to the station.
    ///
    /// # Errors
    /// [`WriteError::InDoubt`] when the answer was lost; with any other error nothing was changed.
    pub async fn set_slot(
        &self,
        scope: &CallScope,
        ord: &Ord,
        slot_name: &str,
        given: &Given,
    ) -> WriteResult<SlotChange> {
        let plan = self.plan_slot(scope, ord, slot_name, given).await?;
        self.carry_out_slot(scope, ord, plan).await
    }

    /// Puts a property back to the default of the component's type, with one message to the station; a dynamic slot is
    /// left as it is.
    ///
    /// # Errors
    /// As [`StationFacade::set_slot`].
    pub async fn clear_slot(
        &self,
        scope: &CallScope,
        ord: &Ord,
        slot_name: &str,
    ) -> WriteResult<SlotChange> {
        let plan = self.plan_default(scope, ord, slot_name).await?;
        self.carry_out_slot(scope, ord, plan).await
    }

    /// Checks a new value for a property of a simple type; changes nothing.
    ///
    /// # Errors
    /// Whatever would keep the value from being set, as far as it can be told before.
    pub async fn plan_slot(
        &self,
        scope: &CallScope,
        ord: &Ord,
        slot_name: &str,
        given: &Given,
    ) -> WriteResult<SlotPlan> {
        let target = self.write_target(scope, ord).await?;
        let slot = property_of(&target, slot_name)?.clone();
        let is_secret = is_secret_type(slot.type_name());
        let plan = self.plan_found_slot(scope, target, slot, given).await;
        plan.map_err(|error| match is_secret {
            true => error.of_secret(),
            false => error,
        })
    }

    async fn plan_found_slot(
        &self,
        scope: &CallScope,
        target: WriteTarget,
        slot: Node,
        given: &Given,
    ) -> WriteResult<SlotPlan> {
        let type_spec = self.simple_type(scope, &target, &slot).await?;
        self.check_settable(scope, &target, &slot).await?;
        let tags = self.frozen_tags(scope, &type_spec).await?;
        let facets = slot.facets.as_deref().map(str::parse::<Facets>);
        let rule = SlotRule {
            type_spec: &type_spec,
            current: slot.value.as_deref(),
            tags: &tags,
            facets: facets.and_then(Result::ok).unwrap_or_default(),
            commands: false,
        };
        let place = format!("{}/{}", target.ord, slot.slot_name());
        let text = match given {
            Given::Null => Err("null is no value; clearSlot puts the default back".to_owned()),
            given => slot_text(&rule, given),
        }
        .map_err(|reason| bad_value(&place, given, reason))?;
        let previous = shown(&slot);
        let new = decoded(&type_spec, &text);
        Ok(SlotPlan {
            encoded: Some(simple(&type_spec, &text)),
            // Passwords are not told, so whether it was another one is not known.
            changes: previous != new || is_untold(&type_spec),
            previous,
            new,
            untouched: None,
            type_spec,
            target,
            slot,
        })
    }

    /// Checks whether a property can be put back to its default; changes nothing.
    ///
    /// # Errors
    /// As [`StationFacade::plan_slot`].
    pub async fn plan_default(
        &self,
        scope: &CallScope,
        ord: &Ord,
        slot_name: &str,
    ) -> WriteResult<SlotPlan> {
        let target = self.write_target(scope, ord).await?;
        let slot = property_of(&target, slot_name)?.clone();
        let contract = target
            .contract
            .as_ref()
            .ok_or_else(|| WriteError::Refused {
                target: target.ord.clone(),
                detail: format!(
                    "it does not tell the defaults of {}",
                    target.node.type_name()
                ),
            })?;
        let previous = shown(&slot);
        let Some(default) = contract.slot(slot.slot_name()).map(completed) else {
            return Ok(SlotPlan {
                encoded: None,
                type_spec: slot.type_name().to_owned(),
                new: previous.clone(),
                previous,
                changes: false,
                untouched: Some(Untouched::DynamicSlot),
                target,
                slot,
            });
        };
        if slot.is_component() || default.is_component() {
            return Err(WriteError::HoldsComponent {
                ord: target.ord.clone(),
                slot: slot.slot_name().to_owned(),
                type_spec: slot.type_name().to_owned(),
            });
        }
        self.check_settable(scope, &target, &slot).await?;
        Ok(SlotPlan {
            encoded: Some(property(&default)),
            type_spec: default.type_name().to_owned(),
            previous,
            new: shown(&default),
            changes: !holds_same(&completed(&slot), &default) || is_untold(default.type_name()),
            untouched: None,
            target,
            slot,
        })
    }

    /// Sends a planned change with one message, and reads the slot back.
    ///
    /// # Errors
    /// As [`StationFacade::set_slot`].
    pub async fn carry_out_slot(
        &self,
        scope: &CallScope,
        ord: &Ord,
        plan: SlotPlan,
    ) -> WriteResult<SlotChange> {
        let observed = match plan.encoded {
            Some(encoded) => {
                self.send_slot(scope, ord, &plan.target, &plan.slot, encoded)
                    .await?;
                self.observed_slot(scope, ord, plan.slot.slot_name()).await
            }
            None => Ok(plan.previous.clone()),
        };
        Ok(SlotChange {
            ord: plan.target.ord,
            slot: plan.slot.slot_name().to_owned(),
            type_spec: plan.type_spec,
            previous: plan.previous,
            new: plan.new,
            changed: plan.changes,
            untouched: plan.untouched,
            observed,
        })
    }

    async fn send_slot(
        &self,
        scope: &CallScope,
        ord: &Ord,
        target: &WriteTarget,
        slot: &Node,
        encoded: serde_json::Value,
    ) -> WriteResult<()> {
        let name = slot.slot_name();
        let place = format!("{}/{name}", target.ord);
        let work = self
            .boxp()
            .set_property(scope, &target.handle, name, encoded);
        let Err(error) = self.change(target, &place, needs_to_set(slot), work).await else {
            return Ok(());
        };
        let Some(cause) = doubt(&error).map(str::to_owned) else {
            return Err(error);
        };
        Err(WriteError::InDoubt {
            target: place,
            cause,
            reread: match self.observed_slot(&doubt_scope(), ord, name).await {
                Ok(value) => Reread::Slot(Box::new(value)),
                Err(reason) => Reread::Failed(reason),
            },
        })
    }

    async fn observed_slot(
        &self,
        scope: &CallScope,
        ord: &Ord,
        name: &str,
    ) -> Result<Value, String> {
        let target = self.write_target(scope, ord).await;
        let target = target.map_err(|error| error.to_string())?;
        let slot = target.slot(name).map(shown);
        slot.ok_or_else(|| format!("the slot {name} is no longer there"))
    }

    /// Refuses what the station would refuse, and what a link would overwrite.
    async fn check_settable(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        slot: &Node,
    ) -> WriteResult<()> {
        let name = slot.slot_name();
        if slot.has_flag('r') {
            return Err(WriteError::ReadOnly {
                ord: target.ord.clone(),
                slot: name.to_owned(),
                remedy: "the station computes it; change what it is computed from",
            });
        }
        match self.commanding_link(scope, target, name).await {
            Some(from) => Err(WriteError::Linked {
                ord: target.ord.clone(),
                slot: name.to_owned(),
                from,
            }),
            None => Ok(()),
        }
    }

    /// The type of a slot that holds a simple value.
    async fn simple_type(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        slot: &Node,
    ) -> WriteResult<String> {
        let type_spec = slot.type_name().to_owned();
        let is_simple = !slot.is_component()
            && (slot.value.is_some()
                || (slot.children.is_empty() && self.is_simple(scope, &type_spec).await?));
        if is_simple {
            return Ok(type_spec);
        }
        Err(target.not_simple(slot))
    }

    /// Whether a type is a simple one; an unknown type is none.
    pub(super) async fn is_simple(&self, scope: &CallScope, type_spec: &str) -> FacadeResult<bool> {
        match self.boxp().ancestry(scope, type_spec).await {
            Ok(ancestry) => Ok(ancestry.is("baja:Simple")),
            Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The members of a frozen enumeration; none for other types.
    pub(super) async fn frozen_tags(
        &self,
        scope: &CallScope,
        type_spec: &str,
    ) -> FacadeResult<Vec<EnumTag>> {
        let unknown = |error: StationError| match error {
            StationError::NotFound { .. } | StationError::PermissionDenied { .. } => Ok(Vec::new()),
            error => Err(error.into()),
        };
        match self.boxp().ancestry(scope, type_spec).await {
            Ok(ancestry) if ancestry.is("baja:FrozenEnum") => {
                match self.boxp().contract(scope, type_spec).await {
                    Ok(contract) => Ok(contract.tags.clone()),
                    Err(error) => unknown(error),
                }
            }
            Ok(_) => Ok(Vec::new()),
            Err(error) => unknown(error),
        }
    }
}

fn property_of<'a>(target: &'a WriteTarget, name: &str) -> WriteResult<&'a Node> {
    target
        .slot(name)
        .filter(|slot| slot.kind == SlotKind::Property)
        .ok_or_else(|| WriteError::NoSlot {
            ord: target.ord.clone(),
            slot: name.to_owned(),
        })
}

/// Stations send a digest in place of values of this type.
fn is_untold(type_spec: &str) -> bool {
    type_spec == "baja:Password"
}

/// The value of a slot; structs by their text, and passwords, of which stations send a digest, not at all.
fn shown(slot: &Node) -> Value {
    let type_spec = slot.type_name();
    match &slot.value {
        _ if is_untold(type_spec) => Value::Null,
        Some(text) => decoded(type_spec, text),
        None => super::slot_text::slot_text(slot, &Facets::default()).map_or(Value::Null, |text| {
            Value::Other {
                type_spec: type_spec.to_owned(),
                text,
            }
        }),
    }
}

pub(super) fn decoded(type_spec: &str, text: &str) -> Value {
    if is_untold(type_spec) {
        return Value::Null;
    }
    Value::decode(type_spec, text).unwrap_or_else(|_| Value::Other {
        type_spec: type_spec.to_owned(),
        text: text.to_owned(),
    })
}

/// A status struct with both members, which stations leave out where they hold the default; other slots as they are.
fn completed(slot: &Node) -> Node {
    let mut whole = slot.clone();
    let Some((value_type, value)) = default_member(slot.type_name()) else {
        return whole;
    };
    let member = |name: &str, type_spec: &str, text: String| {
        let mut node = Node::property(name, Some(type_spec));
        node.value = Some(text);
        node
    };
    let held = slot.child("value").and_then(|held| held.value.clone());
    let bits = status_of(slot).bits().bits();
    whole.children = vec![
        member(
            "value",
            value_type,
            held.unwrap_or_else(|| value.to_owned()),
        ),
        member("status", "baja:Status", format!("{bits:x}")),
    ];
    whole.is_loaded = true;
    whole
}
