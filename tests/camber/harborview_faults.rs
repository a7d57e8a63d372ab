//! The rules find the planted faults of Harborview where they are, and blame nothing else (issues 7 and 8).
//!
//! The table in the output says in which season which rule sees what: a fault shows in the weather that it needs.

use mock_station::site::SiteName;

use crate::fault_table::{self, HARBORVIEW_CONSEQUENCES, Judged, Seen};
use crate::judged_site::{JudgedSite, STRETCHES};

/// Coils are cold in summer and compressors idle in winter; what is wrong at all times is found at all times.
const SEEN: [Seen; 7] = [
    ("short-cycling boiler", &["winter", "spring", "autumn"]),
    (
        "low hot-water temperature difference",
        &["winter", "spring", "autumn"],
    ),
    ("fouled condenser", &["spring", "summer", "autumn"]),
    ("tower bypass leak", &["summer"]),
    ("chilled-water reset stuck", &["spring", "summer", "autumn"]),
    ("heat pump short of charge", &["summer", "autumn"]),
    (
        "night setback missing",
        &["winter", "spring", "summer", "autumn"],
    ),
];

#[tokio::test]
async fn planted_faults_of_harborview_are_found_and_healthy_equipment_is_not_blamed() {
    let site = JudgedSite::new(SiteName::Harborview, &STRETCHES).await;
    let judged: Judged = STRETCHES
        .map(|stretch| (stretch, site.judged(stretch)))
        .into();
    println!("{}", fault_table::table(&site.truth, &judged));
    println!("{}", fault_table::raised(&site.truth, &judged));
    let mut wrong = fault_table::unseen(&site.truth, &judged);
    wrong.extend(fault_table::wrongly_blamed(
        &site.truth,
        &judged,
        &HARBORVIEW_CONSEQUENCES,
    ));
    wrong.extend(fault_table::plant_mistakes(&site.truth, &judged, &SEEN));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
