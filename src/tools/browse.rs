//! Tools that look at the component tree: listChildren, inspectComponent, getSlots, findComponentsByType, getOverview.

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::redaction::{REDACTED, is_secret_name, is_secret_type};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{ComponentCall, SharedStations, scope, station_error};
use super::{Arguments, CallContext};
use crate::station::facade::{ChildNode, SlotFacts};

const ORD_HELP: &str =
    "Ord of the component, for example station:|slot:/Drivers; slot:/… is taken from the station.";

/// `listChildren` (Tool surface §8.3).
pub struct ListChildren(pub SharedStations);

impl Tool for ListChildren {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "listChildren",
            Category::Read,
            Annotations::READ,
            "Lists the child components of a component, down to a depth of 1 to 5, with name, ord, display name, type \
             and whether each is a control point. At most 5000 nodes; 'truncated' tells when there were more. \
             Example: {\"ord\":\"station:|slot:/Drivers\",\"depth\":2}.",
        )
        .input(
            object()
                .required("ord", schema::string(ORD_HELP))
                .optional("depth", schema::integer_between("Levels below the component.", 1, 5, 1)),
        )
        .output(
            node_schema(3)
                .required("children", schema::list("Child components in slot order.", node_schema(2)))
                .optional("truncated", schema::boolean("The cap of 5000 nodes was reached.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let call = ComponentCall::of(&self.0, context, &arguments)?;
            let depth = arguments.count("depth", 1);
            let tree = call.told(
                call.station
                    .list_children(&call.scope, &call.ord, depth)
                    .await,
            )?;
            let mut root = node_json(&tree.root);
            root.insert("ord".to_owned(), json!(call.text));
            root.entry("children").or_insert_with(|| json!([]));
            if tree.truncated {
                root.insert("truncated".to_owned(), json!(true));
            }
            Ok(ToolOutput::json(Value::Object(root)))
        })
    }
}

/// The schema of a node; the validator has no references, so nested levels are written out to `levels`.
fn node_schema(levels: usize) -> schema::ObjectSchema {
    let node = object()
        .required(
            "name",
            schema::string("Escaped slot name; empty for the root."),
        )
        .required("ord", schema::string("Ord of the component."))
        .required("displayName", schema::string("Display name."))
        .required("type", schema::string("Type as module:Type."))
        .required("isPoint", schema::boolean("Whether it is a control point."));
    if levels == 0 {
        return node.optional(
            "children",
            json!({"type": "array", "items": {"type": "object"}}),
        );
    }
    node.optional(
        "children",
        schema::list("Child components.", node_schema(levels - 1)),
    )
}

fn node_json(node: &ChildNode) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(node.name));
    map.insert("ord".to_owned(), json!(node.ord));
    map.insert("displayName".to_owned(), json!(node.display_name));
    map.insert("type".to_owned(), json!(node.type_spec));
    map.insert("isPoint".to_owned(), json!(node.is_point));
    if let Some(children) = &node.children {
        let children = children
            .iter()
            .map(|child| Value::Object(node_json(child)))
            .collect();
        map.insert("children".to_owned(), Value::Array(children));
    }
    map
}

/// `inspectComponent` (Tool surface §8.5).
pub struct InspectComponent(pub SharedStations);

impl Tool for InspectComponent {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "inspectComponent",
            Category::WalkthroughRead,
            Annotations::READ,
            "Tells name, display name, type, number of child components and parent of one component. \
             Example: {\"ord\":\"station:|slot:/Services\"}.",
        )
        .input(object().required("ord", schema::string(ORD_HELP)))
        .output(
            object()
                .required("ord", schema::string("The ord as given."))
                .required("name", schema::string("Escaped slot name; empty for the root."))
                .required("displayName", schema::string("Display name."))
                .required("type", schema::string("Type as module:Type."))
                .required("childCount", schema::whole("Number of child components."))
                .optional("parentOrd", schema::string("Absolute ord of the parent; absent for the root.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let call = ComponentCall::of(&self.0, context, &arguments)?;
            let facts = call.told(call.station.inspect(&call.scope, &call.ord).await)?;
            let mut answer = json!({
                "ord": call.text,
                "name": facts.name,
                "displayName": facts.display_name,
                "type": facts.type_spec,
                "childCount": facts.child_count,
            });
            if let Some(parent) = facts.parent_ord {
                answer["parentOrd"] = json!(parent);
            }
            Ok(ToolOutput::json(answer))
        })
    }
}

/// `getSlots` (Tool surface §8.5).
pub struct GetSlots(pub SharedStations);

impl Tool for GetSlots {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "getSlots",
            Category::WalkthroughRead,
            Annotations::READ,
            "Lists all properties of a component or struct in slot order, hidden ones and those at their default \
             included, with type, display text, units and precision. Passwords and the like are shown as <redacted>. \
             Example: {\"ord\":\"station:|slot:/Drivers/BacnetNetwork\"}.",
        )
        .input(object().required("ord", schema::string(ORD_HELP)))
        .output(
            object()
                .required("ord", schema::string("The ord as given."))
                .required("slotCount", schema::whole("Number of properties."))
                .optional("note", schema::string("What to know before relying on the answer."))
                .required(
                    "slots",
                    schema::list(
                        "Properties in slot order.",
                        object()
                            .required("name", schema::string("Escaped slot name."))
                            .optional("type", schema::string("Type of the value."))
                            .optional("value", schema::string("Display text."))
                            .optional(
                                "facets",
                                object()
                                    .optional("units", schema::string("Unit symbol."))
                                    .optional("precision", schema::string("Decimals.")),
                            ),
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
            let call = ComponentCall::of(&self.0, context, &arguments)?;
            let slots = call.told(call.station.slots(&call.scope, &call.ord).await)?;
            let listed: Vec<Value> = slots.slots.iter().map(slot_json).collect();
            let mut answer = json!({"ord": call.text, "slotCount": listed.len(), "slots": listed});
            if slots.may_hide_some {
                answer["note"] = json!(SOME_HIDDEN);
            }
            Ok(ToolOutput::json(answer))
        })
    }
}

const SOME_HIDDEN: &str =
    "Read over oBIX, which leaves out hidden slots and those that the account may not read.";

fn slot_json(slot: &SlotFacts) -> Value {
    let mut entry = json!({ "name": slot.name });
    let secret =
        is_secret_name(&slot.name) || slot.type_spec.as_deref().is_some_and(is_secret_type);
    if let Some(type_spec) = &slot.type_spec {
        entry["type"] = json!(type_spec);
    }
    if secret {
        entry["value"] = json!(REDACTED);
    } else if let Some(value) = &slot.value {
        entry["value"] = json!(value);
    }
    let facets: Map<String, Value> = [("units", &slot.units), ("precision", &slot.precision)]
        .into_iter()
        .filter_map(|(key, text)| {
            text.as_ref()
                .filter(|text| !text.is_empty())
                .map(|text| (key.to_owned(), json!(text)))
        })
        .collect();
    if !facets.is_empty() {
        entry["facets"] = Value::Object(facets);
    }
    entry
}

/// `findComponentsByType` (Tool surface §8.5).
pub struct FindComponentsByType(pub SharedStations);

impl Tool for FindComponentsByType {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "findComponentsByType",
            Category::WalkthroughRead,
            Annotations::READ,
            "Finds every component of a type or its subtypes in the whole station. The type is module:Type, or a bare \
             name such as BNumericWritable or NumericWritable. At most 1000 items; 'truncated' tells when there are \
             more. Example: {\"typeName\":\"control:NumericWritable\",\"limit\":50}.",
        )
        .input(
            object()
                .required("typeName", schema::string("Type, for example control:BooleanPoint."))
                .optional("limit", schema::integer_between("Most items to return.", 1, 1000, 100)),
        )
        .output(
            object()
                .required("typeName", schema::string("The type that was searched."))
                .required("count", schema::whole("Number of items returned."))
                .required("truncated", schema::boolean("Whether there are more than 'limit'."))
                .optional("truncatedByTimeout", schema::boolean("Whether the time was over before the search ended."))
                .required(
                    "items",
                    schema::list(
                        "Components in the station's order.",
                        object()
                            .required("name", schema::string("Escaped slot name."))
                            .required("ord", schema::string("Absolute ord."))
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
            let limit = arguments.count("limit", 100);
            let station = self.0.for_caller(&context.principal)?;
            let found = station
                .find_by_type(&scope(context), type_name, limit)
                .await
                .map_err(|error| station_error(error, "station:|slot:/"))?;
            let items: Vec<Value> = found
                .items
                .iter()
                .map(|item| {
                    json!({
                        "name": item.name,
                        "ord": item.ord,
                        "displayName": item.display_name,
                        "type": item.type_spec,
                    })
                })
                .collect();
            let mut answer = json!({
                "typeName": found.type_spec,
                "count": items.len(),
                "truncated": found.truncated || found.truncated_by_timeout,
                "items": items,
            });
            if found.truncated_by_timeout {
                answer["truncatedByTimeout"] = json!(true);
            }
            Ok(ToolOutput::json(answer))
        })
    }
}

/// `getOverview` (Tool surface §8.5).
pub struct GetOverview(pub SharedStations);

impl Tool for GetOverview {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "getOverview",
            Category::WalkthroughRead,
            Annotations::READ,
            "Shows the station at a glance: its name, the components at its root, and how many components of which \
             type lie directly below them. Takes no arguments. Example: {} answers stationName, topSlots, typeCounts.",
        )
        .output(
            object()
                .required("stationName", schema::string("Name of the station."))
                .required(
                    "topSlots",
                    schema::list(
                        "Child components of the root in slot order.",
                        object()
                            .required("name", schema::string("Escaped slot name."))
                            .required("type", schema::string("Type as module:Type."))
                            .required("displayName", schema::string("Display name.")),
                    ),
                )
                .required("topSlotCount", schema::whole("Number of top slots."))
                .required(
                    "typeCounts",
                    json!({
                        "type": "object",
                        "description": "Number of components by type, over the direct children of each top slot.",
                        "additionalProperties": {"type": "integer"},
                    }),
                ),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let station = self.0.for_caller(&context.principal)?;
            let overview = station
                .overview(&scope(context))
                .await
                .map_err(|error| station_error(error, "station:|slot:/"))?;
            let top_slots: Vec<Value> = overview
                .top_slots
                .iter()
                .map(|slot| json!({"name": slot.name, "type": slot.type_spec, "displayName": slot.display_name}))
                .collect();
            let counts: Map<String, Value> = overview
                .type_counts
                .into_iter()
                .map(|(type_spec, count)| (type_spec, json!(count)))
                .collect();
            Ok(ToolOutput::json(json!({
                "stationName": overview.station_name,
                "topSlots": top_slots,
                "topSlotCount": overview.top_slots.len(),
                "typeCounts": counts,
            })))
        })
    }
}
