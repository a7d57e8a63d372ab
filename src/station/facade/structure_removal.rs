//! Removing a component with everything below it (Tool surface §8.4, §13.5.4, removeComponent).

use super::StationFacade;
use super::structure_error::{StructureError, StructureResult};
use super::structure_survey::RemovalSurvey;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// A component or property that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedComponent {
    /// What it was, and which links went with it.
    pub survey: RemovalSurvey,
    /// Whether the station shows nothing under the ord any more, or why that could not be read.
    pub is_gone: Result<bool, String>,
}

impl StationFacade {
    /// Removes a component, or a dynamic property, from its parent, with one message to the station.
    ///
    /// # Errors
    /// [`StructureError::HasLinks`] where links would be cut and the caller does not force it,
    /// [`super::WriteError::InDoubt`] when the answer was lost; with any other error nothing was changed.
    pub async fn remove_component(
        &self,
        scope: &CallScope,
        ord: &Ord,
        force: bool,
    ) -> StructureResult<RemovedComponent> {
        let (place, survey) = self.removable(scope, ord).await?;
        // Who may not remove it is told so by the station, whatever links there are.
        if survey.is_permitted && survey.needs_force() && !force {
            return Err(StructureError::HasLinks {
                survey: Box::new(survey),
            });
        }
        let removed = Ord::slot(survey.path.clone());
        let name = survey.path.name().map(|name| name.as_str().to_owned());
        self.remove_named(scope, &place, &name.unwrap_or_default())
            .await?;
        let is_gone = self.is_there(scope, &removed).await;
        Ok(RemovedComponent {
            survey,
            is_gone: is_gone
                .map(|is_there| !is_there)
                .map_err(|error| error.to_string()),
        })
    }
}
