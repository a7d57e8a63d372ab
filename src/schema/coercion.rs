//! Whole numbers written as fractions: `5.0` where the schema says integer becomes `5` (CAMBER core §2 step 3).

use serde_json::Value;

use super::{Node, Type, Validator};

impl Validator {
    /// Turns whole fractions into integers wherever the schema asks for an integer; the instance is valid already.
    ///
    /// ```
    /// use niagara_bridge::schema::Validator;
    /// use serde_json::json;
    /// let schema = json!({"properties": {"limit": {"type": "integer"}, "share": {"type": "number"}}});
    /// let mut instance = json!({"limit": 5.0, "share": 5.0});
    /// Validator::compile(&schema).unwrap().make_integers(&mut instance);
    /// assert_eq!(instance.to_string(), r#"{"limit":5,"share":5.0}"#);
    /// ```
    pub fn make_integers(&self, instance: &mut Value) {
        make_integers(&self.0, instance);
    }
}

fn make_integers(node: &Node, instance: &mut Value) {
    let Node::Rules(rules) = node else {
        return;
    };
    match instance {
        Value::Number(number) if number.is_f64() => {
            let asks = rules.types.contains(&Type::Integer) && !rules.types.contains(&Type::Number);
            let whole = number.as_f64().filter(|value| value.fract() == 0.0);
            if asks && let Some(whole) = whole.and_then(exact_integer) {
                *instance = whole.into();
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &rules.items {
                items
                    .iter_mut()
                    .for_each(|item| make_integers(schema, item));
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                if let Some(schema) = rules.properties.get(name).or(rules.additional.as_ref()) {
                    make_integers(schema, value);
                }
            }
        }
        _ => {}
    }
}

/// The integer of that value, when a 64-bit one holds it exactly.
fn exact_integer(value: f64) -> Option<i64> {
    /// 2^53: up to here every integer is a fraction too.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    // In these bounds the conversion cannot lose anything.
    (value.abs() <= EXACT).then_some(value as i64)
}
