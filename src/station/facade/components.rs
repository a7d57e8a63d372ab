//! Single components and their surroundings, over BOX with oBIX behind it (Tool surface §13.5.2).

use std::collections::BTreeSet;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::prefer;
use super::slot_text::{is_priority_slot, slot_text};
use super::view::{
    ChildNode, ChildTree, ComponentFacts, Overview, PresentOrd, Probe, ProbedComponent, SlotFacts,
    SlotList, TopSlot,
};
use crate::station::boxp::tree::{ComponentTree, MAX_COMPONENTS};
use crate::station::boxp::types::display_name;
use crate::station::boxp::{Node, SlotKind};
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath, unescape};

impl StationFacade {
    /// Child components down to `depth` levels, at most 5000.
    pub async fn list_children(
        &self,
        scope: &CallScope,
        ord: &Ord,
        depth: usize,
    ) -> FacadeResult<ChildTree> {
        let levels = u32::try_from(depth.max(1)).unwrap_or(u32::MAX);
        match self
            .over_box(async {
                Ok(self
                    .boxp()
                    .components(scope, ord, levels, MAX_COMPONENTS)
                    .await?)
            })
            .await
        {
            Ok(tree) => {
                must_be_component(&tree.root, ord)?;
                self.children_of(scope, ord, tree, levels).await
            }
            Err(error) => {
                if !self.may_fall_back(&error) {
                    return Err(error);
                }
                self.children_by_obix(scope, ord, levels)
                    .await
                    .map_err(|second| prefer(error, second))
            }
        }
    }

    async fn children_of(
        &self,
        scope: &CallScope,
        ord: &Ord,
        tree: ComponentTree,
        levels: u32,
    ) -> FacadeResult<ChildTree> {
        let types: BTreeSet<&str> = std::iter::once(&tree.root)
            .chain(tree.entries.iter().map(|entry| &entry.node))
            .map(Node::type_name)
            .collect();
        let points = self.point_types(scope, types).await?;
        let mut nodes: Vec<Option<ChildNode>> = tree
            .entries
            .iter()
            .map(|entry| {
                Some(ChildNode {
                    name: entry.node.slot_name().to_owned(),
                    ord: format!("station:|{}", entry.slot_path),
                    display_name: display_name(&entry.node),
                    type_spec: entry.node.type_name().to_owned(),
                    is_point: points.contains(entry.node.type_name()),
                    children: (entry.depth < levels).then(Vec::new),
                })
            })
            .collect();
        let mut root = ChildNode {
            name: ord
                .name()
                .map(|name| name.as_str().to_owned())
                .unwrap_or_default(),
            ord: format!("station:|{}", tree.root_path),
            display_name: own_display_name(&tree.root, ord),
            type_spec: tree.root.type_name().to_owned(),
            is_point: points.contains(tree.root.type_name()),
            children: Some(Vec::new()),
        };
        // Parents stand before their children, so building from the end moves each finished node once.
        for index in (0..nodes.len()).rev() {
            let Some(node) = nodes.get_mut(index).and_then(Option::take) else {
                continue;
            };
            let parent = match tree.entries.get(index).and_then(|entry| entry.parent) {
                Some(parent) => nodes.get_mut(parent).and_then(Option::as_mut),
                None => Some(&mut root),
            };
            if let Some(parent) = parent {
                parent.children.get_or_insert_default().push(node);
            }
        }
        restore_order(&mut root);
        Ok(ChildTree {
            root,
            truncated: tree.is_truncated,
        })
    }

    /// Loads one object over BOX.
    pub(super) async fn resolve(&self, scope: &CallScope, ord: &Ord) -> FacadeResult<Node> {
        self.over_box(async { Ok(self.boxp().resolve(scope, ord).await?) })
            .await
    }

    /// Those of some types that are control points.
    async fn point_types(
        &self,
        scope: &CallScope,
        types: BTreeSet<&str>,
    ) -> FacadeResult<BTreeSet<String>> {
        let names: Vec<String> = types
            .into_iter()
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        self.boxp().learn_ancestries(scope, &names).await?;
        let mut points = BTreeSet::new();
        for name in names {
            match self.boxp().ancestry(scope, &name).await {
                Ok(ancestry) if ancestry.is_point() => {
                    points.insert(name);
                }
                Ok(_) => {}
                Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => {
                    tracing::debug!(type_spec = %name, "the station does not tell the ancestry of this type");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(points)
    }

    /// Name, type, parent and number of child components.
    pub async fn inspect(&self, scope: &CallScope, ord: &Ord) -> FacadeResult<ComponentFacts> {
        let path = self.slot_path(scope, ord).await?;
        let node = match self.resolve(scope, ord).await {
            Ok(node) => node,
            Err(error) => {
                if !self.may_fall_back(&error) {
                    return Err(error);
                }
                return self
                    .inspect_by_obix(scope, &path)
                    .await
                    .map_err(|second| prefer(error, second));
            }
        };
        must_be_component(&node, ord)?;
        Ok(ComponentFacts {
            name: path
                .name()
                .map(|name| name.as_str().to_owned())
                .unwrap_or_default(),
            display_name: own_display_name(&node, &Ord::slot(path.clone())),
            type_spec: node.type_name().to_owned(),
            child_count: node.components().count(),
            parent_ord: path.parent().map(|parent| Ord::slot(parent).absolute()),
        })
    }

    /// All properties in slot order, those at their default included; no actions, topics and child components.
    pub async fn slots(&self, scope: &CallScope, ord: &Ord) -> FacadeResult<SlotList> {
        let node = match self.resolve(scope, ord).await {
            Ok(node) => node,
            Err(error) => {
                if !self.may_fall_back(&error) {
                    return Err(error);
                }
                let slots = self.slots_by_obix(scope, ord).await;
                return Ok(SlotList {
                    slots: slots.map_err(|second| prefer(error, second))?,
                    may_hide_some: true,
                });
            }
        };
        if node.handle.is_none() && node.children.is_empty() && node.value.is_some() {
            return Err(FacadeError::NoSlots {
                ord: ord.absolute(),
                type_spec: node.type_name().to_owned(),
            });
        }
        let merged = self.boxp().merged_slots(scope, &node).await?;
        let point_facets = merged
            .slots
            .iter()
            .find(|slot| slot.slot_name() == "facets")
            .and_then(|slot| slot.value.as_deref());
        let slots = merged.slots.iter().filter(|slot| slot.is_property());
        Ok(SlotList {
            slots: slots.map(|slot| slot_facts(slot, point_facets)).collect(),
            may_hide_some: false,
        })
    }

    /// The station's name, its top components and the types directly below them.
    pub async fn overview(&self, scope: &CallScope) -> FacadeResult<Overview> {
        let root = Ord::slot(SlotPath::root());
        let node = match self.resolve(scope, &root).await {
            Ok(node) => node,
            Err(error) if self.may_fall_back(&error) => {
                return self
                    .overview_by_obix(scope)
                    .await
                    .map_err(|second| prefer(error, second));
            }
            Err(error) => return Err(error),
        };
        let station_name = match station_name_of(&node) {
            Some(name) => name,
            None => self.station_name(scope).await?,
        };
        let tops: Vec<&Node> = node.components().collect();
        let ords: Vec<Ord> = tops
            .iter()
            .filter_map(|top| Ord::component(&format!("slot:/{}", top.slot_name())).ok())
            .collect();
        let mut type_counts: Vec<(String, usize)> = Vec::new();
        for answer in self.boxp().resolve_many(scope, &ords).await? {
            let top = match answer {
                Ok(top) => top,
                Err(StationError::PermissionDenied { .. } | StationError::NotFound { .. }) => {
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            for child in top.components() {
                count_type(&mut type_counts, child.type_name());
            }
        }
        Ok(Overview {
            station_name,
            top_slots: tops
                .into_iter()
                .map(|top| TopSlot {
                    name: top.slot_name().to_owned(),
                    type_spec: top.type_name().to_owned(),
                    display_name: display_name(top),
                })
                .collect(),
            type_counts,
        })
    }

    /// What an ord leads to; a bad ord is an answer.
    ///
    /// # Errors
    /// Only when the station cannot be asked.
    pub async fn probe(&self, scope: &CallScope, text: &str) -> FacadeResult<Probe> {
        let ord = match Ord::parse(text) {
            Ok(ord) => ord,
            Err(error) => {
                return Ok(Probe::Absent {
                    reason: error.to_string(),
                    denied: false,
                });
            }
        };
        let node = match self.resolve(scope, &ord).await {
            Ok(node) => node,
            Err(error @ FacadeError::Station(StationError::NotFound { .. })) => {
                return Ok(Probe::Absent {
                    reason: error.to_string(),
                    denied: false,
                });
            }
            Err(error @ FacadeError::Station(StationError::PermissionDenied { .. })) => {
                return Ok(Probe::Absent {
                    reason: error.to_string(),
                    denied: true,
                });
            }
            Err(error) if self.may_fall_back(&error) => {
                return self.probe_without_box(scope, &ord, error).await;
            }
            Err(error) => return Err(error),
        };
        let component = match (&ord, &node.handle) {
            (Ord::Slot(_) | Ord::Handle(_), Some(_)) => {
                Some(self.probe_component(scope, &ord, &node).await?)
            }
            _ => None,
        };
        Ok(Probe::Present(PresentOrd {
            type_spec: node.type_name().to_owned(),
            component,
        }))
    }

    async fn probe_component(
        &self,
        scope: &CallScope,
        ord: &Ord,
        node: &Node,
    ) -> FacadeResult<ProbedComponent> {
        let path = self.slot_path(scope, ord).await?;
        let types: Vec<String> = std::iter::once(node)
            .chain(node.components())
            .map(|node| node.type_name().to_owned())
            .filter(|name| !name.is_empty())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        self.boxp().learn_ancestries(scope, &types).await?;
        let own = self.boxp().ancestry(scope, node.type_name()).await.ok();
        let merged = self.boxp().merged_slots(scope, node).await?;
        let actions = merged.slots.iter();
        let actions = actions.filter(|slot| slot.kind == SlotKind::Action);
        let mut facts = ProbedComponent {
            display_name: own_display_name(node, &Ord::slot(path.clone())),
            parent_ord: path.parent().map(|parent| Ord::slot(parent).absolute()),
            slot_count: Some(merged.slots.len()),
            actions: merged
                .has_defaults
                .then(|| actions.map(|action| unescape(action.slot_name())).collect()),
            is_control_point: own.as_ref().is_some_and(|ancestry| ancestry.is_point()),
            is_writable: own
                .as_ref()
                .is_some_and(|ancestry| WRITABLE.iter().any(|name| ancestry.is(name))),
            is_alarm_source: own.as_ref().is_some_and(|ancestry| {
                ancestry.is_alarm_extension() || ancestry.is("alarm:IAlarmSource")
            }),
            history_extensions: Vec::new(),
        };
        for child in node.components() {
            let Ok(ancestry) = self.boxp().ancestry(scope, child.type_name()).await else {
                continue;
            };
            if ancestry.is_history_extension() {
                facts.history_extensions.push(child.slot_name().to_owned());
            }
            facts.is_alarm_source |= ancestry.is_alarm_extension();
        }
        Ok(facts)
    }

    /// The slot path of a component ord; a handle is looked up.
    ///
    /// # Errors
    /// [`StationError::NotFound`] for a handle that leads nowhere, and for an ord that names no component.
    pub async fn slot_path(&self, scope: &CallScope, ord: &Ord) -> FacadeResult<SlotPath> {
        if let Some(path) = ord.slot_path() {
            return Ok(path.clone());
        }
        let not_found = |detail: String| StationError::NotFound {
            target: ord.absolute(),
            detail,
        };
        let Ord::Handle(handle) = ord else {
            return Err(not_found("it names no component".to_owned()).into());
        };
        let path = self.boxp().handle_to_path(scope, handle).await?;
        match Ord::component(&path) {
            Ok(Ord::Slot(path)) => Ok(path),
            _ => Err(not_found(format!("the station answered {path} for the handle")).into()),
        }
    }
}

const WRITABLE: [&str; 5] = [
    "control:IWritablePoint",
    "control:NumericWritable",
    "control:BooleanWritable",
    "control:EnumWritable",
    "control:StringWritable",
];

pub(super) fn count_type(counts: &mut Vec<(String, usize)>, type_spec: &str) {
    match counts.iter_mut().find(|(name, _)| name == type_spec) {
        Some((_, count)) => *count += 1,
        None => counts.push((type_spec.to_owned(), 1)),
    }
}

fn restore_order(node: &mut ChildNode) {
    if let Some(children) = &mut node.children {
        children.reverse();
        children.iter_mut().for_each(restore_order);
    }
}

/// The display name of the root of an answer, whose own name is not sent.
fn own_display_name(node: &Node, ord: &Ord) -> String {
    if let Some(name) = node.display_name.as_ref().filter(|name| !name.is_empty()) {
        return name.clone();
    }
    match ord.name() {
        Some(name) => name.display(),
        None => station_name_of(node).unwrap_or_default(),
    }
}

/// The property `stationName` of the root.
pub(super) fn station_name_of(root: &Node) -> Option<String> {
    root.child("stationName")
        .and_then(|slot| slot.value.clone().or_else(|| slot.display.clone()))
        .filter(|name| !name.is_empty())
}

/// Only components have a handle; properties and their members do not (Station web specification §4.7).
fn must_be_component(node: &Node, ord: &Ord) -> FacadeResult<()> {
    if node.handle.is_some() {
        return Ok(());
    }
    Err(FacadeError::NotAComponent {
        ord: ord.absolute(),
        type_spec: node.type_name().to_owned(),
    })
}

fn slot_facts(slot: &Node, point_facets: Option<&str>) -> SlotFacts {
    let name = slot.slot_name();
    let shared = name == "out" || is_priority_slot(name);
    let facets: Facets = slot
        .facets
        .as_deref()
        .filter(|text| !text.is_empty())
        .or(point_facets.filter(|_| shared))
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    SlotFacts {
        name: name.to_owned(),
        type_spec: slot.type_spec.clone(),
        value: slot_text(slot, &facets),
        units: facets
            .unit()
            .map(|unit| unit.symbol().to_owned())
            .filter(|symbol| !symbol.is_empty()),
        precision: facets.precision().map(|precision| precision.to_string()),
    }
}
