//! The model with paths in place of the handles by which it may name components, so that it can be compared with what a
//! station lists.

use std::collections::HashMap;
use std::sync::Arc;

use crate::knowledge::mapped::MappedOrds;
use crate::knowledge::{KnowledgeDocument, KnowledgeModel};
use crate::station::error::StationError;
use crate::station::facade::{FacadeError, StationFacade};
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};

/// Where the components lie that a model names by handle.
#[derive(Debug, Default)]
pub(super) struct HandlePaths(HashMap<Ord, SlotPath>);

impl HandlePaths {
    /// Asks the station for each handle of a document; one that leads nowhere is left out, checkKnowledgeIntegrity tells it.
    pub(super) async fn read(
        station: &StationFacade,
        scope: &CallScope,
        document: &KnowledgeDocument,
    ) -> Result<Self, FacadeError> {
        let mut paths = HashMap::new();
        for handle in MappedOrds::of(document).handles() {
            if paths.contains_key(handle) {
                continue;
            }
            match station.slot_path(scope, handle).await {
                Ok(path) => {
                    paths.insert(handle.clone(), path);
                }
                Err(FacadeError::Station(
                    StationError::NotFound { .. }
                    | StationError::PermissionDenied { .. }
                    | StationError::InterfaceMissing { .. },
                )) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self(paths))
    }

    /// The paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &SlotPath> {
        self.0.values()
    }

    /// Puts the paths in place of the handles.
    pub(super) fn put_into(&self, document: &mut KnowledgeDocument) {
        if self.0.is_empty() {
            return;
        }
        let put = |text: &mut String| {
            let path = Ord::component(text).ok().and_then(|ord| self.0.get(&ord));
            if let Some(path) = path {
                *text = Ord::slot(path.clone()).absolute();
            }
        };
        for entry in &mut document.equipment {
            entry.ord.iter_mut().for_each(put);
            entry.points.values_mut().for_each(put);
        }
        let points = document.points.iter_mut();
        points.filter_map(|point| point.ord.as_mut()).for_each(put);
    }
}

/// The model as it can be compared with paths of the station; itself where it names nothing by handle.
pub(super) async fn with_paths(
    station: &StationFacade,
    scope: &CallScope,
    model: Arc<KnowledgeModel>,
) -> Result<Arc<KnowledgeModel>, FacadeError> {
    let paths = HandlePaths::read(station, scope, model.document()).await?;
    if paths.0.is_empty() {
        return Ok(model);
    }
    let mut document = model.document().clone();
    paths.put_into(&mut document);
    Ok(Arc::new(KnowledgeModel::new(document)))
}
