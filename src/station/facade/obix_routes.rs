//! What oBIX answers where BOX or BQL is not offered, in the facade's own terms (Tool surface §13.5).

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;

use super::StationFacade;
use super::components::count_type;
use super::error::{FacadeError, FacadeResult};
use super::history::Reading;
use super::interfaces::Interface;
use super::points::shown_facets;
use super::sample::{HistorySample, SampleKind, SampleValue};
use super::view::{
    AlarmRecord, ChildNode, ChildTree, ComponentFacts, Overview, PointReading, PointValue,
    SlotFacts, TopSlot,
};
use super::{HistoryRead, view::StationAbout};
use crate::station::boxp::tree::MAX_COMPONENTS;
use crate::station::error::StationError;
use crate::station::http::{CallScope, TimeoutClass};
use crate::station::obix::alarm::{AlarmQuery, ObixAlarm};
use crate::station::obix::client::About;
use crate::station::obix::folder::{ComponentClass, ComponentRef, WalkOptions};
use crate::station::obix::history::HistoryReadOptions;
use crate::station::obix::href::ObixPath;
use crate::station::obix::object::{Attribute, Scalar};
use crate::station::obix::record::{HistoryRecord, RecordKind};
use crate::station::ord::{Ord, SlotPath, escape, unescape};
use crate::station::units::unit_by_name;

impl StationFacade {
    async fn over_obix<T>(&self, work: impl Future<Output = FacadeResult<T>>) -> FacadeResult<T> {
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
            is_point: is_point_type(&type_spec),
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
        let folder = self
            .over_obix(async { Ok(self.obix().folder(scope, &start).await?) })
            .await?;
        Ok(folder
            .properties
            .iter()
            .map(|property| SlotFacts {
                name: property.name().unwrap_or_default().to_owned(),
                type_spec: property.type_spec().map(str::to_owned),
                value: property.display().or(property.val()).map(str::to_owned),
                units: property.unit_name().map(unit_symbol),
                precision: property.attribute(Attribute::Precision).map(str::to_owned),
            })
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
        let out = point.out;
        let typed = match &out.value {
            Scalar::Bool(flag) => Some(PointValue::Boolean(*flag)),
            Scalar::Tag(tag) => Some(PointValue::Enum {
                tag: unescape(tag),
                ordinal: out.ordinal,
            }),
            Scalar::Text(text) => Some(PointValue::Text(text.clone())),
            Scalar::Real(number) => Some(PointValue::Number(*number)),
            Scalar::Int(number) => Some(PointValue::Number(*number as f64)),
            _ => None,
        };
        Ok(PointReading {
            display_name: path.name().map(|name| name.display()).unwrap_or_default(),
            type_spec: point.type_spec.unwrap_or_default(),
            out: out.display.clone().unwrap_or_default(),
            value: scalar_text(&out.value),
            typed,
            status: Some(out.status),
            active_level: out.active_level.map(|level| level.to_string()),
            facets: shown_facets(&point.facets),
        })
    }

    /// The history that a point's extension, or the extension itself, records into.
    pub(super) async fn history_id_by_obix(
        &self,
        scope: &CallScope,
        path: &SlotPath,
    ) -> FacadeResult<Option<String>> {
        let start = obix_path(path)?;
        let folder = self
            .over_obix(async { Ok(self.obix().folder(scope, &start).await?) })
            .await?;
        let itself = folder
            .type_spec
            .as_deref()
            .is_some_and(|name| name.ends_with("HistoryExt"));
        let extension = if itself {
            Some(start)
        } else {
            folder
                .children
                .into_iter()
                .find(|child| child.class == ComponentClass::HistoryExtension)
                .map(|child| child.path)
        };
        let Some(extension) = extension else {
            return Ok(None);
        };
        let named = self
            .over_obix(async { Ok(self.obix().history_name(scope, &extension).await?) })
            .await?;
        let name = match named {
            Some(name) => name,
            None => match self.configured_history_id(scope, &extension).await? {
                Some(id) => id,
                None => return Ok(None),
            },
        };
        // `/Station/Id`, `Station/Id` or a bare `Id` (oBIX specification §10.1).
        let name = name.trim_start_matches('/');
        if name.contains('/') {
            return Ok(Some(format!("/{name}")));
        }
        self.history_id_of_name(scope, name).await
    }

    /// The id of a history whose device is not told: the station's own, else the only one of this name.
    async fn history_id_of_name(
        &self,
        scope: &CallScope,
        name: &str,
    ) -> FacadeResult<Option<String>> {
        let list = self
            .over_obix(async { Ok(self.obix().histories(scope).await?) })
            .await?;
        let own = escape(&self.station_name(scope).await?);
        let devices: Vec<&str> = list
            .histories
            .iter()
            .filter(|history| history.name == name)
            .map(|history| history.device.as_str())
            .collect();
        let device = match devices.as_slice() {
            [only] => Some(*only),
            several => several.iter().copied().find(|device| *device == own),
        };
        Ok(device.map(|device| format!("/{device}/{name}")))
    }

    async fn configured_history_id(
        &self,
        scope: &CallScope,
        extension: &ObixPath,
    ) -> FacadeResult<Option<String>> {
        let config = extension.child("historyConfig");
        let asked = self
            .over_obix(async { Ok(self.obix().get(scope, &config).await?) })
            .await;
        match asked {
            Ok(document) => Ok(document
                .root
                .child("id")
                .and_then(|id| id.val())
                .filter(|id| !id.is_empty())
                .map(str::to_owned)),
            Err(FacadeError::Station(
                StationError::NotFound { .. } | StationError::PermissionDenied { .. },
            )) => Ok(None),
            Err(error) => Err(error),
        }
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

    pub(super) async fn read_history_by_obix(
        &self,
        scope: &CallScope,
        mut reading: Reading,
        take: &mut (dyn FnMut(HistorySample) + Send),
    ) -> FacadeResult<HistoryRead> {
        reading.read.status_available = false;
        let wanted = reading.begin_unpaged();
        let options = HistoryReadOptions {
            max_records: wanted,
            timeout: TimeoutClass::Query,
            ..HistoryReadOptions::default()
        };
        let window = reading.window();
        let told = self
            .over_obix(async {
                let path = self
                    .obix()
                    .history_path(scope, &reading.read.history_id)
                    .await?;
                Ok(self
                    .obix()
                    .read_history(scope, &path, window, options)
                    .await?)
            })
            .await?;
        if let Some(problem) = told.first_problem.filter(|_| told.unreadable > 0) {
            return Err(StationError::Protocol {
                target: format!("history:{}", reading.read.history_id),
                expected: "records with a timestamp and a value",
                found: format!(
                    "{} records that cannot be read, the first because {problem}",
                    told.unreadable
                ),
            }
            .into());
        }
        reading.read.possibly_lost = told.records_possibly_lost;
        if reading.read.kind.is_none() {
            reading.read.kind = told.prototype.kind.map(kind_of);
        }
        if reading.read.units.is_none() {
            reading.read.units = told.prototype.unit.as_deref().map(unit_symbol);
        }
        for record in told.records {
            let sample = obix_sample(record, reading.zone());
            if reading.visit(sample, take).is_break() {
                reading.read.truncated_by_limit = true;
                break;
            }
        }
        Ok(reading.read)
    }

    pub(super) async fn open_alarms_by_obix(
        &self,
        scope: &CallScope,
        zone: Tz,
        limit: usize,
    ) -> FacadeResult<Vec<AlarmRecord>> {
        let query = AlarmQuery {
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            start: None,
            end: None,
        };
        let alarms = self
            .over_obix(async { Ok(self.obix().alarms(scope, query).await?) })
            .await?;
        Ok(alarms
            .into_iter()
            .map(|alarm| open_alarm(alarm, zone))
            .collect())
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

    async fn about(&self, scope: &CallScope) -> FacadeResult<Arc<About>> {
        self.over_obix(async { Ok(self.obix().about(scope).await?) })
            .await
    }
}

fn obix_path(path: &SlotPath) -> FacadeResult<ObixPath> {
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

fn is_point_type(type_spec: &str) -> bool {
    type_spec.starts_with("control:")
        && (type_spec.ends_with("Point") || type_spec.ends_with("Writable"))
}

fn unit_symbol(name: &str) -> String {
    unit_by_name(name).map_or_else(|| name.to_owned(), |unit| unit.symbol().to_owned())
}

fn scalar_text(value: &Scalar) -> Option<String> {
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

fn kind_of(kind: RecordKind) -> SampleKind {
    match kind {
        RecordKind::Numeric => SampleKind::Numeric,
        RecordKind::Boolean => SampleKind::Boolean,
        RecordKind::Enum => SampleKind::Enum,
        RecordKind::Text => SampleKind::Text,
    }
}

fn obix_sample(record: HistoryRecord, zone: Tz) -> HistorySample {
    let cell = record.sample();
    let value = match cell.map(|cell| &cell.value) {
        Some(Scalar::Real(number)) => SampleValue::Number(*number),
        Some(Scalar::Int(number)) => SampleValue::Number(*number as f64),
        Some(Scalar::Bool(flag)) => SampleValue::Boolean(*flag),
        Some(Scalar::Tag(tag)) => SampleValue::Enum {
            tag: unescape(tag),
            ordinal: None,
        },
        Some(other) => scalar_text(other).map_or(SampleValue::Missing, SampleValue::Text),
        None => SampleValue::Missing,
    };
    HistorySample {
        timestamp: record.timestamp.with_timezone(&zone).fixed_offset(),
        value,
        // A status is only sent when it is bad; its absence proves nothing.
        status: cell
            .map(|cell| cell.status)
            .filter(|status| !status.is_ok()),
        trend_flags: Vec::new(),
    }
}

/// oBIX names no source ord, so none is claimed.
fn open_alarm(alarm: ObixAlarm, zone: Tz) -> AlarmRecord {
    let local = |time: Option<DateTime<FixedOffset>>| {
        time.map(|time| time.with_timezone(&zone).fixed_offset())
    };
    AlarmRecord {
        uuid: alarm.id,
        timestamp: local(alarm.timestamp),
        sources: Vec::new(),
        source_name: alarm.source_name,
        priority: alarm.priority.map(i64::from),
        alarm_class: alarm.alarm_class,
        ack_state: Some(
            if alarm.is_acknowledged {
                "acked"
            } else {
                "unacked"
            }
            .to_owned(),
        ),
        transition: alarm.to_state,
        is_open: Some(true),
        is_acknowledged: Some(alarm.is_acknowledged),
        is_normal: Some(!alarm.is_active),
        alarm_value: alarm.value,
        message: alarm.message,
        ack_time: local(alarm.ack_timestamp),
        normal_time: local(alarm.normal_timestamp),
        user: None,
    }
}
