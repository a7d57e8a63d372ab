//! `findUnmappedComponents`: what the station has and the knowledge model does not mention (Tool surface §8.7).

use std::ops::ControlFlow;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::list_answer::{page_arguments, page_request};
use super::mapped_paths::HandlePaths;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{SharedStations, component_ord, scope, station_error, subtree_error};
use super::{Arguments, CallContext, ToolError};
use crate::knowledge::mapped::MappedOrds;
use crate::knowledge::{KnowledgeDocument, KnowledgeStore};
use crate::station::error::StationError;
use crate::station::facade::{FacadeError, PageRequest, ScannedComponent, StationFacade};
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};

/// `findUnmappedComponents`.
pub struct FindUnmappedComponents {
    pub stations: SharedStations,
    pub knowledge: Arc<KnowledgeStore>,
}

impl Tool for FindUnmappedComponents {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "findUnmappedComponents",
            Category::Management,
            Annotations::READ,
            "Finds components of a type or its subtypes that the knowledge model does not refer to: neither they nor a \
             component above them is the ord of equipment, of a point of equipment or of a standalone point. 'under' looks \
             at one part of the station. When 'truncated', continue with 'offset' = nextOffset; after mapping what was found, \
             begin again at 0. Example: {\"typeName\":\"BControlPoint\",\"under\":\"station:|slot:/Drivers\",\"limit\":50}.",
        )
        .input(page_arguments(
            object()
                .required("typeName", schema::string("Type, for example control:NumericPoint, or a bare name such as BControlPoint."))
                .optional(
                    "under",
                    schema::string("Only this component and what lies below it; the whole station when absent."),
                ),
        ))
        .output(
            object()
                .required("typeName", schema::string("The type that was searched."))
                .required("scanned", schema::whole("Rows looked at; not all when truncated."))
                .required("unmappedCount", schema::whole("Number of items returned."))
                .required("truncated", schema::boolean("Whether there are or may be more."))
                .optional(
                    "truncatedByTimeout",
                    schema::boolean("Whether the time was over before the end: give 'under' a smaller part."),
                )
                .optional("nextOffset", schema::whole("Where to continue."))
                .required(
                    "items",
                    schema::list(
                        "Components in the station's order.",
                        object()
                            .required("ord", schema::string("Absolute ord."))
                            .required("name", schema::string("Escaped slot name."))
                            .required("displayName", schema::string("Display name."))
                            .required("type", schema::string("Type as module:Type.")),
                    ),
                ),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let type_name = arguments.string("typeName")?.trim();
            let (below, below_text) = match arguments.optional_string("under") {
                Some(text) if !text.trim().is_empty() => (component_ord(text)?, text),
                _ => (Ord::slot(SlotPath::root()), "station:|slot:/"),
            };
            let request = page_request(&arguments);
            let snapshot = self.knowledge.readable()?;
            let station = self.stations.for_caller(&context.principal)?;
            let scope = scope(context);
            let mapped = mapped_ords(&station, &scope, snapshot.model.document())
                .await
                .map_err(|error| station_error(error, below_text))?;
            let mut search = Search::new(&mapped, request);
            let scanned = station
                .scan_components(&scope, type_name, &below, &mut |component| {
                    search.take(component)
                })
                .await;
            let scan = match scanned {
                Ok(scan) => scan,
                Err(error) => {
                    return Err(refusal(&station, &scope, &below, below_text, error).await);
                }
            };
            let mut answer = json!({
                "typeName": scan.type_spec,
                "scanned": scan.rows,
                "unmappedCount": search.items.len(),
                "truncated": search.has_more || scan.is_cut,
            });
            if scan.is_cut {
                answer["truncatedByTimeout"] = json!(true);
            }
            if search.has_more {
                answer["nextOffset"] = json!(request.offset + search.items.len());
            }
            answer["items"] = json!(search.items);
            Ok(ToolOutput::json(answer))
        })
    }
}

/// Why the search failed. The station tells a type that it does not know from a place below which nothing can lie only by
/// another question.
async fn refusal(
    station: &StationFacade,
    scope: &CallScope,
    below: &Ord,
    below_text: &str,
    error: FacadeError,
) -> ToolError {
    if matches!(error, FacadeError::UnknownType { .. }) {
        let one = PageRequest {
            offset: 0,
            limit: 1,
        };
        let looked = station.points_below(scope, below, one).await;
        let nothing_below = |error: &FacadeError| {
            matches!(
                error,
                FacadeError::Station(StationError::BadQuery { .. } | StationError::NotFound { .. })
            )
        };
        if let Err(error) = looked
            && nothing_below(&error)
        {
            return subtree_error(error, below_text);
        }
    }
    subtree_error(error, below_text)
}

/// Adds the components that the model names by handle, as the station knows them.
async fn mapped_ords(
    station: &StationFacade,
    scope: &CallScope,
    document: &KnowledgeDocument,
) -> Result<MappedOrds, FacadeError> {
    let mut mapped = MappedOrds::of(document);
    let paths = HandlePaths::read(station, scope, document).await?;
    paths.paths().for_each(|path| mapped.insert(path));
    Ok(mapped)
}

/// Collects a page of what is not mapped.
struct Search<'m> {
    mapped: &'m MappedOrds,
    skip: usize,
    limit: usize,
    items: Vec<Value>,
    has_more: bool,
}

impl<'m> Search<'m> {
    fn new(mapped: &'m MappedOrds, request: PageRequest) -> Self {
        Self {
            mapped,
            skip: request.offset,
            limit: request.limit,
            items: Vec::new(),
            has_more: false,
        }
    }

    fn take(&mut self, component: ScannedComponent) -> ControlFlow<()> {
        if self.mapped.covers(&component.path) {
            return ControlFlow::Continue(());
        }
        if self.skip > 0 {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        if self.items.len() == self.limit {
            self.has_more = true;
            return ControlFlow::Break(());
        }
        self.items.push(json!({
            "ord": Ord::slot(component.path).absolute(),
            "name": component.name,
            "displayName": component.display_name,
            "type": component.type_spec,
        }));
        ControlFlow::Continue(())
    }
}
