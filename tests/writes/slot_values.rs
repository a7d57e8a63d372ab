//! setSlot over every simple type: what is accepted, what the station holds then, what is answered and recorded.

use mock_station::model::accounts::ADMIN;
use mock_station::server::WriteOutcome;
use serde_json::{Value, json};

use crate::office::Office;
use crate::site::SIMPLES;
use crate::slot_tools::{call, simples};

/// Slot, value that is given, what the station holds then, `previousValue`, `newValue`, type, and a value that does not
/// fit.
fn table() -> Vec<(
    &'static str,
    Value,
    &'static str,
    Value,
    Value,
    &'static str,
    Value,
)> {
    let no = Value::Null;
    vec![
        (
            "string",
            json!(12),
            "12",
            json!("old"),
            json!("12"),
            "baja:String",
            no.clone(),
        ),
        (
            "boolean",
            json!("TRUE "),
            "true",
            json!(false),
            json!(true),
            "baja:Boolean",
            json!("on"),
        ),
        (
            "integer",
            json!(42.0),
            "42",
            json!(1),
            json!(42),
            "baja:Integer",
            json!(1.5),
        ),
        (
            "long",
            json!("9000000000"),
            "9000000000",
            json!(1),
            json!(9_000_000_000_i64),
            "baja:Long",
            json!("x"),
        ),
        (
            "float",
            json!(1.1),
            "1.1",
            json!(1.0),
            json!(1.1),
            "baja:Float",
            json!("x"),
        ),
        (
            "double",
            json!(21),
            "21.0",
            json!(1.0),
            json!(21.0),
            "baja:Double",
            json!(true),
        ),
        (
            "relTime",
            json!("PT15M"),
            "900000",
            json!("1000"),
            json!("900000"),
            "baja:RelTime",
            json!("soon"),
        ),
        (
            "absTime",
            json!("2024-03-01T12:00:00.000+01:00"),
            "2024-03-01T12:00:00.000+01:00",
            json!("2024-03-01T00:00:00.000Z"),
            json!("2024-03-01T12:00:00.000+01:00"),
            "baja:AbsTime",
            json!("noon"),
        ),
        (
            "date",
            json!("2025-12-24"),
            "2025-12-24",
            json!("2024-03-01"),
            json!("2025-12-24"),
            "baja:Date",
            json!("2025-13-24"),
        ),
        (
            "time",
            json!("17:30:00"),
            "17:30:00.000",
            json!("08:00:00.000"),
            json!("17:30:00.000"),
            "baja:Time",
            json!("25:00"),
        ),
        (
            "dynamicEnum",
            json!("on"),
            "1@{off=0,on=1}",
            json!("0@{off=0,on=1}"),
            json!("1@{off=0,on=1}"),
            "baja:DynamicEnum",
            json!(5),
        ),
        (
            "enumRange",
            json!("{low=0,high=1}"),
            "{low=0,high=1}",
            json!("{off=0,on=1}"),
            json!("{low=0,high=1}"),
            "baja:EnumRange",
            json!("{low}"),
        ),
        (
            "ord",
            json!("slot:/Logic"),
            "slot:/Logic",
            json!("slot:/"),
            json!("slot:/Logic"),
            "baja:Ord",
            no.clone(),
        ),
        (
            "ordList",
            json!("slot:/Logic\nslot:/"),
            "slot:/Logic\nslot:/",
            json!("slot:/"),
            json!("slot:/Logic\nslot:/"),
            "baja:OrdList",
            no.clone(),
        ),
        (
            "unit",
            json!("celsius;°C;(K);+273.15;"),
            "celsius;°C;(K);+273.15;",
            json!("percent;%;;;"),
            json!("celsius;°C;(K);+273.15;"),
            "baja:Unit",
            no.clone(),
        ),
        (
            "facets",
            json!("precision=i:2"),
            "precision=i:2",
            json!("precision=i:1"),
            json!("precision=i:2"),
            "baja:Facets",
            json!("precision"),
        ),
        (
            "status",
            json!("8"),
            "8",
            json!("0"),
            json!("8"),
            "baja:Status",
            json!("zz"),
        ),
        (
            "format",
            json!("%displayName%"),
            "%displayName%",
            json!("%out.value%"),
            json!("%displayName%"),
            "baja:Format",
            no.clone(),
        ),
        (
            "typeSpec",
            json!("control:NumericPoint"),
            "control:NumericPoint",
            json!("baja:Folder"),
            json!("control:NumericPoint"),
            "baja:TypeSpec",
            no.clone(),
        ),
        (
            "nameMap",
            json!("{c=d;}"),
            "{c=d;}",
            json!("{a=b;}"),
            json!("{c=d;}"),
            "baja:NameMap",
            no,
        ),
    ]
}

#[tokio::test]
async fn every_simple_slot_is_set_once_by_its_user_and_recorded() {
    let office = Office::new().await;
    let site = &office.site;
    let handle = site.handle(SIMPLES);
    let (mut intents, mut lines) = (0, 0);
    for (slot, value, held, previous, new, type_spec, wrong) in table() {
        site.writes();
        if !wrong.is_null() {
            let before = site.held(SIMPLES, slot);
            let (code, data) = office.failure(ADMIN, "setSlot", call(slot, wrong)).await;
            assert_eq!(code, -32602, "{slot}");
            assert!(
                data["reason"].is_string() && data["value"].is_string(),
                "{slot}: {data}"
            );
            assert_eq!(
                (site.held(SIMPLES, slot), site.writes()),
                (before, vec![]),
                "{slot}"
            );
            lines += 1;
            let line = office.last_line(intents, lines);
            assert_eq!(
                (&line["resultOk"], &line["errorCode"]),
                (&json!(false), &json!("-32602"))
            );
        }
        let answer = office
            .answer(ADMIN, "setSlot", call(slot, value.clone()))
            .await;
        assert_eq!(site.held(SIMPLES, slot), held, "{slot}");
        let expected = json!({
            "ord": simples(), "slotName": slot, "previousValue": previous, "newValue": new,
            "observedValue": new, "type": type_spec, "changed": true,
        });
        assert_eq!(answer, expected, "{slot}");
        let sent = (format!("s {handle}/{slot}"), WriteOutcome::Done);
        assert_eq!(site.writes(), [sent], "{slot}");
        (intents, lines) = (intents + 1, lines + 1);
        let line = office.last_line(intents, lines);
        assert_eq!(
            (&line["user"], &line["tool"], &line["action"], &line["ord"]),
            (
                &json!("admin"),
                &json!("setSlot"),
                &json!("set"),
                &json!(simples())
            )
        );
        assert_eq!(line["args"], call(slot, value), "{slot}");
        assert_eq!(
            (&line["oldValue"], &line["newValue"]),
            (&previous, &new),
            "{slot}"
        );
        let audited = office.audited_by_station("admin");
        let expected = format!("Changed {SIMPLES} {slot}");
        assert_eq!(audited.last(), Some(&expected), "{audited:?}");
    }
}

#[tokio::test]
async fn choices_that_a_type_lists_are_set_by_name_and_by_number_and_cleared() {
    let office = Office::new().await;
    let site = &office.site;
    let logic = site.handle("slot:/Logic");
    let ramp = site
        .frozen
        .station
        .station()
        .write()
        .add(logic, Some("Ramp"), "kitControl:Ramp");
    ramp.expect("a ramp");
    let path = "slot:/Logic/Ramp";
    let waveform = |value: Value| json!({"ord": path, "slotName": "waveform", "value": value});
    for (value, before, held) in [
        (json!("sawTooth"), "triangle", "sawTooth"),
        (json!(2), "sawTooth", "invertedSawTooth"),
    ] {
        let answer = office
            .answer(ADMIN, "setSlot", waveform(value.clone()))
            .await;
        assert_eq!(site.held(path, "waveform"), held, "{value}");
        assert_eq!(
            (
                &answer["previousValue"],
                &answer["newValue"],
                &answer["type"]
            ),
            (
                &json!(before),
                &json!(held),
                &json!("kitControl:RampWaveform")
            )
        );
    }
    site.writes();
    for wrong in [json!("square"), json!(7), json!(true)] {
        let (code, data) = office
            .failure(ADMIN, "setSlot", waveform(wrong.clone()))
            .await;
        assert_eq!(code, -32602, "{wrong}");
        assert!(data["reason"].to_string().contains("sawTooth"), "{data}");
    }
    assert_eq!(site.writes(), []);
    let slot = json!({"ord": path, "slotName": "waveform"});
    let cleared = office.answer(ADMIN, "clearSlot", slot).await;
    assert_eq!(cleared["defaultValue"], "triangle");
    assert_eq!(site.held(path, "waveform"), "triangle");
}

#[tokio::test]
async fn numbers_that_json_does_not_have_are_named() {
    let office = Office::new().await;
    let answer = office
        .answer(ADMIN, "setSlot", call("double", json!("nan")))
        .await;
    assert_eq!(
        (&answer["newValue"], &answer["nonFinite"]),
        (&Value::Null, &json!("NaN"))
    );
    let answer = office
        .answer(ADMIN, "setSlot", call("double", json!(2)))
        .await;
    assert_eq!(
        (&answer["previousValue"], &answer["previousNonFinite"]),
        (&Value::Null, &json!("NaN"))
    );
}
