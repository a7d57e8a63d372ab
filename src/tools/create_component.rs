//! `createComponent`: adds a component, or a value as a dynamic property (Tool surface §8.4, §13.5.4).

use futures::future::BoxFuture;

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolResult};
use super::schema::{self, object};
use super::structure_write::{
    NAME_STRATEGY, Told, created, created_answer, created_schema, name_arguments, new_slot,
};
use super::write_gate::{SharedGate, WriteRequest, with_confirm};
use super::{Arguments, CallContext};

/// `createComponent`.
pub struct CreateComponent(pub SharedGate);

impl Tool for CreateComponent {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "createComponent",
            Category::Write,
            Annotations::MUTATION,
            "Adds a component of a type below another, or a value such as baja:String as a dynamic property. The station \
             is not saved: commitStation does that. Example: \
             {\"parentOrd\":\"station:|slot:/Logic\",\"type\":\"control:NumericWritable\",\"name\":\"Setpoint2\"}.",
        )
        .for_users()
        .input(with_confirm(name_arguments(
            object()
                .required("parentOrd", schema::string("Ord of the component to add to."))
                .required(
                    "type",
                    schema::string("module:TypeName, for example baja:Folder or control:BooleanWritable."),
                ),
            "Setpoint2",
        )))
        .accepting_other_words(&[NAME_STRATEGY])
        .output(created_schema("ord"))
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let parent = arguments.string("parentOrd")?;
            let new = new_slot(&arguments, "type")?;
            let told = Told {
                place: ("parentOrd", parent),
                name: ("name", arguments.string("name")?),
                type_key: "type",
            };
            let request = WriteRequest::new("createComponent", "add", parent, arguments.values())
                .adding(told.name.1);
            let sent = self.0.run(context, request, |write| async move {
                let sent = write
                    .station
                    .create_component(&write.scope, &write.ord, &new)
                    .await;
                sent.map(created).map_err(|error| told.failure(error))
            });
            sent.await?
                .answered(|slot| Ok(created_answer("ord", &slot)))
        })
    }
}
