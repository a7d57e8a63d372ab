//! The rules find the planted faults of Lakeside where they are, and blame nothing else (issues 7 and 8).
//!
//! Its run configuration is what `camber init-config` makes of a model that maps every point of the truth.

use mock_station::site::SiteName;

use crate::fault_table::{self, Consequence, Judged, of};
use crate::judged_site::{JudgedSite, STRETCHES};

const LOW_DELTA_T: &str = "low chilled-water temperature difference";

/// Both machines see the flow and the difference of their plant, and its pump stands at 100 %.
const CONSEQUENCES: [Consequence; 3] = [
    of(LOW_DELTA_T, "KM-1", "chw_plant_reset"),
    of(LOW_DELTA_T, "KM-2", "chw_plant_reset"),
    of(LOW_DELTA_T, "KW", "chw_pump_dp_reset"),
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
        &CONSEQUENCES,
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
