//! Control points in the shape of the specification (§5.1), for every kind and state.

use std::sync::Arc;

use super::site::{POINTS, Site, attribute, member, names, val};
use crate::model::accounts::{ADMIN, OBIX, OPERATOR, VIEWER};
use crate::model::point::ConstantFeed;
use crate::model::{FeedSample, Status};
use crate::obix::element::Element;
use crate::switches::ObixLocale;

async fn point(site: &Site, name: &str) -> Element {
    site.get(ADMIN, &format!("{POINTS}/{name}/")).await
}

async fn out(site: &Site, name: &str) -> Element {
    site.get(OBIX, &format!("{POINTS}/{name}/out/")).await
}

#[tokio::test]
async fn a_numeric_writable_has_the_shape_of_the_specification() {
    let site = Site::start().await;
    let point = point(&site, "SupplyTempSp").await;
    assert_eq!(point.tag, "real");
    assert_eq!(attribute(&point, "val"), "15.5");
    assert_eq!(attribute(&point, "display"), "15.5 °C {ok} @ 10");
    assert_eq!(attribute(&point, "unit"), "obix:units/celsius");
    assert_eq!(attribute(&point, "xmlns"), "http://obix.org/ns/schema/1.0");
    assert_eq!(point.get("status"), None, "ok is not said");
    let facets = member(&point, "facets");
    assert_eq!(
        attribute(facets, "val"),
        "units=u:celsius;°C;(K);+273.15;|precision=i:1|min=d:5.0|max=d:35.0"
    );
    assert_eq!(attribute(facets, "writable"), "true");
    let proxy = member(&point, "proxyExt");
    assert_eq!(proxy.tag, "ref");
    assert_eq!(attribute(proxy, "is"), "/obix/def/control:NullProxyExt");
    assert_eq!(attribute(proxy, "null"), "true");
    let out = member(&point, "out");
    assert_eq!(attribute(out, "is"), "/obix/def/baja:StatusNumeric");
    assert_eq!(attribute(out, "href"), "out/");
    let active = member(&point, "in10");
    assert_eq!(attribute(active, "display"), "15.5 °C {ok}");
    let unset = member(&point, "in8");
    assert_eq!(
        (
            attribute(unset, "val"),
            attribute(unset, "null"),
            attribute(unset, "display")
        ),
        ("0.0", "true", "- {null}")
    );
    assert_eq!(val(&point, "fallback"), "16.0");
    for level in 1..=16 {
        let slot = member(&point, &format!("in{level}")).clone();
        assert_eq!(
            (&*slot.tag, slot.get("writable")),
            ("real", None),
            "in{level}"
        );
    }
    for slot in ["out", "fallback", "overrideExpiration"] {
        assert_eq!(member(&point, slot).get("writable"), None, "{slot}");
    }
    let expiration = member(&point, "overrideExpiration");
    assert_eq!(
        attribute(expiration, "val"),
        "1970-01-01T01:00:00.000+01:00"
    );
    assert_eq!(attribute(expiration, "null"), "true");
    assert!(
        point.child("wsAnnotation").is_none(),
        "hidden slots are not sent"
    );
}

#[tokio::test]
async fn the_driver_of_a_writable_is_seen_at_level_16() {
    let site = Site::start().await;
    {
        let mut station = site.station.station().write();
        let point = station
            .resolve_component("slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTempSp")
            .unwrap();
        let down = FeedSample::with_status(17.0, Status::DOWN);
        station.attach_feed(point, Arc::new(ConstantFeed(down)));
    }
    let read = point(&site, "SupplyTempSp").await;
    assert_eq!(attribute(&read, "display"), "15.5 °C {ok} @ 10");
    let fed = member(&read, "in16");
    assert_eq!(
        (attribute(fed, "val"), attribute(fed, "display")),
        ("17.0", "17.0 °C {down}")
    );
    assert_eq!((fed.get("status"), fed.get("null")), (Some("down"), None));
    let query = "/ord/station:%7Cslot:/Drivers/BacnetNetwork%7Cbql:select%20in16.value,in16.status\
        %20from%20control:NumericWritable%20where%20name='SupplyTempSp'%7Cview:file:ITableToCsv";
    let table = site.send(ADMIN, "GET", query, None).await;
    assert!(table.text.contains("{down}"), "{}", table.text);
    assert!(table.text.contains("17.0"), "{}", table.text);
}

#[tokio::test]
async fn ops_have_the_arguments_of_their_kind_and_only_for_those_who_may() {
    let site = Site::start().await;
    let ops = |point: &Element| -> Vec<(String, Option<String>)> {
        let ops = point.children.iter().filter(|child| child.tag == "op");
        ops.map(|op| {
            (
                attribute(op, "name").to_owned(),
                op.get("in").map(str::to_owned),
            )
        })
        .collect()
    };
    let op = |name: &str, input: Option<&str>| (name.to_owned(), input.map(str::to_owned));
    let over = |kind: &str| format!("/obix/def/control:{kind}Override /obix/def/control:Override");
    let numeric = ops(&point(&site, "SupplyTempSp").await);
    assert_eq!(
        numeric,
        [
            op("emergencyOverride", Some("obix:real")),
            op("emergencyAuto", None),
            op("override", Some(&over("Numeric"))),
            op("auto", None),
            op("set", Some("obix:real")),
        ]
    );
    let boolean = ops(&point(&site, "FanCmd").await);
    assert!(boolean.contains(&op("active", Some("/obix/def/control:Override"))));
    assert!(boolean.contains(&op("emergencyInactive", None)));
    assert!(boolean.contains(&op("set", Some("obix:bool"))));
    let of_enum = ops(&point(&site, "ModeCmd").await);
    assert!(of_enum.contains(&op("set", Some("obix:enum"))));
    assert!(of_enum.contains(&op("override", Some(&over("Enum")))));
    let string = ops(&point(&site, "Note").await);
    assert!(string.contains(&op("set", Some("/obix/def/baja:String"))));
    let setpoint = format!("{POINTS}/SupplyTempSp/");
    let operator = site.get(OPERATOR, &setpoint).await;
    let granted: Vec<String> = ops(&operator).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        granted,
        ["override", "auto", "set"],
        "emergency needs administrative invoke"
    );
    assert!(ops(&site.get(VIEWER, &setpoint).await).is_empty());
}

#[tokio::test]
async fn the_other_kinds_carry_their_own_elements() {
    let site = Site::start().await;
    let fan = point(&site, "FanCmd").await;
    assert_eq!((&*fan.tag, attribute(&fan, "val")), ("bool", "true"));
    assert_eq!(attribute(&fan, "display"), "On {ok} @ 16");
    assert_eq!(val(&fan, "in1"), "false");
    assert_eq!(val(&fan, "minActiveTime"), "PT0S");
    assert_eq!(attribute(member(&fan, "minActiveTime"), "writable"), "true");
    let mode = point(&site, "ModeCmd").await;
    assert_eq!((&*mode.tag, attribute(&mode, "val")), ("enum", "Occupied"));
    assert_eq!(attribute(&mode, "display"), "Occupied {ok} @ def");
    assert_eq!(
        val(&mode, "in3"),
        "Off",
        "an unset input shows the first tag"
    );
    assert_eq!(attribute(member(&mode, "out"), "range"), "out/~range");
    let note = point(&site, "Note").await;
    assert_eq!(
        (&*note.tag, attribute(&note, "val")),
        ("str", "as built, \"2019\"")
    );
    assert_eq!(val(&note, "in1"), "");
    let facets = member(&note, "facets");
    assert_eq!(
        (attribute(facets, "val"), attribute(facets, "null")),
        ("", "true")
    );
    let sensor = point(&site, "SupplyTemp").await;
    assert_eq!(
        attribute(&sensor, "is"),
        "/obix/def/control:NumericPoint obix:Point"
    );
    assert!(!names(&sensor).iter().any(|name| name.starts_with("in")));
}

#[tokio::test]
async fn a_logic_block_has_properties_that_an_administrator_may_write() {
    let site = Site::start().await;
    let sine = site.get(ADMIN, "/obix/config/Logic/Sine/").await;
    assert_eq!(
        attribute(&sine, "is"),
        "/obix/def/kitControl:SineWave /obix/def/control:NumericPoint obix:Point"
    );
    assert_eq!(val(&sine, "period"), "PT30S");
    assert_eq!(val(&sine, "amplitude"), "50.0");
    for name in ["enabled", "period", "amplitude"] {
        assert_eq!(attribute(member(&sine, name), "writable"), "true", "{name}");
    }
    let direct = site.get(ADMIN, "/obix/config/Logic/Sine/period/").await;
    assert_eq!(attribute(&direct, "writable"), "true");
    let expected = format!("{}/obix/config/Logic/Sine/period/", site.station.url());
    assert_eq!(attribute(&direct, "href"), expected);
}

#[tokio::test]
async fn bad_values_say_so_in_status_display_and_null() {
    let site = Site::start().await;
    let shown = |element: &Element| {
        (
            element.get("status").map(str::to_owned),
            element.get("null").map(str::to_owned),
            attribute(element, "display").to_owned(),
        )
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        shown(&out(&site, "SupplyTemp").await),
        (
            some("unackedAlarm"),
            None,
            "14.5 °C {alarm,unackedAlarm}".into()
        )
    );
    assert_eq!(shown(&out(&site, "DeadSensor").await).0, some("down"));
    assert_eq!(shown(&out(&site, "BrokenSensor").await).0, some("fault"));
    assert_eq!(
        shown(&out(&site, "OldSensor").await),
        (None, None, "21.0 °C {stale}".into()),
        "stale shows in the text only"
    );
    assert_eq!(
        shown(&out(&site, "EmptySensor").await),
        (None, some("true"), "- {null}".into())
    );
    assert_eq!(attribute(&out(&site, "NotANumber").await, "val"), "NaN");
    let reading = out(&site, "SupplyTemp").await;
    assert_eq!(attribute(&reading, "displayName"), "Out");
    assert!(reading.children.is_empty());
}

#[tokio::test]
async fn a_french_station_localises_texts_but_not_values() {
    let site = Site::start().await;
    site.station
        .switches()
        .change(|switches| switches.obix.locale = ObixLocale::French);
    let outdoor = out(&site, "Temp$e9rature$20ext").await;
    assert_eq!(attribute(&outdoor, "val"), "-5.25");
    assert!(attribute(&outdoor, "display").contains(','), "{outdoor:?}");
    let dead = out(&site, "DeadSensor").await;
    assert_eq!(attribute(&dead, "status"), "down");
    assert!(
        attribute(&dead, "display").contains("{vers le bas"),
        "{dead:?}"
    );
    let old = out(&site, "OldSensor").await;
    assert!(attribute(&old, "display").ends_with("{éventé}"));
}

#[tokio::test]
async fn a_station_without_status_attributes_says_it_in_braces_only() {
    let site = Site::start().await;
    site.station
        .switches()
        .change(|switches| switches.obix.status_attribute = false);
    let dead = out(&site, "DeadSensor").await;
    assert_eq!(dead.get("status"), None);
    assert!(attribute(&dead, "display").contains("{down"), "{dead:?}");
    let folder = site.get(OBIX, POINTS).await;
    assert!(
        folder
            .children
            .iter()
            .all(|child| child.get("status").is_none())
    );
}

#[tokio::test]
async fn commanding_and_writing_are_refused_with_a_reason() {
    let site = Site::start().await;
    let setpoint = format!("{POINTS}/SupplyTempSp");
    let refused = site
        .post(VIEWER, &format!("{setpoint}/set"), "<real val='1'/>")
        .await;
    assert_eq!(attribute(&refused, "is"), "obix:PermissionErr");
    let translated = site
        .object(
            ADMIN,
            "PUT",
            &format!("{setpoint}/fallback/"),
            Some("<real val='1'/>"),
        )
        .await;
    assert_eq!(translated.get("is"), None);
    assert!(attribute(&translated, "display").contains("Cannot translate"));
    let no_op = site.post(ADMIN, &setpoint, "<real val='1'/>").await;
    assert_eq!(attribute(&no_op, "is"), "obix:UnsupportedErr");
    let denied = site
        .object(
            VIEWER,
            "PUT",
            "/obix/config/Logic/Base/value/",
            Some("<real val='1'/>"),
        )
        .await;
    assert_eq!(denied.tag, "err");
    let after = point(&site, "SupplyTempSp").await;
    assert_eq!(val(&after, "fallback"), "16.0", "nothing was changed");
}
