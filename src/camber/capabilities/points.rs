//! `points`: which points a facility stores (CAMBER core §12.2).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::selection::{asked, require_classes, require_equipment, require_roles};
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type, word,
};
use crate::camber::error::CapabilityError;
use crate::camber::pages;
use crate::camber::result::{CapabilityResult, Facts, counted};

const NAME: &str = "points";

/// Points on a page.
const PAGE: usize = 250;

/// Lists the stored points of a facility.
pub struct Points;

impl Capability for Points {
    fn definition(&self) -> CapabilityDefinition {
        let text = || of_type(&["string"]);
        let row = closed_object(
            &["equip", "equip_class", "role"],
            [
                ("equip", text()),
                ("equip_class", text()),
                ("role", text()),
                (
                    "ord",
                    json!({"type": "string", "description": "The station point, where the site model knows it."}),
                ),
            ],
        );
        let [limit, offset] = pages::properties();
        CapabilityDefinition {
            name: NAME,
            title: "Points of a facility",
            description: "Lists the stored points (trend series) of one facility: equipment id, equipment class, role (what \
                the point measures, such as supply_air_temp) and the station ord where it is known. Call it to see what \
                data there are before asking for an analysis; narrow a large site by equip, role or equip_class. Cheap. \
                Example: {\"facility_id\": \"harborview\", \"equip_class\": \"AHU\"}.",
            input_schema: closed_object(
                &["facility_id"],
                [
                    (
                        "facility_id",
                        word("A facility_id of the capability facilities."),
                    ),
                    ("equip", word("Only this equipment id, exactly.")),
                    ("role", word("Only this role, such as supply_air_temp.")),
                    (
                        "equip_class",
                        word("Only equipment of this class, such as AHU."),
                    ),
                    limit,
                    offset,
                ],
            )
            .into(),
            output_schema: closed_object(
                &["facility_id", "points", "count", "n_equipment"],
                [
                    ("facility_id", text()),
                    ("points", list_of(row)),
                    ("count", count()),
                    ("n_equipment", count()),
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
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let facility = call.stored_facility(arguments)?;
        let stored = call
            .store()
            .points(&facility)
            .map_err(|error| call.store_failure(&error))?;
        let [equip, role, class] =
            ["equip", "role", "equip_class"].map(|name| asked(arguments, name));
        require_equipment(call, "equip", equip.as_ref(), &stored)?;
        require_roles(call, "role", role.as_ref(), &stored)?;
        require_classes(call, "equip_class", class.as_ref(), &stored)?;
        let fits = |wanted: &Option<BTreeSet<String>>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.contains(value))
        };
        let class_of = |equip: &str| stored.classes.get(equip).map_or("", String::as_str);
        let found: Vec<&(String, String)> = stored
            .points
            .iter()
            .filter(|(e, r)| fits(&equip, e) && fits(&role, r) && fits(&class, class_of(e)))
            .collect();
        let total = found.len();
        let equipment = found
            .iter()
            .map(|(equip, _)| equip)
            .collect::<BTreeSet<_>>()
            .len();
        let ords = call.ords(facility.as_str());
        let rows: Vec<Value> = call
            .page(NAME, found, PAGE, None)
            .into_iter()
            .map(|(equip, role)| {
                let mut row = json!({"equip": equip, "equip_class": class_of(equip), "role": role});
                if let Some(ord) = ords.ord(equip, role) {
                    row["ord"] = json!(ord);
                }
                row
            })
            .collect();
        let filters: Vec<String> = ["equip", "role", "equip_class"]
            .iter()
            .filter_map(|name| {
                let value = arguments.get(*name)?.as_str()?;
                Some(format!("{name} {}", call.quote(value)))
            })
            .collect();
        let filtered = match filters.is_empty() {
            true => String::new(),
            false => format!(" with {}", filters.join(" and ")),
        };
        let told = format!(
            "{} stores {}{filtered} on {}",
            call.quote(facility.as_str()),
            counted(total, "matching point", "matching points"),
            counted(equipment, "piece of equipment", "pieces of equipment")
        );
        let mut facts = Facts::of(NAME);
        let cite = facts.add(
            "point_count",
            total,
            told.clone(),
            &[
                ("facility_id", json!(facility.as_str())),
                ("n_equipment", json!(equipment)),
            ],
        );
        let mut result = CapabilityResult::of(json!({
            "facility_id": facility.as_str(),
            "points": rows,
            "count": total,
            "n_equipment": equipment,
        }));
        result.text = format!("{told} {cite}.");
        result.facts = facts.into_list();
        Ok(result)
    }
}
