//! Ops on points and writes to properties (§6), and what the station remembers of them.

use chrono::TimeDelta;

use super::site::{POINTS, Site, attribute, member, val};
use crate::model::accounts::{ADMIN, OBIX, OPERATOR, VIEWER};
use crate::model::audit::AuditOperation;
use crate::obix::element::Element;

async fn invoke(site: &Site, point: &str, op: &str, body: &str) -> Element {
    site.post(ADMIN, &format!("{POINTS}/{point}/{op}"), body)
        .await
}

/// Value and level as the display of a point ends.
fn shown(point: &Element) -> (&str, &str) {
    let display = attribute(point, "display");
    (attribute(point, "val"), display.rsplit(' ').next().unwrap())
}

#[tokio::test]
async fn set_writes_the_fallback_and_answers_the_point_without_an_href() {
    let site = Site::start().await;
    let answer = invoke(&site, "SupplyTempSp", "set/", "<real val='22'/>").await;
    assert_eq!(answer.get("href"), None);
    assert_eq!(attribute(member(&answer, "out"), "href"), "out/");
    assert_eq!(val(&answer, "fallback"), "22.0");
    assert_eq!(
        shown(&answer),
        ("15.5", "10"),
        "a level above stays in effect"
    );
    let audit = site.station.station().read();
    let entry = audit.audit.of_user("admin").last().unwrap();
    assert_eq!(
        (
            entry.operation,
            entry.slot.as_str(),
            entry.new_value.as_str()
        ),
        (AuditOperation::Invoked, "set", "22.0")
    );
}

#[tokio::test]
async fn an_override_holds_level_8_until_it_expires() {
    let site = Site::start().await;
    let body = "<obj><real name='value' val='30.5'/><reltime name='duration' val='PT15M'/></obj>";
    let answer = invoke(&site, "SupplyTempSp", "override", body).await;
    assert_eq!(shown(&answer), ("30.5", "8"));
    assert_eq!(attribute(&answer, "status"), "overridden");
    assert_eq!(val(&answer, "in8"), "30.5");
    let expiration = member(&answer, "overrideExpiration");
    assert_eq!(
        (attribute(expiration, "val"), expiration.get("null")),
        ("2026-03-10T11:22:30.000+01:00", None)
    );
    site.clock.advance(TimeDelta::minutes(15));
    let after = site.get(ADMIN, &format!("{POINTS}/SupplyTempSp")).await;
    assert_eq!(shown(&after), ("15.5", "10"));
    assert_eq!(
        attribute(member(&after, "overrideExpiration"), "null"),
        "true"
    );
    let permanent = body.replace("PT15M", "PT0S");
    invoke(&site, "SupplyTempSp", "override", &permanent).await;
    let ignored = "<real val='1'/>";
    let released = invoke(&site, "SupplyTempSp", "auto", ignored).await;
    assert_eq!(shown(&released), ("15.5", "10"));
    assert_eq!(attribute(member(&released, "in8"), "null"), "true");
}

#[tokio::test]
async fn emergency_beats_everything_and_ends_by_its_own_op() {
    let site = Site::start().await;
    let answer = invoke(&site, "FanCmd", "emergencyInactive", "").await;
    assert_eq!(
        (val(&answer, "in1"), shown(&answer)),
        ("false", ("false", "1"))
    );
    let active = "<obj is='/obix/def/control:Override'><reltime name='duration' val='PT1H'/></obj>";
    let still = invoke(&site, "FanCmd", "active", active).await;
    assert_eq!(
        (val(&still, "in8"), shown(&still)),
        ("true", ("false", "1"))
    );
    let after = invoke(&site, "FanCmd", "emergencyAuto", "").await;
    assert_eq!(shown(&after), ("true", "8"));
    let numeric = invoke(
        &site,
        "SupplyTempSp",
        "emergencyOverride",
        "<real val='9.5'/>",
    )
    .await;
    assert_eq!(shown(&numeric), ("9.5", "1"));
}

#[tokio::test]
async fn the_station_translates_by_target_and_says_what_it_cannot() {
    let site = Site::start().await;
    let fan = invoke(&site, "FanCmd", "set", "<real val='false'/>").await;
    assert_eq!(val(&fan, "fallback"), "false");
    let note = invoke(&site, "Note", "set", "<real val='Testing'/>").await;
    assert_eq!(val(&note, "fallback"), "Testing");
    let mode = invoke(&site, "ModeCmd", "set", "<real val='1'/>").await;
    let second = val(&mode, "fallback").to_owned();
    let by_tag = invoke(&site, "ModeCmd", "set", "<enum val='Off'/>").await;
    assert_eq!(val(&by_tag, "fallback"), "Off");
    assert_ne!(second, "Off");
    let body = "<obj><enum name='value' val='Occupied'/></obj>";
    let overridden = invoke(&site, "ModeCmd", "override", body).await;
    assert_eq!(shown(&overridden), ("Occupied", "8"));
    for (point, op, body) in [
        ("SupplyTempSp", "set", "<str val='warm'/>"),
        ("SupplyTempSp", "set", "<real null='true'/>"),
        ("SupplyTempSp", "set", ""),
        ("SupplyTempSp", "set", "<obj/>"),
        ("SupplyTempSp", "override", "<obj><real val='3'/></obj>"),
        ("SupplyTempSp", "override", "<real val='3'/>"),
        ("SupplyTempSp", "override", ""),
        ("FanCmd", "set", "<bool val='perhaps'/>"),
        ("ModeCmd", "set", "<enum val='Sideways'/>"),
    ] {
        let error = invoke(&site, point, op, body).await;
        assert_eq!(
            (&*error.tag, error.get("is")),
            ("err", None),
            "{point} {body}"
        );
        assert!(
            attribute(&error, "display").contains("Cannot translate"),
            "{error:?}"
        );
    }
    let after = site.get(ADMIN, &format!("{POINTS}/SupplyTempSp")).await;
    assert_eq!(val(&after, "fallback"), "16.0");
}

#[tokio::test]
async fn the_station_decides_who_commands() {
    let site = Site::start().await;
    let target = |op: &str| format!("{POINTS}/SupplyTempSp/{op}");
    let set = site
        .post(OPERATOR, &target("set"), "<real val='21'/>")
        .await;
    assert_eq!(val(&set, "fallback"), "21.0");
    for (account, op) in [(OPERATOR, "emergencyAuto"), (VIEWER, "set"), (OBIX, "auto")] {
        let refused = site.post(account, &target(op), "<real val='1'/>").await;
        assert_eq!(attribute(&refused, "is"), "obix:PermissionErr", "{op}");
    }
}

#[tokio::test]
async fn writable_properties_are_put_and_read_again() {
    let site = Site::start().await;
    let period = "/obix/config/Logic/Sine/period/";
    let put = site.put(ADMIN, period, "<reltime val='PT45S'/>").await;
    assert_eq!(attribute(&put, "val"), "PT45S");
    assert_eq!(
        attribute(&put, "href"),
        format!("{}{period}", site.station.url())
    );
    assert_eq!(attribute(&put, "writable"), "true");
    let amplitude = "/obix/config/Logic/Sine/amplitude";
    let put = site.put(ADMIN, amplitude, "<real val='12.5'/>").await;
    assert_eq!(attribute(&put, "val"), "12.5");
    let facets = format!("{POINTS}/SupplyTempSp/facets/");
    let put = site.put(ADMIN, &facets, "<str val='precision=i:2'/>").await;
    assert_eq!(attribute(&put, "val"), "precision=i:2");
    let bad = site.put(ADMIN, amplitude, "<str val='high'/>").await;
    assert!(attribute(&bad, "display").contains("Cannot translate"));
    let denied = site.put(VIEWER, period, "<reltime val='PT1S'/>").await;
    assert_eq!(attribute(&denied, "is"), "obix:PermissionErr");
    let component = site.put(ADMIN, POINTS, "<str val='x'/>").await;
    assert_eq!(attribute(&component, "is"), "obix:UnsupportedErr");
    let station = site.station.station().read();
    let changed = station.audit.of_user("admin");
    let changed = changed.filter(|entry| entry.operation == AuditOperation::Changed);
    let slots: Vec<_> = changed.map(|entry| entry.slot.clone()).collect();
    assert_eq!(slots, ["period", "amplitude", "facets"]);
}

#[tokio::test]
async fn a_batch_commands_and_writes_in_order() {
    let site = Site::start().await;
    let body = format!(
        "<list is='obix:BatchIn'>\
         <uri is='obix:Invoke' val='{POINTS}/SupplyTempSp/set/'><real name='in' val='22.0'/></uri>\
         <uri is='obix:Write' val='/obix/config/Logic/Sine/amplitude/'><real name='in' val='7'/></uri>\
         <uri is='obix:Read' val='{POINTS}/SupplyTempSp/fallback/'/></list>"
    );
    let answer = site.post(ADMIN, "/obix/batch", &body).await;
    let [set, written, read] = answer.children.as_slice() else {
        panic!("{answer:?}")
    };
    assert_eq!((set.get("href"), val(set, "fallback")), (None, "22.0"));
    assert_eq!(
        (written.get("href"), attribute(written, "val")),
        (None, "7.0")
    );
    assert_eq!(attribute(read, "val"), "22.0");
}
