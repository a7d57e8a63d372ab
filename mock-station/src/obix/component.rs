//! Components with their slots, points included (oBIX specification §4.4, §5.1).

use super::element::Element;
use super::scope::Scope;
use super::value::{self, Setting};
use super::{alarm, contract, op};
use crate::model::display::display;
use crate::model::station::Operation;
use crate::model::{Component, Facets, Flags, Handle, SlotContent, SlotView, Value, point};

/// A component as the root of a document: one level deep, child components as refs.
pub fn object(scope: &Scope<'_>, component: &Component) -> Element {
    let mut root = head(scope, component);
    root.set("icon", icon(component));
    for slot in scope.station.slots(component.handle()) {
        root.children.extend(member(scope, component, &slot));
    }
    if contract::is_alarm_subject(component.ty()) {
        root.children
            .extend(alarm::subject_members(scope, component));
    }
    root
}

/// The element of the component itself: points are value elements with the value of `out`.
fn head(scope: &Scope<'_>, component: &Component) -> Element {
    let handle = component.handle();
    let mut root = match (
        component.ty().point_kind(),
        scope.station.value(handle, "out"),
    ) {
        (Some(_), Some(out)) => {
            let facets = scope.station.facets(handle);
            let setting = Setting {
                facets: &facets,
                slot_href: "out/",
            };
            value::element(scope, &out, &setting)
        }
        _ => {
            let mut root = Element::new("obj").with("display", component.ty().type_name());
            set_own_status(scope, handle, &mut root);
            root
        }
    };
    root.set("is", contract::of_component(component.ty()));
    root.set("displayName", scope.station.display_name(handle));
    root
}

/// One slot as a member of its component; none for what is hidden or not for this user.
fn member(scope: &Scope<'_>, owner: &Component, slot: &SlotView<'_>) -> Option<Element> {
    if slot.flags.contains(Flags::HIDDEN) {
        return None;
    }
    match &slot.content {
        SlotContent::Property(_) => scope
            .may(owner.handle(), slot.flags, Operation::Read)
            .then(|| property(scope, owner, slot, &format!("{}/", slot.name)))
            .flatten()
            .map(|element| element.into_member(slot.name)),
        SlotContent::Child(child) => {
            let child = scope.station.component(*child)?;
            scope
                .can_read(child.handle())
                .then(|| reference(scope, child))
        }
        SlotContent::Action(action) => scope
            .may(owner.handle(), slot.flags, Operation::Invoke)
            .then(|| op::element(slot, action).into_member(slot.name)),
        SlotContent::Topic(_) => None,
    }
}

/// A property slot as an element without name and href; `slot_href` leads from the document's base to the slot.
pub fn property(
    scope: &Scope<'_>,
    owner: &Component,
    slot: &SlotView<'_>,
    slot_href: &str,
) -> Option<Element> {
    let content = slot.value()?;
    let facets = facets_of(scope, owner.handle(), slot, content);
    let setting = Setting {
        facets: &facets,
        slot_href,
    };
    let mut element = value::element(scope, content, &setting);
    element.set("displayName", slot.display_name());
    if is_writable(scope, owner, slot, content) {
        element.set("writable", "true");
    }
    Some(element)
}

/// The slot's own facets, else for the status values of a point the point's.
pub fn facets_of(scope: &Scope<'_>, owner: Handle, slot: &SlotView<'_>, content: &Value) -> Facets {
    match slot.facets {
        Some(own) if !own.is_empty() => own.clone(),
        _ if content.as_status_value().is_some() => (*scope.station.facets(owner)).clone(),
        _ => Facets::new(),
    }
}

/// Simple properties that this user may set; `out`, `inN` and `fallback` are commanded by ops only (§6.1).
pub fn is_writable(
    scope: &Scope<'_>,
    owner: &Component,
    slot: &SlotView<'_>,
    content: &Value,
) -> bool {
    let commanded = point::input_level(slot.name).is_some();
    !commanded
        && content.as_struct().is_none()
        && !matches!(content, Value::Password)
        && !slot.flags.contains(Flags::READONLY)
        && scope.may(owner.handle(), slot.flags, Operation::Write)
}

/// A child component as a ref with its value as a hint.
pub fn reference(scope: &Scope<'_>, component: &Component) -> Element {
    let handle = component.handle();
    let shown = head(scope, component);
    let mut element = Element::new("ref")
        .into_member(component.name())
        .with("is", contract::of_component(component.ty()));
    for key in ["display", "displayName", "status", "null"] {
        if let Some(text) = shown.get(key) {
            element.set(key, text);
        }
    }
    element.set("icon", icon(component));
    if component.ty().spec() == "control:NullProxyExt" {
        element.set("null", "true");
        element.set("display", "null");
    } else if component.ty().point_kind().is_none()
        && let Some(out) = scope.station.value(handle, "out")
    {
        let facets = scope.station.facets(handle);
        element.set("display", display(&out, &facets, &scope.display));
    }
    element
}

fn set_own_status(scope: &Scope<'_>, handle: Handle, element: &mut Element) {
    if let Some(slot) = scope.station.slot(handle, "status")
        && let Some(Value::Status(status)) = slot.value()
        && scope.may(handle, slot.flags, Operation::Read)
    {
        value::set_status(scope, element, status);
    }
}

fn icon(component: &Component) -> String {
    let ty = component.ty();
    let name = match ty {
        _ if ty.point_kind().is_some() && ty.is_writable_point() => "control/controlPointWritable",
        _ if ty.point_kind().is_some() => "control/controlPoint",
        _ if ty.is("baja:Folder") => "folder",
        _ if ty.is("driver:DeviceNetwork") => "network",
        _ if ty.is("driver:Device") => "device",
        _ if ty.is("baja:IService") => "services",
        _ => "object",
    };
    format!("/ord?module://icons/x16/{name}.png")
}
