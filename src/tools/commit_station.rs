//! `commitStation`: asks the station to save itself (Tool surface §8.4, §12 row 31).

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::json;

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::write_gate::{SharedGate, WriteRequest, Written, with_confirm};
use super::{Arguments, CallContext};

/// Controllers need minutes to write a large station file.
const SAVE_LIMIT: Duration = Duration::from_secs(110);

/// The station itself, as the records name it.
const STATION: &str = "slot:/";

/// `commitStation`.
pub struct CommitStation(pub SharedGate);

impl Tool for CommitStation {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "commitStation",
            Category::Write,
            Annotations::MUTATION,
            "Saves the station: what was written before survives its restart. Other writes do not save by themselves. \
             The station's answer is no proof that the file is on its disk, and nothing outside the station can look: \
             'persisted' says so. Takes up to two minutes on controllers. Example: {}.",
        )
        .input(with_confirm(object()))
        .output(
            object()
                .required("saved", schema::boolean("The station answered that it saved itself."))
                .required("stationName", schema::string("Name of the station."))
                .required("durationMs", schema::whole("Time that the station took."))
                .required(
                    "persisted",
                    schema::any_of_types(
                        "Whether the file is on the disk: true, false, or the text unknown.",
                        &["boolean", "string"],
                    ),
                ),
        )
        .for_users()
        .within(SAVE_LIMIT)
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let request = WriteRequest::new("commitStation", "save", STATION, arguments.values())
                .of_whole_station();
            let saved = self.0.run(context, request, |write| async move {
                let saved = write.station.save_station(&write.scope).await?;
                Ok(Written::new(saved))
            });
            saved.await?.answered(|saved| {
                Ok(ToolOutput::json(json!({
                    "saved": true,
                    "stationName": saved.station_name,
                    "durationMs": u64::try_from(saved.took.as_millis()).unwrap_or(u64::MAX),
                    "persisted": "unknown",
                })))
            })
        })
    }
}
