//! bind, list, rotate, revoke, verify: what they print, and what the bridge that runs makes of it.

use mock_station::model::accounts::{BRIDGE, OPERATOR, VIEWER};
use reqwest::StatusCode;
use serde_json::json;

use crate::desk::{Desk, marked_query, text};
use crate::support::{TOKEN, request};

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_user_acts_as_themselves_beside_the_service_account() {
    let desk = Desk::new().await;
    let served = desk.serve().await;
    let token = desk.bind("operator", OPERATOR.password).await;
    assert_eq!(token.len(), 43);
    let client = served.session(&token).await;
    desk.station.clear_logs();
    let answer = client.call("bqlQuery", marked_query("x")).await;
    assert_eq!(answer["isError"], false, "{answer}");
    assert_eq!(desk.seen_users(), ["operator"]);
    desk.station.clear_logs();
    let service = served.session(TOKEN).await;
    service.call("bqlQuery", marked_query("x")).await;
    assert_eq!(desk.seen_users(), [BRIDGE.user]);
    assert_eq!(served.end.users().open_users(), ["operator"]);
    served.stop().await;
    assert_eq!(desk.station.sessions(), 0, "everybody was logged out");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_binds_nobody_and_is_not_repeated() {
    let desk = Desk::new().await;
    let (code, output, said) = desk
        .command(&["bind", "operator"], "Sentinel-Wrong-1\n")
        .await;
    assert_eq!((code, output.as_str()), (1, ""));
    assert!(
        said.contains("'operator' was not logged in, and nothing was changed"),
        "{said}"
    );
    assert!(!said.contains("Sentinel"), "{said}");
    assert!(!desk.identities().path().exists());
    assert_eq!(desk.station.logins().len(), 1, "one attempt");
    let (code, _, said) = desk.command(&["bind", "operator"], "").await;
    assert_eq!(code, 1);
    assert!(said.contains("there is no password"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_rotated_and_revoked_while_the_bridge_runs() {
    let desk = Desk::new().await;
    let served = desk.serve().await;
    let first = desk.bind("viewer", VIEWER.password).await;
    let client = served.session(&first).await;
    client.call("bqlQuery", marked_query("x")).await;
    let (code, second, said) = desk.command(&["rotate", "viewer"], "").await;
    assert_eq!(code, 0, "{said}");
    let second = second.trim();
    assert!(
        said.contains("earlier ones work for 60 more minutes"),
        "{said}"
    );
    served.session(second).await;
    assert_eq!(
        client.call("echo", json!({"msg": "a"})).await["isError"],
        false
    );
    let (code, ..) = desk
        .command(&["rotate", "viewer", "--overlap-minutes", "0"], "")
        .await;
    assert_eq!(code, 0);
    let refused = client.post(request("ping", json!({}))).await.status();
    assert_eq!(refused, StatusCode::UNAUTHORIZED);

    let third = desk.bind("viewer", VIEWER.password).await;
    let client = served.session(&third).await;
    let (code, _, said) = desk.command(&["revoke", "viewer"], "").await;
    assert_eq!(code, 0, "{said}");
    let refused = client.post(request("ping", json!({}))).await.status();
    assert_eq!(refused, StatusCode::UNAUTHORIZED);
    let unknown = served
        .client("nobody's token")
        .post(request("ping", json!({})))
        .await;
    assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);
    served.end.users().tidy().await;
    assert!(
        served.end.users().open_users().is_empty(),
        "the session went with the user"
    );
    assert!(desk.vault().names().expect("names").is_empty());
    let (code, _, said) = desk.command(&["revoke", "viewer"], "").await;
    assert_eq!(code, 1);
    assert!(said.contains("no user 'viewer'"), "{said}");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_tells_rights_and_passwords_but_no_token_and_no_digest() {
    let desk = Desk::new().await;
    let token = desk.bind("operator", OPERATOR.password).await;
    let arguments = [
        "bind",
        "guest",
        "--no-password",
        "--rights",
        "read",
        "--expires-days",
        "7",
    ];
    let (code, guest, said) = desk.command(&arguments, "").await;
    assert_eq!(code, 0, "{said}");
    let (code, list, said) = desk.command(&["list"], "").await;
    assert_eq!(code, 0, "{said}");
    let row = |name: &str| {
        let line = list
            .lines()
            .find(|line| line.starts_with(name))
            .expect(name);
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        row("operator")[2..],
        ["-", "1", "-", "kept", "read,knowledge,write"]
    );
    assert_eq!(row("guest")[5..], ["none", "read"]);
    let stored = std::fs::read_to_string(desk.identities().path()).expect("users.json");
    for secret in [token.as_str(), guest.trim(), OPERATOR.password] {
        assert!(!list.contains(secret) && !stored.contains(secret));
    }
    let digest = stored
        .split("tokenHash\": \"")
        .nth(1)
        .expect("a digest")
        .get(..64);
    assert!(!list.contains(digest.expect("64 characters")));

    let (code, _, said) = desk.command(&["verify", "operator"], "").await;
    assert_eq!(code, 0, "{said}");
    desk.station
        .change_password("operator", "Another-1")
        .expect("changed");
    let (code, _, said) = desk.command(&["verify", "operator"], "").await;
    assert_eq!(code, 1);
    assert!(said.contains("'operator' was not logged in"), "{said}");
    assert!(!said.contains(OPERATOR.password), "{said}");
    let (code, _, said) = desk.command(&["verify", "guest"], "").await;
    assert_eq!(code, 1);
    assert!(
        said.contains("no station password of 'guest' is kept"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_narrow_what_a_token_may_call() {
    let desk = Desk::new().await;
    let served = desk.serve().await;
    let arguments = ["bind", "guest", "--no-password", "--rights", "read"];
    let (_, token, _) = desk.command(&arguments, "").await;
    let client = served.session(token.trim()).await;
    let listed = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
    let names: Vec<&str> = listed
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(
        names.contains(&"readPoint") && names.contains(&"exportKnowledge"),
        "{names:?}"
    );
    assert!(
        !names.contains(&"createSpace") && !names.contains(&"importKnowledge"),
        "{names:?}"
    );
    let call =
        json!({"name": "createSpace", "arguments": {"id": "s", "name": "S", "type": "site"}});
    let refusal = client.ask("tools/call", call).await;
    assert_eq!(refusal["error"]["code"], -32002, "{refusal}");
    let operations = json!([
        {"tool": "setSlot", "arguments": {"ord": "slot:/", "slotName": "stationName", "value": "x"}},
    ]);
    let plan = client
        .call("planWrites", json!({"operations": operations}))
        .await;
    let plan = &plan["structuredContent"];
    assert_eq!(plan["problems"][0]["kind"], "rights", "{plan}");
    assert_eq!((&plan["ready"], plan.get("planId")), (&json!(false), None));
    desk.station.clear_logs();
    let answer = client.call("bqlQuery", marked_query("x")).await;
    assert_eq!(answer["isError"], false, "{}", text(&answer));
    assert_eq!(
        desk.seen_users(),
        [BRIDGE.user],
        "without a password the service account reads"
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_bound_as_the_service_or_for_no_time_at_all() {
    let desk = Desk::new().await;
    for name in ["service", "Service", " service"] {
        let (code, _, message) = desk.command(&["bind", name], VIEWER.password).await;
        assert_eq!(code, 1, "{name}: {message}");
        assert!(message.contains("holder of apiToken"), "{message}");
    }
    let (code, _, message) = desk
        .command(&["bind", "viewer", "--expires-days", "0"], VIEWER.password)
        .await;
    assert_eq!(code, 2, "{message}");
    assert!(message.contains("--expires-days"), "{message}");
    assert!(!desk.identities().path().exists());
    assert!(
        !desk.data_dir().join("vault.bin").exists(),
        "no password is kept"
    );
    assert_eq!(desk.station.logins().len(), 0, "no password was tried");
}
