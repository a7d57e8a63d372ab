//! Which station point a stored point is: where the site model and the trends store meet (Design, layers).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::camber::{PointDirectory, PointOrds};
use crate::knowledge::camber_roles::{camber_role, lineage};
use crate::knowledge::{KnowledgeModel, KnowledgeStore};
use crate::trends::store::TrendStore;

/// The points of the station's own facility, by the site model.
pub struct StationPoints {
    knowledge: Arc<KnowledgeStore>,
    store: Arc<TrendStore>,
    /// `trends.facilityId`.
    configured: Option<String>,
    /// The model that was last asked for, and what it knows.
    known: Mutex<Option<(Arc<KnowledgeModel>, Arc<PointOrds>)>>,
}

impl StationPoints {
    /// Knows the points of the facility `configured`; without one, those of the only facility of the store that is no
    /// public data set.
    pub fn new(
        knowledge: Arc<KnowledgeStore>,
        store: Arc<TrendStore>,
        configured: Option<String>,
    ) -> Self {
        Self {
            knowledge,
            store,
            configured,
            known: Mutex::default(),
        }
    }

    fn of_model(&self) -> Arc<PointOrds> {
        let model = self.knowledge.snapshot().model;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((same, ords)) = &*known
            && Arc::ptr_eq(same, &model)
        {
            return ords.clone();
        }
        let ords = Arc::new(PointOrds::new(stored_points(&model)));
        *known = Some((model, ords.clone()));
        ords
    }
}

impl PointDirectory for StationPoints {
    fn facility(&self) -> Option<String> {
        if let Some(configured) = &self.configured {
            return Some(configured.clone());
        }
        let facilities = match self.store.facilities() {
            Ok(facilities) => facilities,
            Err(error) => {
                tracing::warn!(%error, "the facilities of the trends store cannot be listed");
                return None;
            }
        };
        let mut own = facilities
            .into_iter()
            .filter(|facility| !facility.is_dataset());
        match (own.next(), own.next()) {
            (Some(only), None) => Some(only.as_str().to_owned()),
            _ => None,
        }
    }

    fn ords(&self, facility: &str) -> Arc<PointOrds> {
        match self.facility() {
            Some(own) if own == facility => self.of_model(),
            _ => Arc::default(),
        }
    }
}

/// Ords by equipment and CAMBER role, as ingest names what it stores; the first of two points of one role counts.
fn stored_points(model: &KnowledgeModel) -> BTreeMap<(String, String), String> {
    let mut ords = BTreeMap::new();
    for equipment in &model.document().equipment {
        let types = equipment
            .equipment_type
            .as_deref()
            .map(|type_id| lineage(model, type_id))
            .unwrap_or_default();
        for (role, ord) in &equipment.points {
            let Some(slug) = camber_role(&types, role) else {
                continue;
            };
            if !ord.trim().is_empty() {
                ords.entry((equipment.id.clone(), slug.to_owned()))
                    .or_insert_with(|| ord.trim().to_owned());
            }
        }
    }
    ords
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(
        text: &str,
        facilities: &[&str],
        configured: Option<&str>,
    ) -> (StationPoints, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("knowledge.yaml");
        std::fs::write(&file, text).unwrap();
        let store = TrendStore::create(folder.path().join("trends")).unwrap();
        for facility in facilities {
            std::fs::create_dir(store.root().join(format!("facility_id={facility}"))).unwrap();
        }
        let knowledge = Arc::new(KnowledgeStore::open(file));
        let configured = configured.map(str::to_owned);
        (
            StationPoints::new(knowledge, Arc::new(store), configured),
            folder,
        )
    }

    const SITE: &str = "equipment_types: [{id: ahu}]\nequipment:\n- {id: ahu-1, type: ahu, points: {supply_air_temp: \
                        'slot:/A/SAT', oat: '', unheard_of: 'slot:/A/X'}}\n";

    #[test]
    fn a_stored_point_is_the_station_point_of_its_role() {
        let (points, _folder) = points(SITE, &["harborview", "ds-bdg2"], None);
        let ords = points.ords("harborview");
        assert_eq!(ords.ord("ahu-1", "supply_air_temp"), Some("slot:/A/SAT"));
        assert_eq!(ords.ord("ahu-1", "oat"), None);
        assert!(points.ords("ds-bdg2").is_empty());
        assert!(
            Arc::ptr_eq(&ords, &points.ords("harborview")),
            "one model is read once"
        );
    }

    #[test]
    fn which_facility_is_the_stations_must_be_clear() {
        let (unclear, _folder) = points(SITE, &["harborview", "lakeside"], None);
        assert!(unclear.facility().is_none() && unclear.ords("harborview").is_empty());
        let (told, _folder) = points(SITE, &["harborview", "lakeside"], Some("lakeside"));
        assert!(told.ords("harborview").is_empty() && !told.ords("lakeside").is_empty());
    }
}
