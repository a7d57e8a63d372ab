//! A small station with a writable of each kind and a folder with a slot of each simple type.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mock_station::clock::TestClock;
use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::model::accounts::{self, Account};
use mock_station::model::users::Role;
use mock_station::model::{
    EnumRange, Facets, Flags, Handle, Permissions, SharedStation, Station, Status, User, Value,
};
use mock_station::server::{MockStation, WriteOutcome};
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::{
    Given, PointCommand, PointOrder, StationFacade, WriteResult,
};
use niagara_bridge::station::ord::Ord;
use niagara_bridge::station::priority::Priority;

use crate::mock::{Frozen, scope};

pub const SIMPLES: &str = "slot:/Logic/Simples";

pub struct Site {
    pub frozen: Frozen,
    pub admin: StationFacade,
}

pub async fn site() -> Site {
    let now: DateTime<Utc> = "2026-03-02T12:00:00Z".parse().expect("a time");
    let clock = Arc::new(TestClock::at(now));
    let mut station = Station::new("Bench", chrono_tz::Tz::Europe__Paris, now);
    station.add_accounts(8).expect("accounts");
    fill(&mut station);
    let station = SharedStation::new(station, clock.clone());
    let station = MockStation::builder()
        .station(station)
        .clock(clock.clone())
        .start()
        .await
        .expect("the station starts");
    let frozen = Frozen { station, clock };
    let admin = facade(&frozen, accounts::ADMIN);
    Site { frozen, admin }
}

pub fn facade(frozen: &Frozen, account: Account) -> StationFacade {
    StationFacade::new(frozen.session(account), TypeCache::new(), None)
}

fn fill(station: &mut Station) {
    let root = station.root();
    let logic = station
        .add(root, Some("Logic"), "baja:Folder")
        .expect("a folder");
    let mut add = |name: &str, spec: &str| {
        station
            .add(logic, Some(name), spec)
            .expect("a component of the station")
    };
    let setpoint = add("Setpoint", "control:NumericWritable");
    let fan = add("Fan", "control:BooleanWritable");
    let mode = add("Mode", "control:EnumWritable");
    add("Note", "control:StringWritable");
    let linked = add("Linked", "control:NumericWritable");
    add("Sensor", "control:NumericPoint");
    let simples = add("Simples", "baja:Folder");
    let limits = Facets::numeric("celsius", 1)
        .with("min", Value::Double(5.0))
        .with("max", Value::Double(30.0));
    let range = EnumRange::of(&[("Off", 0), ("Heat Pump", 1), ("Auto", 7)]);
    let facets = |facets| Value::Facets(Arc::new(facets));
    station
        .set(setpoint, "facets", facets(limits.clone()))
        .expect("set");
    let texts = Facets::boolean("Running", "Stopped");
    station.set(fan, "facets", facets(texts)).expect("set");
    station
        .set(mode, "facets", facets(Facets::range(range)))
        .expect("set");
    station
        .set(
            setpoint,
            "fallback",
            Value::status_numeric(20.0, Status::ok()),
        )
        .expect("set");
    station
        .link(setpoint, "out", linked, "in16")
        .expect("linked");
    for (name, type_spec, text) in [
        ("string", "baja:String", "old"),
        ("boolean", "baja:Boolean", "false"),
        ("integer", "baja:Integer", "1"),
        ("long", "baja:Long", "1"),
        ("float", "baja:Float", "1.0"),
        ("double", "baja:Double", "1.0"),
        ("relTime", "baja:RelTime", "1000"),
        ("absTime", "baja:AbsTime", "2024-03-01T00:00:00.000Z"),
        ("date", "baja:Date", "2024-03-01"),
        ("time", "baja:Time", "08:00:00.000"),
        ("dynamicEnum", "baja:DynamicEnum", "0@{off=0,on=1}"),
        ("enumRange", "baja:EnumRange", "{off=0,on=1}"),
        ("ord", "baja:Ord", "slot:/"),
        ("ordList", "baja:OrdList", "slot:/"),
        ("unit", "baja:Unit", "percent;%;;;"),
        ("facets", "baja:Facets", "precision=i:1"),
        ("status", "baja:Status", "0"),
        ("format", "baja:Format", "%out.value%"),
        ("typeSpec", "baja:TypeSpec", "baja:Folder"),
        ("nameMap", "baja:NameMap", "{a=b;}"),
    ] {
        let value = Value::decode_as(type_spec, text)
            .unwrap_or_else(|| panic!("{type_spec} {text} is no value of the stand-in"));
        station
            .add_value(simples, Some(name), value, Flags::OPERATOR, None)
            .expect("a slot");
    }
    let limited = Some(limits);
    let number = Value::Double(10.0);
    station
        .add_value(simples, Some("limited"), number, Flags::OPERATOR, limited)
        .expect("a slot");
    station
        .add_value(
            simples,
            Some("locked"),
            Value::from("x"),
            Flags::READONLY,
            None,
        )
        .expect("a slot");
}

pub fn ord(path: &str) -> Ord {
    Ord::component(path).expect("an ORD")
}

pub fn order(level: i64, value: Given) -> PointOrder {
    PointOrder::new(Priority::new(level).expect("a level"), value)
}

pub fn text(text: &str) -> Given {
    Given::Text(text.to_owned())
}

/// Administers the first category and sees nothing of the other.
const BUILDER: Account = Account {
    user: "builder",
    password: "Builder-Harborview-1",
};

impl Site {
    /// A user who may change everything but sees nothing of one component.
    pub fn builder_without(&self, hidden: Handle) -> StationFacade {
        {
            let mut station = self.frozen.station.station().write();
            let role = Role {
                name: "builder".into(),
                super_user: false,
                permissions: [(1, Permissions::ALL)].into(),
            };
            station.add_role(role).expect("a role");
            let user = User::new(BUILDER.user, BUILDER.password, 8, &["builder"]);
            station.add_user(user).expect("a user");
            let mask = station.users.category_mask(accounts::AHU1_CATEGORY);
            station.set_categories(hidden, mask).expect("hidden");
        }
        facade(&self.frozen, BUILDER)
    }

    pub async fn command(&self, path: &str, level: i64, value: Given) -> WriteResult<PointCommand> {
        let order = order(level, value);
        self.admin
            .command_point(&scope(), &ord(path), &order, Duration::ZERO)
            .await
    }

    pub fn handle(&self, path: &str) -> Handle {
        let station = self.frozen.station.station().read();
        station.resolve_component(path).expect("a component")
    }

    /// The encoding of a value in the station's own model.
    pub fn held(&self, path: &str, slot: &str) -> String {
        let handle = self.handle(path);
        let station = self.frozen.station.station().read();
        let value = station.value(handle, slot);
        value.expect("a value of the model").encode()
    }

    /// Value and status of a struct in the station's own model.
    pub fn input(&self, path: &str, slot: &str) -> (String, String) {
        (
            self.held(path, &format!("{slot}/value")),
            self.held(path, &format!("{slot}/status")),
        )
    }

    /// What reached the station of an account's changes since the last call, and what became of it.
    pub fn writes(&self) -> Vec<(String, WriteOutcome)> {
        let writes = self.frozen.station.box_writes();
        self.frozen.station.clear_logs();
        writes
            .into_iter()
            .map(|write| (write.target, write.outcome))
            .collect()
    }

    /// The next change over an interface meets a fault.
    pub fn break_next_write(&self, interface: Interface, kind: FaultKind) {
        let fault = Fault::new(kind).on(interface).on_writes().requests(1);
        self.frozen.station.faults().set(fault).expect("a fault");
    }
}
