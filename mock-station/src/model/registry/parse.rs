//! Reads the type table.
//!
//! A type starts in column one: `module:Type [< super] [: interface …] [abstract|interface|singleton]`.
//! Indented lines are its slots:
//! `name type ["default"] [flags=letters] [facets="…"]`, `!name [parameter] ["default"] [-> type] [flags=…]` for actions,
//! `^name [event] [flags=…]` for topics, `#tag=ordinal …` for the tags of a frozen enum.
//! A struct default lists its members, `value="1.0" status="40"` written as `value=1.0 status=40`.

use super::{ActionDef, EnumTag, Registry, SlotDef, SlotKind, TypeDef};
use crate::model::facets::Facets;
use crate::model::flags::Flags;
use crate::model::status::Status;
use crate::model::value::{FrozenEnum, Member, StructValue, Value};
use std::collections::HashMap;
use std::sync::Arc;

type Known = HashMap<&'static str, &'static TypeDef>;

pub(super) fn read(table: &'static str) -> Result<Registry, String> {
    let mut registry = Registry {
        types: Vec::new(),
        by_spec: Known::new(),
    };
    let lines: Vec<(usize, &'static str)> = table
        .lines()
        .enumerate()
        .map(|(number, line)| (number + 1, line))
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .collect();
    let mut rest = lines.as_slice();
    while let Some(((number, head), after)) = rest.split_first() {
        let length = after
            .iter()
            .take_while(|(_, line)| line.starts_with(' '))
            .count();
        let (body, next) = after.split_at(length);
        let ty = read_type(head, body, &registry.by_spec).map_err(|mistake| match mistake {
            (0, text) => format!("line {number}: {text}"),
            (line, text) => format!("line {line}: {text}"),
        })?;
        let ty: &'static TypeDef = Box::leak(Box::new(ty));
        if registry.by_spec.insert(ty.spec, ty).is_some() {
            return Err(format!("line {number}: {} is declared twice", ty.spec));
        }
        registry.types.push(ty);
        rest = next;
    }
    Ok(registry)
}

fn read_type(
    head: &'static str,
    body: &[(usize, &'static str)],
    known: &Known,
) -> Result<TypeDef, (usize, String)> {
    let lookup = |spec: &str| {
        known
            .get(spec)
            .copied()
            .ok_or((0, format!("type {spec} is not declared above")))
    };
    let mut words = head.split_whitespace();
    let spec = words.next().unwrap_or_default();
    let mut ty = TypeDef {
        spec,
        super_type: None,
        interfaces: Vec::new(),
        is_abstract: false,
        is_interface: false,
        is_singleton: false,
        own_slots: Vec::new(),
        slots: Vec::new(),
        index: HashMap::new(),
        tags: Vec::new(),
    };
    let mut in_interfaces = false;
    while let Some(word) = words.next() {
        match word {
            "<" => ty.super_type = Some(lookup(words.next().unwrap_or_default())?),
            ":" => in_interfaces = true,
            "abstract" => ty.is_abstract = true,
            "interface" => ty.is_interface = true,
            "singleton" => ty.is_singleton = true,
            name if in_interfaces => ty.interfaces.push(lookup(name)?),
            other => return Err((0, format!("unexpected word {other}"))),
        }
    }
    ty.slots = ty
        .super_type
        .map(|parent| parent.slots.clone())
        .unwrap_or_default();
    ty.tags = ty
        .super_type
        .map(|parent| parent.tags.clone())
        .unwrap_or_default();
    for (number, line) in body {
        read_member(&mut ty, line.trim(), known).map_err(|text| (*number, text))?;
    }
    ty.index = ty
        .slots
        .iter()
        .enumerate()
        .map(|(position, slot)| (slot.name.clone(), position))
        .collect();
    Ok(ty)
}

fn read_member(ty: &mut TypeDef, line: &'static str, known: &Known) -> Result<(), String> {
    if let Some(tags) = line.strip_prefix('#') {
        for pair in tags.split_whitespace() {
            let (tag, ordinal) = pair.split_once('=').ok_or("a tag needs an ordinal")?;
            let ordinal = ordinal.parse().map_err(|_| format!("{pair}: no ordinal"))?;
            ty.tags.push(EnumTag {
                ordinal,
                tag: tag.to_owned(),
            });
        }
        return Ok(());
    }
    let slot = read_slot(ty, line, known)?;
    ty.own_slots.push(slot.clone());
    match ty
        .slots
        .iter_mut()
        .find(|earlier| earlier.name == slot.name)
    {
        Some(earlier) => {
            *earlier = SlotDef {
                declared_in: earlier.declared_in,
                ..slot
            }
        }
        None => ty.slots.push(slot),
    }
    Ok(())
}

fn read_slot(ty: &TypeDef, line: &'static str, known: &Known) -> Result<SlotDef, String> {
    let words = split_words(line)?;
    let mut name = "";
    let mut types: Vec<&'static TypeDef> = Vec::new();
    let mut returns = None;
    let mut default = None;
    let mut flags = Flags::NONE;
    let mut facets = None;
    let mut expect_return = false;
    for word in words {
        match word {
            Word::Quoted(text) => default = Some(text),
            Word::Plain("->") => expect_return = true,
            Word::Plain(first) if name.is_empty() => name = first,
            Word::Plain(spec) => {
                let found = known
                    .get(spec)
                    .copied()
                    .ok_or(format!("type {spec} is not declared above"))?;
                if expect_return {
                    returns = Some(found)
                } else {
                    types.push(found)
                }
            }
            Word::Attribute("flags", text) => {
                flags = Flags::decode(text).ok_or(format!("flags {text}"))?
            }
            Word::Attribute("facets", text) => {
                facets = Some(Arc::new(
                    Facets::decode(text).ok_or(format!("facets {text}"))?,
                ));
            }
            Word::Attribute(other, _) => return Err(format!("unknown attribute {other}")),
        }
    }
    let first = types.first().copied();
    let (name, kind) = if let Some(action) = name.strip_prefix('!') {
        let parameter_default = match (first, default) {
            (Some(parameter), _) => value_of(parameter, default)?,
            (None, _) => None,
        };
        (
            action,
            SlotKind::Action(ActionDef {
                parameter: first,
                parameter_default,
                returns,
            }),
        )
    } else if let Some(topic) = name.strip_prefix('^') {
        (topic, SlotKind::Topic { event: first })
    } else {
        let slot_type = first.ok_or("a property needs a type")?;
        let kind = if slot_type.is_component() || slot_type.is_interface {
            let created = default.unwrap_or(slot_type.spec);
            let default = known
                .get(created)
                .copied()
                .ok_or(format!("type {created} is not declared above"))?;
            SlotKind::Child {
                ty: slot_type,
                default,
            }
        } else {
            let default = value_of(slot_type, default)?
                .ok_or(format!("{} has no default", slot_type.spec))?;
            SlotKind::Property {
                ty: slot_type,
                default,
            }
        };
        (name, kind)
    };
    Ok(SlotDef {
        name: name.into(),
        flags,
        facets,
        kind,
        declared_in: ty.spec,
    })
}

fn value_of(ty: &'static TypeDef, text: Option<&str>) -> Result<Option<Value>, String> {
    let Some(text) = text else {
        return Ok(type_default(ty));
    };
    if !ty.is_struct() {
        return Value::decode(ty, text)
            .map(Some)
            .ok_or(format!("{text:?} is no {}", ty.spec));
    }
    let mut body = struct_default(ty);
    for pair in text.split_whitespace() {
        let (member, encoded) = pair
            .split_once('=')
            .ok_or(format!("{pair:?} is no member"))?;
        let slot = ty
            .slots
            .iter()
            .find(|slot| &*slot.name == member)
            .ok_or(format!("{} has no {member}", ty.spec))?;
        let SlotKind::Property {
            ty: member_type, ..
        } = &slot.kind
        else {
            return Err(format!("{member} is no property"));
        };
        body.set(
            member,
            Value::decode(member_type, encoded)
                .ok_or(format!("{encoded:?} is no {}", member_type.spec))?,
        );
    }
    Ok(Some(Value::Struct(body)))
}

fn struct_default(ty: &'static TypeDef) -> StructValue {
    let members = ty
        .slots
        .iter()
        .filter_map(|slot| {
            Some(Member {
                name: slot.name.clone(),
                value: slot.default_value()?.clone(),
            })
        })
        .collect();
    StructValue { ty, members }
}

/// The default of a type itself, before any slot says otherwise.
pub(super) fn type_default(ty: &'static TypeDef) -> Option<Value> {
    if ty.is_struct() {
        return Some(Value::Struct(struct_default(ty)));
    }
    if ty.is_frozen_enum() {
        return ty.tags.first().map(|tag| {
            Value::FrozenEnum(FrozenEnum {
                ty,
                ordinal: tag.ordinal,
            })
        });
    }
    Some(match ty.spec {
        "baja:Boolean" => Value::Boolean(false),
        "baja:Integer" => Value::Integer(0),
        "baja:Long" => Value::Long(0),
        "baja:Float" => Value::Float(0.0),
        "baja:Double" => Value::Double(0.0),
        "baja:RelTime" => Value::RelTime(0),
        "baja:AbsTime" => Value::AbsTime(None),
        "baja:Status" => Value::Status(Status::ok()),
        "baja:DynamicEnum" => Value::decode_as("baja:DynamicEnum", "0")?,
        "baja:EnumRange" => Value::decode_as("baja:EnumRange", "{}")?,
        "baja:NameMap" => Value::decode_as("baja:NameMap", "{}")?,
        "baja:Unit" => Value::decode_as("baja:Unit", "null;;;;")?,
        "baja:Date" => Value::decode_as("baja:Date", "1970-01-01")?,
        "baja:Time" => Value::decode_as("baja:Time", "00:00:00.000")?,
        "baja:WsAnnotation" => Value::decode_as("baja:WsAnnotation", "0,0,8")?,
        "baja:TimeZone" => Value::TimeZone("UTC".into()),
        _ => Value::decode(ty, "")?,
    })
}

enum Word {
    Plain(&'static str),
    Quoted(&'static str),
    Attribute(&'static str, &'static str),
}

fn split_words(line: &'static str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        if let Some(body) = rest.strip_prefix('"') {
            let (text, after) = body.split_once('"').ok_or("a quotation mark is missing")?;
            words.push(Word::Quoted(text));
            rest = after.trim_start();
            continue;
        }
        let end = rest.find(' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match word.split_once("=\"") {
            Some((key, _)) => {
                let (text, after) = rest[key.len() + 2..]
                    .split_once('"')
                    .ok_or("a quotation mark is missing")?;
                words.push(Word::Attribute(key, text));
                rest = after.trim_start();
            }
            None => {
                words.push(match word.split_once('=') {
                    Some((key, text)) => Word::Attribute(key, text),
                    None => Word::Plain(word),
                });
                rest = after.trim_start();
            }
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_in_the_table_name_their_line() {
        let mistake = |table: &'static str| read(table).err().unwrap_or_default();
        assert_eq!(
            mistake("a:A < a:B"),
            "line 1: type a:B is not declared above"
        );
        assert_eq!(
            mistake("a:A\n  x a:Nope"),
            "line 2: type a:Nope is not declared above"
        );
        assert_eq!(mistake("a:A\na:A"), "line 2: a:A is declared twice");
    }
}
