//! Any document that is saved and read again is the same document, in both formats.

use indexmap::IndexMap;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

use super::decode::decode;
use super::format::{self, DocumentFormat};
use super::{Equipment, EquipmentType, KnowledgeDocument, Space, StandalonePoint, TypicalPoint};

/// Texts that some reader of YAML takes for something else.
const TRAPS: &[&str] = &[
    "null",
    "~",
    "True",
    "yes",
    "No",
    "on",
    "y",
    "12",
    "-1",
    "+1",
    "1e5",
    "0x1F",
    "0o17",
    ".inf",
    ".5",
    "NaN",
    "1_000",
    "12:30:45",
    "2026-05-09",
    "2026-05-09T10:00:00Z",
    "- a",
    "-",
    "? a",
    "a: b",
    "a:",
    ":a",
    "a #b",
    "#a",
    "*a",
    "&a",
    "!a",
    "|",
    ">",
    "a |",
    "a >-",
    "'a",
    "\"a",
    "a, *b",
    "a, 'b",
    "a': *b",
    "@a",
    "`a",
    "%a",
    "[a]",
    "{a: b}",
    "a\nb",
    "a\n",
    "\n",
    "a\r\nb",
    "\ta",
    " a",
    "a ",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{a0}a",
    "\0",
    "\u{7f}",
    "---",
    "...",
    "<<",
    "=",
    "station:|slot:/Drivers/B$20C",
    "Зал 1",
    "機房",
    "غرفة",
    "🌡",
    "a\\b",
    "a\"b",
    "O'Brien, Ann",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => proptest::sample::select(TRAPS).prop_map(str::to_owned),
        2 => "[a-zA-Z0-9 :,.'\"#&*|>{}\\[\\]-]{0,14}",
        1 => any::<String>(),
    ]
}

/// A text that is there: empty ones are taken for absent.
fn filled() -> impl Strategy<Value = Option<String>> {
    option::of(text().prop_filter("filled", |text| !text.is_empty()))
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| Number::from_f64(number)
            .map(Value::Number)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Keys that this version does not know.
fn extra() -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), value()), 0..3).prop_map(|entries| {
        entries
            .into_iter()
            .map(|(key, value)| (format!("_{key}"), value))
            .collect()
    })
}

fn free_map() -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), value()), 0..3).prop_map(|entries| entries.into_iter().collect())
}

prop_compose! {
    fn space()(id in text(), name in filled(), aliases in texts(), space_type in filled(), description in filled(),
        parent in filled(), bounds in free_map(), extra in extra()) -> Space {
        Space { id, name, aliases, space_type, description, parent, bounds, extra }
    }
}

prop_compose! {
    fn typical_point()(role in text(), kind in filled(), slot_patterns in texts(), required: bool, extra in extra())
        -> TypicalPoint {
        TypicalPoint { role, kind, slot_patterns, required, extra }
    }
}

prop_compose! {
    fn equipment_type()(id in text(), name in filled(), aliases in texts(), description in filled(), extends in filled(),
        typical_points in vec(typical_point(), 0..3), extra in extra()) -> EquipmentType {
        EquipmentType { id, name, aliases, description, extends, typical_points, extra }
    }
}

prop_compose! {
    fn equipment()(id in text(), name in filled(), aliases in texts(), equipment_type in filled(), space in filled(),
        ord in filled(), description in filled(), points in vec((text(), text()), 0..4), schedule in filled(),
        notes in texts(), extra in extra()) -> Equipment {
        let points: IndexMap<_, _> = points.into_iter().collect();
        Equipment { id, name, aliases, equipment_type, space, ord, description, points, schedule, notes, extra }
    }
}

prop_compose! {
    fn standalone_point()(id in text(), name in filled(), aliases in texts(), space in filled(), ord in filled(),
        kind in filled(), role_in_space in filled(), notes in texts(), extra in extra()) -> StandalonePoint {
        StandalonePoint { id, name, aliases, space, ord, kind, role_in_space, notes, extra }
    }
}

prop_compose! {
    fn document()(station in free_map(), spaces in vec(space(), 0..3), equipment_types in vec(equipment_type(), 0..3),
        equipment in vec(equipment(), 0..3), points in vec(standalone_point(), 0..3), extra in extra())
        -> KnowledgeDocument {
        KnowledgeDocument { schema_version: 1, station, spaces, equipment_types, equipment, points, extra }
    }
}

proptest! {
    #[test]
    fn a_saved_document_is_read_as_it_was(document in document()) {
        for format in [DocumentFormat::Yaml, DocumentFormat::Json] {
            let text = document.to_text("test", format).unwrap();
            let (found, tree) = format::parse("test", &text)
                .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(found, format);
            let read = decode("test", tree).unwrap();
            prop_assert!(read.warnings.is_empty(), "{:?}", read.warnings);
            prop_assert_eq!(&read.document, &document, "{}", text);
            // Equality of maps knows no order; the texts do.
            prop_assert_eq!(read.document.to_text("test", format).unwrap(), text);
        }
    }
}

#[test]
fn every_trap_is_read_as_the_text_it_is() {
    for trap in TRAPS {
        let mut document = KnowledgeDocument::default();
        document
            .station
            .insert((*trap).to_owned(), Value::from(*trap));
        let text = document.to_text("test", DocumentFormat::Yaml).unwrap();
        let (_, tree) =
            format::parse("test", &text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(decode("test", tree).unwrap().document, document, "{text}");
    }
}

#[test]
fn texts_that_need_no_quotes_have_none() {
    for plain in [
        "AHU 1",
        "station:|slot:/Drivers/B$20C",
        "1st floor",
        "O'Brien",
        "Fish & chips",
        "ahu-1",
        "Зал 1",
        "a/b",
        "50 %",
        "-",
        "it's 12:30",
    ] {
        let mut document = KnowledgeDocument::default();
        document
            .station
            .insert("name".to_owned(), Value::from(plain));
        let text = document.to_text("test", DocumentFormat::Yaml).unwrap();
        let quoted = text.contains(&format!("name: \"{plain}\"\n"));
        assert_eq!(quoted, matches!(plain, "-" | "it's 12:30"), "{text}");
    }
}
