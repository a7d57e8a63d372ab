//! The station's driver tree: networks, controllers, points with proxy, history and alarm extensions.

use super::equipment::{Driver, Equipment};
use super::feed::{ChangeHistory, IntervalHistory, SimulatedPoint};
use super::measure::Reader;
use super::plan::Plan;
use super::quality::Quality;
use super::row::{Access, Limits, Row, Trend};
use super::sim::Building;
use super::sim::noise::hash;
use crate::model::history::CollectionInterval;
use crate::model::registry;
use crate::model::slot_name::escape;
use crate::model::{
    Handle, History, HistorySource, ModelError, PointFeed, PointKind, Station, Value,
};
use std::collections::HashMap;
use std::sync::Arc;

/// A point of the finished tree.
#[derive(Clone, Debug)]
pub struct PlacedPoint {
    pub handle: Handle,
    pub row: &'static Row,
    /// The alarm extension, if the point has one.
    pub alarm_extension: Option<Handle>,
    /// Id of its history, if it is trended.
    pub history: Option<String>,
}

/// A piece of equipment with its points in the tree.
#[derive(Clone, Debug)]
pub struct PlacedEquipment {
    pub building: usize,
    pub equipment: Equipment,
    pub device: Handle,
    pub points: Vec<PlacedPoint>,
}

impl PlacedEquipment {
    /// The point with a CAMBER role.
    pub fn with_role(&self, role: &str) -> Option<Handle> {
        self.points
            .iter()
            .find(|point| point.row.role == role)
            .map(|point| point.handle)
    }
}

/// Equipment of a class in the first building.
pub fn of_first_building<'a>(
    placed: &'a [PlacedEquipment],
    class: &'a str,
) -> impl Iterator<Item = &'a PlacedEquipment> {
    placed
        .iter()
        .filter(move |equipment| equipment.building == 0 && equipment.equipment.class == class)
}

/// The point that an installer gave that name, on equipment `id` of the first building.
pub fn named<'a>(placed: &'a [PlacedEquipment], id: &str, name: &str) -> Option<&'a PlacedPoint> {
    let equipment = placed
        .iter()
        .find(|equipment| equipment.building == 0 && equipment.equipment.id == id)?;
    let style = equipment.equipment.style;
    equipment
        .points
        .iter()
        .find(|point| point.row.names.get(style) == Some(&name))
}

/// Grows the driver tree; folders and controllers are made when first needed.
pub struct TreeBuilder<'a> {
    pub station: &'a mut Station,
    pub plan: &'static Plan,
    /// First instant of histories, epoch milliseconds.
    pub history_start: i64,
    folders: HashMap<(Handle, String), Handle>,
    object_numbers: HashMap<Handle, u32>,
}

impl<'a> TreeBuilder<'a> {
    pub fn new(station: &'a mut Station, plan: &'static Plan, history_start: i64) -> Self {
        Self {
            station,
            plan,
            history_start,
            folders: HashMap::new(),
            object_numbers: HashMap::new(),
        }
    }

    /// The child of that display name, made of type `spec` if it is not there yet.
    pub fn folder(
        &mut self,
        parent: Handle,
        display: &str,
        spec: &str,
    ) -> Result<Handle, ModelError> {
        let key = (parent, display.to_owned());
        if let Some(handle) = self.folders.get(&key) {
            return Ok(*handle);
        }
        let name = escape(display);
        let existing = self
            .station
            .component(parent)
            .and_then(|component| component.child(&name));
        let handle = match existing {
            Some(handle) => handle,
            None => self.station.add(parent, Some(&name), spec)?,
        };
        self.folders.insert(key, handle);
        Ok(handle)
    }

    pub fn network(&mut self, driver: Driver) -> Result<Handle, ModelError> {
        let root = self.station.root();
        let drivers = self.folder(root, "Drivers", "driver:DriverContainer")?;
        let spec = match driver {
            Driver::Bacnet => "bacnet:BacnetNetwork",
            Driver::Modbus => "modbusTcp:ModbusTcpNetwork",
            Driver::Niagara => "niagaraDriver:NiagaraNetwork",
        };
        self.folder(drivers, (self.plan.network)(driver), spec)
    }

    /// The controller of that display name, inside the folder of its building and floor.
    pub fn device(
        &mut self,
        building: usize,
        driver: Driver,
        folder: Option<&str>,
        display: &str,
    ) -> Result<Handle, ModelError> {
        let (folder_type, device_type) = match driver {
            Driver::Bacnet => ("bacnet:BacnetDeviceFolder", "bacnet:BacnetDevice"),
            Driver::Modbus => ("driver:DeviceFolder", "modbusTcp:ModbusTcpDevice"),
            Driver::Niagara => (
                "niagaraDriver:NiagaraStationFolder",
                "niagaraDriver:NiagaraStation",
            ),
        };
        let mut parent = self.network(driver)?;
        if building > 0 {
            parent = self.folder(
                parent,
                &format!("{} {:02}", self.plan.building_word, building + 1),
                folder_type,
            )?;
        }
        if let Some(folder) = folder {
            parent = self.folder(parent, folder, folder_type)?;
        }
        let known = self.folders.contains_key(&(parent, display.to_owned()));
        let device = self.folder(parent, display, device_type)?;
        if !known {
            self.address(device, driver)?;
        }
        Ok(device)
    }

    fn address(&mut self, device: Handle, driver: Driver) -> Result<(), ModelError> {
        let number = self.folders.len() as u32;
        let started = self.station.local(self.station.started());
        self.station
            .set(device, "health/lastOkTime", Value::AbsTime(Some(started)))?;
        match driver {
            Driver::Bacnet => {
                let id = format!("device:{}", 120_000 + number);
                self.set_simple(device, "objectId", "bacnet:BacnetObjectIdentifier", &id)?;
                let (vendor, model) = self.plan.controller;
                self.station
                    .set(device, "vendorName", Value::from(vendor))?;
                self.station.set(device, "modelName", Value::from(model))
            }
            Driver::Modbus => self.station.set(
                device,
                "ipAddress",
                Value::from(format!("192.0.2.{}", 20 + number % 200)),
            ),
            Driver::Niagara => self
                .station
                .set(device, "hostModel", Value::from("JACE-8000")),
        }
    }

    fn set_simple(
        &mut self,
        handle: Handle,
        slot: &str,
        spec: &str,
        text: &str,
    ) -> Result<(), ModelError> {
        let value = decoded(spec, text)?;
        self.station.set(handle, slot, value)
    }

    /// Adds one piece of equipment with all its points.
    pub fn equipment(
        &mut self,
        building_number: usize,
        building: &Arc<Building>,
        equipment: Equipment,
    ) -> Result<PlacedEquipment, ModelError> {
        let driver = equipment.driver;
        let device = self.device(
            building_number,
            driver,
            equipment.device_folder,
            &equipment.device,
        )?;
        let mut parent = self
            .station
            .component(device)
            .and_then(|component| component.child("points"))
            .ok_or(ModelError::UnknownHandle { handle: device.0 })?;
        if let Some(folder) = equipment.point_folder.as_deref() {
            let spec = match driver {
                Driver::Bacnet => "bacnet:BacnetPointFolder",
                Driver::Modbus => "modbusTcp:ModbusTcpClientPointFolder",
                Driver::Niagara => "niagaraDriver:NiagaraPointFolder",
            };
            parent = self.folder(parent, folder, spec)?;
        }
        let device_seed = hash(building_number as u64 + 1, i64::from(device.0));
        let history_device = self.history_prefix(building_number, &equipment);
        let mut points = Vec::with_capacity(equipment.rows.len());
        for (position, row) in equipment.rows.iter().enumerate() {
            let seed = hash(device_seed, (equipment.index * 100 + position) as i64);
            let reader = Reader::new(row.measure, equipment.convention);
            let quality = Quality::new(seed, device_seed);
            let simulated = Arc::new(SimulatedPoint::new(
                Arc::clone(building),
                row.signal.of(equipment.index),
                reader,
                quality,
            ));
            let name = row
                .names
                .get(equipment.style)
                .copied()
                .unwrap_or(row.names[0]);
            let handle = self.point(
                parent,
                name,
                row,
                &equipment,
                Arc::clone(&simulated) as Arc<dyn PointFeed>,
            )?;
            let history = match row.trend {
                Trend::None => None,
                _ => Some(self.history(
                    handle,
                    row,
                    &equipment,
                    &format!("{history_device}_{name}"),
                    simulated,
                )?),
            };
            let alarm_extension = self.alarm_extension(handle, row, &equipment)?;
            points.push(PlacedPoint {
                handle,
                row,
                alarm_extension,
                history,
            });
        }
        Ok(PlacedEquipment {
            building: building_number,
            equipment,
            device,
            points,
        })
    }

    fn point(
        &mut self,
        parent: Handle,
        display: &str,
        row: &Row,
        equipment: &Equipment,
        feed: Arc<dyn PointFeed>,
    ) -> Result<Handle, ModelError> {
        let kind = row.measure.kind();
        let spec = match (kind, row.access) {
            (PointKind::Numeric, Access::Sensor) => "control:NumericPoint",
            (PointKind::Numeric, Access::Writable) => "control:NumericWritable",
            (PointKind::Boolean, Access::Sensor) => "control:BooleanPoint",
            (PointKind::Boolean, Access::Writable) => "control:BooleanWritable",
            (PointKind::Enum, Access::Sensor) => "control:EnumPoint",
            (PointKind::Enum, Access::Writable) => "control:EnumWritable",
            (PointKind::String, Access::Sensor) => "control:StringPoint",
            (PointKind::String, Access::Writable) => "control:StringWritable",
        };
        let handle = self.station.add(parent, Some(&escape(display)), spec)?;
        if kind != PointKind::String {
            self.station.set(
                handle,
                "facets",
                Value::Facets(Arc::new(row.measure.facets(equipment.convention))),
            )?;
        }
        self.proxy(handle, equipment.driver, kind, row.access)?;
        self.station.attach_feed(handle, feed);
        Ok(handle)
    }

    /// Makes a point a proxied one of its driver.
    pub fn proxy(
        &mut self,
        point: Handle,
        driver: Driver,
        kind: PointKind,
        access: Access,
    ) -> Result<Handle, ModelError> {
        let device = self.station.parent(point).unwrap_or(point);
        let number = self.object_numbers.entry(device).or_insert(0);
        *number += 1;
        let number = *number;
        let spec = match (driver, kind) {
            (Driver::Bacnet, PointKind::Numeric) => "bacnet:BacnetNumericProxyExt",
            (Driver::Bacnet, PointKind::Boolean) => "bacnet:BacnetBooleanProxyExt",
            (Driver::Bacnet, PointKind::Enum) => "bacnet:BacnetEnumProxyExt",
            (Driver::Bacnet, PointKind::String) => "bacnet:BacnetStringProxyExt",
            (Driver::Modbus, PointKind::Numeric) => "modbusCore:ModbusClientNumericProxyExt",
            (Driver::Modbus, PointKind::Boolean) => "modbusCore:ModbusClientBooleanProxyExt",
            (Driver::Modbus, PointKind::Enum) => "modbusCore:ModbusClientEnumProxyExt",
            (Driver::Modbus, PointKind::String) => "modbusCore:ModbusClientStringProxyExt",
            (Driver::Niagara, _) => "niagaraDriver:NiagaraProxyExt",
        };
        let proxy = self.station.set_proxy_ext(point, spec)?;
        match driver {
            Driver::Bacnet => {
                let object = match (kind, access) {
                    (PointKind::Numeric, Access::Sensor) => "analogInput",
                    (PointKind::Numeric, Access::Writable) => "analogValue",
                    (PointKind::Boolean, Access::Sensor) => "binaryInput",
                    (PointKind::Boolean, Access::Writable) => "binaryValue",
                    (PointKind::Enum, _) => "multiStateValue",
                    (PointKind::String, _) => "characterstringValue",
                };
                self.set_simple(
                    proxy,
                    "objectId",
                    "bacnet:BacnetObjectIdentifier",
                    &format!("{object}:{number}"),
                )?;
            }
            Driver::Modbus => self.station.set(
                proxy,
                "dataAddress",
                Value::from(format!("hex:{:x}", 0x100 + 2 * number)),
            )?,
            Driver::Niagara => {
                let path = self.remote_path(point);
                self.station
                    .set(proxy, "pointId", Value::from(format!("station:|{path}")))?;
            }
        }
        Ok(proxy)
    }

    /// Where a point of another station is there: below its own folder of that name.
    fn remote_path(&self, point: Handle) -> String {
        let path = self.station.slot_path(point);
        let below = path.split("/points/").nth(1).unwrap_or_default();
        format!("slot:/Points/{below}")
    }

    fn history(
        &mut self,
        point: Handle,
        row: &Row,
        equipment: &Equipment,
        display: &str,
        simulated: Arc<SimulatedPoint>,
    ) -> Result<String, ModelError> {
        let (interval, records): (_, Arc<dyn HistorySource>) = match row.trend {
            Trend::Change => (
                CollectionInterval::Irregular,
                Arc::new(ChangeHistory::new(simulated, self.history_start)),
            ),
            _ => (
                CollectionInterval::Every(900_000),
                Arc::new(IntervalHistory::new(simulated, self.history_start)),
            ),
        };
        let mut history = History::new(
            &self.history_id(display),
            row.measure.kind(),
            self.station.zone(),
            records,
        );
        history.interval = interval;
        history.value_facets = row.measure.facets(equipment.convention);
        self.attach_history(point, history)
    }

    fn history_prefix(&self, building: usize, equipment: &Equipment) -> String {
        let device = match &equipment.point_folder {
            Some(folder) => format!("{}_{}", equipment.device, folder),
            None => equipment.device.clone(),
        };
        match (building, self.plan.building_word.chars().next()) {
            (1.., Some(letter)) => format!("{letter}{:02}_{device}", building + 1),
            _ => device,
        }
    }

    pub fn history_id(&self, display: &str) -> String {
        format!("/{}/{}", escape(&self.station.name()), escape(display))
    }

    /// Adds a history extension to a point and its history to the database; returns the id.
    pub fn attach_history(
        &mut self,
        point: Handle,
        history: History,
    ) -> Result<String, ModelError> {
        let regular = matches!(history.interval, CollectionInterval::Every(_));
        let spec = match (history.kind, regular) {
            (PointKind::Numeric, true) => "history:NumericIntervalHistoryExt",
            (PointKind::Boolean, true) => "history:BooleanIntervalHistoryExt",
            (PointKind::Enum, true) => "history:EnumIntervalHistoryExt",
            (PointKind::String, true) => "history:StringIntervalHistoryExt",
            (PointKind::Numeric, false) => "history:NumericCovHistoryExt",
            (PointKind::Boolean, false) => "history:BooleanCovHistoryExt",
            (PointKind::Enum, false) => "history:EnumCovHistoryExt",
            (PointKind::String, false) => "history:StringCovHistoryExt",
        };
        let id = history.id.clone();
        self.station.add_history(point, spec, history)?;
        Ok(id)
    }

    fn alarm_extension(
        &mut self,
        point: Handle,
        row: &Row,
        equipment: &Equipment,
    ) -> Result<Option<Handle>, ModelError> {
        let (name, algorithm) = match row.limits {
            Limits::None => return Ok(None),
            Limits::Range(..) => ("OutOfRangeAlarmExt", "alarm:OutOfRangeAlgorithm"),
            Limits::State(_) => (
                "BooleanChangeOfStateAlarmExt",
                "alarm:BooleanChangeOfStateAlgorithm",
            ),
        };
        let extension = self
            .station
            .add(point, Some(name), "alarm:AlarmSourceExt")?;
        let algorithm =
            self.station
                .replace_frozen_child(extension, "offnormalAlgorithm", algorithm)?;
        let reader = Reader::new(row.measure, equipment.convention);
        match row.limits {
            Limits::Range(low, high) => {
                self.station.set(algorithm, "lowLimit", reader.value(low))?;
                self.station
                    .set(algorithm, "highLimit", reader.value(high))?;
            }
            Limits::State(state) => {
                self.station
                    .set(algorithm, "alarmValue", Value::Boolean(state))?
            }
            Limits::None => {}
        }
        self.station.set(
            extension,
            "alarmClass",
            Value::from((self.plan.alarm_class)(equipment)),
        )?;
        Ok(Some(extension))
    }
}

/// A simple of type `spec` from its encoding.
pub fn decoded(spec: &str, text: &str) -> Result<Value, ModelError> {
    let ty = registry::find(spec).ok_or_else(|| ModelError::UnknownType {
        spec: spec.to_owned(),
    })?;
    Value::decode(ty, text).ok_or_else(|| ModelError::Undecodable {
        spec: spec.to_owned(),
        text: text.to_owned(),
    })
}
