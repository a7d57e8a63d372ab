//! Removing a component with everything below it (Tool surface §8.4, §13.5.4, removeComponent).

use super::StationFacade;
use super::links::link_of;
use super::structure::{NEEDS_TO_RESTRUCTURE, Place};
use super::structure_error::{StructureError, StructureResult};
use super::structure_survey::RemovalSurvey;
use crate::station::http::CallScope;
use crate::station::ord::Ord;
use crate::station::priority::Priority;

/// A component or property that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedComponent {
    /// What it was, and which links went with it.
    pub survey: RemovalSurvey,
    /// Whether the station shows nothing under the ord any more, or why that could not be read.
    pub is_gone: Result<bool, String>,
}

/// A removal that was looked at and can be sent.
pub struct RemovalPlan {
    place: Place,
    pub survey: RemovalSurvey,
}

/// What rules look at before something is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removable {
    /// It is a component with whatever lies below; else a property of the component above.
    pub is_component: bool,
    /// The priority level that it commands, where it is a link to one.
    pub level: Option<Priority>,
    /// Whether the caller's permissions allow it, as far as the station told them.
    pub is_permitted: bool,
}

impl StationFacade {
    /// Looks at what a removal means, in few requests; changes nothing.
    ///
    /// # Errors
    /// [`StructureError::Root`] and [`StructureError::Frozen`] for what cannot be removed at all; station errors.
    pub async fn look_at_removable(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> StructureResult<Removable> {
        let path = self.slot_path(scope, ord).await?;
        let (Some(parent), Some(name)) = (path.parent(), path.name()) else {
            return Err(StructureError::Root);
        };
        let ord = Ord::slot(path.clone());
        let place = self.place(scope, &Ord::slot(parent)).await?;
        if place.is_frozen(name.as_str()) {
            return Err(StructureError::Frozen {
                ord: ord.absolute(),
                parent_type: place.target.node.type_name().to_owned(),
            });
        }
        let node = self.resolve(scope, &ord).await?;
        let link = place.target.slot(name.as_str());
        Ok(Removable {
            is_component: node.handle.is_some(),
            level: link.and_then(|link| place.target.level_of_link(link)),
            is_permitted: place.target.may(NEEDS_TO_RESTRUCTURE),
        })
    }

    /// Looks at what the removal of a link means; changes nothing.
    ///
    /// # Errors
    /// [`StructureError::Sink`] when the sink cannot be read, [`StructureError::NoSuchLink`] and
    /// [`StructureError::NotALink`] when the name leads to no link, [`StructureError::Frozen`] when it cannot be removed.
    pub async fn look_at_link(
        &self,
        scope: &CallScope,
        sink: &Ord,
        name: &str,
    ) -> StructureResult<Removable> {
        let sink = self.place(scope, sink).await;
        let sink = sink.map_err(StructureError::Sink)?;
        let link = link_of(&sink, name)?;
        if sink.is_frozen(link.slot_name()) {
            return Err(StructureError::Frozen {
                ord: sink.child(link.slot_name())?.absolute(),
                parent_type: sink.target.node.type_name().to_owned(),
            });
        }
        Ok(Removable {
            is_component: false,
            level: sink.target.level_of_link(link),
            is_permitted: sink.target.may(NEEDS_TO_RESTRUCTURE),
        })
    }

    /// Removes a component, or a dynamic property, from its parent, with one message to the station.
    ///
    /// # Errors
    /// As [`StationFacade::plan_removal`] and [`StationFacade::carry_out_removal`].
    pub async fn remove_component(
        &self,
        scope: &CallScope,
        ord: &Ord,
        force: bool,
    ) -> StructureResult<RemovedComponent> {
        let plan = self.plan_removal(scope, ord, force).await?;
        self.carry_out_removal(scope, plan).await
    }

    /// Looks at everything that a removal takes along; changes nothing.
    ///
    /// # Errors
    /// [`StructureError::HasLinks`] where links would be cut and the caller does not force it; else as
    /// [`StationFacade::survey_removal`].
    pub async fn plan_removal(
        &self,
        scope: &CallScope,
        ord: &Ord,
        force: bool,
    ) -> StructureResult<RemovalPlan> {
        let (place, survey) = self.removable(scope, ord).await?;
        // Who may not remove it is told so by the station, whatever links there are.
        if survey.is_permitted && survey.needs_force() && !force {
            return Err(StructureError::HasLinks {
                survey: Box::new(survey),
            });
        }
        Ok(RemovalPlan { place, survey })
    }

    /// Removes what was looked at, with one message to the station.
    ///
    /// # Errors
    /// [`super::WriteError::InDoubt`] when the answer was lost; with any other error nothing was changed.
    pub async fn carry_out_removal(
        &self,
        scope: &CallScope,
        plan: RemovalPlan,
    ) -> StructureResult<RemovedComponent> {
        let RemovalPlan { place, survey } = plan;
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
