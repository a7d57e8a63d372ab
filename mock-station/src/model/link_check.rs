//! Which slots may be linked, and which converter stands between two kinds of value.

use super::component::SlotContent;
use super::error::ModelError;
use super::flags::Flags;
use super::link::LinkEnds;
use super::registry::{self, TypeDef};
use super::station::Station;
use super::value::Value;

/// The module of the converters between value types.
const MODULE: &str = "converters:";

/// A link that may be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkKind {
    /// Both ends speak of the same type.
    Direct,
    /// The type of the converter that stands between them.
    Converted(&'static TypeDef),
}

impl Station {
    /// How two slots can be linked.
    ///
    /// # Errors
    /// When they cannot: an end is missing or no end at all, the target is read-only or already linked, or nothing converts
    /// the one type to the other.
    pub fn check_link(&self, ends: &LinkEnds) -> Result<LinkKind, ModelError> {
        let source = self.end(ends, End::Source)?;
        let target = self.end(ends, End::Target)?;
        if ends.source == ends.target && ends.source_slot == ends.target_slot {
            return Err(illegal("a slot cannot be linked to itself".to_owned()));
        }
        if target.flags.contains(Flags::READONLY) {
            return Err(illegal(format!("target {} is read-only", target.path)));
        }
        let same = |link: &&super::link::LinkView| {
            link.ends.source == ends.source && link.ends.source_slot == ends.source_slot
        };
        let mut present = self
            .links()
            .to(ends.target)
            .iter()
            .filter(|link| link.ends.target_slot == ends.target_slot);
        let fan_in = target.flags.contains(Flags::FAN_IN) || target.kind != Kind::Property;
        let taken = match fan_in {
            true => present.find(same),
            false => present.next(),
        };
        if taken.is_some() {
            return Err(illegal(format!("target {} is already linked", target.path)));
        }
        match_kinds(&source, &target)
    }

    fn end(&self, ends: &LinkEnds, end: End) -> Result<Described, ModelError> {
        let (word, handle, name) = match end {
            End::Source => ("source", ends.source, &ends.source_slot),
            End::Target => ("target", ends.target, &ends.target_slot),
        };
        let path = format!("{}/{name}", self.slot_path(handle));
        self.expect(handle)?;
        let Some(slot) = self.slot(handle, name) else {
            let component = self.slot_path(handle);
            return Err(illegal(format!("{word} {component} has no slot {name}")));
        };
        let (kind, ty) = match slot.content {
            SlotContent::Property(_) => (Kind::Property, self.property_type(handle, name)),
            SlotContent::Action(action) => (Kind::Action, action.parameter),
            SlotContent::Topic(event) => (Kind::Topic, event),
            SlotContent::Child(_) => {
                return Err(illegal(format!("{word} {path} is a component")));
            }
        };
        Ok(Described {
            path,
            kind,
            ty,
            flags: slot.flags,
        })
    }
}

#[derive(Clone, Copy)]
enum End {
    Source,
    Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Property,
    Action,
    Topic,
}

struct Described {
    path: String,
    kind: Kind,
    /// What it holds, takes or brings.
    ty: Option<&'static TypeDef>,
    flags: Flags,
}

fn illegal(reason: String) -> ModelError {
    ModelError::IllegalLink { reason }
}

fn match_kinds(source: &Described, target: &Described) -> Result<LinkKind, ModelError> {
    let spec = |end: &Described| end.ty.map_or("nothing", |ty| ty.spec());
    let mismatch = || {
        illegal(format!(
            "type mismatch: {} brings {}, {} takes {}",
            source.path,
            spec(source),
            target.path,
            spec(target)
        ))
    };
    match (source.kind, target.kind) {
        (Kind::Property, Kind::Property) => match (source.ty, target.ty) {
            (Some(brings), Some(takes)) if brings.is_a(takes) => Ok(LinkKind::Direct),
            (Some(brings), Some(takes)) => converter(brings.spec(), takes.spec())
                .map(LinkKind::Converted)
                .ok_or_else(mismatch),
            _ => Err(mismatch()),
        },
        (_, Kind::Property) | (Kind::Property, Kind::Topic) => Err(illegal(format!(
            "a {:?} cannot be linked to a {:?}",
            source.kind, target.kind
        ))),
        (_, Kind::Action | Kind::Topic) => match (source.ty, target.ty) {
            (_, None) => Ok(LinkKind::Direct),
            (Some(brings), Some(takes)) if brings.is_a(takes) => Ok(LinkKind::Direct),
            _ => Err(mismatch()),
        },
    }
}

/// The converter from one type to another, by type spec; none where the station has none.
pub fn converter(source: &str, target: &str) -> Option<&'static TypeDef> {
    let (source, target) = (class(source)?, class(target)?);
    registry::find(&format!("{MODULE}{source}To{target}"))
}

/// Whether a converter fits the values it is given.
pub(super) fn converts(converter: &TypeDef, source: &Value, target: &Value) -> bool {
    let ends = converter
        .spec()
        .strip_prefix(MODULE)
        .and_then(|name| name.split_once("To"));
    ends.is_some_and(|(from, to)| {
        class(source.type_spec()) == Some(from) && class(target.type_spec()) == Some(to)
    })
}

/// What the converters call a type.
fn class(spec: &str) -> Option<&'static str> {
    Some(match spec {
        "baja:StatusNumeric" => "StatusNumeric",
        "baja:StatusBoolean" => "StatusBoolean",
        "baja:StatusEnum" => "StatusEnum",
        "baja:StatusString" => "StatusString",
        "baja:Double" | "baja:Float" | "baja:Integer" | "baja:Long" => "Number",
        "baja:Boolean" => "Boolean",
        "baja:String" => "String",
        "baja:DynamicEnum" => "Enum",
        other if registry::find(other)?.is_frozen_enum() => "FrozenEnum",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::component::Handle;
    use super::*;
    use chrono::DateTime;

    fn check(
        station: &Station,
        source: (Handle, &str),
        target: (Handle, &str),
    ) -> Result<&'static str, String> {
        let ends = LinkEnds {
            source: source.0,
            source_slot: source.1.into(),
            target: target.0,
            target_slot: target.1.into(),
        };
        match station.check_link(&ends) {
            Ok(LinkKind::Direct) => Ok("direct"),
            Ok(LinkKind::Converted(ty)) => Ok(ty.spec()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn slots_are_linked_by_kind_and_type() {
        let mut station = Station::new("T", chrono_tz::Tz::UTC, DateTime::UNIX_EPOCH);
        let root = station.root();
        let mut add = |name: &str, spec: &str| station.add(root, Some(name), spec).unwrap();
        let number = add("N", "control:NumericWritable");
        let flag = add("B", "control:BooleanWritable");
        let text = add("S", "control:StringWritable");
        let trigger = add("T", "control:TimeTrigger");
        assert_eq!(
            check(&station, (number, "out"), (number, "in9")),
            Ok("direct")
        );
        assert_eq!(
            check(&station, (number, "out"), (flag, "in9")),
            Ok("converters:StatusNumericToStatusBoolean")
        );
        assert_eq!(
            check(&station, (trigger, "trigger"), (flag, "auto")),
            Ok("direct")
        );
        let refusal = |source, target| check(&station, source, target).unwrap_err();
        assert!(refusal((text, "out"), (number, "in9")).contains("type mismatch"));
        assert!(refusal((number, "out"), (flag, "out")).contains("read-only"));
        assert!(refusal((number, "out"), (flag, "proxyExt")).contains("is a component"));
        assert!(refusal((trigger, "trigger"), (flag, "in9")).contains("cannot be linked"));
        assert!(refusal((trigger, "trigger"), (number, "set")).contains("type mismatch"));
        assert!(refusal((number, "in9"), (number, "in9")).contains("to itself"));
        station.link(number, "out", flag, "in9").unwrap();
        let taken = check(&station, (number, "in3"), (flag, "in9")).unwrap_err();
        assert_eq!(taken, "illegal link: target slot:/B/in9 is already linked");
    }
}
