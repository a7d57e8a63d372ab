//! What the end of the bridge leaves behind at a slow station is told.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use mock_station::faults::{Fault, FaultKind};
use mock_station::model::accounts::BRIDGE;
use mock_station::model::{SharedStation, sample};
use mock_station::server::MockStation;
use mock_station::switches::ObixMode;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::config::LogFormat;
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::StationFacade;
use niagara_bridge::station::ord::Ord;
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};

use super::log::Log;

const POINT: &str = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp";

/// The warnings of an end while the station takes its time.
async fn warnings_of_the_end(obix: ObixMode, patience: Option<Duration>) -> String {
    let log = Log::default();
    let (lines, _) = log.lines(LogFormat::Json, false, "warn");
    let _kept = tracing::dispatcher::set_default(&lines);
    let now = "2026-10-25T12:07:30Z".parse().expect("a time");
    let model = sample::station(now).expect("the sample station");
    let clock = Arc::new(mock_station::clock::TestClock::at(now));
    let mock = MockStation::builder()
        .station(SharedStation::new(model, clock))
        .start()
        .await
        .expect("started");
    mock.switches().change(|switches| switches.obix.mode = obix);
    let url = mock.url().parse().expect("an address");
    let options = WebOptions::new(url, BRIDGE.user, Secret::new(BRIDGE.password));
    let session = WebSession::new(options, SystemClock::shared()).expect("a session");
    let facade = Arc::new(StationFacade::new(session, TypeCache::new(), None));
    let point: Ord = POINT.parse().expect("an ord");
    let subscription = facade.subscribe(&[point]).expect("a subscription");
    let mut changes = subscription.into_stream().boxed();
    changes.next().await.expect("the present value");
    if let Some(patience) = patience {
        let millis = u64::try_from(patience.as_millis()).expect("a time");
        mock.faults()
            .set(Fault::new(FaultKind::Latency { millis }))
            .expect("a fault");
        tokio::time::pause();
    }
    facade.close().await;
    log.text()
}

const SLOW: Option<Duration> = Some(Duration::from_secs(30));

#[tokio::test]
async fn a_watch_and_a_login_that_stay_behind_at_a_slow_station_are_named() {
    let warnings = warnings_of_the_end(ObixMode::BasicOk, SLOW).await;
    for part in ["watch stays behind", "a login stays behind", BRIDGE.user] {
        assert!(warnings.contains(part), "{part} is missing in {warnings}");
    }
}

#[tokio::test]
async fn a_box_session_that_stays_behind_at_a_slow_station_is_named() {
    let warnings = warnings_of_the_end(ObixMode::NoServlet, SLOW).await;
    for part in ["BOX server session stays behind", "a login stays behind"] {
        assert!(warnings.contains(part), "{part} is missing in {warnings}");
    }
}

#[tokio::test]
async fn an_end_that_frees_everything_says_nothing() {
    let warnings = warnings_of_the_end(ObixMode::BasicOk, None).await;
    assert!(!warnings.contains("stays behind"), "{warnings}");
}
