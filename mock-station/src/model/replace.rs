//! Replacing the component in a frozen slot, as one does with the algorithm of an alarm extension or the driver of a point.

use super::changes::ChangeEvent;
use super::component::{Component, Handle};
use super::error::ModelError;
use super::registry::{self, SlotKind};
use super::station::Station;

impl Station {
    /// Puts a new component of type `spec` into the frozen child slot `slot`, e.g. an out-of-range algorithm into `offnormalAlgorithm`.
    ///
    /// Fails if the type is unknown or abstract, or if the slot is no frozen child slot.
    pub fn replace_frozen_child(
        &mut self,
        parent: Handle,
        slot: &str,
        spec: &str,
    ) -> Result<Handle, ModelError> {
        let ty = registry::find(spec).ok_or_else(|| ModelError::UnknownType {
            spec: spec.to_owned(),
        })?;
        if ty.is_abstract() || ty.is_interface() || !ty.is_component() {
            return Err(ModelError::NotCreatable {
                spec: spec.to_owned(),
            });
        }
        let component = self.expect(parent)?;
        let index = component.ty().slot_index(slot);
        let accepts = component.ty().slot(slot).map(|definition| &definition.kind);
        let (Some(index), Some(old), Some(SlotKind::Child { ty: accepted, .. })) =
            (index, component.child(slot), accepts)
        else {
            return Err(self.no_slot(parent, slot));
        };
        if !ty.is_a(accepted) {
            return Err(ModelError::IllegalChild {
                parent: component.ty().spec().to_owned(),
                child: spec.to_owned(),
                reason: "the slot is declared for another type",
            });
        }
        let doomed: Vec<Handle> = self.descendants(old).map(Component::handle).collect();
        self.cut_links_of(&doomed);
        for handle in doomed {
            self.unmount(handle);
        }
        let new = self.mount(Some(parent), slot.into(), ty);
        if let Some(component) = self.component_mut(parent) {
            for child in &mut component.frozen_children {
                if usize::from(child.0) == index {
                    child.1 = new;
                }
            }
        }
        self.changes
            .record(parent, ChangeEvent::Set { slot: slot.into() });
        Ok(new)
    }

    /// Puts a driver's proxy extension into the frozen `proxyExt` slot of a point.
    pub fn set_proxy_ext(&mut self, point: Handle, spec: &str) -> Result<Handle, ModelError> {
        self.replace_frozen_child(point, "proxyExt", spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use chrono_tz::Tz;

    #[test]
    fn an_alarm_extension_gets_another_algorithm() {
        let mut station = Station::new("Test", Tz::UTC, DateTime::UNIX_EPOCH);
        let root = station.root();
        let point = station
            .add(root, Some("P"), "control:NumericPoint")
            .unwrap();
        let alarm = station
            .add(point, Some("A"), "alarm:AlarmSourceExt")
            .unwrap();
        let algorithm = station
            .replace_frozen_child(alarm, "offnormalAlgorithm", "alarm:OutOfRangeAlgorithm")
            .unwrap();
        assert_eq!(
            station
                .component(alarm)
                .unwrap()
                .child("offnormalAlgorithm"),
            Some(algorithm)
        );
        assert_eq!(station.slot_path(algorithm), "slot:/P/A/offnormalAlgorithm");
        assert!(
            station
                .set_proxy_ext(point, "alarm:OutOfRangeAlgorithm")
                .is_err()
        );
        assert!(
            station
                .replace_frozen_child(point, "out", "alarm:OutOfRangeAlgorithm")
                .is_err()
        );
    }
}
