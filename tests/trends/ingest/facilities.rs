//! Which facility an ingest fills, and which it leaves alone.

use chrono::{DateTime, Utc};
use niagara_bridge::trends::ingest::IngestRequest;

use crate::ingest_support::{FACILITY, NOW, Site, last_days};
use crate::store_support::{id, write};

use super::one_history::{records, with_records};

#[tokio::test]
async fn a_station_of_which_nothing_can_be_read_gives_out_no_facility_id() {
    let knowledge = "equipment_types:\n- {id: ahu}\nequipment:\n- id: ahu-1\n  type: ahu\n  points: {oat: 'station:|slot:/Drivers/Elsewhere/T'}\n";
    let site = Site::edited(|_| {}, Some(knowledge)).await;
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!((report.points, report.refused.len()), (0, 1));
    assert!(site.store.registry().entry(FACILITY).is_none());
    let kept = IngestRequest {
        facility: Some(id("ds-office")),
        ..last_days(1, site.now())
    };
    let error = site.plan(&kept).await.expect_err("a name of data sets");
    assert!(error.to_string().contains("begin with ds-"), "{error}");
}

#[tokio::test]
async fn an_id_that_may_not_be_used_is_refused_before_histories_are_asked_for() {
    let site = Site::new().await;
    let request = last_days(1, site.now());
    site.ingest(&request).await;
    let mut writer = write(&site.store);
    writer.remove(&id(FACILITY), "sold").expect("removed");
    drop(writer);
    site.bench.mock.clear_logs();
    for force in [false, true] {
        let request = IngestRequest {
            only: Default::default(),
            force,
            ..request.clone()
        };
        let error = site.plan(&request).await.expect_err("a removed facility");
        let told = error.to_string();
        assert!(
            told.contains("belonged to a facility that was removed"),
            "{told}"
        );
    }
    let requests = site.bench.mock.requests();
    assert!(
        !requests
            .iter()
            .any(|request| request.target.contains("history")),
        "{requests:?}"
    );
}

#[tokio::test]
async fn a_facility_in_another_zone_is_left_alone() {
    let site = with_records(records("2026-11-02T10:00:00Z", 0..2), "").await;
    site.ingest(&last_days(1, site.now())).await;
    let text =
        std::fs::read_to_string(site.store.root().join("_facilities.json")).expect("a registry");
    let moved = text.replace("America/New_York", "Europe/Berlin");
    std::fs::write(site.store.root().join("_facilities.json"), moved).expect("written");
    let now: DateTime<Utc> = NOW.parse().expect("a time");
    let error = site
        .plan(&last_days(1, now))
        .await
        .expect_err("another zone")
        .to_string();
    assert!(
        error.contains("Europe/Berlin") && error.contains("station.timeZone"),
        "{error}"
    );
}
