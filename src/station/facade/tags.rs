//! Components with direct tags of a namespace: dynamic slots named `namespace:tag`, escaped (Station web specification §5,
//! tags), and relations between components.
//!
//! One query finds the components that have one of the given tags; their slots are then loaded over BOX, twenty a frame.
//! Implied tags of dictionaries are in no slot and are not seen.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::rows::RowsEnd;
use crate::station::boxp::Node;
use crate::station::boxp::types::display_name;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath, escape, unescape};

/// Most tagged components that one call loads: a hundred frames of twenty.
pub const MAX_TAGGED: usize = 2_000;

/// A component with its direct tags.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaggedComponent {
    /// Absolute ord.
    pub ord: String,
    pub display_name: String,
    /// `module:Type`.
    pub type_spec: String,
    pub tags: Vec<DirectTag>,
}

/// A tag or an outgoing relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectTag {
    /// Without its namespace, for example `siteRef`.
    pub name: String,
    pub value: TagValue,
}

/// What a tag says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagValue {
    Marker,
    /// The encoded value.
    Text(String),
    /// The ord of another component.
    Reference(String),
}

/// The tagged components that were found, and whether these are all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaggedComponents {
    pub items: Vec<TaggedComponent>,
    /// More than [`MAX_TAGGED`], or the station did not finish its list.
    pub truncated: bool,
    /// Components whose slots could not be read, with the reason.
    pub problems: Vec<String>,
}

impl StationFacade {
    /// Components at and below `under` that have at least one of `tags` in `namespace`, with all tags of the namespace.
    ///
    /// # Errors
    /// Station errors; what cannot be read of single components stands in the problems.
    pub async fn tagged_components(
        &self,
        scope: &CallScope,
        under: &SlotPath,
        namespace: &str,
        tags: &[&str],
    ) -> FacadeResult<TaggedComponents> {
        let prefix = escape(&format!("{namespace}:"));
        let mut found = TaggedComponents::default();
        let ords = self
            .ords_with_tags(scope, under, &prefix, tags, &mut found)
            .await?;
        let loaded = self
            .over_box(async { Ok(self.boxp().resolve_many(scope, &ords).await?) })
            .await?;
        for (ord, node) in ords.iter().zip(loaded) {
            match node {
                Ok(node) => {
                    let component = tagged_component(ord, &node, namespace);
                    if component
                        .tags
                        .iter()
                        .any(|tag| tags.contains(&tag.name.as_str()))
                    {
                        found.items.push(component);
                    }
                }
                Err(
                    error @ (StationError::NotFound { .. } | StationError::PermissionDenied { .. }),
                ) => {
                    found.problems.push(format!("{}: {error}", ord.absolute()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.name_ends(scope, &mut found).await?;
        Ok(found)
    }

    /// Gives references by handle the slot path of the component they lead to; one that leads nowhere stays as it is.
    async fn name_ends(&self, scope: &CallScope, found: &mut TaggedComponents) -> FacadeResult<()> {
        let mut known: HashMap<String, String> = HashMap::new();
        for component in &mut found.items {
            for tag in &mut component.tags {
                let TagValue::Reference(end) = &mut tag.value else {
                    continue;
                };
                if !known.contains_key(end.as_str()) {
                    let path = self.path_of(scope, end).await?;
                    known.insert(end.clone(), path);
                }
                if let Some(path) = known.get(end.as_str()) {
                    end.clone_from(path);
                }
            }
        }
        Ok(())
    }

    async fn path_of(&self, scope: &CallScope, text: &str) -> FacadeResult<String> {
        let Ok(ord) = Ord::component(text) else {
            return Ok(text.to_owned());
        };
        if ord.slot_path().is_some() {
            return Ok(ord.absolute());
        }
        match self.slot_path(scope, &ord).await {
            Ok(path) => Ok(Ord::slot(path).absolute()),
            Err(FacadeError::Station(
                StationError::NotFound { .. } | StationError::PermissionDenied { .. },
            )) => Ok(ord.absolute()),
            Err(error) => Err(error),
        }
    }

    async fn ords_with_tags(
        &self,
        scope: &CallScope,
        under: &SlotPath,
        prefix: &str,
        tags: &[&str],
        found: &mut TaggedComponents,
    ) -> FacadeResult<Vec<Ord>> {
        let conditions: Vec<String> = tags
            .iter()
            .map(|tag| format!("slotExists('{prefix}{}')", escape(tag)))
            .collect();
        let query = format!(
            "station:|{under}|bql:select top {} slotPath from baja:Component where {}",
            MAX_TAGGED + 1,
            conditions.join(" or ")
        );
        let mut ords = Vec::new();
        let mut more = false;
        let ended = self
            .rows(scope, &query, &mut |row| {
                if ords.len() == MAX_TAGGED {
                    more = true;
                    return ControlFlow::Break(());
                }
                ords.extend(Ord::component(row.cell(0).text()));
                ControlFlow::Continue(())
            })
            .await
            // The query is ours; the caller knows only the component that it is about.
            .map_err(|error| match error {
                FacadeError::Station(error) => error
                    .about_query(&query, &Ord::slot(under.clone()).absolute())
                    .into(),
                other => other,
            })?;
        found.truncated = more || ended == RowsEnd::Cut;
        Ok(ords)
    }
}

fn tagged_component(ord: &Ord, node: &Node, namespace: &str) -> TaggedComponent {
    let shown = match node.display_name {
        Some(_) => display_name(node),
        None => ord.name().map_or_else(String::new, |name| name.display()),
    };
    TaggedComponent {
        ord: ord.absolute(),
        display_name: shown,
        type_spec: node.type_name().to_owned(),
        tags: node
            .children
            .iter()
            .filter_map(|slot| direct_tag(slot, namespace).or_else(|| relation(slot, namespace)))
            .collect(),
    }
}

fn direct_tag(slot: &Node, namespace: &str) -> Option<DirectTag> {
    let name = unescape(slot.slot_name());
    let (space, name) = name.split_once(':')?;
    if space != namespace {
        return None;
    }
    let text = slot.value.clone().unwrap_or_default();
    let value = match slot.type_name() {
        "baja:Marker" => TagValue::Marker,
        "baja:Ord" => TagValue::Reference(text),
        // A tag that is switched off is as good as none.
        "baja:Boolean" if text == "false" => return None,
        "baja:Boolean" => TagValue::Marker,
        _ => TagValue::Text(text),
    };
    Some(DirectTag {
        name: name.to_owned(),
        value,
    })
}

/// A relation to another component, such as `hs:equipRef`; the slot of its other end has changed its name over time.
fn relation(slot: &Node, namespace: &str) -> Option<DirectTag> {
    if slot.type_name() != "baja:Relation" {
        return None;
    }
    let id = slot.child("relationId")?.value.as_deref()?;
    let (space, name) = id.split_once(':')?;
    let end = ["sourceOrd", "relationOrd", "endpointOrd"]
        .into_iter()
        .find_map(|end| slot.child(end)?.value.clone())?;
    (space == namespace).then(|| DirectTag {
        name: name.to_owned(),
        value: TagValue::Reference(end),
    })
}
