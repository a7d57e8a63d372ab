//! The text of a slot whose display text the station did not send, because it holds the default of its contract
//! (Tool surface §13.5.1, "merged slots").

use super::points::enum_tag;
use crate::station::boxp::Node;
use crate::station::facets::Facets;
use crate::station::status::{Status, StatusBits};
use crate::station::value::Value;

/// The station's display text, else the encoded value, else the text of a struct; none for a slot that tells nothing.
pub(super) fn slot_text(slot: &Node, facets: &Facets) -> Option<String> {
    slot.display
        .clone()
        .or_else(|| slot.value.as_deref().map(|text| simple_text(slot, text)))
        .or_else(|| struct_text(slot, facets))
}

/// Status and facets as stations show them, other simples in their encoding, which people can read.
fn simple_text(slot: &Node, text: &str) -> String {
    let shown = match slot.type_name() {
        "baja:Status" => text
            .parse::<Status>()
            .ok()
            .map(|status| status.bits().to_string()),
        "baja:Facets" => text.parse::<Facets>().ok().map(|facets| facets.display()),
        _ => None,
    };
    shown.unwrap_or_else(|| text.to_owned())
}

/// Status values as stations print them, other structs by their members.
fn struct_text(slot: &Node, facets: &Facets) -> Option<String> {
    let type_name = slot.type_name();
    let Some(default) = default_member(type_name) else {
        let members: Vec<String> = slot
            .properties()
            .filter_map(|member| {
                let text = slot_text(member, &Facets::default())?;
                Some(format!("{}={text}", member.slot_name()))
            })
            .collect();
        return if members.is_empty() {
            let name = type_name.rsplit(':').next().unwrap_or_default();
            (!name.is_empty()).then(|| name.to_owned())
        } else {
            Some(members.join(", "))
        };
    };
    let status = status_of(slot);
    let words = if status.is_ok() {
        "ok".to_owned()
    } else {
        status.bits().names().join(",")
    };
    let value = if status.bits().contains(StatusBits::NULL) {
        "-".to_owned()
    } else {
        member_text(slot.child("value"), default, facets)
    };
    let level = status
        .active_level()
        .map(|level| format!(" @ {level}"))
        .unwrap_or_default();
    Some(format!("{value} {{{words}}}{level}"))
}

/// An input that was not sent at all commands nothing; a member that was left out has its type's default
/// (Station web specification §5.6).
pub(super) fn status_of(slot: &Node) -> Status {
    if !slot.is_loaded && is_priority_slot(slot.slot_name()) {
        return StatusBits::NULL.into();
    }
    slot.child("status")
        .and_then(|status| status.value.as_deref())
        .map(|text| text.parse().unwrap_or(StatusBits::FAULT.into()))
        .unwrap_or_default()
}

/// Whether the slot is an input of the priority array, or its fallback.
pub(super) fn is_priority_slot(name: &str) -> bool {
    name == "fallback"
        || name.strip_prefix("in").is_some_and(|level| {
            level
                .parse::<u8>()
                .is_ok_and(|level| (1..=16).contains(&level))
        })
}

/// Type and encoded default of a status struct's value.
pub(super) fn default_member(type_name: &str) -> Option<(&'static str, &'static str)> {
    Some(match type_name {
        "baja:StatusNumeric" => ("baja:Double", "0.0"),
        "baja:StatusBoolean" => ("baja:Boolean", "false"),
        "baja:StatusEnum" => ("baja:DynamicEnum", "0"),
        "baja:StatusString" => ("baja:String", ""),
        _ => return None,
    })
}

fn member_text(member: Option<&Node>, default: (&str, &str), facets: &Facets) -> String {
    if let Some(shown) = member.and_then(|member| member.display.clone()) {
        return shown;
    }
    let type_spec = member
        .and_then(|member| member.type_spec.as_deref())
        .unwrap_or(default.0);
    let text = member
        .and_then(|member| member.value.as_deref())
        .unwrap_or(default.1);
    match Value::decode(type_spec, text) {
        Ok(value) => with_unit(shown_text(&value, facets), &value, facets),
        Err(_) => text.to_owned(),
    }
}

/// Decimals of a number whose facets name none.
const USUAL_DECIMALS: usize = 2;

/// A value as a station shows it to an English account, without its unit: facet texts of booleans, tags, numbers with
/// their decimals.
pub(super) fn shown_text(value: &Value, facets: &Facets) -> String {
    let number = match value {
        Value::Boolean(flag) => {
            let own = if *flag {
                facets.true_text()
            } else {
                facets.false_text()
            };
            return own.map_or_else(|| flag.to_string(), str::to_owned);
        }
        Value::Enum(choice) => return enum_tag(choice, facets),
        Value::Double(number) => *number,
        Value::Float(number) => f64::from(*number),
        other => return other.encode(),
    };
    if !number.is_finite() {
        return value.encode();
    }
    let decimals = facets
        .precision()
        .and_then(|precision| usize::try_from(precision).ok())
        .unwrap_or(USUAL_DECIMALS)
        .min(17);
    format!("{number:.decimals$}")
}

/// The text of a value with its unit, where it is a number that has one.
pub(super) fn with_unit(text: String, value: &Value, facets: &Facets) -> String {
    match unit_beside_values(facets).filter(|_| value.as_f64().is_some()) {
        Some(unit) => format!("{text} {unit}"),
        None => text,
    }
}

/// The symbol of a unit, else its name; none for the null unit.
pub(super) fn unit_beside_values(facets: &Facets) -> Option<&str> {
    let unit = facets.unit().filter(|unit| !unit.is_null())?;
    Some(match unit.symbol() {
        "" => unit.name(),
        symbol => symbol,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(json: serde_json::Value, facets: &str) -> Option<String> {
        let node = Node::decode(&json).expect("a node");
        slot_text(&node, &facets.parse().expect("facets"))
    }

    #[test]
    fn what_the_station_sent_comes_first() {
        let sent = json!({"n":"out","t":"baja:StatusNumeric","d":"1.0 {ok}","s":[{"n":"value","v":"2.0"}]});
        assert_eq!(text(sent, "").as_deref(), Some("1.0 {ok}"));
        for (type_spec, encoded, shown) in [
            ("baja:Double", "2.5", "2.5"),
            ("baja:String", "0", "0"),
            ("baja:Status", "0", "{ok}"),
            ("baja:Status", "14", "{down,stale}"),
        ] {
            let simple = json!({"n":"a","t":type_spec,"v":encoded});
            assert_eq!(text(simple, "").as_deref(), Some(shown));
        }
    }

    #[test]
    fn an_unset_input_is_null_and_a_status_struct_has_its_defaults() {
        let unset = json!({"n":"in8","t":"baja:StatusNumeric","s":[
            {"n":"value","t":"baja:Double","v":"0.0"},{"n":"status","t":"baja:Status","v":"40"}]});
        assert_eq!(text(unset, "").as_deref(), Some("- {null}"));
        let bare = json!({"n":"in8","t":"baja:StatusBoolean"});
        assert_eq!(text(bare, "").as_deref(), Some("- {null}"));
        for (type_spec, facets, expected) in [
            ("baja:StatusNumeric", "", "0.00 {ok}"),
            (
                "baja:StatusNumeric",
                "units=u:cubic feet per minute;cfm;;;|precision=i:0",
                "0 cfm {ok}",
            ),
            (
                "baja:StatusNumeric",
                "units=u:celsius;°C;(K);+273.15;|precision=i:2",
                "0.00 °C {ok}",
            ),
            ("baja:StatusBoolean", "falseText=s:Not$20on", "Not on {ok}"),
            ("baja:StatusEnum", "range=E:{Off=0,On=1}", "Off {ok}"),
            ("baja:StatusEnum", "", "0 {ok}"),
            ("baja:StatusString", "", " {ok}"),
        ] {
            let default = json!({"n":"out","t":type_spec,"s":[]});
            assert_eq!(text(default, facets).as_deref(), Some(expected));
        }
        let alarm = json!({"n":"out","t":"baja:StatusNumeric","s":[
            {"n":"value","t":"baja:Double","v":"21.5"},
            {"n":"status","t":"baja:Status","v":"8;activeLevel=e:17@control:PriorityLevel"}]});
        assert_eq!(text(alarm, "").as_deref(), Some("21.50 {alarm} @ def"));
    }

    #[test]
    fn other_structs_show_their_members_or_their_type() {
        let members = json!({"n":"o","t":"control:NumericOverride","s":[
            {"n":"duration","t":"baja:RelTime","v":"60000"},{"n":"value","t":"baja:Double","v":"1.5"}]});
        assert_eq!(
            text(members, "").as_deref(),
            Some("duration=60000, value=1.5")
        );
        assert_eq!(
            text(json!({"n":"o","t":"control:Override","s":[]}), "").as_deref(),
            Some("Override")
        );
        assert_eq!(text(json!({"n":"o"}), ""), None);
    }
}
