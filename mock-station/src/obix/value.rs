//! Station values as value elements (oBIX specification §2, §4.4, §5.1).

use super::contract;
use super::element::Element;
use super::scope::Scope;
use super::time::{abstime, duration_text, real_text};
use crate::model::display::display;
use crate::model::{EnumRange, Facets, PointKind, Status, StructValue, Value};

/// What applies to a value from outside.
pub struct Setting<'a> {
    pub facets: &'a Facets,
    /// Href of the slot relative to the base of the document (`out/`), in front of `~range` and `~bool`.
    pub slot_href: &'a str,
}

/// The element name of a kind of point.
pub fn tag(kind: PointKind) -> &'static str {
    match kind {
        PointKind::Numeric => "real",
        PointKind::Boolean => "bool",
        PointKind::Enum => "enum",
        PointKind::String => "str",
    }
}

/// A value as an element without a name.
pub fn element(scope: &Scope<'_>, value: &Value, setting: &Setting<'_>) -> Element {
    let element = match value {
        Value::Struct(body) => match value.as_status_value() {
            Some((inner, status)) => status_value(scope, body, inner, status, setting),
            None => structure(scope, body),
        },
        Value::AbsTime(time) => abstime(time.map(|time| time.to_utc()), scope.station.zone()),
        simple => {
            let mut element = bare(simple, setting);
            if matches!(simple, Value::Facets(facets) if facets.is_empty()) {
                element.set("null", "true");
            }
            element
        }
    };
    element.with("display", display(value, setting.facets, &scope.display))
}

fn status_value(
    scope: &Scope<'_>,
    body: &StructValue,
    inner: &Value,
    status: &Status,
    setting: &Setting<'_>,
) -> Element {
    let null = status.has(Status::NULL);
    let mut element = bare(inner, setting);
    if null && let Value::DynamicEnum(value) = inner {
        let range = named_range(&value.range, setting.facets);
        if range.tag(value.ordinal).is_none()
            && let Some((first, _)) = range.entries().into_iter().next()
        {
            element.set("val", first);
        }
    }
    if matches!(inner, Value::Boolean(_)) {
        element.set("range", format!("{}~bool", setting.slot_href));
    }
    element.set("is", contract::of_type(body.ty.spec()));
    if null {
        element.set("null", "true");
    }
    if scope.status_attribute
        && let Some(word) = status_word(status)
    {
        element.set("status", word);
    }
    element
}

/// A value without display, status and null: as records of histories have it.
pub fn bare(value: &Value, setting: &Setting<'_>) -> Element {
    let (tag, text) = match value {
        Value::Boolean(flag) => ("bool", flag.to_string()),
        Value::Integer(_) | Value::Long(_) => ("int", value.encode()),
        Value::Float(number) => ("real", real_text(f64::from(*number))),
        Value::Double(number) => ("real", real_text(*number)),
        Value::RelTime(millis) => ("reltime", duration_text(*millis)),
        Value::Ord(_) => ("uri", value.encode()),
        Value::Date(_) => ("date", value.encode()),
        Value::Time(_) => ("time", value.encode()),
        Value::FrozenEnum(member) => ("enum", member.tag()),
        Value::DynamicEnum(member) => {
            let range = named_range(&member.range, setting.facets);
            let tag = range.tag(member.ordinal);
            ("enum", tag.unwrap_or_else(|| member.ordinal.to_string()))
        }
        other => ("str", other.encode()),
    };
    let element = Element::new(tag).with("val", text);
    match value {
        Value::FrozenEnum(member) => element.with(
            "range",
            format!("{}/~range", contract::of_type(member.ty.spec())),
        ),
        Value::DynamicEnum(member) => {
            let range = named_range(&member.range, setting.facets);
            match (&range.frozen, range.tags.is_empty()) {
                (Some(frozen), true) => {
                    element.with("range", format!("{}/~range", contract::of_type(frozen)))
                }
                _ => element.with("range", format!("{}~range", setting.slot_href)),
            }
        }
        Value::Boolean(_) if setting.facets.text("trueText").is_some() => {
            element.with("range", format!("{}~bool", setting.slot_href))
        }
        Value::Float(_) | Value::Double(_) | Value::Integer(_) | Value::Long(_) => {
            element.with_some("unit", unit(setting.facets))
        }
        _ => element,
    }
}

/// `obix:units/celsius`; the null unit is named too, facets without a unit give nothing (§2.2).
pub fn unit(facets: &Facets) -> Option<String> {
    match facets.get("units")? {
        Value::Unit(unit) if unit.is_null() => Some("obix:units/null".to_owned()),
        Value::Unit(unit) => Some(format!("obix:units/{}", unit.name)),
        _ => None,
    }
}

/// The range that names the tags: the facets' where they have one, else the value's own.
pub fn named_range<'a>(own: &'a EnumRange, facets: &'a Facets) -> &'a EnumRange {
    match facets.enum_range() {
        Some(range) if !range.is_empty() => range,
        _ => own,
    }
}

/// The most urgent word of a status; none for ok, stale and null, which have no oBIX status (§2.3).
fn status_word(status: &Status) -> Option<&'static str> {
    let has = |bits| status.has(bits);
    Some(match status {
        _ if has(Status::DISABLED) => "disabled",
        _ if has(Status::FAULT) => "fault",
        _ if has(Status::DOWN) => "down",
        _ if has(Status::ALARM) && has(Status::UNACKED_ALARM) => "unackedAlarm",
        _ if has(Status::ALARM) => "alarm",
        _ if has(Status::UNACKED_ALARM) => "unacked",
        _ if has(Status::OVERRIDDEN) => "overridden",
        _ => return None,
    })
}

/// Sets `status` from a status property of a component.
pub fn set_status(scope: &Scope<'_>, element: &mut Element, status: &Status) {
    if scope.status_attribute
        && let Some(word) = status_word(status)
    {
        element.set("status", word);
    }
}

/// A struct with its members in place.
fn structure(scope: &Scope<'_>, body: &StructValue) -> Element {
    let none = Facets::new();
    let mut object = Element::new("obj").with("is", contract::of_type(body.ty.spec()));
    for member in &body.members {
        let href = format!("{}/", member.name);
        let setting = Setting {
            facets: &none,
            slot_href: &href,
        };
        let shown = element(scope, &member.value, &setting).into_member(&member.name);
        object.children.push(shown);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_status_is_sent() {
        let word = |bits| status_word(&Status::from_bits(bits));
        assert_eq!(word(0xff), Some("disabled"));
        assert_eq!(word(0xfe), Some("fault"));
        assert_eq!(word(0xfc), Some("down"));
        assert_eq!(word(0xf8), Some("unackedAlarm"));
        assert_eq!(word(0x38), Some("alarm"));
        assert_eq!(word(0xa0), Some("unacked"));
        assert_eq!(word(0x60), Some("overridden"));
        assert_eq!(word(0x50), None, "stale and null have no oBIX status");
        assert_eq!(word(0), None);
    }
}
