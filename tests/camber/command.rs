//! The command `camber`: one call, or the capabilities alone.

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::store_yard::StoreYard;

fn camber(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
        .arg("camber")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn one_call_prints_its_result_and_a_refusal_ends_with_1() {
    let yard = StoreYard::with_a_day();
    let store = yard.root().to_str().expect("a path");
    let points = ["points", "{\"facility_id\": \"hq\"}", "--store", store];
    let output = camber(&[&points[..], &["--allow", "hq"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let result = printed(&output);
    assert_eq!(result["data"]["count"], 4);
    let keys: Vec<&String> = result.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["data", "text", "facts", "banners", "truncated"]);
    let active = camber(&[&points[..], &["--allow-all-active"]].concat());
    // Another allowlist of the same facilities is the same: so is the token.
    assert_eq!(printed(&active), result);
    let refused = camber(&[&points[..], &["--allow", "annex"]].concat());
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(printed(&refused)["error"]["code"], "not_allowed");
}

#[test]
fn a_run_configuration_is_checked_at_the_start_and_part_of_the_token() {
    let yard = StoreYard::with_a_day();
    let store = yard.root().to_str().expect("a path");
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: Value| {
        let path = folder.path().join(name);
        std::fs::write(&path, content.to_string()).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    let good = file(
        "good.json",
        json!({"site": "hq", "rules": ["economizer_high_limit"]}),
    );
    let bad = file("bad.json", json!({"site": "hq", "rules": ["no_such_rule"]}));
    let call = |more: &[&str]| {
        camber(&[&["facilities", "--store", store, "--allow", "hq"][..], more].concat())
    };
    let id = |output: &Output| printed(output)["facts"][0]["id"].clone();
    let plain = call(&[]);
    let configured = call(&["--run-config", &good]);
    assert_ne!(id(&plain), id(&configured));
    assert_eq!(
        id(&configured),
        id(&call(&["--config", &good])),
        "the older name of the option"
    );
    assert_ne!(id(&plain), id(&call(&["--min-trust", "0.7"])));
    let slip = file(
        "slip.json",
        json!({"site": "annex", "rule": ["economizer_high_limit"]}),
    );
    let warned = call(&["--run-config", &slip]);
    assert_eq!(warned.status.code(), Some(0), "{warned:?}");
    let said = String::from_utf8_lossy(&warned.stderr);
    assert!(
        said.contains("rule: there is no such key") && said.contains("did you mean rules?"),
        "{said}"
    );
    assert!(
        said.contains("of a facility that is not served here") && said.contains("annex"),
        "{said}"
    );
    let unmatched = file(
        "unmatched.json",
        json!({"site": "hq", "equipment": [{"class": "AHUS"}], "topology": {"parents": {"AHU-1": "ahu_1"}}}),
    );
    let warned = call(&["--run-config", &unmatched]);
    let said = String::from_utf8_lossy(&warned.stderr);
    assert!(
        said.contains("AHUS") && said.contains("is its own parent"),
        "{said}"
    );
    let refused = call(&["--run-config", &bad]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("no_such_rule") && said.contains("bad.json"),
        "{said}"
    );
}

#[test]
fn a_wrong_name_ends_with_1_and_names_the_right_ones() {
    let yard = StoreYard::with_a_day();
    let store = yard.root().to_str().expect("a path");
    let output = camber(&["nope", "--store", store, "--allow", "hq"]);
    assert_eq!(output.status.code(), Some(1));
    let message = printed(&output)["error"]["message"].to_string();
    assert!(
        message.contains("check_citations") && message.contains("sensor_trust"),
        "{message}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let knowledge = folder.path().join("knowledge.yaml");
    std::fs::write(
        &knowledge,
        "schema_version: 1\nstation: {id: annex}\nequipment_types: []\nequipment:\n\
         - {id: ahu-1, type: ahu, points: {supply_air_temp: 'station:|slot:/a'}}\n",
    )
    .expect("a file");
    let knowledge = knowledge.to_str().expect("a path");
    let output = camber(&[
        "init-config",
        "--facility",
        "hq2",
        "--knowledge",
        knowledge,
        "--store",
        store,
    ]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("no facility \"hq2\" (did you mean hq?); known are annex, hq"),
        "{said}"
    );
    let output = camber(&[
        "init-config",
        "--facility",
        "hq",
        "--knowledge",
        knowledge,
        "--store",
        store,
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn numbers_of_any_size_are_checked_digit_by_digit() {
    let yard = StoreYard::new();
    let store = yard.root().to_str().expect("a path");
    // 2^64 and 10^30 + 1, which no float tells from their neighbours.
    let facts = r#"[{"id": "F1@x", "text": "counts", "value": 18446744073709551616,
        "more": {"list": [1000000000000000000000000000001, -36893488147419103233]}}]"#;
    for (number, verdict) in [
        ("18446744073709551616", "supported"),
        ("18,446,744,073,709,551,616", "supported"),
        ("1000000000000000000000000000001", "supported"),
        ("18446744073709551617", "unsupported_number"),
        ("18446744073709552000", "unsupported_number"),
        ("1000000000000000000000000000000", "unsupported_number"),
        // The minus of a value is no part of its number, and what stands behind one is none.
        ("36893488147419103233", "unsupported_number"),
    ] {
        let arguments =
            format!(r#"{{"text": "It is {number} [F1@x].", "facts": {facts}, "detail": true}}"#);
        let output = camber(&[
            "check_citations",
            &arguments,
            "--store",
            store,
            "--allow",
            "hq",
        ]);
        let result = printed(&output);
        assert_eq!(
            result["data"]["sentences"][0]["verdict"], verdict,
            "{number}"
        );
    }
}

#[test]
fn wrong_usage_ends_with_2_and_a_wrong_start_with_1() {
    let yard = StoreYard::with_a_day();
    let store = yard.root().to_str().expect("a path");
    for arguments in [
        &["points", "--store", store][..],
        &["points", "--allow", "hq"],
        &[
            "points",
            "--store",
            store,
            "--allow",
            "hq",
            "--allow-all-active",
        ],
        &[
            "points",
            "--store",
            store,
            "--allow",
            "hq",
            "--min-trust",
            "2",
        ],
        &["points", "--store", store, "--allow", "hq", "--stdio"],
        &["--store", store, "--allow", "hq"],
    ] {
        assert_eq!(camber(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("letter.txt"), "hello").expect("a file");
    let foreign = folder.path().to_str().expect("a path");
    let empty = StoreYard::new();
    for arguments in [
        &["facilities", "--store", foreign, "--allow", "hq"][..],
        &["facilities", "--store", "/no/such/folder", "--allow", "hq"],
        &[
            "facilities",
            "--store",
            empty.root().to_str().expect("a path"),
            "--allow-all-active",
        ],
        &["facilities", "--store", store, "--allow", " "],
        &["facilities", "{", "--store", store, "--allow", "hq"],
    ] {
        let output = camber(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr).lines().count(),
            1,
            "{output:?}"
        );
    }
}

#[test]
fn the_server_on_standard_input_ends_with_its_input() {
    let yard = StoreYard::with_a_day();
    let store = yard.root().to_str().expect("a path");
    let output = camber(&["--stdio", "--store", store, "--allow-all-active"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty());
}
