//! Samples for stores, and what is read of them.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use niagara_bridge::trends::store::{
    EquipmentRows, FacilityId, RoleColumn, Selection, StoreWriter, TrendStore, wall_clock,
};

pub fn id(text: &str) -> FacilityId {
    FacilityId::parse(text).expect("a facility id")
}

pub fn stamp(text: &str) -> i64 {
    wall_clock::parse_bound(text).expect("a time")
}

/// `count` samples of one role every `minutes` from `begin`, counting up from `first`.
pub fn column(role: &str, begin: &str, minutes: i64, count: i64, first: f64) -> RoleColumn {
    RoleColumn {
        role: role.to_owned(),
        stamps: (0..count)
            .map(|at| stamp(begin) + at * minutes * wall_clock::MINUTE)
            .collect(),
        values: (0..count)
            .map(|at| first + f64::from(i32::try_from(at).expect("small")))
            .collect(),
    }
}

pub fn equipment(equip: &str, class: &str, columns: Vec<RoleColumn>) -> EquipmentRows {
    EquipmentRows {
        equip: equip.to_owned(),
        equip_class: class.to_owned(),
        columns,
    }
}

/// One role of one equipment.
pub fn point(
    equip: &str,
    role: &str,
    begin: &str,
    minutes: i64,
    count: i64,
    first: f64,
) -> EquipmentRows {
    equipment(
        equip,
        "AHU",
        vec![column(role, begin, minutes, count, first)],
    )
}

pub fn write(store: &TrendStore) -> StoreWriter<'_> {
    store.writer(Duration::from_secs(10)).expect("the lock")
}

/// Every sample of a facility, `equip role time value`, sorted.
pub fn samples(store: &TrendStore, facility: &str) -> Vec<String> {
    let facility = id(facility);
    let mut lines = Vec::new();
    for equip in store.points(&facility).expect("points").classes.keys() {
        let series = store
            .equipment(&facility, equip, &Selection::default())
            .expect("a series");
        for (role, samples) in series.roles {
            for (stamp, value) in samples.samples() {
                lines.push(format!("{equip} {role} {} {value}", wall_clock::iso(stamp)));
            }
        }
    }
    lines.sort();
    lines
}

/// Paths of the parts of a store, sorted.
pub fn parts(root: &Path) -> Vec<String> {
    let found = Arc::new(Mutex::new(Vec::new()));
    walk(root, root, &found);
    let mut found = found.lock().expect("names").clone();
    found.sort();
    found
}

fn walk(root: &Path, folder: &Path, found: &Arc<Mutex<Vec<String>>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(root, &path, found);
        } else if path.extension().is_some_and(|ending| ending == "parquet") {
            let below = path.strip_prefix(root).expect("below the root");
            found
                .lock()
                .expect("names")
                .push(below.to_str().expect("Unicode").replace('\\', "/"));
        }
    }
}

/// Names in the root that are neither data nor the store's own files.
pub fn litter(root: &Path) -> Vec<String> {
    std::fs::read_dir(root)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| {
            name.starts_with("_swap") || name.starts_with("_trash") || name == "_staging"
        })
        .collect()
}
