//! The output of one control point (Tool surface §13.5.2, readPoint).

use std::ops::ControlFlow;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::prefer;
use super::slot_text::{shown_text, unit_beside_values, with_unit};
use super::view::{PointFacets, PointReading, PointValue};
use crate::station::boxp::PointView;
use crate::station::boxp::types::display_name;
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::obix::display::{FlagTranslations, parse_display};
use crate::station::ord::{Ord, SlotPath, unescape};
use crate::station::status::StatusBits;
use crate::station::value::{DynamicEnum, Value};
use crate::station::web::cell::{Cell, CellFormat};

impl StationFacade {
    /// Reads the output of a control point: BOX, else BQL, else oBIX.
    ///
    /// # Errors
    /// [`FacadeError::NotAPoint`] for another kind of object.
    pub async fn read_point(&self, scope: &CallScope, ord: &Ord) -> FacadeResult<PointReading> {
        let error = match self.point_by_box(scope, ord).await {
            Err(error) if self.may_fall_back(&error) => error,
            outcome => return outcome,
        };
        let path = self
            .slot_path(scope, ord)
            .await
            .map_err(|_| error.clone())?;
        let error = match self.point_by_query(scope, &path).await {
            Err(second) if self.may_fall_back(&second) => prefer(error, second),
            outcome => return outcome,
        };
        self.point_by_obix(scope, &path)
            .await
            .map_err(|third| prefer(error, third))
    }

    async fn point_by_box(&self, scope: &CallScope, ord: &Ord) -> FacadeResult<PointReading> {
        let node = self.resolve(scope, ord).await?;
        let type_spec = node.type_name().to_owned();
        let not_a_point = || FacadeError::NotAPoint {
            ord: ord.absolute(),
            type_spec: type_spec.clone(),
        };
        if node.handle.is_none() {
            return Err(not_a_point());
        }
        match self.boxp().ancestry(scope, &type_spec).await {
            Ok(ancestry) if !ancestry.is_point() => return Err(not_a_point()),
            // An unknown ancestry leaves the decision to the shape of the object.
            Ok(_) | Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let contract = match self.boxp().contract(scope, &type_spec).await {
            Ok(contract) => Some(contract),
            Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let point = PointView::read(&node, contract.as_deref()).ok_or_else(not_a_point)?;
        for problem in &point.problems {
            tracing::warn!(%ord, %problem, "a slot of the point could not be read");
        }
        let named = match node.display_name {
            Some(_) => display_name(&node),
            None => self
                .slot_path(scope, ord)
                .await?
                .name()
                .map(|name| name.display())
                .unwrap_or_default(),
        };
        Ok(reading_of(point, named))
    }

    /// A point can hold points, so only the row of the point itself counts.
    async fn point_by_query(
        &self,
        scope: &CallScope,
        path: &SlotPath,
    ) -> FacadeResult<PointReading> {
        let query = format!(
            "station:|{path}|bql:select slotPath, displayName, type, out, out.value, out.status, facets from control:ControlPoint"
        );
        let mut found = None;
        self.rows(scope, &query, &mut |row| {
            let is_itself = row
                .cell(0)
                .text()
                .parse::<Ord>()
                .is_ok_and(|ord| ord.slot_path() == Some(path));
            if !is_itself {
                return ControlFlow::Continue(());
            }
            let facets = row.cell(6).facets();
            let out = row.cell(3);
            let typed = typed_cell(row.cell(2).text(), row.cell(4), row.format, &facets);
            let type_spec = row.cell(2).text().to_owned();
            let is_text =
                type_spec.ends_with("StringPoint") || type_spec.ends_with("StringWritable");
            // An empty text is a value as well, although its cell looks like a missing one.
            let value = match row.cell(4).some() {
                None if is_text => Some(String::new()),
                cell => cell.map(str::to_owned),
            };
            let shown = value_in(out.text(), &facets).filter(|shown| shown != "-");
            found = Some(PointReading {
                display_name: row.cell(1).text().to_owned(),
                out: match &typed {
                    Some(PointValue::Number(_)) => output_with_unit(out.text(), &facets),
                    // Cells are trimmed, and the empty text before the flags with them.
                    _ if is_text && out.text().starts_with('{') => format!(" {}", out.text()),
                    _ => out.text().to_owned(),
                },
                active_level: out
                    .status_text(row.format)
                    .level
                    .map(|level| level.to_string()),
                typed,
                value: value.map(|encoded| shown.unwrap_or(encoded)),
                status: row.cell(5).status().ok().map(|words| words.bits),
                facets: shown_facets(&facets),
                type_spec,
            });
            ControlFlow::Break(())
        })
        .await?;
        found.ok_or_else(|| FacadeError::NotAPoint {
            ord: Ord::slot(path.clone()).absolute(),
            type_spec: "something else".to_owned(),
        })
    }
}

/// The display text of an output with the unit of its number, which tables leave out (Station web specification §3.3).
fn output_with_unit(text: &str, facets: &Facets) -> String {
    let Some(shown) = unit_beside_values(facets) else {
        return text.to_owned();
    };
    match text.rsplit_once(" {") {
        Some((number, rest)) if number != "-" && !number.ends_with(shown) => {
            format!("{number} {shown} {{{rest}")
        }
        _ => text.to_owned(),
    }
}

/// The value in a display text, without unit, flags and level.
pub(super) fn value_in(text: &str, facets: &Facets) -> Option<String> {
    // Only the flags are in the language of the account, and they are cut off here.
    let shown = parse_display(text, &FlagTranslations::english()).text;
    let unit = unit_beside_values(facets);
    let number = unit.and_then(|unit| shown.strip_suffix(unit));
    let value = number.unwrap_or(&shown).trim_end();
    (!value.is_empty()).then(|| value.to_owned())
}

pub(super) fn reading_of(point: PointView, display_name: String) -> PointReading {
    let typed = match &point.out.value {
        Value::Boolean(flag) => Some(PointValue::Boolean(*flag)),
        Value::Enum(choice) => Some(PointValue::Enum {
            tag: enum_tag(choice, &point.facets),
            ordinal: Some(choice.ordinal),
        }),
        Value::String(text) => Some(PointValue::Text(text.clone())),
        other => other.as_f64().map(PointValue::Number),
    };
    let status = point.out.status.bits();
    let shown = point.out_display.as_deref();
    let shown = shown.filter(|_| !status.contains(StatusBits::NULL));
    let own = shown_text(&point.out.value, &point.facets);
    let value = point
        .value_display
        .clone()
        .or_else(|| value_in(shown?, &point.facets))
        .unwrap_or_else(|| own.clone());
    // A null output is commanded by nobody, whatever level its status still names.
    let level = point
        .active_level
        .filter(|_| !status.contains(StatusBits::NULL))
        .map(|level| level.to_string());
    let out = point.out_display.clone().unwrap_or_else(|| {
        let words = if status.is_ok() {
            "ok".to_owned()
        } else {
            status.names().join(",")
        };
        let level = level
            .as_ref()
            .map(|level| format!(" @ {level}"))
            .unwrap_or_default();
        let text = if status.contains(StatusBits::NULL) {
            "-".to_owned()
        } else {
            with_unit(own, &point.out.value, &point.facets)
        };
        format!("{text} {{{words}}}{level}")
    });
    PointReading {
        display_name,
        type_spec: point.type_spec,
        out,
        value: Some(value),
        typed,
        status: Some(status),
        active_level: level,
        facets: shown_facets(&point.facets),
    }
}

/// The tag of a choice; the range stands in the value or, on some points, in the facets only.
pub(super) fn enum_tag(choice: &DynamicEnum, facets: &Facets) -> String {
    choice
        .tag()
        .or_else(|| facets.range().and_then(|range| range.tag(choice.ordinal)))
        .map_or_else(|| choice.ordinal.to_string(), unescape)
}

pub(super) fn shown_facets(facets: &Facets) -> PointFacets {
    let unit = facets.unit();
    let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    PointFacets {
        units: text(unit.map(|unit| unit.symbol())),
        unit_name: text(unit.map(|unit| unit.name())),
        precision: facets.precision().map(|precision| precision.to_string()),
        true_text: text(facets.true_text()),
        false_text: text(facets.false_text()),
    }
}

/// A value cell by the kind that the point's type names, else by its own form.
pub(super) fn typed_cell(
    type_spec: &str,
    cell: Cell<'_>,
    format: &CellFormat,
    facets: &Facets,
) -> Option<PointValue> {
    let name = type_spec.rsplit(':').next().unwrap_or_default();
    let text = cell.some()?;
    let number = || cell.status_text(format).number.map(PointValue::Number);
    let flag = || match text {
        "true" => Some(PointValue::Boolean(true)),
        "false" => Some(PointValue::Boolean(false)),
        shown if facets.true_text() == Some(shown) => Some(PointValue::Boolean(true)),
        shown if facets.false_text() == Some(shown) => Some(PointValue::Boolean(false)),
        _ => None,
    };
    let choice = || match cell.choice() {
        Ok(Some(choice)) => PointValue::Enum {
            tag: enum_tag(&choice, facets),
            ordinal: Some(choice.ordinal),
        },
        _ => PointValue::Enum {
            tag: text.to_owned(),
            ordinal: facets
                .range()
                .and_then(|range| range.ordinal(text))
                .or_else(|| text.trim().parse().ok()),
        },
    };
    if name.contains("Numeric") {
        number()
    } else if name.contains("Boolean") {
        flag()
    } else if name.contains("Enum") {
        Some(choice())
    } else if name.contains("String") {
        Some(PointValue::Text(text.to_owned()))
    } else {
        flag()
            .or_else(number)
            .or_else(|| text.contains('@').then(choice))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::station::boxp::{Contract, Node};

    /// A point whose load leaves the output out, beside the contract whose texts know no facets.
    fn at_default(kind: &str, facets: &str, text: Option<&str>) -> (String, Option<String>) {
        let type_spec = format!("control:{kind}Point");
        let contract = json!({type_spec.clone(): [
            {"st":"p","n":"facets","v":{"t":"baja:Facets","v":""}},
            {"st":"p","n":"out","f":"rtso","v":{"t":format!("baja:Status{kind}"),"d":"false {ok}","s":[
                {"nm":"p","n":"value","t":"baja:String","d":"false"}]}}]});
        let contract = Contract::decode(&contract, &type_spec, None).expect("a contract");
        let mut node =
            json!({"t":type_spec,"h":"1","s":[{"n":"facets","t":"baja:Facets","v":facets}]});
        if let Some(text) = text {
            node["d"] = json!(text);
        }
        let node = Node::decode(&node).expect("a node");
        let point = PointView::read(&node, Some(&contract)).expect("a point");
        let reading = reading_of(point, String::new());
        (reading.out, reading.value)
    }

    #[test]
    fn an_output_that_was_left_out_is_shown_with_the_facets_of_its_point() {
        for (kind, facets, text, out, value) in [
            (
                "Boolean",
                "trueText=s:On|falseText=s:Off",
                None,
                "Off {ok}",
                "Off",
            ),
            ("Boolean", "", None, "false {ok}", "false"),
            (
                "Numeric",
                "units=u:cubic_feet_per_minute;cfm;(m3)(s-1);*4.719474E-4;|precision=i:0",
                None,
                "0 cfm {ok}",
                "0",
            ),
            ("Numeric", "units=u:null;;;;", None, "0.00 {ok}", "0.00"),
            // In the language of the account, as only the station knows it.
            (
                "Numeric",
                "units=u:celsius;°C;(K);+273.15;|precision=i:1",
                Some("0,0 °C {ok}"),
                "0,0 °C {ok}",
                "0,0",
            ),
            // A name of the point is no text of its output.
            ("Boolean", "falseText=s:Off", Some("Fan"), "Off {ok}", "Off"),
            (
                "Enum",
                "range=E:{Unoccupied=0,Occupied=1}",
                None,
                "Unoccupied {ok}",
                "Unoccupied",
            ),
        ] {
            assert_eq!(
                at_default(kind, facets, text),
                (out.to_owned(), Some(value.to_owned())),
                "{kind} {facets}"
            );
        }
    }
}
