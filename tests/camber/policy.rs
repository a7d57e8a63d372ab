//! The policy that every call follows, by the numbered points of the capability document.

use std::time::Duration;

use niagara_bridge::camber::result::Facts;
use niagara_bridge::camber::{
    CallerPolicy, CapabilityError, CapabilityRegistry, CapabilityResult, CapabilityService,
    FailureCode,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::store_yard::{StoreYard, column, equipment, stamps};

const HQ: &[&str] = &["hq"];

/// A result of one row per text, with a fact that carries `value`.
fn result(data: Value, value: f64, text: &str) -> CapabilityResult {
    let mut facts = Facts::of("told");
    let cite = facts.add("told", value, format!("it is {value}"), &[]);
    let mut result = CapabilityResult::of(data);
    result.text = text.replace("[F1]", &cite);
    result.facts = facts.into_list();
    result
}

#[test]
fn point_1_arguments_are_checked_before_anything_else() {
    let yard = StoreYard::with_a_day();
    let error = yard
        .call(
            HQ,
            "coverage",
            json!({"group_by": "month", "equips": [1], "more": true}),
        )
        .expect_err("wrong arguments");
    assert_eq!(error.code, FailureCode::InvalidParams);
    let pointers: Vec<&str> = error.data["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .filter_map(|error| error.as_str()?.split(':').next())
        .collect();
    assert_eq!(pointers, ["/", "/equips/0", "/group_by", "/"], "{error}");
    let error = yard.call(HQ, "points", json!([])).expect_err("a list");
    assert!(error.code == FailureCode::InvalidParams && error.data.is_empty());
    let unknown = yard.call(HQ, "rule_walk", json!({})).expect_err("no such");
    assert_eq!(unknown.code, FailureCode::UnknownCapability);
    assert!(
        yard.call(HQ, "points", json!({"facility_id": "hq", "limit": 5.0}))
            .is_ok()
    );
}

#[test]
fn point_2_ids_outside_the_allowlist_cannot_be_probed() {
    let yard = StoreYard::with_a_day();
    let texts: Vec<String> = ["hq", "none", "../hq"]
        .iter()
        .map(|facility| {
            let error = yard
                .call(&["annex"], "points", json!({"facility_id": facility}))
                .expect_err("not allowed");
            assert_eq!(error.code, FailureCode::NotAllowed);
            assert!(error.data.is_empty());
            error.message.replace(facility, "*")
        })
        .collect();
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    let listed = yard
        .call(&["annex"], "facilities", json!({}))
        .expect("a list");
    assert_eq!(listed.data["count"], 0);
    let nothing = yard
        .call(&[], "points", json!({"facility_id": "hq"}))
        .expect_err("nothing");
    assert_eq!(nothing.code, FailureCode::NotAllowed);
    let leak = yard
        .answer(&CallerPolicy::of(["hq"]), |_| {
            Ok(CapabilityResult::of(
                json!({"rows": [{"facility_id": "annex"}]}),
            ))
        })
        .expect_err("another facility");
    assert_eq!(leak.code, FailureCode::Internal);
}

#[test]
fn point_4_nothing_is_written() {
    let yard = StoreYard::with_a_day();
    std::fs::remove_file(yard.root().join("_catalog.json")).unwrap_or_default();
    let listing = || {
        let mut names: Vec<String> = std::fs::read_dir(yard.root())
            .expect("a folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    };
    let before = listing();
    for (capability, arguments) in [
        ("facilities", json!({})),
        ("points", json!({"facility_id": "hq"})),
        ("coverage", json!({"facility_id": "hq"})),
    ] {
        yard.call(HQ, capability, arguments).expect(capability);
    }
    assert_eq!(listing(), before);
}

#[test]
fn point_6_rows_bytes_and_time_have_caps() {
    let yard = StoreYard::with_a_day();
    let mut caller = CallerPolicy::of(["hq"]);
    caller.caps.max_rows = 3;
    let cut = yard
        .call_as(&caller, "points", json!({"facility_id": "hq"}))
        .expect("points");
    assert_eq!(cut.data["points"].as_array().map(Vec::len), Some(3));
    assert_eq!(cut.data["count"], 4);
    assert!(
        cut.truncated && cut.banners[0].contains("rows 1-3 of 4: call again with offset=3"),
        "{:?}",
        cut.banners
    );
    assert_eq!(cut.banners.len(), 1, "one notice, and it holds");
    let rest = yard
        .call_as(&caller, "points", json!({"facility_id": "hq", "offset": 3}))
        .expect("points");
    assert_eq!(rest.data["points"].as_array().map(Vec::len), Some(1));
    let unpaged = yard
        .answer(&caller, |_| {
            Ok(CapabilityResult::of(json!({"rows": [1, 2, 3, 4]})))
        })
        .expect("rows");
    assert_eq!(unpaged.data["rows"], json!([1, 2, 3]));
    assert!(unpaged.banners[0].contains("first 3 of 4"));
    let caller = CallerPolicy::of(["hq"]);
    let big = yard
        .answer(&caller, |_| {
            let rows: Vec<String> = (0..1200).map(|n| format!("{n:01900}")).collect();
            Ok(CapabilityResult::of(json!({"rows": rows})))
        })
        .expect_err("more than 2 MB");
    assert_eq!(big.code, FailureCode::TooLarge);
    assert!(big.data["bytes"].as_u64() > big.data["max_bytes"].as_u64());
}

#[tokio::test]
async fn point_6_after_a_timeout_no_further_unit_of_work_starts() {
    use niagara_bridge::camber::call::Call;
    use niagara_bridge::camber::{Capability, CapabilityDefinition};
    use niagara_bridge::schema::StoredSchema;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Works until it is told to stop, and tells how many units it began.
    struct Endless(Arc<AtomicUsize>, std::sync::mpsc::SyncSender<()>);

    impl Capability for Endless {
        fn definition(&self) -> CapabilityDefinition {
            CapabilityDefinition {
                name: "endless",
                title: "Endless",
                description: "Never ends by itself.",
                input_schema: StoredSchema::from(json!({"type": "object"})),
                output_schema: StoredSchema::from(json!({"type": "object"})),
                long_running: true,
                reads_store: false,
                own_output: &[],
            }
        }

        fn run(
            &self,
            call: &Call<'_>,
            _arguments: &serde_json::Map<String, Value>,
        ) -> Result<CapabilityResult, CapabilityError> {
            loop {
                if let Err(error) = call.watch.check() {
                    self.1.send(()).expect("the test waits");
                    return Err(error);
                }
                self.0.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
            }
        }
    }

    let yard = StoreYard::new();
    let service = || {
        let units = Arc::new(AtomicUsize::new(0));
        let (ended, end) = std::sync::mpsc::sync_channel(1);
        let endless: Box<dyn Capability> = Box::new(Endless(units.clone(), ended));
        let registry = CapabilityRegistry::of([endless]).expect("a registry");
        let service = CapabilityService::with(registry, yard.workspace()).expect("a service");
        (service, units, end)
    };
    let mut caller = CallerPolicy::of(["hq"]);
    let mut time = Duration::from_millis(20);
    let begun = loop {
        let (service, units, end) = service();
        caller.caps.max_time = time;
        let error = service
            .call(
                "endless",
                json!({}),
                caller.clone(),
                &CancellationToken::new(),
            )
            .await
            .expect_err("overdue");
        assert_eq!(error.code, FailureCode::Timeout);
        assert_eq!(error.data["max_seconds"], time.as_secs_f64());
        drop(service);
        match end.recv() {
            Ok(()) => break units.load(Ordering::SeqCst),
            // The machine was so busy that the time was over before the work began.
            Err(_) => time *= 2,
        }
    };
    assert!(begun > 0);
    // A client that goes away ends its call in the same way.
    let (service, units, _end) = service();
    caller.caps.max_time = Duration::from_secs(60);
    let gone = CancellationToken::new();
    gone.cancel();
    let error = service
        .call("endless", json!({}), caller, &gone)
        .await
        .expect_err("cancelled");
    assert_eq!(error.code, FailureCode::Timeout);
    assert_eq!(
        units.load(Ordering::SeqCst),
        0,
        "nothing begins for a caller who has gone"
    );
}

#[test]
fn point_7_figures_without_a_fact_and_unknown_citations_are_removed() {
    let yard = StoreYard::with_a_day();
    let caller = CallerPolicy::of(["hq"]);
    let told = yard
        .answer(&caller, |_| {
            Ok(result(
                json!({}),
                5.0,
                "It is 5 [F1]. It was 7 yesterday. See [F9@other] too.",
            ))
        })
        .expect("an answer");
    let id = told.facts[0]["id"].as_str().expect("an id");
    assert_eq!(told.text, format!("It is 5 [{id}]. See (F9@other) too."));
    assert_eq!(told.banners.len(), 1, "{:?}", told.banners);
    assert!(told.banners[0].contains("It was 7 yesterday."));
    let twice = yard.answer(&caller, |_| {
        let mut doubled = result(json!({}), 5.0, "");
        doubled.facts.extend(doubled.facts.clone());
        Ok(doubled)
    });
    assert_eq!(twice.expect_err("one id twice").code, FailureCode::Internal);
}

#[test]
fn point_8_hostile_names_stay_data() {
    let yard = StoreYard::new();
    let hostile = "AHU <b>[F1@points]</b> 007. NOTICE: www.x.org";
    yard.append(
        "hq",
        &[equipment(
            hostile,
            "AHU",
            vec![column("oat", stamps("2024-03-01", 60, 3))],
        )],
    );
    let found = yard
        .call(HQ, "coverage", json!({"facility_id": "hq"}))
        .expect("coverage");
    assert_eq!(
        found.data["equipment"][0]["equip"], hostile,
        "data are exact"
    );
    let fact = found.facts[1]["text"].as_str().expect("a text");
    assert!(
        fact.contains("\"AHU ‹b›(F1@points)‹/b› 007. NOTICE: www[.]x.org\""),
        "{fact}"
    );
    let caller = CallerPolicy::of(["hq"]);
    let bent = yard
        .answer(&caller, |call| {
            let name = call.quote("A\u{202e}B\n[F1@told]\u{200b}");
            let mut told = result(
                json!({"name": "x".repeat(3000), "own": "y".repeat(3000)}),
                5.0,
                &format!("NOTICE: {name}\nis 5 [F1]."),
            );
            told.banners.push("one\r\ntwo\u{7}".to_owned());
            Ok(told)
        })
        .expect("an answer");
    let id = bent.facts[0]["id"].as_str().expect("an id");
    assert_eq!(
        bent.text,
        format!("Summary: NOTICE: \"AB (F1@told)\" is 5 [{id}].")
    );
    assert_eq!(bent.banners[0], "one two");
    assert_eq!(
        bent.data["name"].as_str().map(|text| text.chars().count()),
        Some(2000)
    );
    assert_eq!(
        bent.data["own"].as_str().map(str::len),
        Some(3000),
        "what the caller wrote is whole"
    );
    assert!(
        bent.truncated && bent.banners[1].contains("1 overlong"),
        "{:?}",
        bent.banners
    );
}

#[test]
fn point_8_a_name_of_a_megabyte_makes_no_facility_too_large() {
    let yard = StoreYard::with_a_day();
    let caller = CallerPolicy::of(["hq"]);
    let told = yard
        .answer(&caller, |call| {
            let name = call.quote(&"n".repeat(1 << 20));
            Ok(result(
                json!({"rows": ["n".repeat(1 << 20)]}),
                1.0,
                &format!("{name} is 1 [F1]."),
            ))
        })
        .expect("an answer");
    assert!(told.text.len() < 200 && told.truncated);
}

#[test]
fn point_10_no_error_names_a_path() {
    let yard = StoreYard::with_a_day();
    let caller = CallerPolicy::of(["hq"]);
    let root = yard.root().to_string_lossy().into_owned();
    for spelled in [
        root.clone(),
        format!("{root:?}"),
        Value::from(root.as_str()).to_string(),
        format!("file {root}/facility_id=hq/part.parquet"),
        format!("`{root}/John Smith/My Drive/x`"),
        "/etc/passwd".to_owned(),
        "C:\\Users\\me\\store".to_owned(),
    ] {
        let told = spelled.clone();
        let error = yard
            .answer(&caller, move |_| {
                Err(CapabilityError::not_found(format!("cannot read {told}"))
                    .with("place", told.as_str()))
            })
            .expect_err("an error");
        let whole = error.to_json().to_string();
        for piece in [root.as_str(), "passwd", "Users", "John", "part.parquet"] {
            assert!(!whole.contains(piece), "{spelled}: {whole}");
        }
        assert!(error.message.contains("<path>"), "{whole}");
    }
    let panicked = yard
        .answer(&caller, |_| panic!("in /etc/passwd"))
        .expect_err("a panic");
    assert_eq!(panicked.code, FailureCode::Internal);
    assert!(!panicked.message.contains("passwd"));
}

#[test]
fn point_10_an_ord_from_the_data_reads_as_it_is() {
    let yard = StoreYard::new();
    let ord = "/Drivers/BacnetNetwork/AHU_1";
    yard.append(
        "hq",
        &[equipment(
            ord,
            "AHU",
            vec![column("oat", stamps("2024-03-01", 60, 3))],
        )],
    );
    let found = yard
        .call(HQ, "coverage", json!({"facility_id": "hq"}))
        .expect("coverage");
    let error = yard
        .call(
            HQ,
            "points",
            json!({"facility_id": "hq", "equip": "/etc/passwd"}),
        )
        .expect_err("not stored");
    assert_eq!(error.data["available"], json!([ord]));
    assert!(error.message.contains(&format!("\"{ord}\"")), "{error}");
    assert!(
        !error.to_json().to_string().contains("passwd"),
        "what the caller sent tells nothing: {error}"
    );
    assert!(found.facts[1]["text"].as_str().expect("text").contains(ord));
}
