//! pyhaystack's Niagara 4 session logs in to the stand-in station by form SCRAM and reads a BQL table.

use mock_station::model::accounts::VIEWER;
use mock_station::server::{LoginOutcome, MockStation};
use mock_station::switches::OrdForms;

use crate::programs::{Peers, observe, script};

/// pyhaystack drops leading zero digits of its proof, so about one login in twenty fails by its own fault.
const ATTEMPTS: usize = 6;

#[tokio::test]
async fn pyhaystack_logs_in_and_reads_a_table() {
    let Some(peers) = Peers::find("pyhaystack_logs_in_and_reads_a_table") else {
        return;
    };
    let station = MockStation::builder()
        .start()
        .await
        .expect("a free port on loopback");
    station.switches().change(|switches| {
        switches.login.lockout = false;
        switches.ord.forms = OrdForms::ALL;
    });

    let mut answer = None;
    for _ in 0..ATTEMPTS {
        station.clear_logs();
        let mut client = peers.python("pyhaystack");
        client
            .arg(script("pyhaystack_bql.py"))
            .arg(station.url())
            .arg(VIEWER.user)
            .arg(VIEWER.password)
            .arg("station:|slot:/|bql:select slotPath, name, type from control:ControlPoint");
        let seen = observe(client).await;
        if seen["ok"] == true {
            answer = Some(seen);
            break;
        }
        let outcomes: Vec<LoginOutcome> =
            station.logins().iter().map(|entry| entry.outcome).collect();
        assert_eq!(
            outcomes,
            [LoginOutcome::BadProof],
            "the only excuse for {seen} is a bad proof of the client"
        );
    }
    let seen = answer.expect("one login in six attempts");

    let rows: Vec<[String; 3]> = seen["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            [0, 1, 2].map(|column| row[column].as_str().unwrap_or_default().trim().to_owned())
        })
        .collect();

    let model = station.station().read();
    let expected: Vec<[String; 3]> = model
        .descendants(model.root())
        .filter(|component| component.ty().is("control:ControlPoint"))
        .map(|component| {
            [
                model.slot_path(component.handle()),
                component.name().to_owned(),
                component.ty().spec().to_owned(),
            ]
        })
        .collect();
    assert!(expected.len() > 5, "the sample station has points");
    assert_eq!(rows, expected);
}
