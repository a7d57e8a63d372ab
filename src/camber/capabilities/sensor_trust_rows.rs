//! Points and reference comparisons as rows and sentences of `sensor_trust` (Engine §6.1).

use niagara_analytics::trust::references::Comparison;
use niagara_analytics::trust::{PointTrust, TrustVerdict};
use serde_json::{Value, json};

use crate::camber::call::Call;
use crate::camber::capability::{closed_object, count, list_of, of_type, whole_object};
use crate::camber::hygiene::harmless;
use crate::camber::result::counted;
use crate::trends::store::wall_clock::iso;

/// One scored point of the answer.
pub(super) struct Scored {
    pub equip: String,
    pub equip_class: String,
    pub point: PointTrust,
    pub below_floor: bool,
}

impl Scored {
    /// Flags by code point.
    fn flags(&self) -> Vec<&'static str> {
        let mut flags = self.point.flags.clone();
        flags.sort_unstable();
        flags
    }

    /// Whether nothing speaks against the point.
    pub fn is_sound(&self) -> bool {
        self.point.verdict == TrustVerdict::Trusted && !self.below_floor
    }

    /// The row, with the station's point where the site model knows it.
    pub fn row(&self, ord: Option<&str>) -> Value {
        let point = &self.point;
        let mut checks: Vec<&str> = point.frame_checks.iter().map(|check| check.check).collect();
        checks.sort_unstable();
        checks.dedup();
        let mut row = json!({
            "equip": self.equip,
            "equip_class": self.equip_class,
            "role": point.role,
            "trust": point.trust,
            "verdict": point.verdict.word(),
            "below_floor": self.below_floor,
            "flags": self.flags(),
            "coverage": point.coverage,
            "flatline_frac": point.flatline_frac,
            "outlier_frac": point.outlier_frac,
            "range_violation_frac": point.range_violation_frac,
            "longest_flat_hours": point.longest_flat_hours,
            "n_stuck_intervals": point.stuck.len(),
            "checks": checks,
        });
        if let Some(ord) = ord {
            row["ord"] = json!(ord);
        }
        row
    }

    /// The score as a sentence without its full stop.
    pub fn sentence(&self, call: &Call<'_>) -> String {
        format!(
            "{} {} scores {:.2} ({})",
            call.quote(&self.equip),
            role(call, &self.point.role),
            self.point.trust,
            self.point.verdict.word()
        )
    }

    /// The score with what speaks against the point, for its fact.
    pub fn explained(&self, call: &Call<'_>) -> String {
        let flags = match self.flags() {
            none if none.is_empty() => "no single flag explains it".to_owned(),
            flags => format!("flags {}", flags.join(", ")),
        };
        let checks: String = self
            .point
            .frame_checks
            .iter()
            .map(|check| format!("; {}", harmless(&check.explanation)))
            .collect();
        format!(
            "{}: {flags}; coverage {:.0} %{checks}",
            self.sentence(call),
            self.point.coverage * 100.0
        )
    }
}

/// A role of the vocabulary as it is; another column is a name from the data.
fn role(call: &Call<'_>, role: &str) -> String {
    match niagara_analytics::roles::role(role) {
        Some(_) => role.to_owned(),
        None => call.quote(role),
    }
}

/// The schema of a point's row.
pub(super) fn point_schema() -> Value {
    let text = || of_type(&["string"]);
    let share = || json!({"type": "number", "minimum": 0, "maximum": 1});
    let columns = [
        ("equip", text()),
        ("equip_class", text()),
        ("role", text()),
        ("trust", share()),
        ("verdict", verdict_schema()),
        ("below_floor", of_type(&["boolean"])),
        ("flags", list_of(text())),
        (
            "coverage",
            described(
                share(),
                "Of the point's own span on the grid of a rule run.",
            ),
        ),
        ("flatline_frac", share()),
        (
            "outlier_frac",
            described(
                share(),
                "Of all samples together, also where the score judges levels, sides or modes apart.",
            ),
        ),
        ("range_violation_frac", of_type(&["number", "null"])),
        ("longest_flat_hours", of_type(&["number", "null"])),
        ("n_stuck_intervals", count()),
        (
            "checks",
            described(
                list_of(text()),
                "Comparisons with other points of the equipment that found something.",
            ),
        ),
    ];
    let required: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let ord = (
        "ord",
        described(text(), "The station point, where the site model knows it."),
    );
    closed_object(&required, columns.clone().into_iter().chain([ord]))
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

fn verdict_schema() -> Value {
    json!({"type": "string", "enum": ["trusted", "suspect", "untrusted"]})
}

/// A comparison as a row.
pub(super) fn comparison_row(comparison: &Comparison) -> Value {
    json!({
        "equip": comparison.equip,
        "role": comparison.role,
        "reference": comparison.reference,
        "severity": comparison.severity.word(),
        "verdict": comparison.verdict,
        "bias": comparison.bias,
        "bias_sign": comparison.bias_sign(),
        "rmse": comparison.rmse,
        "correlation": comparison.correlation,
        "drift_per_month": comparison.drift_per_month,
        "samples": comparison.samples,
        "overlap": {
            "start": comparison.overlap.map(|(start, _)| iso(start)),
            "end": comparison.overlap.map(|(_, end)| iso(end)),
            "days": comparison.overlap_days,
        },
        "caveats": comparison.caveats,
    })
}

/// The schema of a comparison's row.
pub(super) fn comparison_schema() -> Value {
    let text = || of_type(&["string"]);
    let maybe = || of_type(&["number", "null"]);
    whole_object([
        ("equip", text()),
        ("role", text()),
        ("reference", text()),
        (
            "severity",
            json!({"type": "string", "enum": ["fault", "warn", "info", "ok"]}),
        ),
        ("verdict", text()),
        (
            "bias",
            described(
                maybe(),
                "Median of the point minus the reference: a positive one reads high.",
            ),
        ),
        ("bias_sign", of_type(&["string", "null"])),
        ("rmse", maybe()),
        ("correlation", maybe()),
        ("drift_per_month", maybe()),
        ("samples", count()),
        (
            "overlap",
            whole_object([
                ("start", of_type(&["string", "null"])),
                ("end", of_type(&["string", "null"])),
                ("days", json!({"type": "number", "minimum": 0})),
            ]),
        ),
        ("caveats", list_of(text())),
    ])
}

/// A comparison as a sentence without its full stop.
pub(super) fn comparison_sentence(call: &Call<'_>, comparison: &Comparison) -> String {
    let place = format!(
        "{} {} against {}",
        call.quote(&comparison.equip),
        comparison.role,
        call.quote(&comparison.reference)
    );
    let samples = counted(comparison.samples, "common sample", "common samples");
    let (Some(bias), Some(rmse), Some(sign)) =
        (comparison.bias, comparison.rmse, comparison.bias_sign())
    else {
        return format!("{place} has {samples}, too few to compare");
    };
    let correlation = match comparison.correlation {
        Some(correlation) => format!("r {correlation}"),
        None => "r undefined, one side is constant".to_owned(),
    };
    let drift = match comparison.drift_per_month {
        Some(drift) => format!(", drift {drift} a month"),
        None => String::new(),
    };
    format!(
        "{place} is {}: bias {bias} ({sign}), RMSE {rmse}, {correlation}{drift}, {samples}",
        comparison.severity.word()
    )
}
