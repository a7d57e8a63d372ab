use http::StatusCode;

use super::browser::{BRIDGE, Browser, location, p2, text};
use super::fixture::Fixture;
use crate::model::accounts::{OBIX, OPERATOR};
use crate::switches::{BarePlus, OrdForms};

const ALL_POINTS: &str = "station:|slot:/|bql:select name from control:ControlPoint|view:file:ITableToCsv?includeBOM=false";

#[test]
fn rows_of_other_categories_are_silently_missing() {
    let fixture = Fixture::new();
    let mut operator = Browser::logged_in(&fixture, OPERATOR);
    let page = operator.csv(ALL_POINTS);
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!(text(&page), "Name\nAHU1_SAT\nInner\n");
    let mut bridge = Browser::logged_in(&fixture, BRIDGE);
    assert_eq!(text(&bridge.csv(ALL_POINTS)).lines().count(), 7);
}

#[test]
fn a_target_without_permission_is_403_and_an_unknown_one_404() {
    let fixture = Fixture::new();
    let mut operator = Browser::logged_in(&fixture, OPERATOR);
    let status = |browser: &mut Browser<'_>, ord: &str| browser.get(&p2(ord)).status;
    assert_eq!(
        status(&mut operator, "station:|slot:/Points/Fan"),
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        status(&mut operator, "station:|slot:/Points/AHU1_SAT"),
        StatusCode::OK
    );
    assert_eq!(
        status(&mut operator, "station:|slot:/Nowhere"),
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        status(&mut operator, "station:|spy:/"),
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        status(&mut operator, "station:|slot:/Points|sql:select"),
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        status(&mut operator, "station:|slot://Points"),
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        status(&mut operator, "station:|slot:/Points|view:file:ITableToCsv"),
        StatusCode::NOT_FOUND,
        "a component is no table"
    );
    assert_eq!(
        status(&mut operator, "station:|slot:/|view:backup:BackupManager"),
        StatusCode::NOT_FOUND
    );
}

#[test]
fn errors_are_html_pages() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let broken = user.csv("station:|slot:/|bql:select name from no:Type|view:file:ITableToCsv");
    assert_eq!(broken.status, StatusCode::BAD_REQUEST);
    assert!(text(&broken).starts_with("<!DOCTYPE html>"));
    assert!(text(&broken).contains("no:Type"));
    let failing = "station:|slot:/|bql:select nosuch(1) from baja:Station|view:file:ITableToCsv";
    let opaque = user.csv(failing);
    assert_eq!(opaque.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!text(&opaque).contains("nosuch"));
    fixture.change(|s| s.ord.stack_trace = true);
    assert!(text(&user.csv(failing)).contains("nosuch"));
}

#[test]
fn url_forms_and_bare_plus_follow_the_switches() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let encoded = "/ord/station%3A%7Cslot%3A%2FPoints";
    let literal = "/ord/station:%7Cslot:/Points";
    let query = "/ord?station:%7Cslot:/Points";
    let statuses = |user: &mut Browser<'_>| [encoded, literal, query].map(|t| user.get(t).status);
    let (ok, bad) = (StatusCode::OK, StatusCode::BAD_REQUEST);
    assert_eq!(statuses(&mut user), [ok, ok, bad]);
    fixture.change(|s| s.ord.forms = OrdForms::ALL);
    assert_eq!(statuses(&mut user), [ok, ok, ok]);
    fixture.change(|s| s.ord.forms.encoded_path = false);
    assert_eq!(statuses(&mut user), [bad, ok, ok]);
    fixture.change(|s| {
        s.ord.forms = OrdForms {
            literal_path: false,
            ..OrdForms::ALL
        }
    });
    assert_eq!(statuses(&mut user), [ok, bad, ok]);
    fixture.change(|s| s.ord.forms = OrdForms::ALL);
    let plus = "/ord/station:%7Cslot:/A+B";
    assert_eq!(user.get(plus).status, bad);
    fixture.change(|s| s.ord.bare_plus = BarePlus::Literal);
    assert_eq!(user.get(plus).status, StatusCode::NOT_FOUND);
    assert_eq!(location(&user.get("/ord/")), "/ord/station:%7Cslot:/");
}

#[test]
fn a_request_over_the_header_limit_is_414() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let long = format!("/ord/station:%7Cslot:/{}", "a".repeat(8_192));
    assert_eq!(user.get(&long).status, StatusCode::URI_TOO_LONG);
    fixture.change(|s| s.ord.header_limit = 65_536);
    assert_eq!(user.get(&long).status, StatusCode::NOT_FOUND);
}

#[test]
fn rpc_needs_the_token_and_box_does_not_unless_switched() {
    let fixture = Fixture::new();
    let mut visitor = Browser::new(&fixture);
    let json = "application/json";
    assert_eq!(
        visitor.post("/rpc", json, "[]").status,
        StatusCode::UNAUTHORIZED
    );
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    assert_eq!(user.post("/rpc", json, "[]").status, StatusCode::FORBIDDEN);
    let frame = "{\"p\":\"box\",\"v\":\"2.3\",\"n\":0,\"m\":[]}";
    assert_ne!(
        user.post("/box/", json, frame).status,
        StatusCode::FORBIDDEN
    );
    fixture.change(|s| {
        s.login.csrf_box = true;
        s.login.csrf_obix = true;
    });
    assert_eq!(
        user.post("/box/", json, frame).status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        user.post("/obix/x", "text/xml", "").status,
        StatusCode::FORBIDDEN
    );
    let mut basic = Browser::basic(&fixture, OBIX);
    assert_ne!(
        basic.post("/obix/x", "text/xml", "").status,
        StatusCode::FORBIDDEN,
        "Basic clients need no token on oBIX"
    );
    let token = user.csrf_token();
    user.with_header("x-niagara-csrftoken", &token);
    assert_ne!(
        user.post("/box/", json, frame).status,
        StatusCode::FORBIDDEN
    );
    assert_ne!(user.post("/rpc", json, "[]").status, StatusCode::FORBIDDEN);
}

#[test]
fn the_box_servlet_can_be_absent() {
    let fixture = Fixture::new();
    fixture.change(|s| s.boxs.present = false);
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    assert_eq!(
        user.post("/box/", "application/json", "{}").status,
        StatusCode::NOT_FOUND
    );
}

#[test]
fn an_https_only_station_redirects_and_keeps_the_path() {
    let fixture = Fixture::new();
    fixture.change(|s| s.login.https_only = Some("station.example:8443".into()));
    let answer = Browser::basic(&fixture, OBIX).get("/obix/about/?x=1");
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(
        location(&answer),
        "https://station.example:8443/obix/about/?x=1"
    );
}

#[test]
fn station_files_are_refused() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    for (path, status) in [
        ("/file/../config.bog", StatusCode::FORBIDDEN),
        ("/file/config.bog", StatusCode::FORBIDDEN),
        ("/file/px/x.px", StatusCode::NOT_FOUND),
        ("/wb/x", StatusCode::FORBIDDEN),
        ("/spy", StatusCode::NOT_FOUND),
    ] {
        assert_eq!(user.get(path).status, status, "{path}");
    }
}

#[test]
fn views_show_a_component_and_a_property() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let page = text(&user.get(&p2("station:|slot:/Points/AHU1_SAT")));
    assert!(page.contains("1,072.6 °F {ok} @ def"), "{page}");
    let value = text(&user.get(&p2("station:|slot:/Points/AHU1_SAT/out/value")));
    assert!(value.contains("1,072.6 °F"), "{value}");
    let shell = text(&user.get(&p2(
        "station:|slot:/|bql:select name from control:ControlPoint",
    )));
    assert!(shell.contains("csrfToken") && !shell.contains("AHU1_SAT"));
}
