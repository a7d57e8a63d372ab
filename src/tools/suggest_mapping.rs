//! `suggestMapping`: equipment, types and roles proposed for points of the station, beyond the 46 tools.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use serde_json::json;

use super::mapped_paths::with_paths;
use super::mapping_view::{View, answer_schema, mapped};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{SharedStations, component_ord, scope, station_error, subtree_error};
use super::{Arguments, CallContext, ToolError};
use crate::knowledge::suggestion::{
    DescribedPoint, EquipmentProposal, ValueKind, propose, uncertain,
};
use crate::knowledge::{KnowledgeModel, KnowledgeStore};
use crate::station::facade::{
    Aggregator, HistoryRequest, ListedPoint, PageRequest, PointValue, StationFacade,
};
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};

/// Points that one call looks at: those of a large controller network.
const MOST_POINTS: usize = 5_000;

/// Histories that one call reads.
const MOST_HISTORIES: usize = 24;

/// Histories read at a time; fewer than the requests that an identity may have in flight.
const HISTORIES_AT_A_TIME: usize = 3;

/// How far back a history is read.
const DAY: Duration = Duration::from_secs(86_400);

/// Records of a day at one a minute.
const MOST_RECORDS: usize = 1_440;

/// Time that must be left to begin another history.
const TIME_FOR_HISTORY: Duration = Duration::from_secs(3);

/// What to do first in a model without types.
const WITHOUT_TYPES: &str = "The model has no equipment types yet; the types named here are the standard ones. Call importKnowledge \
                             with source='standard' before anything else: createEquipment and bulkCreateEquipment refuse \
                             types that the model does not have.";

/// `suggestMapping`.
pub struct SuggestMapping {
    pub stations: SharedStations,
    pub knowledge: Arc<KnowledgeStore>,
}

impl Tool for SuggestMapping {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "suggestMapping",
            Category::WalkthroughRead,
            Annotations::READ,
            "Proposes how to map the points below a component: which equipment there is, of which type, and the role of \
             each point, with a confidence from 0 to 1 (of proposals above 0.9 at least nineteen in twenty are right), reasons and \
             alternatives. It reads names in several languages, units, types, values, neighbouring equipment and what is \
             mapped already; types and roles are those of the model, or the standard types for a model without any. \
             Nothing is written: confirm with the user, then use bulkCreateEquipment, or map one piece of equipment and \
             copy it with applyPattern. Points that are mapped already are left out. When 'truncated', continue with \
             'offset' = nextOffset. Example: {\"ord\":\"station:|slot:/Drivers/BacnetNetwork\",\"limit\":5}.",
        )
        .input(
            object()
                .required(
                    "ord",
                    schema::string("Component whose points are looked at, those further below included."),
                )
                .optional(
                    "limit",
                    schema::integer_between("Most pieces of equipment to return.", 1, 200, 10),
                )
                .optional(
                    "offset",
                    schema::integer_between("Pieces of equipment to skip.", 0, 50_000, 0),
                )
                .optional(
                    "includeMapped",
                    json!({
                        "type": "boolean",
                        "description": "Whether to show points and equipment that the model has already, too.",
                        "default": false,
                    }),
                )
                .optional(
                    "useHistory",
                    json!({
                        "type": "boolean",
                        "description": "Whether to read the last day of up to 24 doubtful points, which takes one query \
                                        each.",
                        "default": false,
                    }),
                ),
        )
        .output(answer_schema())
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let text = arguments.string("ord")?;
            let ord = component_ord(text)?;
            let model = self.knowledge.readable()?.model;
            let station = self.stations.for_caller(&context.principal)?;
            let scope = scope(context);
            let model = with_paths(&station, &scope, model)
                .await
                .map_err(|error| station_error(error, text))?;
            let page = PageRequest {
                offset: 0,
                limit: MOST_POINTS,
            };
            let listed = station
                .points_below(&scope, &ord, page)
                .await
                .map_err(|error| subtree_error(error, text))?;
            let points = listed.items.iter().filter_map(described).collect();
            let (mut proposals, mut points) = thought(points, &model).await?;
            let mut histories = None;
            if arguments.boolean("useHistory", false) {
                let doubtful = uncertain(&proposals);
                let read = read_histories(context, &station, &scope, &mut points, &doubtful).await;
                (proposals, points) = thought(points, &model).await?;
                histories = Some(read);
            }
            let view = View {
                points: &points,
                model: &model,
                mapped: mapped(&model),
                includes_mapped: arguments.boolean("includeMapped", false),
            };
            let (offset, limit) = (arguments.count("offset", 0), arguments.count("limit", 10));
            let mut answer = view.answer(text, &proposals, offset, limit);
            if model.document().equipment_types.is_empty() {
                answer["hint"] = json!(WITHOUT_TYPES);
            }
            if listed.truncated {
                answer["pointsTruncated"] = json!(true);
            }
            if listed.truncated_by_timeout {
                answer["truncatedByTimeout"] = json!(true);
            }
            if let Some(read) = histories {
                answer["historiesRead"] = json!(read);
            }
            Ok(ToolOutput::json(answer))
        })
    }
}

/// Thinks on a thread of its own: thousands of points take longer than others should wait.
async fn thought(
    points: Vec<DescribedPoint>,
    model: &Arc<KnowledgeModel>,
) -> Result<(Vec<EquipmentProposal>, Vec<DescribedPoint>), ToolError> {
    let model = Arc::clone(model);
    tokio::task::spawn_blocking(move || (propose(&points, &model), points))
        .await
        .map_err(|error| {
            ToolError::internal(format!(
                "The suggestion stopped unexpectedly ({error}). Look at the log of this server."
            ))
        })
}

/// What the engine needs of a point; none for points that hold neither number, state nor text.
fn described(point: &ListedPoint) -> Option<DescribedPoint> {
    let path = slot_path(&point.ord)?;
    let typed = point.out.as_ref().and_then(|out| out.typed.as_ref());
    let kind = ValueKind::of_type(&point.type_spec).or(typed.map(kind_of_value))?;
    let is_bad = point.out.as_ref().is_none_or(|out| !out.status.is_valid());
    let value = match typed {
        Some(PointValue::Number(number)) if !is_bad && number.is_finite() => Some(*number),
        _ => None,
    };
    Some(DescribedPoint {
        path,
        display_name: point.display_name.clone(),
        type_spec: point.type_spec.clone(),
        kind,
        unit: point.unit().cloned(),
        value,
        is_bad,
        recent: None,
    })
}

fn kind_of_value(value: &PointValue) -> ValueKind {
    match value {
        PointValue::Number(_) => ValueKind::Numeric,
        PointValue::Boolean(_) => ValueKind::Boolean,
        PointValue::Enum { .. } => ValueKind::Enum,
        PointValue::Text(_) => ValueKind::Text,
    }
}

/// The path of an ord; none where it is no component's.
pub(super) fn slot_path(ord: &str) -> Option<SlotPath> {
    Ord::component(ord).ok()?.slot_path().cloned()
}

/// Puts the range of the last day to doubtful points that have a history, and tells how many were read.
async fn read_histories(
    context: &CallContext,
    station: &StationFacade,
    scope: &CallScope,
    points: &mut [DescribedPoint],
    doubtful: &[usize],
) -> usize {
    let wanted: Vec<(usize, Ord)> = doubtful
        .iter()
        .filter_map(|at| Some((*at, points.get(*at)?)))
        .filter(|(_, point)| point.kind == ValueKind::Numeric)
        .map(|(at, point)| (at, Ord::slot(point.path.clone())))
        .take(MOST_HISTORIES)
        .collect();
    let read: Vec<(usize, Option<(f64, f64)>)> = futures::stream::iter(wanted)
        .map(|(at, ord)| async move {
            if context.remaining() < TIME_FOR_HISTORY {
                return (at, None);
            }
            (at, range_of_day(station, scope, &ord).await)
        })
        .buffer_unordered(HISTORIES_AT_A_TIME)
        .collect()
        .await;
    let mut count = 0;
    for (at, range) in read {
        if let (Some(point), Some(range)) = (points.get_mut(at), range) {
            point.recent = Some(range);
            count += 1;
        }
    }
    count
}

/// Least and greatest valid value of the last day; none without a history or without records.
async fn range_of_day(station: &StationFacade, scope: &CallScope, ord: &Ord) -> Option<(f64, f64)> {
    let to = station.now();
    let from = to - DAY;
    let mut records = Aggregator::new(from.timestamp_millis(), None);
    let request = HistoryRequest {
        ord,
        from: from.fixed_offset(),
        to: to.fixed_offset(),
        limit: MOST_RECORDS,
    };
    match station
        .read_history(scope, request, &mut |sample| records.add(&sample))
        .await
    {
        Ok(_) => records.summary().map(|summary| (summary.min, summary.max)),
        Err(error) => {
            tracing::debug!(%ord, %error, "the history does not help to tell the role");
            None
        }
    }
}
