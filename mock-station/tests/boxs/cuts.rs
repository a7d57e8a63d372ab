//! Writes that meet a fault: what the station did, what the client was told, and what the books say of both.

use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::server::{WriteEntry, WriteOutcome};
use serde_json::{Value as Json, json};

use crate::client::{ADMIN, Bench, Client, OPERATOR, VIEWER, bench, handle, numeric};

const DAMPER: &str = "slot:/AHU1/Damper";

/// Posts one message and gives the whole reply text, or why there was none.
async fn post(client: &Client, body: Json) -> Result<String, String> {
    let message = json!({"r": 0, "t": "rt", "c": "ssession", "k": "callssc", "b": body});
    let frame = json!({"p": "box", "v": "2.3", "n": 1, "m": [message]}).to_string();
    client.try_post(frame).await
}

fn write(bench: &Bench, session: &str, value: &str) -> Json {
    let h = handle(bench, DAMPER).to_string();
    let operation = json!({"nm": "s", "h": h, "n": "in9", "b": numeric(value, "0")});
    json!({"id": session, "scid": "station:", "sck": "syncTo",
        "scarg": {"nm": "sync", "ver": 1.0, "ops": [operation]}})
}

fn read(session: &str) -> Json {
    json!({"id": session, "scid": "station:", "sck": "loadRoot", "scarg": null})
}

fn damper(bench: &Bench) -> String {
    let station = bench.mock.station().read();
    let damper = station.resolve_component(DAMPER).unwrap();
    station.value(damper, "in9/value").unwrap().encode()
}

fn statuses(bench: &Bench) -> [String; 4] {
    let station = bench.mock.station().read();
    let damper = station.resolve_component(DAMPER).unwrap();
    ["in1/status", "in8/status", "in9/status", "fallback/status"]
        .map(|path| station.value(damper, path).unwrap().encode())
}

fn outcomes(writes: &[WriteEntry]) -> Vec<WriteOutcome> {
    writes.iter().map(|write| write.outcome.clone()).collect()
}

#[tokio::test]
async fn a_write_cut_before_during_and_after_is_counted_once_each() {
    let bench = bench().await;
    let client = bench.client(OPERATOR);
    let session = client.session().await;
    let fault = |kind| Fault::new(kind).on(Interface::Box).on_writes().requests(1);
    let faults = bench.mock.faults();

    faults.set(fault(FaultKind::Cut)).unwrap();
    assert!(post(&client, read(&session.id)).await.is_ok(), "reads pass");
    assert!(
        post(&client, write(&bench, &session.id, "11.0"))
            .await
            .is_err()
    );
    assert_eq!(damper(&bench), "0.0", "it never came to the servlet");

    faults.set(fault(FaultKind::CutAfter)).unwrap();
    assert!(post(&client, read(&session.id)).await.is_ok());
    assert!(
        post(&client, write(&bench, &session.id, "12.0"))
            .await
            .is_err()
    );
    assert_eq!(damper(&bench), "12.0", "it was done, nobody was told");

    faults
        .set(fault(FaultKind::HalfBody { bytes: None }))
        .unwrap();
    assert!(post(&client, read(&session.id)).await.is_ok());
    assert!(
        post(&client, write(&bench, &session.id, "13.0"))
            .await
            .is_err()
    );
    assert_eq!(damper(&bench), "13.0");

    faults
        .set(fault(FaultKind::ServerError { status: 503 }))
        .unwrap();
    let refused = post(&client, write(&bench, &session.id, "14.0")).await;
    assert!(refused.unwrap_err().contains("503"));
    assert_eq!(damper(&bench), "13.0");
    assert!(faults.list().is_empty(), "every fault met one write");

    let writes = bench.mock.box_writes_of(OPERATOR);
    let (lost, done) = (WriteOutcome::Lost, WriteOutcome::Done);
    assert_eq!(outcomes(&writes), [lost.clone(), done.clone(), done, lost]);
    let h = handle(&bench, DAMPER);
    for write in &writes {
        assert_eq!(
            (
                write.session.as_deref(),
                write.key.as_str(),
                write.target.as_str()
            ),
            (
                Some(session.id.as_str()),
                "syncTo",
                format!("s {h}/in9").as_str()
            )
        );
    }
    let audited = bench.mock.audit_of(OPERATOR);
    let values: Vec<&str> = audited
        .iter()
        .map(|entry| entry.new_value.as_str())
        .collect();
    assert_eq!(values, ["value=12.0,status=0", "value=13.0,status=0"]);
}

#[tokio::test]
async fn refusals_are_counted_with_their_text_and_reads_are_not() {
    let bench = bench().await;
    let client = bench.client(VIEWER);
    let session = client.session().await;
    post(&client, read(&session.id)).await.unwrap();
    post(&client, write(&bench, &session.id, "1.0"))
        .await
        .unwrap();
    let refused = "Permission denied: operatorWrite is required on slot:/AHU1/Damper";
    assert_eq!(
        outcomes(&bench.mock.box_writes()),
        [WriteOutcome::Refused(refused.to_owned())]
    );
    bench.mock.clear_logs();
    assert!(bench.mock.box_writes().is_empty());
}

#[tokio::test]
async fn a_fault_on_writes_also_meets_obix() {
    let bench = bench().await;
    let fault = Fault::new(FaultKind::ServerError { status: 502 })
        .on(Interface::Obix)
        .on_writes();
    bench.mock.faults().set(fault).unwrap();
    let client = bench.client(ADMIN);
    let (status, _) = client
        .request("GET", "/obix/config/AHU1/Damper/", String::new())
        .await;
    assert_eq!(status, 200);
    let set = r#"<real val="5.0"/>"#.to_owned();
    let (status, _) = client
        .request("POST", "/obix/config/AHU1/Damper/set/", set)
        .await;
    assert_eq!(status, 502);
    let query = "<obj/>".to_owned();
    let (status, _) = client
        .request("POST", "/obix/watchService/make/", query)
        .await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_restart_in_a_write_loses_the_session_and_plain_levels() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let h = handle(&bench, DAMPER).to_string();
    for (slot, value) in [
        ("in1", "1.0"),
        ("in8", "8.0"),
        ("in9", "9.0"),
        ("fallback", "17.0"),
    ] {
        session
            .sync(json!([{"nm": "s", "h": h, "n": slot, "b": numeric(value, "0")}]))
            .await;
    }
    let restart = Fault::new(FaultKind::Restart { down_millis: 0 }).on_writes();
    bench.mock.faults().set(restart).unwrap();
    assert!(
        post(&client, write(&bench, &session.id, "10.0"))
            .await
            .is_err()
    );
    assert_eq!(bench.mock.restarts(), 1);
    assert_eq!(
        outcomes(&bench.mock.box_writes()).last(),
        Some(&WriteOutcome::Lost)
    );
    assert_eq!(statuses(&bench), ["0", "0", "40", "0"]);
    let refused = client
        .refusal("ssession", "callssc", read(&session.id))
        .await;
    assert!(refused.contains("Unknown server session"), "{refused}");
}
