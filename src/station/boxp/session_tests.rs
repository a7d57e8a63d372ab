//! The server session against stations that are late, forgetful or unwilling.

use serde_json::{Value as Json, json};

use super::scripted::{Say, Scripted};
use crate::station::http::CallScope;
use crate::station::ord::Ord;

fn scope() -> CallScope {
    CallScope::unlimited()
}

fn ahu() -> Ord {
    Ord::component("slot:/AHU1").expect("an ORD")
}

fn load(handle: &str, type_spec: &str) -> Json {
    json!({"nm":"l","h":handle,"b":{"h":handle,"t":type_spec,"s":[]}})
}

fn events(operations: Vec<Json>) -> Say {
    Say::Body(json!([{"scid":"station:","evs":{"nm":"sync","ver":"1.0","ops":operations}}]))
}

#[tokio::test]
async fn a_late_load_is_awaited_and_other_changes_are_kept() {
    let mut polls = 0;
    let station = Scripted::start(move |_, key, _| match key {
        "make" => Say::Body(json!("s1")),
        "pollchgs" => {
            polls += 1;
            match polls {
                2 => events(vec![
                    json!({"nm":"s","h":"9","n":"out"}),
                    load("77", "baja:Folder"),
                ]),
                4 => events(vec![load("2f1", "baja:AHU"), load("2f1", "baja:Later")]),
                _ => Say::Body(Json::Null),
            }
        }
        _ => Say::Body(Json::Null),
    })
    .await;
    let nothing = station.client.take_changes(&scope()).await;
    assert!(nothing.expect("a session").events.is_empty());
    station.client.session.lock().await.follow();
    let node = station
        .client
        .load_slots(&scope(), &ahu(), 1, Some("2f1"))
        .await
        .expect("loaded");
    assert_eq!(node.type_name(), "baja:AHU");
    let changes = station
        .client
        .take_changes(&scope())
        .await
        .expect("changes");
    let kinds: Vec<_> = changes
        .events
        .iter()
        .map(|event| (event.kind.as_str(), event.handle.as_deref()))
        .collect();
    assert_eq!(
        kinds,
        [("s", Some("9")), ("l", Some("77")), ("l", Some("2f1"))]
    );
    assert_eq!(station.count("make"), 1);
}

#[tokio::test]
async fn an_expired_session_is_replaced_and_the_read_repeated() {
    let (mut sessions, mut alive) = (0, String::new());
    let station = Scripted::start(move |_, key, body| match key {
        "make" => {
            sessions += 1;
            alive = format!("s{sessions}");
            Say::Body(json!(alive))
        }
        // The first session dies with its first use.
        "handleToPath" if body["id"] == "s1" => {
            alive.clear();
            Say::Refuse("Cannot find session")
        }
        "pollchgs" if body["id"] != json!(alive) => Say::Refuse("Cannot find session"),
        "handleToPath" => Say::Body(json!("station:|slot:/AHU1")),
        _ => Say::Body(Json::Null),
    })
    .await;
    assert_eq!(
        station
            .client
            .handle_to_path(&scope(), "2f1")
            .await
            .expect_err("fresh: believed")
            .kind(),
        "not-found"
    );
    assert_eq!(
        station
            .client
            .handle_to_path(&scope(), "2f1")
            .await
            .expect("renewed"),
        "slot:/AHU1"
    );
    assert_eq!(station.count("make"), 2);
}

#[tokio::test]
async fn a_refusal_in_a_living_session_is_final() {
    let station = Scripted::start(|_, key, body| match (key, body["scarg"].as_str()) {
        ("make", _) => Say::Body(json!("s1")),
        ("handleToPath", Some("1")) => Say::Body(json!("slot:/A")),
        ("handleToPath", _) => Say::Refuse("Missing permission"),
        _ => Say::Body(json!([])),
    })
    .await;
    station
        .client
        .handle_to_path(&scope(), "1")
        .await
        .expect("known");
    let error = station
        .client
        .handle_to_path(&scope(), "2")
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), "permission-denied");
    assert_eq!(
        (station.count("make"), station.count("handleToPath")),
        (1, 2)
    );
}

#[tokio::test]
async fn a_stale_handle_costs_one_repetition() {
    let mut loads = 0;
    let station = Scripted::start(move |_, key, _| match key {
        "make" => Say::Body(json!("s1")),
        "loadSlots" => {
            loads += 1;
            Say::Body(Json::Null)
        }
        "pollchgs" if loads > 0 => {
            loads -= 1;
            events(vec![load("new", "baja:AHU")])
        }
        _ => Say::Body(Json::Null),
    })
    .await;
    let node = station
        .client
        .load_slots(&scope(), &ahu(), 0, Some("old"))
        .await
        .expect("loaded");
    assert_eq!(node.handle.as_deref(), Some("new"));
    assert_eq!(station.count("loadSlots"), 2);
}

#[tokio::test]
async fn a_load_that_never_comes_ends_in_a_timeout() {
    let station = Scripted::start(|_, key, _| match key {
        "make" => Say::Body(json!(17)),
        _ => Say::Body(Json::Null),
    })
    .await;
    let error = station
        .client
        .load_slots(&scope(), &ahu(), 0, None)
        .await
        .expect_err("nothing comes");
    assert_eq!(error.kind(), "station-timeout");
    assert!(error.to_string().contains("slot:/AHU1"), "{error}");
    assert_eq!(station.count("loadSlots"), 1);
}

#[tokio::test]
async fn a_cancelled_caller_leaves_the_session_usable() {
    let station = Scripted::start(|_, key, _| match key {
        "make" => Say::Body(json!("s1")),
        "handleToPath" => Say::Body(json!("slot:/A")),
        _ => Say::Body(Json::Null),
    })
    .await;
    let cancelled = CallScope::unlimited();
    cancelled.cancel_token().cancel();
    assert!(
        station
            .client
            .load_slots(&cancelled, &ahu(), 0, None)
            .await
            .is_err()
    );
    assert_eq!(
        station
            .client
            .handle_to_path(&scope(), "1")
            .await
            .expect("usable"),
        "slot:/A"
    );
}

#[tokio::test]
async fn the_session_is_deleted_on_close_and_its_limit_is_explained() {
    let station = Scripted::start(|_, key, _| match key {
        "make" => Say::Body(json!("s1")),
        "handleToPath" => Say::Body(json!("slot:/A")),
        _ => Say::Body(Json::Null),
    })
    .await;
    station.client.close().await;
    assert_eq!(station.count("del"), 0, "nothing to delete");
    station
        .client
        .handle_to_path(&scope(), "1")
        .await
        .expect("a path");
    station.client.close().await;
    let deleted: Vec<_> = station
        .heard()
        .into_iter()
        .filter(|(_, key, _)| key == "del")
        .collect();
    assert_eq!(deleted.len(), 1);
    assert_eq!(deleted[0].2["id"], "s1");

    let full = Scripted::start(|_, _, _| Say::Refuse("BoxSessionLimitError: 20")).await;
    let error = full
        .client
        .handle_to_path(&scope(), "1")
        .await
        .expect_err("no session");
    assert_eq!(error.kind(), "interface-missing");
    assert!(error.to_string().contains("server session"), "{error}");
}
