//! What is known of a component before something on it is changed, and what a refusal of the change means
//! (Tool surface §13.5.1).

use std::sync::Arc;
use std::time::Duration;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::write_action::level_of_action;
use super::write_error::{Holding, LinkedFrom, WriteError, WriteResult};
use crate::station::boxp::links::{Wire, is_link};
use crate::station::boxp::write::BoxWriteError;
use crate::station::boxp::{Contract, Node, PointView, SlotKind};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, escape, unescape};
use crate::station::priority::Priority;

/// Patience for reading back what a write with a lost answer did: the caller's own time may be over.
const DOUBT_PATIENCE: Duration = Duration::from_secs(3);

/// A loaded component with everything that its type promises.
#[derive(Debug)]
pub(super) struct WriteTarget {
    /// Absolute ord.
    pub ord: String,
    pub handle: String,
    pub node: Node,
    pub contract: Option<Arc<Contract>>,
    /// Slots of the contract with the component's own values, then dynamic ones.
    pub slots: Vec<Node>,
}

impl WriteTarget {
    /// A slot by its name, escaped or as people see it.
    pub(super) fn slot(&self, name: &str) -> Option<&Node> {
        let named = |wanted: &str| self.slots.iter().find(|slot| slot.slot_name() == wanted);
        named(name).or_else(|| named(&escape(name)))
    }

    /// Whether it is a point with a priority array.
    pub(super) fn is_writable_point(&self) -> bool {
        PointView::read(&self.node, self.contract.as_deref())
            .is_some_and(|point| point.priority_array.is_some())
    }

    /// The priority level that a slot of a writable point commands, an input or an action.
    pub(super) fn level_of(&self, slot: &Node) -> Option<Priority> {
        let level = match slot.kind {
            SlotKind::Property if slot.type_name().starts_with("baja:Status") => {
                slot.slot_name().strip_prefix("in")?.parse().ok()?
            }
            SlotKind::Action => level_of_action(slot.slot_name())?,
            _ => return None,
        };
        self.is_writable_point().then_some(level)
    }

    /// The refusal of an action that it does not have.
    pub(super) fn no_action(&self, name: &str) -> WriteError {
        let actions = self.slots.iter();
        let actions = actions.filter(|slot| slot.kind == SlotKind::Action);
        WriteError::NoAction {
            ord: self.ord.clone(),
            action: name.to_owned(),
            actions: actions.map(|slot| unescape(slot.slot_name())).collect(),
        }
    }

    /// The refusal of a simple value for a slot that holds something else.
    pub(super) fn not_simple(&self, slot: &Node) -> WriteError {
        let holding = if slot.is_component() {
            Holding::Component
        } else if self.level_of(slot).is_some() {
            Holding::Input
        } else if slot.slot_name() == "fallback" && self.is_writable_point() {
            Holding::Fallback
        } else {
            Holding::Struct
        };
        WriteError::NotSimple {
            ord: self.ord.clone(),
            slot: slot.slot_name().to_owned(),
            type_spec: slot.type_name().to_owned(),
            holding,
        }
    }

    /// The priority level of this component that a link stored on it commands.
    pub(super) fn level_of_link(&self, link: &Node) -> Option<Priority> {
        is_link(link)
            .then(|| self.slot(&Wire::of(link).sink_slot))
            .flatten()
            .and_then(|slot| self.level_of(slot))
    }

    /// Whether the user's permissions, as far as the station told them, include a letter.
    pub(super) fn may(&self, letter: char) -> bool {
        self.node
            .permissions
            .as_deref()
            .is_none_or(|letters| letters.contains(letter))
    }
}

impl StationFacade {
    /// Loads what is to be changed.
    pub(super) async fn write_target(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> FacadeResult<WriteTarget> {
        let node = self.resolve(scope, ord).await?;
        self.target_of(scope, ord, node).await
    }

    /// The same of a component that was loaded.
    pub(super) async fn target_of(
        &self,
        scope: &CallScope,
        ord: &Ord,
        node: Node,
    ) -> FacadeResult<WriteTarget> {
        let Some(handle) = node.handle.clone() else {
            return Err(FacadeError::NotAComponent {
                ord: ord.absolute(),
                type_spec: node.type_name().to_owned(),
            });
        };
        let contract = match self.boxp().contract(scope, node.type_name()).await {
            Ok(contract) => Some(contract),
            Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let slots = match &contract {
            Some(contract) => contract.merge(&node),
            None => node.children.clone(),
        };
        Ok(WriteTarget {
            ord: ord.absolute(),
            handle,
            node,
            contract,
            slots,
        })
    }

    /// The enabled link that commands a slot.
    pub(super) async fn commanding_link(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        slot: &str,
    ) -> Option<LinkedFrom> {
        let text = |link: &Node, name: &str| link.child(name).and_then(|child| child.value.clone());
        let link = target.node.children.iter().find(|child| {
            text(child, "targetSlotName").as_deref() == Some(slot)
                && text(child, "enabled").as_deref() != Some("false")
        })?;
        let source = text(link, "sourceOrd").unwrap_or_default();
        let handle = source.trim_start_matches("station:|").strip_prefix("h:");
        let path = match handle {
            Some(handle) => self.boxp().handle_to_path(scope, handle).await.ok(),
            None => None,
        };
        Some(LinkedFrom {
            ord: path.map_or(source, |path| format!("station:|{path}")),
            slot: text(link, "sourceSlotName").unwrap_or_default(),
        })
    }

    /// Sends a change over BOX, once, and names what a refusal means: `needs` is the letter of the permission that
    /// the change takes (Station web specification §4.8).
    ///
    /// A lost answer comes back as [`StationError::OutcomeUnknown`].
    pub(super) async fn change<T>(
        &self,
        target: &WriteTarget,
        what: &str,
        needs: char,
        work: impl Future<Output = Result<T, BoxWriteError>>,
    ) -> WriteResult<T> {
        let sent = self
            .over_box(async {
                match work.await {
                    Ok(answer) => Ok(Ok(answer)),
                    Err(BoxWriteError::Refused { detail }) => Ok(Err(detail)),
                    Err(BoxWriteError::Station(error)) => Err(named(error, what).into()),
                }
            })
            .await?;
        sent.map_err(|detail| {
            if target.may(needs) {
                return WriteError::Refused {
                    target: what.to_owned(),
                    detail,
                };
            }
            StationError::PermissionDenied {
                user: self.web().user().to_owned(),
                target: what.to_owned(),
                detail,
            }
            .into()
        })
    }
}

/// The message went to a handle; people know the ord.
fn named(error: StationError, what: &str) -> StationError {
    match error {
        StationError::PermissionDenied { user, detail, .. } => StationError::PermissionDenied {
            user,
            target: what.to_owned(),
            detail,
        },
        error => error,
    }
}

/// The letter for setting a slot.
pub(super) fn needs_to_set(slot: &Node) -> char {
    if slot.has_flag('o') { 'w' } else { 'W' }
}

/// The letter for invoking an action.
pub(super) fn needs_to_invoke(action: &Node) -> char {
    if action.has_flag('o') { 'i' } else { 'I' }
}

/// Why the outcome is unknown, if it is.
pub(super) fn doubt(error: &WriteError) -> Option<&str> {
    match error {
        WriteError::Facade(FacadeError::Station(StationError::OutcomeUnknown {
            cause, ..
        })) => Some(cause),
        _ => None,
    }
}

/// Time of its own for reading back after a lost answer.
pub(super) fn doubt_scope() -> CallScope {
    CallScope::within(DOUBT_PATIENCE)
}
