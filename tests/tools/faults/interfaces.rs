//! One interface of the station fails or answers nonsense: the others serve, and it is soon tried again.

use std::time::Duration;

use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::switches::{ObixMode, Switches};
use serde_json::json;

use crate::support::{Bench, failure_of};

use super::{calls, over_obix, without_servlets, works};

#[tokio::test]
async fn a_station_that_finds_nothing_for_a_moment_loses_no_interface() {
    let bench = Bench::new().await;
    works(&bench).await;
    let find_nothing = |status: Option<u16>| {
        bench
            .mock
            .switches()
            .change(|switches| switches.faults.status = status);
    };
    for (tool, arguments) in calls() {
        find_nothing(Some(404));
        let (code, message, data) = bench.failure(tool, arguments.clone()).await;
        assert_eq!(
            (code, &data["kind"]),
            (-32603, &json!("interface-missing")),
            "{tool}: {message}"
        );
        for untrue in ["spelling", "no type", "no alarm service"] {
            assert!(!message.contains(untrue), "{tool}: {message}");
        }
        find_nothing(None);
        bench.answer(tool, arguments).await;
    }
    works(&bench).await;
}

#[tokio::test]
async fn servlets_that_start_after_the_bridge_are_found_within_seconds() {
    let bench =
        Bench::with_switches(|switches| without_servlets(switches, ObixMode::NoServlet)).await;
    let (_, message, _) = bench.failure("getOverview", json!({})).await;
    assert!(message.contains("does not offer BOX"), "{message}");
    bench
        .mock
        .switches()
        .change(|switches| *switches = Switches::default());
    bench.clock.advance(Duration::from_secs(2));
    works(&bench).await;
}

/// Whether getServiceHealth finds the three interfaces in use, or those that the station has.
async fn usable(bench: &Bench) -> [bool; 3] {
    let health = bench.answer("getServiceHealth", json!({})).await;
    let interfaces = &health["station"]["interfaces"];
    ["bql", "box", "obix"].map(|name| interfaces[name]["usable"].as_bool().expect("a flag"))
}

/// What an interface may answer by mistake, once or for a while.
fn mistakes() -> [FaultKind; 5] {
    [
        FaultKind::HtmlPage,
        FaultKind::ServerError { status: 404 },
        FaultKind::ServerError { status: 401 },
        FaultKind::ServerError { status: 403 },
        FaultKind::ServerError { status: 500 },
    ]
}

/// The clock of the bridge stands still: nothing is remembered beyond the fault, however often it was met.
#[tokio::test]
async fn one_wrong_answer_switches_no_interface_off() {
    for has_box in [true, false] {
        for kind in mistakes() {
            for interface in [
                Interface::Ord,
                Interface::Box,
                Interface::Obix,
                Interface::All,
            ] {
                let bench = Bench::with_switches(|switches| switches.boxs.present = has_box).await;
                let whole = [true, has_box, true];
                assert_eq!(usable(&bench).await, whole);
                bench
                    .mock
                    .faults()
                    .set(Fault::new(kind.clone()).on(interface).requests(1))
                    .expect("a fault");
                bench.answer("getServiceHealth", json!({})).await;
                bench.mock.faults().clear_all();
                for (tool, arguments) in over_obix() {
                    bench.answer(tool, arguments).await;
                }
                assert_eq!(usable(&bench).await, whole, "{kind:?} on {interface:?}");
            }
        }
    }
}

#[tokio::test]
async fn wrong_answers_for_a_minute_are_forgotten_at_the_next_look() {
    for kind in mistakes() {
        for from_the_start in [true, false] {
            let bench = Bench::with_switches(|switches| switches.boxs.present = false).await;
            if !from_the_start {
                assert_eq!(usable(&bench).await, [true, false, true]);
            }
            let fault = Fault::new(kind.clone()).on(Interface::Obix);
            bench.mock.faults().set(fault).expect("a fault");
            for _ in 0..12 {
                bench.clock.advance(Duration::from_secs(5));
                let result = bench
                    .call("listChildren", json!({"ord": "station:|slot:/Drivers"}))
                    .await;
                let (_, message, _) = failure_of(&result);
                assert!(!message.contains("form-scram"), "{kind:?}: {message}");
            }
            bench.mock.faults().clear_all();
            assert_eq!(usable(&bench).await, [true, false, true], "{kind:?}");
            for (tool, arguments) in over_obix() {
                bench.answer(tool, arguments).await;
            }
        }
    }
}

/// A station behind a broken proxy says 404 to everything.
#[tokio::test]
async fn nothing_found_anywhere_is_told_as_such_and_soon_forgotten() {
    for asks_for_health in [true, false] {
        let bench = Bench::new().await;
        works(&bench).await;
        let fault = Fault::new(FaultKind::ServerError { status: 404 });
        bench.mock.faults().set(fault).expect("a fault");
        for _ in 0..12 {
            bench.clock.advance(Duration::from_secs(5));
            for (tool, arguments) in over_obix() {
                let (_, message, data) = bench.failure(tool, arguments).await;
                assert_eq!(
                    data["kind"],
                    json!("interface-missing"),
                    "{tool}: {message}"
                );
            }
        }
        bench.mock.faults().clear_all();
        if asks_for_health {
            assert_eq!(usable(&bench).await, [true; 3]);
        } else {
            bench.clock.advance(Duration::from_secs(2));
        }
        works(&bench).await;
    }
}

/// A proxy that keeps BOX back, a page that stands in its place: the other interfaces answer as if there were none.
#[tokio::test]
async fn what_another_interface_can_answer_needs_no_box_that_is_kept_back() {
    for kind in [
        FaultKind::HtmlPage,
        FaultKind::ServerError { status: 403 },
        FaultKind::ServerError { status: 404 },
        FaultKind::ServerError { status: 500 },
    ] {
        for from_the_start in [true, false] {
            let bench = Bench::new().await;
            if !from_the_start {
                works(&bench).await;
            }
            let fault = Fault::new(kind.clone()).on(Interface::Box);
            bench.mock.faults().set(fault).expect("a fault");
            works(&bench).await;
            assert_eq!(usable(&bench).await, [true, false, true], "{kind:?}");
            works(&bench).await;
            bench.mock.faults().clear_all();
            assert_eq!(usable(&bench).await, [true; 3], "{kind:?}");
        }
    }
}

#[tokio::test]
async fn tables_that_come_as_pages_are_asked_over_box() {
    let bench = Bench::new().await;
    works(&bench).await;
    let fault = Fault::new(FaultKind::HtmlPage).on(Interface::Ord);
    bench.mock.faults().set(fault).expect("a fault");
    works(&bench).await;
}

const HANGING: FaultKind = FaultKind::Latency { millis: 600_000 };

#[tokio::test]
async fn an_interface_that_hangs_is_the_only_one_that_is_told_as_out_of_use() {
    let runs = [Interface::Ord, Interface::Box, Interface::Obix].map(|hanging| async move {
        let bench = Bench::new().await;
        works(&bench).await;
        let fault = Fault::new(HANGING).on(hanging);
        bench.mock.faults().set(fault).expect("a fault");
        let health = bench
            .call_within(Duration::from_secs(2), "getServiceHealth", json!({}))
            .await["structuredContent"]
            .clone();
        assert_eq!(health["station"]["reachable"], json!(true), "{health}");
        let interfaces = &health["station"]["interfaces"];
        for (name, interface) in [
            ("bql", Interface::Ord),
            ("box", Interface::Box),
            ("obix", Interface::Obix),
        ] {
            assert_eq!(
                interfaces[name]["usable"],
                json!(interface != hanging),
                "{name}, {hanging:?} hangs: {interfaces}"
            );
        }
    });
    futures::future::join_all(runs).await;
}

/// oBIX is asked first for the station's zone, but histories tell it too.
#[tokio::test]
async fn an_obix_server_that_never_answered_keeps_nobody_from_histories_and_alarms() {
    for kind in [HANGING, FaultKind::Cut, FaultKind::HalfBody { bytes: None }] {
        let bench = Bench::new().await;
        let fault = Fault::new(kind.clone()).on(Interface::Obix);
        bench.mock.faults().set(fault).expect("a fault");
        for (tool, arguments) in calls() {
            let result = bench
                .call_within(Duration::from_secs(3), tool, arguments)
                .await;
            assert_eq!(
                result["isError"],
                json!(false),
                "{tool}, {kind:?}: {result}"
            );
        }
        let history = json!({"ord": calls()[1].1["ord"], "from": "2026-10-24", "limit": 1});
        let history = bench.answer("readHistory", history).await;
        // Paris, not the zone that is assumed when nobody tells one.
        assert_eq!(
            history["from"],
            json!("2026-10-24T00:00:00.000+02:00"),
            "{kind:?}"
        );
    }
}
