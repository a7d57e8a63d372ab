//! `/obix/def/`: contracts of station types and of the standard objects that histories name (oBIX specification §4.1).

use super::address::Address;
use super::element::Element;
use super::error::ObixError;
use super::scope::Scope;
use super::value::{self, Setting};
use super::{contract, decode, range};
use crate::model::registry::{self, SlotKind};
use crate::model::{Facets, Flags, TypeDef};

/// Prototypes of the standard (OASIS oBIX 1.1) that hrefs like `/obix/def/obix:HistoryFilter` lead to.
const STANDARD: &str = include_str!("contracts.xml");

/// The list of types, one type, or the tags of a frozen enum.
///
/// # Errors
/// When there is no such contract.
pub fn read(scope: &Scope<'_>, address: &Address, names: &[&str]) -> Result<Element, ObixError> {
    match names {
        [] => Ok(all()),
        // The station's own module has the prefix of the standard's contracts.
        [name] => standard(name)
            .or_else(|| registry::find(name).map(|ty| of_type(scope, ty)))
            .ok_or_else(|| address.unknown()),
        [name, "~range"] => registry::find(name)
            .filter(|ty| ty.is_frozen_enum())
            .map(range::of_type)
            .ok_or_else(|| address.unknown()),
        _ => Err(address.unknown()),
    }
}

fn all() -> Element {
    let mut list = Element::new("obj").with("display", "Definitions");
    list.children.extend(
        registry::all()
            .iter()
            .map(|ty| Element::new("ref").into_member(ty.spec())),
    );
    list
}

fn standard(name: &str) -> Option<Element> {
    let contracts = decode::document(STANDARD.as_bytes()).ok()??;
    let mut found = contracts
        .children
        .into_iter()
        .find(|contract| contract.get("href") == Some(name))?;
    found.set("href", contract::of_type(name));
    Some(found)
}

/// A prototype with the defaults of the type's slots.
fn of_type(scope: &Scope<'_>, ty: &'static TypeDef) -> Element {
    let none = Facets::new();
    let mut object = match ty.default_value() {
        Some(default) if ty.is_simple() => {
            let setting = Setting {
                facets: &none,
                slot_href: "",
            };
            value::bare(&default, &setting)
        }
        _ => Element::new(ty.point_kind().map_or("obj", value::tag)),
    };
    if let Some(parent) = ty.super_type() {
        object.set("is", contract::of_type(parent.spec()));
    }
    object.set("display", ty.type_name());
    for slot in ty.slots() {
        if slot.flags.contains(Flags::HIDDEN) {
            continue;
        }
        let facets = slot.facets.as_deref().unwrap_or(&none);
        let href = format!("{}/", slot.name);
        let setting = Setting {
            facets,
            slot_href: &href,
        };
        let member = match &slot.kind {
            SlotKind::Property { default, .. } => value::element(scope, default, &setting),
            SlotKind::Child { default, .. } => {
                Element::new("ref").with("is", contract::of_component(default))
            }
            SlotKind::Action(action) => Element::new("op")
                .with_some("in", action.parameter.map(contract::of_parameter))
                .with_some("out", action.returns.map(contract::of_parameter)),
            SlotKind::Topic { .. } => continue,
        };
        object.children.push(member.into_member(&slot.name));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_standard_contract_that_a_history_names_is_on_file() {
        for name in [
            "obix:History",
            "obix:HistoryFilter",
            "obix:HistoryQueryOut",
            "obix:HistoryRecord",
            "obix:HistoryRollupIn",
            "obix:HistoryRollupOut",
            "obix:HistoryRollupRecord",
            "obix:HistoryAppendIn",
            "obix:HistoryAppendOut",
        ] {
            assert_eq!(
                standard(name).unwrap().get("href"),
                Some(format!("/obix/def/{name}").as_str())
            );
        }
        assert!(standard("obix:Nonsense").is_none());
    }
}
