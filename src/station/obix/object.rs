//! oBIX objects as a station sends them: one element, its attributes, its children.
//!
//! An [`Object`] keeps every lexical form as received; typed access ([`Object::scalar`], in `scalar.rs`) parses on
//! demand, so that one unreadable value never spoils the list it stands in.

use chrono_tz::Tz;

pub use super::scalar::Scalar;

/// The kinds of element of the oBIX object model (oBIX specification §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    Obj,
    Bool,
    Int,
    Real,
    Str,
    Enum,
    Uri,
    Abstime,
    Reltime,
    Date,
    Time,
    List,
    Op,
    Feed,
    Ref,
    Err,
}

impl Element {
    /// The element of this local name, if it belongs to oBIX.
    pub fn from_local_name(name: &str) -> Option<Self> {
        Some(match name {
            "obj" => Self::Obj,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "real" => Self::Real,
            "str" => Self::Str,
            "enum" => Self::Enum,
            "uri" => Self::Uri,
            "abstime" => Self::Abstime,
            "reltime" => Self::Reltime,
            "date" => Self::Date,
            "time" => Self::Time,
            "list" => Self::List,
            "op" => Self::Op,
            "feed" => Self::Feed,
            "ref" => Self::Ref,
            "err" => Self::Err,
            _ => return None,
        })
    }

    /// The element's local name.
    pub fn local_name(self) -> &'static str {
        match self {
            Self::Obj => "obj",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Real => "real",
            Self::Str => "str",
            Self::Enum => "enum",
            Self::Uri => "uri",
            Self::Abstime => "abstime",
            Self::Reltime => "reltime",
            Self::Date => "date",
            Self::Time => "time",
            Self::List => "list",
            Self::Op => "op",
            Self::Feed => "feed",
            Self::Ref => "ref",
            Self::Err => "err",
        }
    }

    /// Whether the element carries its value in `val` (oBIX specification §2.1).
    pub fn is_value(self) -> bool {
        matches!(
            self,
            Self::Bool
                | Self::Int
                | Self::Real
                | Self::Str
                | Self::Enum
                | Self::Uri
                | Self::Abstime
                | Self::Reltime
                | Self::Date
                | Self::Time
        )
    }
}

/// The attributes that mean something to a client (oBIX specification §2.2); others are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    Name,
    Href,
    Val,
    Is,
    Of,
    In,
    Out,
    Null,
    Display,
    DisplayName,
    Icon,
    Min,
    Max,
    Precision,
    Range,
    Unit,
    Tz,
    Status,
    Writable,
}

impl Attribute {
    /// The attribute of this local name; `isNull` and `units` are the spellings of older stations.
    pub fn from_local_name(name: &str) -> Option<Self> {
        Some(match name {
            "name" => Self::Name,
            "href" => Self::Href,
            "val" => Self::Val,
            "is" => Self::Is,
            "of" => Self::Of,
            "in" => Self::In,
            "out" => Self::Out,
            "null" | "isNull" => Self::Null,
            "display" => Self::Display,
            "displayName" => Self::DisplayName,
            "icon" => Self::Icon,
            "min" => Self::Min,
            "max" => Self::Max,
            "precision" => Self::Precision,
            "range" => Self::Range,
            "unit" | "units" => Self::Unit,
            "tz" => Self::Tz,
            "status" => Self::Status,
            "writable" => Self::Writable,
            _ => return None,
        })
    }

    /// The attribute's name in the standard.
    pub fn local_name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Href => "href",
            Self::Val => "val",
            Self::Is => "is",
            Self::Of => "of",
            Self::In => "in",
            Self::Out => "out",
            Self::Null => "null",
            Self::Display => "display",
            Self::DisplayName => "displayName",
            Self::Icon => "icon",
            Self::Min => "min",
            Self::Max => "max",
            Self::Precision => "precision",
            Self::Range => "range",
            Self::Unit => "unit",
            Self::Tz => "tz",
            Self::Status => "status",
            Self::Writable => "writable",
        }
    }
}

/// One oBIX object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    pub element: Element,
    attributes: Vec<(Attribute, Box<str>)>,
    pub children: Vec<Object>,
}

impl Object {
    /// An object without attributes or children.
    pub fn new(element: Element) -> Self {
        Self {
            element,
            attributes: Vec::new(),
            children: Vec::new(),
        }
    }

    /// The same object with an attribute more.
    pub fn with(mut self, attribute: Attribute, text: impl Into<Box<str>>) -> Self {
        self.set(attribute, text);
        self
    }

    /// The same object with a child more.
    pub fn with_child(mut self, child: Object) -> Self {
        self.children.push(child);
        self
    }

    /// All attributes in the order of the document.
    pub fn attributes(&self) -> impl Iterator<Item = (Attribute, &str)> {
        self.attributes
            .iter()
            .map(|(attribute, text)| (*attribute, &**text))
    }

    /// Adds an attribute; the first one of a kind counts.
    pub fn set(&mut self, attribute: Attribute, text: impl Into<Box<str>>) {
        self.attributes.push((attribute, text.into()));
    }

    /// An attribute's text as received.
    pub fn attribute(&self, attribute: Attribute) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(kind, _)| *kind == attribute)
            .map(|(_, text)| &**text)
    }

    /// Name within the parent: the escaped slot name on a Niagara station.
    pub fn name(&self) -> Option<&str> {
        self.attribute(Attribute::Name)
    }

    /// Reference as written; resolve it with [`super::href`].
    pub fn href(&self) -> Option<&str> {
        self.attribute(Attribute::Href)
    }

    /// Value text as written.
    pub fn val(&self) -> Option<&str> {
        self.attribute(Attribute::Val)
    }

    /// Formatted text in the language of the station's user.
    pub fn display(&self) -> Option<&str> {
        self.attribute(Attribute::Display)
    }

    /// Name in the language of the station's user.
    pub fn display_name(&self) -> Option<&str> {
        self.attribute(Attribute::DisplayName)
    }

    /// Whether the object has no value, whatever `val` says (oBIX specification §2.2).
    ///
    /// A time whose text is `null` counts too: stations send it for empty histories.
    pub fn is_null(&self) -> bool {
        if self
            .attribute(Attribute::Null)
            .is_some_and(|text| matches!(text.trim(), "true" | "1"))
        {
            return true;
        }
        matches!(
            self.element,
            Element::Abstime | Element::Date | Element::Time
        ) && self
            .val()
            .is_some_and(|text| text.trim().eq_ignore_ascii_case("null"))
    }

    /// Whether this user may PUT the value; says nothing about points (oBIX specification §6.1).
    pub fn is_writable(&self) -> bool {
        self.attribute(Attribute::Writable)
            .is_some_and(|text| matches!(text.trim(), "true" | "1"))
    }

    /// Contracts of `is`, most specific first.
    pub fn contracts(&self) -> impl Iterator<Item = &str> {
        self.attribute(Attribute::Is)
            .unwrap_or_default()
            .split_whitespace()
    }

    /// Whether the object implements a contract; `/obix/def/` before it and letter case of the
    /// prefix are ignored.
    pub fn implements(&self, contract: &str) -> bool {
        self.contracts()
            .any(|candidate| contract_name(candidate) == contract)
    }

    /// The Niagara type of the object: its first contract behind `/obix/def/`.
    pub fn type_spec(&self) -> Option<&str> {
        self.contracts()
            .find(|candidate| candidate.contains("/def/"))
            .map(contract_name)
    }

    /// The Niagara type of a property: its contract, else the type whose values stations send as such an element
    /// (oBIX specification §4.4). None where several types are sent alike.
    pub fn value_type(&self) -> Option<String> {
        if let Some(own) = self.type_spec() {
            return Some(own.to_owned());
        }
        let usual = match self.element {
            Element::Bool => "baja:Boolean",
            Element::Int => match self.val()?.trim().parse::<i32>() {
                Ok(_) => "baja:Integer",
                Err(_) => "baja:Long",
            },
            Element::Real => "baja:Double",
            // Every simple type without an element of its own is sent as text.
            Element::Str => match self.name()? {
                "facets" => "baja:Facets",
                "status" | "propagateFlags" => "baja:Status",
                _ => return None,
            },
            // The range of a frozen enumeration is named after its type (oBIX specification §5.6).
            Element::Enum => {
                let range = self.attribute(Attribute::Range)?;
                let own = range.trim_end_matches('/').strip_suffix("~range")?;
                return match own.contains("/def/") {
                    true => Some(contract_name(own).to_owned()),
                    false => Some("baja:DynamicEnum".to_owned()),
                };
            }
            Element::Uri => "baja:Ord",
            Element::Abstime => "baja:AbsTime",
            Element::Reltime => "baja:RelTime",
            Element::Date => "baja:Date",
            Element::Time => "baja:Time",
            Element::Obj
            | Element::List
            | Element::Op
            | Element::Feed
            | Element::Ref
            | Element::Err => {
                return None;
            }
        };
        Some(usual.to_owned())
    }

    /// Unit name without `obix:units/`; `None` also for the null unit.
    pub fn unit_name(&self) -> Option<&str> {
        let text = self.attribute(Attribute::Unit)?.trim();
        let name = text
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(text);
        (!name.is_empty() && name != "null").then_some(name)
    }

    /// Zone of a time value, when it names a zone of the time-zone database.
    pub fn zone(&self) -> Option<Tz> {
        self.attribute(Attribute::Tz)
            .and_then(|text| text.trim().parse().ok())
    }

    /// The first child of this name.
    pub fn child(&self, name: &str) -> Option<&Object> {
        self.children
            .iter()
            .find(|child| child.name() == Some(name))
    }
}

/// A contract without the `/obix/def/` that stations write before their own types.
pub fn contract_name(contract: &str) -> &str {
    contract
        .trim_end_matches('/')
        .rsplit("/def/")
        .next()
        .unwrap_or(contract)
}

/// At most 80 characters of a text, for messages.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contracts_are_matched_without_the_definition_path() {
        let mut object = Object::new(Element::Real);
        object.set(
            Attribute::Is,
            "/obix/def/control:NumericWritable /obix/def/control:NumericPoint obix:Point",
        );
        assert!(object.implements("control:NumericPoint"));
        assert!(object.implements("obix:Point"));
        assert!(!object.implements("control:BooleanPoint"));
        assert_eq!(object.type_spec(), Some("control:NumericWritable"));
    }
}
