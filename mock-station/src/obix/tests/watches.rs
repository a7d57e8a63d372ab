//! Watches: made, leased, polled, and gone when nobody asks any more.

use std::time::Duration;

use chrono::TimeDelta;

use super::site::{POINTS, Site, attribute, member, names, val};
use crate::model::accounts::{ADMIN, OBIX, OPERATOR};
use crate::model::{Status, Value};
use crate::obix::element::Element;

const SERVICE: &str = "/obix/watchService";

fn hrefs(hrefs: &[&str]) -> String {
    let uris = hrefs.iter().map(|href| format!("<uri val='{href}'/>"));
    format!(
        "<obj is='obix:WatchIn'><list name='hrefs'>{}</list></obj>",
        uris.collect::<String>()
    )
}

/// The members of an `obix:WatchOut`.
fn values(answer: &Element) -> &[Element] {
    assert_eq!(attribute(answer, "is"), "obix:WatchOut", "{answer:?}");
    let list = member(answer, "values");
    assert_eq!(attribute(list, "of"), "obix:obj");
    &list.children
}

async fn poll(site: &Site, watch: &str) -> Vec<Element> {
    let target = format!("{SERVICE}/{watch}/pollChanges");
    values(&site.post(OBIX, &target, "<obj/>").await).to_vec()
}

fn command(site: &Site, point: &str, value: f64) {
    let mut station = site.station.station().write();
    let ord = format!("slot:/Drivers/BacnetNetwork/AHU_1/points/{point}");
    let point = station.resolve_component(&ord).unwrap();
    let value = Value::status_numeric(value, Status::ok());
    station.set(point, "in2", value).unwrap();
}

#[tokio::test]
async fn a_watch_tells_only_what_changed_since_it_was_last_asked() {
    let site = Site::start().await;
    let watch = site.post(OBIX, &format!("{SERVICE}/make"), "").await;
    let base = format!("{}{SERVICE}/watch1/", site.station.url());
    assert_eq!(attribute(&watch, "href"), base);
    assert_eq!(attribute(&watch, "is"), "obix:Watch");
    assert_eq!(
        names(&watch),
        [
            "lease",
            "add",
            "remove",
            "pollChanges",
            "pollRefresh",
            "delete"
        ]
    );
    let poll_href = attribute(member(&watch, "pollChanges"), "href");
    assert_eq!(poll_href, format!("{base}pollChanges/"));
    let setpoint = format!("{POINTS}/SupplyTempSp/out/");
    let sensor = format!("{POINTS}/SupplyTemp");
    let items = [
        setpoint.as_str(),
        "/config/Logic/Sum/out/",
        "/obix/config/Nowhere/",
        &sensor,
        "/obix/histories/Sample/Doubled/~historyQuery/",
    ];
    let added = site
        .post(OBIX, &format!("{SERVICE}/watch1/add/"), &hrefs(&items))
        .await;
    let added = values(&added);
    let seen: Vec<_> = added.iter().map(|value| attribute(value, "href")).collect();
    assert_eq!(seen, items, "every href is answered in its place");
    assert_eq!(attribute(&added[0], "val"), "15.5");
    for bad in [&added[1], &added[2]] {
        assert_eq!(attribute(bad, "is"), "obix:BadUriErr");
    }
    assert_eq!(attribute(&added[4], "is"), "obix:UnsupportedErr");
    assert_eq!(
        attribute(member(&added[3], "out"), "href"),
        format!("{sensor}/out/"),
        "what is below a member is server-absolute"
    );
    assert!(poll(&site, "watch1").await.is_empty());
    command(&site, "SupplyTempSp", 18.0);
    command(&site, "SupplyTempSp", 19.0);
    let news = poll(&site, "watch1").await;
    assert_eq!(news.len(), 1, "changes between polls are one");
    assert_eq!(attribute(&news[0], "href"), setpoint);
    assert_eq!(attribute(&news[0], "val"), "19.0");
    assert!(poll(&site, "watch1").await.is_empty());
    let all = site
        .post(OBIX, &format!("{SERVICE}/watch1/pollRefresh/"), "")
        .await;
    assert_eq!(values(&all).len(), 2);
    let removed = site
        .post(
            OBIX,
            &format!("{SERVICE}/watch1/remove/"),
            &hrefs(&[setpoint.trim_end_matches('/')]),
        )
        .await;
    assert_eq!(attribute(&removed, "null"), "true");
    command(&site, "SupplyTempSp", 20.0);
    assert!(poll(&site, "watch1").await.is_empty());
    assert_eq!(site.station.obix_watches(), 1);
    let deleted = site
        .post(OBIX, &format!("{SERVICE}/watch1/delete"), "")
        .await;
    assert_eq!(attribute(&deleted, "null"), "true");
    assert_eq!(site.station.obix_watches(), 0);
    let gone = site
        .post(OBIX, &format!("{SERVICE}/watch1/pollChanges"), "")
        .await;
    assert_eq!(attribute(&gone, "is"), "obix:BadUriErr");
}

#[tokio::test]
async fn a_watch_lives_as_long_as_its_lease_after_the_last_op() {
    let site = Site::start().await;
    site.post(OBIX, &format!("{SERVICE}/make/"), "<obj/>").await;
    let lease = format!("{SERVICE}/watch1/lease/");
    let set = site.put(OBIX, &lease, "<reltime val='PT90S'/>").await;
    assert_eq!(attribute(&set, "val"), "PT1M30S");
    assert_eq!(
        attribute(&set, "href"),
        format!("{}{lease}", site.station.url())
    );
    for _ in 0..3 {
        site.clock.advance(TimeDelta::seconds(90));
        poll(&site, "watch1").await;
    }
    site.clock.advance(TimeDelta::seconds(91));
    assert_eq!(site.station.obix_watches(), 0);
    assert_eq!(
        attribute(&site.get(OBIX, &lease).await, "is"),
        "obix:BadUriErr"
    );
    let next = site.post(OBIX, &format!("{SERVICE}/make"), "").await;
    assert!(
        attribute(&next, "href").ends_with("/watch2/"),
        "numbers are not used twice"
    );
    let lease = format!("{SERVICE}/watch2/lease");
    let bare = site.put(OBIX, &lease, "<real val='20000'/>").await;
    assert_eq!(attribute(&bare, "val"), "PT20S");
    for body in [
        "<real val='0'/>",
        "<reltime val='-PT5S'/>",
        "<str val='soon'/>",
    ] {
        let refused = site.put(OBIX, &lease, body).await;
        assert!(
            attribute(&refused, "display").contains("Invalid lease"),
            "{body}"
        );
    }
    let default = format!("{SERVICE}/defaultLeaseTime/");
    site.put(OBIX, &default, "<reltime val='PT4M0S'/>").await;
    let third = site.post(OBIX, &format!("{SERVICE}/make"), "").await;
    assert_eq!(val(&third, "lease"), "PT4M");
}

#[tokio::test]
async fn watches_are_listed_to_all_and_used_by_their_makers() {
    let site = Site::start().await;
    site.post(OBIX, &format!("{SERVICE}/make"), "").await;
    site.post(OPERATOR, &format!("{SERVICE}/make"), "").await;
    let service = site.get(OBIX, SERVICE).await;
    assert_eq!(attribute(&service, "is"), "obix:WatchService");
    assert_eq!(
        names(&service),
        ["defaultLeaseTime", "make", "watch1", "watch2"]
    );
    assert_eq!(attribute(member(&service, "watch2"), "href"), "watch2/");
    for op in ["pollChanges", "delete"] {
        let refused = site
            .post(ADMIN, &format!("{SERVICE}/watch1/{op}"), "")
            .await;
        assert_eq!(attribute(&refused, "is"), "obix:PermissionErr", "{op}");
    }
    site.station.restart(Duration::ZERO);
    assert_eq!(site.station.obix_watches(), 0);
    let gone = site.get(OBIX, &format!("{SERVICE}/watch1/")).await;
    assert_eq!(attribute(&gone, "is"), "obix:BadUriErr");
}

#[tokio::test]
async fn what_vanishes_is_told_once_as_an_error() {
    let site = Site::start().await;
    site.post(OBIX, &format!("{SERVICE}/make"), "").await;
    let href = format!("{POINTS}/SupplyTempSp/out");
    site.post(OBIX, &format!("{SERVICE}/watch1/add"), &hrefs(&[&href]))
        .await;
    {
        let mut station = site.station.station().write();
        let ord = "slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTempSp";
        let point = station.resolve_component(ord).unwrap();
        station.remove_component(point).unwrap();
    }
    let news = poll(&site, "watch1").await;
    assert_eq!(
        (&*news[0].tag, attribute(&news[0], "href")),
        ("err", href.as_str())
    );
    assert!(poll(&site, "watch1").await.is_empty());
}

#[tokio::test]
async fn an_alarm_feed_tells_the_alarms_that_changed() {
    let site = Site::start().await;
    site.post(OBIX, &format!("{SERVICE}/make"), "").await;
    let feed = "/obix/config/Services/AlarmService/~alarmFeed/";
    let added = site
        .post(OBIX, &format!("{SERVICE}/watch1/add"), &hrefs(&[feed]))
        .await;
    let known = site.station.station().read().alarms.iter().count();
    assert_eq!(values(&added)[0].tag, "feed");
    assert_eq!(values(&added)[0].children.len(), known);
    assert!(poll(&site, "watch1").await.is_empty());
    let uuid = "5f2e6d3c-0000-4000-8000-000000000001";
    site.station
        .station()
        .write()
        .acknowledge_alarm(uuid, "admin")
        .unwrap();
    let news = poll(&site, "watch1").await;
    assert_eq!(attribute(&news[0], "href"), feed);
    let changed: Vec<_> = news[0]
        .children
        .iter()
        .map(|event| attribute(event, "href"))
        .collect();
    assert_eq!(changed, [format!("/obix/alarm/{uuid}")]);
}
