//! Actions as ops (oBIX specification §6.2).

use super::contract;
use super::element::Element;
use crate::model::SlotView;
use crate::model::registry::ActionDef;

/// The op of an action, without name and href; absent `in` and `out` promise nothing.
pub fn element(slot: &SlotView<'_>, action: &ActionDef) -> Element {
    Element::new("op")
        .with_some("in", action.parameter.map(contract::of_parameter))
        .with_some("out", action.returns.map(contract::of_parameter))
        .with("displayName", slot.display_name())
}
