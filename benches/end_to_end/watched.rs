//! 500 subscribed points of which a tenth changes every second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mock_station::model::accounts::BRIDGE;
use mock_station::model::status::Status;
use mock_station::model::{Handle, Value};
use niagara_bridge::clock::SystemClock;
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::ChangePacing;
use niagara_bridge::station::facade::StationFacade;
use niagara_bridge::station::ord::Ord;
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};

use crate::measure::{Figures, Table};
use crate::served::Served;

const POINTS: usize = 500;
const CHANGING: usize = POINTS / 10;
const SECONDS: usize = 20;
const SECOND: Duration = Duration::from_secs(1);

pub async fn measure(served: &Served, table: &mut Table) {
    let points = writable_points(served);
    let facade = Arc::new(facade(served));
    let ords: Vec<Ord> = points
        .keys()
        .map(|ord| Ord::parse(ord).expect("an ord"))
        .collect();
    let mut subscription = facade.subscribe(&ords).expect("a subscription");
    for _ in 0..ords.len() {
        subscription.next().await.expect("a first state");
    }

    let (mut delays, mut lost) = (Vec::new(), 0);
    let handles: Vec<(&String, &Handle)> = points.iter().collect();
    let (began, busy) = (Instant::now(), processor_time());
    for second in 0..SECONDS {
        let changed = Instant::now();
        let mut waiting: std::collections::HashSet<&str> = Default::default();
        for (ord, handle) in handles
            .iter()
            .cycle()
            .skip(second * CHANGING)
            .take(CHANGING)
        {
            let value = Value::status_numeric(1_000.0 + second as f64, Status::ok());
            let mut station = served.mock.station().write();
            station.set(**handle, "in10", value).expect("a change");
            waiting.insert(ord);
        }
        let deadline = tokio::time::sleep(SECOND * 5);
        tokio::pin!(deadline);
        while !waiting.is_empty() {
            tokio::select! {
                change = subscription.next() => {
                    let change = change.expect("a change");
                    if waiting.remove(&*change.ord.absolute()) {
                        delays.push(changed.elapsed());
                    }
                }
                () = &mut deadline => break,
            }
        }
        lost += waiting.len();
        tokio::time::sleep(SECOND.saturating_sub(changed.elapsed())).await;
    }
    let share = match (busy, processor_time()) {
        (Some(before), Some(after)) => {
            let share = (after - before).as_secs_f64() / began.elapsed().as_secs_f64();
            format!("{:.1} % of one processor", share * 100.0)
        }
        _ => "not told by this system".to_owned(),
    };
    // First states may come before the route is chosen, so it is asked for last.
    let route = subscription.route().map_or("none", |route| route.name());
    facade.close().await;
    assert_eq!(lost, 0, "changes never arrived");
    table.row("500 points watched, route", route.to_owned());
    table.latency(
        "delay of a change, asked every second",
        &Figures::of(delays),
    );
    table.row("bridge and stand-in station meanwhile", share);
}

fn facade(served: &Served) -> StationFacade {
    let url = served.station_url().parse().expect("an address");
    let mut options = WebOptions::new(url, BRIDGE.user, Secret::new(BRIDGE.password));
    options.limits.requests_per_second = 0;
    let session = WebSession::new(options, SystemClock::shared()).expect("a session");
    StationFacade::new(session, TypeCache::new(), None).with_change_pacing(ChangePacing {
        watch: SECOND,
        box_session: SECOND,
        polling: SECOND,
        ..ChangePacing::default()
    })
}

/// Numeric writable points whose input 10 is the highest in use, by absolute ord.
fn writable_points(served: &Served) -> HashMap<String, Handle> {
    let mut station = served.mock.station().write();
    let root = station.root();
    let folder = station
        .add(root, Some("Watched"), "baja:Folder")
        .expect("a folder");
    (0..POINTS)
        .map(|number| {
            let name = format!("Point{number}");
            let point = station
                .add(folder, Some(&name), "control:NumericWritable")
                .expect("a point");
            (format!("station:|{}", station.slot_path(point)), point)
        })
        .collect()
}

/// Processor time of this process so far; none where the system does not tell.
fn processor_time() -> Option<Duration> {
    /// Ticks per second of `/proc` on Linux, whatever the kernel's own rate.
    const TICKS: u64 = 100;
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis(
        (ticks(11)? + ticks(12)?) * 1000 / TICKS,
    ))
}
