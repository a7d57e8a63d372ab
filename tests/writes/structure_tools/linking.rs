//! Links made and removed by `linkSlots` and `unlinkSlots`.

use mock_station::model::accounts::ADMIN;
use mock_station::switches::LinkConversion;
use serde_json::json;

use super::{LINKED, NOTE, SETPOINT, link, refused};
use crate::office::Office;

#[tokio::test]
async fn a_link_is_made_shown_and_removed_by_either_name() {
    let office = Office::new().await;
    let made = office
        .answer(ADMIN, "linkSlots", link("slot:/Logic/Linked", "in4"))
        .await;
    let link_ord = "station:|slot:/Logic/Linked/SetpointOutLink";
    assert_eq!(
        made,
        json!({"linkOrd": link_ord, "linkType": "link", "sourceOrd": SETPOINT, "sourceSlot": "out",
               "sinkOrd": "slot:/Logic/Linked", "sinkSlot": "in4", "status": "active", "sinkStatus": "{ok}"})
    );
    let line = office.last_line(1, 1);
    assert_eq!(
        (&line["ord"], &line["action"]),
        (&json!("slot:/Logic/Linked"), &json!("link"))
    );

    let removed = json!({"linkOrd": link_ord, "sourceOrd": SETPOINT, "sourceSlot": "out", "sinkOrd": LINKED,
                         "sinkSlot": "in4", "removed": true});
    let by_link = json!({ "linkOrd": link_ord });
    let answer = office.confirmed(ADMIN, "unlinkSlots", by_link).await;
    assert_eq!(answer["structuredContent"], removed);
    office.answer(ADMIN, "linkSlots", link(LINKED, "in4")).await;
    let by_sink = json!({"sinkOrd": LINKED, "linkName": "SetpointOutLink"});
    let answer = office.confirmed(ADMIN, "unlinkSlots", by_sink).await;
    assert_eq!(answer["structuredContent"], removed);
    let line = office.last_line(4, 6);
    assert_eq!(
        (&line["ord"], &line["action"]),
        (&json!(link_ord), &json!("unlink"))
    );
    assert_eq!(line["oldValue"]["source"], SETPOINT);
}

#[tokio::test]
async fn a_link_is_held_to_the_rules_of_the_level_that_it_commands() {
    let office = Office::with(
        json!({"priorities": ["1", "4", "8"], "maxOverrideMinutes": 60}),
        Default::default(),
    )
    .await;
    let (code, data) = refused(&office, "linkSlots", link(LINKED, "in5")).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("priority")));
    // What the station would not take is told before anybody is asked.
    let (code, data) = refused(&office, "linkSlots", link("slot:/Logic/Fan", "in17")).await;
    assert_eq!((code, &data["slot"]), (-32602, &json!("in17")));
    let mut emergency = link(LINKED, "emergencyOverride");
    emergency["converterType"] = json!("converters:StatusNumericToNumber");
    let (code, data) = refused(&office, "linkSlots", emergency).await;
    assert_eq!(
        (code, &data["policy"]),
        (-32010, &json!("override")),
        "the emergency would never end: {data}"
    );
    for slot in ["in1", "in8"] {
        let (code, data) = refused(&office, "linkSlots", link(LINKED, slot)).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
        assert_eq!(office.site.writes(), [], "{slot}");
        let answer = office
            .confirmed(ADMIN, "linkSlots", link(LINKED, slot))
            .await;
        assert_eq!(answer["structuredContent"]["status"], "active", "{answer}");
        assert_eq!(office.log().last().expect("a line")["policy"], "confirmed");
        office.site.writes();
    }
    office.answer(ADMIN, "linkSlots", link(LINKED, "in4")).await;
    assert_eq!(office.last_line(3, 10)["policy"], "allowed");
}

#[tokio::test]
async fn links_that_cannot_be_made_name_the_end_and_what_may_help() {
    let office = Office::new().await;
    let switches = office.site.frozen.station.switches();
    switches.change(|switches| switches.boxs.link_conversion = LinkConversion::Refused);
    let with = |key: &str, value: &str| {
        let mut arguments = link(LINKED, "in4");
        arguments[key] = json!(value);
        arguments
    };
    for (key, value) in [
        ("sourceOrd", "slot:/Nowhere"),
        ("sourceOrd", "nowhere"),
        ("sinkOrd", "slot:/Nowhere"),
        ("sourceOrd", "slot:/Logic/Simples/string"),
    ] {
        let (code, data) = refused(&office, "linkSlots", with(key, value)).await;
        assert_eq!((code, data), (-32006, json!({ key: value })), "{key}");
    }
    let (code, data) = refused(&office, "linkSlots", with("sinkSlot", "in17")).await;
    assert_eq!(
        (code, data),
        (-32602, json!({"ord": LINKED, "slot": "in17"}))
    );
    let (code, data) = refused(&office, "linkSlots", with("converterType", "acme:C")).await;
    assert_eq!((code, &data["converterType"]), (-32005, &json!("acme:C")));
    let (code, data) = refused(&office, "linkSlots", with("converterType", "baja:Folder")).await;
    assert_eq!(
        (code, data),
        (
            -32602,
            json!({"converterType": "baja:Folder", "actualType": "baja:Folder"})
        )
    );
    let (code, data) = refused(&office, "linkSlots", with("linkName", "out")).await;
    assert_eq!(
        (code, data),
        (-32602, json!({"sinkOrd": LINKED, "linkName": "out"}))
    );
    let mut text = link(NOTE, "in4");
    let (code, data) = refused(&office, "linkSlots", text.clone()).await;
    assert_eq!(code, -32016);
    for (key, value) in text.as_object().expect("arguments") {
        assert_eq!(&data[key], value);
    }
    let best = "converters:StatusNumericToStatusString";
    assert_eq!(data["converters"][0], best);
    assert_eq!(office.site.writes(), []);

    text["converterType"] = json!(best);
    let made = office.answer(ADMIN, "linkSlots", text).await;
    assert_eq!(
        (&made["linkType"], &made["converter"]),
        (&json!("conversionLink"), &json!(best))
    );
    assert!(made["linkCheckNote"].is_string(), "{made}");
    assert_eq!(made["status"], "active");
}

#[tokio::test]
async fn links_that_cannot_be_removed_are_named_as_they_were_asked_for() {
    let office = Office::with(json!({"confirmDestructive": false}), Default::default()).await;
    for arguments in [
        json!({}),
        json!({"sinkOrd": LINKED}),
        json!({"linkName": "x"}),
        json!({"linkOrd": LINKED, "sinkOrd": LINKED, "linkName": "x"}),
    ] {
        let (code, _) = refused(&office, "unlinkSlots", arguments.clone()).await;
        assert_eq!(code, -32602, "{arguments}");
    }
    let gone = format!("{LINKED}/NoLink");
    let nowhere = "slot:/Nowhere/Link".to_owned();
    for ord in [gone, nowhere, "slot:/".to_owned(), "h:2f1".to_owned()] {
        let arguments = json!({ "linkOrd": ord });
        let (code, data) = refused(&office, "unlinkSlots", arguments).await;
        assert_eq!((code, &data["ord"]), (-32006, &json!(ord)));
    }
    for (sink, name) in [(LINKED, "NoLink"), ("slot:/Nowhere", "NoLink")] {
        let arguments = json!({"sinkOrd": sink, "linkName": name});
        let (code, data) = refused(&office, "unlinkSlots", arguments).await;
        assert_eq!(
            (code, data),
            (-32006, json!({"sinkOrd": sink, "linkName": name}))
        );
    }
    let ord = format!("{LINKED}/fallback");
    let (code, data) = refused(&office, "unlinkSlots", json!({ "linkOrd": ord })).await;
    assert_eq!((code, &data["ord"]), (-32602, &json!(ord)));
    let pair = json!({"sinkOrd": LINKED, "linkName": "fallback"});
    let (code, _) = refused(&office, "unlinkSlots", pair).await;
    assert_eq!(code, -32602);
    assert_eq!(office.site.writes(), []);
}
