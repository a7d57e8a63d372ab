//! What a capability knows of the call it serves.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::context::{CallerPolicy, Watch};
use super::error::{CapabilityError, FailureCode};
use super::facility_policy::FacilityPolicy;
use super::hygiene;
use super::pages::Page;
use super::workspace::{PointOrds, Workspace};
use crate::trends::store::{FacilityId, StoreError, TrendStore};

/// One call.
pub struct Call<'a> {
    pub workspace: &'a Workspace,
    pub caller: &'a CallerPolicy,
    pub watch: &'a Watch,
    pub policy: &'a FacilityPolicy,
    page: Page,
    notices: Mutex<Vec<String>>,
    names: &'a Names,
}

/// Quoted names from the data that a call has written, which are no paths of this machine.
#[derive(Debug, Default)]
pub struct Names(Mutex<BTreeSet<String>>);

impl Names {
    /// The name in quotes, remembered.
    pub fn quote(&self, name: &str) -> String {
        let quoted = hygiene::quoted(name);
        // Only names that look like paths need remembering.
        if quoted.contains(['/', '\\', '~']) {
            self.lock().insert(quoted.clone());
        }
        quoted
    }

    /// All that were written.
    pub fn written(&self) -> BTreeSet<String> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Call<'a> {
    /// A call with these arguments.
    pub fn new(
        workspace: &'a Workspace,
        caller: &'a CallerPolicy,
        watch: &'a Watch,
        policy: &'a FacilityPolicy,
        names: &'a Names,
        arguments: &Map<String, Value>,
    ) -> Self {
        Self {
            workspace,
            caller,
            watch,
            policy,
            page: Page::of(arguments, caller.caps.max_rows),
            notices: Mutex::default(),
            names,
        }
    }

    /// The store.
    pub fn store(&self) -> &TrendStore {
        &self.workspace.store
    }

    /// A name from the data, for text, facts, banners and errors.
    pub fn quote(&self, name: &str) -> String {
        self.names.quote(name)
    }

    /// The page of a list that the caller asked for. Nothing else may cut a list.
    pub fn page<T>(&self, list: &str, rows: Vec<T>, default: usize, order: Option<&str>) -> Vec<T> {
        self.page_of(self.page, list, rows, default, order)
    }

    /// The page of a list whose size another argument than `limit` tells.
    pub fn page_of<T>(
        &self,
        page: Page,
        list: &str,
        rows: Vec<T>,
        default: usize,
        order: Option<&str>,
    ) -> Vec<T> {
        let page = page.within(self.caller.caps.max_rows);
        let (rows, notice) = page.cut(list, rows, default, order);
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.extend(notice);
        rows
    }

    /// The notices of all pages.
    pub(super) fn into_notices(self) -> Vec<String> {
        self.notices
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Ords of a facility's points, where the site model knows them.
    pub fn ords(&self, facility: &str) -> Arc<PointOrds> {
        self.workspace
            .points
            .as_ref()
            .map(|points| points.ords(facility))
            .unwrap_or_default()
    }

    /// The facility of the argument `facility_id`, which has stored data.
    ///
    /// # Errors
    /// It has none.
    pub fn stored_facility(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<FacilityId, CapabilityError> {
        let id = arguments
            .get("facility_id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        FacilityId::parse(id)
            .ok()
            .filter(|facility| self.store().has_partition(facility))
            .ok_or_else(|| self.nothing_stored(id))
    }

    /// A facility without stored data; one whose folder holds no sample is one.
    pub fn nothing_stored(&self, id: &str) -> CapabilityError {
        CapabilityError::not_found(format!(
            "facility {} has no stored data",
            hygiene::quoted(id)
        ))
    }

    /// A failed read as the caller is told.
    pub fn store_failure(&self, error: &StoreError) -> CapabilityError {
        store_failure(error, self.caller, self.watch)
    }
}

/// A failed read of the store as a caller is told: no path, no facility that the caller may not see (CAMBER core §8.1).
pub(super) fn store_failure(
    error: &StoreError,
    caller: &CallerPolicy,
    watch: &Watch,
) -> CapabilityError {
    if matches!(error, StoreError::Cancelled) {
        return watch.overdue();
    }
    let facility = error
        .facility()
        .map(FacilityId::as_str)
        .filter(|facility| caller.allowed.contains(*facility));
    let told = match (error.facility(), facility) {
        (Some(_), None) => "stored data could not be read".to_owned(),
        _ => error.public_text(),
    };
    let Some(retryable) = error.retryable() else {
        tracing::warn!(%error, "a capability could not read the store");
        return match error {
            StoreError::NoData(_) => CapabilityError::not_found(told),
            _ => CapabilityError::new(FailureCode::Internal, told),
        };
    };
    tracing::warn!(%error, retryable, "a capability could not read the store");
    let failure = CapabilityError::new(FailureCode::Unavailable, told).with("retryable", retryable);
    match facility {
        Some(facility) => failure.with("facility_id", facility),
        None => failure,
    }
}
