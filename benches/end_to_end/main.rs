//! Figures of the whole chain, printed as a table: `cargo bench --bench end_to_end`. README.md beside it explains them.

mod analyses;
#[path = "../rules/building.rs"]
mod building;
mod measure;
mod program;
mod served;
mod watched;

use measure::{Figures, Table, sequential, together};
use serde_json::{Value, json};
use served::{Bare, Served};

/// Calls one after the other.
const CALLS: usize = 2_000;
/// Calls of each of the clients that call at the same time.
const EACH: usize = 500;
const CLIENTS: usize = 8;
/// Turns in which rates are measured; the middle one counts.
const ROUNDS: usize = 7;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run());
}

async fn run() {
    let mut table = Table::default();
    // Parts may be named: `cargo bench --bench end_to_end -- echo reads`.
    let named: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |part: &str| {
        let mut parts = named
            .iter()
            .filter(|name| !name.starts_with("--"))
            .peekable();
        parts.peek().is_none() || parts.any(|name| name == part)
    };
    let served = Served::start().await;
    if wanted("echo") {
        echo(&served, &mut table).await;
    }
    if wanted("reads") {
        reads(&served, &mut table).await;
    }
    if wanted("searches") {
        searches(&served, &mut table).await;
    }
    if wanted("watched") {
        watched::measure(&served, &mut table).await;
    }
    if wanted("analyses") {
        analyses::measure(&mut table).await;
    }
    if wanted("program") {
        program::measure(served.station_url(), &mut table).await;
    }
    println!("{table}");
}

/// echo against the MCP library's own servers, in turns, so that what else the machine does falls on all alike.
async fn echo(served: &Served, table: &mut Table) {
    let echo = ("echo", json!({"msg": "hello"}));
    let stock = Bare::with_sessions().await;
    let least = Bare::without_sessions().await;
    // All warm up before anything is measured.
    let _ = sequential(200, || served.call(&echo)).await;
    let _ = sequential(200, || stock.call(&echo)).await;
    let _ = sequential(200, || least.call(&echo)).await;

    let own = sequential(CALLS, || served.call(&echo)).await;
    let sessions = sequential(CALLS, || stock.call(&echo)).await;
    let bare = sequential(CALLS, || least.call(&echo)).await;
    table.latency("echo", &own);
    table.latency("echo, rmcp server with sessions", &sessions);
    table.latency("echo, rmcp server without sessions", &bare);
    let mut rates = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        rates[0].push(together(CLIENTS, EACH, || served.call(&echo)).await);
        rates[1].push(together(CLIENTS, EACH, || stock.call(&echo)).await);
        rates[2].push(together(CLIENTS, EACH, || least.call(&echo)).await);
    }
    let ratio = |other: usize| {
        let rounds = rates[0].iter().zip(&rates[other]);
        middle(rounds.map(|(own, other)| own / other).collect())
    };
    let (to_stock, to_least) = (ratio(1), ratio(2));
    let [own, sessions, bare] = rates.map(middle);
    table.throughput("echo, 8 clients", own);
    table.throughput("echo, 8 clients, rmcp server with sessions", sessions);
    table.throughput("echo, 8 clients, rmcp server without sessions", bare);
    table.row(
        "echo throughput, ours to rmcp with sessions",
        format!("{to_stock:.2}"),
    );
    table.row(
        "echo throughput, ours to rmcp without sessions",
        format!("{to_least:.2}"),
    );
}

/// The middle of an odd number of figures.
fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// readPoint against the bare request.
async fn reads(served: &Served, table: &mut Table) {
    let read = ("readPoint", json!({"ord": served.point()}));
    let direct = served.obix_target();
    let _ = sequential(20, || served.call(&read)).await;
    let own = sequential(CALLS, || served.call(&read)).await;
    let other = sequential(CALLS, || served.ask_directly(&direct)).await;
    table.latency("readPoint", &own);
    table.latency("the point asked of the station directly, over oBIX", &other);
    table.ratio(
        "readPoint latency to a direct request",
        own.median(),
        other.median(),
    );
    let rate = together(CLIENTS, EACH / 2, || served.call(&read)).await;
    table.throughput("readPoint, 8 clients", rate);
}

/// Reads of much at once, with the requests that the station saw.
async fn searches(served: &Served, table: &mut Table) {
    let arguments: [(&str, &str, Value); 3] = [
        (
            "findComponentsByType, 1,000 of 20,000 points",
            "findComponentsByType",
            json!({"typeName": "control:NumericPoint", "limit": 1000}),
        ),
        ("getOverview of 20,000 points", "getOverview", json!({})),
        (
            "readHistory, 10,000 records",
            "readHistory",
            json!({"ord": served.point_with_history(), "from": "2026-01-01", "limit": 10_000}),
        ),
    ];
    for (name, tool, arguments) in arguments {
        let call = (tool, arguments);
        let answer = served.call(&call).await;
        assert_eq!(answer["isError"], json!(false), "{name}: {answer}");
        if tool == "readHistory" {
            assert_eq!(answer["structuredContent"]["rows"], json!(10_000));
        }
        served.forget_requests();
        let _ = served.call(&call).await;
        let requests = served.requests();
        let figures: Figures = sequential(20, || served.call(&call)).await;
        table.latency(name, &figures);
        table.row(
            &format!("{name}: requests to the station"),
            requests.to_string(),
        );
        if tool != "readHistory" {
            assert!(requests <= 3, "{name} takes {requests} requests");
        }
    }
}
