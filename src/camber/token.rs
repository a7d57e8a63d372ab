//! The token that makes fact ids of different calls differ (CAMBER core §4.2).

use std::collections::HashMap;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::citations::lexer::replace_citations;
use super::python_text::canonical_json;
use super::result::CapabilityResult;

/// Fact ids are looked for so many keys or indices deep.
const DEEPEST: usize = 20;

/// What decides the values of a call, beside its arguments.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokenGround {
    /// Digest of the run configuration's content; none without one.
    pub config: Option<String>,
    pub min_trust: f64,
    /// Digest of sizes and times of the files that the call reads.
    pub generation: String,
    /// Digest of what the site model knows of stored points.
    pub points: Option<String>,
}

/// The six digits of a call.
pub fn call_token<'a>(
    capability: &str,
    arguments: &Value,
    allowed: impl Iterator<Item = &'a String>,
    ground: &TokenGround,
) -> String {
    let mut allowed: Vec<&String> = allowed.collect();
    allowed.sort_unstable();
    let mut parts = vec![
        json!(capability),
        arguments.clone(),
        json!(allowed),
        json!(ground.config),
        json!(ground.min_trust),
        json!(ground.generation),
    ];
    parts.extend(ground.points.as_ref().map(|points| json!(points)));
    six_digits(&Value::Array(parts))
}

fn six_digits(payload: &Value) -> String {
    sha256(canonical_json(payload).as_bytes())
        .chars()
        .take(6)
        .collect()
}

/// SHA-256 in hex digits.
pub fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes)
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Adds the token to every fact id of the result: in facts, in citations of the text, in strings of the data.
pub fn scope(result: &mut CapabilityResult, token: &str) {
    let mut scoped: HashMap<String, String> = HashMap::new();
    for fact in &mut result.facts {
        let Some(Value::String(id)) = fact.get_mut("id") else {
            continue;
        };
        let mark = if id.contains('@') { '-' } else { '@' };
        let full = format!("{id}{mark}{token}");
        scoped.insert(std::mem::replace(id, full.clone()), full);
    }
    let name = |id: &str| scoped.get(id).cloned();
    result.text = replace_citations(&result.text, |id| {
        format!("[{}]", name(id).unwrap_or_else(|| id.to_owned()))
    });
    for value in result.data.values_mut() {
        scope_value(value, &name, 1);
    }
}

fn scope_value(value: &mut Value, name: &dyn Fn(&str) -> Option<String>, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::String(text) => {
            if let Some(full) = name(text) {
                *text = full;
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| scope_value(item, name, depth + 1)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| scope_value(member, name, depth + 1)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camber::result::Facts;

    #[test]
    fn the_digits_are_those_of_the_reference() {
        let payload = json!(["points", {"facility_id": "hq"}, ["hq"]]);
        assert_eq!(six_digits(&payload), "eb0713");
        let payload = json!(["points", {"facility_id": "hq"}, ["hq", "nope"]]);
        assert_eq!(six_digits(&payload), "ae65cb");
    }

    #[test]
    fn whatever_decides_the_values_changes_the_token() {
        let allowed = ["hq".to_owned(), "annex".to_owned()];
        let token = |arguments: Value, ground: &TokenGround| {
            call_token("points", &arguments, allowed.iter(), ground)
        };
        let ground = TokenGround {
            min_trust: 0.5,
            generation: "a".into(),
            ..TokenGround::default()
        };
        let base = token(json!({"facility_id": "hq"}), &ground);
        assert_eq!(base, token(json!({"facility_id": "hq"}), &ground));
        let others = [
            TokenGround {
                config: Some("c".into()),
                ..ground.clone()
            },
            TokenGround {
                min_trust: 0.6,
                ..ground.clone()
            },
            TokenGround {
                generation: "b".into(),
                ..ground.clone()
            },
            TokenGround {
                points: Some("p".into()),
                ..ground.clone()
            },
        ];
        for other in &others {
            assert_ne!(
                base,
                token(json!({"facility_id": "hq"}), other),
                "{other:?}"
            );
        }
        assert_ne!(base, token(json!({"facility_id": "annex"}), &ground));
    }

    #[test]
    fn the_token_reaches_facts_text_and_data() {
        let mut facts = Facts::of("points");
        let cite = facts.add("point_count", 6, "6 points", &[]);
        let mut result =
            CapabilityResult::of(json!({"rows": [{"fact": "F1@points", "equip": "F1@point"}]}));
        result.text = format!("hq stores 6 points {cite}; [F9@other].");
        result.facts = facts.into_list();
        scope(&mut result, "1a2b3c");
        assert_eq!(
            result.text,
            "hq stores 6 points [F1@points-1a2b3c]; [F9@other]."
        );
        assert_eq!(result.facts[0]["id"], "F1@points-1a2b3c");
        assert_eq!(
            result.data["rows"],
            json!([{"fact": "F1@points-1a2b3c", "equip": "F1@point"}])
        );
    }
}
