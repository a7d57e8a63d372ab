//! What an ingest tells before it begins and when it is done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use niagara_bridge::station::http::CallScope;
use niagara_bridge::trends::ingest::IngestPlan;
use niagara_bridge::trends::ingest::mapped_points::Refusal;
use niagara_bridge::visible_text::is_invisible;

use crate::ingest_support::{Site, last_days, run};

/// Every file and folder below, with size and time.
fn everything(root: &Path) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let facts = path.metadata().expect("facts");
            found.insert(
                path.clone(),
                (facts.len(), facts.modified().expect("a time")),
            );
            if facts.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

async fn preview(site: &Site, root: &Path) -> IngestPlan {
    let request = last_days(1, site.now());
    IngestPlan::preview(
        &site.bench.facade,
        &CallScope::unlimited(),
        &site.knowledge,
        root,
        &request,
    )
    .await
    .expect("a plan")
}

#[tokio::test]
async fn a_dry_run_changes_nothing_on_disk() {
    let site = Site::new().await;
    let parent = site.store.root().parent().expect("a folder").to_owned();
    let before = everything(&parent);
    let missing = parent.join("not").join("there");
    let plan = preview(&site, &missing).await;
    assert!(plan.points.iter().all(|point| !point.missing.is_empty()));
    preview(&site, site.store.root()).await;
    assert_eq!(everything(&parent), before);

    site.ingest(&last_days(1, site.now())).await;
    let told = preview(&site, site.store.root()).await;
    let real = site.plan(&last_days(1, site.now())).await.expect("a plan");
    assert_eq!(told.table(), real.table());
    let before = everything(&parent);
    site.wait(60);
    let plan = preview(&site, site.store.root()).await;
    assert!(
        plan.points.iter().all(|point| point.missing.len() == 1),
        "{}",
        plan.table()
    );
    assert_eq!(everything(&parent), before);
}

#[tokio::test]
async fn names_of_the_station_cannot_write_lines_of_their_own_on_the_terminal() {
    // Moves the cursor, turns the reading direction and begins a line of its own.
    let hostile = "SAT\u{1b}[2J\u{202e}\u{9b}5n\r\nNot ingested: nothing\u{7}";
    let site = Site::new().await;
    let request = last_days(1, site.now());
    let mut plan = site.plan(&request).await.expect("a plan");
    // Whatever the way on which a name comes in.
    for point in &mut plan.points {
        point.found.unit = hostile.to_owned();
        point.found.remarks.push(format!("reads {hostile}"));
    }
    plan.refused = vec![Refusal {
        equip: format!("vav{hostile}"),
        role: hostile.to_owned(),
        ord: None,
        reason: format!("no history {hostile}"),
    }];
    plan.station_name = hostile.to_owned();
    let table = plan.table();
    let report = run(&site.bench.facade, &site.store, plan, &Default::default())
        .await
        .expect("ingested");
    for text in [table, report.to_text()] {
        assert!(text.contains("SAT[2J"), "{text}");
        assert!(
            !text
                .lines()
                .any(|line| line.starts_with("Not ingested: nothing")),
            "{text}"
        );
        let bad = text
            .chars()
            .find(|sign| *sign != '\n' && is_invisible(*sign));
        assert_eq!(bad, None, "{text:?}");
    }
}
