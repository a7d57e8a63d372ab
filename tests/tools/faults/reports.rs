//! What the diagnostics tell of services, interfaces and files.

use serde_json::json;

use crate::support::Bench;

#[tokio::test]
async fn health_reports_services_interfaces_and_files() {
    let bench = Bench::new().await;
    let health = bench.answer("getServiceHealth", json!({})).await;
    assert_eq!(
        (&health["alarmService"], &health["historyService"]),
        (&json!("ok"), &json!("ok"))
    );
    let station = &health["station"];
    assert_eq!(station["reachable"], json!(true));
    assert_eq!(station["url"], json!(bench.mock.url()));
    assert_eq!(station["name"], json!(bench.model().name()));
    assert_eq!(station["timeZone"], json!(bench.model().zone().name()));
    assert_eq!(
        (
            &station["interfaces"]["bql"]["usable"],
            &station["interfaces"]["box"]["usable"]
        ),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        (
            &health["knowledgeFile"]["exists"],
            &health["sampleResource"]
        ),
        (&json!(false), &json!("ok"))
    );

    bench.mock.switches().change(|switches| {
        switches.boxs.present = false;
        switches.export.alarm_base = false;
    });
    let health = bench.answer("getServiceHealth", json!({})).await;
    assert_eq!(
        (&health["alarmService"], &health["historyService"]),
        (&json!("unavailable"), &json!("ok"))
    );
    assert_eq!(
        health["station"]["interfaces"]["box"]["usable"],
        json!(false)
    );

    bench
        .mock
        .switches()
        .change(|switches| switches.faults.cut = true);
    let health = bench.answer("getServiceHealth", json!({})).await;
    assert!(
        health["alarmService"]
            .as_str()
            .unwrap()
            .starts_with("error: ")
    );
}

#[tokio::test]
async fn a_broken_knowledge_file_is_reported_by_the_diagnostics() {
    let bench = Bench::new().await;
    std::fs::write(bench.knowledge.path(), "equipment: 3\n").unwrap();
    bench.knowledge.reload().await;
    let info = bench.answer("getServerInfo", json!({})).await;
    assert_eq!(
        (
            &info["knowledgeFile"]["exists"],
            &info["knowledgeFile"]["equipmentCount"]
        ),
        (&json!(true), &json!(0))
    );
    assert!(
        info["knowledgeFile"]["error"]
            .as_str()
            .unwrap()
            .contains("equipment")
    );
    let health = bench.answer("getServiceHealth", json!({})).await;
    assert_eq!(health["knowledgeFile"]["readable"], json!(false));
}
