//! Questions about types: ancestry with its fallbacks, contracts, merged slots
//! (Station web specification §4.3, Tool surface §13.5.1).

use indexmap::IndexSet;
use serde_json::{Value as Json, json};
use std::sync::Arc;

use super::client::{BoxClient, RESOLVES_PER_FRAME, node_error, protocol};
use super::contract::Contract;
use super::frame::{Reply, Request};
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
            // What others came to wait for meanwhile costs no request of its own.
            let mut together = missing.clone();
            together.extend(
                self.unknown_types(&self.types.wanted())
                    .into_iter()
                    .filter(|name| !missing.contains(name)),
            );
            if together.len() > missing.len() {
                if self.load_types(scope, &together).await?.is_ok() {
                    continue;
                }
                self.types.forget_wanted();
            }
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

    /// Asks for records and keeps them. The stock types above them, which would have to be asked for next, are asked
    /// for in the same frame: each level of a hierarchy would cost a round trip.
    async fn load_types(
        &self,
        scope: &CallScope,
        names: &[String],
    ) -> Result<Result<(), StationError>, StationError> {
        let mut requests = vec![load_types_request(names)];
        let guesses = self.stock_types_above(names);
        if !guesses.is_empty() && !self.asks_one_by_one() {
            requests.push(load_types_request(&guesses));
        }
        let mut replies = self.exchange(scope, &requests).await?.into_iter();
        let reply = replies.next().flatten().ok_or_else(|| {
            protocol(
                "BOX reg/loadTypes",
                "an answer to the request",
                "a BOX frame without one",
            )
        })?;
        match replies.next() {
            Some(Some(Ok(body))) => self.keep_records(&guesses, &body),
            Some(None) => self.ask_one_by_one(),
            // This station lacks one of them: whichever is needed is asked for by its name.
            Some(Some(Err(_))) | None => {}
        }
        let body = match reply {
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

    fn keep_records(&self, names: &[String], body: &Json) {
        for name in names {
            if let Some(record @ Json::Object(_)) = body.get(name) {
                self.types.add_record(name, TypeRecord::decode(record));
            }
        }
    }

    /// Stock types that these descend from and whose records are not known.
    fn stock_types_above(&self, names: &[String]) -> Vec<String> {
        let above: IndexSet<String> = names
            .iter()
            .filter_map(|name| stock_ancestry(name))
            .flat_map(|ancestry| {
                let types: Vec<String> = ancestry.types().map(str::to_owned).collect();
                types
            })
            .filter(|name| !names.contains(name) && self.types.record(name).is_none())
            .collect();
        above.into_iter().collect()
    }

    async fn fallback_ancestry(
        &self,
        scope: &CallScope,
        type_spec: &str,
        refusal: StationError,
    ) -> Result<Arc<Ancestry>, StationError> {
        let reply = self.call(scope, contract_request(type_spec)).await?;
        if let Ok(contract) = self.read_contract(type_spec, reply, None)? {
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
        // Without an ancestry the contract is read in the station's order of types.
        self.ancestry(scope, type_spec).await.ok();
        self.types.want_contract(type_spec);
        let _only = self.types.learning(scope).await?;
        if let Some(known) = self.types.contract(type_spec) {
            return Ok(known);
        }
        self.load_contracts(scope, type_spec).await
    }

    /// Asks for a contract and, in the same frame, for those that other callers wait for.
    async fn load_contracts(
        &self,
        scope: &CallScope,
        type_spec: &str,
    ) -> Result<Arc<Contract>, StationError> {
        let mut names = vec![type_spec.to_owned()];
        if !self.asks_one_by_one() {
            let others = self.types.take_wanted_contracts(RESOLVES_PER_FRAME);
            names.extend(others.into_iter().filter(|name| name != type_spec));
            names.truncate(RESOLVES_PER_FRAME);
        }
        let requests: Vec<Request> = names.iter().map(|name| contract_request(name)).collect();
        let mut replies = names.iter().zip(self.exchange(scope, &requests).await?);
        let own = replies.next().and_then(|(_, reply)| reply).ok_or_else(|| {
            protocol(
                "BOX reg/loadContract",
                "an answer to the request",
                "a BOX frame without one",
            )
        })?;
        for (name, reply) in replies {
            let Some(reply) = reply else {
                self.ask_one_by_one();
                break;
            };
            // Whoever waits for a contract that is refused asks for it again and learns why.
            let ancestry = self.types.ancestry(name);
            if let Ok(Ok(contract)) = self.read_contract(name, reply, ancestry.as_deref()) {
                self.types.add_contract(name, contract);
            }
        }
        let ancestry = self.types.ancestry(type_spec);
        let contract = self.read_contract(type_spec, own, ancestry.as_deref())??;
        Ok(self.types.add_contract(type_spec, contract))
    }

    fn read_contract(
        &self,
        type_spec: &str,
        reply: Reply,
        ancestry: Option<&Ancestry>,
    ) -> Result<Result<Contract, StationError>, StationError> {
        match reply {
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

fn load_types_request(names: &[String]) -> Request {
    Request::new("reg", "loadTypes", json!({"t": names, "ec": false}))
}

fn contract_request(type_spec: &str) -> Request {
    Request::new("reg", "loadContract", json!(type_spec))
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
