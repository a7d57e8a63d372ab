//! `addExtension`: adds an extension such as a history or an alarm to a point (Tool surface §8.4, §13.5.4).

use futures::future::BoxFuture;

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolResult};
use super::schema::{self, object};
use super::structure_write::{
    NAME_STRATEGY, Told, created, created_answer, created_schema, name_arguments, new_slot,
};
use super::write_gate::{SharedGate, WriteRequest, with_confirm};
use super::{Arguments, CallContext};

/// `addExtension`.
pub struct AddExtension(pub SharedGate);

impl Tool for AddExtension {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "addExtension",
            Category::Write,
            Annotations::MUTATION,
            "Adds an extension to a control point: a history (history:NumericIntervalHistoryExt), an alarm \
             (alarm:OutOfRangeAlarmExt), a totalizer. The station is not saved: commitStation does that. Example: \
             {\"parentOrd\":\"station:|slot:/Logic/Setpoint\",\"extensionType\":\"history:NumericCovHistoryExt\",\"name\":\"Trend\"}.",
        )
        .for_users()
        .input(with_confirm(name_arguments(
            object()
                .required("parentOrd", schema::string("Ord of the control point."))
                .required(
                    "extensionType",
                    schema::string("module:TypeName of the extension; it must fit the kind of the point."),
                ),
            "Trend",
        )))
        .accepting_other_words(&[NAME_STRATEGY])
        .output(created_schema("extensionOrd"))
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let parent = arguments.string("parentOrd")?;
            let new = new_slot(&arguments, "extensionType")?;
            let told = Told {
                place: ("parentOrd", parent),
                name: ("name", arguments.string("name")?),
                type_key: "extensionType",
            };
            let request =
                WriteRequest::new("addExtension", "addExtension", parent, arguments.values())
                    .adding(told.name.1);
            let sent = self.0.run(context, request, |write| async move {
                let sent = write
                    .station
                    .add_extension(&write.scope, &write.ord, &new)
                    .await;
                sent.map(created).map_err(|error| told.failure(error))
            });
            sent.await?
                .answered(|slot| Ok(created_answer("extensionOrd", &slot)))
        })
    }
}
