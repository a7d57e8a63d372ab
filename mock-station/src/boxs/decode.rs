//! Nodes that clients send, read as values and new components (Station web specification §4.6, §4.7).

use serde_json::Value as Json;

use super::error::BoxError;
use crate::model::registry::{self, SlotKind, TypeDef};
use crate::model::{Facets, Flags, NewComponent, NewProperty, StructValue, Value};

/// What a node stands for.
#[derive(Clone, Debug)]
pub enum Sent {
    /// A simple, or a struct with the members that were sent.
    Value(Value),
    Component(NewComponent),
}

/// Reads a node. `place` names it in errors.
///
/// # Errors
/// When it is no node, its type is unknown, abstract or `null`, its text does not fit its type, a status carries facets,
/// or a component brings child components.
pub fn node(place: &str, node: &Json) -> Result<Sent, BoxError> {
    let ty = type_of(place, node)?;
    if !ty.is_component() {
        return value_of(place, ty, node).map(Sent::Value);
    }
    let mut properties = Vec::new();
    for child in children(place, node)? {
        properties.push(property(place, child)?);
    }
    Ok(Sent::Component(NewComponent { ty, properties }))
}

/// Reads a node that has to be a value.
///
/// # Errors
/// As [`node`], and for a component.
pub fn value(place: &str, sent: &Json) -> Result<Value, BoxError> {
    match node(place, sent)? {
        Sent::Value(value) => Ok(value),
        Sent::Component(new) => Err(undecodable(
            place,
            &format!("{} is a component, a value is wanted", new.ty.spec()),
        )),
    }
}

fn property(place: &str, node: &Json) -> Result<NewProperty, BoxError> {
    let name = name_of(place, node)?;
    let place = format!("{place}/{name}");
    let ty = type_of(&place, node)?;
    if ty.is_component() || node.get("h").is_some() {
        // Live rule 1 of §4.6: the station does not say what was wrong.
        return Err(BoxError::Unexplained);
    }
    Ok(NewProperty {
        name: name.to_owned(),
        value: value_of(&place, ty, node)?,
        flags: flags(&place, node.get("f"))?,
        facets: facets(&place, node.get("x"))?,
    })
}

/// Flags in a member of a node or operation; none when it is absent.
///
/// # Errors
/// When it is no text of flag letters.
pub fn flags(place: &str, member: Option<&Json>) -> Result<Option<Flags>, BoxError> {
    present(member)
        .map(|member| {
            let decoded = member.as_str().and_then(Flags::decode);
            decoded.ok_or_else(|| undecodable(place, &format!("{member} are no flags")))
        })
        .transpose()
}

/// Facets in a member of a node or operation; none when it is absent.
///
/// # Errors
/// When it is no text of facets.
pub fn facets(place: &str, member: Option<&Json>) -> Result<Option<Facets>, BoxError> {
    present(member)
        .map(|member| {
            let decoded = member.as_str().and_then(Facets::decode);
            decoded.ok_or_else(|| undecodable(place, &format!("{member} are no facets")))
        })
        .transpose()
}

fn present(member: Option<&Json>) -> Option<&Json> {
    member.filter(|member| !member.is_null())
}

fn type_of(place: &str, node: &Json) -> Result<&'static TypeDef, BoxError> {
    if node.get("nm").and_then(Json::as_str) != Some("p") {
        return Err(undecodable(place, "member 'nm' of the node must be \"p\""));
    }
    let spec = match node.get("t") {
        Some(Json::String(spec)) => spec.as_str(),
        // Live rule 3 of §4.6.
        None | Some(Json::Null) => return Err(BoxError::Unexplained),
        Some(_) => {
            return Err(undecodable(
                place,
                "member 't' of the node must be a type spec",
            ));
        }
    };
    let ty = registry::find(spec).ok_or_else(|| BoxError::UnknownType {
        spec: spec.to_owned(),
    })?;
    if ty.is_abstract() || ty.is_interface() {
        return Err(undecodable(
            place,
            &format!("{spec} is abstract and has no instances"),
        ));
    }
    Ok(ty)
}

fn name_of<'a>(place: &str, node: &'a Json) -> Result<&'a str, BoxError> {
    node.get("n")
        .and_then(Json::as_str)
        .ok_or_else(|| undecodable(place, "a child node has no name 'n'"))
}

fn children<'a>(place: &str, node: &'a Json) -> Result<&'a [Json], BoxError> {
    match present(node.get("s")) {
        None => Ok(&[]),
        Some(Json::Array(children)) => Ok(children),
        Some(_) => Err(undecodable(
            place,
            "member 's' of the node must be an array",
        )),
    }
}

fn value_of(place: &str, ty: &'static TypeDef, node: &Json) -> Result<Value, BoxError> {
    if ty.is_struct() {
        return struct_of(place, ty, node).map(Value::Struct);
    }
    let text = node.get("v").and_then(Json::as_str).ok_or_else(|| {
        undecodable(
            place,
            &format!("a {} needs its encoding as text in 'v'", ty.spec()),
        )
    })?;
    let value = Value::decode(ty, text)
        .ok_or_else(|| undecodable(place, &format!("{text:?} is no {}", ty.spec())))?;
    match &value {
        // Live rule 3 of §4.6.
        Value::Status(status) if status.facets.is_some() => Err(BoxError::Unexplained),
        _ => Ok(value),
    }
}

fn struct_of(place: &str, ty: &'static TypeDef, node: &Json) -> Result<StructValue, BoxError> {
    let mut body = StructValue {
        ty,
        members: Vec::new(),
    };
    for child in children(place, node)? {
        let name = name_of(place, child)?;
        let place = format!("{place}/{name}");
        let Some(SlotKind::Property { ty: declared, .. }) = ty.slot(name).map(|slot| &slot.kind)
        else {
            return Err(undecodable(
                &place,
                &format!("{} has no such member", ty.spec()),
            ));
        };
        let sent = type_of(&place, child)?;
        if !sent.is_a(declared) {
            return Err(undecodable(
                &place,
                &format!("it holds {}, not {}", declared.spec(), sent.spec()),
            ));
        }
        body.set(name, value_of(&place, sent, child)?);
    }
    Ok(body)
}

fn undecodable(place: &str, reason: &str) -> BoxError {
    BoxError::Undecodable {
        place: place.to_owned(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(node: Json) -> Result<Value, BoxError> {
        value("in10", &node)
    }

    #[test]
    fn a_struct_has_only_the_members_that_were_sent_until_it_is_completed() {
        let sent = read(json!({"nm": "p", "t": "baja:StatusNumeric", "s": [
            {"nm": "p", "n": "value", "t": "baja:Double", "v": "21.5"}]}))
        .unwrap();
        assert_eq!(sent.as_struct().unwrap().members.len(), 1);
        assert_eq!(
            sent.completed(),
            Value::status_numeric(21.5, crate::model::Status::ok())
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_place() {
        let refusal = |node: Json| read(node).unwrap_err().to_string();
        let double = |v: Json| json!({"nm": "p", "t": "baja:Double", "v": v});
        assert_eq!(
            refusal(double(json!("warm"))),
            "Cannot decode in10: \"warm\" is no baja:Double"
        );
        assert!(refusal(double(json!(21.5))).contains("as text in 'v'"));
        assert!(refusal(json!({"t": "baja:Double", "v": "1"})).contains("'nm'"));
        assert!(refusal(json!({"nm": "p", "t": "no:Such"})).contains("no:Such"));
        assert!(refusal(json!({"nm": "p", "t": "baja:StatusValue"})).contains("abstract"));
        assert!(refusal(json!({"nm": "p", "t": "baja:Folder"})).contains("is a component"));
        let member = |name: &str, spec: &str, text: &str| {
            json!({"nm": "p", "t": "baja:StatusNumeric", "s": [
                {"nm": "p", "n": name, "t": spec, "v": text}]})
        };
        let wrong = refusal(member("value", "baja:Integer", "1"));
        assert_eq!(
            wrong,
            "Cannot decode in10/value: it holds baja:Double, not baja:Integer"
        );
        assert!(refusal(member("level", "baja:Double", "1")).contains("no such member"));
    }

    #[test]
    fn live_rules_are_refused_without_a_reason() {
        let unexplained = |sent: Json| matches!(node("b", &sent), Err(BoxError::Unexplained));
        assert!(unexplained(json!({"nm": "p", "t": null, "v": "1"})));
        assert!(unexplained(
            json!({"nm": "p", "t": "baja:StatusNumeric", "s": [
            {"nm": "p", "n": "status", "t": "baja:Status", "v": "0;activeLevel=e:8@control:PriorityLevel"}]})
        ));
        assert!(unexplained(json!({"nm": "p", "t": "baja:Folder", "s": [
            {"nm": "p", "n": "Inner", "t": "baja:Folder"}]})));
    }

    proptest! {
        #[test]
        fn any_json_is_read_or_refused(text in "[\\[\\]{}\":,a-z0-9]{0,40}", spec in "(baja:(StatusEnum|Link|Facets|Folder|AbsTime)|control:Override)") {
            let inner: Json = serde_json::from_str(&text).unwrap_or(Json::String(text));
            let _ = node("b", &json!({"nm": "p", "t": spec, "v": inner.clone(), "s": [inner.clone()]}));
            let _ = node("b", &inner);
        }
    }
}
