//! Watched points through the faults of the station: changes come again, and nothing stays behind on the station.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mock_station::faults::{Fault, FaultKind};
use mock_station::model::accounts::BRIDGE;
use mock_station::model::status::Status;
use mock_station::model::{SharedStation, Value, sample};
use mock_station::server::MockStation;
use mock_station::switches::ObixMode;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::{
    ChangePacing, ChangeRoute, PointValue, StationFacade, Subscription,
};
use niagara_bridge::station::ord::Ord;
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};

use crate::support::NOW;

/// As fast as it goes: the tests wait for changes, never for time.
const AT_ONCE: Duration = Duration::from_millis(5);
/// A watch that has not recovered by then never will.
const HANG: Duration = Duration::from_secs(30);

async fn station() -> MockStation {
    let now: DateTime<Utc> = NOW.parse().expect("a time");
    let mut model = sample::station(now).expect("the sample station");
    let root = model.root();
    let point = model.add(root, Some("Watched"), "control:NumericWritable");
    point.expect("a point");
    let clock = Arc::new(mock_station::clock::TestClock::at(now));
    MockStation::builder()
        .station(SharedStation::new(model, clock))
        .start()
        .await
        .expect("the stand-in station")
}

fn facade(mock: &MockStation) -> Arc<StationFacade> {
    let url = mock.url().parse().expect("an address");
    let mut options = WebOptions::new(url, BRIDGE.user, Secret::new(BRIDGE.password));
    options.limits.requests_per_second = 0;
    options.limits.read_retries = 0;
    let session = WebSession::new(options, SystemClock::shared()).expect("a session");
    let facade = StationFacade::new(session, TypeCache::new(), None);
    Arc::new(facade.with_change_pacing(ChangePacing {
        watch: AT_ONCE,
        box_session: AT_ONCE,
        polling: AT_ONCE,
        first_pause: AT_ONCE,
        longest_pause: AT_ONCE,
        recheck: AT_ONCE,
    }))
}

fn set(mock: &MockStation, number: f64) {
    let mut station = mock.station().write();
    let point = station.resolve_component("slot:/Watched").expect("a point");
    let value = Value::status_numeric(number, Status::ok());
    // Level 8 survives a restart.
    station.set(point, "in8", value).expect("a change");
}

async fn wait_for(subscription: &mut Subscription, number: f64) {
    let arrives = async {
        loop {
            let change = subscription.next().await.expect("the watch goes on");
            if change.value == Some(PointValue::Number(number)) {
                return;
            }
        }
    };
    let arrived = tokio::time::timeout(HANG, arrives).await;
    assert!(arrived.is_ok(), "the change to {number} never arrives");
}

/// Longer than every lease and idle time of the station: what nobody uses any more is gone then.
const UNUSED_ENDS: TimeDelta = TimeDelta::minutes(20);

/// Watches, BOX sessions and logins that the station keeps.
fn kept(mock: &MockStation) -> (usize, usize, usize) {
    (mock.obix_watches(), mock.box_sessions(), mock.sessions())
}

/// What a subscription in good order needs of the station.
fn needed(facade: &StationFacade) -> (usize, usize, usize) {
    match facade.change_route() {
        Some(ChangeRoute::ObixWatch) => (1, 0, 1),
        Some(ChangeRoute::BoxSession) => (0, 1, 1),
        _ => (0, 0, 1),
    }
}

/// Watches a point through a fault: changes come again, the station keeps what is needed and nothing more, and
/// nothing at all after the end.
async fn through(kind: FaultKind, start: ChangeRoute) {
    let mock = station().await;
    if start != ChangeRoute::ObixWatch {
        mock.switches()
            .change(|switches| switches.obix.mode = ObixMode::NoServlet);
    }
    if start == ChangeRoute::Polling {
        mock.switches()
            .change(|switches| switches.boxs.present = false);
    }
    let facade = facade(&mock);
    set(&mock, 1.0);
    let ord = Ord::component("station:|slot:/Watched").expect("an ord");
    let mut subscription = facade.subscribe(&[ord]).expect("a subscription");
    wait_for(&mut subscription, 1.0).await;
    assert_eq!(facade.change_route(), Some(start), "{kind:?}");

    mock.faults().clear_fired();
    mock.faults()
        .set(Fault::new(kind.clone()))
        .expect("a fault");
    set(&mock, 2.0);
    let met = async {
        while mock.faults().fired().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let met = tokio::time::timeout(HANG, met).await;
    assert!(met.is_ok(), "{kind:?} never meets a request of the watch");
    mock.faults().clear_all();
    set(&mock, 3.0);
    wait_for(&mut subscription, 3.0).await;

    // What the fault left behind ends by itself, and what is in use stays or is made anew.
    mock.jump_clock(UNUSED_ENDS);
    set(&mock, 4.0);
    wait_for(&mut subscription, 4.0).await;
    let in_order = async {
        // A change may arrive over one route while the next is being set up.
        while kept(&mock) != needed(&facade) {
            tokio::task::yield_now().await;
        }
    };
    let in_order = tokio::time::timeout(HANG, in_order).await;
    assert!(
        in_order.is_ok(),
        "{kind:?}: {:?} is kept, {:?} is needed",
        kept(&mock),
        needed(&facade)
    );
    drop(subscription);
    facade.close().await;
    assert_eq!(kept(&mock), (0, 0, 0), "{kind:?}: something remains");
}

macro_rules! watches {
    ($($route:ident { $($test:ident: $kind:expr;)+ })+) => {
        $($(#[tokio::test]
        async fn $test() {
            through($kind, ChangeRoute::$route).await;
        })+)+
    };
}

watches! {
    ObixWatch {
        a_watch_outlives_cut_connections: FaultKind::Cut;
        a_watch_outlives_half_answers: FaultKind::HalfBody { bytes: None };
        a_watch_outlives_pages_in_place_of_data: FaultKind::HtmlPage;
        a_watch_outlives_a_wrong_media_type: FaultKind::WrongContentType {
            media_type: "application/octet-stream".to_owned(),
        };
        a_watch_outlives_errors_of_the_server: FaultKind::ServerError { status: 500 };
        a_watch_outlives_an_unavailable_server: FaultKind::ServerError { status: 503 };
        a_watch_outlives_a_busy_station: FaultKind::TooManyRequests { retry_after_seconds: None };
        a_watch_outlives_late_answers: FaultKind::Latency { millis: 20 };
        a_watch_outlives_slow_answers: FaultKind::SlowDrip { bytes: 256, pause_millis: 2 };
        a_watch_outlives_a_lost_session: FaultKind::SessionLost;
        a_watch_outlives_a_restart: FaultKind::Restart { down_millis: 0 };
        a_watch_outlives_a_clock_set_forwards: FaultKind::ClockJump { seconds: 7200 };
        a_watch_outlives_a_clock_set_backwards: FaultKind::ClockJump { seconds: -7200 };
        a_watch_moves_when_obix_vanishes: FaultKind::ObixAbsent;
        a_watch_moves_when_the_licence_ends: FaultKind::ObixUnlicensed { status: 500 };
        a_watch_moves_when_obix_is_forbidden: FaultKind::ObixUnlicensed { status: 403 };
    }
    BoxSession {
        a_box_subscription_outlives_cut_connections: FaultKind::Cut;
        a_box_subscription_outlives_half_answers: FaultKind::HalfBody { bytes: None };
        a_box_subscription_outlives_pages_in_place_of_data: FaultKind::HtmlPage;
        a_box_subscription_outlives_errors_of_the_server: FaultKind::ServerError { status: 500 };
        a_box_subscription_outlives_a_busy_station: FaultKind::TooManyRequests { retry_after_seconds: None };
        a_box_subscription_outlives_a_lost_session: FaultKind::SessionLost;
        a_box_subscription_outlives_a_restart: FaultKind::Restart { down_millis: 0 };
        a_box_subscription_outlives_a_clock_set_forwards: FaultKind::ClockJump { seconds: 7200 };
        a_box_subscription_moves_when_box_vanishes: FaultKind::BoxAbsent;
    }
    Polling {
        polling_outlives_cut_connections: FaultKind::Cut;
        polling_outlives_a_lost_session: FaultKind::SessionLost;
        polling_outlives_a_restart: FaultKind::Restart { down_millis: 0 };
        polling_outlives_a_servlet_that_takes_no_form: FaultKind::no_ord_forms();
    }
}

#[tokio::test]
async fn the_end_of_the_last_subscription_deletes_the_watch() {
    let mock = station().await;
    let facade = facade(&mock);
    set(&mock, 1.0);
    let ord = Ord::component("station:|slot:/Watched").expect("an ord");
    let mut subscription = facade.subscribe(&[ord]).expect("a subscription");
    wait_for(&mut subscription, 1.0).await;
    assert_eq!(mock.obix_watches(), 1);
    drop(subscription);
    facade.close().await;
    let left = (mock.obix_watches(), mock.sessions(), mock.box_sessions());
    assert_eq!(left, (0, 0, 0));
}
