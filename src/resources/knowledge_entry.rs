//! What the resources over the knowledge model share.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::{Resource, ResourceDefinition, ResourceError};
use crate::knowledge::{KnowledgeDocument, KnowledgeModel, KnowledgeStore};
use crate::tools::CallContext;

/// A resource family: the entries of one section by id.
pub struct EntryResource {
    pub(super) knowledge: Arc<KnowledgeStore>,
    pub(super) definition: fn() -> ResourceDefinition,
    /// The document of the entry with that id.
    pub(super) tree: fn(&KnowledgeModel, &str) -> Option<Value>,
    /// Ids that fit what was typed.
    pub(super) ids: fn(&KnowledgeDocument, &str) -> Vec<String>,
}

impl Resource for EntryResource {
    fn definition(&self) -> ResourceDefinition {
        (self.definition)()
    }

    fn read<'a>(
        &'a self,
        _context: &'a CallContext,
        id: &'a str,
    ) -> BoxFuture<'a, Result<String, ResourceError>> {
        let read = || {
            let snapshot = self.knowledge.readable()?;
            let tree = (self.tree)(&snapshot.model, id);
            Ok(tree.ok_or(ResourceError::NotFound)?.to_string())
        };
        Box::pin(std::future::ready(read()))
    }

    fn complete<'a>(
        &'a self,
        _context: &'a CallContext,
        typed: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        let snapshot = self.knowledge.snapshot();
        let found = (self.ids)(snapshot.model.document(), typed);
        Box::pin(std::future::ready(found))
    }
}

/// An entry in a few words; what is missing is empty text, as in the answers of the search tools (Tool surface §8.8).
pub fn summary<'a>(fields: impl IntoIterator<Item = (&'static str, Option<&'a str>)>) -> Value {
    let fields = fields
        .into_iter()
        .map(|(key, text)| (key.to_owned(), Value::from(text.unwrap_or_default())));
    Value::Object(fields.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::resources::ResourceRegistry;
    use crate::resources::equipment::equipment;
    use crate::resources::space::space;
    use crate::resources::standalone_point::standalone_point;
    use crate::tools::{CallContext, ErrorCode};

    const SITE: &str = "
spaces:
- {id: floor 2, name: Second floor, parent: house, _walkthrough: {confirmed_by: ops}}
- {id: house, name: House}
equipment:
- {id: ahu-1, name: Air handler, type: ahu, space: floor 2, ord: 'station:|slot:/A', points: {supply_air_temp: 'station:|slot:/A/SAT'}}
- {id: 50%25, space: house}
points:
- {id: co2, kind: ppm, space: floor 2, ord: 'station:|slot:/CO2'}
";

    fn registry(text: &str) -> (ResourceRegistry, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("knowledge.yaml");
        std::fs::write(&file, text).expect("write");
        let knowledge = Arc::new(KnowledgeStore::open(file));
        let registry = ResourceRegistry::default()
            .with(equipment(knowledge.clone()))
            .with(space(knowledge.clone()))
            .with(standalone_point(knowledge));
        (registry, folder)
    }

    async fn read(registry: &ResourceRegistry, uri: &str) -> Value {
        let answer = registry.read(uri, &CallContext::service()).await;
        let answer = answer.unwrap_or_else(|error| panic!("{uri}: {error:?}"));
        let contents = &answer["contents"][0];
        assert_eq!(contents["uri"], uri);
        assert_eq!(contents["mimeType"], "application/json");
        serde_json::from_str(contents["text"].as_str().expect("text")).expect("JSON")
    }

    #[tokio::test]
    async fn entries_are_read_by_id_in_the_form_of_the_file() {
        let (registry, _folder) = registry(SITE);
        assert_eq!(
            read(&registry, "niagara://equipment/ahu-1").await,
            json!({"id": "ahu-1", "name": "Air handler", "type": "ahu", "space": "floor 2", "ord": "station:|slot:/A",
                "points": {"supply_air_temp": "station:|slot:/A/SAT"}})
        );
        let floor = json!({"id": "floor 2", "name": "Second floor", "parent": "house",
            "_walkthrough": {"confirmed_by": "ops"},
            "equipment": [{"id": "ahu-1", "name": "Air handler", "type": "ahu", "ord": "station:|slot:/A"}],
            "standalonePoints": [{"id": "co2", "name": "", "kind": "ppm", "ord": "station:|slot:/CO2"}]});
        assert_eq!(read(&registry, "niagara://space/floor%202").await, floor);
        assert_eq!(read(&registry, "niagara://spaces/floor 2").await, floor);
        let house = read(&registry, "niagara://space/house").await;
        assert_eq!(
            house["equipment"],
            json!([{"id": "50%25", "name": "", "type": "", "ord": ""}]),
            "spaces inside it are not looked into"
        );
        assert_eq!(
            read(&registry, "niagara://equipment/50%25").await["id"],
            "50%25"
        );
        for uri in [
            "niagara://standalone-point/co2",
            "niagara://standalone-points/co2",
        ] {
            assert_eq!(
                read(&registry, uri).await,
                json!({"id": "co2", "space": "floor 2", "ord": "station:|slot:/CO2", "kind": "ppm"})
            );
        }
    }

    #[tokio::test]
    async fn an_unknown_id_and_a_broken_file_are_told_apart() {
        let context = CallContext::service();
        let uris = [
            "niagara://equipment/x",
            "niagara://space/x",
            "niagara://standalone-point/x",
        ];
        let (healthy, _folder) = registry(SITE);
        let (broken, _other) = registry("equipment: 3\n");
        for uri in uris {
            let error = healthy.read(uri, &context).await.expect_err(uri);
            assert_eq!(error.code, ErrorCode::ResourceNotFound);
            assert_eq!(Value::Object(error.data), json!({"uri": uri}));
            let error = broken.read(uri, &context).await.expect_err(uri);
            assert_eq!(error.code, ErrorCode::KnowledgeUnreadable);
            assert_eq!(error.data["uri"], uri);
            assert_eq!(error.data["reason"], "unreadable");
            assert!(
                error.message.contains("knowledge.yaml")
                    && error.message.contains("reloadKnowledge"),
                "{}",
                error.message
            );
        }
    }

    #[tokio::test]
    async fn ids_are_completed_by_name() {
        let (registry, _folder) = registry(SITE);
        let context = CallContext::service();
        for (template, typed, ids) in [
            ("niagara://equipment/{id}", "air", vec!["ahu-1"]),
            ("niagara://space/{id}", "", vec!["floor 2", "house"]),
            ("niagara://standalone-point/{id}", "CO", vec!["co2"]),
        ] {
            let found = registry.complete(template, "id", typed, &context).await;
            assert_eq!(found.expect(template), ids, "{template}");
        }
    }
}
