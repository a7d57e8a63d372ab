//! `unlinkSlots`: removes a link from its sink (Tool surface §8.4, §13.5.4).

use futures::future::BoxFuture;
use serde_json::json;

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{component_ord, sentence};
use super::structure_write::Told;
use super::write_gate::{
    SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::station::error::StationError;
use crate::station::facade::{FacadeError, RemovedLink, StructureError};

/// `unlinkSlots`.
pub struct UnlinkSlots(pub SharedGate);

/// Which link the caller means.
struct Meant {
    /// Ord of the link as it is recorded.
    link: String,
    /// Ord of its sink.
    sink: String,
    /// Name on the sink, escaped or not.
    name: String,
    /// By the ord of the link rather than by sink and name.
    by_link: bool,
}

impl Meant {
    fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let text = |key| arguments.optional_string(key);
        match (text("linkOrd"), text("sinkOrd"), text("linkName")) {
            (Some(link), None, None) => {
                let ord = component_ord(link)?;
                let (Some(sink), Some(name)) = (ord.parent(), ord.name()) else {
                    let reason = "it is no slot of a sink; give sinkOrd and linkName instead";
                    return Err(ToolError::ord_not_resolvable(link, reason));
                };
                Ok(Self {
                    link: link.to_owned(),
                    sink: sink.absolute(),
                    name: name.as_str().to_owned(),
                    by_link: true,
                })
            }
            (None, Some(sink), Some(name)) => Ok(Self {
                link: format!("{}/{name}", sink.trim_end_matches('/')),
                sink: sink.to_owned(),
                name: name.to_owned(),
                by_link: false,
            }),
            (link, sink, _) => {
                let text = "Give either 'linkOrd', or both 'sinkOrd' and 'linkName'.";
                let error = ToolError::invalid_params(text);
                Err(match (link, sink) {
                    (Some(_), _) => error.with("argument", "linkOrd"),
                    (None, Some(_)) => error.with("missing", "linkName"),
                    (None, None) => error.with("missing", "linkOrd"),
                })
            }
        }
    }

    fn failure(&self, error: StructureError) -> WriteFailure {
        let text = sentence(&error);
        let unresolved = || {
            let error = ToolError::new(ErrorCode::OrdNotResolvable, text.clone());
            WriteFailure::Tool(if self.by_link {
                error.with("ord", self.link.clone())
            } else {
                error
                    .with("sinkOrd", self.sink.clone())
                    .with("linkName", self.name.clone())
            })
        };
        let told = Told {
            place: match self.by_link {
                true => ("ord", &self.link),
                false => ("sinkOrd", &self.sink),
            },
            name: ("linkName", &self.name),
            type_key: "type",
        };
        match error {
            StructureError::NoSuchLink { .. }
            | StructureError::Sink(
                FacadeError::NotAComponent { .. }
                | FacadeError::Station(StationError::NotFound { .. } | StationError::Ord(_)),
            ) => unresolved(),
            error => told.failure(error),
        }
    }
}

impl Tool for UnlinkSlots {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "unlinkSlots",
            Category::Write,
            Annotations::DESTRUCTIVE,
            "Removes a link from its sink and tells which slots it connected. Name it by linkOrd, or by sinkOrd and \
             linkName. Example: {\"linkOrd\":\"station:|slot:/Logic/Loop/RoomTempOutLink\"}.",
        )
        .for_users()
        .input(with_confirm(
            object()
                .optional("linkOrd", schema::string("Ord of the link: that of its sink and the link's name."))
                .optional("sinkOrd", schema::string("Ord of the component that has the link."))
                .optional("linkName", schema::string("Name of the link on it.")),
        ))
        .output(
            object()
                .required("linkOrd", schema::string("Absolute ord that the link had."))
                .required("sourceOrd", schema::string("Absolute ord of the source; empty if it is gone."))
                .required("sourceSlot", schema::string("Slot of the source."))
                .required("sinkOrd", schema::string("Absolute ord of the sink."))
                .required("sinkSlot", schema::string("Slot of the sink."))
                .required("removed", schema::boolean("The sink does not show the link any more."))
                .optional("readBackFailed", schema::string("Why the sink could not be read back.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let meant = &Meant::of(&arguments)?;
            let mut request =
                WriteRequest::new("unlinkSlots", "unlink", &meant.link, arguments.values())
                    .judged_at(&meant.sink)
                    .removing();
            let look = |write: StationWrite| async move {
                let station = &write.station;
                let found = station.look_at_link(&write.scope, &write.ord, &meant.name);
                found.await.map_err(|error| meant.failure(error))
            };
            // Who may not link to a level may not take its link away either.
            let found = self.0.check(context, &request, look).await?.plan;
            if let Some(level) = found.level {
                request = request.at_priority(level);
            }
            self.0
                .check_permitted(context, &request, found.is_permitted)
                .await?;
            let sent = self.0.run(context, request, |write| async move {
                let removed = write
                    .station
                    .unlink_slots(&write.scope, &write.ord, &meant.name)
                    .await;
                let removed = removed.map_err(|error| meant.failure(error))?;
                let before = json!({
                    "source": removed.source, "sourceSlot": removed.source_slot, "sinkSlot": removed.sink_slot,
                });
                Ok(Written::new(removed).from(before))
            });
            sent.await?.answered(|removed| Ok(answer(&removed)))
        })
    }
}

fn answer(removed: &RemovedLink) -> ToolOutput {
    let mut answer = json!({
        "linkOrd": removed.ord,
        "sourceOrd": removed.source.as_deref().unwrap_or_default(),
        "sourceSlot": removed.source_slot,
        "sinkOrd": removed.sink,
        "sinkSlot": removed.sink_slot,
        // The station took the removal; only what it still shows speaks against it.
        "removed": removed.is_gone != Ok(false),
    });
    if let Err(reason) = &removed.is_gone {
        answer["readBackFailed"] = json!(reason);
    }
    ToolOutput::json(answer)
}
