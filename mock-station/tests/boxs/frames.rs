//! Frames, messages and the forms of errors.

use mock_station::model::{Status, Value};
use mock_station::switches::BoxErrorStyle;
use serde_json::json;

use crate::client::{ADMIN, bench};

#[tokio::test]
async fn several_messages_of_a_frame_are_answered_in_order_under_their_numbers() {
    let bench = bench().await;
    let frame = bench
        .client(ADMIN)
        .frame(json!({"p": "box", "v": "2.1", "n": 7, "m": [
            {"r": 5, "t": "rt", "c": "sys", "k": "props", "b": {}},
            {"r": 3, "t": "rt", "c": "nonsense", "k": "x", "b": null},
            {"r": 9, "t": "rp", "c": "sys", "k": "props", "b": {}},
            {"r": 4, "t": "rt", "c": "reg", "k": "loadTypes", "b": {"t": ["baja:Folder"]}},
        ]}))
        .await;
    assert_eq!(
        (&frame["p"], &frame["v"], &frame["n"]),
        (&json!("box"), &json!("2.3"), &json!(7))
    );
    let replies = frame["m"].as_array().unwrap();
    let shape: Vec<(i64, &str)> = replies
        .iter()
        .map(|reply| (reply["r"].as_i64().unwrap(), reply["t"].as_str().unwrap()))
        .collect();
    assert_eq!(shape, [(5, "rp"), (3, "e"), (4, "rp")]);
    assert_eq!(replies[0]["b"]["userName"], ADMIN);
    assert!(
        replies[1]["b"]["m"]
            .as_str()
            .unwrap()
            .contains("'nonsense'")
    );
}

#[tokio::test]
async fn a_station_that_answers_only_the_first_message_leaves_the_others_out() {
    let bench = bench().await;
    bench.change(|switches| switches.first_message_only = true);
    let message = |r: u32| json!({"r": r, "t": "rt", "c": "sys", "k": "hello", "b": null});
    let frame = json!({"p": "box", "v": "2.3", "n": 1, "m": [message(1), message(2)]});
    let reply = bench.client(ADMIN).frame(frame).await;
    assert_eq!(reply["m"].as_array().unwrap().len(), 1);
    assert_eq!(reply["m"][0]["r"], 1);
}

#[tokio::test]
async fn unknown_channels_keys_and_bodies_are_errors_with_status_200() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let text = client.refusal("sys", "nothing", json!({})).await;
    assert!(
        text.contains("'nothing'") && text.contains("'sys'"),
        "{text}"
    );
    let text = client.refusal("ord", "resolve", json!("slot:/")).await;
    assert!(
        text.contains("'resolve'") && text.contains("object"),
        "{text}"
    );
    let text = client
        .refusal("ord", "resolve", json!({"bo": "station:|slot:/"}))
        .await;
    assert!(text.contains("'o'"), "{text}");
    let text = client.refusal("ssession", "pollchgs", json!({})).await;
    assert!(text.contains("'id'"), "{text}");
}

#[tokio::test]
async fn ax_errors_are_plain_text_with_a_type_and_hidden_texts_tell_nothing() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    bench.change(|switches| {
        switches.error_style = BoxErrorStyle::Ax;
        switches.version = "2.1".to_owned();
    });
    let reply = client
        .message("ord", "resolve", json!({"o": "station:|slot:/Nowhere"}))
        .await;
    assert_eq!(
        (&reply["t"], &reply["et"]),
        (&json!("e"), &json!("UnresolvedException"))
    );
    assert!(reply["b"].as_str().unwrap().contains("Nowhere"));
    let lost = client
        .message("ssession", "pollchgs", json!({"id": "gone"}))
        .await;
    assert_eq!(lost["cf"], true);

    bench.change(|switches| {
        switches.error_style = BoxErrorStyle::N4;
        switches.hide_error_text = true;
    });
    let text = client
        .refusal("ord", "resolve", json!({"o": "station:|slot:/Nowhere"}))
        .await;
    assert!(
        !text.contains("Nowhere") && text.contains("administrator"),
        "{text}"
    );
}

#[tokio::test]
async fn bodies_that_are_no_frames_fail_without_harm() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let (status, body) = client.post("{\"p\":\"box\",".to_owned()).await;
    assert_eq!(status, 500);
    assert!(body.starts_with('<'), "{body}");
    let (status, _) = client.post("[".repeat(100_000)).await;
    assert_eq!(status, 500);
    let reply = client.frame(json!({"p": "fox", "n": 3, "m": []})).await;
    assert_eq!(reply["n"], -1);
    assert_eq!(
        (&reply["m"][0]["r"], &reply["m"][0]["t"]),
        (&json!(-1), &json!("e"))
    );
    assert_eq!(
        client.ask("sys", "props", json!({})).await["userName"],
        ADMIN
    );
}

#[tokio::test]
async fn a_service_that_is_disabled_or_in_fault_answers_with_its_own_error_types() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let set = |slot: &str, value: Value| {
        let mut station = bench.mock.station().write();
        let service = station.service("box:BoxService").unwrap();
        station.set(service, slot, value).unwrap();
    };
    set("enabled", false.into());
    let reply = client.message("sys", "props", json!({})).await;
    assert_eq!(
        (&reply["t"], &reply["et"]),
        (&json!("e"), &json!("BoxNonOperationalError"))
    );
    set("enabled", true.into());
    set("status", Value::Status(Status::from_bits(Status::FAULT)));
    set("faultCause", "Unlicensed".into());
    let reply = client.message("sys", "props", json!({})).await;
    assert_eq!(reply["et"], "BoxFatalFaultError");
    assert!(reply["b"]["m"].as_str().unwrap().contains("Unlicensed"));
    set("status", Value::Status(Status::ok()));
    assert_eq!(
        client.ask("sys", "props", json!({})).await["userName"],
        ADMIN
    );
}

#[tokio::test]
async fn errors_may_come_as_ordinary_replies() {
    let bench = bench().await;
    bench.change(|switches| switches.error_style = BoxErrorStyle::N4Reply);
    let reply = bench
        .client(ADMIN)
        .message("nonsense", "x", json!({}))
        .await;
    assert_eq!(
        (&reply["t"], &reply["b"]["isErr"]),
        (&json!("rp"), &json!(true))
    );
}

#[tokio::test]
async fn the_servlet_answers_posts_with_and_without_a_slash_and_nothing_else() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let frame = json!({"p": "box", "v": "2.3", "n": 1, "m": []}).to_string();
    assert_eq!(client.request("POST", "/box", frame.clone()).await.0, 200);
    assert_eq!(client.request("POST", "/box/", frame.clone()).await.0, 200);
    assert_eq!(client.request("GET", "/box/", String::new()).await.0, 405);
    bench.change(|switches| switches.present = false);
    assert_eq!(client.request("POST", "/box/", frame).await.0, 404);
}
