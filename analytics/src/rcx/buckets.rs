//! Which findings are one cause (RCx report §3.3, §3.5).

use std::collections::BTreeMap;

use super::items::Item;

/// Rules of one equipment that tell of one cause, the root first.
const CHAINS: [(&str, &[&str]); 4] = [
    (
        "sat",
        &[
            "supply_air_reset",
            "supply_air_reset_compliance",
            "overcooling_severity",
            "overcooling_min_flow",
            "reheat_penalty",
            "reheat_minimization_g36",
            "simultaneous_heat_cool",
        ],
    ),
    (
        "econ",
        &[
            "economizer_damper_drift",
            "economizer_high_limit",
            "outdoor_air_fraction",
            "free_cooling_missed",
        ],
    ),
    (
        "hw_lockout",
        &["boiler_summer_lockout", "hw_pump_summer_lockout"],
    ),
    (
        "static",
        &[
            "static_reset_effectiveness",
            "static_rogue_zone_census",
            "damper_census",
        ],
    ),
];

/// The chain of a rule and its place in it; the rule itself when it is in none.
pub(super) fn chain_of(rule: &str) -> (&str, usize) {
    CHAINS
        .iter()
        .find_map(|(chain, rules)| {
            let place = rules.iter().position(|known| *known == rule)?;
            Some((*chain, place))
        })
        .unwrap_or((rule, 0))
}

/// Findings of one cause.
#[derive(Debug, Clone, Default)]
pub(super) struct Bucket {
    pub equip: String,
    /// Items of the equipment itself, the root first, then those of the boxes that it serves.
    pub members: Vec<usize>,
    /// What the chains of zones tell of it.
    pub chain_lines: Vec<String>,
}

/// The buckets of all warnings and faults, in the order of their first findings. `moved`: items that belong to the bucket of
/// another item.
pub(super) fn buckets(items: &[Item<'_>], moved: &BTreeMap<usize, usize>) -> Vec<Bucket> {
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut buckets: Vec<Bucket> = Vec::new();
    let mut own: BTreeMap<usize, usize> = BTreeMap::new();
    for (place, item) in items.iter().enumerate() {
        if !item.is_actionable() || moved.contains_key(&place) {
            continue;
        }
        let (chain, _) = chain_of(&item.rule);
        let key = (item.equip.to_string(), chain.to_owned());
        let number = *places.entry(key).or_insert_with(|| {
            buckets.push(Bucket {
                equip: item.equip.to_string(),
                ..Bucket::default()
            });
            buckets.len() - 1
        });
        own.insert(place, number);
        if let Some(bucket) = buckets.get_mut(number) {
            bucket.members.push(place);
        }
    }
    let rule_of = |place: &usize| items.get(*place).map_or("", |item| &*item.rule);
    for bucket in &mut buckets {
        bucket
            .members
            .sort_by_key(|place| chain_of(rule_of(place)).1);
    }
    let mut joined: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, root) in moved {
        if let Some(number) = own.get(root) {
            joined.entry(*number).or_default().push(*place);
        }
    }
    for (number, mut places) in joined {
        places.sort_by_key(|place| {
            let equip = items.get(*place).map_or("", |item| &*item.equip);
            (equip, chain_of(rule_of(place)).1, rule_of(place))
        });
        if let Some(bucket) = buckets.get_mut(number) {
            bucket.members.extend(places);
        }
    }
    buckets
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::finding::{Metrics, Severity, Verdict};

    fn item(equip: &'static str, rule: &'static str, severity: Severity) -> Item<'static> {
        Item {
            id: None,
            rule: Cow::Borrowed(rule),
            equip: Cow::Borrowed(equip),
            place: None,
            verdict: Cow::Owned(Verdict::new(severity, Metrics::new(), "")),
            chosen: None,
            is_declined: false,
            source: None,
            scope: None,
        }
    }

    fn told(items: &[Item<'_>], buckets: &[Bucket]) -> Vec<String> {
        buckets
            .iter()
            .map(|bucket| {
                let members: Vec<String> = bucket
                    .members
                    .iter()
                    .map(|place| format!("{}@{}", items[*place].rule, items[*place].equip))
                    .collect();
                format!("{}: {}", bucket.equip, members.join(" "))
            })
            .collect()
    }

    #[test]
    fn findings_of_a_chain_are_one_cause_with_its_root_first() {
        use Severity::{Fault, Info, Warn};
        let items = [
            item("A", "simultaneous_heat_cool", Fault),
            item("A", "control_hunting", Warn),
            item("A", "supply_air_reset", Warn),
            item("B", "supply_air_reset", Info),
            item("B", "simultaneous_heat_cool", Warn),
            item("V-2", "reheat_penalty", Warn),
            item("V-1", "reheat_penalty", Fault),
            item("V-1", "overcooling_severity", Warn),
        ];
        let whole = buckets(&items, &BTreeMap::new());
        assert_eq!(
            told(&items, &whole),
            [
                "A: supply_air_reset@A simultaneous_heat_cool@A",
                "A: control_hunting@A",
                "B: simultaneous_heat_cool@B",
                "V-2: reheat_penalty@V-2",
                "V-1: overcooling_severity@V-1 reheat_penalty@V-1",
            ]
        );
        let moved = [(5, 2), (6, 2), (7, 2)].into();
        let chained = buckets(&items, &moved);
        assert_eq!(
            told(&items, &chained)[0],
            "A: supply_air_reset@A simultaneous_heat_cool@A overcooling_severity@V-1 reheat_penalty@V-1 \
             reheat_penalty@V-2"
        );
        assert_eq!(chained.len(), 3);
    }
}
