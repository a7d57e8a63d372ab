//! Many users at once, a password that changes, and the station's own account of who did what.

use mock_station::model::audit::AuditOperation;
use serde_json::json;

use crate::client::{ADMIN, OPERATOR, PASSWORD, VIEWER, bench, crew, handle, numeric};

#[tokio::test]
async fn every_member_of_a_crew_writes_its_own_point_and_no_other() {
    let (bench, members) = crew(20).await;
    bench.change(|boxs| boxs.session_limit = 32);
    let clients: Vec<_> = members
        .iter()
        .map(|member| bench.client_of(&member.user, &member.password))
        .collect();
    let mut sessions = Vec::new();
    for client in &clients {
        sessions.push(client.session().await);
    }
    assert_eq!(bench.mock.box_sessions(), 20);
    for (number, session) in sessions.iter().enumerate() {
        for point in [number, (number + 1) % 20] {
            let h = handle(&bench, &format!("slot:/Crew/P{point}")).to_string();
            let operations = json!([{"nm": "s", "h": h, "n": "in9", "b": numeric("1.0", "0")}]);
            if point == number {
                session.sync(operations).await;
            } else {
                let text = session.sync_refusal(operations).await;
                assert!(text.contains("operatorWrite"), "{text}");
            }
        }
    }
    for member in &members {
        let own = bench.mock.audit_of(&member.user);
        assert_eq!(own.len(), 1, "{}", member.user);
        assert_eq!(bench.mock.box_writes_of(&member.user).len(), 2);
        assert_eq!(
            bench.mock.box_sessions_by_user().get(&member.user),
            Some(&1)
        );
    }
    for (client, session) in clients.iter().zip(&sessions) {
        client
            .ask("ssession", "del", json!({"id": session.id}))
            .await;
    }
    assert!(bench.mock.box_sessions_by_user().is_empty());
}

#[tokio::test]
async fn a_changed_password_counts_at_the_next_login_of_that_user_alone() {
    let bench = bench().await;
    let (worker, reader) = (bench.client(OPERATOR), bench.client(VIEWER));
    worker.ask("sys", "props", json!({})).await;
    bench
        .mock
        .change_password(OPERATOR, "Another-Pass-2")
        .unwrap();
    bench.mock.end_sessions_of(OPERATOR);
    assert_eq!(bench.mock.sessions_by_user().get(OPERATOR), None);
    let (status, _) = worker.post(json!({"p": "box", "m": []}).to_string()).await;
    assert_eq!(status, 401);
    reader.ask("sys", "props", json!({})).await;
    let anew = bench.client_of(OPERATOR, "Another-Pass-2");
    anew.ask("sys", "props", json!({})).await;
    assert_eq!(bench.mock.sessions_by_user().get(OPERATOR), Some(&1));
    assert!(bench.mock.change_password("nobody", "x").is_err());
}

#[tokio::test]
async fn an_account_disabled_over_box_cannot_log_in_any_more() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let h = handle(&bench, "slot:/Services/UserService/reader").to_string();
    let disable = json!([{"nm": "s", "h": h, "n": "enabled", "b": {"nm": "p", "t": "baja:Boolean", "v": "false"}}]);
    session.sync(disable).await;
    let reader = bench.client_of(VIEWER, PASSWORD);
    let (status, _) = reader.post(json!({"p": "box", "m": []}).to_string()).await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn the_audit_history_names_who_did_what() {
    let bench = bench().await;
    let client = bench.client(OPERATOR);
    let session = client.session().await;
    let h = handle(&bench, "slot:/AHU1/Damper").to_string();
    session
        .sync(json!([{"nm": "s", "h": h, "n": "in9", "b": numeric("4.0", "0")}]))
        .await;
    session
        .call("invokeAction", json!({"h": h, "a": "auto"}))
        .await;
    let admin = bench.client(ADMIN);
    let ord = "history:/Bench/AuditHistory|bql:select operation, target, slotName, oldValue, value, userName";
    let rows = admin
        .ask("ord", "resolve", json!({"o": ord, "bo": "station:|slot:/"}))
        .await;
    let texts: Vec<Vec<&str>> = rows["c"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            row.as_array()
                .unwrap()
                .iter()
                .map(|cell| cell["v"].as_str().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(
        texts,
        [
            vec![
                "Changed",
                "slot:/AHU1/Damper",
                "in9",
                "value=0.0,status=40",
                "value=4.0,status=0",
                OPERATOR
            ],
            vec!["Invoked", "slot:/AHU1/Damper", "auto", "", "", OPERATOR],
        ]
    );
    let url = "/ord/history:%2fBench%2fAuditHistory%7Cbql:select%20userName%20where%20operation%20=%20'Changed'%7Cview:file:ITableToCsv";
    let (status, text) = admin.request("GET", url, String::new()).await;
    assert_eq!(status, 200, "{text}");
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
    assert_eq!(lines[1..], [OPERATOR]);
    let refused = client
        .refusal("ord", "resolve", json!({"o": ord, "bo": "station:|slot:/"}))
        .await;
    assert!(refused.contains("Permission denied"), "{refused}");
    let audited = bench.mock.audit_of(OPERATOR);
    assert_eq!(audited[1].operation, AuditOperation::Invoked);
}
