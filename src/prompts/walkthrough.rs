//! Prompts that lead through the mapping of a site (Tool surface §11, `walkthrough.*`).

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::guide::{CONFIRM, Guide};
use super::{Prompt, PromptArgument, PromptArguments, PromptDefinition};
use crate::knowledge::completion;
use crate::tools::{CallContext, ToolError};

/// `walkthrough.new_station`: from an empty knowledge model to a first map.
pub struct NewStation;

impl Prompt for NewStation {
    fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: "walkthrough.new_station".into(),
            title: None,
            description: "Maps a station that nobody has mapped yet: spaces, equipment types, equipment and their \
                          points, step by step with the user."
                .into(),
            arguments: Vec::new(),
        }
    }

    fn text(
        &self,
        context: &CallContext,
        _arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        Ok(Guide::new(
            context,
            "Map this building station together with the user. The result is the knowledge model: which spaces there \
             are, which equipment stands in them, and which point of the station plays which role.",
        )
        .step(
            &["getOverview", "listChildren"],
            "Call `getOverview`, then `listChildren` with ord `station:|slot:/`. Tell the user in a few sentences what \
             the station holds.",
        )
        .step(
            &[],
            "Ask the user what the site is, and which buildings, floors, zones and rooms it has.",
        )
        .step(
            &["createSpace"],
            "Create the spaces from the answers with `createSpace`, outer ones first. Ids are in kebab-case, for \
             example `floor-2`.",
        )
        .step(
            &["findComponentsByType"],
            "Find typical components with `findComponentsByType`, for example typeName `control:NumericPoint` or \
             `control:BooleanWritable`, and look at the folders that they lie in: a folder with many points is usually \
             one piece of equipment.",
        )
        .step(
            &["importKnowledge", "createEquipmentType"],
            "Agree on the equipment types. Offer two starts: the resource `niagara://kinds/catalog`, which shows the \
             types and point kinds known so far, and `importKnowledge` with source='sample' mode='merge', which adds \
             five common types (source='standard' adds all types that come with this bridge). Create each further type with `createEquipmentType` when the user has confirmed it.",
        )
        .step(
            &["createEquipment"],
            "Create the equipment one at a time with `createEquipment`; ask for each one in which space it is. The ord \
             is that of its folder.",
        )
        .step(
            &["getSlots", "assignPointToEquipment"],
            "For each one find the key points with `listChildren` on its folder and `getSlots` on the points (facets \
             tell the units), and assign them with `assignPointToEquipment`, the roles of its type first. A point \
             that belongs to no equipment, such as a room sensor, is created in its space with \
             `createStandalonePoint`.",
        )
        .step(
            &["validateKnowledge"],
            "Call `validateKnowledge` and report the warnings in words.",
        )
        .further(
            &["suggestMapping"],
            "To save time with many points, call `suggestMapping` on a folder. It proposes equipment, type and roles \
             with a confidence and its reasons and writes nothing; assign only what the user confirms, and ask about \
             every proposal below 0.9. It proposes most with the types of source='standard'. What has no `type` there is \
             not in use or no equipment: ask the user what it is before creating anything for it.",
        )
        .further(
            &["applyPattern"],
            "Where many pieces of equipment are alike, map one and call `applyPattern` with dryRun=true for its \
             siblings. Show the plan; call it with dryRun=false only after a yes.",
        )
        .further(
            &["checkKnowledgeIntegrity"],
            "Call `checkKnowledgeIntegrity` at the end; every reference has to lead to something on the station.",
        )
        .end(CONFIRM))
    }
}

/// `walkthrough.continue`: goes on with a map that is not finished.
pub struct Continue;

impl Prompt for Continue {
    fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: "walkthrough.continue".into(),
            title: None,
            description: "Goes on with a walkthrough that was interrupted: finds what is not mapped yet and continues \
                          there."
                .into(),
            arguments: Vec::new(),
        }
    }

    fn text(
        &self,
        context: &CallContext,
        _arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        Ok(Guide::new(
            context,
            "Go on with the mapping of this station where it was left. Everything that was confirmed before is saved; \
             do not create it again.",
        )
        .step(
            &["getKnowledgeSummary"],
            "Call `getKnowledgeSummary` and tell the user how far the map is.",
        )
        .step(
            &["validateKnowledge"],
            "Call `validateKnowledge`: equipment with a required role without a point was left half mapped. List it.",
        )
        .step(
            &["suggestMapping", "assignPointToEquipment"],
            "Call `suggestMapping` with the ord of each of these, and of each folder that holds mapped equipment: it \
             shows as mappedAs what is mapped with the points that have no role yet. Finish such equipment first, with \
             `assignPointToEquipment` for what the user confirms: the next step does not show what lies below mapped \
             equipment.",
        )
        .step(
            &["findUnmappedComponents"],
            "Call `findUnmappedComponents` with typeName='BControlPoint'. These points belong to no equipment and to \
             no space yet; group them by folder.",
        )
        .step(
            &[],
            "Ask the user where to continue: with a space, with an equipment type, or down the list of what is not \
             mapped.",
        )
        .step(
            &["createEquipment", "assignPointToEquipment"],
            "Continue there with `createEquipment` for equipment that is missing and `assignPointToEquipment` for its \
             points. A point that belongs to no equipment goes to its space with `createStandalonePoint`.",
        )
        .step(
            &["validateKnowledge"],
            "Call `validateKnowledge` and report what is left: the warnings, and how many points are still unmapped.",
        )
        .further(
            &["suggestMapping"],
            "For a folder with many unmapped points call `suggestMapping`, which writes nothing, and assign what the \
             user confirms.",
        )
        .further(
            &["applyPattern"],
            "For equipment like one that is mapped already call `applyPattern` with dryRun=true, show the plan, and \
             apply it only after a yes.",
        )
        .further(
            &["diffStation"],
            "Call `diffStation` to see what changed on the station since the model was last verified, and correct what \
             points to something that is gone.",
        )
        .further(
            &["checkKnowledgeIntegrity"],
            "Call `checkKnowledgeIntegrity` at the end; every reference has to lead to something on the station.",
        )
        .end(CONFIRM))
    }
}

/// `walkthrough.verify_types`: are the equipment types right?
pub struct VerifyTypes;

impl Prompt for VerifyTypes {
    fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: "walkthrough.verify_types".into(),
            title: None,
            description: "Goes through the equipment types with the user: names, aliases, and the roles that each one \
                          has."
                .into(),
            arguments: Vec::new(),
        }
    }

    fn text(
        &self,
        context: &CallContext,
        _arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        Ok(Guide::new(
            context,
            "Check with the user that the equipment types of the knowledge model fit what the station really has.",
        )
        .step(
            &[],
            "Read the resource `niagara://kinds/catalog`: equipment types with their roles, and the kinds of points. \
             If you cannot read resources, `exportKnowledge` shows the types too.",
        )
        .step(
            &[],
            "For each type ask the user whether name and aliases are the ones used on this site, and confirm the list \
             of roles; a type has the roles of the type that it extends as well.",
        )
        .step(
            &["updateEquipmentType"],
            "Add missing roles with `updateEquipmentType`. Warning: `typical_points` and `aliases` replace the stored \
             lists. Build the complete list first, the old entries included, show it, then write it.",
        )
        .step(
            &["importKnowledge"],
            "If there are few types, or too general ones, propose `importKnowledge` with source='sample' mode='merge'; \
             it adds common types and leaves existing ones alone.",
        )
        .further(
            &["validateKnowledge"],
            "Call `validateKnowledge`; it names equipment that lacks a role which its type requires.",
        )
        .end(CONFIRM))
    }
}

/// `walkthrough.apply_pattern`: takes over a map made elsewhere.
pub struct ApplyPattern;

const MODES: [&str; 2] = ["merge", "replace"];

impl Prompt for ApplyPattern {
    fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: "walkthrough.apply_pattern".into(),
            title: None,
            description: "Takes over types, spaces and equipment from a knowledge document of a similar site, then \
                          corrects what differs here."
                .into(),
            arguments: vec![PromptArgument {
                name: "mode",
                description: "merge (default): add what is new; replace: replace the whole model.",
                required: false,
            }],
        }
    }

    fn text(
        &self,
        context: &CallContext,
        arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        let mode = match arguments.get("mode") {
            None => "merge",
            Some(given) => MODES
                .into_iter()
                .find(|mode| mode.eq_ignore_ascii_case(given))
                .ok_or_else(|| {
                    ToolError::invalid_params("The argument 'mode' must be merge or replace.")
                        .with("argument", "mode")
                })?,
        };
        let warning = if mode == "replace" {
            " This discards every entry that the model has now: say so, and how many there are (`getKnowledgeSummary`)."
        } else {
            ""
        };
        Ok(Guide::new(
            context,
            "Apply the pattern of a site that is mapped already to this one.",
        )
        .step(
            &[],
            "Ask the user to paste the donor document: the YAML or JSON text that `exportKnowledge` gave on the other \
             site.",
        )
        .step(
            &["importKnowledge"],
            &format!(
                "Call `importKnowledge` with that text as content and mode='{mode}', after a yes.{warning}"
            ),
        )
        .step(
            &[],
            "Report how many entries were added and how many were skipped because their id exists.",
        )
        .step(
            &["findUnmappedComponents"],
            "Warn the user that the ords of another site usually differ here. Call `findUnmappedComponents` with \
             typeName='BControlPoint' and compare its list with the imported ords.",
        )
        .further(
            &["checkKnowledgeIntegrity", "updateEquipment"],
            "Call `checkKnowledgeIntegrity`; correct each reference that it calls broken with `updateEquipment`.",
        )
        .further(
            &["applyPattern"],
            "If the pattern is on this very station (one mapped piece of equipment and others like it), no document is \
             needed: call `applyPattern` with dryRun=true, show the plan, and apply it only after a yes.",
        )
        .end(CONFIRM))
    }

    fn complete<'a>(
        &'a self,
        _context: &'a CallContext,
        _argument: &'a str,
        typed: &'a str,
        _given: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(std::future::ready(completion::texts(MODES, typed)))
    }
}
