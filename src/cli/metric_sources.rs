//! What station and knowledge file tell the metrics.

use std::sync::Arc;

use crate::knowledge::KnowledgeStore;
use crate::mcp::metrics::{Exposition, MetricSource};
use crate::station::facade::StationFacade;
use crate::tools::write_gate::SharedGate;

/// Requests, logins and watched points of the station.
pub struct StationMetrics(pub Arc<StationFacade>);

impl MetricSource for StationMetrics {
    fn measure(&self, page: &mut Exposition) {
        let traffic = self.0.web().traffic();
        for ((interface, outcome), count) in traffic.requests() {
            page.add(
                "station_requests_total",
                &[interface.name(), outcome.name()],
                count as f64,
            );
        }
        page.add(
            "station_requests_in_flight",
            &[],
            traffic.in_flight() as f64,
        );
        page.add("station_requests_waiting", &[], traffic.waiting() as f64);
        for (outcome, count) in traffic.logins() {
            page.add("station_logins_total", &[outcome], count as f64);
        }
        let is_logged_in = self.0.web().is_logged_in();
        page.add("station_logged_in", &[], f64::from(is_logged_in));
        page.add(
            "station_watched_points",
            &[],
            self.0.watched_points() as f64,
        );
    }
}

/// Writes to the station, and whether they can be recorded.
pub struct WriteMetrics(pub SharedGate);

impl MetricSource for WriteMetrics {
    fn measure(&self, page: &mut Exposition) {
        for (tool, outcome, count) in self.0.counts().all() {
            page.add("writes_total", &[&tool, outcome], count as f64);
        }
        let is_recording = self.0.trail().failure().is_none();
        page.add("writes_recorded", &[], f64::from(is_recording));
    }
}

/// State and size of the knowledge file.
pub struct KnowledgeMetrics(pub Arc<KnowledgeStore>);

impl MetricSource for KnowledgeMetrics {
    fn measure(&self, page: &mut Exposition) {
        let facts = self.0.file_facts();
        let snapshot = self.0.snapshot();
        let document = snapshot.model.document();
        let is_readable = self.0.file_problem().is_none();
        let points: usize = document
            .equipment
            .iter()
            .map(|equipment| equipment.points.len())
            .sum();
        for (name, value) in [
            ("knowledge_file_exists", f64::from(facts.exists)),
            ("knowledge_file_readable", f64::from(is_readable)),
            ("knowledge_file_bytes", facts.size.max(0) as f64),
            (
                "knowledge_file_modified_timestamp_seconds",
                facts.last_modified_ms as f64 / 1000.0,
            ),
            ("knowledge_spaces", document.spaces.len() as f64),
            ("knowledge_equipment", document.equipment.len() as f64),
            ("knowledge_points", (points + document.points.len()) as f64),
            (
                "knowledge_edits_logged",
                f64::from(self.0.audit_failure().is_none()),
            ),
        ] {
            page.add(name, &[], value);
        }
    }
}
