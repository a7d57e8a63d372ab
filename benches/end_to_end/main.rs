//! Figures of the whole chain, printed as a table: `cargo bench --bench end_to_end`. README.md beside it explains them.

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

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run());
}

async fn run() {
    let mut table = Table::default();
    let served = Served::start().await;
    let bare = Bare::start().await;
    calls(&served, &bare, &mut table).await;
    searches(&served, &mut table).await;
    watched::measure(&served, &mut table).await;
    program::measure(served.station_url(), &mut table).await;
    println!("{table}");
}

/// echo and readPoint against the bare server and the bare request.
async fn calls(served: &Served, bare: &Bare, table: &mut Table) {
    let echo = ("echo", json!({"msg": "hello"}));
    let read = ("readPoint", json!({"ord": served.point()}));
    let direct = served.obix_target();
    // Both warm up before anything is measured.
    let _ = sequential(200, || bare.call(&echo)).await;
    let _ = sequential(200, || served.call(&echo)).await;

    let own = sequential(CALLS, || served.call(&echo)).await;
    let other = sequential(CALLS, || bare.call(&echo)).await;
    table.latency("echo", &own);
    table.latency("echo, bare rmcp server", &other);
    table.ratio("echo latency, ours to bare", own.median(), other.median());
    let own = together(CLIENTS, EACH, || served.call(&echo)).await;
    let other = together(CLIENTS, EACH, || bare.call(&echo)).await;
    table.throughput("echo, 8 clients", own);
    table.throughput("echo, 8 clients, bare rmcp server", other);
    table.row(
        "echo throughput, ours to bare",
        format!("{:.2}", own / other),
    );

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
