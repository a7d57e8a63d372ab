//! What polls of many subscribed points cost; figures to read, not to assert.
//!
//! `cargo test --release -p mock-station --test boxs cost -- --ignored --nocapture`

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use mock_station::model::Handle;
use mock_station::site::{Harborview, SiteOptions};
use serde_json::json;

use crate::client::noon;
use crate::direct::Direct;

const POINTS: usize = 500;
const POLLS: usize = 60;

#[test]
#[ignore = "prints figures of a release build"]
fn polls_of_500_points_that_change_every_second() {
    let site = Harborview::build(SiteOptions {
        points: POINTS * 2,
        ..SiteOptions::for_tests(noon())
    })
    .unwrap();
    let station = Direct::new(site.station, noon());
    let handles: Vec<Handle> = {
        let model = station.context.station.read();
        let points = model.descendants(model.root());
        points
            .filter(|component| component.ty().is("control:ControlPoint"))
            .take(POINTS)
            .map(|component| component.handle())
            .collect()
    };
    assert_eq!(handles.len(), POINTS);
    let ords: Vec<String> = handles.iter().map(|handle| format!("h:{handle}")).collect();
    let session = station.session();
    let start = Instant::now();
    station.call(&session, "sub", json!(ords));
    println!("subscribing {POINTS} points: {:?}", start.elapsed());
    let (mut polls, mut reads) = (Vec::new(), Vec::new());
    let mut told = 0;
    for _ in 0..POLLS {
        station.clock.advance(TimeDelta::seconds(1));
        reads.push(timed(|| {
            let model = station.context.station.read();
            for handle in &handles {
                std::hint::black_box(model.value(*handle, "out"));
            }
        }));
        let frame = json!({"p": "box", "n": 1, "m": [
            {"r": 1, "t": "rt", "c": "ssession", "k": "pollchgs", "b": {"id": session}},
        ]});
        let mut text = String::new();
        polls.push(timed(|| {
            text = station.post(frame.to_string().into_bytes()).1
        }));
        told += text.matches("\"nm\":\"s\"").count();
    }
    println!(
        "one poll of {POINTS} points: {:?} with {} changes; reading them from the model: {:?} (medians)",
        median(polls),
        told / POLLS,
        median(reads)
    );
    let quiet = (0..POLLS).map(|_| timed(|| assert_eq!(station.poll(&session).len(), 0)));
    println!("one poll without changes: {:?}", median(quiet.collect()));
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
