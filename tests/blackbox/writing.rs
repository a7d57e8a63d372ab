//! Numbers 25 to 32: a user bound by setupTestUser builds, changes, saves and removes; and what is left behind of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use mock_station::model::accounts;
use serde_json::{Value, json};

use crate::client::Client;
use crate::demo::Demo;

/// The token that the script chooses for its user.
const CHOSEN: &str = "Sentinel-token-of-the-script";

const SECRET_VALUE: &str = "Sentinel-slot-value-7";

const ROOT: &str = "station:|slot:/";

/// Binds the user of the script and logs in as that user.
fn user(demo: &Demo) -> Client {
    let mut service = demo.client(&demo.token);
    service.initialize();
    let arguments = json!({"username": "admin", "token": CHOSEN});
    let bound = service.facts("setupTestUser", arguments);
    assert_eq!(bound["readbackMatches"], true);

    // Without a user nothing is created, and the refusal is one of the protocol.
    let arguments = json!({"parentOrd": ROOT, "type": "baja:Folder", "name": "BlackBox"});
    let call = json!({"name": "createComponent", "arguments": arguments});
    let refused = service.post("tools/call", call);
    assert_eq!(refused.status, 200);
    let error = &refused.json()["error"];
    assert_eq!(error["code"], -32011);
    assert_eq!(error["data"]["requiresUserContext"], true);

    let mut user = demo.client(CHOSEN);
    user.initialize();
    user
}

#[test]
fn a_user_builds_changes_saves_and_removes_and_no_secret_stays_behind() {
    let mut demo = Demo::start();
    let mut user = user(&demo);

    // 25
    let arguments = json!({"parentOrd": ROOT, "type": "baja:Folder", "name": "BlackBox"});
    let folder = user.facts("createComponent", arguments)["ord"].clone();
    assert_eq!(folder, "station:|slot:/BlackBox");

    // 26
    let arguments = json!({"parentOrd": folder, "type": "baja:String", "name": "note"});
    user.facts("createComponent", arguments);

    // 27
    let arguments = json!({"ord": folder, "slotName": "note", "value": "from the script"});
    let set = user.facts("setSlot", arguments);
    assert_eq!(set["newValue"], "from the script");

    // 28
    let arguments = json!({"ord": folder, "slotName": "note"});
    let cleared = user.facts("clearSlot", arguments);
    assert!(cleared["changed"].is_boolean(), "{cleared}");

    // 29
    let arguments = json!({"ord": folder, "actionName": "noSuchAction"});
    let unknown = user.call("invokeAction", arguments);
    assert_eq!(unknown["errorCode"], -32014, "{unknown}");

    // 30
    let saved = user.facts("commitStation", json!({}));
    assert_eq!(saved["saved"], true);
    assert_eq!(saved["persisted"], "unknown");

    let arguments = json!({"parentOrd": folder, "type": "baja:String", "name": "smtpPassword"});
    user.facts("createComponent", arguments);
    let arguments = json!({"ord": folder, "slotName": "smtpPassword", "value": SECRET_VALUE});
    user.call("setSlot", arguments);

    // 31
    let rehearsed = user.facts("removeComponent", json!({"ord": folder}));
    assert_eq!(
        (&rehearsed["removed"], &rehearsed["wouldRemove"]),
        (&json!(false), &json!(true))
    );

    // 32
    let arguments = json!({"ord": folder, "dryRun": false});
    let removed = user.facts("removeComponent", arguments);
    assert_eq!(removed["removed"], true);
    let gone = user.facts("probeOrd", json!({"ord": folder}));
    assert_eq!(gone["exists"], false);

    let stranger = demo.client("Sentinel-token-of-nobody");
    let refused = stranger.exchange("POST", "/mcp", Some("{}"));
    assert_eq!(refused.status, 401);

    is_recorded(&demo);
    let log = demo.end();
    tells_nothing(&demo, &log);
}

/// One intent and one outcome for each write that was sent, in the name of the user; `audit verify` agrees.
fn is_recorded(demo: &Demo) {
    let journal = demo.lines("audit.journal");
    let of_kind = |kind: &str| {
        journal
            .iter()
            .filter(|record| record["kind"] == kind)
            .count()
    };
    let log = demo.lines("niagaramcp.audit.log");
    assert_eq!(of_kind("outcome"), log.len());
    assert_eq!(of_kind("intent"), 8, "{log:#?}");
    // The service identity is told that it is no user before a tool runs, and that is recorded as well.
    for line in &log {
        let of_user = line["user"] == "admin";
        let of_service = line["user"] == "service" && line["errorCode"] == "-32011";
        assert!(of_user || of_service, "{line:#}");
    }
    let done: Vec<&str> = log
        .iter()
        .filter(|line| line["resultOk"] == true)
        .filter_map(|line| line["action"].as_str())
        .collect();
    assert_eq!(
        done,
        ["add", "add", "set", "clear", "save", "add", "set", "remove"]
    );
    let verified = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
        .args(["audit", "verify", "--data-dir"])
        .arg(demo.folder())
        .output()
        .expect("runs");
    assert!(verified.status.success(), "{verified:?}");
}

/// No password, no token and no secret value in the log or in any file.
fn tells_nothing(demo: &Demo, log: &str) {
    assert!(
        log.contains("createComponent"),
        "the log tells of the calls"
    );
    let mut secrets: Vec<&str> = accounts::ALL
        .iter()
        .map(|account| account.password)
        .collect();
    secrets.extend(["Sentinel", demo.token.as_str()]);
    let mut texts = vec![("the log".to_owned(), log.to_owned())];
    for file in files(demo.folder()) {
        let bytes = std::fs::read(&file).expect("readable");
        texts.push((
            file.display().to_string(),
            String::from_utf8_lossy(&bytes).into_owned(),
        ));
    }
    assert!(texts.len() > 4, "audit, vault and users are looked at");
    for (name, text) in &texts {
        for secret in &secrets {
            let told = text.lines().find(|line| line.contains(secret));
            assert_eq!(told, None, "{name} tells {secret}");
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Number 2 for the demo: what the client looks for, and the counts of the whole surface.
#[test]
fn the_demo_lists_the_forty_six_tools_of_the_contract_in_their_categories() {
    let demo = Demo::start();
    let mut client = demo.client(&demo.token);
    client.initialize();
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["tools"].as_array().expect("tools");
    // The 46 come first (Tool surface §8.1).
    let contract = &tools[..46];
    let count = |test: &dyn Fn(&Value) -> bool| contract.iter().filter(|tool| test(tool)).count();
    for (category, expected) in [
        ("transport-test", 1),
        ("read", 3),
        ("write", 10),
        ("walkthrough-read", 4),
        ("walkthrough-write", 10),
        ("management", 5),
        ("search", 3),
        ("history", 1),
        ("alarms", 2),
        ("diagnostic", 7),
    ] {
        assert_eq!(
            count(&|tool| tool["category"] == category),
            expected,
            "{category}"
        );
    }
    assert_eq!(count(&|tool| tool["requiresUserContext"] == true), 9);
    assert_eq!(contract[45]["name"], "clearSlot");
    let resources = client.ask("resources/list", json!({}));
    assert_eq!(resources["resources"].as_array().map(Vec::len), Some(3));
    let prompts = client.ask("prompts/list", json!({}));
    assert!(prompts["prompts"].as_array().map(Vec::len) >= Some(7));
}
