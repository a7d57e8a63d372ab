//! Operations against stations that answer in parts, refuse the registry or hold too much.

use serde_json::{Value as Json, json};

use super::scripted::{Say, Scripted};
use super::types::AncestrySource;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

fn scope() -> CallScope {
    CallScope::unlimited()
}

fn ord(text: &str) -> Ord {
    Ord::component(text).expect("an ORD")
}

#[tokio::test]
async fn a_station_that_answers_only_the_first_message_is_asked_one_by_one_afterwards() {
    let station = Scripted::start(|_, _, body| {
        Say::Body(json!({"o":{"h":body["o"],"t":"baja:Folder","s":[]}}))
    })
    .await;
    station.answer_first_only();
    let ords = ["slot:/A", "slot:/B", "slot:/C"].map(ord);
    let nodes = station
        .client
        .resolve_many(&scope(), &ords)
        .await
        .expect("asked");
    let handles: Vec<_> = nodes
        .into_iter()
        .map(|node| node.expect("resolved").handle.expect("handle"))
        .collect();
    assert_eq!(
        handles,
        ["station:|slot:/A", "station:|slot:/B", "station:|slot:/C"]
    );
    assert_eq!(
        station.frames(),
        3,
        "one frame of three, then the two that were left out"
    );
    let before = station.frames();
    station
        .client
        .resolve_many(&scope(), &ords)
        .await
        .expect("asked");
    assert_eq!(station.frames() - before, 3, "remembered");
}

#[tokio::test]
async fn forty_one_components_take_three_frames_and_failures_stay_in_their_place() {
    let station = Scripted::start(|_, _, body| match body["o"].as_str() {
        Some("station:|slot:/N7") => Say::Refuse("Unresolved"),
        Some("station:|slot:/N8") => Say::Refuse("permission denied"),
        Some(name) => Say::Body(json!({"o":{"h":name,"t":"baja:Folder","s":[]}})),
        None => Say::Nothing,
    })
    .await;
    let ords: Vec<Ord> = (0..41)
        .map(|number| ord(&format!("slot:/N{number}")))
        .collect();
    let nodes = station
        .client
        .resolve_many(&scope(), &ords)
        .await
        .expect("asked");
    assert_eq!(station.frames(), 3);
    assert_eq!(nodes[7].as_ref().expect_err("refused").kind(), "not-found");
    assert_eq!(
        nodes[8].as_ref().expect_err("refused").kind(),
        "permission-denied"
    );
    assert_eq!(
        nodes[40].as_ref().expect("resolved").handle.as_deref(),
        Some("station:|slot:/N40")
    );
}

fn records(names: &Json) -> Say {
    let mut reply = serde_json::Map::new();
    for name in names
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
    {
        let record = match name {
            "acme:Gadget" => json!({"p":"control:NumericPoint","it":["acme:IGadget"],"isc":true}),
            "control:NumericPoint" => json!({"p":"control:ControlPoint"}),
            "control:ControlPoint" => json!({"p":"baja:Component"}),
            "baja:Component" | "acme:IGadget" => json!({}),
            _ => return Say::Refuse("Unknown type"),
        };
        reply.insert(name.to_owned(), record);
    }
    Say::Body(Json::Object(reply))
}

#[tokio::test]
async fn ancestry_is_asked_once_and_several_types_at_a_time() {
    let station = Scripted::start(|_, key, body| match key {
        "loadTypes" => records(&body["t"]),
        _ => Say::Nothing,
    })
    .await;
    let gadget = station
        .client
        .ancestry(&scope(), "acme:Gadget")
        .await
        .expect("known");
    assert!(gadget.is_point() && gadget.is("acme:IGadget") && !gadget.is_link());
    assert_eq!(gadget.source, AncestrySource::Registry);
    let asked = station.count("loadTypes");
    station
        .client
        .ancestry(&scope(), "acme:Gadget")
        .await
        .expect("known");
    assert_eq!(station.count("loadTypes"), asked, "cached");
    let record = station
        .client
        .type_record(&scope(), "acme:Gadget")
        .await
        .expect("asked")
        .expect("known");
    assert!(record.is_component);
    assert_eq!(
        station
            .client
            .type_record(&scope(), "acme:Nothing")
            .await
            .expect("asked"),
        None
    );
}

#[tokio::test]
async fn a_closed_registry_falls_back_to_the_contract_then_to_stock_types() {
    let station = Scripted::start(|_, key, body| match (key, body.as_str()) {
        ("loadContract", Some("acme:Gadget")) => {
            Say::Body(json!({"acme:Gadget":[],"control:ControlPoint":[],"baja:Component":[]}))
        }
        _ => Say::Refuse("not here"),
    })
    .await;
    let gadget = station
        .client
        .ancestry(&scope(), "acme:Gadget")
        .await
        .expect("from the contract");
    assert!(gadget.is_point());
    assert_eq!(gadget.source, AncestrySource::Contract);
    let stock = station
        .client
        .ancestry(&scope(), "control:BooleanWritable")
        .await
        .expect("stock");
    assert_eq!(
        (stock.source, stock.is_point()),
        (AncestrySource::BuiltIn, true)
    );
    assert_eq!(
        station
            .client
            .ancestry(&scope(), "acme:Other")
            .await
            .expect_err("unknown")
            .kind(),
        "not-found"
    );
}

#[tokio::test]
async fn a_starting_station_teaches_nothing_that_would_be_remembered() {
    let mut starting = true;
    let station = Scripted::start(move |_, key, body| match key {
        _ if starting => {
            starting = false;
            Say::Fail("BoxNonOperationalError")
        }
        "loadTypes" => records(&body["t"]),
        _ => Say::Nothing,
    })
    .await;
    let error = station
        .client
        .ancestry(&scope(), "control:NumericPoint")
        .await
        .expect_err("starting");
    assert_eq!(error.kind(), "station-error");
    let ancestry = station
        .client
        .ancestry(&scope(), "control:NumericPoint")
        .await
        .expect("known");
    assert_eq!(ancestry.source, AncestrySource::Registry);
}

#[tokio::test]
async fn a_tree_is_completed_where_the_subtree_load_left_stubs() {
    let station = Scripted::start(|_, key, body| match key {
        "make" => Say::Body(json!("s1")),
        "resolve" => match body["o"].as_str() {
            Some("station:|slot:/A") => Say::Body(json!({"o":{"h":"1","t":"baja:Folder","s":[
                {"n":"B","h":"2","t":"baja:Folder","stub":true},{"n":"C","h":"3","t":"baja:Folder","dn":"Sea"}]}})),
            Some("station:|slot:/A/B") => Say::Body(json!({"o":{"h":"2","t":"baja:Folder","l":{"p":"r"},"s":[
                {"n":"D","h":"4","t":"control:NumericPoint"},{"n":"text","t":"baja:String","v":"x"}]}})),
            _ => Say::Refuse("permission denied"),
        },
        // The load arrives without anything below the children: depth counted differently.
        "pollchgs" => Say::Body(json!([{"evs":{"ops":[{"nm":"l","h":"1","b":{"h":"1","t":"baja:Folder","s":[
            {"n":"B","h":"2","t":"baja:Folder","stub":true},{"n":"C","h":"3","t":"baja:Folder","dn":"Sea"}]}}]}}])),
        _ => Say::Body(Json::Null),
    })
    .await;
    let tree = station
        .client
        .components(&scope(), &ord("slot:/A"), 2, 100)
        .await
        .expect("listed");
    let paths: Vec<_> = tree
        .entries
        .iter()
        .map(|entry| (entry.slot_path.as_str(), entry.depth, entry.parent))
        .collect();
    assert_eq!(
        paths,
        [
            ("slot:/A/B", 1, None),
            ("slot:/A/C", 1, None),
            ("slot:/A/B/D", 2, Some(0))
        ]
    );
    assert_eq!(
        tree.entries[1].problem.as_ref().expect("refused").kind(),
        "permission-denied"
    );
    assert_eq!(tree.entries[0].node.permissions.as_deref(), Some("r"));
    assert!(!tree.is_truncated);
    let capped = station
        .client
        .components(&scope(), &ord("slot:/A"), 1, 1)
        .await
        .expect("listed");
    assert_eq!((capped.entries.len(), capped.is_truncated), (1, true));
}

#[tokio::test]
async fn a_table_is_read_page_by_page_up_to_the_limit() {
    let station = Scripted::start(|_, key, body| {
        let request = if key == "resolve" { &body["c"] } else { body };
        let (offset, limit) = (request["of"].as_u64().unwrap_or(0), request["lm"].as_u64().unwrap_or(0));
        let rows: Vec<Json> =
            (offset..(offset + limit).min(1200)).map(|row| json!([{"t":"baja:Integer","v":row.to_string()}])).collect();
        match (key, body["o"].as_str()) {
            ("resolve", Some(query)) if query.contains("nonsense") => Say::Refuse("Syntax error"),
            ("resolve", _) => Say::Body(json!({
                "o":{"t":"box:BoxTable","v":r#"{"cols":[{"n":"row"}],"req":{"q":"1"}}"#},"c":rows})),
            ("cursor", _) if body["q"] == "1" => Say::Body(json!(rows)),
            _ => Say::Refuse("unknown"),
        }
    })
    .await;
    let query = "station:|slot:/|bql:select row from baja:Component";
    let table = station
        .client
        .table(&scope(), query, 50_000)
        .await
        .expect("a table");
    let rows: Vec<_> = table
        .rows
        .iter()
        .filter_map(|row| row[0].value.clone())
        .collect();
    let expected: Vec<_> = (0..1200).map(|row| row.to_string()).collect();
    assert_eq!(
        (rows, table.is_truncated, table.column("row")),
        (expected, false, Some(0))
    );
    let first = station
        .client
        .table(&scope(), query, 10)
        .await
        .expect("a table");
    assert_eq!((first.rows.len(), first.is_truncated), (10, true));
    let all = station
        .client
        .table(&scope(), query, 1200)
        .await
        .expect("a table");
    assert_eq!((all.rows.len(), all.is_truncated), (1200, false));
    let error = station
        .client
        .table(&scope(), "station:|slot:/|bql:nonsense", 5)
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), "bad-query");
}
