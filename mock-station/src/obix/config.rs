//! `/obix/config/`: the component tree the user may read (oBIX specification §4.2, §4.4).

use super::address::Address;
use super::element::Element;
use super::error::ObixError;
use super::scope::Scope;
use super::value::{self, Setting};
use super::{alarm, component, contract, op, range};
use crate::model::slot_name;
use crate::model::station::Operation;
use crate::model::{Component, Facets, SlotContent, SlotView};

/// What a path below `config/` names.
pub enum Place<'a> {
    Component(&'a Component),
    /// A property slot and the path of struct members below it.
    Property {
        owner: &'a Component,
        slot: SlotView<'a>,
        members: Vec<&'a str>,
    },
    Op {
        owner: &'a Component,
        slot: SlotView<'a>,
    },
    /// `~range`, `~bool`, `~alarmQuery` of one of the above.
    Virtual {
        of: Box<Place<'a>>,
        name: &'a str,
    },
}

/// Walks `names` down from the station's root.
///
/// # Errors
/// When a name is illegal, leads nowhere, or the user may not see what it leads to.
pub fn resolve<'a>(
    scope: &Scope<'a>,
    address: &'a Address,
    names: &[&'a str],
) -> Result<Place<'a>, ObixError> {
    let station = scope.station;
    let unknown = || address.unknown();
    let mut at = station.component(station.root()).ok_or_else(unknown)?;
    scope.require_read(at.handle(), &address.text)?;
    let mut names = names.iter().copied();
    while let Some(name) = names.next() {
        if name.starts_with('~') {
            return only_last(names, Place::Component(at), name, address);
        }
        if !slot_name::is_legal(name) {
            return Err(ObixError::Failed(format!(
                "Invalid name in path: {name} in {}",
                address.text
            )));
        }
        let slot = station.slot(at.handle(), name).ok_or_else(unknown)?;
        match &slot.content {
            SlotContent::Child(child) => {
                at = station.component(*child).ok_or_else(unknown)?;
                scope.require_read(at.handle(), &address.text)?;
            }
            SlotContent::Property(_) => {
                if !scope.may(at.handle(), slot.flags, Operation::Read) {
                    return Err(scope.denied(&address.text));
                }
                return property(at, slot, names, address);
            }
            SlotContent::Action(_) => {
                let place = Place::Op { owner: at, slot };
                return if names.next().is_none() {
                    Ok(place)
                } else {
                    Err(unknown())
                };
            }
            SlotContent::Topic(_) => return Err(unknown()),
        }
    }
    Ok(Place::Component(at))
}

fn property<'a>(
    owner: &'a Component,
    slot: SlotView<'a>,
    mut names: impl Iterator<Item = &'a str>,
    address: &'a Address,
) -> Result<Place<'a>, ObixError> {
    let mut members = Vec::new();
    while let Some(name) = names.next() {
        if name.starts_with('~') {
            let place = Place::Property {
                owner,
                slot,
                members,
            };
            return only_last(names, place, name, address);
        }
        members.push(name);
    }
    let found = slot
        .value()
        .is_some_and(|value| value.member(&members.join("/")).is_some());
    if !found {
        return Err(address.unknown());
    }
    Ok(Place::Property {
        owner,
        slot,
        members,
    })
}

fn only_last<'a>(
    mut rest: impl Iterator<Item = &'a str>,
    of: Place<'a>,
    name: &'a str,
    address: &Address,
) -> Result<Place<'a>, ObixError> {
    match rest.next() {
        None => Ok(Place::Virtual {
            of: Box::new(of),
            name,
        }),
        Some(_) => Err(address.unknown()),
    }
}

/// The object at a path below `config/`.
///
/// # Errors
/// As [`resolve`], and for virtual children that cannot be read.
pub fn read(scope: &Scope<'_>, address: &Address, names: &[&str]) -> Result<Element, ObixError> {
    match resolve(scope, address, names)? {
        Place::Component(found) => Ok(component::object(scope, found)),
        Place::Op { slot, .. } => match &slot.content {
            SlotContent::Action(action) => Ok(op::element(&slot, action)),
            _ => Err(address.unknown()),
        },
        Place::Property {
            owner,
            slot,
            members,
        } => read_property(scope, owner, &slot, &members).ok_or_else(|| address.unknown()),
        Place::Virtual { of, name } => match name {
            "~range" | "~bool" => range::of_place(scope, &of, name, address),
            "~alarmQuery" | "~alarmFeed" => alarm::read_virtual(&of, name, address),
            _ => Err(address.unknown()),
        },
    }
}

fn read_property(
    scope: &Scope<'_>,
    owner: &Component,
    slot: &SlotView<'_>,
    members: &[&str],
) -> Option<Element> {
    if members.is_empty() {
        return component::property(scope, owner, slot, "");
    }
    let content = slot.value()?.member(&members.join("/"))?;
    let name = members.last()?;
    let none = Facets::new();
    let setting = Setting {
        facets: &none,
        slot_href: "",
    };
    let shown = value::element(scope, content, &setting);
    Some(shown.with("displayName", slot_name::friendly(name)))
}

/// The ref to a component at a path that leads from the lobby.
pub fn reference_from_lobby(scope: &Scope<'_>, found: &Component, name: &str) -> Element {
    let path = scope.station.slot_path(found.handle());
    let below = path.strip_prefix("slot:/").unwrap_or_default();
    let href = if below.is_empty() {
        "config/".to_owned()
    } else {
        format!("config/{below}/")
    };
    Element::named("ref", name)
        .with("href", href)
        .with("is", contract::of_component(found.ty()))
        .with("displayName", scope.station.display_name(found.handle()))
}
