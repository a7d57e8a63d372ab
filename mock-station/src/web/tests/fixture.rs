//! A station of a few known points, histories and alarms, with a frozen clock.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::America::New_York;

use crate::clock::TestClock;
use crate::model::history::trend_flags;
use crate::model::{
    AckState, AlarmRecord, EnumRange, Facets, Handle, History, HistoryRecord, PointKind,
    SharedStation, SourceState, Station, Status, StoredHistory, Value, accounts,
};
use crate::server::ServerContext;
use crate::switches::{SharedSwitches, Switches};

pub(super) const NOW: &str = "2024-03-13T12:00:00Z";

pub(super) fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a valid instant")
}

pub(super) struct Fixture {
    pub context: ServerContext,
    pub clock: Arc<TestClock>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self::with(Switches::default())
    }

    pub(super) fn with(switches: Switches) -> Self {
        let clock = Arc::new(TestClock::at(at(NOW)));
        let station = SharedStation::new(station(), clock.clone());
        let context = ServerContext::new(clock.clone(), station, SharedSwitches::new(switches));
        Self { context, clock }
    }

    pub(super) fn advance(&self, seconds: i64) {
        self.clock.advance(TimeDelta::seconds(seconds));
    }

    pub(super) fn change(&self, edit: impl FnOnce(&mut Switches)) {
        self.context.switches.change(edit);
    }
}

fn facets(facets: Facets) -> Value {
    Value::Facets(Arc::new(facets))
}

fn point(station: &mut Station, parent: Handle, name: &str, spec: &str, shown: Facets) -> Handle {
    let handle = station
        .add(parent, Some(name), spec)
        .expect("a legal child");
    station
        .set(handle, "facets", facets(shown))
        .expect("points have facets");
    handle
}

fn station() -> Station {
    let mut station = Station::new("Test", New_York, at(NOW));
    station
        .add_accounts(accounts::TEST_ITERATIONS)
        .expect("accounts fit a new station");
    let root = station.root();
    let points = station
        .add(root, Some("Points"), "baja:Folder")
        .expect("a folder fits the root");
    add_points(&mut station, points);
    add_histories(&mut station, points);
    add_alarms(&mut station);
    station
}

fn add_points(station: &mut Station, folder: Handle) {
    let fahrenheit = || Facets::numeric("fahrenheit", 1);
    let temperature = point(
        station,
        folder,
        "AHU1_SAT",
        "control:NumericWritable",
        fahrenheit(),
    );
    let set = |station: &mut Station, handle, slot: &str, value| {
        station.set(handle, slot, value).expect("the slot exists");
    };
    set(
        station,
        temperature,
        "fallback",
        Value::status_numeric(1072.56, Status::ok()),
    );
    let ahu1 = station
        .users
        .category_mask(accounts::AHU1_CATEGORY)
        .expect("the category exists");
    station
        .set_categories(temperature, Some(ahu1))
        .expect("a component takes categories");
    let outdoor = point(
        station,
        folder,
        "OAT",
        "control:NumericWritable",
        fahrenheit(),
    );
    set(
        station,
        outdoor,
        "in10",
        Value::status_numeric(-5.0, Status::ok()),
    );
    let fan = point(
        station,
        folder,
        "Fan",
        "control:BooleanWritable",
        Facets::boolean("On, running", "Off"),
    );
    set(
        station,
        fan,
        "in8",
        Value::status_boolean(true, Status::ok()),
    );
    let mode = point(
        station,
        folder,
        "Mode",
        "control:EnumWritable",
        Facets::range(EnumRange::of(&[("off", 0), ("not occupied", 1)])),
    );
    let range = EnumRange::of(&[("off", 0), ("not occupied", 1)]);
    let occupied = Value::DynamicEnum(crate::model::DynamicEnum {
        ordinal: 1,
        range: Arc::new(range),
    });
    set(
        station,
        mode,
        "fallback",
        Value::status_value(PointKind::Enum, occupied, Status::ok()),
    );
    let text = point(
        station,
        folder,
        "Zone$201",
        "control:StringWritable",
        Facets::new(),
    );
    set(
        station,
        text,
        "fallback",
        Value::status_value(
            PointKind::String,
            Value::from("say \"hi\" {x}"),
            Status::ok(),
        ),
    );
    // A point inside a point, without any valid input.
    point(
        station,
        temperature,
        "Inner",
        "control:NumericWritable",
        fahrenheit(),
    );
}

fn add_histories(station: &mut Station, folder: Handle) {
    let owner = station.component(folder).and_then(|f| f.child("AHU1_SAT"));
    let quarter = |index: i64| at("2024-03-10T05:00:00Z") + TimeDelta::minutes(15 * index);
    let mut records: Vec<HistoryRecord> = (0..16)
        .map(|index| HistoryRecord::ok(quarter(index), 1_000.25 + index as f64))
        .collect();
    records[1].status = Status::DOWN;
    records[2].trend_flags = trend_flags::START | trend_flags::HIDDEN;
    records.insert(4, records[3].clone());
    let mut numeric = History::new(
        "/Test/AHU1_SAT",
        PointKind::Numeric,
        New_York,
        Arc::new(StoredHistory::new(records)),
    );
    numeric.value_facets = Facets::numeric("fahrenheit", 1);
    numeric.point = owner;
    numeric.source_ord = Some("station:|slot:/Points/AHU1_SAT/NumericInterval".to_owned());
    station.histories.insert(numeric);
    let fan = [
        "2024-03-12T13:00:00Z",
        "2024-03-12T14:00:00Z",
        "2024-03-13T11:00:00Z",
    ]
    .iter()
    .zip([true, false, true])
    .map(|(time, value)| HistoryRecord::ok(at(time), value))
    .collect();
    let mut boolean = History::new(
        "/Test/Fan",
        PointKind::Boolean,
        New_York,
        Arc::new(StoredHistory::new(fan)),
    );
    boolean.value_facets = Facets::boolean("On", "Off");
    station.histories.insert(boolean);
    station.histories.insert(History::new(
        "/Other/Empty",
        PointKind::Numeric,
        New_York,
        Arc::new(StoredHistory::default()),
    ));
}

fn add_alarms(station: &mut Station) {
    let states = [
        ("a1", SourceState::Offnormal, AckState::Unacked, false),
        ("a2", SourceState::Normal, AckState::Acked, false),
        ("a3", SourceState::Fault, AckState::Acked, false),
        ("a4", SourceState::Normal, AckState::AckPending, false),
        ("a5", SourceState::Normal, AckState::Acked, true),
    ];
    for (hour, (uuid, source_state, ack_state, archived)) in (8..).zip(states) {
        let timestamp = at(&format!("2024-03-12T{hour:02}:30:00Z"));
        let back = source_state == SourceState::Normal;
        station.alarms.insert(AlarmRecord {
            timestamp,
            uuid: uuid.to_owned(),
            source_state,
            ack_state,
            ack_required: true,
            source: vec![
                "local:|station:|slot:/Points/AHU1_SAT".to_owned(),
                "local:|station:|slot:/Points".to_owned(),
            ],
            alarm_class: "defaultAlarmClass".to_owned(),
            priority: 100,
            normal_time: back.then_some(timestamp + TimeDelta::hours(1)),
            ack_time: None,
            user: "Unknown User".to_owned(),
            alarm_data: Facets::new()
                .with("sourceName", Value::from(format!("Source {uuid}")))
                .with("msgText", Value::from("too hot, check")),
            alarm_transition: SourceState::Offnormal,
            last_update: timestamp,
            archived,
            notes: Vec::new(),
        });
    }
}
