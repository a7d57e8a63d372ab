//! `niagara://kinds/catalog`: what points can measure, and the equipment types of this site (Tool surface §10).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{Address, Resource, ResourceDefinition, ResourceError};
use crate::knowledge::kinds::{Kind, kinds};
use crate::knowledge::{EquipmentType, KnowledgeStore};
use crate::tools::CallContext;

/// The resource `niagara://kinds/catalog`.
pub struct KindsCatalog(pub Arc<KnowledgeStore>);

impl Resource for KindsCatalog {
    fn definition(&self) -> ResourceDefinition {
        ResourceDefinition {
            address: Address::Fixed("niagara://kinds/catalog".into()),
            other_prefixes: Vec::new(),
            name: "kinds/catalog".into(),
            description:
                "The kinds of points that the knowledge model recognises, with their units and usual \
                          ranges, and the equipment types of this site with their roles."
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
            let snapshot = self.0.readable()?;
            let types = &snapshot.model.document().equipment_types;
            let trees: Vec<Value> = types.iter().map(EquipmentType::to_tree).collect();
            let kinds: Vec<Value> = kinds().iter().map(Kind::to_tree).collect();
            Ok(
                json!({ "kinds": kinds, "equipment_types": trees, "count": types.len() })
                    .to_string(),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_catalogue_shows_kinds_with_units_and_the_sites_own_types() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("knowledge.yaml");
        let text = "equipment_types:\n- {id: fan-coil, typical_points: [{role: room_temp, kind: temperature, required: true}]}\n";
        std::fs::write(&file, text).expect("write");
        let catalog = KindsCatalog(Arc::new(KnowledgeStore::open(file)));
        let answer = catalog.read(&CallContext::service(), "").await;
        let answer: Value = serde_json::from_str(&answer.expect("read")).expect("JSON");
        assert_eq!(answer["count"], 1);
        assert_eq!(
            answer["equipment_types"],
            json!([{"id": "fan-coil", "typical_points": [
                {"role": "room_temp", "kind": "temperature", "required": true}]}])
        );
        let kinds = answer["kinds"].as_array().expect("kinds");
        let ppm = kinds.iter().find(|kind| kind["id"] == "ppm");
        assert_eq!(ppm.expect("ppm")["units"][0]["symbol"], "ppm");
    }
}
