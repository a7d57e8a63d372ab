//! A document held against a compiled schema.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::{Node, Problem, Rules, Type, Violation, compare, nearest, same_json};

/// An instance that is held against a schema.
#[derive(Default)]
pub(super) struct Run {
    path: Vec<String>,
    pub(super) found: Vec<Violation>,
}

impl Run {
    fn report(&mut self, problem: Problem) {
        self.found.push(Violation {
            path: self.path.clone(),
            problem,
        });
    }

    /// Only the first problems are told to anybody, so that a document of nothing but wrong names costs little.
    fn nearest<'a>(&self, name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
        const OFFERED: usize = 50;
        match self.found.len() < OFFERED {
            true => nearest(name, known),
            false => None,
        }
    }

    fn bound(&mut self, broken: bool, rule: impl FnOnce() -> String) {
        if broken {
            self.report(Problem::Bound { rule: rule() });
        }
    }

    fn child(&mut self, step: String, node: &Node, instance: &Value) {
        self.path.push(step);
        self.node(node, instance);
        self.path.pop();
    }

    pub(super) fn node(&mut self, node: &Node, instance: &Value) {
        let rules = match node {
            Node::Always => return,
            Node::Never => return self.report(Problem::Never),
            Node::Rules(rules) => rules,
        };
        if !rules.types.is_empty() && !rules.types.iter().any(|kind| kind.accepts(instance)) {
            let expected: Vec<&str> = rules.types.iter().map(|kind| kind.name()).collect();
            return self.report(Problem::Type {
                expected: expected.join(" or "),
                actual: Type::of(instance),
            });
        }
        if let Some(allowed) = &rules.allowed
            && !allowed.iter().any(|value| same_json(value, instance))
        {
            let words = allowed.iter().filter_map(Value::as_str);
            self.report(Problem::Enum {
                allowed: allowed.clone(),
                nearest: instance.as_str().and_then(|word| self.nearest(word, words)),
            });
        }
        if let Some(constant) = &rules.constant
            && !same_json(constant, instance)
        {
            self.report(Problem::Const {
                expected: constant.clone(),
            });
        }
        match instance {
            Value::String(text) => self.string(rules, text),
            Value::Number(number) => self.number(rules, number),
            Value::Array(items) => self.array(rules, items),
            Value::Object(members) => self.object(rules, members),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn string(&mut self, rules: &Rules, text: &str) {
        let length = text.chars().count() as u64;
        if let Some(least) = rules.min_length {
            self.bound(length < least, || format!("at least {least} characters"));
        }
        if let Some(most) = rules.max_length {
            self.bound(length > most, || format!("at most {most} characters"));
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.is_match(text)
        {
            self.report(Problem::Pattern {
                pattern: pattern.as_str().to_owned(),
            });
        }
    }

    fn number(&mut self, rules: &Rules, number: &Number) {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let order = |bound: &Number| compare(number, bound);
        if let Some(bound) = &rules.minimum {
            self.bound(order(bound) == Some(Less), || {
                format!("a value of at least {bound}")
            });
        }
        if let Some(bound) = &rules.maximum {
            self.bound(order(bound) == Some(Greater), || {
                format!("a value of at most {bound}")
            });
        }
        if let Some(bound) = &rules.exclusive_minimum {
            self.bound(matches!(order(bound), Some(Less | Equal)), || {
                format!("a value above {bound}")
            });
        }
        if let Some(bound) = &rules.exclusive_maximum {
            self.bound(matches!(order(bound), Some(Greater | Equal)), || {
                format!("a value below {bound}")
            });
        }
    }

    fn array(&mut self, rules: &Rules, items: &[Value]) {
        let length = items.len() as u64;
        if let Some(least) = rules.min_items {
            self.bound(length < least, || format!("at least {least} items"));
        }
        if let Some(most) = rules.max_items {
            self.bound(length > most, || format!("at most {most} items"));
        }
        if let Some(node) = &rules.items {
            for (index, item) in items.iter().enumerate() {
                self.child(index.to_string(), node, item);
            }
        }
    }

    fn object(&mut self, rules: &Rules, members: &Map<String, Value>) {
        for name in &rules.required {
            if !members.contains_key(name) {
                self.report(Problem::Missing { name: name.clone() });
            }
        }
        let sorted: BTreeMap<&String, &Value> = members.iter().collect();
        for (name, value) in sorted {
            match (rules.properties.get(name), &rules.additional) {
                (Some(node), _) => self.child(name.clone(), node, value),
                (None, Some(Node::Never)) => {
                    let known = rules.properties.keys().map(String::as_str);
                    self.report(Problem::Unknown {
                        name: name.clone(),
                        nearest: self.nearest(name, known),
                    });
                }
                (None, Some(node)) => self.child(name.clone(), node, value),
                (None, None) => {}
            }
        }
    }
}
