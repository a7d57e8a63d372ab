//! The point catalogue `_catalog.json`: which points are stored, without opening a part (Store §7).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::registry::write_json;
use super::{FacilityId, FacilityPoints, StoreError, TrendStore, generation};

/// Name of the file in the root.
pub const FILE: &str = "_catalog.json";

/// A larger file is no catalogue of a store on one machine.
const LARGEST: u64 = 512 * 1024 * 1024;

/// One stored point.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StoredPoint {
    pub facility_id: String,
    pub equip: String,
    pub role: String,
}

/// The catalogue as it was last read; kept as long as size and time of its file stay.
#[derive(Debug, Default)]
pub(super) struct KnownCatalogue(Mutex<Option<(u64, u128, Arc<Catalogue>)>>);

impl KnownCatalogue {
    /// The catalogue, when it belongs to the data as they are: its token is that of the store.
    ///
    /// A damaged one, or one whose token cannot be compared, is not served.
    pub fn current(&self, root: &Path) -> Option<Arc<Catalogue>> {
        let token = generation::token(root).ok()?;
        let path = root.join(FILE);
        let facts = std::fs::metadata(&path).ok()?;
        if facts.len() > LARGEST {
            return None;
        }
        let stamp = (facts.len(), generation::modified_ns(&facts));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = known
            .as_ref()
            .filter(|(size, modified, _)| (*size, *modified) == stamp)
            .map(|(_, _, catalogue)| Arc::clone(catalogue));
        let catalogue = match kept {
            Some(catalogue) => catalogue,
            None => {
                let read = Arc::new(Catalogue::read(&path)?);
                *known = Some((stamp.0, stamp.1, Arc::clone(&read)));
                read
            }
        };
        catalogue.belongs_to(token.as_deref()).then_some(catalogue)
    }
}

/// The catalogue file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalogue {
    points: BTreeSet<StoredPoint>,
    equipment: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "gen")]
    token: Option<String>,
}

impl Catalogue {
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// Both missing counts as equal; an empty token names nothing.
    fn belongs_to(&self, token: Option<&str>) -> bool {
        match (self.token.as_deref(), token) {
            (None, None) => true,
            (Some(own), Some(store)) => own == store && !own.is_empty(),
            _ => false,
        }
    }

    /// The points of one facility; none when the catalogue does not know it.
    pub fn of_facility(&self, facility: &FacilityId) -> Option<FacilityPoints> {
        let classes = self.equipment.get(facility.as_str())?.clone();
        let first = StoredPoint {
            facility_id: facility.as_str().to_owned(),
            equip: String::new(),
            role: String::new(),
        };
        let points = self
            .points
            .range(first..)
            .take_while(|point| point.facility_id == facility.as_str())
            .map(|point| (point.equip.clone(), point.role.clone()))
            .collect();
        Some(FacilityPoints { points, classes })
    }

    /// Writes the catalogue of the store as it is now, if its token is still the one read before. Under the store's lock.
    ///
    /// A facility with a damaged part has no complete list of points, so then no catalogue is written.
    pub(super) fn rebuild(store: &TrendStore) -> Result<bool, StoreError> {
        let root = store.root();
        let token = generation::token(root)?;
        let mut catalogue = Self {
            token: token.clone(),
            ..Self::default()
        };
        for facility in store.facilities()? {
            let FacilityPoints { points, classes } =
                match store.read(&facility, super::FacilityView::points) {
                    Ok(found) => found,
                    Err(error @ StoreError::Damaged { .. }) => {
                        tracing::warn!(%error, "the point catalogue is not written");
                        return Ok(false);
                    }
                    Err(error) => return Err(error),
                };
            catalogue
                .points
                .extend(points.into_iter().map(|(equip, role)| StoredPoint {
                    facility_id: facility.as_str().to_owned(),
                    equip,
                    role,
                }));
            catalogue
                .equipment
                .insert(facility.as_str().to_owned(), classes);
        }
        if generation::token(root)? != token {
            return Ok(false);
        }
        let value = serde_json::to_value(&catalogue)
            .map_err(|error| StoreError::Refused(format!("the point catalogue: {error}")))?;
        write_json(&root.join(FILE), &value)?;
        Ok(true)
    }
}
