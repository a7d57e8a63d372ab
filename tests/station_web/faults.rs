//! A station that is down, slow, busy, confused or too talkative.

use std::time::Duration;

use mock_station::model::accounts::BRIDGE;
use mock_station::switches::Switches;
use niagara_bridge::station::StationError;
use niagara_bridge::station::http::CallScope;
use niagara_bridge::station::web::{Bql, LoginScheme, TableEnd, TableQuery, WebRequest};
use tokio_util::sync::CancellationToken;

use crate::{Bench, account_for, options, scope};

fn all_components() -> TableQuery {
    TableQuery::new("slot:/", "select slotPath, type from baja:Component").unwrap()
}

async fn ready() -> (Bench, Bql) {
    let bench = Bench::usual().await;
    let bql = Bql::new(bench.session.clone());
    bql.query(&all_components(), &scope()).await.unwrap();
    bench.mock.clear_logs();
    (bench, bql)
}

#[tokio::test]
async fn a_station_that_goes_down_is_reported_and_used_again_when_back() {
    let (bench, bql) = ready().await;
    bench.mock.switches().change(|s| s.faults.cut = true);
    let error = bql.query(&all_components(), &scope()).await.unwrap_err();
    assert_eq!(error.kind(), "station-unreachable", "{error}");
    assert!(error.to_string().contains(&bench.mock.url()), "{error}");
    bench.mock.switches().change(|s| s.faults.cut = false);
    assert!(bql.query(&all_components(), &scope()).await.is_ok());
    assert_eq!(bench.logins().len(), 0, "the session is still good");
}

#[tokio::test]
async fn a_station_that_is_starting_is_busy_and_costs_no_login() {
    for status in [429, 503] {
        let (bench, bql) = ready().await;
        bench
            .mock
            .switches()
            .change(|s| s.faults.status = Some(status));
        let error = bql.query(&all_components(), &scope()).await.unwrap_err();
        assert_eq!(
            error,
            StationError::Busy {
                station: bench.mock.url(),
                status
            }
        );
        let reads = bench.mock.requests().len();
        assert_eq!(reads, 3, "a read is repeated twice");
        bench.mock.switches().change(|s| s.faults.status = None);
        assert!(bql.query(&all_components(), &scope()).await.is_ok());
    }
    let mut switches = Switches::default();
    switches.faults.status = Some(503);
    let bench = Bench::new(LoginScheme::FormScram, switches).await;
    assert_eq!(
        bench.session.login(&scope()).await.unwrap_err().kind(),
        "station-busy"
    );
    bench.mock.switches().change(|s| s.faults.status = None);
    bench.session.login(&scope()).await.unwrap();
}

#[tokio::test]
async fn a_slow_station_is_given_up_at_the_deadline_and_the_next_call_works() {
    let (bench, bql) = ready().await;
    bench
        .mock
        .switches()
        .change(|s| s.faults.delay = Some(Duration::from_secs(60)));
    let hasty = CallScope::within(Duration::from_millis(200));
    let error = bql.query(&all_components(), &hasty).await.unwrap_err();
    assert_eq!(error.kind(), "station-timeout", "{error}");
    bench.mock.switches().change(|s| s.faults.delay = None);
    assert!(bql.query(&all_components(), &scope()).await.is_ok());
}

#[tokio::test]
async fn waiting_for_the_bridges_own_limits_is_not_blamed_on_the_station() {
    let bench = Bench::with_options(Switches::default(), |mock| {
        let mut options = options(mock, LoginScheme::FormScram, BRIDGE, BRIDGE.password);
        options.limits.in_flight = 1;
        options
    })
    .await;
    bench.session.login(&scope()).await.unwrap();
    bench
        .mock
        .switches()
        .change(|s| s.faults.delay = Some(Duration::from_secs(60)));
    let ask = async |limit: u64| {
        let scope = CallScope::within(Duration::from_millis(limit));
        let request = WebRequest::read(&scope);
        bench.session.get("/ord/x", &request).await.unwrap_err()
    };
    let (sent, waiting) = futures::join!(ask(300), ask(100));
    assert_eq!(sent.kind(), "station-timeout", "{sent}");
    assert_eq!(waiting.kind(), "bridge-busy", "{waiting}");
    for part in [
        "limits.inFlight",
        "limits.requestsPerSecond",
        "at most 1 things",
    ] {
        assert!(waiting.to_string().contains(part), "{waiting}");
    }
}

/// A request that got its turn late had little time left: the bridge's own queue is named, and the whole time.
#[tokio::test]
async fn a_request_that_waited_for_its_turn_tells_so_when_its_time_is_over() {
    let bench = Bench::with_options(Switches::default(), |mock| {
        let mut options = options(mock, LoginScheme::FormScram, BRIDGE, BRIDGE.password);
        options.limits.in_flight = 1;
        options
    })
    .await;
    bench.session.login(&scope()).await.unwrap();
    bench
        .mock
        .switches()
        .change(|s| s.faults.delay = Some(Duration::from_secs(60)));
    let ask = async |limit: u64| {
        let scope = CallScope::within(Duration::from_millis(limit));
        let request = WebRequest::read(&scope);
        bench.session.get("/ord/x", &request).await.unwrap_err()
    };
    let (first, second) = futures::join!(ask(700), ask(1000));
    assert_eq!(first.kind(), "station-timeout", "{first}");
    assert!(first.to_string().contains("within 0.7 s"), "{first}");
    assert_eq!(second.kind(), "bridge-busy", "{second}");
    for part in [
        "of the 1.0 s of the call",
        "went by waiting for a turn in the bridge",
        "limits.inFlight",
    ] {
        assert!(second.to_string().contains(part), "{second}");
    }
    assert!(second.is_transient());
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once() {
    let (bench, bql) = ready().await;
    bench
        .mock
        .switches()
        .change(|s| s.faults.delay = Some(Duration::from_secs(60)));
    let cancel = CancellationToken::new();
    let scope = CallScope::unlimited().with_cancel(cancel.clone());
    let query = all_components();
    let call = bql.query(&query, &scope);
    tokio::pin!(call);
    assert!(futures::poll!(call.as_mut()).is_pending());
    cancel.cancel();
    assert_eq!(call.await.unwrap_err().kind(), "cancelled");
}

#[tokio::test]
async fn html_where_csv_is_expected_is_an_error_that_says_so() {
    let (bench, bql) = ready().await;
    bench
        .mock
        .switches()
        .change(|s| s.faults.html_for_data = true);
    let error = bql.query(&all_components(), &scope()).await.unwrap_err();
    assert!(
        matches!(error.kind(), "station-protocol" | "station-auth"),
        "{error}"
    );
    bench
        .mock
        .switches()
        .change(|s| s.faults.html_for_data = false);
    assert!(bql.query(&all_components(), &scope()).await.is_ok());
}

#[tokio::test]
async fn a_body_that_is_cut_is_an_error_and_never_a_shorter_table() {
    let (bench, bql) = ready().await;
    bench
        .mock
        .switches()
        .change(|s| s.faults.body_limit = Some(300));
    let error = bql.query(&all_components(), &scope()).await.unwrap_err();
    assert_eq!(error.kind(), "station-unreachable", "{error}");
    let text = error.to_string();
    assert!(text.contains("broke off its answer"), "{text}");
    assert!(!text.contains("cannot be reached"), "{text}");
}

#[tokio::test]
async fn an_answer_beyond_the_limit_keeps_whole_rows_and_says_that_it_is_cut() {
    let bench = Bench::with_options(Switches::default(), |mock| {
        let account = account_for(LoginScheme::FormScram);
        let mut options = options(mock, LoginScheme::FormScram, account, account.password);
        options.limits.response_bytes = 64 << 10;
        options
    })
    .await;
    let bql = Bql::new(bench.session.clone());
    // One row per point and component: several times the limit.
    let columns = ["slotPath"; 60].join(", ");
    let wide = TableQuery::new("slot:/", &format!("select {columns} from baja:Component")).unwrap();
    let table = bql.query(&wide, &scope()).await.unwrap();
    assert_eq!(table.end, TableEnd::SizeLimit);
    assert!(table.rows.iter().all(|row| row.cells.len() == 60));
    assert_eq!(table.complete().unwrap_err().kind(), "too-large");
}
