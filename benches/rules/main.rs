//! Rates of the rules and of the analyses beside CAMBER's, printed as a table: `cargo bench --bench rules`. README.md beside
//! the benches explains them.
//!
//! `NIAGARA_BRIDGE_BENCH_EQUIPMENT=20 NIAGARA_BRIDGE_BENCH_DAYS=30 cargo bench --bench rules` takes a smaller campus; parts
//! may be named: `cargo bench --bench rules -- beside alone shares`, and capabilities of the first: `-- beside drift`.

mod beside;
mod building;
mod shares;
mod table;
mod task;

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use building::Campus;
use niagara_bridge::trends::store::TrendStore;
use serde_json::json;
use table::Table;
use task::{TASK, Task};

/// The largest campus, and for how long it trends.
const EQUIPMENT: usize = 500;
const DAYS: usize = 365;
/// What all rules over it should stay below (issue "Analytic engine", acceptance).
const MOST_SECONDS: f64 = 15.0;
const MOST_MEMORY: f64 = 1_500.0;
const ROUNDS: usize = 3;
const PARTS: [&str; 3] = ["beside", "alone", "shares"];

fn main() {
    if let Ok(task) = std::env::var(TASK) {
        let task: Task = serde_json::from_str(&task).expect("a task");
        return task.carry_out();
    }
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let is_wanted = |part: &str| {
        let of_parts = named.iter().any(|name| PARTS.contains(&name.as_str()));
        !of_parts || named.iter().any(|name| name == part)
    };
    let mut table = Table::default();
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    table.row(
        "processors, and threads of an analysis",
        format!("{cores}, {cores}"),
    );
    if is_wanted("beside") {
        beside::measure(&mut table, &named);
    }
    if is_wanted("alone") || is_wanted("shares") {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TrendStore::create(folder.path()).expect("a store");
        let largest = Campus {
            equipment: setting("NIAGARA_BRIDGE_BENCH_EQUIPMENT", EQUIPMENT),
            days: i64::try_from(setting("NIAGARA_BRIDGE_BENCH_DAYS", DAYS)).expect("few"),
        };
        write(&mut table, &store, largest);
        if is_wanted("alone") {
            alone(&mut table, &store, folder.path(), largest);
        }
        if is_wanted("shares") {
            shares::measure(&mut table, &store, &largest.facility());
        }
    }
    println!("{table}");
}

fn setting(name: &str, usual: usize) -> usize {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn write(table: &mut Table, store: &TrendStore, campus: Campus) {
    let begun = Instant::now();
    let samples = campus.write(store);
    let seconds = begun.elapsed().as_secs_f64();
    table.row(
        &format!("campus of {}, samples", campus.equipment),
        samples.to_string(),
    );
    table.seconds("writing it", seconds, "");
}

/// All rules and the trust of all points, and how they grow with the campus.
fn alone(table: &mut Table, store: &TrendStore, root: &Path, largest: Campus) {
    let smaller = [largest.equipment / 10, largest.equipment * 3 / 10].map(|equipment| Campus {
        equipment: equipment.max(1),
        ..largest
    });
    for campus in smaller {
        campus.write(store);
    }
    let task = |capability: &str, campus: Campus| Task {
        store: root.to_owned(),
        facilities: vec![campus.facility().as_str().to_owned()],
        config: None,
        capability: capability.to_owned(),
        arguments: json!({"facility_id": campus.facility().as_str()}),
        rounds: ROUNDS,
    };
    for campus in smaller.into_iter().chain([largest]) {
        let name = format!("rule_run of {} equipment, all rules", campus.equipment);
        let target = |text: String| match campus.equipment == EQUIPMENT {
            true => text,
            false => String::new(),
        };
        let measured = task("rule_run", campus).alone().expect("figures");
        let time = target(format!("(target {MOST_SECONDS} or less)"));
        table.seconds(&name, measured.median(), &time);
        let memory = target(format!("(target {MOST_MEMORY} or less)"));
        table.mebibytes(&format!("{name}, most memory"), measured.peak, &memory);
        let per_equipment = measured.median() / campus.equipment as f64;
        table.seconds(&format!("{name}, for each"), per_equipment, "");
        if campus.equipment == largest.equipment {
            table.row(
                &format!("{name}, findings"),
                measured.data["counts"].to_string(),
            );
        }
    }
    let measured = task("sensor_trust", largest).alone().expect("figures");
    let name = format!("sensor_trust of {} equipment", largest.equipment);
    table.seconds(&name, measured.median(), "");
    table.mebibytes(&format!("{name}, most memory"), measured.peak, "");
    table.row(
        &format!("{name}, points"),
        measured.data["counts"].to_string(),
    );
}
