//! setupTestUser: gated, for users with a kept password only, and silent about digests.

use mock_station::model::accounts::VIEWER;
use reqwest::StatusCode;
use serde_json::json;

use crate::desk::{Desk, marked_query, text};
use crate::support::{TOKEN, request};

#[tokio::test(flavor = "multi_thread")]
async fn a_chosen_token_is_bound_where_the_gate_is_open() {
    let desk = Desk::new().await;
    let minted = desk.bind("viewer", VIEWER.password).await;
    let served = desk
        .serve_with(|config| config.enable_test_setup = true)
        .await;
    let service = served.session(TOKEN).await;
    let arguments = json!({"username": "viewer", "token": "Sentinel-token"});
    let answer = service.call("setupTestUser", arguments).await;
    assert_eq!(answer["isError"], false, "{}", text(&answer));
    assert_eq!(
        answer["structuredContent"],
        json!({
            "userOrd": "station:|slot:/UserService/viewer",
            "hashSet": true,
            "tagsSetReturned": false,
            "readbackMatches": true,
            "saltLen": 16,
        })
    );
    let stored = std::fs::read_to_string(desk.identities().path()).expect("users.json");
    assert!(!stored.contains("Sentinel"));
    desk.station.clear_logs();
    let viewer = served.session("Sentinel-token").await;
    viewer.call("bqlQuery", marked_query("x")).await;
    assert_eq!(desk.seen_users(), ["viewer"]);
    let old = served
        .client(&minted)
        .post(request("ping", json!({})))
        .await;
    assert_eq!(
        old.status(),
        StatusCode::UNAUTHORIZED,
        "the earlier token ended"
    );

    for (arguments, words) in [
        (
            json!({"username": "operator", "token": "t"}),
            "no station password of 'operator'",
        ),
        (
            json!({"username": "viewer", "token": ""}),
            "'token' must not be empty",
        ),
        (
            json!({"username": "viewer", "token": TOKEN}),
            "is the apiToken of this bridge",
        ),
    ] {
        let answer = service.call("setupTestUser", arguments).await;
        assert_eq!(answer["errorCode"], -32602, "{answer}");
        assert!(text(&answer).contains(words), "{answer}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_read_gives_nobody_a_token() {
    let desk = Desk::new().await;
    desk.bind("viewer", VIEWER.password).await;
    let bind = [
        "bind",
        "guest",
        "--no-password",
        "--rights",
        "read,knowledge",
    ];
    let (_, token, _) = desk.command(&bind, "").await;
    let served = desk
        .serve_with(|config| config.enable_test_setup = true)
        .await;
    let guest = served.session(token.trim()).await;
    let arguments = json!({"username": "viewer", "token": "Sentinel-token"});
    let call = json!({"name": "setupTestUser", "arguments": arguments});
    let refusal = guest.ask("tools/call", call).await;
    assert_eq!(refusal["error"]["code"], -32002, "{refusal}");
    let stranger = served
        .client("Sentinel-token")
        .post(request("ping", json!({})))
        .await;
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_nothing_is_bound() {
    let desk = Desk::new().await;
    desk.bind("viewer", VIEWER.password).await;
    let served = desk.serve().await;
    let service = served.session(TOKEN).await;
    let arguments = json!({"username": "viewer", "token": "Sentinel-token"});
    let answer = service.call("setupTestUser", arguments).await;
    assert_eq!(answer["errorCode"], -32602, "{answer}");
    assert!(
        answer["errorData"]["hint"]
            .to_string()
            .contains("enableTestSetup"),
        "{answer}"
    );
    assert!(!answer.to_string().contains("Sentinel"), "{answer}");
    let refused = served
        .client("Sentinel-token")
        .post(request("ping", json!({})))
        .await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    served.stop().await;
}
