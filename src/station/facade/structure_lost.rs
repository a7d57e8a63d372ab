//! Links that a removal takes from components which stay: whoever may not command them may not silence what does
//! (Tool surface §12 items 1 and 8).

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::structure_error::StructureResult;
use super::structure_survey::RemovalSurvey;
use crate::station::boxp::Node;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};
use crate::station::priority::Priority;

/// Links whose sinks are looked at: two requests each at worst, within the time of a call.
const MOST_LOOKED_AT: usize = 80;

/// The end of a link that a removal cuts, as its source knows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CutEnd {
    /// As it is stored: usually by handle.
    pub ord: String,
    pub slot: String,
}

/// A component that would lose a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostLink {
    /// Where it is; none when this identity is not shown it.
    pub sink: Option<SlotPath>,
    /// The slot that the link commands.
    pub slot: String,
    /// The priority level of that slot, where it has one.
    pub level: Option<Priority>,
    /// Whoever asked is not shown it, and must not be told its name.
    pub is_hidden: bool,
}

/// What components that stay would lose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LostLinks {
    pub links: Vec<LostLink>,
    /// There are, or may be, others that were not looked at.
    pub is_incomplete: bool,
}

impl StationFacade {
    /// Looks at the sinks of the links that a removal would cut; changes nothing.
    ///
    /// # Errors
    /// Station errors; a sink that is not shown is no error.
    pub async fn lost_links(
        &self,
        scope: &CallScope,
        survey: &RemovalSurvey,
    ) -> FacadeResult<LostLinks> {
        let ends: Vec<&CutEnd> = survey.cuts.iter().take(MOST_LOOKED_AT).collect();
        Ok(LostLinks {
            links: self.ends_looked_at(scope, &ends).await?,
            is_incomplete: survey.is_incomplete || survey.cuts.len() > MOST_LOOKED_AT,
        })
    }

    /// Looks, with this identity, for links that a removal would cut and whose sinks another identity, which made the
    /// `survey`, is not shown; changes nothing.
    ///
    /// # Errors
    /// Whatever keeps this identity from seeing what is to be removed.
    pub async fn hidden_lost_links(
        &self,
        scope: &CallScope,
        survey: &RemovalSurvey,
    ) -> StructureResult<LostLinks> {
        let own = self
            .survey_removal(scope, &Ord::slot(survey.path.clone()))
            .await?;
        let hidden: Vec<&CutEnd> = own.cuts.difference(&survey.cuts).collect();
        let is_incomplete = hidden.len() > MOST_LOOKED_AT;
        let looked_at = hidden.get(..MOST_LOOKED_AT).unwrap_or(&hidden);
        let mut links = self.ends_looked_at(scope, looked_at).await?;
        for link in &mut links {
            link.is_hidden = true;
        }
        Ok(LostLinks {
            links,
            is_incomplete,
        })
    }

    async fn ends_looked_at(
        &self,
        scope: &CallScope,
        ends: &[&CutEnd],
    ) -> FacadeResult<Vec<LostLink>> {
        let ords: Vec<Option<Ord>> = ends
            .iter()
            .map(|end| Ord::component(&end.ord).ok())
            .collect();
        let known: Vec<Ord> = ords.iter().flatten().cloned().collect();
        let nodes = self.over_box(async { Ok(self.boxp().resolve_many(scope, &known).await?) });
        let mut nodes = nodes.await?.into_iter();
        let mut links = Vec::with_capacity(ends.len());
        for (end, ord) in ends.iter().zip(ords) {
            let mut lost = LostLink {
                sink: None,
                slot: end.slot.clone(),
                level: None,
                is_hidden: false,
            };
            if let Some(ord) = ord
                && let Some(node) = nodes.next()
                && let Some((path, level)) = self.sink(scope, &ord, node, &end.slot).await?
            {
                lost.sink = Some(path);
                lost.level = level;
            }
            links.push(lost);
        }
        Ok(links)
    }

    /// Where a sink is and which level of it is commanded; none when it is not shown.
    async fn sink(
        &self,
        scope: &CallScope,
        ord: &Ord,
        node: Result<Node, StationError>,
        slot: &str,
    ) -> FacadeResult<Option<(SlotPath, Option<Priority>)>> {
        let found = async {
            let target = self.target_of(scope, ord, node?).await?;
            let path = self.slot_path(scope, ord).await?;
            let level = target.slot(slot).and_then(|slot| target.level_of(slot));
            Ok((path, level))
        };
        match found.await {
            Ok(found) => Ok(Some(found)),
            Err(
                FacadeError::NotAComponent { .. }
                | FacadeError::Station(
                    StationError::NotFound { .. } | StationError::PermissionDenied { .. },
                ),
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
