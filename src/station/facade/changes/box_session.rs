//! The second choice: subscriptions in the BOX server session.

use std::collections::{HashMap, HashSet};

use super::driver::{Step, StepFailure};
use crate::station::boxp::Node;
use crate::station::boxp::session::ChangeEvent;
use crate::station::error::StationError;
use crate::station::facade::StationFacade;
use crate::station::facade::interfaces::Interface;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// What is subscribed, and the state of each component as its changes were applied.
#[derive(Default)]
pub(super) struct BoxSource {
    generation: Option<u64>,
    components: HashMap<String, Component>,
    handles: HashMap<Ord, String>,
    refused: HashSet<Ord>,
    /// Changes may be lost.
    is_distrusted: bool,
}

struct Component {
    ords: Vec<Ord>,
    /// None until it was loaded.
    node: Option<Node>,
}

impl BoxSource {
    /// The last answer may be lost.
    pub(super) fn distrust(&mut self) {
        self.is_distrusted = true;
    }

    pub(super) async fn step(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        wanted: &[Ord],
    ) -> Result<Step, StepFailure> {
        let missing = facade
            .interfaces
            .missing(Interface::Box, facade.clock.monotonic());
        if let Some(error) = missing {
            return Err(StepFailure::Unusable(error.to_string()));
        }
        if self.is_distrusted && self.generation.is_some() {
            return Err(StepFailure::Lost("changes may have been lost".to_owned()));
        }
        self.remove(facade, scope, wanted).await?;
        let mut changed = HashSet::new();
        if let Some(generation) = self.generation {
            self.poll(facade, scope, generation, &mut changed).await?;
        }
        let mut step = Step::default();
        self.add(facade, scope, wanted, &mut changed, &mut step)
            .await?;
        self.load(facade, scope, &changed).await?;
        self.observe(facade, scope, changed, &mut step).await?;
        Ok(step)
    }

    async fn poll(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        generation: u64,
        changed: &mut HashSet<String>,
    ) -> Result<(), StepFailure> {
        let changes = facade.boxp().take_changes(scope).await.map_err(failure)?;
        if changes.generation != generation || changes.lost || changes.dropped > 0 {
            return Err(StepFailure::Lost(
                "the BOX session was renewed, or changes were lost on the way".to_owned(),
            ));
        }
        self.apply(changes.events, changed);
        Ok(())
    }

    fn apply(&mut self, events: Vec<ChangeEvent>, changed: &mut HashSet<String>) {
        for event in events {
            let Some(handle) = event.handle.clone() else {
                continue;
            };
            let Some(component) = self.components.get_mut(&handle) else {
                continue;
            };
            let is_current = match &mut component.node {
                Some(node) => event.apply(node),
                None if event.kind == "l" => {
                    let mut node = Node::property("", None);
                    let is_loaded = event.apply(&mut node);
                    component.node = is_loaded.then_some(node);
                    is_loaded
                }
                None => false,
            };
            if !is_current {
                component.node = None;
            }
            changed.insert(handle);
        }
    }

    async fn add(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        wanted: &[Ord],
        changed: &mut HashSet<String>,
        step: &mut Step,
    ) -> Result<(), StepFailure> {
        let fresh: Vec<Ord> = wanted
            .iter()
            .filter(|ord| !self.handles.contains_key(*ord) && !self.refused.contains(*ord))
            .cloned()
            .collect();
        if fresh.is_empty() {
            return Ok(());
        }
        let subscribed = facade.boxp().subscribe(scope, &fresh).await;
        let subscribed = subscribed.map_err(|error| match failure(error) {
            // A session that takes no subscription does not serve.
            StepFailure::Lost(reason) => StepFailure::Unusable(reason),
            failure => failure,
        })?;
        for (ord, handle) in fresh.into_iter().zip(subscribed.handles) {
            match handle {
                Ok(handle) => {
                    changed.insert(handle.clone());
                    self.handles.insert(ord.clone(), handle.clone());
                    let component = self.components.entry(handle).or_insert(Component {
                        ords: Vec::new(),
                        node: None,
                    });
                    component.ords.push(ord);
                }
                Err(error) => {
                    tracing::debug!(%ord, %error, "the BOX session does not take a point");
                    self.refused.insert(ord.clone());
                    step.refused.push(ord);
                }
            }
        }
        let generation = *self.generation.get_or_insert(subscribed.generation);
        if generation != subscribed.generation {
            return Err(StepFailure::Lost("the BOX session was renewed".to_owned()));
        }
        self.apply(subscribed.events, changed);
        Ok(())
    }

    /// Loads changed components whose state is not known.
    async fn load(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        changed: &HashSet<String>,
    ) -> Result<(), StepFailure> {
        let unknown: Vec<(String, Ord)> = changed
            .iter()
            .filter_map(|handle| {
                let component = self.components.get(handle)?;
                let ord = component.ords.first()?.clone();
                component.node.is_none().then(|| (handle.clone(), ord))
            })
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let ords: Vec<Ord> = unknown.iter().map(|(_, ord)| ord.clone()).collect();
        let nodes = facade
            .boxp()
            .resolve_many(scope, &ords)
            .await
            .map_err(failure)?;
        for ((handle, _), node) in unknown.into_iter().zip(nodes) {
            if let (Some(component), Ok(node)) = (self.components.get_mut(&handle), node) {
                component.node = Some(node);
            }
        }
        Ok(())
    }

    async fn observe(
        &self,
        facade: &StationFacade,
        scope: &CallScope,
        changed: HashSet<String>,
        step: &mut Step,
    ) -> Result<(), StepFailure> {
        for handle in changed {
            let Some(component) = self.components.get(&handle) else {
                continue;
            };
            for ord in &component.ords {
                let observation = match &component.node {
                    Some(node) => facade
                        .output_of_node(scope, ord, node)
                        .await
                        .map_err(|error| error.to_string()),
                    None => Err(format!(
                        "{ord} cannot be read any more; check that it still exists and that the user may read it"
                    )),
                };
                step.observed.push((ord.clone(), observation));
            }
        }
        Ok(())
    }

    /// Ends the subscriptions of points that nobody watches any more.
    async fn remove(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        wanted: &[Ord],
    ) -> Result<(), StepFailure> {
        let wanted: HashSet<&Ord> = wanted.iter().collect();
        self.refused.retain(|ord| wanted.contains(ord));
        self.handles.retain(|ord, _| wanted.contains(ord));
        let mut ended = Vec::new();
        self.components.retain(|handle, component| {
            component.ords.retain(|ord| wanted.contains(ord));
            if component.ords.is_empty() {
                ended.push(handle.clone());
            }
            !component.ords.is_empty()
        });
        match self.generation {
            Some(generation) if !ended.is_empty() => facade
                .boxp()
                .unsubscribe(scope, generation, &ended)
                .await
                .map_err(failure),
            _ => Ok(()),
        }
    }

    pub(super) async fn give_up(self, facade: &StationFacade, scope: &CallScope) {
        let Some(generation) = self.generation else {
            return;
        };
        let handles: Vec<String> = self.components.into_keys().collect();
        if let Err(error) = facade.boxp().unsubscribe(scope, generation, &handles).await {
            tracing::debug!(%error, "BOX subscriptions could not be ended; they end with the session");
        }
    }
}

fn failure(error: StationError) -> StepFailure {
    StepFailure::of(error.into())
}
