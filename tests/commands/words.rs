//! What commands say, and with which exit code they end.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use niagara_bridge::trends::store::wall_clock::MINUTE;
use niagara_bridge::trends::store::{EquipmentRows, FacilityId, RoleColumn, TrendStore};
use serde_json::json;

use super::demo::Demo;
use super::{bridge, run, text};

/// The exit code of a command whose results and words nobody reads, as behind `2>&1 | head -0`.
fn unread(arguments: &[&str]) -> i32 {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = bridge(arguments)
        .stdout(writer.try_clone().expect("one more end"))
        .stderr(writer)
        .status()
        .expect("runs");
    status.code().expect("an exit code")
}

#[test]
fn a_reader_that_has_gone_ends_every_command_quietly() {
    let demo = Demo::start();
    let folder = tempfile::tempdir().expect("folder");
    let config = folder.path().join("config.yaml");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("folder");
    let settings = json!({
        "dataDir": data,
        "station": { "url": demo.station, "user": "bridge", "password": "secret" },
    });
    std::fs::write(&config, settings.to_string()).expect("write");
    let trends = data.join("trends");
    let store = TrendStore::create(&trends).expect("a store");
    let rows = EquipmentRows {
        equip: "AHU-1".to_owned(),
        equip_class: "AHU".to_owned(),
        columns: vec![RoleColumn {
            role: "oat".to_owned(),
            stamps: (0..20_000).map(|minute| minute * MINUTE).collect(),
            values: vec![50.0; 20_000],
        }],
    };
    let hq = FacilityId::parse("hq").expect("an id");
    let mut writer = store.writer(Duration::ZERO).expect("the lock");
    writer.append(&hq, &[rows], None).expect("stored");
    drop(writer);
    let (config, store) = (text(&config), text(&trends));
    let address = demo.station.trim_start_matches("http://");
    for command in [
        &["--help"][..],
        &["init"],
        &["probe", "--no-fox", address],
        &["user", "list", "--config", config],
        &["store", "list", "--store", store],
        &["store", "list", "--json", "--config", config],
        &["store", "verify", "--store", store],
        &["store", "compact", "--store", store],
        &["store", "prune", "--before", "2024-01-01", "--store", store],
        &["store", "facility", "activate", "hq", "--store", store],
        &["trends", "export", "hq", "--store", store],
        &[
            "trends", "export", "hq", "--store", store, "--format", "arrow",
        ],
        &[
            "camber",
            "coverage",
            r#"{"facility_id": "hq"}"#,
            "--store",
            store,
            "--allow",
            "hq",
        ],
        &["camber", "--stdio", "--store", store, "--allow", "hq"],
    ] {
        assert_eq!(unread(command), 0, "{command:?}");
    }
    // A token that nobody read is lost: that is worth a failure.
    let bind = ["user", "bind", "ann", "--no-password", "--config", config];
    assert_eq!(unread(&bind), 1);
}

#[test]
fn mistakes_end_with_a_sentence_and_the_right_code() {
    for (arguments, code, words) in [
        (
            vec!["serve", "--config", "no/such.yaml"],
            1,
            "no/such.yaml cannot be read",
        ),
        (vec!["probe", "http://127.0.0.1:9"], 1, "cannot be reached"),
        (
            vec!["probe", "ftp://127.0.0.1"],
            2,
            "no http, https, fox or foxs address",
        ),
        (
            vec!["stdio", "--url", "http://127.0.0.1:9/mcp"],
            1,
            "NIAGARA_BRIDGE_TOKEN holds no token",
        ),
        (vec!["init", "no/such/folder/x.yaml"], 1, "does not exist"),
        (vec!["demo", "--api-token", "short"], 1, "needs 32 or more"),
        (
            vec!["docs", "--check", "no/README.md"],
            1,
            "no/README.md cannot be read",
        ),
        (vec!["bogus"], 2, "bogus"),
        (vec!["probe"], 2, "URL|HOST[:PORT]"),
        (vec!["probe", "10.0.0.1-20"], 2, "never probed"),
        (
            vec!["probe", "127.0.0.1", "--password-file", "x"],
            2,
            "--user",
        ),
    ] {
        let (ended, stdout, stderr) = run(&arguments);
        assert_eq!(ended, code, "{arguments:?}: {stderr}");
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
        assert_eq!(stdout, "", "standard output is for results");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn init_writes_a_configuration_that_lacks_only_the_station() {
    let (code, config, _) = run(&["init"]);
    assert_eq!(code, 0);
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, config).expect("write");
    let (code, _, stderr) = run(&["serve", "--config", text(&file)]);
    assert_eq!(code, 1);
    assert!(stderr.contains("station.url is not set"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn a_file_whose_secret_every_user_can_read_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, format!("apiToken: {}\n", "t".repeat(40))).expect("write");
    for (mode, warned) in [(0o644, true), (0o640, false), (0o600, false)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("mode");
        let (_, _, stderr) = run(&["serve", "--config", text(&file)]);
        assert_eq!(
            stderr.contains("every user of this machine can read"),
            warned,
            "{mode:o}: {stderr}"
        );
    }
}

#[test]
fn serve_tells_at_once_whether_the_station_accepts_the_login() {
    let demo = Demo::start();
    let account = mock_station::model::accounts::BRIDGE;
    for (password, words) in [
        (account.password, "the station accepts the login"),
        ("wrong", "the station cannot be used yet"),
    ] {
        let folder = tempfile::tempdir().expect("folder");
        let config = folder.path().join("config.yaml");
        let settings = json!({
            "listen": "127.0.0.1:0",
            "apiToken": "t".repeat(40),
            "dataDir": folder.path().join("data"),
            "station": { "url": demo.station, "user": account.user, "password": password },
        });
        std::fs::write(&config, settings.to_string()).expect("write");
        let mut child = bridge(&["serve", "--config", text(&config)])
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let log = BufReader::new(child.stderr.take().expect("log"));
        let told = log.lines().any(|line| line.expect("text").contains(words));
        child.kill().expect("killed");
        child.wait().expect("ends");
        assert!(told, "{words}");
    }
}
