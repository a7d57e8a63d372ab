//! Somebody who gives up on a run waits for one unit of work at most, however many there are left.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use niagara_bridge::camber::rule_catalogue::RuleScope;
use niagara_bridge::camber::{
    CallerPolicy, CapabilityError, CapabilityRegistry, CapabilityResult, FailureCode, Watch,
};
use niagara_bridge::trends::store::{EquipmentRows, RoleColumn};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::store_yard::{StoreYard, equipment, stamps};

const EQUIPMENT: usize = 5;

/// Air handlers over two days.
fn yard() -> StoreYard {
    let yard = StoreYard::new();
    let column = |role: &str, number: usize| {
        let stamps = stamps("2024-03-04", 15, 192);
        let level = 50.0 + f64::from(u32::try_from(number).expect("few"));
        RoleColumn {
            role: role.to_owned(),
            values: (0..192).map(|at| level + f64::from(at % 13)).collect(),
            stamps,
        }
    };
    let rows: Vec<EquipmentRows> = (0..EQUIPMENT)
        .map(|number| {
            let roles = ["supply_air_temp", "supply_air_temp_sp", "cool_valve"];
            equipment(
                &format!("AHU-{number}"),
                "AHU",
                roles.map(|role| column(role, number)).to_vec(),
            )
        })
        .collect();
    yard.append("hq", &rows);
    yard
}

/// What a call that is cancelled while its unit of this number starts came to, and how many units started.
fn cancelled_at(
    yard: &StoreYard,
    capability: &str,
    threads: usize,
    number: usize,
) -> (Result<CapabilityResult, CapabilityError>, usize) {
    let cancel = CancellationToken::new();
    let started = Arc::new(AtomicUsize::new(0));
    let (counted, ended) = (started.clone(), cancel.clone());
    let watch = Watch::start(Duration::from_secs(60), cancel).observed(move |over| {
        // Whoever is told that there is time left starts a unit.
        if !over && counted.fetch_add(1, Ordering::SeqCst) + 1 == number {
            ended.cancel();
        }
    });
    let mut workspace = yard.workspace();
    workspace.threads = NonZeroUsize::new(threads).expect("threads");
    let answer = CapabilityRegistry::built_in().expect("a registry").call(
        capability,
        json!({"facility_id": "hq"}),
        &workspace,
        &CallerPolicy::of(["hq"]),
        &watch,
    );
    (answer, started.load(Ordering::SeqCst))
}

/// Units of a whole call: every equipment is read, and then every rule runs on it, or every equipment is scored.
fn units_of(capability: &str) -> usize {
    let catalogue = niagara_bridge::camber::rule_catalogue::RuleCatalogue::shipped();
    let of_rules: usize = niagara_analytics::run_config::rules::built_in()
        .into_iter()
        .filter_map(|rule| catalogue.entry(rule))
        .map(|entry| match entry.scope {
            RuleScope::Fleet => 1,
            RuleScope::Equipment => EQUIPMENT,
        })
        .sum();
    match capability {
        "rule_run" => EQUIPMENT + of_rules,
        _ => EQUIPMENT + EQUIPMENT,
    }
}

#[test]
fn after_a_cancel_no_unit_starts_but_the_one_that_was_claimed() {
    let yard = yard();
    for capability in ["rule_run", "sensor_trust"] {
        for threads in [1, 3] {
            let (whole, started) = cancelled_at(&yard, capability, threads, usize::MAX);
            assert!(whole.is_ok(), "{capability}");
            assert!(
                started >= units_of(capability),
                "{capability} looked {started} times at the watch, for {} units",
                units_of(capability)
            );
            // While equipment is read, at the seam, in the midst of the rules or scores, and at the very end.
            for number in [2, EQUIPMENT, EQUIPMENT + 2, started / 2, started - 1] {
                let (answer, begun) = cancelled_at(&yard, capability, threads, number);
                let error = answer.expect_err("nobody waits for it");
                assert_eq!(error.code, FailureCode::Timeout, "{}", error.message);
                assert_eq!(
                    begun, number,
                    "{capability} on {threads} threads went on after its cancel"
                );
            }
        }
    }
}
