//! What polls of many subscribed points cost; figures to read, not to assert.
//!
//! `cargo test --release -p mock-station --test boxs cost -- --ignored --nocapture`

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use mock_station::site::{Harborview, SiteOptions};
use serde_json::json;

use crate::client::noon;
use crate::direct::Direct;

const POINTS: usize = 500;
const POLLS: u32 = 60;

#[test]
#[ignore = "prints figures of a release build"]
fn polls_of_500_points_that_change_every_second() {
    let site = Harborview::build(SiteOptions {
        points: POINTS * 2,
        ..SiteOptions::for_tests(noon())
    })
    .unwrap();
    let station = Direct::new(site.station, noon());
    let ords: Vec<String> = {
        let model = station.context.station.read();
        let points = model.descendants(model.root());
        points
            .filter(|component| component.ty().is("control:ControlPoint"))
            .take(POINTS)
            .map(|component| format!("h:{}", component.handle()))
            .collect()
    };
    assert_eq!(ords.len(), POINTS);
    let session = station.session();
    let start = Instant::now();
    station.call(&session, "sub", json!(ords));
    println!("subscribing {POINTS} points: {:?}", start.elapsed());
    let (mut busy, mut told, mut ticks) = (Duration::ZERO, 0, Duration::ZERO);
    for _ in 0..POLLS {
        station.clock.advance(TimeDelta::seconds(1));
        let start = Instant::now();
        drop(station.context.station.read());
        ticks += start.elapsed();
        let frame = json!({"p": "box", "n": 1, "m": [
            {"r": 1, "t": "rt", "c": "ssession", "k": "pollchgs", "b": {"id": session}},
        ]});
        let start = Instant::now();
        let (_, text) = station.post(frame.to_string().into_bytes());
        busy += start.elapsed();
        told += text.matches("\"nm\":\"s\"").count();
    }
    println!(
        "one poll of {POINTS} points: {:?} with {} changes; the station's own tick: {:?}",
        busy / POLLS,
        told / POLLS as usize,
        ticks / POLLS
    );
    let start = Instant::now();
    for _ in 0..POLLS {
        assert_eq!(station.poll(&session).len(), 0);
    }
    println!("one poll without changes: {:?}", start.elapsed() / POLLS);
}
