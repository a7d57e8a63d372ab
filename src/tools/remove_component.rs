//! `removeComponent`: removes a component with everything below it, after telling what would be cut (Tool surface §8.4,
//! §12 row 1, §13.5.4).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::integrity::referrer_json;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::station_access::{component_ord, scope, sentence};
use super::structure_write::Told;
use super::write_gate::error::About;
use super::write_gate::{
    CONFIRM, SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::knowledge::KnowledgeStore;
use crate::knowledge::mapped::references;
use crate::station::facade::{LostLinks, Removable, RemovalPlan, RemovalSurvey, StructureError};
use crate::station::ord::Ord;

/// Extensions, schedules and references that are named; the rest is counted.
const MOST_NAMED: usize = 20;

const TOOL: &str = "removeComponent";

/// `removeComponent`.
pub struct RemoveComponent {
    pub gate: SharedGate,
    pub knowledge: Arc<KnowledgeStore>,
}

impl Tool for RemoveComponent {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            TOOL,
            Category::Write,
            Annotations::DESTRUCTIVE,
            "Removes a component with everything below it. Without dryRun:false it only tells what would go: links to and \
             from it and what lies below, histories, alarms and schedules below, and references of the knowledge model. \
             Links to or from outside stop it unless force:true; whoever may not write to a component may not take its link \
             away so either. Example: \
             {\"ord\":\"station:|slot:/Logic/OldPump\",\"dryRun\":true}.",
        )
        .for_users()
        .input(with_confirm(
            object()
                .required("ord", schema::string("Ord of the component, or of a property that was added to one."))
                .optional("dryRun", schema::boolean("Only tell what would go; true unless given."))
                .optional("force", schema::boolean("Remove it although links would be cut; false unless given.")),
        ))
        .output(output())
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let ord = arguments.string("ord")?;
            let force = arguments.boolean("force", false);
            let request = WriteRequest::new(TOOL, "remove", ord, arguments.values()).removing();
            if arguments.boolean("dryRun", true) {
                return self.rehearse(context, request, force, &arguments).await;
            }
            let look = |write: StationWrite| async move { look(&write, ord).await };
            let removable = self.gate.check(context, &request, look).await?.plan;
            let request = judged(request, removable);
            // The rules about the subtree come before it is read.
            let plan = |write: StationWrite| async move {
                let mut planned = plan(&write, ord, force).await?;
                let survey = &planned.plan.survey;
                self.gate
                    .add_hidden_links(context, survey, &mut planned.lost)
                    .await;
                Ok(planned)
            };
            let planned = self.gate.check(context, &request, plan).await?.plan;
            let seen = planned.plan.survey.clone();
            let request = request.cutting(&planned.lost);
            self.gate
                .check_permitted(context, &request, removable.is_permitted)
                .await?;
            let rehearsal = self.gate.rehearse(context, &request).await;
            let asks = rehearsal.is_ok_and(|rehearsal| rehearsal.needs_confirmation.is_some());
            // A person takes their time: what goes is looked at again.
            let fresh = (!asks).then_some(planned.plan);
            let sent = self.gate.run(context, request, |write| async move {
                let plan = match fresh {
                    Some(plan) => plan,
                    None => replan(&write, ord, force, &seen).await?,
                };
                let sent = write.station.carry_out_removal(&write.scope, plan).await;
                let removed = sent.map_err(|error| failure(error, ord))?;
                let before = json!({
                    "type": removed.survey.type_spec, "components": removed.survey.components,
                    "links": removed.survey.links(),
                });
                Ok(Written::new(removed).from(before))
            });
            sent.await?.answered(|removed| {
                let mut answer = self.answer(ord, &removed.survey);
                // The station took the removal; only what it still shows speaks against it.
                answer.insert("removed".to_owned(), json!(removed.is_gone != Ok(false)));
                if let Err(reason) = &removed.is_gone {
                    answer.insert("readBackFailed".to_owned(), json!(reason));
                }
                Ok(ToolOutput::json(Value::Object(answer)))
            })
        })
    }
}

impl RemoveComponent {
    /// Tells what would go, by the same checks; nothing is sent and nothing recorded (Tool surface §4.1).
    async fn rehearse(
        &self,
        context: &CallContext,
        request: WriteRequest<'_>,
        force: bool,
        arguments: &Arguments,
    ) -> ToolResult {
        self.gate.rehearse(context, &request).await?;
        let about = About {
            principal: &context.principal,
            tool: TOOL,
            operation: request.operation,
            ord: request.ord,
        };
        let told = |error| super::write_gate::error::told(failure(error, request.ord), &about);
        let station = self.gate.station_of(context)?;
        let ord = component_ord(request.ord)?;
        let removable = station.look_at_removable(&scope(context), &ord).await;
        let request = judged(request, removable.map_err(told)?);
        self.gate.rehearse(context, &request).await?;
        let plan = station.plan_removal(&scope(context), &ord, force).await;
        let survey = plan.map_err(told)?.survey;
        let lost = station.lost_links(&scope(context), &survey).await;
        let mut lost = lost.map_err(|error| told(error.into()))?;
        self.gate
            .add_hidden_links(context, &survey, &mut lost)
            .await;
        let request = request.cutting(&lost);
        let rehearsal = self.gate.rehearse(context, &request).await?;
        let mut answer = self.answer(request.ord, &survey);
        answer.insert("removed".to_owned(), json!(false));
        answer.insert("permitted".to_owned(), json!(survey.is_permitted));
        if let Some(reason) = rehearsal.needs_confirmation {
            let token = self
                .gate
                .confirmation_token(context, TOOL, arguments.values())?;
            answer.insert(CONFIRM.to_owned(), json!(token));
            answer.insert("confirmBecause".to_owned(), json!(reason));
        }
        Ok(ToolOutput::json(Value::Object(answer)))
    }

    /// Everything but whether it was removed.
    fn answer(&self, ord: &str, survey: &RemovalSurvey) -> Map<String, Value> {
        let mut answer = Map::new();
        answer.insert("ord".to_owned(), json!(ord));
        answer.append(&mut links(survey));
        answer.insert("wouldRemove".to_owned(), json!(true));
        answer.insert("type".to_owned(), json!(survey.type_spec));
        answer.insert("componentCount".to_owned(), json!(survey.components));
        for (name, found) in [
            ("historyExtension", &survey.history_extensions),
            ("alarmExtension", &survey.alarm_extensions),
            ("schedule", &survey.schedules),
        ] {
            answer.insert(format!("{name}Count"), json!(found.len()));
            let named: Vec<&String> = found.iter().take(MOST_NAMED).collect();
            answer.insert(format!("{name}Ords"), json!(named));
        }
        match self.knowledge.readable() {
            Ok(snapshot) => {
                let found: Vec<Value> = references(snapshot.model.document())
                    .into_iter()
                    .filter(|reference| goes(survey, reference.ord))
                    .map(|reference| {
                        let mut entry = referrer_json(reference.referrer);
                        entry.insert("ord".to_owned(), json!(reference.ord));
                        Value::Object(entry)
                    })
                    .collect();
                answer.insert("knowledgeReferenceCount".to_owned(), json!(found.len()));
                let named: Vec<Value> = found.into_iter().take(MOST_NAMED).collect();
                answer.insert("knowledgeReferences".to_owned(), json!(named));
            }
            Err(error) => {
                answer.insert("knowledgeProblem".to_owned(), json!(sentence(&error)));
            }
        }
        answer
    }
}

/// What goes, and what components that stay lose by it.
struct Planned {
    plan: RemovalPlan,
    lost: LostLinks,
}

async fn plan(write: &StationWrite, ord: &str, force: bool) -> Result<Planned, WriteFailure> {
    let StationWrite {
        station,
        scope,
        ord: component,
        ..
    } = write;
    let plan = station.plan_removal(scope, component, force).await;
    let plan = plan.map_err(|error| failure(error, ord))?;
    let lost = station.lost_links(scope, &plan.survey).await?;
    Ok(Planned { plan, lost })
}

/// Looks again at what goes: links that were made since nobody has judged.
async fn replan(
    write: &StationWrite,
    ord: &str,
    force: bool,
    seen: &RemovalSurvey,
) -> Result<RemovalPlan, WriteFailure> {
    let plan = write
        .station
        .plan_removal(&write.scope, &write.ord, force)
        .await;
    let plan = plan.map_err(|error| failure(error, ord))?;
    if plan.survey.cuts_more_than(seen) {
        let text = "Links were made from this component while it waited for the confirmation, so nothing was removed. \
                    Call again to see what would go.";
        let mut error = ToolError::new(ErrorCode::InboundLinks, text).with("ord", ord);
        error.data.extend(links(&plan.survey));
        return Err(error.into());
    }
    Ok(plan)
}

async fn look(write: &StationWrite, ord: &str) -> Result<Removable, WriteFailure> {
    let removable = write.station.look_at_removable(&write.scope, &write.ord);
    removable.await.map_err(|error| failure(error, ord))
}

/// The request as the rules look at it: a component goes with its subtree, a property is taken from its component, and
/// a link counts at the level that it commands, as it did when it was made.
fn judged<'a>(request: WriteRequest<'a>, removable: Removable) -> WriteRequest<'a> {
    let request = match removable.is_component {
        true => request.removing_subtree(),
        false => request.removing_property(),
    };
    match removable.level {
        Some(level) => request.at_priority(level),
        None => request,
    }
}

/// Whether an ord leads to something that goes with a component.
fn goes(survey: &RemovalSurvey, ord: &str) -> bool {
    match Ord::component(ord) {
        Ok(Ord::Slot(path)) => path.is_within(&survey.path),
        Ok(Ord::Handle(handle)) => survey.handles.contains(&handle),
        _ => false,
    }
}

fn links(survey: &RemovalSurvey) -> Map<String, Value> {
    let mut links = Map::new();
    for (count, samples, cut) in [
        ("inboundLinkCount", "sampleSourceOrds", &survey.inbound),
        ("outboundLinkCount", "sampleSinkOrds", &survey.outbound),
        (
            "descendantLinkCount",
            "sampleDescendantLinkOrds",
            &survey.descendants,
        ),
    ] {
        links.insert(count.to_owned(), json!(cut.count));
        links.insert(samples.to_owned(), json!(cut.samples));
    }
    links.insert("incomplete".to_owned(), json!(survey.is_incomplete));
    links
}

fn failure(error: StructureError, ord: &str) -> WriteFailure {
    match error {
        StructureError::HasLinks { survey } => {
            let data = links(&survey);
            let text = sentence(&StructureError::HasLinks { survey });
            let mut error = ToolError::new(ErrorCode::InboundLinks, text).with("ord", ord);
            error.data.extend(data);
            WriteFailure::Tool(error)
        }
        error => {
            let told = Told {
                place: ("ord", ord),
                name: ("name", ""),
                type_key: "type",
            };
            told.failure(error)
        }
    }
}

fn output() -> ObjectSchema {
    let ords = |description: &str| schema::list(description, schema::string("Absolute ord."));
    let reference = object()
        .optional("equipment", schema::string("Id of the equipment."))
        .optional(
            "field",
            schema::string("Where the equipment has it: ord or points."),
        )
        .optional("role", schema::string("Role of the point."))
        .optional(
            "standalonePoint",
            schema::string("Id of the standalone point."),
        )
        .optional("point", schema::string("The same, by its other name."))
        .required("ord", schema::string("The ord as the model has it."));
    object()
        .required("ord", schema::string("As given."))
        .required(
            "removed",
            schema::boolean("It is gone; false in a dry run."),
        )
        .required(
            "wouldRemove",
            schema::boolean("Nothing stands in the way of the removal."),
        )
        .required("inboundLinkCount", schema::whole("Links stored on it."))
        .required(
            "sampleSourceOrds",
            ords("Sources of the first five; empty for one that is gone."),
        )
        .required(
            "outboundLinkCount",
            schema::whole("Links from it to components outside."),
        )
        .required("sampleSinkOrds", ords("Sinks of the first five."))
        .required(
            "descendantLinkCount",
            schema::whole("Links between what lies below it and the outside."),
        )
        .required(
            "sampleDescendantLinkOrds",
            ords("Outer ends of the first five."),
        )
        .required(
            "incomplete",
            schema::boolean("Not everything could be read; links may have been missed."),
        )
        .optional(
            "permitted",
            schema::boolean("In a dry run: the station's permissions of the caller allow it, as far as they are told."),
        )
        .required("type", schema::string("Its type."))
        .required(
            "componentCount",
            schema::whole("Components that go, itself included; 0 for a property."),
        )
        .required(
            "historyExtensionCount",
            schema::whole("History extensions that go; their histories stay."),
        )
        .required("historyExtensionOrds", ords("The first 20."))
        .required(
            "alarmExtensionCount",
            schema::whole("Alarm extensions that go."),
        )
        .required("alarmExtensionOrds", ords("The first 20."))
        .required("scheduleCount", schema::whole("Schedules that go."))
        .required("scheduleOrds", ords("The first 20."))
        .optional(
            "knowledgeReferenceCount",
            schema::whole("References of the knowledge model that would lead nowhere."),
        )
        .optional(
            "knowledgeReferences",
            schema::list("The first 20.", reference),
        )
        .optional(
            "knowledgeProblem",
            schema::string("Why the knowledge model could not be searched."),
        )
        .optional(
            CONFIRM,
            schema::string(
                "Token that confirms the removal with the same arguments; ask the person first.",
            ),
        )
        .optional(
            "confirmBecause",
            schema::string("Why somebody must confirm it."),
        )
        .optional(
            "readBackFailed",
            schema::string("Why it could not be read back."),
        )
}
