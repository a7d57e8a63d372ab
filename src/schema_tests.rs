use proptest::prelude::*;

use super::*;

fn pointers(schema: &Value, instance: &Value) -> Vec<String> {
    Validator::compile(schema)
        .expect("schema")
        .validate(instance)
        .iter()
        .map(Violation::pointer)
        .collect()
}

#[test]
fn the_worked_example_reports_nine_problems_in_order() {
    let schema = json!({
        "type": "object",
        "required": ["m"],
        "additionalProperties": false,
        "properties": {
            "a": {"type": "integer", "maximum": 4},
            "b": {"type": ["number", "null"]},
            "c": {"type": "string", "minLength": 3, "pattern": "^a"},
            "d": {"type": "array", "items": {"type": "integer"}, "minItems": 3},
            "e": {"type": "object", "additionalProperties": {"type": "string"}},
            "m": {}
        }
    });
    let instance = json!({"a":5.0,"b":true,"c":"xy","d":[1,"2"],"e":{"z":1},"q":1});
    assert_eq!(
        pointers(&schema, &instance),
        ["/", "/a", "/b", "/c", "/c", "/d", "/d/1", "/e/z", "/"]
    );
}

#[test]
fn a_name_that_is_nearly_known_is_offered() {
    let validator = Validator::compile(&json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {"width": {}, "kind": {"enum": ["trend", "drift"]}}
    }))
    .expect("schema");
    for (instance, told) in [
        (
            json!({"Widht": 1}),
            "property 'Widht' is not allowed; did you mean 'width'?",
        ),
        (json!({"colour": 1}), "property 'colour' is not allowed"),
        (
            json!({"kind": "Trends"}),
            "/kind: must be one of \"trend\", \"drift\"; did you mean 'trend'?",
        ),
        (
            json!({"kind": "scatter"}),
            "/kind: must be one of \"trend\", \"drift\"",
        ),
        (
            json!({"kind": 3}),
            "/kind: must be one of \"trend\", \"drift\"",
        ),
    ] {
        let found = validator.validate(&instance);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), told);
    }
}

#[test]
fn a_type_mismatch_stops_and_names_both_types() {
    let validator =
        Validator::compile(&json!({"type": ["string", "null"], "enum": ["a"]})).expect("schema");
    let found = validator.validate(&json!(4));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "expected string or null, got integer");
    assert_eq!(
        validator.validate(&json!(4.5))[0].to_string(),
        "expected string or null, got number"
    );
}

#[test]
fn equality_is_that_of_json() {
    let validator = Validator::compile(&json!({"enum": [1, [1.0, {"x": 2}]]})).expect("schema");
    assert!(validator.validate(&json!(1.0)).is_empty());
    assert!(validator.validate(&json!([1, {"x": 2.0}])).is_empty());
    assert_eq!(validator.validate(&json!(true))[0].problem.word(), "enum");
}

#[test]
fn text_length_counts_characters_and_the_pattern_end_is_the_text_end() {
    let validator = Validator::compile(&json!({"maxLength": 2, "pattern": "é$"})).expect("schema");
    assert!(validator.validate(&json!("éé")).is_empty());
    assert_eq!(
        validator.validate(&json!("é\n"))[0].problem.word(),
        "pattern"
    );
}

#[test]
fn keys_with_slashes_are_joined_plainly() {
    let schema = json!({"properties": {"a/b": {"type": "string"}}});
    assert_eq!(pointers(&schema, &json!({"a/b": 1})), ["/a/b"]);
}

#[test]
fn exclusive_bounds_refuse_the_bound_itself() {
    let schema = json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1});
    assert_eq!(pointers(&schema, &json!(0)).len(), 1);
    assert_eq!(pointers(&schema, &json!(1.0)).len(), 1);
    assert!(pointers(&schema, &json!(0.5)).is_empty());
}

#[test]
fn broken_schemas_are_refused_with_their_place() {
    for (schema, place) in [
        (
            json!({"properties": {"a": {"typ": "string"}}}),
            "/properties/a",
        ),
        (json!({"type": "float"}), "/"),
        (json!({"items": {"pattern": "("}}), "/items"),
        (json!({"required": [1]}), "/"),
        (json!({"properties": []}), "/"),
        (json!({"enum": "a"}), "/"),
        (
            json!({"additionalProperties": {"anyOf": []}}),
            "/additionalProperties",
        ),
        (json!([]), "/"),
    ] {
        assert_eq!(
            Validator::compile(&schema).expect_err("refused").place,
            place,
            "{schema}"
        );
    }
}

#[test]
fn builders_write_the_schema_of_the_tables() {
    let built: Value = object()
        .required("ord", string("An ord."))
        .optional("n", integer_between("N.", 1, 5, 1))
        .into();
    assert_eq!(
        built,
        json!({"type": "object", "properties": {
            "ord": {"type": "string", "description": "An ord."},
            "n": {"type": "integer", "description": "N.", "minimum": 1, "maximum": 5, "default": 1}},
            "required": ["ord"]})
    );
    assert_eq!(
        Value::from(object()),
        json!({"type": "object", "properties": {}})
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..3).prop_map(Value::from_iter),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    let kind = proptest::sample::select(vec![
        "null", "boolean", "integer", "number", "string", "array", "object",
    ]);
    let leaf = (kind, any::<i8>(), 0u8..4, any_json()).prop_map(|(kind, bound, length, constant)| {
        json!({"type": kind, "minimum": bound, "maxLength": length, "minItems": length, "enum": [constant, 1, "a"]})
    });
    leaf.prop_recursive(2, 8, 3, |inner| {
        (inner.clone(), inner, any::<bool>()).prop_map(|(one, two, open)| {
            json!({"type": ["object", "array"], "properties": {"a": one}, "items": two,
                   "required": ["b"], "additionalProperties": open})
        })
    })
}

proptest! {
    #[test]
    fn it_agrees_with_an_independent_validator(schema in any_schema(), instance in any_json()) {
        let ours = Validator::compile(&schema).expect("schema").validate(&instance).is_empty();
        let theirs = jsonschema::validator_for(&schema).expect("schema").is_valid(&instance);
        prop_assert_eq!(ours, theirs, "{} against {}", instance, schema);
    }
}
