//! A value with its status, whichever interface told it: cells of a query, nodes of BOX, elements of oBIX.

use super::obix_routes::typed_value;
use super::points::{enum_tag, typed_cell};
use super::rows::Row;
use super::slot_text::{default_member, status_of};
use super::view::PointValue;
use crate::station::boxp::Node;
use crate::station::facets::Facets;
use crate::station::obix::object::Scalar;
use crate::station::obix::point::ValueReading;
use crate::station::status::StatusBits;
use crate::station::value::{Value, format_double};

/// A value with its status.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusReading {
    /// Text of the value; none when there is no value.
    pub text: Option<String>,
    pub typed: Option<PointValue>,
    pub status: StatusBits,
}

impl StatusReading {
    fn new(typed: Option<PointValue>, status: StatusBits, facets: &Facets) -> Self {
        let typed = typed.filter(|_| !status.contains(StatusBits::NULL));
        Self {
            text: typed.as_ref().map(|value| value_text(value, facets)),
            typed,
            status,
        }
    }

    /// From the columns `x.value` and `x.status`; none where the row has no such slot.
    pub(super) fn of_cells(
        row: &Row<'_>,
        value: usize,
        status: usize,
        type_spec: &str,
        facets: &Facets,
    ) -> Option<Self> {
        row.cell(status).some()?;
        // A status that cannot be read is none to rely on.
        let bits = row
            .cell(status)
            .status()
            .map_or(StatusBits::FAULT, |words| words.bits);
        let typed = typed_cell(type_spec, row.cell(value), row.format, facets);
        Some(Self::new(typed, bits, facets))
    }

    /// From a status struct; members that were left out have the defaults of their type. None for other values.
    pub(super) fn of_node(node: &Node, facets: &Facets) -> Option<Self> {
        let (type_spec, default) = default_member(node.type_name())?;
        let member = node.child("value");
        let type_spec = member
            .and_then(|member| member.type_spec.as_deref())
            .unwrap_or(type_spec);
        let text = member
            .and_then(|member| member.value.as_deref())
            .unwrap_or(default);
        let typed = match Value::decode(type_spec, text) {
            Ok(Value::Boolean(flag)) => PointValue::Boolean(flag),
            Ok(Value::Enum(choice)) => PointValue::Enum {
                tag: enum_tag(&choice, facets),
                ordinal: Some(choice.ordinal),
            },
            Ok(value) => match value.as_f64() {
                Some(number) => PointValue::Number(number),
                None => PointValue::Text(text.to_owned()),
            },
            Err(_) => PointValue::Text(text.to_owned()),
        };
        Some(Self::new(Some(typed), status_of(node).bits(), facets))
    }

    /// From an oBIX value element.
    pub(super) fn of_obix(reading: &ValueReading, facets: &Facets) -> Self {
        let mut typed = typed_value(reading);
        if let (Some(PointValue::Enum { ordinal, .. }), Scalar::Tag(tag)) =
            (&mut typed, &reading.value)
        {
            *ordinal = ordinal.or_else(|| facets.range().and_then(|range| range.ordinal(tag)));
        }
        let status = match reading.value {
            Scalar::Null => reading.status | StatusBits::NULL,
            _ => reading.status,
        };
        Self::new(typed, status, facets)
    }
}

/// The text that people see for a value: facet texts of booleans, tags, numbers with their decimals.
pub(super) fn value_text(value: &PointValue, facets: &Facets) -> String {
    match value {
        PointValue::Boolean(flag) => {
            let text = if *flag {
                facets.true_text()
            } else {
                facets.false_text()
            };
            text.map_or_else(|| flag.to_string(), str::to_owned)
        }
        PointValue::Number(number) => {
            let precision = facets
                .precision()
                .and_then(|precision| usize::try_from(precision).ok())
                .filter(|precision| *precision <= 17 && number.is_finite());
            match precision {
                Some(precision) => format!("{number:.precision$}"),
                None => format_double(*number),
            }
        }
        PointValue::Enum { tag, .. } => tag.clone(),
        PointValue::Text(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: serde_json::Value, facets: &str) -> StatusReading {
        let node = Node::decode(&json).expect("a node");
        StatusReading::of_node(&node, &facets.parse().expect("facets")).expect("a status value")
    }

    #[test]
    fn a_struct_that_left_out_its_defaults_is_read_whole() {
        let reading = read(
            json!({"n":"out","t":"baja:StatusBoolean","s":[]}),
            "falseText=s:Idle",
        );
        assert_eq!(
            (reading.text.as_deref(), reading.typed, reading.status),
            (
                Some("Idle"),
                Some(PointValue::Boolean(false)),
                StatusBits::OK
            )
        );
        let null = json!({"n":"in","t":"baja:StatusNumeric","s":[{"n":"status","t":"baja:Status","v":"40"}]});
        let reading = read(null, "");
        assert_eq!((reading.text, reading.typed), (None, None));
        let choice = json!({"n":"out","t":"baja:StatusEnum","s":[
            {"n":"value","t":"baja:DynamicEnum","v":"1@{Off=0,Not$20on=1}"},{"n":"status","t":"baja:Status","v":"20"}]});
        let reading = read(choice, "");
        assert_eq!(reading.text.as_deref(), Some("Not on"));
        assert_eq!(reading.status, StatusBits::OVERRIDDEN);
        let broken = json!({"n":"out","t":"baja:StatusNumeric","s":[{"n":"value","t":"baja:Double","v":"x"}]});
        assert_eq!(read(broken, "").typed, Some(PointValue::Text("x".into())));
    }

    #[test]
    fn numbers_have_the_decimals_of_their_facets() {
        let one: Facets = "precision=i:1".parse().expect("facets");
        assert_eq!(value_text(&PointValue::Number(21.456), &one), "21.5");
        assert_eq!(
            value_text(&PointValue::Number(21.5), &Facets::default()),
            "21.5"
        );
        assert_eq!(value_text(&PointValue::Number(f64::NAN), &one), "nan");
    }
}
