//! The readers of what stations send: CSV of a BQL query, an oBIX history page, a BOX frame of slots.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use niagara_bridge::station::boxp;
use niagara_bridge::station::obix::decode::decode;
use niagara_bridge::station::web::csv::CsvReader;
use serde_json::{Value, json};

const ROWS: usize = 10_000;

fn csv_of(rows: usize) -> String {
    let mut text = "\u{feff}timestamp,value,status,trendFlags\n".to_owned();
    for row in 0..rows {
        writeln!(text, "17930{row:08},\"{}.25\",{{ok}},{{ }}", row % 90).expect("memory");
    }
    text
}

fn history_of(rows: usize) -> String {
    let mut text =
        "<obj is=\"obix:HistoryQueryOut\"><list name=\"data\" of=\"#RecordDef\">".to_owned();
    for row in 0..rows {
        write!(
            text,
            "<obj><abstime name=\"timestamp\" val=\"2026-10-25T02:{:02}:{:02}.000+02:00\"/><real name=\"value\" val=\"{}.5\"/></obj>",
            row / 60 % 60,
            row % 60,
            row % 90
        )
        .expect("memory");
    }
    text.push_str("</list></obj>");
    text
}

fn frame_of(slots: usize) -> String {
    let slots: Vec<Value> = (0..slots)
        .map(|slot| json!({"nm": "p", "n": format!("Point{slot}"), "t": "control:NumericPoint", "h": format!("{slot:x}"), "d": "14.5 °C {ok}"}))
        .collect();
    json!({"p": "box", "v": "2.3", "n": 1, "m": [{"r": 0, "t": "rp", "c": "ord", "k": "resolve", "b": {"n": "points", "t": "baja:Folder", "s": slots}}]}).to_string()
}

fn readers(criterion: &mut Criterion) {
    let csv = csv_of(ROWS);
    let mut group = criterion.benchmark_group("readers");
    group.throughput(Throughput::Bytes(csv.len() as u64));
    group.bench_function("CSV, 10,000 records", |bencher| {
        bencher.iter(|| {
            let mut reader = CsvReader::new();
            reader.feed(black_box(csv.as_bytes())).expect("CSV");
            std::iter::from_fn(|| reader.record()).count()
        });
    });
    let history = history_of(1_000);
    group.throughput(Throughput::Bytes(history.len() as u64));
    group.bench_function("oBIX, 1,000 records", |bencher| {
        bencher.iter(|| decode(black_box(history.as_bytes()), None).expect("oBIX"));
    });
    let frame = frame_of(500);
    group.throughput(Throughput::Bytes(frame.len() as u64));
    group.bench_function("BOX, 500 slots", |bencher| {
        bencher.iter(|| {
            let replies = boxp::frame::decode(black_box(frame.as_bytes()), 1, 1).expect("a frame");
            let body = replies
                .into_iter()
                .flatten()
                .flatten()
                .next()
                .expect("a reply");
            boxp::Node::decode(&body).map(|node| node.children.len())
        });
    });
    group.finish();
}

criterion_group!(benches, readers);
criterion_main!(benches);
