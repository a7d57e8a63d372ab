//! `linkSlots`: a link between the slots of two components (Tool surface §8.4, §12 row 30, §13.5.4).

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{component_ord, sentence};
use super::structure_write::Told;
use super::write_gate::{
    SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::station::error::StationError;
use crate::station::facade::{FacadeError, LinkPlan, LinkState, MadeLink, NewLink, StructureError};
use crate::station::ord::Ord;

/// `linkSlots`.
pub struct LinkSlots(pub SharedGate);

/// A call that was understood.
#[derive(Clone, Copy)]
struct LinkCall<'a> {
    ends: Ends<'a>,
    name: Option<&'a str>,
    converter: Option<&'a str>,
}

impl LinkCall<'_> {
    async fn plan(self, write: &StationWrite) -> Result<LinkPlan, WriteFailure> {
        let new = NewLink {
            source: end_ord("sourceOrd", self.ends.source)?,
            source_slot: self.ends.source_slot.to_owned(),
            sink: write.ord.clone(),
            sink_slot: self.ends.sink_slot.to_owned(),
            name: self.name.map(str::to_owned),
            converter: self.converter.map(str::to_owned),
        };
        let plan = write.station.plan_link(&write.scope, &new).await;
        plan.map_err(|error| self.failure(error))
    }

    fn failure(self, error: StructureError) -> WriteFailure {
        failure(error, self.ends, self.name)
    }
}

/// The two ends as the caller wrote them.
#[derive(Clone, Copy)]
struct Ends<'a> {
    source: &'a str,
    source_slot: &'a str,
    sink: &'a str,
    sink_slot: &'a str,
}

impl<'a> Ends<'a> {
    fn of(arguments: &'a Arguments) -> Result<Self, ToolError> {
        Ok(Self {
            source: arguments.string("sourceOrd")?,
            source_slot: arguments.string("sourceSlot")?,
            sink: arguments.string("sinkOrd")?,
            sink_slot: arguments.string("sinkSlot")?,
        })
    }

    fn json(self) -> Map<String, Value> {
        let ends = [
            ("sourceOrd", self.source),
            ("sourceSlot", self.source_slot),
            ("sinkOrd", self.sink),
            ("sinkSlot", self.sink_slot),
        ];
        let ends = ends.into_iter();
        ends.map(|(key, text)| (key.to_owned(), json!(text)))
            .collect()
    }
}

impl Tool for LinkSlots {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "linkSlots",
            Category::Write,
            Annotations::MUTATION,
            "Links a slot of one component to a slot of another; the link is stored on the sink and commands its slot from \
             then on; a link to level 1 or 8 of a point needs a confirmation. The station checks the link first: where the types differ it may need a converterType, and the \
             refusal names those that fit. The answer tells what the station shows of the link. Example: \
             {\"sourceOrd\":\"station:|slot:/Logic/RoomTemp\",\"sourceSlot\":\"out\",\"sinkOrd\":\"station:|slot:/Logic/Loop\",\"sinkSlot\":\"controlledVariable\"}.",
        )
        .for_users()
        .input(with_confirm(
            object()
                .required("sourceOrd", schema::string("Ord of the component that the value comes from."))
                .required("sourceSlot", schema::string("Its slot, for example out."))
                .required("sinkOrd", schema::string("Ord of the component that takes the value."))
                .required("sinkSlot", schema::string("Its slot, for example in10."))
                .optional(
                    "linkName",
                    schema::string("Name of the link on the sink; made of source and slot when left out."),
                )
                .optional(
                    "converterType",
                    schema::string("module:TypeName of a converter, for example converters:StatusNumericToStatusString."),
                ),
        ))
        .output(
            object()
                .required("linkOrd", schema::string("Absolute ord of the link."))
                .required("linkType", schema::one_of("Its kind.", &["link", "conversionLink"]))
                .optional("converter", schema::string("Type of the converter."))
                .required("sourceOrd", schema::string("As given."))
                .required("sourceSlot", schema::string("As given."))
                .required("sinkOrd", schema::string("As given."))
                .required("sinkSlot", schema::string("As given."))
                .optional(
                    "linkCheckNote",
                    schema::string("Why the link was made although the station did not find it valid."),
                )
                .required(
                    "status",
                    schema::one_of(
                        "What the station shows of the link now.",
                        &["active", "disabled", "source-lost", "missing", "unknown"],
                    ),
                )
                .optional(
                    "sinkStatus",
                    schema::string("Status of the sink slot now; a wrong converter shows as fault."),
                )
                .optional("readBackFailed", schema::string("Why the link could not be read back.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let call = LinkCall {
                ends: Ends::of(&arguments)?,
                name: arguments.optional_string("linkName"),
                converter: arguments.optional_string("converterType"),
            };
            let mut request =
                WriteRequest::new("linkSlots", "link", call.ends.sink, arguments.values());
            if let Some(name) = call.name {
                request = request.adding(name);
            }
            let look = |write: StationWrite| async move { call.plan(&write).await };
            let checked = self.0.check(context, &request, look).await?;
            let level = checked.plan.level();
            if let Some(level) = level {
                request = request.at_priority(level);
            }
            if let Some(duration) = checked.plan.override_for() {
                request = request.overriding_for(duration);
            }
            // Commands of levels may be confirmed by themselves, so the plan can be old by then.
            let plan = checked.fresh().filter(|_| level.is_none());
            let sent = self.0.run(context, request, |write| async move {
                let plan = match plan {
                    Some(plan) => plan,
                    None => call.plan(&write).await?,
                };
                let made = write.station.carry_out_link(&write.scope, plan).await;
                let made = made.map_err(|error| call.failure(error))?;
                let kept = json!({ "link": made.ord, "ends": call.ends.json() });
                Ok(Written::new(made).to(kept))
            });
            sent.await?.answered(|made| Ok(answer(call.ends, made)))
        })
    }
}

fn end_ord(argument: &str, text: &str) -> Result<Ord, ToolError> {
    component_ord(text).map_err(|error| of_end(error, argument, text))
}

/// An ord that leads nowhere is told under the name of its argument (Tool surface §5.3).
fn of_end(mut error: ToolError, argument: &str, text: &str) -> ToolError {
    error.data.shift_remove("ord");
    error.with(argument, text)
}

fn failure(error: StructureError, ends: Ends<'_>, name: Option<&str>) -> WriteFailure {
    let told = Told {
        place: ("sinkOrd", ends.sink),
        name: ("linkName", name.unwrap_or_default()),
        type_key: "converterType",
    };
    let unresolved = |error: FacadeError, argument: &str, text: &str| match &error {
        FacadeError::NotAComponent { .. }
        | FacadeError::Station(StationError::NotFound { .. } | StationError::Ord(_)) => {
            let error = ToolError::new(ErrorCode::OrdNotResolvable, sentence(&error));
            WriteFailure::Tool(of_end(error, argument, text))
        }
        _ => error.into(),
    };
    match error {
        StructureError::Source(error) => unresolved(error, "sourceOrd", ends.source),
        StructureError::Sink(error) => unresolved(error, "sinkOrd", ends.sink),
        error @ StructureError::LinkRefused { .. } => match told.failure(error) {
            WriteFailure::Tool(mut error) => {
                let mut data = ends.json();
                data.append(&mut error.data);
                error.data = data;
                WriteFailure::Tool(error)
            }
            failure => failure,
        },
        error => told.failure(error),
    }
}

fn answer(ends: Ends<'_>, made: MadeLink) -> ToolOutput {
    let mut answer = Map::new();
    answer.insert("linkOrd".to_owned(), json!(made.ord));
    let kind = match made.converter {
        Some(_) => "conversionLink",
        None => "link",
    };
    answer.insert("linkType".to_owned(), json!(kind));
    let mut put = |key: &str, text: Option<String>| {
        if let Some(text) = text {
            answer.insert(key.to_owned(), json!(text));
        }
    };
    put("converter", made.converter);
    put("linkCheckNote", made.check_note);
    put("status", Some(made.state.name().to_owned()));
    put("sinkStatus", made.sink_status);
    if let LinkState::Unknown(reason) = made.state {
        put("readBackFailed", Some(reason));
    }
    answer.extend(ends.json());
    ToolOutput::json(Value::Object(answer))
}
