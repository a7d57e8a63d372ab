//! The gate of all writes: rules, rate, confirmation, records, and what becomes of calls that do not end well.

mod people;
mod places;
mod records;

use mock_station::model::accounts::{ADMIN, OPERATOR, VIEWER};
use niagara_bridge::audit::AuditOptions;
use niagara_bridge::identity::{Vault, VaultKey, vault_file};
use niagara_bridge::station::facade::Given;
use niagara_bridge::tools::write_gate::{WriteFailure, WriteRequest, Written};
use serde_json::{Map, Value, json};

use crate::office::{OTHER_POINT, OWN_POINT, Office, context, failure_of};

fn write(ord: &str, value: Value) -> Value {
    json!({"ord": ord, "value": value, "priority": 10})
}

#[tokio::test]
async fn a_read_only_bridge_sends_nothing_names_the_key_and_records_the_refusal() {
    let office = Office::with(json!({"enabled": false}), AuditOptions::default()).await;
    let arguments = write(OTHER_POINT, json!(21));
    let (code, data) = office.failure(ADMIN, "writePoint", arguments.clone()).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("read-only")));
    assert!(
        data["remedy"].to_string().contains("writes.enabled: true"),
        "{data}"
    );
    assert_eq!(data["operation"], "write");
    assert_eq!(office.site.writes(), []);
    assert_eq!(
        office.site.frozen.station.requests().len(),
        0,
        "the station is not even asked"
    );
    let line = office.last_line(0, 1);
    assert_eq!(line["resultOk"], false);
    assert_eq!(line["errorCode"], "-32010");
    assert_eq!(line["policy"], "read-only");

    office.allow(json!({}));
    office.answer(ADMIN, "writePoint", arguments).await;
    assert_eq!(office.last_line(1, 2)["user"], "admin");
}

#[tokio::test]
async fn rules_hold_for_handles_too_and_change_while_the_bridge_runs() {
    let office = Office::with(
        json!({"deny": ["slot:/Logic/**"], "priorities": ["10"]}),
        AuditOptions::default(),
    )
    .await;
    let handle = format!("h:{}", office.site.handle("slot:/Logic/Setpoint"));
    for ord in [OTHER_POINT, "slot:/Logic/Setpoint/", &handle] {
        let (code, data) = office
            .failure(ADMIN, "writePoint", write(ord, json!(21)))
            .await;
        assert_eq!(
            (code, &data["policy"]),
            (-32010, &json!("ord-denied")),
            "{ord}"
        );
        assert_eq!(data["ord"], ord);
        assert_eq!(office.log().last().expect("a line")["ord"], ord);
    }
    let (_, data) = office
        .failure(
            ADMIN,
            "writePoint",
            json!({"ord": OWN_POINT, "value": 21, "priority": 11}),
        )
        .await;
    assert_eq!(data["policy"], "priority");
    assert_eq!(office.site.writes(), []);
    office.allow(json!({}));
    let arguments = write(&handle, json!(21));
    office.answer(ADMIN, "writePoint", arguments).await;
    assert_eq!(
        office.records("intent")[0]["path"],
        "slot:/Logic/Setpoint",
        "the records name the place"
    );
    let (code, data) = office
        .failure(ADMIN, "writePoint", write("nowhere", json!(21)))
        .await;
    assert_eq!((code, &data["ord"]), (-32006, &json!("nowhere")));
    assert_eq!(office.last_line(1, 6)["policy"], "not-resolved");
}

#[tokio::test]
async fn who_writes_too_often_waits_and_others_go_on() {
    let office = Office::with(json!({"ratePerMinute": 2}), AuditOptions::default()).await;
    for value in [20, 21] {
        let arguments = write(OWN_POINT, json!(value));
        office.answer(OPERATOR, "writePoint", arguments).await;
    }
    let (code, data) = office
        .failure(OPERATOR, "writePoint", write(OWN_POINT, json!(22)))
        .await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("rate")));
    let wait = data["retryAfterSeconds"].as_u64().expect("seconds");
    assert!((1..=30).contains(&wait), "{wait}");
    let arguments = write(OWN_POINT, json!(23));
    office.answer(ADMIN, "writePoint", arguments).await;
    assert_eq!(office.site.writes().len(), 3);
    assert_eq!(office.last_line(3, 4)["user"], "admin");
}

#[tokio::test]
async fn a_question_is_no_write_and_what_never_fits_is_to_be_split() {
    let office = Office::with(json!({"ratePerMinute": 2}), AuditOptions::default()).await;
    let manual = json!({"ord": OTHER_POINT, "value": 21, "priority": 8});
    for _ in 0..5 {
        let (_, data) = office.failure(ADMIN, "writePoint", manual.clone()).await;
        assert_eq!(data["policy"], "confirmation");
    }
    for _ in 0..2 {
        let answer = office.confirmed(ADMIN, "writePoint", manual.clone()).await;
        assert_eq!(answer["isError"], false, "{answer}");
    }
    let answer = office.confirmed(ADMIN, "writePoint", manual).await;
    let (code, data) = failure_of(&answer);
    assert_eq!((code, &data["policy"]), (-32010, &json!("rate")));
    assert!(data["retryAfterSeconds"].is_u64(), "{data}");
    assert_eq!(office.site.writes().len(), 2);

    let caller = context(Some(OPERATOR.user));
    let (call, own) = (Map::new(), Map::new());
    let three = [WriteRequest::new("setSlot", "set", OWN_POINT, &own); 3];
    let refused = office.gate.admit(&caller, "applyWrites", &call, &three);
    let error = refused.await.map(|_| ()).expect_err("too many");
    assert_eq!(error.data["policy"], "rate");
    assert_eq!(error.data.get("retryAfterSeconds"), None, "no wait helps");
    for part in ["3 writes", "split"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    let two = office
        .gate
        .admit(&caller, "applyWrites", &call, &three[..2]);
    assert!(two.await.is_ok(), "what never fits costs nothing");
}

/// The message is the last step of a call that may take seconds on a slow station.
#[tokio::test]
async fn nothing_is_sent_for_somebody_who_was_revoked_while_the_call_ran() {
    let office = Office::new().await;
    let arguments = Map::new();
    let caller = context(Some(ADMIN.user));
    let request = WriteRequest::new("setSlot", "set", OTHER_POINT, &arguments);
    let folder = office.folder();
    let sent = office.gate.run(&caller, request, |write| async move {
        let key = VaultKey::from_file(&folder.join("vault.key")).expect("a key");
        let vault = Vault::open(vault_file(folder), &key).expect("a vault");
        assert!(vault.forget(ADMIN.user).expect("forgotten"));
        let seen = write.station.inspect(&write.scope, &write.ord).await;
        assert!(seen.is_ok(), "the session can still be read with: {seen:?}");
        let facets = Given::Text("precision=i:0".to_owned());
        let set = write
            .station
            .set_slot(&write.scope, &write.ord, "facets", &facets);
        let change = set.await.map_err(WriteFailure::Station)?;
        Ok(Written::new(change))
    });
    let error = sent.await.expect_err("revoked");
    assert_eq!(error.code.code(), -32011, "{error:?}");
    for part in ["was not asked", "revoked while the call ran"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    assert_eq!(error.data["user"], ADMIN.user);
    assert_eq!(office.site.writes(), []);
    let line = office.last_line(1, 1);
    assert_eq!(
        (&line["outcome"], &line["errorCode"]),
        (&json!("failed"), &json!("-32011"))
    );
    let arguments = write(OWN_POINT, json!(21));
    office.answer(OPERATOR, "writePoint", arguments).await;
}

#[tokio::test]
async fn a_viewer_is_refused_by_the_station_and_a_user_without_a_password_by_the_bridge() {
    let office = Office::new().await;
    let (code, data) = office
        .failure(VIEWER, "writePoint", write(OTHER_POINT, json!(21)))
        .await;
    assert_eq!(code, -32010);
    assert_eq!(
        (
            &data["user"],
            &data["tool"],
            &data["operation"],
            &data["ord"]
        ),
        (
            &json!("viewer"),
            &json!("writePoint"),
            &json!("write"),
            &json!(OTHER_POINT)
        )
    );
    assert!(data["detail"].is_string(), "the station's words: {data}");
    assert_eq!(office.last_line(1, 1)["outcome"], "failed");
    let unbound = office.call(
        context(Some("nobody")),
        "writePoint",
        write(OTHER_POINT, json!(21)),
    );
    let error = unbound.await.expect_err("refused");
    assert_eq!(error.code.code(), -32011);
    assert_eq!(error.data["requiresUserContext"], true);
}
