//! Components, points and the station's identity as oBIX tells them, where BOX or BQL is not offered (Tool surface §13.5).

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::StationFacade;
use super::components::count_type;
use super::error::FacadeResult;
use super::interfaces::Interface;
use super::points::{shown_facets, value_in};
use super::schedule_part::facets_of;
use super::slot_text::is_priority_slot;
use super::view::{
    ChildNode, ChildTree, ComponentFacts, Overview, PointReading, PointValue, SlotFacts,
    StationAbout, TopSlot,
};
use crate::station::boxp::tree::MAX_COMPONENTS;
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::obix::ValueReading;
use crate::station::obix::client::About;
use crate::station::obix::folder::{ComponentClass, ComponentRef, Folder, WalkOptions};
use crate::station::obix::href::ObixPath;
use crate::station::obix::object::{Attribute, Object, Scalar};
use crate::station::obix::point::ObixPoint;
use crate::station::ord::{Ord, SlotPath, unescape};
use crate::station::units::unit_by_name;

impl StationFacade {
    pub(super) async fn over_obix<T>(
        &self,
        work: impl Future<Output = FacadeResult<T>>,
    ) -> FacadeResult<T> {
        self.over(Interface::Obix, work).await
    }

    pub(super) async fn children_by_obix(
        &self,
        scope: &CallScope,
        ord: &Ord,
        levels: u32,
    ) -> FacadeResult<ChildTree> {
        let path = self.slot_path(scope, ord).await?;
        let start = obix_path(&path)?;
        let options = WalkOptions {
            max_depth: levels,
            max_components: MAX_COMPONENTS,
            skip: Vec::new(),
            enters_extensions: true,
        };
        let (folder, walk) = self
            .over_obix(async {
                let folder = self.obix().folder(scope, &start).await?;
                Ok((folder, self.obix().walk(scope, &start, &options).await?))
            })
            .await?;
        let type_spec = folder.type_spec.unwrap_or_default();
        let mut root = ChildNode {
            name: path
                .name()
                .map(|name| name.as_str().to_owned())
                .unwrap_or_default(),
            ord: Ord::slot(path.clone()).absolute(),
            display_name: folder
                .display_name
                .unwrap_or_else(|| path.name().map(|name| name.display()).unwrap_or_default()),
            is_point: folder.class == ComponentClass::Point,
            type_spec,
            children: Some(Vec::new()),
        };
        let mut by_parent: HashMap<String, Vec<(String, ChildNode)>> = HashMap::new();
        for walked in walk.components {
            let key = walked.component.path.key();
            let parent = key
                .rsplit_once('/')
                .map(|(parent, _)| parent.to_owned())
                .unwrap_or_default();
            let node = child_node(&walked.component, walked.depth < levels);
            by_parent.entry(parent).or_default().push((key, node));
        }
        attach(&mut root, &start.key(), &mut by_parent);
        Ok(ChildTree {
            root,
            truncated: walk.is_truncated,
        })
    }

    pub(super) async fn inspect_by_obix(
        &self,
        scope: &CallScope,
        path: &SlotPath,
    ) -> FacadeResult<ComponentFacts> {
        let start = obix_path(path)?;
        let folder = self
            .over_obix(async { Ok(self.obix().folder(scope, &start).await?) })
            .await?;
        Ok(ComponentFacts {
            name: path
                .name()
                .map(|name| name.as_str().to_owned())
                .unwrap_or_default(),
            display_name: folder
                .display_name
                .unwrap_or_else(|| path.name().map(|name| name.display()).unwrap_or_default()),
            type_spec: folder.type_spec.unwrap_or_default(),
            child_count: folder.children.len(),
            parent_ord: path.parent().map(|parent| Ord::slot(parent).absolute()),
        })
    }

    pub(super) async fn slots_by_obix(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> FacadeResult<Vec<SlotFacts>> {
        let path = self.slot_path(scope, ord).await?;
        let start = obix_path(&path)?;
        let document = self
            .over_obix(async { Ok(self.obix().get(scope, &start).await?) })
            .await?;
        let facets = facets_of(&document);
        Ok(Folder::read(&start, &document)
            .properties
            .iter()
            .map(|property| slot_of_obix(property, &facets))
            .collect())
    }

    pub(super) async fn point_by_obix(
        &self,
        scope: &CallScope,
        path: &SlotPath,
    ) -> FacadeResult<PointReading> {
        let target = obix_path(path)?;
        let point = self
            .over_obix(async { Ok(self.obix().read_point(scope, &target).await?) })
            .await?;
        Ok(reading_of_obix(path, &point))
    }

    /// The station's top components and what lies below them, by folders.
    pub(super) async fn overview_by_obix(&self, scope: &CallScope) -> FacadeResult<Overview> {
        let tree = self
            .children_by_obix(scope, &Ord::slot(SlotPath::root()), 2)
            .await?;
        let tops = tree.root.children.unwrap_or_default();
        let mut type_counts: Vec<(String, usize)> = Vec::new();
        for child in tops.iter().flat_map(|top| top.children.iter().flatten()) {
            count_type(&mut type_counts, &child.type_spec);
        }
        Ok(Overview {
            station_name: self.station_name(scope).await?,
            top_slots: tops
                .into_iter()
                .map(|top| TopSlot {
                    name: top.name,
                    type_spec: top.type_spec,
                    display_name: top.display_name,
                })
                .collect(),
            type_counts,
        })
    }

    pub(super) async fn zone_by_obix(&self, scope: &CallScope) -> FacadeResult<Option<Tz>> {
        Ok(self.about(scope).await?.zone)
    }

    pub(super) async fn server_name_by_obix(&self, scope: &CallScope) -> FacadeResult<String> {
        let about = self.about(scope).await?;
        about.server_name.clone().ok_or_else(|| {
            StationError::InterfaceMissing {
                station: self.station(),
                needs: "the name of the station",
                detail: "neither BOX, BQL nor oBIX tells it to this user".to_owned(),
            }
            .into()
        })
    }

    /// What oBIX tells of the station, asked anew.
    pub(super) async fn about_by_obix(&self, scope: &CallScope) -> FacadeResult<StationAbout> {
        let about = self
            .over_obix(async { Ok(self.obix().read_about(scope).await?) })
            .await?;
        Ok(StationAbout {
            name: about.server_name,
            version: about.product_version,
        })
    }

    /// What the station's own clock shows now, where oBIX tells it.
    ///
    /// # Errors
    /// Station errors, among them that oBIX is not offered to this user.
    pub async fn station_clock(&self, scope: &CallScope) -> FacadeResult<Option<DateTime<Utc>>> {
        let about = self
            .over_obix(async { Ok(self.obix().read_about(scope).await?) })
            .await?;
        Ok(about.server_time.map(|time| time.to_utc()))
    }

    async fn about(&self, scope: &CallScope) -> FacadeResult<Arc<About>> {
        self.over_obix(async { Ok(self.obix().about(scope).await?) })
            .await
    }
}

/// A point as oBIX shows it.
pub(super) fn reading_of_obix(path: &SlotPath, point: &ObixPoint) -> PointReading {
    let out = &point.out;
    PointReading {
        display_name: point
            .display_name
            .clone()
            .filter(|name| !name.is_empty())
            .or_else(|| path.name().map(|name| name.display()))
            .unwrap_or_default(),
        type_spec: point.type_spec.clone().unwrap_or_default(),
        out: out.display.clone().unwrap_or_default(),
        value: shown_value(point),
        typed: typed_value(out),
        status: Some(out.status),
        active_level: out.active_level.map(|level| level.to_string()),
        facets: shown_facets(&point.facets),
    }
}

/// A property as oBIX shows it; the values of a component share its facets unless they have their own.
fn slot_of_obix(property: &Object, of_component: &Facets) -> SlotFacts {
    let name = property.name().unwrap_or_default();
    let shares = name == "out" || is_priority_slot(name);
    let shared = shares.then_some(of_component);
    let own_symbol = shared
        .and_then(Facets::unit)
        .filter(|unit| property.unit_name() == Some(unit.name()))
        .map(|unit| unit.symbol().to_owned());
    let units = own_symbol.or_else(|| property.unit_name().map(unit_symbol));
    let precision = property.attribute(Attribute::Precision).map(str::to_owned);
    SlotFacts {
        name: name.to_owned(),
        type_spec: property.value_type(),
        value: property.display().or(property.val()).map(str::to_owned),
        units: units.filter(|symbol| !symbol.is_empty()),
        precision: precision.or_else(|| Some(shared?.precision()?.to_string())),
    }
}

/// The text of a value as people see it, without unit and status; none for a null output.
fn shown_value(point: &ObixPoint) -> Option<String> {
    let plain = scalar_text(&point.out.value)?;
    let display = point.out.display.as_deref();
    let shown = display.and_then(|display| value_in(display, &point.facets));
    Some(shown.unwrap_or(plain))
}

/// The value of an output; none when it is null or no number.
pub(super) fn typed_value(out: &ValueReading) -> Option<PointValue> {
    match &out.value {
        Scalar::Bool(flag) => Some(PointValue::Boolean(*flag)),
        Scalar::Tag(tag) => Some(PointValue::Enum {
            tag: unescape(tag),
            // A choice without a tag is written as its ordinal.
            ordinal: out.ordinal.or_else(|| tag.trim().parse().ok()),
        }),
        Scalar::Text(text) => Some(PointValue::Text(text.clone())),
        Scalar::Real(number) => Some(PointValue::Number(*number)),
        Scalar::Int(number) => Some(PointValue::Number(*number as f64)),
        _ => None,
    }
}

pub(super) fn obix_path(path: &SlotPath) -> FacadeResult<ObixPath> {
    ObixPath::of_slot_path(&path.to_string()).map_err(|error| {
        StationError::InvalidInput {
            what: "ord",
            detail: error.to_string(),
        }
        .into()
    })
}

fn child_node(component: &ComponentRef, has_children: bool) -> ChildNode {
    ChildNode {
        name: component.name.clone(),
        ord: component
            .path
            .slot_path()
            .map(|path| format!("station:|{path}"))
            .unwrap_or_default(),
        display_name: component
            .display_name
            .clone()
            .unwrap_or_else(|| unescape(&component.name)),
        type_spec: component.type_spec.clone().unwrap_or_default(),
        is_point: component.class == ComponentClass::Point,
        children: has_children.then(Vec::new),
    }
}

fn attach(
    node: &mut ChildNode,
    key: &str,
    by_parent: &mut HashMap<String, Vec<(String, ChildNode)>>,
) {
    for (key, mut child) in by_parent.remove(key).unwrap_or_default() {
        attach(&mut child, &key, by_parent);
        node.children.get_or_insert_default().push(child);
    }
}

pub(super) fn is_point_type(type_spec: &str) -> bool {
    type_spec.starts_with("control:")
        && (type_spec.ends_with("Point") || type_spec.ends_with("Writable"))
}

pub(super) fn unit_symbol(name: &str) -> String {
    unit_by_name(name).map_or_else(|| name.to_owned(), |unit| unit.symbol().to_owned())
}

pub(super) fn scalar_text(value: &Scalar) -> Option<String> {
    Some(match value {
        Scalar::Bool(flag) => flag.to_string(),
        Scalar::Int(number) => number.to_string(),
        Scalar::Real(number) => value
            .shortest_float_text()
            .unwrap_or_else(|| crate::station::value::format_double(*number)),
        Scalar::Text(text) | Scalar::Uri(text) => text.clone(),
        Scalar::Tag(tag) => unescape(tag),
        Scalar::Instant(instant) => instant.to_rfc3339(),
        _ => return None,
    })
}
