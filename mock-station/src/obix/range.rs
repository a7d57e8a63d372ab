//! Enumerations behind `range` attributes (oBIX specification §5.6).

use super::address::Address;
use super::component;
use super::config::Place;
use super::element::Element;
use super::error::ObixError;
use super::scope::Scope;
use super::value;
use crate::model::display::tag_text;
use crate::model::slot_name;
use crate::model::{EnumRange, Facets, TypeDef, Value};

/// `~range` or `~bool` of a slot, or of a point's `out`.
///
/// # Errors
/// When the place holds no such value.
pub fn of_place(
    scope: &Scope<'_>,
    place: &Place<'_>,
    name: &str,
    address: &Address,
) -> Result<Element, ObixError> {
    let found = match place {
        Place::Component(owner) => {
            let out = scope.station.value(owner.handle(), "out");
            out.map(|out| (out, (*scope.station.facets(owner.handle())).clone()))
        }
        Place::Property {
            owner,
            slot,
            members,
        } => slot.value().and_then(|content| {
            let facets = component::facets_of(scope, owner.handle(), slot, content);
            Some((content.member(&members.join("/"))?.clone(), facets))
        }),
        Place::Op { .. } | Place::Virtual { .. } => None,
    };
    let (content, facets) = found.ok_or_else(|| address.unknown())?;
    let inner = content
        .as_status_value()
        .map_or(&content, |(inner, _)| inner);
    match (name, inner) {
        ("~bool", Value::Boolean(_)) => Ok(of_boolean(&facets)),
        ("~range", Value::DynamicEnum(member)) => {
            Ok(of_range(value::named_range(&member.range, &facets)))
        }
        ("~range", Value::FrozenEnum(member)) => Ok(of_type(member.ty)),
        _ => Err(address.unknown()),
    }
}

/// The tags of a frozen enum.
pub fn of_type(ty: &'static TypeDef) -> Element {
    let members = ty.tags().iter().map(|tag| {
        let text = tag_text(ty.spec(), tag.ordinal).unwrap_or_else(|| tag.tag.clone());
        (tag.tag.clone(), text)
    });
    list(members)
}

fn of_range(range: &EnumRange) -> Element {
    list(range.entries().into_iter().map(|(tag, _)| {
        let text = slot_name::unescape(&tag);
        (tag, text)
    }))
}

fn of_boolean(facets: &Facets) -> Element {
    let text = |key: &str, tag: &str| {
        let shown = facets.text(key).unwrap_or(tag);
        (tag.to_owned(), shown.to_owned())
    };
    list([text("falseText", "false"), text("trueText", "true")].into_iter())
}

fn list(members: impl Iterator<Item = (String, String)>) -> Element {
    let mut list = Element::new("list")
        .with("is", "obix:Range")
        .with("of", "obix:obj");
    list.children
        .extend(members.map(|(tag, text)| Element::named("obj", &tag).with("displayName", text)));
    list
}
