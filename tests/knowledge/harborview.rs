//! A bridge to the demo site with its model.

use chrono::{DateTime, Utc};
use mock_station::model::Station;
use mock_station::model::accounts::BRIDGE;
use mock_station::site::{Harborview, SiteOptions};
use mock_station::switches::Switches;
use niagara_bridge::knowledge::demo_model::harborview;
use niagara_bridge::knowledge::{Edited, Editor, KnowledgeDocument};

use crate::station_bench::Bench;

/// The demo site with its whole model.
pub async fn mapped() -> Bench {
    with_switches(|_| {}).await
}

/// The same with other switches of the station.
pub async fn with_switches(switch: impl FnOnce(&mut Switches)) -> Bench {
    let bench = site(switch, |_| {}).await;
    map(&bench, |_| {}).await;
    bench
}

/// The demo site, nothing mapped.
pub async fn site(switch: impl FnOnce(&mut Switches), edit: impl FnOnce(&mut Station)) -> Bench {
    let now: DateTime<Utc> = "2026-11-02T15:20:00Z".parse().expect("a time");
    let mut site = Harborview::build(SiteOptions::for_tests(now)).expect("the site");
    edit(&mut site.station);
    Bench::serving(site.station, now, switch, BRIDGE).await
}

/// Gives a bridge the site's model with a change.
pub async fn map(bench: &Bench, change: impl FnOnce(&mut KnowledgeDocument) + Send + 'static) {
    let editor = Editor {
        principal: "ann".to_owned(),
        session_id: String::new(),
        tool: "importKnowledge".to_owned(),
    };
    bench
        .knowledge
        .edit(&editor, "importKnowledge", |document| {
            *document = harborview().expect("the model of the site");
            change(document);
            Ok(Edited::new("merge", ()))
        })
        .await
        .expect("an edit");
}
