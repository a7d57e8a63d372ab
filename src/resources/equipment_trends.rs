//! `niagara://equipment/{id}` with what is stored of the equipment (Tool surface §10, CAMBER core §12.3).

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::knowledge_entry::EntryResource;
use super::{Resource, ResourceDefinition, ResourceError};
use crate::tools::CallContext;
use crate::tools::capability::CapabilityAccess;

/// The equipment of the knowledge model; readers who may see the station's trends are told how complete they are.
pub struct EquipmentWithTrends {
    entry: EntryResource,
    capabilities: CapabilityAccess,
}

impl EquipmentWithTrends {
    /// Adds trends to the documents of `entry`.
    pub fn new(entry: EntryResource, capabilities: CapabilityAccess) -> Self {
        Self {
            entry,
            capabilities,
        }
    }

    /// Coverage of the equipment; none where nothing is stored, or the reader may not see it.
    async fn trends(&self, context: &CallContext, id: &str) -> Option<Value> {
        let facility = self.capabilities.station_facility()?;
        let arguments = json!({"facility_id": facility, "equips": [id], "limit": 1000});
        let found = match self
            .capabilities
            .answer(context, "coverage", arguments)
            .await?
        {
            Ok(found) => found.data,
            Err(error) => {
                tracing::debug!(%error, "the equipment is shown without trends");
                return None;
            }
        };
        let points: Vec<Value> = found
            .get("points")?
            .as_array()?
            .iter()
            .filter_map(Value::as_object)
            .map(point)
            .collect();
        Some(json!({
            "facility_id": facility,
            "window": found.get("window"),
            "coverage": found.get("coverage"),
            "points": points,
        }))
    }
}

fn point(row: &Map<String, Value>) -> Value {
    let kept = [
        "role",
        "n_samples",
        "first",
        "last",
        "interval_minutes",
        "coverage",
        "longest_gap_hours",
    ];
    let members = kept
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), row.get(*key)?.clone())));
    Value::Object(members.collect())
}

impl Resource for EquipmentWithTrends {
    fn definition(&self) -> ResourceDefinition {
        self.entry.definition()
    }

    fn read<'a>(
        &'a self,
        context: &'a CallContext,
        id: &'a str,
    ) -> BoxFuture<'a, Result<String, ResourceError>> {
        Box::pin(async move {
            let text = self.entry.read(context, id).await?;
            let Some(trends) = self.trends(context, id).await else {
                return Ok(text);
            };
            let Ok(Value::Object(mut document)) = serde_json::from_str(&text) else {
                return Ok(text);
            };
            document.insert("trends".to_owned(), trends);
            Ok(Value::Object(document).to_string())
        })
    }

    fn complete<'a>(
        &'a self,
        context: &'a CallContext,
        typed: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        self.entry.complete(context, typed)
    }
}
