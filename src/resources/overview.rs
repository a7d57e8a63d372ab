//! `niagara://overview`: what the knowledge model holds, in numbers (Tool surface §10).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{Address, Resource, ResourceDefinition, ResourceError};
use crate::knowledge::{KnowledgeStore, KnowledgeUnreadable};
use crate::tools::CallContext;

/// The facts shown by the overview.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overview {
    /// The free map `station` of the knowledge file.
    pub station: Map<String, Value>,
    pub schema_version: i64,
    pub space_count: usize,
    pub equipment_type_count: usize,
    pub equipment_count: usize,
    pub standalone_point_count: usize,
    /// Why the model is not what the file holds now.
    pub stale: Option<String>,
}

/// Whoever holds the knowledge model.
pub trait OverviewSource: Send + Sync {
    /// The facts now.
    ///
    /// # Errors
    /// The knowledge file cannot be used.
    fn overview(&self) -> Result<Overview, KnowledgeUnreadable>;
}

impl OverviewSource for KnowledgeStore {
    fn overview(&self) -> Result<Overview, KnowledgeUnreadable> {
        let snapshot = self.readable()?;
        let document = snapshot.model.document();
        Ok(Overview {
            station: document.station.clone(),
            schema_version: document.schema_version,
            space_count: document.spaces.len(),
            equipment_type_count: document.equipment_types.len(),
            equipment_count: document.equipment.len(),
            standalone_point_count: document.points.len(),
            stale: snapshot.staleness(),
        })
    }
}

/// The resource `niagara://overview`.
pub struct OverviewResource {
    source: Arc<dyn OverviewSource>,
}

impl OverviewResource {
    /// Shows what `source` holds.
    pub fn new(source: Arc<dyn OverviewSource>) -> Self {
        Self { source }
    }
}

impl Resource for OverviewResource {
    fn definition(&self) -> ResourceDefinition {
        ResourceDefinition {
            address: Address::Fixed("niagara://overview".into()),
            other_prefixes: Vec::new(),
            name: "overview".into(),
            description: "The site in numbers: the station's entry of the knowledge model, and how many spaces, \
                          equipment types, pieces of equipment and standalone points it holds."
                .into(),
            mime_type: "application/json",
        }
    }

    fn read<'a>(
        &'a self,
        _context: &'a CallContext,
        _id: &'a str,
    ) -> BoxFuture<'a, Result<String, ResourceError>> {
        Box::pin(async move {
            let overview = self.source.overview()?;
            let mut document = json!({
                "station": overview.station,
                "schemaVersion": overview.schema_version,
                "spaceCount": overview.space_count,
                "equipmentTypeCount": overview.equipment_type_count,
                "equipmentCount": overview.equipment_count,
                "standalonePointCount": overview.standalone_point_count,
            });
            if let Some(staleness) = overview.stale {
                document["stale"] = json!(staleness);
            }
            Ok(document.to_string())
        })
    }
}
