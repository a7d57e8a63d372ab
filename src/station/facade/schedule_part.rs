//! A schedule and the components it consists of, as BOX or oBIX tell them.

use std::collections::HashMap;

use super::StationFacade;
use super::error::FacadeResult;
use super::history::is_timeout;
use super::obix_routes::obix_path;
use super::slot_text::slot_text;
use super::status_reading::StatusReading;
use crate::station::boxp::tree::ComponentTree;
use crate::station::boxp::types::display_name;
use crate::station::boxp::{Contract, Node};
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::obix::ObixClient;
use crate::station::obix::client::Document;
use crate::station::obix::folder::Folder;
use crate::station::obix::href::ObixPath;
use crate::station::obix::object::Object;
use crate::station::ord::{Ord, SlotPath, unescape};

/// Levels below a schedule: program, week, weekday, day, period, and the nested choices of special days.
const LEVELS: u32 = 9;

/// Most parts of one schedule.
const MOST_PARTS: usize = 2000;

/// A component of a schedule.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Part {
    /// Escaped slot name; empty for the schedule itself.
    pub name: String,
    pub display_name: String,
    pub type_spec: String,
    pub slots: Vec<PartSlot>,
    pub children: Vec<Part>,
}

/// A property of a part.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PartSlot {
    pub name: String,
    pub type_spec: String,
    /// Text for people.
    pub text: Option<String>,
    /// Encoded simple value.
    pub encoded: Option<String>,
    /// Encoded members of a struct.
    pub members: Vec<(String, String)>,
    /// For values with a status.
    pub reading: Option<StatusReading>,
}

impl Part {
    pub fn slot(&self, name: &str) -> Option<&PartSlot> {
        self.slots.iter().find(|slot| slot.name == name)
    }

    pub fn child(&self, name: &str) -> Option<&Part> {
        self.children.iter().find(|child| child.name == name)
    }

    /// A property that holds a value with a status.
    pub fn reading(&self, name: &str) -> Option<StatusReading> {
        self.slot(name)?.reading.clone()
    }

    /// Everything that the part holds on one line: properties, then child components in parentheses.
    pub fn raw_text(&self) -> String {
        let slots = self.slots.iter().filter_map(|slot| {
            let text = slot.text.as_ref().filter(|text| !text.is_empty())?;
            Some(format!("{}={text}", slot.name))
        });
        let children = self
            .children
            .iter()
            .map(|child| format!("{}({})", child.name, child.raw_text()));
        slots.chain(children).collect::<Vec<_>>().join(", ")
    }

    /// A component's own document; its children are not in it.
    pub fn of_obix(
        client: &ObixClient,
        path: &ObixPath,
        document: &Document,
        folder: &Folder,
        facets: &Facets,
    ) -> Self {
        let name = path.last_segment().to_owned();
        Self {
            display_name: folder
                .display_name
                .clone()
                .unwrap_or_else(|| unescape(&name)),
            type_spec: document.root.type_spec().unwrap_or_default().to_owned(),
            slots: folder
                .properties
                .iter()
                .map(|property| obix_slot(client, path, property, facets))
                .collect(),
            children: Vec::new(),
            name,
        }
    }
}

/// Whether a type belongs to the schedule module.
pub(super) fn is_schedule_type(type_spec: &str) -> bool {
    type_spec.starts_with("schedule:")
}

/// The facets of a component's oBIX document.
pub(super) fn facets_of(document: &Document) -> Facets {
    document
        .root
        .child("facets")
        .filter(|child| !child.is_null())
        .and_then(Object::val)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

fn obix_slot(client: &ObixClient, path: &ObixPath, property: &Object, facets: &Facets) -> PartSlot {
    let type_spec = property.value_type().unwrap_or_default();
    let reading = type_spec
        .starts_with("baja:Status")
        .then(|| client.reading(path.clone(), property, None).ok())
        .flatten()
        .map(|reading| StatusReading::of_obix(&reading, facets));
    let encoded = property
        .val()
        .filter(|_| !property.is_null())
        .map(str::to_owned);
    PartSlot {
        name: property.name().unwrap_or_default().to_owned(),
        type_spec,
        text: property
            .display()
            .map(str::to_owned)
            .or_else(|| encoded.clone()),
        encoded,
        members: property
            .children
            .iter()
            .filter(|member| !member.is_null())
            .filter_map(|member| Some((member.name()?.to_owned(), member.val()?.to_owned())))
            .collect(),
        reading,
    }
}

fn box_slot(slot: &Node, facets: &Facets) -> PartSlot {
    PartSlot {
        name: slot.slot_name().to_owned(),
        type_spec: slot.type_name().to_owned(),
        text: slot_text(slot, facets),
        encoded: slot.value.clone(),
        members: slot
            .properties()
            .filter_map(|member| Some((member.slot_name().to_owned(), member.value.clone()?)))
            .collect(),
        reading: StatusReading::of_node(slot, facets),
    }
}

/// A schedule with all its parts.
pub(super) struct WholeSchedule {
    pub root: Part,
    /// Facets of the output.
    pub facets: Facets,
    /// Parts are missing: too many, or the time was over.
    pub is_truncated: bool,
    /// What the interface leaves out without a word may be there all the same.
    pub may_hide_parts: bool,
}

impl StationFacade {
    /// Loads a component with everything below it over BOX; slots at their default come from the contracts.
    pub(super) async fn schedule_by_box(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> FacadeResult<WholeSchedule> {
        let (whole, _) = self.schedule_with_tree(scope, ord).await?;
        Ok(whole)
    }

    /// The same with the components as they were loaded, which tell handles and permissions.
    pub(super) async fn schedule_with_tree(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> FacadeResult<(WholeSchedule, ComponentTree)> {
        let tree = self
            .over_box(async {
                Ok(self
                    .boxp()
                    .components(scope, ord, LEVELS, MOST_PARTS)
                    .await?)
            })
            .await?;
        let mut contracts = HashMap::new();
        for node in std::iter::once(&tree.root).chain(tree.entries.iter().map(|entry| &entry.node))
        {
            let type_spec = node.type_name();
            if type_spec.is_empty() || contracts.contains_key(type_spec) {
                continue;
            }
            let contract = match self.boxp().contract(scope, type_spec).await {
                Ok(contract) => Some(contract),
                Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            contracts.insert(type_spec.to_owned(), contract);
        }
        let contract = |node: &Node| {
            contracts
                .get(node.type_name())
                .and_then(|contract| contract.as_deref())
        };
        let facets: Facets = tree
            .root
            .child("facets")
            .or_else(|| contract(&tree.root)?.slot("facets"))
            .and_then(|slot| slot.value.as_deref())
            .and_then(|text| text.parse().ok())
            .unwrap_or_default();
        let whole = WholeSchedule {
            root: whole(&tree, ord, &facets, &contract),
            facets,
            is_truncated: tree.is_truncated,
            may_hide_parts: false,
        };
        Ok((whole, tree))
    }

    /// Reads a component with everything below it over oBIX, a level per request.
    pub(super) async fn schedule_by_obix(
        &self,
        scope: &CallScope,
        path: &SlotPath,
    ) -> FacadeResult<WholeSchedule> {
        let start = obix_path(path)?;
        let document = self
            .over_obix(async { Ok(self.obix().get(scope, &start).await?) })
            .await?;
        let facets = facets_of(&document);
        let folder = Folder::read(&start, &document);
        // Parts in the order of the levels, each with the place of its parent.
        let mut parts = vec![(
            0,
            Part::of_obix(self.obix(), &start, &document, &folder, &facets),
        )];
        // Anything else may hold the whole station.
        let is_schedule = document.root.type_spec().is_some_and(is_schedule_type)
            || folder.children.iter().any(|child| child.name == "schedule");
        let mut level: Vec<(usize, ObixPath)> = if is_schedule {
            children(0, &folder)
        } else {
            Vec::new()
        };
        let mut is_truncated = false;
        for _ in 0..LEVELS {
            if level.is_empty() {
                break;
            }
            if parts.len() + level.len() > MOST_PARTS {
                is_truncated = true;
                break;
            }
            let paths: Vec<ObixPath> = level.iter().map(|(_, path)| path.clone()).collect();
            let answers = match self
                .over_obix(async { Ok(self.obix().documents(scope, &paths).await?) })
                .await
            {
                Ok(answers) => answers,
                Err(error) if is_timeout(&error) => {
                    is_truncated = true;
                    break;
                }
                Err(error) => return Err(error),
            };
            let mut next = Vec::new();
            for ((parent, path), answer) in level.iter().zip(answers) {
                let document = match answer {
                    Ok(document) => document,
                    Err(error) => {
                        tracing::debug!(%error, "a part of the schedule cannot be read");
                        is_truncated = true;
                        continue;
                    }
                };
                let folder = Folder::read(path, &document);
                next.extend(children(parts.len(), &folder));
                let part = Part::of_obix(self.obix(), path, &document, &folder, &facets);
                parts.push((*parent, part));
            }
            level = next;
        }
        Ok(WholeSchedule {
            root: assemble(parts),
            facets,
            is_truncated,
            may_hide_parts: true,
        })
    }
}

fn children(parent: usize, folder: &Folder) -> Vec<(usize, ObixPath)> {
    folder
        .children
        .iter()
        .filter(|child| child.path.is_in_tree())
        .map(|child| (parent, child.path.clone()))
        .collect()
}

/// Puts parts into their parents; parents stand before their children, the first is the schedule itself.
fn assemble(parts: Vec<(usize, Part)>) -> Part {
    let mut parts: Vec<(usize, Option<Part>)> = parts
        .into_iter()
        .map(|(parent, part)| (parent, Some(part)))
        .collect();
    for at in (1..parts.len()).rev() {
        let Some((parent, part)) = parts
            .get_mut(at)
            .map(|(parent, part)| (*parent, part.take()))
        else {
            continue;
        };
        if let (Some(mut part), Some((_, Some(parent)))) = (part, parts.get_mut(parent)) {
            part.children.reverse();
            parent.children.push(part);
        }
    }
    let mut root = parts
        .into_iter()
        .next()
        .and_then(|(_, root)| root)
        .unwrap_or_default();
    root.children.reverse();
    root
}

fn whole<'c>(
    tree: &ComponentTree,
    ord: &Ord,
    facets: &Facets,
    contract: &impl Fn(&Node) -> Option<&'c Contract>,
) -> Part {
    let mut held: Vec<Vec<String>> = vec![Vec::new(); tree.entries.len() + 1];
    for entry in &tree.entries {
        let parent = entry.parent.map_or(0, |parent| parent + 1);
        if let Some(names) = held.get_mut(parent) {
            names.push(entry.node.slot_name().to_owned());
        }
    }
    let part = |node: &Node, at: usize| {
        let slots = match contract(node) {
            Some(contract) => contract.merge(node),
            None => node.children.clone(),
        };
        let is_component = |name: &str| {
            held.get(at)
                .is_some_and(|names| names.iter().any(|held| held == name))
        };
        Part {
            name: node.slot_name().to_owned(),
            display_name: display_name(node),
            type_spec: node.type_name().to_owned(),
            slots: slots
                .iter()
                .filter(|slot| slot.is_property() && !is_component(slot.slot_name()))
                .map(|slot| box_slot(slot, facets))
                .collect(),
            children: Vec::new(),
        }
    };
    let mut parts = vec![(0, part(&tree.root, 0))];
    for (at, entry) in tree.entries.iter().enumerate() {
        let parent = entry.parent.map_or(0, |parent| parent + 1);
        parts.push((parent, part(&entry.node, at + 1)));
    }
    let mut root = assemble(parts);
    if tree.root.display_name.is_none() {
        root.display_name = ord.name().map(|name| name.display()).unwrap_or_default();
    }
    root
}
