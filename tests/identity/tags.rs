//! Tokens whose digests the station keeps as tags of its users.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mock_station::model::accounts::{BRIDGE, VIEWER};
use mock_station::model::{Flags, Value as ModelValue};
use reqwest::StatusCode;
use ring::digest::{Context, SHA256};
use serde_json::{Value, json};

use crate::desk::{Desk, marked_query, token_of};
use crate::support::{json_body, request};

const TAGGED: &str = "Sentinel-Tagged-Token-1";

fn digest(salt: &[u8], token: &str) -> String {
    let mut context = Context::new(&SHA256);
    context.update(salt);
    context.update(token.as_bytes());
    let bytes = context.finish();
    bytes
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The station's user gets the tag of a token, by the salt of the bridge's own file.
fn tag(desk: &Desk, user: &str, token: &str) {
    desk.identities()
        .grant(
            "operator",
            &token_of("operator"),
            None,
            None,
            Duration::ZERO,
        )
        .expect("granted");
    let file = std::fs::read_to_string(desk.identities().path()).expect("a file");
    let file: Value = serde_json::from_str(&file).expect("JSON");
    let salt = file["tokenSalt"].as_str().expect("a salt");
    let salt = STANDARD.decode(salt).expect("Base64");
    let mut station = desk.station.station().write();
    let path = format!("slot:/Services/UserService/{user}");
    let component = station.resolve_component(&path).expect("a user");
    let value = ModelValue::from(digest(&salt, token).as_str());
    station
        .add_value(
            component,
            Some("mcp$3atokenHash"),
            value,
            Flags::METADATA,
            None,
        )
        .expect("a tag");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tagged_user_comes_in_reads_and_changes_nothing_without_a_password_in_the_vault() {
    let desk = Desk::new().await;
    tag(&desk, VIEWER.user, TAGGED);
    let served = desk
        .serve_with(|config| config.station_token_tags = true)
        .await;
    let client = served.session(TAGGED).await;
    desk.station.clear_logs();
    let answer = client.call("bqlQuery", marked_query("x")).await;
    assert_eq!(answer["isError"], false, "{answer}");
    assert_eq!(
        desk.seen_users(),
        [BRIDGE.user],
        "read by the service account"
    );
    let write =
        json!({"name": "setSlot", "arguments": {"ord": "slot:/", "slotName": "x", "value": 1}});
    let refused = client.post(request("tools/call", write)).await;
    let refused = json_body(refused).await;
    assert_eq!(refused["error"]["code"], json!(-32011), "{refused}");
    for wrong in ["another-token", ""] {
        let refused = served.client(wrong);
        let refused = refused.post(request("ping", json!({}))).await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{wrong:?}");
    }
    let own = served.session(&token_of("operator")).await;
    let answer = own.call("bqlQuery", marked_query("x")).await;
    assert_eq!(
        answer["isError"], false,
        "tokens of the bridge's own file go on"
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_count_only_where_the_configuration_says_so() {
    let desk = Desk::new().await;
    tag(&desk, VIEWER.user, TAGGED);
    let served = desk.serve().await;
    let refused = served.client(TAGGED);
    let refused = refused.post(request("ping", json!({}))).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    served.stop().await;
}
