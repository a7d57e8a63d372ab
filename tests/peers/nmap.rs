//! nmap's `fox-info` script identifies the stand-in station on its plain Fox port, and hears the same as the model says.

use std::process::Stdio;

use mock_station::fox::{FoxScenario, FoxSettings};
use mock_station::server::MockStation;
use tokio::process::Command;

use crate::programs::Peers;

/// The report of nmap on one port of this machine.
async fn scan(port: u16) -> String {
    let output = Command::new("nmap")
        .args(["-Pn", "-n", "--script", "+fox-info", "-p"])
        .arg(port.to_string())
        .arg("127.0.0.1")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("nmap starts: run .ci/run, which installs it");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{report}");
    report
}

/// The value of a key in the script's part of a report.
fn told<'a>(report: &'a str, key: &str) -> Option<&'a str> {
    report.lines().find_map(|line| {
        let (name, value) = line.trim_start_matches(['|', '_', ' ']).split_once(": ")?;
        (name == key).then_some(value)
    })
}

#[tokio::test]
async fn nmap_identifies_the_station_on_plain_fox() {
    if Peers::find("nmap_identifies_the_station_on_plain_fox").is_none() {
        return;
    }
    let station = MockStation::builder()
        .fox(FoxSettings::from(FoxScenario::N4))
        .start()
        .await
        .expect("free ports on loopback");
    let fox = station.fox().expect("it was asked for");
    let port = fox.address().expect("the plain port is open").port();
    let host = station.station().read().identity.host_name.clone();

    let n4 = scan(port).await;
    assert_eq!(told(&n4, "fox.version"), Some("1.0.2"), "{n4}");
    assert_eq!(told(&n4, "hostName"), Some(host.as_str()));
    assert_eq!(told(&n4, "app.name"), Some("Station"));
    assert_eq!(told(&n4, "app.version"), None, "N4 does not tell it");

    fox.play(FoxScenario::Ax);
    let ax = scan(port).await;
    assert_eq!(told(&ax, "app.version"), Some("3.8.111"), "{ax}");
    let zone = station.station().read().zone();
    assert_eq!(told(&ax, "timeZone"), Some(zone.name()));
    assert_eq!(told(&ax, "brandId"), Some("vykon"));

    fox.play(FoxScenario::Fatal);
    let fatal = scan(port).await;
    assert!(told(&fatal, "fatal").is_some(), "{fatal}");

    fox.play(FoxScenario::Echo);
    let echo = scan(port).await;
    assert!(!echo.contains("fox-info"), "an echo is no station: {echo}");
    assert!(
        fox.connections()
            .iter()
            .all(|connection| connection.received_total <= 52)
    );
}
