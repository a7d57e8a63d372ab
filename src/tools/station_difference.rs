//! `diffStation`: what changed on the station since its knowledge model was last verified.

use std::sync::Arc;

use chrono::SecondsFormat;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::integrity::referrer_json;
use super::mapped_paths::with_paths;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::station_access::{SharedStations, scope, sentence, station_error};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::knowledge::difference::{
    AffectedReference, Baseline, BaselineError, BaselineFile, Difference, MappedFolders, Renamed,
    Retyped, StationIdentity, Subtree, affected_references, components_in, mapped_folders, since,
};
use crate::knowledge::{EditError, KnowledgeDocument, KnowledgeStore};
use crate::station::facade::{ListedComponent, StationFacade};
use crate::station::http::CallScope;
use crate::station::ord::SlotPath;

/// `diffStation`.
pub struct DiffStation {
    pub stations: SharedStations,
    pub knowledge: Arc<KnowledgeStore>,
}

impl Tool for DiffStation {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "diffStation",
            Category::Management,
            Annotations::RELOAD,
            "Tells what changed on the station, in the folders that hold what the knowledge model refers to, since the model \
             was last verified: components that are gone, new, renamed or moved, and of another type, each with the \
             references of the model that it touches and where they would lead now. A renamed component is known by its \
             handle and type; if the station has given nearly all components new handles, by folder, type and what lies \
             below it. If this is another station than the verified one, 'otherStation' is true and nothing is marked \
             without 'acceptOtherStation'. With 'markVerified' the present state is then kept as the verified one, in a file beside the \
             knowledge file; nothing else is changed, on the station nothing at all. Call it so once the model is right. \
             Example: {} or {\"markVerified\":true}.",
        )
        .input(
            object()
                .optional(
                    "markVerified",
                    json!({
                        "type": "boolean",
                        "description": "Keep the present state as the one that the model was verified against.",
                        "default": false,
                    }),
                )
                .optional(
                    "acceptOtherStation",
                    json!({
                        "type": "boolean",
                        "description": "Let markVerified replace the verified state of another station.",
                        "default": false,
                    }),
                )
                .optional("limit", schema::integer_between("Most items per list.", 1, 1000, 200)),
        )
        .output(
            object()
                .required("hasBaseline", schema::boolean("Whether the model was verified before; if not, there is nothing to compare with."))
                .optional("verifiedAt", schema::string("When."))
                .optional("verifiedBy", schema::string("By whom."))
                .optional("station", schema::string("Name of this station; absent if it does not tell."))
                .optional("verifiedStation", schema::string("Name of the station that the model was verified against."))
                .required("otherStation", schema::boolean("Whether the model was verified against another station: by name, or by host where both are known."))
                .required("folders", schema::list("Folders that are compared.", json!({"type": "string"})))
                .required(
                    "unverifiedFolders",
                    schema::list("Folders that the model refers to only since then: not compared.", json!({"type": "string"})),
                )
                .required("componentCount", schema::whole("Components in the folders of the model now."))
                .required(
                    "changeCount",
                    schema::whole("Number of changes in all four lists, those beyond the limit included."),
                )
                .required("truncated", schema::boolean("Whether a list was cut at the limit."))
                .required("gone", schema::list("Components that are not there any more.", with_references(subtree_schema())))
                .required("renamed", schema::list("Components under another name or in another place.", renamed_schema()))
                .required("new", schema::list("Components that are new.", subtree_schema()))
                .required("typeChanged", schema::list("Components of another type.", retyped_schema()))
                .required("markedVerified", schema::boolean("Whether the present state was kept as the verified one."))
                .optional("baselineFile", schema::string("Where the verified state is kept now."))
                .optional("hint", schema::string("What to do next.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let marks = arguments.boolean("markVerified", false);
            let accepts_other = arguments.boolean("acceptOtherStation", false);
            let limit = arguments.count("limit", 200);
            let snapshot = self.knowledge.readable()?;
            if marks && self.knowledge.is_read_only() {
                let path = self.knowledge.path().to_owned();
                return Err(EditError::ReadOnly { path }.into());
            }
            let station = self.stations.for_caller(&context.principal)?;
            let scope = scope(context);
            let root = SlotPath::root();
            let (listed, identity) = futures::join!(
                station.list_components(&scope, &root),
                identity(&station, &scope)
            );
            let listed = listed
                .map_err(|error| station_error(error, "station:|slot:/"))?
                .ok_or_else(|| incomplete(&station))?;
            let marker = marks.then(|| Marker {
                time: station.now().to_rfc3339_opts(SecondsFormat::Secs, true),
                principal: context.principal.to_string(),
                accepts_other,
            });
            let file = BaselineFile::beside(self.knowledge.path());
            let model = with_paths(&station, &scope, snapshot.model.clone())
                .await
                .map_err(|error| station_error(error, "station:|slot:/"))?;
            let now = StationNow {
                identity,
                components: listed,
            };
            let work = move || answer(&file, model.document(), now, marker, limit);
            let done = tokio::task::spawn_blocking(work).await;
            let done = done.map_err(|error| {
                tracing::error!(%error, "the comparison with the verified state ended early");
                ToolError::internal(
                    "The comparison ended early; the log of the bridge has the details.",
                )
            })?;
            Ok(ToolOutput::json(done?))
        })
    }
}

/// Who marks the present state as verified, and when.
struct Marker {
    time: String,
    principal: String,
    accepts_other: bool,
}

/// The station as it is.
struct StationNow {
    identity: Option<StationIdentity>,
    components: Vec<ListedComponent>,
}

/// Which station this is; none when it does not tell, which is no reason not to compare.
async fn identity(station: &StationFacade, scope: &CallScope) -> Option<StationIdentity> {
    let (name, host_id) = futures::join!(station.station_name(scope), station.host_id(scope));
    match name {
        Ok(name) => Some(StationIdentity::new(name, host_id.as_deref())),
        Err(error) => {
            tracing::warn!(%error, "the station does not tell its name: whether it is the verified one stays open");
            None
        }
    }
}

fn answer(
    file: &BaselineFile,
    document: &KnowledgeDocument,
    now: StationNow,
    marker: Option<Marker>,
    limit: usize,
) -> Result<Value, ToolError> {
    let listed = now.components.as_slice();
    let folders = mapped_folders(document);
    let baseline = match file.load() {
        // A new baseline replaces one that cannot be understood.
        Err(BaselineError::Content { .. }) if marker.is_some() => None,
        loaded => loaded.map_err(baseline_error)?,
    };
    let components = components_in(&folders, listed);
    let component_count = components.len();
    let mut answer = Map::new();
    answer.insert("hasBaseline".to_owned(), json!(baseline.is_some()));
    if let Some(baseline) = &baseline {
        answer.insert("verifiedAt".to_owned(), json!(baseline.verified_at));
        answer.insert("verifiedBy".to_owned(), json!(baseline.verified_by));
    }
    let verified = baseline.as_ref().and_then(|known| known.station.as_ref());
    let other = match (&now.identity, verified) {
        (Some(now), Some(verified)) if !now.is_same(verified) => Some((now, verified)),
        _ => None,
    };
    if let (Some((now, verified)), Some(marker)) = (other, &marker)
        && !marker.accepts_other
    {
        return Err(refuse_other(now, verified));
    }
    for (key, station) in [
        ("station", now.identity.as_ref()),
        ("verifiedStation", verified),
    ] {
        if let Some(station) = station {
            answer.insert(key.to_owned(), json!(station.name));
        }
    }
    let is_other = other.is_some();
    answer.insert("otherStation".to_owned(), json!(is_other));
    let compared: Vec<SlotPath> = baseline
        .iter()
        .flat_map(|baseline| &baseline.folders)
        .filter_map(|path| path.parse().ok())
        .collect();
    let compared = MappedFolders::new(compared);
    let unverified: Vec<&SlotPath> = folders
        .iter()
        .filter(|folder| !compared.contains(folder))
        .collect();
    answer.insert(
        "folders".to_owned(),
        compared.iter().map(absolute).collect(),
    );
    answer.insert(
        "unverifiedFolders".to_owned(),
        unverified.iter().map(absolute).collect(),
    );
    answer.insert("componentCount".to_owned(), json!(component_count));
    let difference = baseline
        .as_ref()
        .map(|baseline| since(baseline, listed))
        .unwrap_or_default();
    put_difference(&mut answer, document, &difference, limit);
    let hint = match (&baseline, &marker) {
        (_, Some(_)) => None,
        (None, None) => Some(
            "The model was never verified: check it with checkKnowledgeIntegrity, then call diffStation with markVerified.",
        ),
        (Some(_), None) if is_other => Some(
            "The model was verified against another station: check that this is the right one. If the model is to go with \
             this one from now on, call diffStation with markVerified and acceptOtherStation.",
        ),
        (Some(_), None) if !difference.is_empty() => Some(
            "Bring the model up to date (updateEquipment, assignPointToEquipment, findUnmappedComponents), then call diffStation with markVerified.",
        ),
        (Some(_), None) => None,
    };
    answer.insert("markedVerified".to_owned(), json!(marker.is_some()));
    if let Some(hint) = hint {
        answer.insert("hint".to_owned(), json!(hint));
    }
    if let Some(marker) = marker {
        let path = file.path().display().to_string();
        answer.insert("baselineFile".to_owned(), json!(path));
        let folders = folders.iter().map(SlotPath::to_string).collect();
        file.save(&Baseline::new(
            marker.time,
            marker.principal,
            now.identity,
            folders,
            components,
        ))
        .map_err(baseline_error)?;
    }
    Ok(Value::Object(answer))
}

fn put_difference(
    answer: &mut Map<String, Value>,
    document: &KnowledgeDocument,
    difference: &Difference,
    limit: usize,
) {
    let affected = affected_references(document, difference);
    let lengths = [
        difference.gone.len(),
        difference.renamed.len(),
        difference.appeared.len(),
        difference.retyped.len(),
    ];
    answer.insert(
        "changeCount".to_owned(),
        json!(lengths.iter().sum::<usize>()),
    );
    answer.insert(
        "truncated".to_owned(),
        json!(lengths.iter().any(|length| *length > limit)),
    );
    let gone = difference.gone.iter().take(limit);
    let gone: Vec<Value> = gone
        .map(|gone| with_affected(subtree_json(gone), &gone.path, &affected))
        .collect();
    answer.insert("gone".to_owned(), json!(gone));
    let renamed = difference.renamed.iter().take(limit);
    let renamed: Vec<Value> = renamed
        .map(|renamed| with_affected(renamed_json(renamed), &renamed.from, &affected))
        .collect();
    answer.insert("renamed".to_owned(), json!(renamed));
    let new: Vec<Value> = difference
        .appeared
        .iter()
        .take(limit)
        .map(subtree_json)
        .collect();
    answer.insert("new".to_owned(), json!(new));
    let retyped = difference.retyped.iter().take(limit);
    let retyped: Vec<Value> = retyped
        .map(|retyped| with_affected(retyped_json(retyped), &retyped.path, &affected))
        .collect();
    answer.insert("typeChanged".to_owned(), json!(retyped));
}

fn subtree_schema() -> ObjectSchema {
    object()
        .required("ord", schema::string("Absolute ord."))
        .required("type", schema::string("Type as module:Type."))
        .required(
            "descendants",
            schema::whole("Components below it that went or came with it."),
        )
}

fn renamed_schema() -> ObjectSchema {
    with_references(
        object()
            .required("ord", schema::string("Absolute ord of then."))
            .required("newOrd", schema::string("Absolute ord of now."))
            .required("type", schema::string("Type as module:Type."))
            .required(
                "moved",
                schema::boolean("Whether it has another parent, not only another name."),
            )
            .required(
                "descendants",
                schema::whole("Components below it that have other ords for this reason alone."),
            )
            .required(
                "basis",
                schema::one_of("How it was known again.", &["handle", "pattern"]),
            ),
    )
}

fn retyped_schema() -> ObjectSchema {
    with_references(
        object()
            .required("ord", schema::string("Absolute ord."))
            .required("before", schema::string("Type of then."))
            .required("now", schema::string("Type of now.")),
    )
}

fn with_references(schema: ObjectSchema) -> ObjectSchema {
    schema.required(
        "references",
        schema::list(
            "References of the model that lead to it or through it.",
            object()
                .optional("equipment", schema::string("Id of the equipment."))
                .optional(
                    "field",
                    schema::one_of("Where the equipment has it.", &["ord", "points"]),
                )
                .optional("role", schema::string("Role of the point."))
                .optional(
                    "standalonePoint",
                    schema::string("Id of the standalone point."),
                )
                .optional("point", schema::string("The same, by its other name."))
                .required("ord", schema::string("The ord as the model has it."))
                .optional(
                    "newOrd",
                    schema::string("Where it would lead to the same object now."),
                ),
        ),
    )
}

fn subtree_json(subtree: &Subtree) -> Value {
    json!({
        "ord": absolute(&subtree.path),
        "type": subtree.type_spec,
        "descendants": subtree.descendants,
    })
}

fn renamed_json(renamed: &Renamed) -> Value {
    json!({
        "ord": absolute(&renamed.from),
        "newOrd": absolute(&renamed.to),
        "type": renamed.type_spec,
        "moved": renamed.is_moved,
        "descendants": renamed.descendants,
        "basis": renamed.basis.name(),
    })
}

fn retyped_json(retyped: &Retyped) -> Value {
    json!({
        "ord": absolute(&retyped.path),
        "before": retyped.before,
        "now": retyped.now,
    })
}

fn with_affected(mut entry: Value, path: &str, affected: &[AffectedReference<'_>]) -> Value {
    let references = affected.iter().filter(|affected| affected.through == path);
    entry["references"] = references
        .map(|affected| {
            let mut reference = referrer_json(affected.reference.referrer);
            reference.insert("ord".to_owned(), json!(affected.reference.ord));
            if let Some(path) = affected.path_now.as_deref() {
                reference.insert("newOrd".to_owned(), json!(absolute(path)));
            }
            Value::Object(reference)
        })
        .collect();
    entry
}

fn refuse_other(now: &StationIdentity, verified: &StationIdentity) -> ToolError {
    let what = if now.name == verified.name {
        format!(
            "this station '{}' runs on another host than the one",
            now.name
        )
    } else {
        format!("this station is '{}', not '{}',", now.name, verified.name)
    };
    ToolError::invalid_params(format!(
        "Nothing was marked as verified: {what} that the model was verified against. If the model is to go with this \
         station from now on, call again with acceptOtherStation."
    ))
    .with("reason", "other-station")
    .with("station", now.name.clone())
    .with("verifiedStation", verified.name.clone())
    .with("argument", "acceptOtherStation")
}

fn absolute(path: impl std::fmt::Display) -> String {
    format!("station:|{path}")
}

fn incomplete(station: &StationFacade) -> ToolError {
    ToolError::station(
        "station-timeout",
        "The list of all components below station:|slot:/ did not come to its end in time, so that nothing can be said \
         about what is gone. Try again when the station is less busy.",
    )
    .with("station", station.station())
}

fn baseline_error(error: BaselineError) -> ToolError {
    let path = error.path().display().to_string();
    ToolError::new(ErrorCode::KnowledgeUnreadable, sentence(&error)).with("path", path)
}
