//! What an ingest did, at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use super::mapped_points::Refusal;
use super::out_of_order::OutOfOrder;
use super::plan::{IngestPlan, PlannedPoint};
use super::reading::Piece;
use super::sample_rule::SampleCounts;
use crate::visible_text::one_line;

/// Something about one history that a person should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PointRemark {
    pub equip: String,
    pub role: String,
    pub history: String,
    /// Goes on behind the name of the history.
    pub text: String,
    /// Many histories hold some; the summary in words names a few.
    #[serde(skip)]
    of_late_records: bool,
}

impl PointRemark {
    fn of(point: &PlannedPoint, history: &str, text: String) -> Self {
        let history = match history {
            "" => point.found.source.history_id().unwrap_or("its history"),
            history => history,
        };
        Self {
            equip: point.mapped.equip.clone(),
            role: point.mapped.mapped_as.clone(),
            history: history.to_owned(),
            text,
            of_late_records: false,
        }
    }

    /// The remark as a line; what the station says in it cannot pass for more.
    fn line(&self) -> String {
        one_line(&format!(
            "{} {}: {} {}.",
            self.equip, self.role, self.history, self.text
        ))
    }
}

/// The summary.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IngestReport {
    pub facility: String,
    pub zone: String,
    /// Points that have a place in the store.
    pub points: usize,
    /// Points of which new samples were stored.
    pub points_with_samples: usize,
    pub counts: SampleCounts,
    /// Records that were read.
    pub records: u64,
    pub gaps: u64,
    /// Files that were added.
    pub parts: usize,
    /// Samples that a replacement took the place of.
    pub in_place_of: Option<u64>,
    pub refused: Vec<Refusal>,
    pub remarks: Vec<PointRemark>,
    pub without_class: usize,
    pub without_role: usize,
    pub elapsed: Duration,
    with_samples: BTreeMap<usize, u64>,
    out_of_order: BTreeMap<usize, (PointRemark, OutOfOrder)>,
    refused_before: usize,
}

impl IngestReport {
    pub(super) fn of(plan: &IngestPlan) -> Self {
        let mut report = Self {
            facility: plan.facility.to_string(),
            zone: plan.clock.zone().name().to_owned(),
            points: plan.points.len(),
            refused: plan.refused.clone(),
            refused_before: plan.refused.len(),
            without_class: plan.without_class.len(),
            without_role: plan.without_role,
            ..Self::default()
        };
        for point in &plan.points {
            for text in &point.found.remarks {
                report.remark(point, "", text);
            }
        }
        report
    }

    pub(super) fn take(&mut self, point: &PlannedPoint, piece: &Piece) {
        self.counts.add(&piece.counts);
        self.records += piece.records;
        self.gaps += piece.gaps;
        *self.with_samples.entry(piece.point).or_default() += piece.counts.kept;
        for text in &piece.remarks {
            self.remark(point, &piece.progress.history, text);
        }
        if piece.out_of_order != OutOfOrder::default() {
            let of_point = self.out_of_order.entry(piece.point).or_insert_with(|| {
                let remark = PointRemark::of(point, &piece.progress.history, String::new());
                (remark, OutOfOrder::default())
            });
            of_point.1.add(&piece.out_of_order);
        }
    }

    fn remark(&mut self, point: &PlannedPoint, history: &str, text: &str) {
        self.remarks
            .push(PointRemark::of(point, history, text.to_owned()));
    }

    /// Points whose reading failed, as against those that were refused before.
    pub(super) fn refused_while_reading(&self) -> &[Refusal] {
        self.refused.get(self.refused_before..).unwrap_or_default()
    }

    pub(super) fn finish(&mut self, elapsed: Duration) {
        for (remark, out_of_order) in std::mem::take(&mut self.out_of_order).into_values() {
            let texts = [
                (out_of_order.clock_remark(), false),
                (out_of_order.late_remark(), true),
            ];
            for (text, of_late_records) in texts {
                self.remarks.extend(text.map(|text| PointRemark {
                    text,
                    of_late_records,
                    ..remark.clone()
                }));
            }
        }
        self.points_with_samples = self.with_samples.values().filter(|kept| **kept > 0).count();
        self.elapsed = elapsed;
    }

    /// Samples per second, of those that were stored.
    pub fn samples_per_second(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 {
            self.counts.kept as f64 / seconds
        } else {
            0.0
        }
    }

    /// The summary as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let dropped: BTreeMap<&str, u64> = self
            .counts
            .dropped
            .iter()
            .map(|(reason, count)| (reason.word(), *count))
            .collect();
        serde_json::json!({
            "facility": self.facility,
            "timeZone": self.zone,
            "points": self.points,
            "pointsWithNewSamples": self.points_with_samples,
            "records": self.records,
            "samples": self.counts.kept,
            "dropped": dropped,
            "gaps": self.gaps,
            "outOfOrder": self.counts.out_of_order,
            "repeatedHour": self.counts.repeated_hour,
            "withoutStatus": self.counts.without_status,
            "parts": self.parts,
            "inPlaceOf": self.in_place_of,
            "notIngested": self.refused,
            "remarks": self.remarks,
            "equipmentWithoutClass": self.without_class,
            "pointsWithoutRole": self.without_role,
            "seconds": (self.elapsed.as_secs_f64() * 1000.0).round() / 1000.0,
            "samplesPerSecond": self.samples_per_second().round(),
        })
    }

    /// The summary in words.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "Facility {} ({}): {} new samples of {} of {} points in {} files, {:.1} s ({:.0} samples/s).",
            self.facility,
            self.zone,
            self.counts.kept,
            self.points_with_samples,
            self.points,
            self.parts,
            self.elapsed.as_secs_f64(),
            self.samples_per_second()
        );
        if let Some(stored) = self.in_place_of {
            let _ = writeln!(text, "They are in the place of {stored} samples.");
        }
        let dropped: Vec<String> = self
            .counts
            .dropped
            .iter()
            .map(|(reason, count)| format!("{count} {}", reason.word()))
            .collect();
        if !dropped.is_empty() {
            let _ = writeln!(
                text,
                "{} records are no samples: {}.",
                self.counts.dropped_in_all(),
                dropped.join(", ")
            );
        }
        for (count, what) in [
            (self.gaps, "gaps in histories of regular interval"),
            (
                self.counts.repeated_hour,
                "times the clock showed an hour again (autumn)",
            ),
            (
                self.counts.without_status,
                "samples of which the station told no status",
            ),
            (
                self.without_class as u64,
                "pieces of equipment have a type that CAMBER has no class for",
            ),
            (
                self.without_role as u64,
                "mapped points have a role that CAMBER does not know",
            ),
        ] {
            if count > 0 {
                let _ = writeln!(text, "{count} {what}.");
            }
        }
        let (late, others): (Vec<_>, Vec<_>) = self
            .remarks
            .iter()
            .partition(|remark| remark.of_late_records);
        for remark in others.iter().chain(late.iter().take(MOST_NAMED)) {
            let _ = writeln!(text, "{}", remark.line());
        }
        if let Some(more) = late.len().checked_sub(MOST_NAMED + 1) {
            let _ = writeln!(
                text,
                "{} more histories hold records that came late or twice; --json names them.",
                more + 1
            );
        }
        text.push_str(&refused_text(&self.refused));
        text
    }
}

/// Most points that are named for one reason; JSON names all.
const MOST_NAMED: usize = 6;

/// Points that are not ingested, those with the same reason together.
pub(super) fn refused_text(refused: &[Refusal]) -> String {
    let mut by_reason: indexmap::IndexMap<&str, Vec<String>> = indexmap::IndexMap::new();
    for refusal in refused {
        let name = format!("{} {}", refusal.equip, refusal.role);
        by_reason
            .entry(&refusal.reason)
            .or_default()
            .push(name.trim_end().to_owned());
    }
    let mut text = String::new();
    for (reason, names) in by_reason {
        let named: Vec<&str> = names.iter().take(MOST_NAMED).map(String::as_str).collect();
        let more = match names.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let line = format!("Not ingested: {}{more}: {reason}.", named.join(", "));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", one_line(&line));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_with_the_same_reason_are_told_together() {
        let refusal = |number: usize, reason: &str| Refusal {
            equip: format!("vav-{number}"),
            role: "oat".into(),
            ord: None,
            reason: reason.into(),
        };
        let mut refused: Vec<Refusal> =
            (1..9).map(|number| refusal(number, "no history")).collect();
        refused.insert(1, refusal(0, "no unit"));
        assert_eq!(
            refused_text(&refused),
            "Not ingested: vav-1 oat, vav-2 oat, vav-3 oat, vav-4 oat, vav-5 oat, vav-6 oat and 2 more: no history.\n\
             Not ingested: vav-0 oat: no unit.\n"
        );
    }
}
