//! Licences and damage: what cannot be established is refused, and one facility's harm is nobody else's.

use niagara_bridge::camber::call::Call;
use niagara_bridge::camber::{CallerPolicy, CapabilityResult, FailureCode};
use niagara_bridge::trends::store::FacilityState;
use niagara_bridge::trends::store::wall_clock::parse_bound;
use niagara_bridge::trends::store::writer::Registration;
use serde_json::{Map, Value, json};

use crate::store_yard::{StoreYard, column, equipment, id, stamps};

fn rows() -> Vec<niagara_bridge::trends::store::EquipmentRows> {
    vec![equipment(
        "AHU-1",
        "AHU",
        vec![column("oat", stamps("2024-03-01", 60, 24))],
    )]
}

fn register(yard: &StoreYard, facility: &str, dataset: Value) {
    let facts: Map<String, Value> = Map::from_iter([("dataset".to_owned(), dataset)]);
    let registration = Registration {
        name: None,
        state: FacilityState::Active,
        facts,
    };
    yard.writer()
        .append(&id(facility), &rows(), Some(&registration))
        .expect("an append");
}

fn refusal(yard: &StoreYard, facility: &str) -> Option<Option<String>> {
    match yard.call(&[facility], "points", json!({"facility_id": facility})) {
        Ok(_) => None,
        Err(error) => {
            assert_eq!(error.code, FailureCode::RefusedLicence, "{error}");
            assert_eq!(error.data["facility_id"], facility);
            Some(
                error
                    .data
                    .get("reason")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            )
        }
    }
}

#[test]
fn point_3_research_only_data_are_refused_by_record_catalogue_and_name() {
    let yard = StoreYard::new();
    for (facility, dataset) in [
        ("a", json!({"access": "research_only"})),
        ("b", json!({"redistribution": "prohibited"})),
        ("c", json!({"licence": "CC-BY-NC-4.0"})),
        (
            "d",
            json!({"dataset_id": "at-30bldg-sensors", "licence": "CC0-1.0"}),
        ),
        // An altered entry does not unlock what the name tells.
        (
            "ds-at-30bldg-sensors-b02",
            json!({"access": "open", "licence": "CC0-1.0"}),
        ),
    ] {
        register(&yard, facility, dataset);
        assert_eq!(refusal(&yard, facility), Some(None), "{facility}");
    }
    register(
        &yard,
        "ds-bdg2-fox",
        json!({"dataset_id": "bdg2", "access": "open", "licence": "CC-BY-SA-4.0"}),
    );
    assert_eq!(refusal(&yard, "ds-bdg2-fox"), None);
    let listed = yard
        .call(&["a", "b", "ds-bdg2-fox"], "facilities", json!({}))
        .expect("a list");
    assert_eq!(listed.data["count"], 1);
    assert_eq!(listed.data["withheld_research_only"], 2);
    assert!(
        listed.banners[0].contains("research-only"),
        "{:?}",
        listed.banners
    );
}

#[test]
fn point_3_a_licence_that_nobody_can_tell_is_refused() {
    let unverified = Some(Some("licence_unverified".to_owned()));
    let yard = StoreYard::new();
    yard.append("hq", &rows());
    register(
        &yard,
        "ds-unheard-of",
        json!({"access": "open", "licence": "CC0-1.0"}),
    );
    assert_eq!(
        refusal(&yard, "ds-unheard-of"),
        None,
        "its entry records an open licence"
    );
    yard.append("ds-nowhere", &rows());
    assert_eq!(
        refusal(&yard, "ds-nowhere"),
        unverified,
        "no entry and no catalogue records it"
    );
    assert_eq!(refusal(&yard, "hq"), None);
    let registry = yard.root().join("_facilities.json");
    for content in [&b"{"[..], b"[]", b"{}"] {
        std::fs::write(&registry, content).expect("a write");
        assert_eq!(refusal(&yard, "hq"), unverified, "{content:?}");
        let listed = yard.call(&["hq"], "facilities", json!({})).expect("a list");
        assert_eq!(
            (&listed.data["count"], &listed.data["withheld_unverified"]),
            (&json!(0), &json!(1))
        );
        assert!(
            listed
                .banners
                .iter()
                .any(|banner| banner.contains("registry")),
            "{:?}",
            listed.banners
        );
        let other = yard
            .call(&["hq"], "dataset_search", json!({}))
            .expect("metadata is public");
        assert!(
            other
                .banners
                .iter()
                .any(|banner| banner.contains("registry")),
            "{:?}",
            other.banners
        );
    }
    std::fs::remove_file(&registry).expect("a removal");
    assert_eq!(
        refusal(&yard, "hq"),
        unverified,
        "the store holds data sets and no registry"
    );
}

#[test]
fn a_store_of_own_data_needs_no_registry() {
    let yard = StoreYard::new();
    yard.append("hq", &rows());
    std::fs::remove_file(yard.root().join("_facilities.json")).expect("a removal");
    assert_eq!(refusal(&yard, "hq"), None);
}

#[test]
fn point_9_a_damaged_part_is_the_harm_of_its_facility_alone() {
    let yard = StoreYard::new();
    yard.append("hq", &rows());
    yard.append("annex", &rows());
    for content in [&b""[..], b"PAR1 no part", b"PAR1\0\0\0\0\0\0PAR1"] {
        std::fs::write(&yard.parts("annex")[0], content).expect("a write");
        let error = yard
            .call(
                &["hq", "annex"],
                "coverage",
                json!({"facility_id": "annex"}),
            )
            .expect_err("damaged");
        assert_eq!(error.code, FailureCode::Unavailable, "{error}");
        assert_eq!(
            Value::Object(error.data.clone()),
            json!({"retryable": false, "facility_id": "annex"})
        );
        assert!(
            !error.message.contains("part-") && !error.message.contains('/'),
            "{error}"
        );
        yard.call(&["hq", "annex"], "coverage", json!({"facility_id": "hq"}))
            .expect("the other");
        let listed = yard
            .call(&["hq", "annex"], "facilities", json!({}))
            .expect("a list");
        let annex = &listed.data["facilities"][0];
        assert_eq!(annex["facility_id"], "annex");
        assert_eq!(annex["unavailable"], json!({"retryable": false}));
        assert!(
            !listed.text.contains("\"annex\" is \"active\" with"),
            "{}",
            listed.text
        );
        assert!(
            listed
                .text
                .contains("cannot be read: some of it is damaged"),
            "{}",
            listed.text
        );
        assert_eq!(
            (&annex["start"], &annex["end"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(listed.data["facilities"][1]["n_points"], 1);
    }
}

#[test]
fn point_9_a_swap_in_progress_is_retryable() {
    let yard = StoreYard::new();
    yard.append("hq", &rows());
    // What a writer leaves that was killed between the two renames of its swap.
    let folder = yard.root().join("facility_id=hq");
    std::fs::rename(&folder, yard.root().join("_swap-facility_id=hq.old")).expect("a rename");
    std::fs::create_dir(yard.root().join("_swap-facility_id=hq.new")).expect("a folder");
    std::fs::write(yard.root().join("_swap-facility_id=hq.ready"), b"").expect("a mark");
    let error = yard
        .call(&["hq"], "points", json!({"facility_id": "hq"}))
        .expect_err("halfway");
    assert_eq!(error.code, FailureCode::Unavailable, "{error}");
    assert_eq!(error.data["retryable"], true);
    drop(yard.writer());
    let after = yard.call(&["hq"], "points", json!({"facility_id": "hq"}));
    assert_eq!(after.map(|found| found.data["count"].clone()), Ok(json!(0)));
}

#[test]
fn point_9_whatever_was_answered_while_a_writer_removed_files_is_thrown_away() {
    let yard = StoreYard::new();
    let two_years = vec![
        column("oat", stamps("2023-03-01", 60, 24)),
        column("oat", stamps("2024-03-01", 60, 24)),
    ];
    for column in two_years {
        yard.append("hq", &[equipment("AHU-1", "AHU", vec![column])]);
    }
    let caller = CallerPolicy::of(["hq"]);
    let told = |_: &Call<'_>| Ok(CapabilityResult::of(json!({"is": "old"})));
    let first = yard.answer(&caller, told).expect("nobody writes");
    assert_eq!(first.data["is"], "old");
    let store = yard.store.clone();
    let pruned = yard.answer(&caller, move |call| {
        let mut writer = store
            .writer(std::time::Duration::from_secs(5))
            .expect("the lock");
        let before = parse_bound("2024-01-01").expect("a time");
        writer.prune(&id("hq"), before).expect("a prune");
        told(call)
    });
    let error = pruned.expect_err("a writer removed files meanwhile");
    assert_eq!(error.code, FailureCode::Unavailable);
    assert_eq!(
        Value::Object(error.data.clone()),
        json!({"retryable": true, "facility_id": "hq"})
    );
    // Samples that are added meanwhile take nothing from what was read.
    let store = yard.store.clone();
    let appended = yard.answer(&caller, move |call| {
        let mut writer = store
            .writer(std::time::Duration::from_secs(5))
            .expect("the lock");
        writer.append(&id("hq"), &rows(), None).expect("an append");
        told(call)
    });
    assert!(appended.is_ok(), "{appended:?}");
}

#[test]
fn the_same_call_has_the_same_fact_ids_until_the_data_change() {
    let yard = StoreYard::new();
    yard.append("hq", &rows());
    yard.append("annex", &rows());
    let fact = |arguments: Value| {
        let found = yard
            .call(&["hq", "annex"], "points", arguments)
            .expect("points");
        found.facts[0]["id"].clone()
    };
    let hq = json!({"facility_id": "hq"});
    let before = fact(hq.clone());
    assert_eq!(before, fact(hq.clone()));
    assert_ne!(before, fact(json!({"facility_id": "hq", "limit": 5})));
    assert_ne!(before, fact(json!({"facility_id": "annex"})));
    yard.append(
        "hq",
        &[equipment(
            "AHU-2",
            "AHU",
            vec![column("oat", stamps("2024-03-02", 60, 3))],
        )],
    );
    assert_ne!(
        before,
        fact(hq),
        "after an ingest a model must not cite what it read before"
    );
}

#[cfg(unix)]
#[test]
fn point_9_a_facility_that_cannot_be_listed_stays_in_the_listing_and_out_of_the_way() {
    let yard = StoreYard::with_a_day();
    let annex = yard.root().join("facility_id=annex");
    std::fs::create_dir(&annex).expect("a folder");
    std::os::unix::fs::symlink("/nowhere/at/all", annex.join("year=2024")).expect("a link");
    let both = ["annex", "hq"];
    let listed = yard
        .call(&both, "facilities", json!({}))
        .expect("a listing");
    let row = |id: &str| {
        let rows = listed.data["facilities"].as_array().expect("rows");
        rows.iter()
            .find(|row| row["facility_id"] == id)
            .cloned()
            .expect("a row")
    };
    assert_eq!(row("annex")["unavailable"], json!({"retryable": false}));
    assert_eq!(row("annex")["start"], Value::Null);
    assert_eq!(row("hq")["n_points"], 4);
    let points = yard.call(&both, "points", json!({"facility_id": "hq"}));
    assert_eq!(points.expect("points").data["count"], 4);
    let error = yard
        .call(&both, "points", json!({"facility_id": "annex"}))
        .expect_err("a damaged facility");
    assert_eq!(error.code, FailureCode::Unavailable);
    assert_eq!(error.data["retryable"], false);
}

#[test]
fn a_facility_whose_folder_holds_no_sample_has_nothing_to_judge() {
    let yard = StoreYard::new();
    yard.append("hq", &rows());
    std::fs::create_dir(yard.root().join("facility_id=empty")).expect("a folder");
    for name in ["rule_run", "sensor_trust", "rcx_report"] {
        let error = yard
            .call(&["hq", "empty"], name, json!({"facility_id": "empty"}))
            .expect_err(name);
        assert_eq!(error.code, FailureCode::NotFound, "{name}: {error}");
        assert!(
            error.message.contains("has no stored data"),
            "{name}: {error}"
        );
    }
}
