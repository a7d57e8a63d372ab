//! Questions about types: ancestry with its fallbacks, contracts, merged slots
//! (Station web specification §4.3, Tool surface §13.5.1).

use indexmap::IndexSet;
use serde_json::{Value as Json, json};
use std::sync::Arc;

use super::client::{BoxClient, node_error, protocol};
use super::contract::Contract;
use super::frame::Request;
use super::node::Node;
use super::types::{Ancestry, AncestrySource, TypeRecord, stock_ancestry};
use crate::station::error::StationError;
use crate::station::http::CallScope;

/// Rounds of questions per ancestry; class hierarchies of stations are about ten deep.
const MAX_ROUNDS: usize = 40;

/// The slots of a component, with or without what its type promises.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedSlots {
    pub slots: Vec<Node>,
    /// False when the station refused the contract: slots that hold their default are then missing.
    pub has_defaults: bool,
}

impl BoxClient {
    /// What a type descends from, asked once per station and process.
    ///
    /// Order of sources: the station's registry, the keys of the type's contract, the table of stock types.
    ///
    /// # Errors
    /// [`StationError::NotFound`] when no source knows the type.
    pub async fn ancestry(
        &self,
        scope: &CallScope,
        type_spec: &str,
    ) -> Result<Arc<Ancestry>, StationError> {
        if let Some(known) = self.types.ancestry(type_spec) {
            return Ok(known);
        }
        self.types.want(type_spec);
        let _only = self.types.learning(scope).await?;
        if let Some(known) = self.types.ancestry(type_spec) {
            return Ok(known);
        }
        let wanted = self.types.take_wanted();
        if wanted.len() > 1 {
            self.load_chains(scope, &wanted).await?;
        }
        match self.registry_ancestry(scope, type_spec).await? {
            Ok(types) => Ok(self
                .types
                .add_ancestry(type_spec, Ancestry::new(types, AncestrySource::Registry))),
            Err(refusal) => self.fallback_ancestry(scope, type_spec, refusal).await,
        }
    }

    /// Asks for the records of many types and their ancestors together, so that [`BoxClient::ancestry`] needs no request
    /// of its own for them; what the registry withholds is left to that.
    ///
    /// # Errors
    /// Only when the station cannot be asked.
    pub async fn learn_ancestries(
        &self,
        scope: &CallScope,
        type_specs: &[String],
    ) -> Result<(), StationError> {
        if self.unknown_types(type_specs).is_empty() {
            return Ok(());
        }
        let _only = self.types.learning(scope).await?;
        self.load_chains(scope, type_specs).await
    }

    /// Loads the records of types and their ancestors, as far as the registry gives them.
    async fn load_chains(
        &self,
        scope: &CallScope,
        type_specs: &[String],
    ) -> Result<(), StationError> {
        for _ in 0..MAX_ROUNDS {
            let missing = self.unknown_types(type_specs);
            if missing.is_empty() || self.load_types(scope, &missing).await?.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Types whose records are needed next for the ancestries of these.
    fn unknown_types(&self, type_specs: &[String]) -> Vec<String> {
        let missing: IndexSet<String> = type_specs
            .iter()
            .filter(|type_spec| self.types.ancestry(type_spec).is_none())
            .filter_map(|type_spec| self.types.walk(type_spec).err())
            .flatten()
            .collect();
        missing.into_iter().collect()
    }

    /// The registry's record of a type; `None` when the registry does not know it.
    pub async fn type_record(
        &self,
        scope: &CallScope,
        type_spec: &str,
    ) -> Result<Option<TypeRecord>, StationError> {
        if let Some(known) = self.types.record(type_spec) {
            return Ok(Some(known));
        }
        Ok(self
            .load_types(scope, &[type_spec.to_owned()])
            .await?
            .ok()
            .and_then(|()| self.types.record(type_spec)))
    }

    /// The outer result is about asking, the inner one about what the registry says.
    async fn registry_ancestry(
        &self,
        scope: &CallScope,
        type_spec: &str,
    ) -> Result<Result<IndexSet<String>, StationError>, StationError> {
        for _ in 0..MAX_ROUNDS {
            let missing = match self.types.walk(type_spec) {
                Ok(types) => return Ok(Ok(types)),
                Err(missing) => missing,
            };
            let Err(refusal) = self.load_types(scope, &missing).await? else {
                continue;
            };
            // One unknown type fails the whole request: ask for each alone.
            for name in &missing {
                if missing.len() > 1
                    && self
                        .load_types(scope, std::slice::from_ref(name))
                        .await?
                        .is_ok()
                {
                    continue;
                }
                if name == type_spec {
                    return Ok(Err(refusal));
                }
                self.types.add_record(name, stock_record(name));
            }
        }
        Ok(Err(protocol(
            type_spec,
            "a type hierarchy that ends",
            "one of more than 40 levels",
        )))
    }

    /// Asks for records and keeps them.
    async fn load_types(
        &self,
        scope: &CallScope,
        names: &[String],
    ) -> Result<Result<(), StationError>, StationError> {
        let request = Request::new("reg", "loadTypes", json!({"t": names, "ec": false}));
        let body = match self.call(scope, request).await? {
            Ok(body) => body,
            Err(refusal) => return lasting(self.not_found(&names.join(", "), refusal)).map(Err),
        };
        for name in names {
            match body.get(name) {
                Some(record @ Json::Object(_)) => {
                    self.types.add_record(name, TypeRecord::decode(record))
                }
                _ => {
                    let detail = "the type registry has no record of it".to_owned();
                    return Ok(Err(StationError::NotFound {
                        target: name.clone(),
                        detail,
                    }));
                }
            }
        }
        Ok(Ok(()))
    }

    async fn fallback_ancestry(
        &self,
        scope: &CallScope,
        type_spec: &str,
        refusal: StationError,
    ) -> Result<Arc<Ancestry>, StationError> {
        if let Ok(contract) = self.fetch_contract(scope, type_spec, None).await? {
            let types = std::iter::once(type_spec.to_owned())
                .chain(contract.types.iter().cloned())
                .collect();
            return Ok(self
                .types
                .add_ancestry(type_spec, Ancestry::new(types, AncestrySource::Contract)));
        }
        match stock_ancestry(type_spec) {
            Some(ancestry) => Ok(self.types.add_ancestry(type_spec, ancestry)),
            None => Err(refusal),
        }
    }

    /// The slots and defaults of a type, asked once per station and process.
    ///
    /// # Errors
    /// [`StationError::NotFound`] when the registry refuses.
    pub async fn contract(
        &self,
        scope: &CallScope,
        type_spec: &str,
    ) -> Result<Arc<Contract>, StationError> {
        if let Some(known) = self.types.contract(type_spec) {
            return Ok(known);
        }
        let ancestry = self.ancestry(scope, type_spec).await.ok();
        let _only = self.types.learning(scope).await?;
        if let Some(known) = self.types.contract(type_spec) {
            return Ok(known);
        }
        let contract = self
            .fetch_contract(scope, type_spec, ancestry.as_deref())
            .await??;
        Ok(self.types.add_contract(type_spec, contract))
    }

    async fn fetch_contract(
        &self,
        scope: &CallScope,
        type_spec: &str,
        ancestry: Option<&Ancestry>,
    ) -> Result<Result<Contract, StationError>, StationError> {
        let request = Request::new("reg", "loadContract", json!(type_spec));
        match self.call(scope, request).await? {
            Ok(body) => Contract::decode(&body, type_spec, ancestry)
                .map(Ok)
                .map_err(|error| node_error(&format!("contract of {type_spec}"), &error)),
            Err(refusal) => lasting(self.not_found(type_spec, refusal)).map(Err),
        }
    }

    /// All slots of a loaded component: its own values over the defaults of its type, which stations
    /// leave out of loads.
    ///
    /// # Errors
    /// Only when the station cannot be asked; a refused contract is told by [`MergedSlots::has_defaults`].
    pub async fn merged_slots(
        &self,
        scope: &CallScope,
        node: &Node,
    ) -> Result<MergedSlots, StationError> {
        match self.contract(scope, node.type_name()).await {
            Ok(contract) => Ok(MergedSlots {
                slots: contract.merge(node),
                has_defaults: true,
            }),
            Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => {
                Ok(MergedSlots {
                    slots: node.children.clone(),
                    has_defaults: false,
                })
            }
            Err(error) => Err(error),
        }
    }
}

/// What may be remembered of a refusal; a station that is still starting answers otherwise later.
fn lasting(error: StationError) -> Result<StationError, StationError> {
    match error {
        error @ StationError::Server { .. } => Err(error),
        error => Ok(error),
    }
}

/// A stand-in for the record of an ancestor that the registry withholds.
fn stock_record(name: &str) -> TypeRecord {
    let super_type =
        stock_ancestry(name).and_then(|ancestry| ancestry.types().nth(1).map(str::to_owned));
    TypeRecord {
        super_type,
        ..TypeRecord::default()
    }
}
