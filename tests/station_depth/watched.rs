//! Points watched over BOX, by polling, and across the absence of a station.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mock_station::clock::TestClock;
use mock_station::model::accounts;
use mock_station::model::status::Status;
use mock_station::server::MockStation;
use mock_station::site::SiteOptions;
use mock_station::switches::ObixMode;
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::{
    ChangePacing, ChangeRoute, MAX_WATCHED_POINTS, StationFacade,
};
use niagara_bridge::station::ord::Ord;

use crate::mock::{Frozen, start};
use crate::{FAST, awaited, command, facade, model_value, number, points};

#[tokio::test]
async fn points_are_watched_over_box_where_obix_is_not_offered() {
    let frozen = start().await;
    frozen
        .station
        .switches()
        .change(|switches| switches.obix.mode = ObixMode::NoServlet);
    let facade = facade(&frozen);
    let points = points(&frozen, 3);
    let ords: Vec<Ord> = points.iter().map(|(_, ord)| ord.clone()).collect();
    let mut subscription = facade.subscribe(&ords).expect("watchable");
    let mut seen = HashMap::new();
    while seen.len() < points.len() {
        let first = subscription.next().await.expect("the subscription lives");
        assert!(!first.gap && first.problem.is_none(), "{first:?}");
        seen.insert(first.ord.clone(), number(&first));
    }
    for (handle, ord) in &points {
        assert_eq!(seen[ord], Some(model_value(&frozen, *handle)), "{ord}");
    }
    assert_eq!(subscription.route(), Some(ChangeRoute::BoxSession));
    assert_eq!(frozen.station.box_sessions(), 1, "one session for all");

    let (handle, ord) = &points[0];
    let now = command(&frozen, *handle, 17.25);
    let change = awaited(&mut subscription, ord, |change| number(change) == Some(now)).await;
    assert!(!change.gap, "nothing was missed");
    facade.close().await;
    assert_eq!(subscription.next().await, None);
    assert_eq!(frozen.station.box_sessions(), 0);
    assert_eq!(frozen.station.sessions(), 0);
}

#[tokio::test]
async fn an_expired_box_session_is_made_anew_and_the_gap_is_marked() {
    let frozen = start().await;
    frozen
        .station
        .switches()
        .change(|switches| switches.obix.mode = ObixMode::NoServlet);
    let facade = facade(&frozen);
    let points = points(&frozen, 1);
    let (handle, ord) = points[0].clone();
    let mut subscription = facade
        .subscribe(std::slice::from_ref(&ord))
        .expect("watchable");
    awaited(&mut subscription, &ord, |_| true).await;
    // Longer than any session lives without a request.
    frozen.clock.advance(chrono::TimeDelta::hours(2));
    let now = command(&frozen, handle, 42.5);
    let change = awaited(&mut subscription, &ord, |change| {
        number(change) == Some(now) && change.gap
    })
    .await;
    assert!(change.problem.is_none());
    let next = command(&frozen, handle, 43.5);
    let change = awaited(&mut subscription, &ord, |change| {
        number(change) == Some(next)
    })
    .await;
    assert!(!change.gap, "the watch goes on without a gap");
    facade.close().await;
}

#[tokio::test]
async fn without_subscriptions_points_are_polled_and_bad_ords_are_named() {
    let frozen = start().await;
    frozen.station.switches().change(|switches| {
        switches.obix.mode = ObixMode::NoServlet;
        switches.boxs.session_limit = 0;
    });
    let facade = facade(&frozen);
    let (handle, ord) = points(&frozen, 1)[0].clone();
    let nowhere = Ord::component("slot:/Nowhere/Point").expect("an ORD");
    let folder = Ord::component("slot:/Drivers").expect("an ORD");
    let mut subscription = facade
        .subscribe(&[ord.clone(), nowhere.clone(), folder.clone()])
        .expect("watchable");
    let first = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!(number(&first), Some(model_value(&frozen, handle)));
    assert_eq!(subscription.route(), Some(ChangeRoute::Polling));
    // What came first waits in no order between points: ask again for those two.
    let mut second = facade
        .subscribe(&[nowhere.clone(), folder.clone()])
        .expect("watchable");
    let missing = awaited(&mut second, &nowhere, |_| true).await;
    assert!(
        missing
            .problem
            .as_deref()
            .is_some_and(|text| text.contains("Nowhere")),
        "{missing:?}"
    );
    let no_point = awaited(&mut second, &folder, |_| true).await;
    assert!(
        no_point
            .problem
            .as_deref()
            .is_some_and(|text| text.contains("no control point")),
        "{no_point:?}"
    );
    let now = command(&frozen, handle, 12.75);
    awaited(&mut subscription, &ord, |change| {
        number(change) == Some(now)
    })
    .await;
    facade.close().await;
}

#[tokio::test]
async fn subscribers_share_one_watch_that_ends_with_the_last() {
    let frozen = start().await;
    frozen
        .station
        .switches()
        .change(|switches| switches.obix.mode = ObixMode::NoServlet);
    let facade = facade(&frozen);
    let points = points(&frozen, 2);
    let (handle, ord) = points[0].clone();
    let mut first = facade
        .subscribe(std::slice::from_ref(&ord))
        .expect("watchable");
    awaited(&mut first, &ord, |_| true).await;
    let mut second = facade
        .subscribe(std::slice::from_ref(&ord))
        .expect("watchable");
    awaited(&mut second, &ord, |_| true).await;
    assert_eq!(
        (facade.watched_points(), frozen.station.box_sessions()),
        (1, 1)
    );
    second.add(&points[1].1).expect("watchable");
    awaited(&mut second, &points[1].1, |_| true).await;
    drop(first);
    let now = command(&frozen, handle, 31.5);
    awaited(&mut second, &ord, |change| number(change) == Some(now)).await;
    drop(second);
    assert_eq!(facade.watched_points(), 0);
    let many: Vec<Ord> = (0..501)
        .map(|number| Ord::component(&format!("slot:/P{number}")).expect("an ORD"))
        .collect();
    assert!(
        facade.subscribe(&many).is_err(),
        "more than a controller bears"
    );
    assert_eq!(facade.watched_points(), 0, "all or none");
    let history = "history:/A/B".parse::<Ord>().expect("an ORD");
    assert!(facade.subscribe(&[history]).is_err());
    facade.close().await;
}

#[tokio::test]
async fn a_station_that_goes_away_is_awaited_and_watched_again() {
    let frozen = start().await;
    let facade = facade(&frozen);
    let (handle, ord) = points(&frozen, 1)[0].clone();
    let mut subscription = facade
        .subscribe(std::slice::from_ref(&ord))
        .expect("watchable");
    awaited(&mut subscription, &ord, |_| true).await;
    frozen
        .station
        .switches()
        .change(|switches| switches.faults.cut = true);
    let gone = awaited(&mut subscription, &ord, |change| change.problem.is_some()).await;
    assert_eq!((gone.value, gone.gap), (None, false));
    let now = command(&frozen, handle, 55.5);
    frozen
        .station
        .switches()
        .change(|switches| switches.faults.cut = false);
    let back = awaited(&mut subscription, &ord, |change| change.problem.is_none()).await;
    assert_eq!((number(&back), back.gap), (Some(now), true));
    facade.close().await;
    assert_eq!(frozen.station.sessions(), 0);
}

#[tokio::test]
async fn five_hundred_points_cost_a_handful_of_requests() {
    let now = "2026-11-02T15:20:00Z".parse().expect("a time");
    let clock = Arc::new(TestClock::at(now));
    let station = MockStation::builder()
        .clock(clock.clone())
        .site(SiteOptions {
            points: 2_000,
            ..SiteOptions::for_tests(now)
        })
        .start()
        .await
        .expect("started");
    let frozen = Frozen { station, clock };
    frozen
        .station
        .switches()
        .change(|switches| switches.obix.mode = ObixMode::NoServlet);
    // One look and then silence, so that the requests can be counted.
    let pacing = ChangePacing {
        box_session: Duration::from_secs(3600),
        ..FAST
    };
    let session = frozen.session(accounts::BRIDGE);
    let facade = StationFacade::new(session, TypeCache::new(), None).with_change_pacing(pacing);
    let facade = Arc::new(facade);
    let expected: HashMap<Ord, Option<f64>> = {
        let station = frozen.station.station().read();
        station
            .descendants(station.root())
            .filter(|component| component.ty().is("control:NumericPoint"))
            .map(|component| {
                let path = station.slot_path(component.handle());
                let (value, status) = station.out(component.handle()).expect("an output");
                let value = value.as_f64().filter(|_| !status.has(Status::NULL));
                (Ord::component(&path).expect("an ORD"), value)
            })
            .take(MAX_WATCHED_POINTS)
            .collect()
    };
    assert_eq!(expected.len(), MAX_WATCHED_POINTS);
    let ords: Vec<Ord> = expected.keys().cloned().collect();
    let mut subscription = facade.subscribe(&ords).expect("watchable");
    let mut seen = HashMap::new();
    while seen.len() < MAX_WATCHED_POINTS {
        let change = subscription.next().await.expect("the subscription lives");
        assert_eq!(change.problem, None, "{}", change.ord);
        seen.insert(change.ord.clone(), number(&change));
    }
    let same = |a: Option<f64>, b: Option<f64>| a.map(f64::to_bits) == b.map(f64::to_bits);
    let wrong: Vec<_> = expected
        .iter()
        .filter(|(ord, value)| !same(seen[*ord], **value))
        .map(|(ord, value)| (ord.to_string(), *value, seen[ord]))
        .collect();
    assert_eq!(wrong, []);
    let asked = frozen
        .station
        .requests()
        .iter()
        .filter(|request| request.path().starts_with("/box"))
        .count();
    assert!(asked <= 25, "{asked} requests");
    facade.close().await;
    assert_eq!(frozen.station.box_sessions(), 0);
}
