//! The first choice: an oBIX watch.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::driver::{Step, StepFailure};
use super::polling::output_of_reading;
use crate::station::error::StationError;
use crate::station::facade::StationFacade;
use crate::station::facade::error::{FacadeError, FacadeResult};
use crate::station::facade::identity::is_hopeless;
use crate::station::facade::interfaces::Interface;
use crate::station::facade::obix_routes::obix_path;
use crate::station::http::CallScope;
use crate::station::obix::watch::WatchPoll;
use crate::station::obix::{ObixPath, Watch};
use crate::station::ord::Ord;

/// A watch and what it holds.
pub(super) struct WatchSource {
    pace: Duration,
    watch: Option<Watch>,
    /// Points by the key of their output.
    ords: HashMap<String, Vec<Ord>>,
    held: HashMap<Ord, ObixPath>,
    refused: HashSet<Ord>,
    /// An answer may be lost: everything is asked for.
    refresh: bool,
}

impl WatchSource {
    pub(super) fn new(pace: Duration) -> Self {
        Self {
            pace,
            watch: None,
            ords: HashMap::new(),
            held: HashMap::new(),
            refused: HashSet::new(),
            refresh: false,
        }
    }

    /// The last answer may be lost.
    pub(super) fn distrust(&mut self) {
        self.refresh = true;
    }

    pub(super) async fn step(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        wanted: &[Ord],
    ) -> Result<Step, StepFailure> {
        let missing = facade
            .interfaces
            .missing(Interface::Obix, facade.clock.monotonic());
        if let Some(error) = missing {
            return Err(StepFailure::Unusable(error.to_string()));
        }
        let watch = match self.watch.clone() {
            Some(watch) => watch,
            None => self.make(facade, scope).await?,
        };
        self.remove(facade, scope, &watch, wanted).await?;
        let mut step = Step::default();
        self.poll(facade, scope, &watch, &mut step).await?;
        self.add(facade, scope, &watch, wanted, &mut step).await?;
        Ok(step)
    }

    async fn make(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
    ) -> Result<Watch, StepFailure> {
        let made = facade.obix().make_watch(scope, self.pace).await;
        let watch = made.map_err(|error| match StepFailure::of(error.into()) {
            // A service that makes no watch does not serve.
            StepFailure::Lost(reason) => StepFailure::Unusable(reason),
            failure => failure,
        })?;
        self.watch = Some(watch.clone());
        Ok(watch)
    }

    async fn poll(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        watch: &Watch,
        step: &mut Step,
    ) -> Result<(), StepFailure> {
        if self.held.is_empty() {
            return Ok(());
        }
        let poll = if self.refresh {
            WatchPoll::Refresh
        } else {
            WatchPoll::Changes
        };
        let outputs = facade
            .obix()
            .poll_watch(scope, watch, poll)
            .await
            .map_err(failure)?;
        self.refresh = false;
        for output in outputs {
            let Some(ords) = self.ords.get(&output.path.key()).cloned() else {
                continue;
            };
            match output.reading {
                Ok(reading) => {
                    let output = output_of_reading(reading);
                    step.observed
                        .extend(ords.into_iter().map(|ord| (ord, Ok(output.clone()))));
                }
                // The output vanished from under the watch.
                Err(_) => {
                    self.ords.remove(&output.path.key());
                    for ord in ords {
                        self.held.remove(&ord);
                        self.refused.insert(ord.clone());
                        step.refused.push(ord);
                    }
                }
            }
        }
        Ok(())
    }

    async fn add(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        watch: &Watch,
        wanted: &[Ord],
        step: &mut Step,
    ) -> Result<(), StepFailure> {
        let (mut ords, mut paths) = (Vec::new(), Vec::new());
        for ord in wanted {
            if self.held.contains_key(ord) || self.refused.contains(ord) {
                continue;
            }
            match path_of(facade, scope, ord).await {
                Ok(path) => {
                    ords.push(ord.clone());
                    paths.push(path);
                }
                Err(error) if is_hopeless(&error) => return Err(StepFailure::of(error)),
                Err(_) => self.refuse(ord, step),
            }
        }
        if paths.is_empty() {
            return Ok(());
        }
        let answers = facade
            .obix()
            .watch_outputs(scope, watch, &paths)
            .await
            .map_err(failure)?;
        for ((ord, path), answer) in ords.into_iter().zip(paths).zip(answers) {
            match answer {
                Ok(reading) => {
                    let key = path.child("out").key();
                    self.ords.entry(key).or_default().push(ord.clone());
                    self.held.insert(ord.clone(), path);
                    step.observed.push((ord, Ok(output_of_reading(reading))));
                }
                Err(error) => {
                    tracing::debug!(%ord, %error, "the watch does not take a point");
                    self.refuse(&ord, step);
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, ord: &Ord, step: &mut Step) {
        self.refused.insert(ord.clone());
        step.refused.push(ord.clone());
    }

    /// Takes points out that nobody watches any more.
    async fn remove(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        watch: &Watch,
        wanted: &[Ord],
    ) -> Result<(), StepFailure> {
        let wanted: HashSet<&Ord> = wanted.iter().collect();
        self.refused.retain(|ord| wanted.contains(ord));
        let ended: Vec<Ord> = self
            .held
            .keys()
            .filter(|ord| !wanted.contains(ord))
            .cloned()
            .collect();
        let mut paths = Vec::new();
        for ord in ended {
            let Some(path) = self.held.remove(&ord) else {
                continue;
            };
            let key = path.child("out").key();
            if let Some(ords) = self.ords.get_mut(&key) {
                ords.retain(|other| *other != ord);
                if ords.is_empty() {
                    self.ords.remove(&key);
                    paths.push(path);
                }
            }
        }
        if paths.is_empty() {
            return Ok(());
        }
        facade
            .obix()
            .unwatch_outputs(scope, watch, &paths)
            .await
            .map_err(failure)
    }

    pub(super) async fn give_up(self, facade: &StationFacade, scope: &CallScope) {
        if let Some(watch) = self.watch
            && let Err(error) = facade.obix().delete_watch(scope, &watch).await
        {
            if error.leaves_behind() {
                tracing::warn!(
                    station = %facade.station(), %error,
                    "a watch stays behind at the station; it ends by its lease"
                );
            } else {
                tracing::debug!(%error, "the watch could not be deleted; it ends by its lease");
            }
        }
    }
}

/// A watch that is gone answers with whatever error, also with HTTP 404; only the connection's own failures leave it
/// alive. Whether the station makes another one is found out by asking.
fn failure(error: StationError) -> StepFailure {
    match StepFailure::of(FacadeError::from(error)) {
        StepFailure::Unusable(reason) => StepFailure::Lost(reason),
        failure => failure,
    }
}

async fn path_of(facade: &StationFacade, scope: &CallScope, ord: &Ord) -> FacadeResult<ObixPath> {
    obix_path(&facade.slot_path(scope, ord).await?)
}
