//! Whether many ords lead to something: one list of all components instead of one question per ord (Tool surface
//! §13.5.2, checkKnowledgeIntegrity).

use std::collections::HashMap;
use std::ops::ControlFlow;

use indexmap::IndexSet;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::prefer;
use super::obix_routes::obix_path;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};

/// Up to so many ords are resolved themselves.
const FEW: usize = 40;

/// Documents per oBIX request, far below the limit of a response.
const DOCUMENTS: usize = 100;

/// What became of an ord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrdState {
    Resolves,
    /// With what the station said.
    Unresolvable(String),
    /// The station refused to tell this identity.
    Denied(String),
}

impl StationFacade {
    /// Whether each of these ords leads to a component or a property; the answers are in the order of the ords.
    ///
    /// # Errors
    /// Only when the station cannot be asked.
    pub async fn check_ords(&self, scope: &CallScope, ords: &[Ord]) -> FacadeResult<Vec<OrdState>> {
        if ords.len() > FEW {
            return self.check_by_list(scope, ords).await;
        }
        match self.check_each(scope, ords).await {
            Err(error) if self.may_fall_back(&error) => self
                .check_by_list(scope, ords)
                .await
                .map_err(|second| prefer(error, second)),
            outcome => outcome,
        }
    }

    async fn check_by_list(&self, scope: &CallScope, ords: &[Ord]) -> FacadeResult<Vec<OrdState>> {
        let mut seen = SeenPaths::of(ords);
        let listed = self
            .rows(
                scope,
                "station:|slot:/|bql:select slotPath from baja:Component",
                &mut |row| {
                    seen.mark(row.cell(0).text());
                    ControlFlow::Continue(())
                },
            )
            .await;
        match listed {
            Ok(_) => {}
            Err(error) if self.may_fall_back(&error) => {
                return self
                    .check_each(scope, ords)
                    .await
                    .map_err(|second| prefer(error, second));
            }
            Err(error) => return Err(error),
        }
        self.check_beside_list(scope, ords, &seen).await
    }

    /// What the list does not name may be a property, hidden from this identity, or gone. Where the first name below the
    /// last component on the list leads nowhere, nothing below it does: one question tells of a whole branch.
    async fn check_beside_list(
        &self,
        scope: &CallScope,
        ords: &[Ord],
        seen: &SeenPaths,
    ) -> FacadeResult<Vec<OrdState>> {
        let branches: IndexSet<Ord> = ords.iter().filter_map(|ord| seen.branch(ord)).collect();
        let branches: Vec<Ord> = branches.into_iter().collect();
        let states = self.check_unlisted(scope, &branches).await?;
        let mut told: HashMap<Ord, OrdState> = branches.into_iter().zip(states).collect();
        let goes_on = |ord: &&Ord| {
            let branch = seen.branch(ord).filter(|branch| branch != *ord);
            let state = branch.and_then(|branch| told.get(&branch));
            state.is_some_and(|state| !matches!(state, OrdState::Unresolvable(_)))
        };
        let below: IndexSet<Ord> = ords.iter().filter(goes_on).cloned().collect();
        let below: Vec<Ord> = below.into_iter().collect();
        let states = self.check_unlisted(scope, &below).await?;
        told.extend(below.into_iter().zip(states));
        let state_of = |ord: &Ord| match seen.branch(ord) {
            None => OrdState::Resolves,
            Some(branch) => told
                .get(ord)
                .or_else(|| told.get(&branch))
                .cloned()
                .unwrap_or_else(|| OrdState::Unresolvable(NOT_LISTED.to_owned())),
        };
        Ok(ords.iter().map(state_of).collect())
    }

    /// The same for ords that are on no list; a station that offers neither BOX nor oBIX tells of components only.
    async fn check_unlisted(&self, scope: &CallScope, ords: &[Ord]) -> FacadeResult<Vec<OrdState>> {
        match self.check_each(scope, ords).await {
            Err(error) if self.may_fall_back(&error) => {
                Ok(vec![
                    OrdState::Unresolvable(NOT_LISTED.to_owned());
                    ords.len()
                ])
            }
            outcome => outcome,
        }
    }

    async fn check_each(&self, scope: &CallScope, ords: &[Ord]) -> FacadeResult<Vec<OrdState>> {
        if ords.is_empty() {
            return Ok(Vec::new());
        }
        let resolved = self
            .over_box(async { Ok(self.boxp().resolve_many(scope, ords).await?) })
            .await;
        match resolved {
            Ok(answers) => answers.into_iter().map(state_of).collect(),
            Err(error) if self.may_fall_back(&error) => self
                .check_by_obix(scope, ords)
                .await
                .map_err(|second| prefer(error, second)),
            Err(error) => Err(error),
        }
    }

    async fn check_by_obix(&self, scope: &CallScope, ords: &[Ord]) -> FacadeResult<Vec<OrdState>> {
        let mut states = Vec::with_capacity(ords.len());
        for chunk in ords.chunks(DOCUMENTS) {
            let paths = chunk
                .iter()
                .filter_map(Ord::slot_path)
                .map(obix_path)
                .collect::<FacadeResult<Vec<_>>>()?;
            let mut answers = self
                .over_obix(async { Ok(self.obix().documents(scope, &paths).await?) })
                .await?
                .into_iter();
            for ord in chunk {
                let answer = ord.slot_path().and_then(|_| answers.next());
                states.push(match answer {
                    Some(answer) => state_of(answer)?,
                    None => OrdState::Unresolvable(
                        "only BOX can look this up, and it is not offered".to_owned(),
                    ),
                });
            }
        }
        Ok(states)
    }
}

const NOT_LISTED: &str = "the station lists no such component; whether it is a property cannot be told without BOX or oBIX";

fn state_of<T>(answer: Result<T, StationError>) -> FacadeResult<OrdState> {
    match answer {
        Ok(_) => Ok(OrdState::Resolves),
        Err(error @ StationError::NotFound { .. }) => Ok(OrdState::Unresolvable(error.to_string())),
        Err(error @ StationError::PermissionDenied { .. }) => {
            Ok(OrdState::Denied(error.to_string()))
        }
        Err(error) => Err(FacadeError::Station(error)),
    }
}

/// Which of the wanted paths and their ancestors the station lists.
struct SeenPaths(HashMap<String, bool>);

impl SeenPaths {
    fn of(ords: &[Ord]) -> Self {
        let mut wanted = HashMap::new();
        for path in ords.iter().filter_map(Ord::slot_path) {
            let mut next = Some(path.clone());
            while let Some(path) = next {
                next = path.parent();
                if wanted.insert(path.to_string(), false).is_some() {
                    break;
                }
            }
        }
        // Everything lies below the root, whether or not this identity may read it.
        wanted.insert(SlotPath::root().to_string(), true);
        Self(wanted)
    }

    fn mark(&mut self, path: &str) {
        let normal = match self.0.get_mut(path) {
            Some(seen) => {
                *seen = true;
                return;
            }
            None => Ord::component(path).map(|ord| ord.relative()),
        };
        if let Some(seen) = normal.ok().and_then(|path| self.0.get_mut(&path)) {
            *seen = true;
        }
    }

    fn contains(&self, path: &SlotPath) -> bool {
        self.0.get(&path.to_string()).copied().unwrap_or_default()
    }

    /// The ord itself, or its ancestor right below the deepest ancestor that is listed; none for one that is listed.
    fn branch(&self, ord: &Ord) -> Option<Ord> {
        let Some(path) = ord.slot_path() else {
            return Some(ord.clone());
        };
        if self.contains(path) {
            return None;
        }
        let mut missing = path.clone();
        while let Some(parent) = missing.parent() {
            if self.contains(&parent) {
                break;
            }
            missing = parent;
        }
        Some(Ord::slot(missing))
    }
}
