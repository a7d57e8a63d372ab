//! Rates of the trends store, printed as a table: `cargo bench --bench trends`. README.md beside the benches explains them.
//!
//! `NIAGARA_BRIDGE_BENCH_EQUIPMENT=20 cargo bench --bench trends` takes a smaller store; with `NIAGARA_BRIDGE_PEERS` the same
//! coverage is asked of CAMBER, over as many equipment as it can do in reasonable time.

mod building;
mod camber;
mod coverage;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use niagara_bridge::trends::store::{BinWidth, FacilityId, Selection, TrendStore};

use building::Building;
use coverage::Caller;

/// The facility of the store.
const FACILITY: &str = "bench";
/// What the coverage of the whole store should stay below (issue "Trends", acceptance).
const MOST_TIME: f64 = 2_000.0;
const MOST_MEMORY: f64 = 200.0;
/// Equipment of the whole store.
const EQUIPMENT: usize = 500;
/// Equipment of the comparison with CAMBER, which needs about a second for each.
const COMPARED: usize = 20;
const ROUNDS: usize = 3;

fn main() {
    let facility = FacilityId::parse(FACILITY).expect("an id");
    if let Some(store) = std::env::var_os(coverage::STORE) {
        return coverage::measure_alone(Path::new(&store), &facility);
    }
    let equipment = std::env::var("NIAGARA_BRIDGE_BENCH_EQUIPMENT")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(EQUIPMENT);
    let building = Building {
        equipment,
        days: 365,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");

    let written = measure(|| building.write(&store, &facility));
    let rows = building.rows();
    say("rows", rows as f64, "");
    say("write", rate(rows, written), "rows/s");
    let parts = store.view(&facility).expect("a view").parts().len();
    say("parts", parts as f64, "");
    say("size", megabytes(folder.path()), "MB");

    let cold = TrendStore::open(folder.path()).expect("a store");
    say(
        "index, first",
        millis(measure(|| drop(cold.view(&facility)))),
        "ms",
    );
    say(
        "index, again",
        millis(measure(|| drop(cold.view(&facility)))),
        "ms",
    );

    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let alone = coverage::alone(folder.path());
    let target = format!("ms (target {MOST_TIME:.0} or less)");
    say("coverage of all, first", millis(alone.first), &target);
    say("coverage of all, again", millis(alone.again), "ms");
    say("coverage of all", rate(rows, alone.first), "rows/s");
    if let Some(peak) = alone.peak {
        let target = format!("MB (target {MOST_MEMORY:.0} or less)");
        say("its process, most memory", peak, &target);
    }

    for (name, bins) in [("native", None), ("hourly", Some(BinWidth::HOUR))] {
        let took = measure(|| read_all(&cold, &facility, bins, threads));
        say(&format!("frames, {name}"), rate(rows, took), "rows/s");
    }
    let caller = Caller::of(cold, &facility);
    assert_eq!(caller.coverage(None).points, building.points());
    compare(&building, &caller, &facility, folder.path());
}

/// The same question to both, on the same store, in turns of which the middle one counts.
fn compare(building: &Building, caller: &Caller, facility: &FacilityId, root: &Path) {
    let Some(python) = camber::python() else {
        println!("CAMBER: left out, NIAGARA_BRIDGE_PEERS names no folder with it");
        return;
    };
    let equips: BTreeSet<String> = (0..COMPARED.min(building.equipment))
        .map(Building::name)
        .collect();
    let ours = median(|| {
        caller.coverage(Some(&equips));
    });
    let theirs = camber::coverage(&python, root, facility, &equips, ROUNDS);
    let found = caller.coverage(Some(&equips));
    assert_eq!(theirs.coverage, found.coverage);
    say("coverage of some, ours", millis(ours), "ms");
    say("coverage of some, CAMBER", millis(theirs.took), "ms");
    say(
        "CAMBER's time to ours",
        theirs.took.as_secs_f64() / ours.as_secs_f64(),
        "",
    );
}

fn read_all(
    store: &TrendStore,
    facility: &FacilityId,
    bins: Option<BinWidth>,
    threads: NonZeroUsize,
) {
    let view = store.view(facility).expect("a view");
    let points = store.points(facility).expect("points");
    let equips: Vec<&String> = points.classes.keys().collect();
    let view = &view;
    std::thread::scope(|scope| {
        for share in equips.chunks(equips.len().div_ceil(threads.get()).max(1)) {
            scope.spawn(move || {
                for equip in share {
                    let series = view
                        .equipment(equip, &Selection::default())
                        .expect("a series");
                    let frame = series.frame();
                    let frame = match bins {
                        Some(bins) => frame.resampled(bins).expect("a frame"),
                        None => frame,
                    };
                    assert!(!std::hint::black_box(frame).is_empty());
                }
            });
        }
    });
}

fn measure(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(work: impl Fn()) -> Duration {
    let mut rounds: Vec<Duration> = (0..ROUNDS).map(|_| measure(&work)).collect();
    rounds.sort();
    rounds[ROUNDS / 2]
}

fn rate(rows: u64, took: Duration) -> f64 {
    rows as f64 / took.as_secs_f64()
}

fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}

fn say(what: &str, figure: f64, unit: &str) {
    if figure >= 1_000.0 {
        println!("| {what} | {figure:.0} {unit} |");
    } else {
        println!("| {what} | {figure:.2} {unit} |");
    }
}

fn megabytes(folder: &Path) -> f64 {
    fn bytes(folder: &Path) -> u64 {
        std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| {
                let entry = entry.expect("an entry");
                let facts = entry.metadata().expect("facts");
                if facts.is_dir() {
                    bytes(&entry.path())
                } else {
                    facts.len()
                }
            })
            .sum()
    }
    bytes(folder) as f64 / 1e6
}
