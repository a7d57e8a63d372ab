//! Channel `reg`: the type registry (Station web specification §4.3).

use serde_json::{Map, Value, json};

use super::call::{Call, bad_body};
use super::contract;
use super::error::BoxError;
use crate::model::registry::{self, TypeDef};

pub fn answer(call: &Call<'_>) -> Result<Value, BoxError> {
    match call.key {
        "loadTypes" => load_types(call),
        "loadContract" => {
            let ty = find(call.text("the body must be a type spec such as \"baja:Folder\"")?)?;
            Ok(contract::with_ancestors(ty, &call.switches.boxs))
        }
        "getConcreteTypes" => concrete_types(call),
        _ => Err(call.unknown_key()),
    }
}

fn load_types(call: &Call<'_>) -> Result<Value, BoxError> {
    let argument = call.object()?;
    let Some(Value::Array(specs)) = argument.get("t") else {
        return Err(bad_body(
            call.key,
            "member 't' must be an array of type specs",
        ));
    };
    let with_contract = argument.get("ec").and_then(Value::as_bool) == Some(true);
    let mut records = Map::new();
    for spec in specs {
        let spec = spec
            .as_str()
            .ok_or_else(|| bad_body(call.key, "every member of 't' must be a text"))?;
        records.insert(spec.to_owned(), record(find(spec)?, with_contract, call));
    }
    Ok(Value::Object(records))
}

fn concrete_types(call: &Call<'_>) -> Result<Value, BoxError> {
    let base = find(call.text("the body must be a type spec such as \"control:ControlPoint\"")?)?;
    let types = registry::concrete_types(base.spec());
    let records: Map<String, Value> = types
        .iter()
        .map(|ty| (ty.spec().to_owned(), record(ty, false, call)))
        .collect();
    let specs: Vec<&str> = types.iter().map(|ty| ty.spec()).collect();
    Ok(json!({"t": records, "s": specs}))
}

/// A type by spec.
///
/// # Errors
/// When the station has no such type.
pub fn find(spec: &str) -> Result<&'static TypeDef, BoxError> {
    registry::find(spec).ok_or_else(|| BoxError::UnknownType {
        spec: spec.to_owned(),
    })
}

/// One type's record; whatever is absent is false or none.
fn record(ty: &'static TypeDef, with_contract: bool, call: &Call<'_>) -> Value {
    let mut record = Map::new();
    if let Some(parent) = ty.super_type()
        && parent.spec() != "baja:Object"
    {
        record.insert("p".to_owned(), json!(parent.spec()));
    }
    if !ty.interfaces().is_empty() {
        let specs: Vec<&str> = ty.interfaces().iter().map(|ty| ty.spec()).collect();
        record.insert("it".to_owned(), json!(specs));
    }
    let marks = [
        ("a", ty.is_abstract()),
        ("i", ty.is_interface()),
        ("isv", ty.is_value()),
        ("iss", ty.is_simple()),
        ("isg", ty.is_singleton()),
        ("isn", ty.is_number()),
        ("isx", ty.is_complex()),
        ("isc", ty.is_component()),
        ("isl", ty.is_link()),
        ("isa", ty.is_action()),
        ("ist", ty.is_topic()),
        ("ise", ty.is_frozen_enum()),
    ];
    for (key, set) in marks {
        if set {
            record.insert(key.to_owned(), json!(true));
        }
    }
    if with_contract {
        record.insert("c".to_owned(), contract::own(ty, &call.switches.boxs));
    }
    Value::Object(record)
}
