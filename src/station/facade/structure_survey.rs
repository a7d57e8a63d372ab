//! What the removal of a component would cut: links in both directions over the whole subtree, and what records or
//! alarms below it (Tool surface §12 row 1, §13.5.4).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::structure::{NEEDS_TO_RESTRUCTURE, Place};
use super::structure_error::{StructureError, StructureResult};
use super::structure_lost::CutEnd;
use crate::station::boxp::links::{Wire, is_link};
use crate::station::boxp::tree::{ComponentTree, MAX_COMPONENTS};
use crate::station::boxp::{Ancestry, Knob, Node};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};
use crate::station::permissions::Permissions;

/// Ends of links that are named; the rest is counted (Tool surface §8.4).
const SAMPLES: usize = 5;
/// Levels below a component; no station nests so deep, and what loads whole is still read as one node.
const LEVELS: u32 = 32;

/// Links of one kind, and the other ends of the first five.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CutLinks {
    pub count: usize,
    /// Absolute ords; empty for an end that is gone.
    pub samples: Vec<String>,
}

/// A component, or a dynamic property, with everything that its removal would take along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovalSurvey {
    /// Absolute ord.
    pub ord: String,
    pub path: SlotPath,
    pub type_spec: String,
    /// Components that would go, the removed one included; none go with a property.
    pub components: usize,
    /// Links stored on the component itself.
    pub inbound: CutLinks,
    /// Links from the component itself to others outside.
    pub outbound: CutLinks,
    /// Links between what lies below and the outside, in either direction.
    pub descendants: CutLinks,
    /// Absolute ords of history extensions: their histories stay and grow no more.
    pub history_extensions: Vec<String>,
    /// Absolute ords of alarm extensions.
    pub alarm_extensions: Vec<String>,
    /// Absolute ords of schedules.
    pub schedules: Vec<String>,
    /// Where the links from it, and from what lies below it, end outside; each once.
    pub cuts: BTreeSet<CutEnd>,
    /// Handles of the components that would go.
    pub handles: HashSet<String>,
    /// Not everything could be read, so that links may have been missed.
    pub is_incomplete: bool,
    /// Whether the caller's permissions allow the removal, as far as the station told them.
    pub is_permitted: bool,
}

impl RemovalSurvey {
    /// Links that would be cut.
    pub fn links(&self) -> usize {
        self.inbound.count + self.outbound.count + self.descendants.count
    }

    /// Whether only a forced removal goes ahead.
    pub fn needs_force(&self) -> bool {
        self.links() > 0 || self.is_incomplete
    }

    /// Whether it takes a link from something that another survey of the same leaves alone.
    pub fn cuts_more_than(&self, other: &Self) -> bool {
        !self.cuts.is_subset(&other.cuts) || (self.is_incomplete && !other.is_incomplete)
    }

    /// The links in words.
    pub fn links_text(&self) -> String {
        let mut kinds = Vec::new();
        let mut name = |count: usize, one: &str, many: &str| match count {
            0 => {}
            1 => kinds.push(format!("1 {one}")),
            count => kinds.push(format!("{count} {many}")),
        };
        name(self.inbound.count, "link to it", "links to it");
        name(self.outbound.count, "link from it", "links from it");
        let (one, many) = (
            "link to or from what lies below it",
            "links to or from what lies below it",
        );
        name(self.descendants.count, one, many);
        if self.is_incomplete {
            kinds.push("links that could not be read".to_owned());
        }
        kinds.join(", ")
    }
}

/// The other end of a link as it is stored.
struct OtherEnd(String);

impl StationFacade {
    /// What the removal of a component or dynamic property would take along; changes nothing.
    ///
    /// # Errors
    /// [`StructureError::Root`] and [`StructureError::Frozen`] for what cannot be removed at all; station errors.
    pub async fn survey_removal(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> StructureResult<RemovalSurvey> {
        self.removable(scope, ord).await.map(|(_, survey)| survey)
    }

    /// The parent of what is to be removed, and what goes with it.
    pub(super) async fn removable(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> StructureResult<(Place, RemovalSurvey)> {
        let path = self.slot_path(scope, ord).await?;
        let (Some(parent), Some(name)) = (path.parent(), path.name()) else {
            return Err(StructureError::Root);
        };
        let ord = Ord::slot(path.clone());
        let place = self.place(scope, &Ord::slot(parent)).await?;
        if place.is_frozen(name.as_str()) {
            return Err(StructureError::Frozen {
                ord: ord.absolute(),
                parent_type: place.target.node.type_name().to_owned(),
            });
        }
        let found = self.over_box(async {
            let boxp = self.boxp();
            Ok(boxp.components(scope, &ord, LEVELS, MAX_COMPONENTS).await?)
        });
        let tree = found.await?;
        let mut survey = if tree.root.handle.is_some() {
            self.survey_component(scope, path, tree).await?
        } else {
            self.survey_property(scope, path, &tree.root, &place)
                .await?
        };
        survey.is_permitted = place.target.may(NEEDS_TO_RESTRUCTURE);
        Ok((place, survey))
    }

    async fn survey_component(
        &self,
        scope: &CallScope,
        path: SlotPath,
        tree: ComponentTree,
    ) -> FacadeResult<RemovalSurvey> {
        let handles: HashSet<String> = std::iter::once(&tree.root)
            .chain(tree.entries.iter().map(|entry| &entry.node))
            .filter_map(|node| node.handle.clone())
            .collect();
        let is_inside = |end: &OtherEnd| match end.ord() {
            Some(Ord::Handle(handle)) => handles.contains(&handle),
            Some(Ord::Slot(other)) => other.is_within(&path),
            _ => false,
        };
        let inbound: Vec<OtherEnd> = sources(&tree.root).collect();
        let outbound: Vec<OtherEnd> = sinks(&tree.root).filter(|end| !is_inside(end)).collect();
        let below = tree.entries.iter().map(|entry| &entry.node);
        let cuts = std::iter::once(&tree.root)
            .chain(below.clone())
            .flat_map(|node| &node.knobs)
            .filter(|knob| !is_inside(&OtherEnd(knob.target_ord.clone())))
            .map(cut_end)
            .collect();
        let descendants: Vec<OtherEnd> = below
            .flat_map(|node| sources(node).chain(sinks(node)))
            .filter(|end| !is_inside(end))
            .collect();
        let mut survey = RemovalSurvey {
            inbound: self.cut(scope, &inbound).await?,
            outbound: self.cut(scope, &outbound).await?,
            descendants: self.cut(scope, &descendants).await?,
            components: tree.entries.len() + 1,
            cuts,
            is_incomplete: tree.is_truncated
                || hides_links(&tree.root)
                || tree
                    .entries
                    .iter()
                    .any(|entry| entry.problem.is_some() || hides_links(&entry.node)),
            ..blank(path, tree.root.type_name())
        };
        self.list_recorders(scope, &tree, &mut survey).await?;
        survey.handles = handles;
        Ok(survey)
    }

    /// A property has no links of its own: those of its parent that end or begin in it would lose their slot.
    async fn survey_property(
        &self,
        scope: &CallScope,
        path: SlotPath,
        slot: &Node,
        place: &Place,
    ) -> FacadeResult<RemovalSurvey> {
        let name = path.name().map(|name| name.as_str().to_owned());
        let name = name.unwrap_or_default();
        let parent = &place.target.node;
        let links = parent.children.iter().filter(|child| is_link(child));
        let inbound: Vec<OtherEnd> = links
            .map(Wire::of)
            .filter(|wire| wire.sink_slot == name)
            .map(|wire| OtherEnd(wire.source_ord))
            .collect();
        let knobs = parent.knobs.iter().filter(|knob| knob.source_slot == name);
        let cuts = knobs.clone().map(cut_end).collect();
        let outbound: Vec<OtherEnd> = knobs
            .map(|knob| OtherEnd(knob.target_ord.clone()))
            .collect();
        Ok(RemovalSurvey {
            inbound: self.cut(scope, &inbound).await?,
            outbound: self.cut(scope, &outbound).await?,
            cuts,
            is_incomplete: hides_links(parent),
            ..blank(path, slot.type_name())
        })
    }

    async fn cut(&self, scope: &CallScope, ends: &[OtherEnd]) -> FacadeResult<CutLinks> {
        let mut samples = Vec::new();
        for end in ends.iter().take(SAMPLES) {
            samples.push(self.end_of_link(scope, &end.0).await?.unwrap_or_default());
        }
        Ok(CutLinks {
            count: ends.len(),
            samples,
        })
    }

    /// The absolute ord of a component at one end of a link; none when it is gone or not to be seen.
    pub(super) async fn end_of_link(
        &self,
        scope: &CallScope,
        stored: &str,
    ) -> FacadeResult<Option<String>> {
        let Some(ord) = OtherEnd(stored.to_owned()).ord() else {
            return Ok(None);
        };
        let found = match &ord {
            Ord::Handle(_) => self.slot_path(scope, &ord).await.map(Ord::slot),
            _ => self.resolve(scope, &ord).await.map(|_| ord.clone()),
        };
        match found {
            Ok(ord) => Ok(Some(ord.absolute())),
            Err(FacadeError::Station(
                StationError::NotFound { .. } | StationError::PermissionDenied { .. },
            )) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn list_recorders(
        &self,
        scope: &CallScope,
        tree: &ComponentTree,
        survey: &mut RemovalSurvey,
    ) -> FacadeResult<()> {
        let path = &tree.root_path;
        let all: Vec<(&str, &Node)> = std::iter::once((path.as_str(), &tree.root))
            .chain(
                tree.entries
                    .iter()
                    .map(|entry| (entry.slot_path.as_str(), &entry.node)),
            )
            .collect();
        let types: BTreeSet<&str> = all.iter().map(|(_, node)| node.type_name()).collect();
        let ancestries = self.ancestries(scope, types).await?;
        for (path, node) in all {
            let Some(ancestry) = ancestries.get(node.type_name()) else {
                continue;
            };
            let ord = || format!("station:|{path}");
            if ancestry.is_history_extension() {
                survey.history_extensions.push(ord());
            }
            if ancestry.is_alarm_extension() {
                survey.alarm_extensions.push(ord());
            }
            // Schedules are made of schedules: the outermost is the one that people know.
            if ancestry.is("schedule:AbstractSchedule")
                && !survey.schedules.iter().any(|outer| holds(outer, path))
            {
                survey.schedules.push(ord());
            }
        }
        Ok(())
    }

    /// What types descend from, as far as the station tells.
    async fn ancestries(
        &self,
        scope: &CallScope,
        types: BTreeSet<&str>,
    ) -> FacadeResult<HashMap<String, Arc<Ancestry>>> {
        let names: Vec<String> = types
            .into_iter()
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        self.boxp().learn_ancestries(scope, &names).await?;
        let mut ancestries = HashMap::new();
        for name in names {
            match self.boxp().ancestry(scope, &name).await {
                Ok(ancestry) => {
                    ancestries.insert(name, ancestry);
                }
                Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(ancestries)
    }
}

/// Whether a path lies below an absolute ord.
fn holds(outer: &str, path: &str) -> bool {
    let outer = outer.trim_start_matches("station:|");
    path.strip_prefix(outer)
        .is_some_and(|below| below.starts_with('/'))
}

impl OtherEnd {
    fn ord(&self) -> Option<Ord> {
        Ord::component(&self.0).ok()
    }
}

/// Sources of the links that are stored on a component, in slot order.
fn sources(node: &Node) -> impl Iterator<Item = OtherEnd> + '_ {
    let links = node.children.iter().filter(|child| is_link(child));
    links.map(|link| OtherEnd(Wire::of(link).source_ord))
}

/// Sinks of the links that begin in a component.
fn sinks(node: &Node) -> impl Iterator<Item = OtherEnd> + '_ {
    let knobs = node.knobs.iter();
    knobs.map(|knob| OtherEnd(knob.target_ord.clone()))
}

fn cut_end(knob: &Knob) -> CutEnd {
    CutEnd {
        ord: knob.target_ord.clone(),
        slot: knob.target_slot.clone(),
    }
}

/// Whether a component may have links that this identity is not told of: links are no operator slots, and those are all
/// that is loaded without admin read (Station web specification §5.4, §5.5).
fn hides_links(node: &Node) -> bool {
    let reads_all = |letters: &str| Permissions::parse(letters).contains(Permissions::ADMIN_READ);
    !node.permissions.as_deref().is_none_or(reads_all)
}

fn blank(path: SlotPath, type_spec: &str) -> RemovalSurvey {
    RemovalSurvey {
        ord: Ord::slot(path.clone()).absolute(),
        path,
        type_spec: type_spec.to_owned(),
        components: 0,
        inbound: CutLinks::default(),
        outbound: CutLinks::default(),
        descendants: CutLinks::default(),
        history_extensions: Vec::new(),
        alarm_extensions: Vec::new(),
        schedules: Vec::new(),
        cuts: BTreeSet::new(),
        handles: HashSet::new(),
        is_incomplete: false,
        is_permitted: true,
    }
}
