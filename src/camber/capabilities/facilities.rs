//! `facilities`: which facilities the caller may read (CAMBER core §12.1).

use serde_json::{Map, Value, json};

use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type,
};
use crate::camber::dataset_catalogue::DatasetCatalogue;
use crate::camber::error::CapabilityError;
use crate::camber::facility_policy::LicenceBar;
use crate::camber::pages;
use crate::camber::result::{CapabilityResult, Facts, counted};
use crate::trends::store::wall_clock::iso;
use crate::trends::store::{FacilityId, StoreError};

const NAME: &str = "facilities";

/// Facilities on a page.
const PAGE: usize = 100;

/// Facilities that the summary tells.
const TOLD: usize = 10;

/// Lists facilities.
pub struct Facilities;

/// What is stored of a facility.
#[derive(Default)]
struct Stored {
    points: usize,
    equipment: usize,
    span: Option<(i64, i64)>,
    unavailable: Option<bool>,
}

fn stored(call: &Call<'_>, facility: &FacilityId) -> Result<Stored, CapabilityError> {
    let store = call.store();
    if !store.has_partition(facility) {
        return Ok(Stored::default());
    }
    let mut found = Stored::default();
    // One damaged facility keeps nobody from the others.
    let mut failed = |error: StoreError| match error.retryable() {
        Some(retryable) => {
            tracing::warn!(%error, "a facility cannot be read");
            found.unavailable = Some(retryable);
            Ok(())
        }
        None => Err(call.store_failure(&error)),
    };
    match store.points(facility) {
        Ok(points) => {
            found.points = points.points.len();
            found.equipment = points.classes.len();
        }
        Err(error) => failed(error)?,
    }
    match store.read(facility, |view| view.span()) {
        Ok(span) => found.span = span,
        Err(error) => failed(error)?,
    }
    if found.unavailable.is_some() {
        found.span = None;
    }
    Ok(found)
}

/// The allowed facilities that exist and may be shown, and how many are withheld for which bar.
fn shown(call: &Call<'_>) -> Result<(Vec<String>, usize, usize), CapabilityError> {
    let known = call
        .store()
        .known_facilities()
        .map_err(|error| call.store_failure(&error))?;
    let (mut shown, mut research, mut unverified) = (Vec::new(), 0, 0);
    for facility in known {
        let id = facility.as_str();
        if !call.caller.allowed.contains(id) {
            continue;
        }
        match call.policy.bar(id) {
            None => shown.push(id.to_owned()),
            Some(LicenceBar::ResearchOnly) => research += 1,
            Some(LicenceBar::Unverified) => unverified += 1,
        }
    }
    Ok((shown, research, unverified))
}

fn row(call: &Call<'_>, id: &str, stored: &Stored) -> Value {
    let entry = call.policy.registry().entry(id);
    let zone = entry
        .and_then(|entry| entry.time_zone(|dataset| DatasetCatalogue::shipped().zone(dataset)));
    let mut row = json!({
        "facility_id": id,
        "name": entry.and_then(|entry| entry.shown_name()).unwrap_or(id),
        "state": entry.map_or("active", |entry| entry.state_word()),
        "timezone": zone,
        "start": stored.span.map(|(start, _)| iso(start)),
        "end": stored.span.map(|(_, end)| iso(end)),
        "n_points": stored.points,
        "n_equipment": stored.equipment,
    });
    if let Some(retryable) = stored.unavailable {
        row["unavailable"] = json!({"retryable": retryable});
    }
    row
}

impl Capability for Facilities {
    fn definition(&self) -> CapabilityDefinition {
        let text = || of_type(&["string"]);
        let maybe = || of_type(&["string", "null"]);
        let row = closed_object(
            &[
                "facility_id",
                "name",
                "state",
                "start",
                "end",
                "n_points",
                "n_equipment",
            ],
            [
                ("facility_id", text()),
                ("name", text()),
                ("state", text()),
                ("timezone", maybe()),
                ("start", maybe()),
                ("end", maybe()),
                ("n_points", count()),
                ("n_equipment", count()),
                (
                    "unavailable",
                    closed_object(&["retryable"], [("retryable", of_type(&["boolean"]))]),
                ),
            ],
        );
        CapabilityDefinition {
            name: NAME,
            title: "Facilities",
            description: "Lists the facilities (buildings) with stored trends that this caller may read: id, name, \
                lifecycle state, time zone, first and last stored sample, counts of points and equipment. Call it first: \
                the other capabilities take its facility_id. Cheap. Example: {}.",
            input_schema: closed_object(&[], pages::properties()).into(),
            output_schema: closed_object(
                &[
                    "facilities",
                    "count",
                    "withheld_research_only",
                    "withheld_unverified",
                ],
                [
                    ("facilities", list_of(row)),
                    ("count", count()),
                    ("withheld_research_only", count()),
                    ("withheld_unverified", count()),
                ],
            )
            .into(),
            long_running: false,
            reads_store: true,
            own_output: &[],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        _arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let (shown, research, unverified) = shown(call)?;
        let total = shown.len();
        let mut facts = Facts::of(NAME);
        let overall = format!("{} may be read", counted(total, "facility", "facilities"));
        let cite = facts.add("facility_count", total, overall.clone(), &[]);
        let mut sentences = vec![format!("{overall} {cite}.")];
        let mut rows = Vec::new();
        for (place, id) in call.page(NAME, shown, PAGE, None).into_iter().enumerate() {
            call.watch.check()?;
            let stored = match FacilityId::parse(&id) {
                Ok(facility) => stored(call, &facility)?,
                Err(_) => Stored::default(),
            };
            let row = row(call, &id, &stored);
            let word = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or("none");
            let stored_told = match stored.unavailable {
                Some(true) => "whose data cannot be read now; ask again".to_owned(),
                Some(false) => "whose data cannot be read: some of it is damaged".to_owned(),
                None => format!(
                    "with {} on {}",
                    counted(stored.points, "point", "points"),
                    counted(
                        stored.equipment,
                        "piece of equipment",
                        "pieces of equipment"
                    )
                ),
            };
            let told = format!(
                "{} is {} {stored_told}",
                call.quote(&id),
                call.quote(word("state")),
            );
            let text = format!(
                "{told}, named {}, samples from {} to {}",
                call.quote(word("name")),
                word("start"),
                word("end")
            );
            let cite = facts.add(
                "facility",
                stored.points,
                text,
                &[("facility_id", json!(id))],
            );
            if place < TOLD {
                sentences.push(format!("{told} {cite}."));
            }
            rows.push(row);
        }
        let mut result = CapabilityResult::of(json!({
            "facilities": rows,
            "count": total,
            "withheld_research_only": research,
            "withheld_unverified": unverified,
        }));
        if research > 0 {
            result.banners.push(format!(
                "{} withheld: research-only data are not shown by this server",
                counted(research, "facility is", "facilities are")
            ));
        }
        if unverified > 0 {
            result.banners.push(format!(
                "{} withheld: the licence cannot be established",
                counted(unverified, "facility is", "facilities are")
            ));
        }
        result.text = sentences.join(" ");
        result.facts = facts.into_list();
        Ok(result)
    }
}
