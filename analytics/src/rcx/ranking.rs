//! The order of issues (RCx report §5.1).

use std::cmp::Ordering;

use super::confidence::Confidence;
use crate::finding::Severity;

/// What the order of issues looks at.
pub(super) trait Rank {
    fn severity(&self) -> Severity;
    /// Whether it rests on a sensor.
    fn is_conditional(&self) -> bool;
    fn cost(&self) -> Option<f64>;
    fn confidence(&self) -> Confidence;
    fn key(&self) -> &str;
    /// Whether its root is a comparison of a sensor with a reference.
    fn is_sensor(&self) -> bool;
    /// Whether it is conditional on a sensor that the other one is about.
    fn rests_on(&self, other: &Self) -> bool;
}

/// Issues in their order.
pub(super) type Ranked<T> = Vec<T>;

/// Puts issues in order: the worst first, those that rest on a sensor behind, the costly before the cheap and those before
/// the uncosted, of which the surer is first. An issue of a sensor stands just above the first one that rests on it.
pub(super) fn ranked<T: Rank>(mut issues: Vec<T>) -> Ranked<T> {
    issues.sort_by(order);
    let moved: Vec<bool> = issues
        .iter()
        .map(|issue| issue.is_sensor() && issues.iter().any(|other| other.rests_on(issue)))
        .collect();
    let mut sensors = Vec::new();
    let mut ranked = Vec::with_capacity(issues.len());
    for (issue, is_moved) in issues.into_iter().zip(moved) {
        match is_moved {
            true => sensors.push(issue),
            false => ranked.push(issue),
        }
    }
    // Each goes in front of its first dependent, behind the sensors that were put there before.
    for sensor in sensors {
        let place = ranked
            .iter()
            .position(|issue| issue.rests_on(&sensor))
            .unwrap_or(ranked.len());
        ranked.insert(place, sensor);
    }
    ranked
}

fn order<T: Rank>(one: &T, other: &T) -> Ordering {
    one.severity()
        .cmp(&other.severity())
        .then(one.is_conditional().cmp(&other.is_conditional()))
        .then_with(|| match (one.cost(), other.cost()) {
            (Some(one), Some(other)) => other.total_cmp(&one),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => other.confidence().cmp(&one.confidence()),
        })
        .then_with(|| one.key().cmp(other.key()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain {
        key: &'static str,
        severity: Severity,
        sensor: Option<&'static str>,
        cost: Option<f64>,
        confidence: Confidence,
        is_sensor: bool,
    }

    impl Rank for Plain {
        fn severity(&self) -> Severity {
            self.severity
        }
        fn is_conditional(&self) -> bool {
            self.sensor.is_some()
        }
        fn cost(&self) -> Option<f64> {
            self.cost
        }
        fn confidence(&self) -> Confidence {
            self.confidence
        }
        fn key(&self) -> &str {
            self.key
        }
        fn is_sensor(&self) -> bool {
            self.is_sensor
        }
        fn rests_on(&self, other: &Self) -> bool {
            self.sensor == Some(other.key)
        }
    }

    fn issue(key: &'static str, severity: Severity) -> Plain {
        Plain {
            key,
            severity,
            sensor: None,
            cost: None,
            confidence: Confidence::Medium,
            is_sensor: false,
        }
    }

    fn keys(issues: Vec<Plain>) -> Vec<&'static str> {
        ranked(issues).iter().map(|issue| issue.key).collect()
    }

    #[test]
    fn the_worst_the_certain_and_the_costly_come_first() {
        use Severity::{Fault, Warn};
        let cost = |key, cost| Plain {
            cost: Some(cost),
            ..issue(key, Fault)
        };
        let sure = |key, confidence| Plain {
            confidence,
            ..issue(key, Fault)
        };
        let issues = vec![
            issue("warn", Warn),
            Plain {
                sensor: Some("x"),
                cost: Some(9e9),
                ..issue("conditional", Fault)
            },
            sure("b-high", Confidence::High),
            sure("c-low", Confidence::Low),
            sure("a-low", Confidence::Low),
            cost("cheap", 5.0),
            cost("costly", 50.0),
        ];
        assert_eq!(
            keys(issues),
            [
                "costly",
                "cheap",
                "b-high",
                "a-low",
                "c-low",
                "conditional",
                "warn"
            ]
        );
    }

    #[test]
    fn a_sensor_stands_just_above_the_first_issue_that_rests_on_it() {
        use Severity::{Fault, Warn};
        let sensor = |key, severity| Plain {
            is_sensor: true,
            ..issue(key, severity)
        };
        let rests = |key, severity, sensor| Plain {
            sensor: Some(sensor),
            ..issue(key, severity)
        };
        let issues = vec![
            issue("a", Fault),
            rests("b", Fault, "s1"),
            rests("c", Fault, "s1"),
            rests("d", Warn, "s2"),
            sensor("s1", Warn),
            // Its dependent is below: it comes down to it.
            sensor("s2", Fault),
            sensor("alone", Fault),
        ];
        assert_eq!(keys(issues), ["a", "alone", "s1", "b", "c", "s2", "d"]);
    }
}
