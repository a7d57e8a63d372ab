//! A restart of the station: what is not saved is gone.

use super::component::Handle;
use super::flags::Flags;
use super::point::INPUTS;
use super::station::Station;
use chrono::{DateTime, SubsecRound, Utc};

impl Station {
    /// Restarts the station at `now`: transient slots return to their defaults, so that of the inputs of a writable only the
    /// commands at levels 1 and 8 survive; links and drivers fill theirs again. No subscription
    /// survives.
    pub fn restart(&mut self, now: DateTime<Utc>) {
        self.now = now.trunc_subsecs(0);
        self.mark_started();
        self.watched.clear();
        self.drop_waiting_actions();
        let all: Vec<Handle> = self
            .descendants(self.root())
            .map(|component| component.handle())
            .collect();
        for handle in &all {
            let Some(component) = self.component_mut(*handle) else {
                continue;
            };
            component.memory = None;
            let ty = component.ty();
            if ty.is_writable_point() {
                component.values.retain(|(index, _)| {
                    let slot = ty.slots().get(usize::from(*index));
                    slot.is_none_or(|slot| {
                        !INPUTS.contains(&&*slot.name) || !slot.flags.contains(Flags::TRANSIENT)
                    })
                });
            }
        }
        self.expire_overrides();
        for handle in all {
            self.reevaluate(handle);
            self.propagate_from(handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::status::Status;
    use super::super::value::Value;
    use super::*;
    use chrono::{TimeDelta, TimeZone};

    #[test]
    fn commands_survive_and_plain_inputs_do_not() {
        let start = Utc.with_ymd_and_hms(2026, 3, 10, 10, 0, 0).unwrap();
        let mut station = Station::new("T", chrono_tz::Tz::UTC, start);
        let source = station
            .add(station.root(), Some("C"), "kitControl:NumericConst")
            .unwrap();
        let point = station
            .add(station.root(), Some("P"), "control:NumericWritable")
            .unwrap();
        station.link(source, "out", point, "in16").unwrap();
        station
            .set(source, "value/value", Value::Double(3.0))
            .unwrap();
        station
            .set(point, "in10", Value::status_numeric(7.0, Status::ok()))
            .unwrap();
        station
            .set(point, "in8", Value::status_numeric(9.0, Status::ok()))
            .unwrap();
        let later = start + TimeDelta::hours(1);
        station.restart(later);
        assert_eq!(station.started(), later);
        assert_eq!(station.out(point).unwrap().0, Value::Double(9.0));
        station.invoke(point, "auto", None).unwrap();
        assert_eq!(
            station.out(point).unwrap().0,
            Value::Double(3.0),
            "the link is back, the input at 10 is gone"
        );
    }
}
