//! The rules find the planted faults of Lakeside where they are, and blame nothing else (issues 7 and 8).
//!
//! Its run configuration is what `camber init-config` makes of a model that maps every point of the truth.

use mock_station::site::SiteName;

use crate::fault_table::{self, Judged, LAKESIDE_CONSEQUENCES, Seen};
use crate::judged_site::{JudgedSite, STRETCHES};

/// Boilers rest in summer and chillers in winter.
const SEEN: [Seen; 6] = [
    ("short-cycling boiler", &["winter", "spring", "autumn"]),
    (
        "low chilled-water temperature difference",
        &["spring", "summer"],
    ),
    ("fouled cooling tower", &["summer"]),
    ("defrost by timer", &["winter"]),
    ("short-cycling tap-water heat pump", &["summer", "autumn"]),
    ("circuit pump in hand", &["spring", "summer"]),
];

#[tokio::test]
async fn planted_faults_of_lakeside_are_found_and_healthy_equipment_is_not_blamed() {
    let site = JudgedSite::new(SiteName::Lakeside, &STRETCHES).await;
    assert!(
        site.run_config.contains("resample: 15min"),
        "{}",
        site.run_config
    );
    let judged: Judged = STRETCHES
        .map(|stretch| (stretch, site.judged(stretch)))
        .into();
    println!("{}", fault_table::table(&site.truth, &judged));
    println!("{}", fault_table::raised(&site.truth, &judged));
    let mut wrong = fault_table::unseen(&site.truth, &judged);
    wrong.extend(fault_table::wrongly_blamed(
        &site.truth,
        &judged,
        &LAKESIDE_CONSEQUENCES,
    ));
    wrong.extend(fault_table::plant_mistakes(&site.truth, &judged, &SEEN));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
