//! The type registry: modules, ancestry, frozen slots with defaults, enum tags (Station web specification §4.3).
//!
//! The types are data (`data/types.txt`), read once; a [`TypeDef`] lives as long as the process.

mod parse;

use super::facets::Facets;
use super::flags::Flags;
use super::value::{PointKind, Value};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// One type of the registry.
pub struct TypeDef {
    spec: &'static str,
    super_type: Option<&'static TypeDef>,
    interfaces: Vec<&'static TypeDef>,
    is_abstract: bool,
    is_interface: bool,
    is_singleton: bool,
    own_slots: Vec<SlotDef>,
    slots: Vec<SlotDef>,
    index: HashMap<Arc<str>, usize>,
    tags: Vec<EnumTag>,
}

/// One tag of a frozen enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumTag {
    pub ordinal: i32,
    pub tag: String,
}

/// One frozen slot of a type.
#[derive(Clone, Debug)]
pub struct SlotDef {
    pub name: Arc<str>,
    pub flags: Flags,
    pub facets: Option<Arc<Facets>>,
    pub kind: SlotKind,
    /// The type that declared the slot first.
    pub declared_in: &'static str,
}

/// What a frozen slot is.
#[derive(Clone, Debug)]
pub enum SlotKind {
    /// A property holding a simple or a struct.
    Property {
        ty: &'static TypeDef,
        default: Value,
    },
    /// A frozen child component: `ty` is what the slot accepts, `default` what is created with the parent.
    Child {
        ty: &'static TypeDef,
        default: &'static TypeDef,
    },
    Action(ActionDef),
    Topic {
        event: Option<&'static TypeDef>,
    },
}

/// The signature of an action.
#[derive(Clone, Debug, Default)]
pub struct ActionDef {
    pub parameter: Option<&'static TypeDef>,
    pub parameter_default: Option<Value>,
    pub returns: Option<&'static TypeDef>,
}

impl SlotDef {
    /// The default value of a property slot.
    pub fn default_value(&self) -> Option<&Value> {
        match &self.kind {
            SlotKind::Property { default, .. } => Some(default),
            _ => None,
        }
    }

    /// The action's signature.
    pub fn action(&self) -> Option<&ActionDef> {
        match &self.kind {
            SlotKind::Action(action) => Some(action),
            _ => None,
        }
    }
}

impl TypeDef {
    /// `module:Type`.
    pub fn spec(&self) -> &'static str {
        self.spec
    }

    /// The module, e.g. `control`.
    pub fn module(&self) -> &'static str {
        self.spec.split_once(':').map_or("", |(module, _)| module)
    }

    /// The name without module, e.g. `NumericWritable`.
    pub fn type_name(&self) -> &'static str {
        self.spec
            .split_once(':')
            .map_or(self.spec, |(_, name)| name)
    }

    /// The direct super type; `None` for `baja:Object` and interfaces.
    pub fn super_type(&self) -> Option<&'static TypeDef> {
        self.super_type
    }

    /// The direct interfaces.
    pub fn interfaces(&self) -> &[&'static TypeDef] {
        &self.interfaces
    }

    pub fn is_abstract(&self) -> bool {
        self.is_abstract
    }

    pub fn is_interface(&self) -> bool {
        self.is_interface
    }

    pub fn is_singleton(&self) -> bool {
        self.is_singleton
    }

    pub fn is_value(&self) -> bool {
        self.is("baja:Value")
    }

    pub fn is_simple(&self) -> bool {
        self.is("baja:Simple")
    }

    pub fn is_number(&self) -> bool {
        self.is("baja:Number")
    }

    /// Struct or component.
    pub fn is_complex(&self) -> bool {
        self.is("baja:Complex")
    }

    pub fn is_struct(&self) -> bool {
        self.is("baja:Struct")
    }

    pub fn is_component(&self) -> bool {
        self.is("baja:Component")
    }

    pub fn is_link(&self) -> bool {
        self.is("baja:Link")
    }

    pub fn is_action(&self) -> bool {
        self.is("baja:Action")
    }

    pub fn is_topic(&self) -> bool {
        self.is("baja:Topic")
    }

    pub fn is_frozen_enum(&self) -> bool {
        self.is("baja:FrozenEnum")
    }

    /// The kind of control point this type is.
    pub fn point_kind(&self) -> Option<PointKind> {
        [
            ("control:NumericPoint", PointKind::Numeric),
            ("control:BooleanPoint", PointKind::Boolean),
            ("control:EnumPoint", PointKind::Enum),
            ("control:StringPoint", PointKind::String),
        ]
        .into_iter()
        .find(|(spec, _)| self.is(spec))
        .map(|(_, kind)| kind)
    }

    /// Whether this type is one of the four writables.
    pub fn is_writable_point(&self) -> bool {
        self.is("control:IWritablePoint")
    }

    /// Whether this type is `spec`, descends from it or implements it.
    pub fn is(&self, spec: &str) -> bool {
        self.spec == spec
            || self.super_type.is_some_and(|parent| parent.is(spec))
            || self.interfaces.iter().any(|interface| interface.is(spec))
    }

    /// Whether this type is `other`, descends from it or implements it.
    pub fn is_a(&self, other: &TypeDef) -> bool {
        self.is(other.spec)
    }

    /// This type and its super types, nearest first.
    pub fn ancestry(&'static self) -> Vec<&'static TypeDef> {
        std::iter::successors(Some(self), |ty| ty.super_type).collect()
    }

    /// All frozen slots in contract order, inherited ones first.
    pub fn slots(&self) -> &[SlotDef] {
        &self.slots
    }

    /// The slots this type itself declares or declares again.
    pub fn own_slots(&self) -> &[SlotDef] {
        &self.own_slots
    }

    /// A frozen slot by name.
    pub fn slot(&self, name: &str) -> Option<&SlotDef> {
        self.slots.get(self.slot_index(name)?)
    }

    /// The position of a frozen slot in [`TypeDef::slots`].
    pub fn slot_index(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// The tags of a frozen enum, in order.
    pub fn tags(&self) -> &[EnumTag] {
        &self.tags
    }

    /// The tag of an ordinal.
    pub fn tag_of(&self, ordinal: i32) -> Option<&EnumTag> {
        self.tags.iter().find(|tag| tag.ordinal == ordinal)
    }

    /// The value a new slot of this type holds; `None` for abstract types and components.
    pub fn default_value(&'static self) -> Option<Value> {
        parse::type_default(self)
    }
}

impl PartialEq for TypeDef {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec
    }
}

impl fmt::Debug for TypeDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec)
    }
}

/// All types, in the order of the data file.
pub struct Registry {
    types: Vec<&'static TypeDef>,
    by_spec: HashMap<&'static str, &'static TypeDef>,
}

static REGISTRY: LazyLock<Registry> =
    LazyLock::new(
        || match parse::read(include_str!("../../../data/types.txt")) {
            Ok(registry) => registry,
            // The table is compiled in and read by a test: a mistake in it cannot reach a user.
            Err(mistake) => panic!("data/types.txt: {mistake}"),
        },
    );

/// A type by spec.
pub fn find(spec: &str) -> Option<&'static TypeDef> {
    REGISTRY.by_spec.get(spec).copied()
}

/// All types in declaration order (super types before their subtypes).
pub fn all() -> &'static [&'static TypeDef] {
    &REGISTRY.types
}

/// The concrete types that are or implement `spec`.
pub fn concrete_types(spec: &str) -> Vec<&'static TypeDef> {
    all()
        .iter()
        .copied()
        .filter(|ty| !ty.is_abstract && !ty.is_interface && ty.is(spec))
        .collect()
}

static STATUS_TYPES: LazyLock<[&'static TypeDef; 4]> = LazyLock::new(|| {
    [
        PointKind::Numeric,
        PointKind::Boolean,
        PointKind::Enum,
        PointKind::String,
    ]
    .map(|kind| match find(kind.status_type()) {
        Some(ty) => ty,
        None => panic!("data/types.txt lacks {}", kind.status_type()),
    })
});

/// The status value type of a point kind.
pub(crate) fn status_type(kind: PointKind) -> &'static TypeDef {
    let [numeric, boolean, enumeration, string] = *STATUS_TYPES;
    match kind {
        PointKind::Numeric => numeric,
        PointKind::Boolean => boolean,
        PointKind::Enum => enumeration,
        PointKind::String => string,
    }
}

static STATUS_MEMBERS: LazyLock<(Arc<str>, Arc<str>)> =
    LazyLock::new(|| ("value".into(), "status".into()));

/// The shared member names of status values; one allocation for the whole station.
pub(crate) fn status_member_names() -> (Arc<str>, Arc<str>) {
    STATUS_MEMBERS.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestry_runs_through_super_types_and_interfaces() {
        let writable = find("control:NumericWritable").unwrap();
        assert!(
            writable.is("control:NumericPoint")
                && writable.is("control:ControlPoint")
                && writable.is("baja:Component")
        );
        assert!(writable.is("baja:IStatus") && writable.is("control:IWritablePoint"));
        assert!(!writable.is("control:BooleanPoint"));
        let specs: Vec<&str> = writable.ancestry().iter().map(|ty| ty.spec()).collect();
        assert_eq!(specs.first().copied(), Some("control:NumericWritable"));
        assert_eq!(specs.last().copied(), Some("baja:Object"));
        assert!(
            find("history:NumericIntervalHistoryExt")
                .unwrap()
                .is("history:HistoryExt")
        );
        assert!(find("baja:ConversionLink").unwrap().is_link());
        assert!(
            find("baja:Double").unwrap().is_number() && !find("baja:Double").unwrap().is_complex()
        );
        assert!(find("no:Such").is_none());
    }

    #[test]
    fn redeclared_slots_keep_the_place_of_the_first_declaration() {
        let point = find("control:NumericPoint").unwrap();
        let names: Vec<&str> = point.slots().iter().map(|slot| &*slot.name).collect();
        assert_eq!(names, ["facets", "proxyExt", "out"]);
        let own: Vec<&str> = point.own_slots().iter().map(|slot| &*slot.name).collect();
        assert_eq!(own, ["facets", "out"]);
        assert_eq!(
            point.slot("facets").unwrap().declared_in,
            "control:ControlPoint"
        );
    }

    #[test]
    fn actions_tell_their_arguments() {
        let active = find("control:BooleanWritable")
            .unwrap()
            .slot("active")
            .unwrap();
        assert_eq!(
            active.action().unwrap().parameter.unwrap().spec(),
            "control:Override"
        );
        assert!(active.flags.contains(Flags::OPERATOR));
        let auto = find("control:NumericWritable")
            .unwrap()
            .slot("emergencyAuto")
            .unwrap();
        assert!(
            auto.action().unwrap().parameter.is_none() && !auto.flags.contains(Flags::OPERATOR)
        );
    }

    #[test]
    fn unset_inputs_are_null_but_the_bare_type_is_ok() {
        let input = find("control:NumericWritable")
            .unwrap()
            .slot("in5")
            .unwrap()
            .default_value()
            .unwrap()
            .clone();
        assert_eq!(input.as_status_value().unwrap().1.encode(), "40");
        let bare = find("baja:StatusNumeric").unwrap().default_value().unwrap();
        assert_eq!(bare.as_status_value().unwrap().1.encode(), "0");
        let members: Vec<String> = bare
            .as_struct()
            .unwrap()
            .members
            .iter()
            .map(|member| member.name.to_string())
            .collect();
        assert_eq!(members, ["value", "status"]);
    }

    #[test]
    fn every_simple_default_survives_its_encoding() {
        let mut checked = 0;
        for ty in all() {
            for slot in ty.own_slots() {
                let Some(default) = slot
                    .default_value()
                    .filter(|default| default.as_struct().is_none())
                else {
                    continue;
                };
                let spec = find(default.type_spec()).unwrap();
                let back = Value::decode(spec, &default.encode());
                assert!(
                    back.is_some_and(|back| back.same_as(default)),
                    "{}.{}",
                    ty.spec(),
                    slot.name
                );
                checked += 1;
            }
        }
        assert!(checked > 200, "{checked}");
    }

    #[test]
    fn every_concrete_component_can_be_created_somewhere() {
        use crate::model::station::Station;
        let mut station = Station::new("T", chrono_tz::Tz::UTC, chrono::DateTime::UNIX_EPOCH);
        let mut parents = vec![station.root()];
        for (parent, spec) in [
            (0, "driver:DriverContainer"),
            (1, "bacnet:BacnetNetwork"),
            (0, "control:NumericWritable"),
            (0, "control:BooleanWritable"),
            (0, "control:EnumWritable"),
            (0, "control:StringWritable"),
        ] {
            parents.push(station.add(parents[parent], None, spec).unwrap());
        }
        parents.push(station.service("baja:UserService").unwrap());
        for ty in concrete_types("baja:Component") {
            if ty.is("baja:Station") || ty.is("control:AbstractProxyExt") {
                continue;
            }
            let made = parents
                .iter()
                .find_map(|parent| station.add(*parent, None, ty.spec()).ok());
            let made = made.unwrap_or_else(|| panic!("{} fits nowhere", ty.spec()));
            assert_eq!(station.slots(made).len(), ty.slots().len(), "{}", ty.spec());
        }
    }
}
