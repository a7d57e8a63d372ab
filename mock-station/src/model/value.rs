//! Slot values: simples and structs, independent of any wire format.

use super::enums::{DynamicEnum, EnumRange};
use super::facets::Facets;
use super::permissions::Permissions;
use super::registry::{self, TypeDef};
use super::status::Status;
use super::units::Unit;
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveTime};
use std::fmt;
use std::sync::Arc;

/// A value a property slot can hold.
#[derive(Clone, PartialEq)]
pub enum Value {
    Boolean(bool),
    Integer(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    String(Arc<str>),
    /// Milliseconds.
    RelTime(i64),
    /// `None` is the null time.
    AbsTime(Option<DateTime<FixedOffset>>),
    Date(NaiveDate),
    Time(NaiveTime),
    Status(Status),
    Facets(Arc<Facets>),
    Unit(Unit),
    FrozenEnum(FrozenEnum),
    DynamicEnum(DynamicEnum),
    EnumRange(Arc<EnumRange>),
    Ord(Arc<str>),
    OrdList(Arc<Vec<String>>),
    Icon(Arc<Vec<String>>),
    Format(Arc<str>),
    TypeSpec(Arc<str>),
    TimeZone(Arc<str>),
    Permissions(Permissions),
    /// A password slot: it holds nothing that could be read back.
    Password,
    NameMap(Arc<Vec<(String, String)>>),
    WsAnnotation {
        x: i32,
        y: i32,
        width: i32,
    },
    Marker,
    /// Any other simple, by its encoding.
    Other(&'static TypeDef, Arc<str>),
    Struct(StructValue),
}

/// One value of a frozen enum type.
#[derive(Clone, Copy)]
pub struct FrozenEnum {
    pub ty: &'static TypeDef,
    pub ordinal: i32,
}

impl PartialEq for FrozenEnum {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.ty, other.ty) && self.ordinal == other.ordinal
    }
}

impl FrozenEnum {
    /// The tag of the ordinal, or the ordinal as text if the type does not name it.
    pub fn tag(&self) -> String {
        self.ty
            .tag_of(self.ordinal)
            .map_or_else(|| self.ordinal.to_string(), |tag| tag.tag.clone())
    }
}

/// A struct: an ordered list of member slots.
#[derive(Clone)]
pub struct StructValue {
    pub ty: &'static TypeDef,
    pub members: Vec<Member>,
}

/// One slot of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: Arc<str>,
    pub value: Value,
}

impl PartialEq for StructValue {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.ty, other.ty) && self.members == other.members
    }
}

impl StructValue {
    /// A struct of type `ty` with its default members.
    pub fn new(ty: &'static TypeDef) -> Self {
        let members = ty
            .slots()
            .iter()
            .filter_map(|slot| {
                Some(Member {
                    name: slot.name.clone(),
                    value: slot.default_value()?.clone(),
                })
            })
            .collect();
        Self { ty, members }
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members
            .iter()
            .find(|member| &*member.name == name)
            .map(|member| &member.value)
    }

    /// The member for changing it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.members
            .iter_mut()
            .find(|member| &*member.name == name)
            .map(|member| &mut member.value)
    }

    /// Sets a member, adding it as a dynamic slot if the type does not have it.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.get_mut(name) {
            Some(slot) => *slot = value,
            None => self.members.push(Member {
                name: name.into(),
                value,
            }),
        }
    }

    /// Takes over the members of `other`, which may have left some out at any depth: those keep what they held.
    pub fn merge(&mut self, other: StructValue) {
        for member in other.members {
            match (self.get_mut(&member.name), member.value) {
                (Some(Value::Struct(held)), Value::Struct(new))
                    if std::ptr::eq(held.ty, new.ty) =>
                {
                    held.merge(new);
                }
                (_, value) => self.set(&member.name, value.completed()),
            }
        }
    }

    /// This struct with `name` set.
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.set(name, value);
        self
    }
}

/// The kind of a control point and of its status values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PointKind {
    Numeric,
    Boolean,
    Enum,
    String,
}

impl PointKind {
    /// `baja:StatusNumeric` and the like.
    pub fn status_type(self) -> &'static str {
        match self {
            PointKind::Numeric => "baja:StatusNumeric",
            PointKind::Boolean => "baja:StatusBoolean",
            PointKind::Enum => "baja:StatusEnum",
            PointKind::String => "baja:StatusString",
        }
    }

    /// The kind of a status value type.
    pub fn of_status_type(spec: &str) -> Option<Self> {
        [
            PointKind::Numeric,
            PointKind::Boolean,
            PointKind::Enum,
            PointKind::String,
        ]
        .into_iter()
        .find(|kind| kind.status_type() == spec)
    }

    /// The value a slot of this kind has before anything set it.
    pub fn default_value(self) -> Value {
        match self {
            PointKind::Numeric => Value::Double(0.0),
            PointKind::Boolean => Value::Boolean(false),
            PointKind::Enum => Value::DynamicEnum(DynamicEnum::default()),
            PointKind::String => Value::from(""),
        }
    }
}

impl Value {
    /// A struct of the type's defaults; `None` if `spec` is no struct type.
    pub fn struct_of(spec: &str) -> Option<Self> {
        registry::find(spec)
            .filter(|ty| ty.is_struct())
            .map(|ty| Value::Struct(StructValue::new(ty)))
    }

    /// A status value of `kind`, e.g. `baja:StatusNumeric`.
    pub fn status_value(kind: PointKind, value: Value, status: Status) -> Self {
        let (value_name, status_name) = registry::status_member_names();
        Value::Struct(StructValue {
            ty: registry::status_type(kind),
            members: vec![
                Member {
                    name: value_name,
                    value,
                },
                Member {
                    name: status_name,
                    value: Value::Status(status),
                },
            ],
        })
    }

    /// `baja:StatusNumeric`.
    pub fn status_numeric(value: f64, status: Status) -> Self {
        Self::status_value(PointKind::Numeric, Value::Double(value), status)
    }

    /// `baja:StatusBoolean`.
    pub fn status_boolean(value: bool, status: Status) -> Self {
        Self::status_value(PointKind::Boolean, Value::Boolean(value), status)
    }

    /// The (value, status) of a status value struct; `None` for anything else.
    pub fn as_status_value(&self) -> Option<(&Value, &Status)> {
        let Value::Struct(body) = self else {
            return None;
        };
        match (body.get("value")?, body.get("status")?) {
            (value, Value::Status(status)) => Some((value, status)),
            _ => None,
        }
    }

    /// The number in a numeric simple, a boolean (0/1), an enum (ordinal) or a status value of these.
    pub fn as_f64(&self) -> Option<f64> {
        Some(match self {
            Value::Double(number) => *number,
            Value::Float(number) => f64::from(*number),
            Value::Integer(number) => f64::from(*number),
            Value::Long(number) | Value::RelTime(number) => *number as f64,
            Value::Boolean(flag) => f64::from(u8::from(*flag)),
            Value::DynamicEnum(value) => f64::from(value.ordinal),
            Value::FrozenEnum(value) => f64::from(value.ordinal),
            Value::Struct(_) => self.as_status_value()?.0.as_f64()?,
            _ => return None,
        })
    }

    /// The truth of a boolean, a number (non-zero), an enum (non-zero ordinal) or a status value of these.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Boolean(flag) => Some(*flag),
            Value::String(text) => match &**text {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            },
            other => other.as_f64().map(|number| number != 0.0),
        }
    }

    /// The text of a string-like simple.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text)
            | Value::Ord(text)
            | Value::Format(text)
            | Value::TypeSpec(text)
            | Value::TimeZone(text)
            | Value::Other(_, text) => Some(text),
            _ => None,
        }
    }

    /// The struct behind this value.
    pub fn as_struct(&self) -> Option<&StructValue> {
        match self {
            Value::Struct(body) => Some(body),
            _ => None,
        }
    }

    /// The member at a `/`-separated path; the empty path is the value itself.
    pub fn member(&self, path: &str) -> Option<&Value> {
        path.split('/')
            .filter(|step| !step.is_empty())
            .try_fold(self, |value, step| value.as_struct()?.get(step))
    }

    /// This value with every member a struct left out at its default, at all depths.
    pub fn completed(self) -> Value {
        match self {
            Value::Struct(body) => {
                let mut whole = StructValue::new(body.ty);
                whole.merge(body);
                Value::Struct(whole)
            }
            simple => simple,
        }
    }

    /// The type spec, e.g. `baja:Double`.
    pub fn type_spec(&self) -> &'static str {
        match self {
            Value::Boolean(_) => "baja:Boolean",
            Value::Integer(_) => "baja:Integer",
            Value::Long(_) => "baja:Long",
            Value::Float(_) => "baja:Float",
            Value::Double(_) => "baja:Double",
            Value::String(_) => "baja:String",
            Value::RelTime(_) => "baja:RelTime",
            Value::AbsTime(_) => "baja:AbsTime",
            Value::Date(_) => "baja:Date",
            Value::Time(_) => "baja:Time",
            Value::Status(_) => "baja:Status",
            Value::Facets(_) => "baja:Facets",
            Value::Unit(_) => "baja:Unit",
            Value::FrozenEnum(value) => value.ty.spec(),
            Value::DynamicEnum(_) => "baja:DynamicEnum",
            Value::EnumRange(_) => "baja:EnumRange",
            Value::Ord(_) => "baja:Ord",
            Value::OrdList(_) => "baja:OrdList",
            Value::Icon(_) => "baja:Icon",
            Value::Format(_) => "baja:Format",
            Value::TypeSpec(_) => "baja:TypeSpec",
            Value::TimeZone(_) => "baja:TimeZone",
            Value::Permissions(_) => "baja:Permissions",
            Value::Password => "baja:Password",
            Value::NameMap(_) => "baja:NameMap",
            Value::WsAnnotation { .. } => "baja:WsAnnotation",
            Value::Marker => "baja:Marker",
            Value::Other(ty, _) => ty.spec(),
            Value::Struct(body) => body.ty.spec(),
        }
    }

    /// Equality as the station means it when it leaves defaults out: NaN equals NaN.
    pub fn same_as(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Double(a), Value::Double(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Value::Float(a), Value::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Value::Struct(a), Value::Struct(b)) => {
                std::ptr::eq(a.ty, b.ty)
                    && a.members.len() == b.members.len()
                    && a.members
                        .iter()
                        .zip(&b.members)
                        .all(|(x, y)| x.name == y.name && x.value.same_as(&y.value))
            }
            _ => self == other,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text.into())
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Boolean(flag)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Double(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Value::Integer(number)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Struct(body) => write!(f, "{body:?}"),
            simple => write!(f, "{}({})", simple.type_spec(), simple.encode()),
        }
    }
}

impl fmt::Debug for StructValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{{", self.ty.spec())?;
        for member in &self.members {
            write!(f, "{}: {:?}, ", member.name, member.value)?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for FrozenEnum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.ty.spec(), self.tag())
    }
}
