//! `removeComponent`: rehearsed, confirmed, stopped by links and rules.

use mock_station::model::accounts::ADMIN;
use serde_json::{Value, json};

use super::{LINKED, LOGIC, SETPOINT, folder, link, refused};
use crate::office::Office;

/// What the knowledge says of the point that is to go.
const MODEL: &str = "equipment_types: [{id: ahu}]\nequipment: [{id: ahu-1, type: ahu, points: {temp: 'slot:/Logic/Sensor'}}]\n\
                     points: [{id: lobby, ord: 'station:|slot:/Logic/Sensor/out'}, {id: other, ord: 'slot:/Logic/Fan'}]\n";

#[tokio::test]
async fn a_removal_is_rehearsed_confirmed_and_done() {
    let office = Office::new().await;
    std::fs::write(office.knowledge.path(), MODEL).expect("a file");
    office.knowledge.reload().await;
    let sensor = "slot:/Logic/Sensor";
    let dry = office
        .answer(ADMIN, "removeComponent", json!({ "ord": sensor }))
        .await;
    assert_eq!(
        (&dry["removed"], &dry["wouldRemove"], &dry["ord"]),
        (&json!(false), &json!(true), &json!(sensor))
    );
    assert_eq!(dry["inboundLinkCount"], 0);
    assert_eq!(dry["sampleSourceOrds"], json!([]));
    assert_eq!(
        (&dry["permitted"], &dry["incomplete"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(dry["type"], "control:NumericPoint");
    assert_eq!(dry["knowledgeReferenceCount"], 2);
    assert_eq!(
        dry["knowledgeReferences"][0],
        json!({"equipment": "ahu-1", "field": "points", "role": "temp", "ord": sensor})
    );
    assert_eq!(office.log().len(), 0, "a dry run is not recorded");
    assert_eq!(office.site.writes(), []);

    let confirmed = json!({"ord": sensor, "dryRun": false, "confirm": dry["confirm"]});
    let gone = office.answer(ADMIN, "removeComponent", confirmed).await;
    assert_eq!(
        (&gone["removed"], &gone["wouldRemove"]),
        (&json!(true), &json!(true))
    );
    let line = office.last_line(1, 1);
    assert_eq!(
        (&line["action"], &line["policy"], &line["ord"]),
        (&json!("remove"), &json!("confirmed"), &json!(sensor))
    );
    assert_eq!(line["oldValue"]["type"], "control:NumericPoint");
    assert_eq!(
        office.audited_by_station("admin"),
        ["Removed slot:/Logic Sensor"]
    );
    let again = json!({"ord": sensor});
    let (code, data) = refused(&office, "removeComponent", again).await;
    assert_eq!((code, &data["ord"]), (-32006, &json!(sensor)));
}

#[tokio::test]
async fn links_in_either_direction_stop_a_removal_and_its_rehearsal() {
    let office = Office::with(json!({"confirmDestructive": false}), Default::default()).await;
    for dry_run in [true, false] {
        let arguments = json!({"ord": LINKED, "dryRun": dry_run});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!(code, -32013);
        assert_eq!(
            (&data["ord"], &data["inboundLinkCount"]),
            (&json!(LINKED), &json!(1))
        );
        assert_eq!(data["sampleSourceOrds"], json!([SETPOINT]));
        let arguments = json!({"ord": SETPOINT, "dryRun": dry_run});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!(code, -32013);
        assert_eq!(
            (&data["inboundLinkCount"], &data["outboundLinkCount"]),
            (&json!(0), &json!(1))
        );
        assert_eq!(data["sampleSinkOrds"], json!([LINKED]));
    }
    assert_eq!(office.site.writes(), []);
    let arguments = json!({"ord": LINKED, "dryRun": false, "force": true});
    let gone = office.answer(ADMIN, "removeComponent", arguments).await;
    assert_eq!(
        (&gone["removed"], &gone["inboundLinkCount"]),
        (&json!(true), &json!(1))
    );
    for ord in ["slot:/", "slot:/Logic/Setpoint/proxyExt"] {
        let arguments = json!({"ord": ord, "force": true});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!((code, &data["ord"]), (-32602, &json!(ord)));
    }
}

#[tokio::test]
async fn rules_about_what_lies_below_hold_for_removals_and_their_rehearsals() {
    let rules = json!({"deny": ["slot:/Logic/Simples/**"], "confirmDestructive": false});
    let office = Office::with(rules, Default::default()).await;
    for dry_run in [true, false] {
        let arguments = json!({"ord": LOGIC, "dryRun": dry_run, "force": true});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("ord-denied")));
    }
    let inside = folder("slot:/Logic/Simples", "New");
    let (code, _) = refused(&office, "createComponent", inside).await;
    assert_eq!(code, -32010);
    office.allow(json!({"enabled": false}));
    for dry_run in [true, false] {
        let arguments = json!({"ord": LOGIC, "dryRun": dry_run});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("read-only")));
    }
    assert_eq!(office.site.writes(), []);
}

/// A link into level 5 of the linked point.
const OWN_LINK: &str = "station:|slot:/Logic/Linked/SetpointOutLink";

/// Calls that take a link away, by every name that it has.
fn link_removals(link: &str) -> [(&'static str, Value); 4] {
    let (sink, name) = link.rsplit_once('/').expect("a link");
    [
        (
            "removeComponent",
            json!({"ord": link, "dryRun": true, "force": true}),
        ),
        (
            "removeComponent",
            json!({"ord": link, "dryRun": false, "force": true}),
        ),
        ("unlinkSlots", json!({ "linkOrd": link })),
        ("unlinkSlots", json!({"sinkOrd": sink, "linkName": name})),
    ]
}

#[tokio::test]
async fn a_link_is_removed_under_the_rules_of_its_component_and_of_its_level() {
    let office = Office::new().await;
    let made = office.answer(ADMIN, "linkSlots", link(LINKED, "in5")).await;
    assert_eq!(made["linkOrd"], OWN_LINK);
    office.site.writes();
    for (rules, policy) in [
        (json!({"deny": ["slot:/Logic/Linked"]}), "ord-denied"),
        (
            json!({"principals": {"admin": {"deny": ["/Logic/Linked"]}}}),
            "ord-denied",
        ),
        (
            json!({"allow": ["slot:/Logic/Linked/*"]}),
            "ord-not-allowed",
        ),
        (json!({"priorities": ["10-15"]}), "priority"),
        (
            json!({"principals": {"admin": {"priorities": ["8"]}}}),
            "priority",
        ),
    ] {
        let mut block = rules.clone();
        block["confirmDestructive"] = json!(false);
        office.allow(block);
        for (tool, arguments) in link_removals(OWN_LINK) {
            let (code, data) = refused(&office, tool, arguments.clone()).await;
            assert_eq!(
                (code, &data["policy"]),
                (-32010, &json!(policy)),
                "{rules} {tool} {arguments}"
            );
        }
    }
    office.allow(json!({"confirm": ["/Logic/Linked"], "confirmDestructive": false}));
    for (tool, arguments) in link_removals(OWN_LINK) {
        if arguments["dryRun"] == json!(true) {
            let shown = office.answer(ADMIN, tool, arguments).await;
            assert!(shown["confirm"].is_string(), "{shown}");
            continue;
        }
        let (code, data) = refused(&office, tool, arguments).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
    }
    assert_eq!(office.site.writes(), []);

    let may_all = json!({"priorities": ["5", "8"], "confirmDestructive": false});
    office.allow(may_all);
    for tool in ["unlinkSlots", "removeComponent"] {
        let manual = link(LINKED, "in8");
        let made = office.confirmed(ADMIN, "linkSlots", manual).await;
        let ord = made["structuredContent"]["linkOrd"].clone();
        let removal = match tool {
            "unlinkSlots" => json!({ "linkOrd": ord }),
            _ => json!({"ord": ord, "dryRun": false}),
        };
        let answer = office.confirmed(ADMIN, tool, removal).await;
        assert_eq!(answer["isError"], false, "{tool}: {answer}");
    }
    let low = json!({"ord": OWN_LINK, "dryRun": false});
    let gone = office.answer(ADMIN, "removeComponent", low).await;
    assert_eq!(gone["removed"], true, "level 5 asks nobody: {gone}");
}

#[tokio::test]
async fn a_removal_asks_about_all_that_goes_and_needs_all_of_it_allowed() {
    let office = Office::new().await;
    office.allow(json!({"confirm": ["slot:/Logic/Simples/**"], "confirmDestructive": false}));
    let whole = json!({"ord": LOGIC, "dryRun": false, "force": true});
    let (code, data) = refused(&office, "removeComponent", whole.clone()).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
    office.allow(json!({"allow": ["slot:/Logic", "slot:/Logic/*"], "confirmDestructive": false}));
    for ord in [LOGIC, "slot:/Logic/Sensor"] {
        let removal = json!({"ord": ord, "dryRun": false, "force": true});
        let (code, data) = refused(&office, "removeComponent", removal).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("ord-not-allowed")));
    }
    assert_eq!(office.site.writes(), []);
    office.allow(json!({"allow": ["slot:/Logic/**"], "confirmDestructive": false}));
    let sensor = json!({"ord": "slot:/Logic/Sensor", "dryRun": false});
    let gone = office.answer(ADMIN, "removeComponent", sensor).await;
    assert_eq!(gone["removed"], true);
}
