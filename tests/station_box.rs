//! The BOX client against the stand-in station, compared with the station's own model.

mod mock;

use std::sync::Arc;
use std::time::Duration;

use mock::{Frozen, scope, start};
use mock_station::clock::TestClock;
use mock_station::model::accounts::{self, Account};
use mock_station::model::component::{Handle, SlotContent};
use mock_station::model::{SharedStation, Station};
use mock_station::server::MockStation;
use mock_station::site::{Harborview, SiteOptions};
use mock_station::switches::BoxErrorStyle;
use niagara_bridge::station::boxp::session::LoadPolling;
use niagara_bridge::station::boxp::types::AncestrySource;
use niagara_bridge::station::boxp::{BoxClient, Node, TypeCache};
use niagara_bridge::station::ord::Ord;
use niagara_bridge::station::priority::Priority;

const POINTS: &str = "slot:/Drivers/BacnetNetwork/AHU_1/points";

impl Frozen {
    fn boxp(&self, account: Account) -> BoxClient {
        BoxClient::new(self.session(account), TypeCache::new()).with_polling(LoadPolling {
            first_delay: Duration::from_millis(1),
            longest_delay: Duration::from_millis(4),
            total: Duration::from_millis(400),
        })
    }
}

fn ord(text: &str) -> Ord {
    Ord::component(text).expect("an ORD")
}

/// Components below the root in breadth-first order, as the model holds them.
fn model_components(station: &Station) -> Vec<(String, String, String)> {
    let mut level = vec![station.root()];
    let mut found = Vec::new();
    while !level.is_empty() {
        let children: Vec<Handle> = level
            .iter()
            .flat_map(|parent| station.children(*parent).map(|child| child.handle()))
            .collect();
        found.extend(children.iter().map(|child| {
            let spec = station.component(*child).expect("mounted").ty().spec();
            (
                station.slot_path(*child),
                spec.to_owned(),
                child.to_string(),
            )
        }));
        level = children;
    }
    found
}

#[tokio::test]
async fn the_whole_tree_is_listed_as_the_model_holds_it() {
    let mock = start().await;
    for latency in [0, 1, 3] {
        mock.station
            .switches()
            .change(|switches| switches.boxs.load_latency = latency);
        let client = mock.boxp(accounts::ADMIN);
        let tree = client
            .components(&scope(), &ord("slot:/"), 20, 5000)
            .await
            .expect("listed");
        assert!(!tree.is_truncated);
        assert!(tree.entries.iter().all(|entry| entry.problem.is_none()));
        let listed: Vec<_> = tree
            .entries
            .iter()
            .map(|entry| {
                let handle = entry.node.handle.clone().unwrap_or_default();
                (
                    entry.slot_path.clone(),
                    entry.node.type_name().to_owned(),
                    handle,
                )
            })
            .collect();
        assert_eq!(
            listed,
            model_components(&mock.station.station().read()),
            "latency {latency}"
        );
        client.close().await;
    }
    assert_eq!(
        mock.station.box_sessions(),
        0,
        "closed sessions are deleted"
    );
}

#[tokio::test]
async fn every_point_reads_as_the_model_says() {
    let mock = start().await;
    let client = mock.boxp(accounts::ADMIN);
    let points: Vec<(String, Handle)> = {
        let station = mock.station.station().read();
        let all = station
            .descendants(station.root())
            .map(|component| component.handle());
        all.filter(|handle| {
            station
                .component(*handle)
                .is_some_and(|component| component.ty().is("control:ControlPoint"))
        })
        .map(|handle| (station.slot_path(handle), handle))
        .collect()
    };
    assert!(points.len() > 15, "{}", points.len());
    for (path, handle) in points {
        let view = client.point(&scope(), &ord(&path)).await.expect("a point");
        let station = mock.station.station().read();
        let (value, status) = station.out(handle).expect("an output");
        assert_eq!(view.problems, Vec::<String>::new(), "{path}");
        assert_eq!(view.out.value.encode(), value.encode(), "{path}");
        assert_eq!(view.out.status.to_string(), status.encode(), "{path}");
        assert_eq!(
            view.facets.to_string(),
            station.facets(handle).encode(),
            "{path}"
        );
        assert_eq!(
            view.active_level.map(|level| level
                .priority()
                .map_or(17, |priority| i32::from(priority.level()))),
            status.active_level(),
            "{path}"
        );
        let is_writable = station
            .component(handle)
            .expect("mounted")
            .ty()
            .is_writable_point();
        assert_eq!(view.priority_array.is_some(), is_writable, "{path}");
        let Some(array) = view.priority_array else {
            continue;
        };
        for priority in Priority::all() {
            let input = station.value(handle, &priority.slot()).expect("an input");
            let (value, status) = input.as_status_value().expect("a status value");
            let read = array.get(priority);
            assert_eq!(
                read.status.to_string(),
                status.encode(),
                "{path} {priority}"
            );
            if status.is_valid() {
                assert_eq!(read.value.encode(), value.encode(), "{path} {priority}");
            }
        }
        let fallback = station.value(handle, "fallback").expect("a fallback");
        let (_, status) = fallback.as_status_value().expect("a status value");
        assert_eq!(
            array.fallback().status.to_string(),
            status.encode(),
            "{path}"
        );
    }
}

/// Values of a struct in the model against those of a node; what a node leaves out is a default.
fn assert_same_value(place: &str, node: &Node, value: &mock_station::model::Value) {
    match value.as_struct() {
        None => assert_eq!(
            node.value.as_deref().unwrap_or_default(),
            value.encode(),
            "{place}"
        ),
        Some(_) => {
            for child in &node.children {
                let member = value
                    .member(child.slot_name())
                    .expect("a member of the struct");
                assert_same_value(&format!("{place}/{}", child.slot_name()), child, member);
            }
        }
    }
}

#[tokio::test]
async fn merged_slots_have_the_models_order_flags_and_values() {
    let mock = start().await;
    let client = mock.boxp(accounts::ADMIN);
    let components = model_components(&mock.station.station().read());
    for (path, _, handle) in components {
        let node = client
            .resolve(&scope(), &ord(&path))
            .await
            .expect("resolved");
        let merged = client.merged_slots(&scope(), &node).await.expect("merged");
        assert!(merged.has_defaults, "{path}");
        let station = mock.station.station().read();
        let slots = station.slots(handle.parse().expect("a handle"));
        let names: Vec<_> = slots.iter().map(|slot| slot.name).collect();
        let merged_names: Vec<_> = merged.slots.iter().map(Node::slot_name).collect();
        assert_eq!(merged_names, names, "{path}");
        for (slot, read) in slots.iter().zip(&merged.slots) {
            let place = format!("{path}/{}", slot.name);
            if let SlotContent::Property(value) = &slot.content {
                assert_eq!(read.flags, slot.flags.encode(), "{place}");
                assert_same_value(&place, read, value);
            }
        }
    }
}

#[tokio::test]
async fn ancestry_is_the_models_whether_or_not_the_registry_answers() {
    let mock = start().await;
    let specs: Vec<String> = {
        let station = mock.station.station().read();
        let mut specs: Vec<_> = model_components(&station)
            .into_iter()
            .map(|(_, spec, _)| spec)
            .collect();
        specs.sort();
        specs.dedup();
        specs
    };
    let client = mock.boxp(accounts::ADMIN);
    let truth = |spec: &str, ancestor: &str| {
        mock_station::model::registry::find(spec).is_some_and(|definition| definition.is(ancestor))
    };
    for spec in &specs {
        let ancestry = client.ancestry(&scope(), spec).await.expect("known");
        assert_eq!(ancestry.source, AncestrySource::Registry);
        for ancestor in [
            "control:ControlPoint",
            "history:HistoryExt",
            "baja:Link",
            "control:PointExtension",
            "baja:Component",
        ] {
            assert_eq!(
                ancestry.is(ancestor),
                truth(spec, ancestor),
                "{spec} {ancestor}"
            );
        }
    }
    mock.station
        .switches()
        .change(|switches| switches.boxs.registry = false);
    let closed = mock.boxp(accounts::ADMIN);
    let ancestry = closed
        .ancestry(&scope(), "control:NumericWritable")
        .await
        .expect("stock");
    assert_eq!(
        (ancestry.source, ancestry.is_point()),
        (AncestrySource::BuiltIn, true)
    );
    let point = closed
        .point(&scope(), &ord(&format!("{POINTS}/SupplyTempSp")))
        .await
        .expect("a point");
    assert_eq!(
        point.active_level.expect("a level").to_string(),
        "10",
        "without contract too"
    );
    assert_eq!(
        client
            .ancestry(&scope(), "acme:Nothing")
            .await
            .expect_err("unknown")
            .kind(),
        "not-found"
    );
}

#[tokio::test]
async fn a_table_holds_every_point_of_the_model() {
    let mock = start().await;
    let client = mock.boxp(accounts::ADMIN);
    let query = "station:|slot:/|bql:select slotPath, name, type from control:ControlPoint";
    let table = client
        .table(&scope(), query, 50_000)
        .await
        .expect("a table");
    assert_eq!(
        table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect::<Vec<_>>(),
        ["slotPath", "name", "type"]
    );
    let path = table.column("slotPath").expect("a column");
    let mut read: Vec<String> = table
        .rows
        .iter()
        .map(|row| {
            row[path]
                .value
                .clone()
                .expect("a path")
                .trim_start_matches("station:|")
                .to_owned()
        })
        .collect();
    let station = mock.station.station().read();
    let mut held: Vec<String> = model_components(&station)
        .into_iter()
        .filter(|(_, spec, _)| {
            mock_station::model::registry::find(spec)
                .is_some_and(|definition| definition.is("control:ControlPoint"))
        })
        .map(|(path, _, _)| path)
        .collect();
    read.sort();
    held.sort();
    assert_eq!(read, held);
}

#[tokio::test]
async fn refusals_are_told_apart_in_every_error_form() {
    let mock = start().await;
    for (style, hidden) in [
        (BoxErrorStyle::N4, false),
        (BoxErrorStyle::Ax, false),
        (BoxErrorStyle::N4, true),
    ] {
        mock.station.switches().change(|switches| {
            switches.boxs.error_style = style;
            switches.boxs.hide_error_text = hidden;
        });
        let client = mock.boxp(accounts::ADMIN);
        let error = client
            .resolve(&scope(), &ord("slot:/Nowhere"))
            .await
            .expect_err("not there");
        assert_eq!(error.kind(), "not-found", "{style:?} {hidden}");
        assert!(error.to_string().contains("slot:/Nowhere"), "{error}");
        let error = client
            .handle_to_path(&scope(), "ffff")
            .await
            .expect_err("not there");
        assert_eq!(error.kind(), "not-found", "{style:?} {hidden}");
        client.close().await;
    }
    mock.station
        .switches()
        .change(|switches| switches.boxs.present = false);
    let error = mock
        .boxp(accounts::ADMIN)
        .resolve(&scope(), &ord("slot:/"))
        .await
        .expect_err("no BOX");
    assert_eq!(error.kind(), "interface-missing");
}

#[tokio::test]
async fn an_operator_sees_only_his_category() {
    let mock = start().await;
    let client = mock.boxp(accounts::OPERATOR);
    let node = client
        .resolve(&scope(), &ord(POINTS))
        .await
        .expect("his own");
    let meters = "slot:/Drivers/ModbusTcpNetwork/Meter$20$231/points/Energy";
    {
        let station = mock.station.station().read();
        let operator = station.users.get("operator").expect("an account");
        let points = station.resolve_component(POINTS).expect("mounted");
        assert_eq!(
            node.permissions.unwrap_or_default(),
            station.permissions(operator, points).encode()
        );
        assert!(!station.can_read(
            operator,
            station.resolve_component(meters).expect("mounted")
        ));
    }
    let error = client
        .resolve(&scope(), &ord(meters))
        .await
        .expect_err("not his");
    assert!(
        matches!(error.kind(), "permission-denied" | "not-found"),
        "{error}"
    );
}

#[tokio::test]
async fn reads_outlive_an_idle_server_session_and_a_lost_login() {
    let mock = start().await;
    let client = mock.boxp(accounts::ADMIN);
    let handle = mock
        .station
        .station()
        .read()
        .resolve_component(POINTS)
        .expect("mounted")
        .to_string();
    assert_eq!(
        client
            .handle_to_path(&scope(), &handle)
            .await
            .expect("a path"),
        POINTS
    );
    mock.clock.advance(chrono::TimeDelta::seconds(100));
    assert_eq!(
        client
            .handle_to_path(&scope(), &handle)
            .await
            .expect("a new session"),
        POINTS
    );
    mock.station.end_sessions();
    assert_eq!(
        client
            .handle_to_path(&scope(), &handle)
            .await
            .expect("a new login"),
        POINTS
    );
    let folder = client
        .load_slots(&scope(), &ord(POINTS), 0, Some(&handle))
        .await
        .expect("loaded");
    assert_eq!(folder.handle.as_deref(), Some(handle.as_str()));
    assert_eq!(
        client
            .service_to_path(&scope(), "alarm:AlarmService")
            .await
            .expect("a path"),
        "slot:/Services/AlarmService"
    );
    client.close().await;
}

#[tokio::test]
async fn the_limit_of_server_sessions_is_explained() {
    let mock = start().await;
    mock.station
        .switches()
        .change(|switches| switches.boxs.session_limit = 1);
    let first = mock.boxp(accounts::ADMIN);
    first.load_root(&scope()).await.expect("a session");
    let second = mock.boxp(accounts::VIEWER);
    let error = second
        .load_root(&scope())
        .await
        .expect_err("no session left");
    assert_eq!(error.kind(), "interface-missing");
    assert!(error.to_string().contains("session"), "{error}");
    first.close().await;
    second.load_root(&scope()).await.expect("now there is one");
    second.close().await;
}

#[tokio::test]
async fn a_station_that_answers_one_message_per_frame_is_read_completely() {
    let mock = start().await;
    mock.station
        .switches()
        .change(|switches| switches.boxs.first_message_only = true);
    let client = mock.boxp(accounts::ADMIN);
    let paths: Vec<String> = model_components(&mock.station.station().read())
        .into_iter()
        .map(|(path, _, _)| path)
        .take(30)
        .collect();
    let ords: Vec<Ord> = paths.iter().map(|path| ord(path)).collect();
    let nodes = client.resolve_many(&scope(), &ords).await.expect("asked");
    let handles: Vec<_> = nodes
        .into_iter()
        .map(|node| node.expect("resolved").handle.expect("a handle"))
        .collect();
    let station = mock.station.station().read();
    let expected: Vec<_> = paths
        .iter()
        .map(|path| {
            station
                .resolve_component(path)
                .expect("mounted")
                .to_string()
        })
        .collect();
    assert_eq!(handles, expected);
}

#[tokio::test]
async fn the_user_properties_name_the_user() {
    let mock = start().await;
    let properties = mock
        .boxp(accounts::VIEWER)
        .user_properties(&scope())
        .await
        .expect("properties");
    assert_eq!(properties.user_name.as_deref(), Some("viewer"));
    assert!(properties.time_format.is_some() && properties.language.is_some());
}

#[tokio::test]
async fn the_demo_site_is_listed_in_a_few_requests() {
    let now = "2026-03-10T10:00:00Z".parse().expect("a time");
    let clock = Arc::new(TestClock::at(now));
    let site = Harborview::build(SiteOptions::for_tests(now)).expect("the site");
    let shared = SharedStation::new(site.station, clock.clone());
    let station = MockStation::builder()
        .station(shared)
        .start()
        .await
        .expect("the station starts");
    let mock = Frozen { station, clock };
    let client = mock.boxp(accounts::ADMIN);
    client
        .resolve(&scope(), &ord("slot:/"))
        .await
        .expect("logged in");
    mock.station.clear_logs();
    let tree = client
        .components(&scope(), &ord("slot:/"), 20, 5000)
        .await
        .expect("listed");
    let requests = mock.station.requests().len();
    let held = model_components(&mock.station.station().read());
    let listed: Vec<_> = tree
        .entries
        .iter()
        .map(|entry| {
            let handle = entry.node.handle.clone().unwrap_or_default();
            (
                entry.slot_path.clone(),
                entry.node.type_name().to_owned(),
                handle,
            )
        })
        .collect();
    assert_eq!(listed, held);
    assert!(
        requests < held.len() / 100,
        "{requests} requests for {} components",
        held.len()
    );
    client.close().await;
}
