//! The fuzz targets over a bounded number of inputs: noise, and well-formed documents with a few octets changed.

use niagara_bridge::fuzzing::TARGETS;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// Cases per target and kind of input.
const CASES: u32 = 400;

/// Documents of the kind that each target reads.
fn documents(target: &str) -> &'static [&'static str] {
    match target {
        "csv" => &[
            "\u{feff}name,out,status\nAHU_1,\"1,024.0 °C {ok} @ 10\",ok\r\n\"a \"\"quoted\"\" one\", -5.0,{down}\n",
            "\"name\",\"value\"\n\"say \"yes\" now\",\"7\"\n,\n",
        ],
        "obix_xml" => &[
            r#"<?xml version="1.0" encoding="UTF-8"?><real is="obix:Point" href="/obix/config/P/" val="14.5" unit="obix:units/celsius" status="alarm unackedAlarm" display="14.5 °C {alarm}"><str name="facets" val="units=u:celsius;°C;(K);;"/><op name="set" in="obix:WritePointIn"/></real>"#,
            r##"<obj is="obix:HistoryQueryOut"><int name="count" val="1"/><abstime name="start" val="2026-10-25T02:30:00.000+02:00" tz="Europe/Paris"/><list name="data" of="#RecordDef"><obj><abstime name="timestamp" val="2026-10-25T02:30:00+02:00"/><real name="value" val="INF"/></obj></list></obj>"##,
            r#"<err is="obix:BadUriErr" href="/obix/config/x/" display="&lt;no&gt; such &#x41; path"/>"#,
        ],
        "box_json" => &[
            r#"{"p":"box","v":"2.3","n":1,"m":[{"r":0,"t":"rp","c":"ord","k":"resolve","b":{"n":"P","t":"control:NumericPoint","h":"2f1","s":[{"n":"out","t":"baja:StatusNumeric","s":[{"n":"value","v":"14.5"},{"n":"status","v":"8"}],"d":"14.5 {alarm}"}]}},{"r":1,"t":"rp","c":"sys","k":"x","b":{"isErr":true,"m":"no"}}]}"#,
            r#"{"nm":"p","n":"P","dn":"Point","t":"control:BooleanWritable","f":"sr","x":"trueText=s:on|falseText=s:off","s":[{"nm":"a","n":"active","apd":{"t":"baja:Override"}}],"k":[{"id":"1","ss":"out","to":"h:3","ts":"in"}]}"#,
        ],
        "fox" => &[
            "fox a 1 -1 fox hello\n{\nfox.version=s:1.0.1\nid=i:1\nhostName=s:st1\nhostAddress=s:192.0.2.1\napp.name=s:Station\ntimeZone=s:Europe/Paris;3600000;3600000;null;null\n};;\nfox a 2 -1 fox x\n{\n};;\n",
        ],
        "ord" => &[
            "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/Temp$e9rature$20ext",
            "local:|foxs:|station:|slot:/Logic|bql:select name, out.value from control:NumericPoint where name like 'A%'",
            "history:/Sample/SupplyTemp?period=timeRange;start=2026-10-24T00:00:00.000+02:00;end=",
            "h:2f1",
            "/Sample/SupplyTemp",
        ],
        "facets" => &[
            "units=u:celsius;°C;(K);;|precision=i:1|min=d:-inf|max=d:+inf",
            "trueText=s:not$20occupied|falseText=s:|range=E:{off=0,auto=1,hand=7}",
            "range=E:bacnet:Units|b=b:true|l=l:9223372036854775807",
        ],
        "scram" => &[
            "r=+Ks3r,s=QSXCR+Q6sek8bf92,i=8\nv=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
            "r=+x,s=,i=1,m=ext\ne=other-error",
            "e=unknown-user\nuser=,=2C",
        ],
        "knowledge" => &[
            "# a site\nschema_version: 1\nstation: {id: s, area: 1.5e3, since: 2019-05-01}\nspaces:\n- {id: a, name: 'it''s: 1', parent: ~, _n: [yes, 0x1F, .inf]}\nequipment:\n  -\n    id: 7\n    ord: station:|slot:/A$20B\n    points:\n      temp: station:|slot:/A/T\n    notes:\n      - |\n        two\n        lines\n      - >-\n        folded\n        text\n",
            "equipment_types:\n- id: ahu\n  typical_points:\n  - {role: sat, kind: temperature, required: true, slot_patterns: ['*SAT*', \"\\u00e9, &x\"]}\npoints: [{id: p, \"a:b\": {? long : 1}}]\n_x: !!str 1\n",
            r#"{"spaces": [{"id": "\u0000\ud83d\ude00", "bounds": {"w": -0.0, "h": 18446744073709551615, "e": 1e300}}], "schedules": [[], {}, null]}"#,
        ],
        other => {
            panic!("the fuzz target '{other}' has no documents: add some to tests/fuzz_inputs.rs")
        }
    }
}

/// A document with some octets replaced, removed or doubled.
fn damaged(documents: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<Index>(), any::<u8>(), 0..4u8);
    (
        proptest::sample::select(documents),
        proptest::collection::vec(edit, 0..6),
    )
        .prop_map(|(document, edits)| {
            let mut octets = document.as_bytes().to_vec();
            for (place, octet, kind) in edits {
                if octets.is_empty() {
                    break;
                }
                let at = place.index(octets.len());
                match kind {
                    0 => octets[at] = octet,
                    1 => drop(octets.remove(at)),
                    2 => octets.insert(at, octet),
                    _ => octets.truncate(at),
                }
            }
            octets
        })
}

#[test]
fn no_input_upsets_a_reader() {
    for (name, run) in TARGETS {
        let mut runner = TestRunner::new(Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        });
        let noise = proptest::collection::vec(any::<u8>(), 0..200);
        let inputs = prop_oneof![1 => noise, 3 => damaged(documents(name))];
        let outcome = runner.run(&inputs, |input| {
            run(&input);
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn every_target_is_a_program_of_the_fuzzer() {
    let manifest = include_str!("../fuzz/Cargo.toml");
    for (name, _) in TARGETS {
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
            "{name}"
        );
    }
}
