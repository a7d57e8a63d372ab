//! One piece of equipment: which controller it hangs on, under which names, with which points.

use super::measure::Convention;
use super::row::Row;
use std::borrow::Cow;

/// The network a controller is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    Bacnet,
    Modbus,
    /// Another station.
    Niagara,
}

/// One piece of equipment and where its points are.
#[derive(Clone, Debug)]
pub struct Equipment {
    /// Identity in the truth model, e.g. `VAV-2-05`.
    pub id: String,
    /// CAMBER equipment class.
    pub class: &'static str,
    /// Identity of the equipment that serves it.
    pub served_by: Option<String>,
    pub driver: Driver,
    /// Display name of the folder of devices, if the controller is in one.
    pub device_folder: Option<&'static str>,
    /// Display name of the controller.
    pub device: String,
    /// Display name of the folder of points, for controllers that serve several pieces of equipment.
    pub point_folder: Option<Cow<'static, str>>,
    pub rows: &'static [Row],
    /// Index among equipment of its kind in the building.
    pub index: usize,
    /// Which installer named the points.
    pub style: usize,
    pub convention: Convention,
}
