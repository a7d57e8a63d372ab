//! Meters, bills and configurations that the capabilities work on.

use std::collections::BTreeSet;
use std::f64::consts::TAU;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use niagara_bridge::trends::store::wall_clock::{DAY, HOUR, iso, parse_bound};
use niagara_bridge::trends::store::writer::Registration;
use niagara_bridge::trends::store::{EquipmentRows, FacilityId, RoleColumn, TrendStore};
use serde_json::{Value, json};

/// The facility of the meters, and how many it has.
pub const METERS: &str = "meters";
const METERS_COUNT: usize = 20;
/// Bills of as many accounts.
const ACCOUNTS: usize = 6;

/// Three years from here on, by hours.
const FIRST_DAY: &str = "2023-01-01";
const DAYS: usize = 365 + 366 + 365;

/// The facility as the store classes it, with every rule of ours; with the topology of the packaged configuration on demand.
pub fn every_rule(store: &TrendStore, dataset: &str, is_related: bool, folder: &Path) -> PathBuf {
    let facility = format!("ds-{dataset}");
    let id = FacilityId::parse(&facility).expect("an id");
    let points = store.points(&id).expect("points");
    let classes: BTreeSet<&String> = points.classes.values().collect();
    let mut config = json!({
        "source": {"kind": "store", "store": store.root(), "facility_id": facility},
        "equipment": classes.iter().map(|class| json!({"class": class})).collect::<Vec<_>>(),
        "rules": niagara_analytics::run_config::rules::built_in(),
    });
    if !is_related {
        return write(folder, "fleet.json", &config);
    }
    config["topology"] = packaged(dataset)["topology"].clone();
    write(folder, "related-fleet.json", &config)
}

/// The configuration that comes with a data set.
fn packaged(dataset: &str) -> Value {
    const PACKAGED: &str = include_str!("../../../knowledge/camber/dataset-configs.json");
    let all: Value = serde_json::from_str(PACKAGED).expect("JSON");
    let configs = all["configs"].as_array().expect("configurations");
    let own = configs.iter().find(|config| config["id"] == dataset);
    own.expect("a packaged configuration")["config"].clone()
}

/// The first and the second half of what is stored.
pub fn halves(store: &TrendStore, facility: &FacilityId) -> ([String; 2], [String; 2]) {
    let view = store.view(facility).expect("a view");
    let (first, last) = view.span().expect("a span").expect("samples");
    let middle = first + (last - first) / 2 / DAY * DAY;
    ([iso(first), iso(middle - HOUR)], [iso(middle), iso(last)])
}

/// Meters of which the heating and the cooling are felt, and which use a tenth less in the last year.
pub fn write_meters(store: &TrendStore) {
    let begin = parse_bound(FIRST_DAY).expect("a date");
    let stamps: Vec<i64> = (0..24 * DAYS)
        .map(|at| begin + i64::try_from(at).expect("few") * HOUR)
        .collect();
    let rows: Vec<EquipmentRows> = (0..METERS_COUNT)
        .map(|number| {
            let column = |role: &str, value: &dyn Fn(usize) -> f64| RoleColumn {
                role: role.to_owned(),
                stamps: stamps.clone(),
                values: (0..stamps.len()).map(value).collect(),
            };
            EquipmentRows {
                equip: format!("METER-{number:02}"),
                equip_class: "METER".to_owned(),
                columns: vec![
                    column("oat", &|at| outside(number, at)),
                    column("power", &|at| power(number, at)),
                ],
            }
        })
        .collect();
    let registration = Registration::active(None, Some("America/Chicago"));
    store
        .writer(Duration::from_secs(10))
        .expect("the lock of the store")
        .append(
            &FacilityId::parse(METERS).expect("an id"),
            &rows,
            Some(&registration),
        )
        .expect("an append");
}

/// From −1 to 1, the same in every run.
fn odd(number: usize, at: usize) -> f64 {
    ((at * 7919 + number * 104_729) % 1_000) as f64 / 500.0 - 1.0
}

fn outside(number: usize, at: usize) -> f64 {
    let (hour, day) = (at as f64, (at / 24) as f64);
    let season = 27.0 * (day / 365.25 * TAU).cos();
    55.0 - season - 8.0 * (hour / 24.0 * TAU).cos() + 5.0 * odd(3, at / 24) + odd(number, at)
}

fn power(number: usize, at: usize) -> f64 {
    let outside = outside(number, at);
    let cooling = (outside - 62.0).max(0.0) * (1.5 + 0.1 * number as f64);
    let heating = (50.0 - outside).max(0.0) * 0.8;
    let saved = if at / 24 < 731 { 1.0 } else { 0.9 };
    (60.0 + cooling + heating + 4.0 * odd(number, at) + 6.0 * odd(number + 7, at / 24)) * saved
}

/// Savings of all meters by each method and model, and of bills whose balance temperatures are searched.
pub fn meters_config(store: &TrendStore, folder: &Path) -> PathBuf {
    write_weather(&folder.join("oat.csv"));
    let windows = json!({
        "period": ["2023-01-01", "2023-12-31"],
        "reporting_period": ["2025-01-01", "2025-12-31"],
    });
    let entry = |more: Value| {
        let mut entry = windows.clone();
        for (key, value) in more.as_object().expect("keys") {
            entry[key] = value.clone();
        }
        entry
    };
    let trended = |more: Value| {
        let mut all = entry(more);
        all["class"] = json!("METER");
        all["role"] = json!("power");
        all
    };
    let mut entries = vec![
        trended(json!({"method": "forecast", "kernel": "exact"})),
        trended(json!({"method": "backcast"})),
        trended(json!({"model": "cp_driver", "drivers": ["weekday"], "method": "forecast"})),
    ];
    for account in 0..ACCOUNTS {
        let bills = folder.join(format!("bills-{account}.csv"));
        write_bills(&bills, account);
        entries.push(entry(json!({
            "name": format!("account {account}"),
            "bills": {"file": bills},
            "oat": {"file": folder.join("oat.csv")},
            "method": "forecast",
            "base_f": "auto",
        })));
    }
    let config = json!({
        "source": {"kind": "store", "store": store.root(), "facility_id": METERS},
        "equipment": [{"class": "METER"}],
        "mv": entries,
    });
    write(folder, "meters.json", &config)
}

fn day_of(day: usize) -> String {
    let begin = parse_bound(FIRST_DAY).expect("a date");
    iso(begin + i64::try_from(day).expect("few") * DAY)[..10].to_owned()
}

fn write_weather(path: &Path) {
    let begin = parse_bound(FIRST_DAY).expect("a date");
    let mut text = "time,oat\n".to_owned();
    for at in 0..24 * DAYS {
        let stamp = iso(begin + i64::try_from(at).expect("few") * HOUR);
        writeln!(text, "{stamp},{:.3}", outside(0, at)).expect("text");
    }
    std::fs::write(path, text).expect("a file");
}

/// A bill every 28 to 33 days.
fn write_bills(path: &Path, account: usize) {
    let mut text = "start,end,energy\n".to_owned();
    let mut day = 0;
    for bill in 0.. {
        let end = day + 28 + (bill * 7 + account) % 6;
        if end > DAYS {
            break;
        }
        let hours = 24 * day..24 * end;
        let energy: f64 = hours.map(|at| power(account, at)).sum();
        let (first, last) = (day_of(day), day_of(end - 1));
        writeln!(text, "{first},{last},{energy:.1}").expect("text");
        day = end;
    }
    std::fs::write(path, text).expect("a file");
}

fn write(folder: &Path, name: &str, config: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, config.to_string()).expect("a file");
    path
}
