//! Whoever may not command a point may not take its commands away either: not by removing what a link comes from, nor
//! the folder that it lies in.

use mock_station::model::accounts::ADMIN;
use mock_station::model::users::Role;
use mock_station::model::{Permissions, User};
use niagara_bridge::audit::AuditOptions;
use serde_json::{Value, json};

use crate::office::{Office, context, failure_of};

const LINKED: &str = "station:|slot:/Logic/Linked";
const SOURCE: &str = "station:|slot:/Logic/Setpoint";
const PLANT: &str = "station:|slot:/Logic/Plant";

/// A folder with a folder with a point that commands `Linked` and another point, both outside, and one inside.
fn plant(office: &Office) {
    let mut station = office.site.frozen.station.station().write();
    let logic = station.resolve_component("slot:/Logic").expect("there");
    let mut add = |parent, name: &str, spec: &str| {
        station.add(parent, Some(name), spec).expect("a component")
    };
    let plant = add(logic, "Plant", "baja:Folder");
    let pump = add(plant, "Pump", "baja:Folder");
    let speed = add(pump, "Speed", "control:NumericWritable");
    let echo = add(pump, "Echo", "control:NumericWritable");
    let spare = add(logic, "Spare", "control:NumericWritable");
    let linked = station
        .resolve_component("slot:/Logic/Linked")
        .expect("there");
    for (target, slot) in [(echo, "in10"), (linked, "in7"), (spare, "in8")] {
        station.link(speed, "out", target, slot).expect("linked");
    }
}

async fn office(writes: Value) -> Office {
    let office = Office::with(writes, AuditOptions::default()).await;
    plant(&office);
    office.site.writes();
    office
}

fn forced(ord: &str) -> Value {
    json!({"ord": ord, "dryRun": false, "force": true})
}

fn exists(office: &Office, ord: &str) -> bool {
    let path = ord.trim_start_matches("station:|");
    let station = office.site.frozen.station.station().read();
    station.resolve(path).is_ok()
}

/// Refused by both the dry run and the removal, with nothing sent.
async fn refuses(office: &Office, ord: &str, policy: &str, sinks: &[&str]) -> String {
    let rehearsal = json!({"ord": ord, "dryRun": true, "force": true});
    let mut text = String::new();
    for arguments in [rehearsal, forced(ord)] {
        let answer = office
            .call_as(ADMIN, "removeComponent", arguments.clone())
            .await;
        let (code, data) = failure_of(&answer);
        assert_eq!(
            (code, &data["policy"]),
            (-32010, &json!(policy)),
            "{answer}"
        );
        assert_eq!(data["deniedSinks"], json!(sinks), "{arguments}");
        text = answer["content"][0]["text"].to_string();
        for sink in sinks {
            let path = sink.trim_start_matches("station:|slot:");
            assert!(text.contains(path), "{text}");
        }
    }
    assert_eq!(office.site.writes(), [], "nothing is sent");
    assert!(exists(office, ord));
    text
}

#[tokio::test]
async fn a_source_of_a_denied_sink_is_not_removed_however_it_is_named() {
    let office = office(json!({"deny": ["slot:/Logic/Linked"], "confirmDestructive": false})).await;
    let text = refuses(&office, SOURCE, "ord-denied", &[LINKED]).await;
    for part in ["in16", "writes.deny", "slot:/Logic/Linked"] {
        assert!(text.contains(part), "{text}");
    }
    let handle = format!("h:{}", office.site.handle("slot:/Logic/Setpoint"));
    refuses(&office, &handle, "ord-denied", &[LINKED]).await;
    refuses(&office, PLANT, "ord-denied", &[LINKED]).await;
    refuses(
        &office,
        &format!("{PLANT}/Pump/Speed"),
        "ord-denied",
        &[LINKED],
    )
    .await;
    assert_eq!(
        office.last_line(0, 4)["policy"],
        "ord-denied",
        "each is recorded as refused, and none as tried"
    );

    // What has no link to it goes.
    let spare = forced("station:|slot:/Logic/Sensor");
    let gone = office.answer(ADMIN, "removeComponent", spare).await;
    assert_eq!(gone["removed"], true);
    office.allow(json!({"confirmDestructive": false}));
    let gone = office
        .answer(ADMIN, "removeComponent", forced(SOURCE))
        .await;
    assert_eq!(gone["removed"], true);
    assert!(!exists(&office, SOURCE));
}

#[tokio::test]
async fn all_sinks_are_judged_and_named_and_those_that_go_along_are_not_among_them() {
    let office = office(json!({
        "allow": ["slot:/Logic/Plant", "slot:/Logic/Plant/**"], "confirmDestructive": false,
    }))
    .await;
    let spare = "station:|slot:/Logic/Spare";
    let text = refuses(&office, PLANT, "ord-not-allowed", &[LINKED, spare]).await;
    assert!(!text.contains("Echo"), "{text}");
    let own = json!({
        "principals": {"admin": {"deny": ["slot:/Logic/Sp*"]}}, "confirmDestructive": false,
    });
    office.allow(own);
    refuses(&office, PLANT, "ord-denied", &[spare]).await;
}

#[tokio::test]
async fn levels_of_sinks_count_as_if_the_link_were_removed_by_itself() {
    let office = office(json!({"priorities": ["10-16"], "confirmDestructive": false})).await;
    let spare = "station:|slot:/Logic/Spare";
    refuses(&office, PLANT, "priority", &[LINKED, spare]).await;
    office.allow(json!({"confirmDestructive": false}));
    let answer = office
        .confirmed(ADMIN, "removeComponent", forced(PLANT))
        .await;
    assert_eq!(answer["isError"], false, "{answer}");
    assert!(!exists(&office, PLANT));
}

#[tokio::test]
async fn sinks_that_are_to_be_confirmed_are_asked_about_and_looked_at_again() {
    let confirm = json!({"confirm": ["slot:/Logic/Linked"], "confirmDestructive": false});
    let office = office(confirm).await;
    let rehearsal = json!({"ord": SOURCE, "force": true});
    let told = office.answer(ADMIN, "removeComponent", rehearsal).await;
    assert!(told["confirm"].is_string(), "{told}");
    let (_, data) = office
        .failure(ADMIN, "removeComponent", forced(SOURCE))
        .await;
    assert_eq!(data["policy"], "confirmation");

    {
        let mut station = office.site.frozen.station.station().write();
        let resolve = |path: &str| station.resolve_component(path).expect("there");
        let (source, fan) = (
            resolve("slot:/Logic/Setpoint"),
            resolve("slot:/Logic/Spare"),
        );
        station.link(source, "out", fan, "in12").expect("linked");
    }
    let mut confirmed = forced(SOURCE);
    confirmed["confirm"] = data["confirm"].clone();
    // The sink that nobody was asked about is judged again by the call that confirms.
    office.allow(json!({
        "confirm": ["slot:/Logic/Linked"], "deny": ["slot:/Logic/Spare"], "confirmDestructive": false,
    }));
    let (code, data) = office.failure(ADMIN, "removeComponent", confirmed).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("ord-denied")));
    assert_eq!(office.site.writes(), []);
    assert!(exists(&office, SOURCE));
}

#[tokio::test]
async fn links_themselves_are_guarded_by_the_rules_of_their_sink() {
    let office = office(json!({"deny": ["slot:/Logic/Linked"], "confirmDestructive": false})).await;
    let link = "Link";
    let ends = json!({
        "sourceOrd": SOURCE, "sourceSlot": "out", "sinkOrd": LINKED, "sinkSlot": "in11",
    });
    for (tool, arguments) in [
        ("unlinkSlots", json!({"sinkOrd": LINKED, "linkName": link})),
        (
            "unlinkSlots",
            json!({"linkOrd": format!("{LINKED}/{link}")}),
        ),
        ("removeComponent", forced(&format!("{LINKED}/{link}"))),
        ("linkSlots", ends),
    ] {
        let (code, data) = office.failure(ADMIN, tool, arguments).await;
        assert_eq!(
            (code, &data["policy"]),
            (-32010, &json!("ord-denied")),
            "{tool}"
        );
    }
    assert_eq!(office.site.writes(), []);
}

#[tokio::test]
async fn a_property_is_not_removed_from_under_a_denied_sink_either() {
    let office = office(json!({"deny": ["slot:/Logic/Spare"], "confirmDestructive": false})).await;
    let simples = "station:|slot:/Logic/Simples";
    {
        let mut station = office.site.frozen.station.station().write();
        let resolve = |path: &str| station.resolve_component(path).expect("there");
        let (source, sink) = (resolve("slot:/Logic/Simples"), resolve("slot:/Logic/Spare"));
        station.link(source, "double", sink, "in9").expect("linked");
    }
    let spare = "station:|slot:/Logic/Spare";
    refuses(
        &office,
        &format!("{simples}/double"),
        "ord-denied",
        &[spare],
    )
    .await;
    let other = forced(&format!("{simples}/integer"));
    let gone = office.answer(ADMIN, "removeComponent", other).await;
    assert_eq!(gone["removed"], true, "its neighbour has no link");
}

/// A user who may change everything but does not see one of the sinks.
async fn office_of_a_builder(writes: Value) -> Office {
    let office = office(writes).await;
    let hidden = office.site.handle("slot:/Logic/Linked");
    {
        let mut station = office.site.frozen.station.station().write();
        let role = Role {
            name: "builder".into(),
            super_user: false,
            permissions: [(1, Permissions::ALL)].into(),
        };
        station.add_role(role).expect("a role");
        let user = User::new("builder", "Builder-Harborview-1", 8, &["builder"]);
        station.add_user(user).expect("a user");
        let mask = station
            .users
            .category_mask(mock_station::model::accounts::AHU1_CATEGORY);
        station.set_categories(hidden, mask).expect("hidden");
    }
    office.keep_password("builder", "Builder-Harborview-1");
    office
}

#[tokio::test]
async fn a_sink_that_the_caller_does_not_see_is_guarded_and_not_named() {
    let builder = || context(Some("builder"));
    for (policy, rules) in [
        ("ord-denied", json!({"deny": ["slot:/Logic/Linked"]})),
        (
            "ord-not-allowed",
            json!({"allow": ["slot:/Logic/Setpoint", "slot:/Logic/Setpoint/**"]}),
        ),
        ("priority", json!({"priorities": ["1-15"]})),
        (
            "ord-denied",
            json!({"principals": {"builder": {"deny": ["slot:/*/Lin*"]}}}),
        ),
    ] {
        let mut rules = rules;
        rules["confirmDestructive"] = json!(false);
        let office = office_of_a_builder(rules.clone()).await;
        for arguments in [json!({"ord": SOURCE, "force": true}), forced(SOURCE)] {
            let refused = office
                .call(builder(), "removeComponent", arguments)
                .await
                .expect("an answer");
            let (code, data) = failure_of(&refused);
            assert_eq!(
                (code, &data["policy"]),
                (-32010, &json!(policy)),
                "{rules}: {refused}"
            );
            let text = refused.to_string();
            assert!(text.contains("cannot be seen"), "{text}");
            assert!(!text.contains("Linked"), "{text}");
        }
        assert_eq!(office.site.writes(), [], "{rules}");
        assert!(exists(&office, SOURCE));
    }
    for rules in [
        json!({"confirmDestructive": false}),
        json!({"deny": ["slot:/Drivers/**"], "confirmDestructive": false}),
    ] {
        let office = office_of_a_builder(rules.clone()).await;
        let gone = office
            .call(builder(), "removeComponent", forced(SOURCE))
            .await
            .expect("an answer");
        assert_eq!(gone["isError"], false, "{rules}: {gone}");
    }
}
