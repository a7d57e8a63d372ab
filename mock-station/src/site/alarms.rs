//! About forty alarms of the last sixty days, in every combination of source state and acknowledgement.

use super::plan::Plan;
use super::row::Limits;
use super::sim::noise::{between, hash};
use super::tree::{PlacedEquipment, PlacedPoint, decoded};
use crate::model::slot_name::escape;
use crate::model::{
    AckState, AlarmRecord, Facets, Handle, ModelError, SourceState, Station, Value,
};
use chrono::{DateTime, TimeDelta, Utc};

/// States of ten alarms in a row: most have gone back to normal.
const STATES: [SourceState; 10] = {
    use SourceState::{Alert, Fault, Normal, Offnormal};
    [
        Normal, Offnormal, Normal, Normal, Fault, Normal, Offnormal, Normal, Alert, Normal,
    ]
};
const ACKNOWLEDGEMENTS: [AckState; 3] = [AckState::Acked, AckState::Unacked, AckState::AckPending];
const ALARMS: usize = 40;
const SPAN_HOURS: f64 = 60.0 * 24.0;
/// Older alarms that were moved to the archive.
const ARCHIVED: usize = 8;

/// Adds the alarm classes to the alarm service.
pub fn add_classes(station: &mut Station, plan: &Plan) -> Result<(), ModelError> {
    let Some(service) = station.service("alarm:AlarmService") else {
        return Ok(());
    };
    for (name, priority) in plan.alarm_classes {
        let class = station.add(service, Some(&escape(name)), "alarm:AlarmClass")?;
        for member in ["toOffnormal", "toFault", "toNormal", "toAlert"] {
            station.set(
                class,
                &format!("priority/{member}"),
                Value::Integer(*priority),
            )?;
        }
    }
    Ok(())
}

/// Fills the alarm database from the alarm extensions of the first building.
pub fn add_records(
    station: &mut Station,
    plan: &Plan,
    seed: u64,
    now: DateTime<Utc>,
    placed: &[PlacedEquipment],
) -> Result<(), ModelError> {
    let sources: Vec<(&PlacedEquipment, &PlacedPoint, Handle)> = placed
        .iter()
        .filter(|equipment| equipment.building == 0)
        .flat_map(|equipment| {
            equipment
                .points
                .iter()
                .filter_map(move |point| Some((equipment, point, point.alarm_extension?)))
        })
        .collect();
    if sources.is_empty() {
        return Ok(());
    }
    for number in 0..ALARMS + ARCHIVED {
        let key = number as i64;
        // A stride that shares no factor with the number of sources visits them all before it repeats one.
        let (equipment, point, extension) = sources[(number * 17 + 3) % sources.len()];
        let archived = number >= ALARMS;
        let state = if archived {
            SourceState::Normal
        } else {
            STATES[number % STATES.len()]
        };
        let ack = if archived {
            AckState::Acked
        } else {
            ACKNOWLEDGEMENTS[(number / STATES.len()) % ACKNOWLEDGEMENTS.len()]
        };
        let (youngest, oldest) = if archived {
            (SPAN_HOURS, 5.0 * SPAN_HOURS)
        } else {
            (0.4, SPAN_HOURS)
        };
        let age = between(seed ^ 0xA1A, key, youngest, oldest);
        let timestamp = now - TimeDelta::milliseconds((age * 3_600_000.0) as i64);
        let mut record = record(
            (station, plan),
            (equipment, point, extension),
            (state, ack),
            timestamp,
            age,
            hash(seed, 50_000 + key),
        );
        record.archived = archived;
        mark_extension(station, extension, &record)?;
        station.insert_alarm(record);
    }
    Ok(())
}

fn record(
    place: (&Station, &Plan),
    source: (&PlacedEquipment, &PlacedPoint, Handle),
    states: (SourceState, AckState),
    timestamp: DateTime<Utc>,
    age_hours: f64,
    random: u64,
) -> AlarmRecord {
    let (station, plan) = place;
    let (equipment, point, extension) = source;
    let (state, ack) = states;
    let class = (plan.alarm_class)(&equipment.equipment);
    let first = if state == SourceState::Normal {
        SourceState::Offnormal
    } else {
        state
    };
    let after =
        |share: f64| timestamp + TimeDelta::milliseconds((age_hours * share * 3_600_000.0) as i64);
    let normal_time = (state == SourceState::Normal).then(|| after(0.35));
    let ack_time = (ack == AckState::Acked).then(|| after(0.6));
    let last_update = ack_time.or(normal_time).unwrap_or(timestamp);
    AlarmRecord {
        timestamp,
        uuid: uuid::Builder::from_random_bytes(spread(random))
            .into_uuid()
            .to_string(),
        source_state: state,
        ack_state: ack,
        ack_required: true,
        source: vec![station.nav_ord(extension)],
        alarm_class: class.to_owned(),
        priority: plan
            .alarm_classes
            .iter()
            .find(|(name, _)| *name == class)
            .map_or(255, |(_, priority)| *priority),
        normal_time,
        ack_time,
        user: if ack_time.is_some() {
            "operator".to_owned()
        } else {
            String::new()
        },
        alarm_data: data(place, equipment, point, first, state),
        alarm_transition: first,
        last_update,
        archived: false,
        notes: if random.is_multiple_of(9) {
            vec![plan.alarm_texts.note.to_owned()]
        } else {
            Vec::new()
        },
    }
}

fn data(
    place: (&Station, &Plan),
    equipment: &PlacedEquipment,
    point: &PlacedPoint,
    first: SourceState,
    now: SourceState,
) -> Facets {
    let (station, plan) = place;
    let name = station.display_name(point.handle);
    let mut data = Facets::new()
        .with(
            "sourceName",
            Value::from(format!("{} {}", equipment.equipment.device, name)),
        )
        .with("msgText", Value::from(message(plan, point, first)))
        .with(
            "fromState",
            Value::from(if now == SourceState::Normal {
                first.tag()
            } else {
                "normal"
            }),
        )
        .with("toState", Value::from(now.tag()))
        .with("timeZone", Value::from(station.zone().name()))
        .with("location", Value::from(equipment.equipment.id.as_str()));
    if let Some((value, _)) = station.out(point.handle) {
        data.set("presentValue", Value::from(value.encode()));
    }
    match point.row.limits {
        Limits::Range(low, high) => {
            let reader =
                super::measure::Reader::new(point.row.measure, equipment.equipment.convention);
            data.set("lowLimit", Value::from(reader.value(low).encode()));
            data.set("highLimit", Value::from(reader.value(high).encode()));
            data.set(
                "offnormalValue",
                Value::from(reader.value(high + 0.06 * (high - low)).encode()),
            );
        }
        Limits::State(state) => data.set("offnormalValue", Value::from(state.to_string())),
        Limits::None => {}
    }
    data
}

fn message(plan: &Plan, point: &PlacedPoint, state: SourceState) -> &'static str {
    let texts = plan.alarm_texts;
    match (state, point.row.limits) {
        (SourceState::Fault, _) => texts.fault,
        (SourceState::Alert, _) => texts.alert,
        (_, Limits::State(_)) => texts.state,
        _ => texts.out_of_range,
    }
}

/// The extension of an alarm that has not gone back to normal says so.
fn mark_extension(
    station: &mut Station,
    extension: Handle,
    record: &AlarmRecord,
) -> Result<(), ModelError> {
    if record.source_state == SourceState::Normal {
        return Ok(());
    }
    station.set(
        extension,
        "alarmState",
        decoded("alarm:SourceState", record.source_state.tag())?,
    )
}

fn spread(random: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random.to_le_bytes());
    bytes[8..].copy_from_slice(&hash(random, 1).to_le_bytes());
    bytes
}
