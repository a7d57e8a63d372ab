//! The two dumps that people attach to a support request.

use mock_station::faults::{Fault, FaultKind};
use niagara_bridge::tools::ErrorCode;
use serde_json::{Value, json};

use crate::harborview;
use crate::station_bench::Bench;

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

#[tokio::test]
async fn the_diagnostic_dump_tells_the_knowledge_its_last_edits_and_the_health() {
    let bench = Bench::new().await;
    for number in 0..26 {
        let arguments = json!({"id": format!("floor-{number}"), "name": "Floor"});
        bench.answer("createSpace", arguments).await;
    }
    let answer = bench.answer("getDiagnosticDump", json!({})).await;
    assert_eq!(
        keys(&answer),
        ["server", "sessions", "knowledge", "health", "auditLogTail"]
    );
    let path = bench.knowledge.path();
    assert_eq!(
        answer["knowledge"],
        json!({
            "location": path.display().to_string(),
            "sizeBytes": std::fs::metadata(path).expect("the file").len(),
            "exists": true,
            "equipmentCount": 0,
            "spaceCount": 26,
            "equipmentTypeCount": 0,
            "standalonePointCount": 0,
        })
    );
    assert_eq!(
        answer["health"],
        json!({"alarmService": "ok", "historyService": "ok", "knowledgeFile": "ok"})
    );
    assert_eq!(
        answer["sessions"],
        json!({"totalActiveCount": 0, "sse": 0, "streamable": 0})
    );
    let log = std::fs::read_to_string(bench.knowledge.audit_log_path()).expect("the log");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 26);
    assert_eq!(answer["auditLogTail"], json!(lines[6..]));
}

#[tokio::test]
async fn a_station_that_is_down_and_a_broken_file_are_part_of_the_answer() {
    let bench = Bench::new().await;
    let cut = Fault::new(FaultKind::Cut);
    bench.mock.faults().set(cut).expect("a fault");
    let answer = bench.answer("getDiagnosticDump", json!({})).await;
    assert_eq!(
        answer["health"],
        json!({"alarmService": "error", "historyService": "error", "knowledgeFile": "empty"})
    );
    assert_eq!(
        (&answer["knowledge"]["sizeBytes"], &answer["auditLogTail"]),
        (&json!(-1), &json!([]))
    );
    std::fs::write(bench.knowledge.path(), "equipment: 3\n").expect("a file");
    bench.knowledge.reload().await;
    let answer = bench.answer("getDiagnosticDump", json!({})).await;
    assert_eq!(answer["health"]["knowledgeFile"], "no-store");
    assert!(
        answer["knowledge"]["error"]
            .as_str()
            .expect("an error")
            .contains("wrong at equipment")
    );
}

#[tokio::test]
async fn the_feature_dump_has_the_contractual_keys_and_the_fifteen_codes() {
    let bench = harborview::mapped().await;
    let result = bench
        .call("getFeatureDump", json!({"format": "JSON"}))
        .await;
    let answer = &result["structuredContent"];
    assert_eq!(
        keys(answer),
        [
            "version",
            "tools",
            "resources",
            "prompts",
            "transports",
            "knowledge",
            "sessionCount",
            "health",
            "errorCodes"
        ]
    );
    assert_eq!(keys(&answer["tools"]), ["totalCount", "byCategory"]);
    assert_eq!(
        keys(&answer["resources"]),
        ["totalCount", "static", "templates"]
    );
    assert_eq!(keys(&answer["prompts"]), ["totalCount", "names"]);
    assert_eq!(keys(&answer["transports"]), ["sse", "streamableHttp"]);
    assert_eq!(
        keys(&answer["knowledge"]),
        [
            "filePath",
            "fileExists",
            "fileSize",
            "equipmentCount",
            "spaceCount",
            "equipmentTypeCount",
            "standalonePointCount"
        ]
    );
    let codes: Vec<Value> = ErrorCode::IMPLEMENTATION_DEFINED
        .iter()
        .map(|code| json!({"code": code.code(), "meaning": code.meaning()}))
        .collect();
    assert_eq!((codes.len(), &answer["errorCodes"]), (15, &json!(codes)));
}

#[tokio::test]
async fn the_text_form_has_its_headings_in_order_whatever_other_format_is_asked() {
    let bench = harborview::mapped().await;
    let text = |result: Value| {
        result["content"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    let plain = bench.call("getFeatureDump", json!({})).await;
    assert_eq!(plain.get("structuredContent"), None);
    let plain = text(plain);
    assert_eq!(
        text(bench.call("getFeatureDump", json!({"format": "xml"})).await),
        plain
    );
    let places: Vec<usize> = [
        "niagara-bridge ",
        "\n\nTools (",
        "\n\nResources (",
        "\n\nPrompts (",
        "\n\nTransports:\n",
        "\n\nKnowledge:\n",
        "\n\nSessions: 0\n",
        "\n\nHealth:\n",
        "\n\nError codes:\n",
    ]
    .iter()
    .map(|heading| {
        plain
            .find(heading)
            .unwrap_or_else(|| panic!("no {heading:?} in {plain}"))
    })
    .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        plain.contains("\n  -32016  link type mismatch\n"),
        "{plain}"
    );
    assert!(plain.contains("\n  alarmService    ok\n"), "{plain}");
}
