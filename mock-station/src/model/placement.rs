//! What may be placed where, and under which name (Station web specification §4.6 and §8).

use super::component::Handle;
use super::error::ModelError;
use super::registry::TypeDef;
use super::slot_name;
use super::station::Station;
use super::value::{PointKind, Value};
use std::sync::Arc;

/// The kinds of point that an extension is made for; none for one that fits all.
fn extension_kind(child: &TypeDef) -> Option<&'static [PointKind]> {
    const KINDS: [(&str, &[PointKind]); 5] = [
        ("Numeric", &[PointKind::Numeric]),
        ("Boolean", &[PointKind::Boolean]),
        ("Enum", &[PointKind::Enum]),
        ("String", &[PointKind::String]),
        ("DiscreteTotalizer", &[PointKind::Boolean, PointKind::Enum]),
    ];
    let named = child.is("history:HistoryExt") || child.type_name().ends_with("TotalizerExt");
    let of_name = KINDS
        .iter()
        .find(|(prefix, _)| named && child.type_name().starts_with(prefix));
    of_name.map(|(_, kinds)| *kinds)
}

impl Station {
    /// What may live where: proxy extensions only in their frozen slot, point extensions only in points of their kind, devices
    /// only in networks.
    pub(super) fn check_child(
        &self,
        parent: Handle,
        child: &'static TypeDef,
    ) -> Result<(), ModelError> {
        let parent_type = self.expect(parent)?.ty;
        let refuse = |reason| {
            Err(ModelError::IllegalChild {
                parent: parent_type.spec().to_owned(),
                child: child.spec().to_owned(),
                reason,
            })
        };
        if child.is("control:AbstractProxyExt") {
            return refuse("a point has its frozen proxyExt");
        }
        if child.is("control:PointExtension") && !parent_type.is("control:ControlPoint") {
            return refuse("point extensions belong into points");
        }
        if let (Some(wanted), Some(kind)) = (extension_kind(child), parent_type.point_kind())
            && !wanted.contains(&kind)
        {
            return refuse("the extension is made for points of another kind");
        }
        if child.is("baja:Station") {
            return refuse("a station has one root");
        }
        if child.is("driver:DeviceNetwork")
            && !parent_type.is("driver:DriverContainer")
            && !parent_type.is("baja:Folder")
        {
            return refuse("networks belong into Drivers");
        }
        if child.is("driver:Device")
            && !parent_type.is("driver:DeviceNetwork")
            && !parent_type.is("driver:DeviceFolder")
        {
            return refuse("devices belong into a network");
        }
        if child.is("baja:User") && !parent_type.is("baja:UserService") {
            return refuse("users belong into the UserService");
        }
        Ok(())
    }

    pub(super) fn free_name(&self, parent: Handle, wanted: &str) -> Result<Arc<str>, ModelError> {
        let wanted = wanted.trim_end_matches('?');
        if !slot_name::is_legal(wanted) {
            return Err(ModelError::IllegalName {
                name: wanted.to_owned(),
            });
        }
        let component = self.expect(parent)?;
        let taken = |name: &str| {
            component.ty.slot_index(name).is_some() || component.dynamic.contains_key(name)
        };
        if !taken(wanted) {
            return Ok(wanted.into());
        }
        let mut number = 1_u32;
        loop {
            let name = format!("{wanted}{number}");
            if !taken(&name) {
                return Ok(name.into());
            }
            number += 1;
        }
    }

    /// A status that carries facets cannot be added; only the station itself makes those (live rule, §4.6).
    pub(super) fn check_value(&self, parent: Handle, value: &Value) -> Result<(), ModelError> {
        let status = match value {
            Value::Status(status) => Some(status),
            other => other.as_status_value().map(|(_, status)| status),
        };
        if status.is_none_or(|status| status.facets.is_none()) {
            return Ok(());
        }
        Err(ModelError::IllegalChild {
            parent: self.expect(parent)?.ty().spec().to_owned(),
            child: value.type_spec().to_owned(),
            reason: "its status carries facets",
        })
    }
}
