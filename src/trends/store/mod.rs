//! The trends store: hive-partitioned Parquet in CAMBER's layout, read and written as CAMBER 0.110 reads and writes it.
//!
//! - [`facility_id`], [`names`], [`wall_clock`]: the vocabulary: who, what, when.
//! - [`registry`], [`tombstones`], [`admission`]: which facilities there are, in which state, and which may get data.
//! - [`listing`], [`part_facts`], [`decode`]: files → facts of a part → its rows.
//! - [`view`]: one facility as it is at one moment; [`series`], [`frame`], [`resample`]: one equipment of it.
//! - [`scan`], [`stamp_runs`]: every stamp of a facility in little memory; [`equipment_scan`]: whole equipment in one pass.
//! - [`catalogue`], [`generation`]: which points are stored, and how a reader notices a change.
//! - [`lock`], [`fence`], [`process`]: one writer at a time, and what readers see of it.
//! - [`writer`], [`append`], [`encode`], [`swap`], [`leftovers`]: changes that a kill at any moment survives.
//! - [`replacement`], [`compact`], [`removal`], [`verify`]: new content for a whole facility, and upkeep.
//!
//! Every change goes through a [`StoreWriter`], which holds the store's lock; reading takes no lock. A damaged part is an
//! error of its facility alone ([`StoreError::retryable`] tells whether asking again helps).
//!
//! Source: CAMBER Parquet store: exact format, protocols, ingest.

pub mod admission;
pub mod append;
pub mod catalogue;
pub mod compact;
pub mod decode;
pub mod encode;
pub mod equipment_scan;
pub mod error;
pub mod facility_id;
pub mod fence;
pub mod frame;
pub mod generation;
pub mod leftovers;
pub mod listing;
pub mod lock;
pub mod names;
pub mod part_facts;
pub mod process;
pub mod registry;
pub mod removal;
pub mod replacement;
pub mod scan;
pub mod series;
pub mod stamp_runs;
pub mod swap;
pub mod tombstones;
pub mod verify;
pub mod view;
pub mod writer;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use self::append::{AppendReport, EquipmentRows, RoleColumn, StagedAppend};
pub use self::catalogue::{Catalogue, StoredPoint};
pub use self::compact::CompactReport;
pub use self::error::StoreError;
pub use self::facility_id::FacilityId;
pub use self::fence::FenceState;
pub use self::frame::RoleFrame;
pub use self::registry::{FacilityEntry, FacilityState, Registry, RegistryCondition};
pub use self::removal::PruneReport;
pub use self::replacement::StagedFacility;
pub use self::scan::{PointStamps, ScanOptions};
pub use self::series::{EquipmentSeries, RoleSeries};
pub use self::stamp_runs::StampRuns;
pub use self::verify::{FacilityVerdict, StoreVerdict};
pub use self::view::{FacilityView, Selection};
pub use self::writer::{Observer, Registration, StoreStep, StoreWriter};
pub use niagara_analytics::BinWidth;
pub use niagara_analytics::wall_clock::{self, Window};

use self::catalogue::KnownCatalogue;
use self::listing::IndexedParts;
use crate::clock::{SharedClock, SystemClock};

/// How long readers wait for a swap in progress (Core §8.2).
const SWAP_WAIT: Duration = Duration::from_secs(1);

/// Pause between two looks at a fence.
const FENCE_POLL: Duration = Duration::from_millis(20);

/// A trends store: a folder on a local file system (Store §1).
///
/// Cheap to share: the facts of parts are read once and kept as long as size and time of the file stay.
#[derive(Debug)]
pub struct TrendStore {
    root: PathBuf,
    index: Mutex<HashMap<FacilityId, Arc<IndexedParts>>>,
    catalogue: KnownCatalogue,
    clock: SharedClock,
    observer: Observer,
}

impl TrendStore {
    /// Opens a store that exists, without taking its lock or changing anything.
    ///
    /// # Errors
    /// The folder is missing, cannot be read, or holds something else than a store.
    ///
    /// ```
    /// use niagara_bridge::trends::store::TrendStore;
    /// let folder = tempfile::tempdir().unwrap();
    /// assert!(TrendStore::open(folder.path()).unwrap().facilities().unwrap().is_empty());
    /// std::fs::write(folder.path().join("letter.txt"), "hello").unwrap();
    /// assert!(TrendStore::open(folder.path()).is_err());
    /// ```
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        listing::check_is_store(&root)?;
        Ok(Self {
            root,
            index: Mutex::default(),
            catalogue: KnownCatalogue::default(),
            clock: SystemClock::shared(),
            observer: Observer::default(),
        })
    }

    /// Opens a store, making its folder if it is missing.
    ///
    /// # Errors
    /// As [`TrendStore::open`], or the folder cannot be made.
    pub fn create(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        std::fs::create_dir_all(&root)
            .map_err(crate::durable_file::failed("make the folder", &root))?;
        Self::open(root)
    }

    /// The store with another source of time.
    #[must_use]
    pub fn with_clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// The store with an observer of the steps of every change.
    #[must_use]
    pub fn with_observer(mut self, observer: Observer) -> Self {
        self.observer = observer;
        self
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The facilities that have a folder, sorted; a folder without files counts (Store §1).
    ///
    /// # Errors
    /// The root cannot be read.
    pub fn facilities(&self) -> Result<Vec<FacilityId>, StoreError> {
        listing::facility_folders(&self.root)
    }

    /// The facilities that have a folder or a registry entry, sorted.
    ///
    /// # Errors
    /// The root cannot be read. A damaged registry is no error here: see [`Registry::condition`].
    pub fn known_facilities(&self) -> Result<Vec<FacilityId>, StoreError> {
        let mut known: BTreeSet<FacilityId> = self.facilities()?.into_iter().collect();
        known.extend(
            self.registry()
                .entries()
                .keys()
                .filter_map(|id| FacilityId::parse(id).ok()),
        );
        Ok(known.into_iter().collect())
    }

    /// Whether the facility has a folder.
    pub fn has_partition(&self, facility: &FacilityId) -> bool {
        listing::facility_folder(&self.root, facility).is_dir()
    }

    /// The registry as it is now; a damaged one has no entries and says so (Store §6, Core §5.2).
    pub fn registry(&self) -> Registry {
        Registry::read(&self.root)
    }

    /// One facility as it is now: its parts with their facts, read once and kept.
    ///
    /// Waits up to a second for a swap in progress.
    ///
    /// # Errors
    /// The facility is unknown, its folder cannot be read, or a swap of it goes on.
    pub fn view(&self, facility: &FacilityId) -> Result<FacilityView, StoreError> {
        let fence = fence::settled(&self.root, facility, SWAP_WAIT, FENCE_POLL)?;
        let earlier = self.lock_index().get(facility).cloned();
        let parts = IndexedParts::list(&self.root, facility, earlier.as_deref())?;
        let parts = Arc::new(parts);
        self.lock_index().insert(facility.clone(), parts.clone());
        Ok(FacilityView::new(
            self.root.clone(),
            facility.clone(),
            parts,
            fence,
        ))
    }

    /// Runs `read` on a view and once more on a fresh one when files were replaced meanwhile (Store §5.1).
    ///
    /// # Errors
    /// Those of `read`; [`StoreError::Replaced`] when the facility changed under both attempts.
    pub fn read<T>(
        &self,
        facility: &FacilityId,
        read: impl Fn(&FacilityView) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let attempt = || {
            let view = self.view(facility)?;
            let found = read(&view)?;
            view.check_unchanged()?;
            Ok(found)
        };
        match attempt() {
            Err(StoreError::Replaced { .. }) => attempt(),
            outcome => outcome,
        }
    }

    /// The samples of one equipment, as they are stored (Store §5 step 1).
    ///
    /// # Errors
    /// As [`TrendStore::read`], or a part of the equipment is damaged.
    pub fn equipment(
        &self,
        facility: &FacilityId,
        equip: &str,
        selection: &Selection,
    ) -> Result<EquipmentSeries, StoreError> {
        self.read(facility, |view| view.equipment(equip, selection))
    }

    /// The frame of one equipment: duplicates merged, one column per role, optionally resampled (Store §5).
    ///
    /// # Errors
    /// As [`TrendStore::equipment`].
    pub fn role_frame(
        &self,
        facility: &FacilityId,
        equip: &str,
        selection: &Selection,
        bins: Option<BinWidth>,
    ) -> Result<RoleFrame, StoreError> {
        let frame = self.equipment(facility, equip, selection)?.frame();
        match bins {
            Some(bins) => frame
                .resampled(bins)
                .map_err(|error| StoreError::Refused(error.to_string())),
            None => Ok(frame),
        }
    }

    /// The distinct points of one facility and the class of each equipment (Store §7).
    ///
    /// Taken from the store's catalogue when that is current, else from this facility's parts alone.
    ///
    /// # Errors
    /// As [`TrendStore::read`].
    pub fn points(&self, facility: &FacilityId) -> Result<FacilityPoints, StoreError> {
        if let Some(catalogue) = self.catalogue.current(&self.root)
            && let Some(points) = catalogue.of_facility(facility)
        {
            return Ok(points);
        }
        self.read(facility, FacilityView::points)
    }

    /// The fence of a facility, to be compared before and after a call (Core §8.2).
    ///
    /// # Errors
    /// The fence exists and cannot be read.
    pub fn fence(&self, facility: &FacilityId) -> Result<FenceState, StoreError> {
        fence::read(&self.root, facility)
    }

    /// Waits up to a second until no swap of the facility goes on, and returns its fence.
    ///
    /// # Errors
    /// [`StoreError::Busy`] after that second; the fence cannot be read.
    pub fn settled_fence(&self, facility: &FacilityId) -> Result<FenceState, StoreError> {
        fence::settled(&self.root, facility, SWAP_WAIT, FENCE_POLL)
    }

    /// A digest of what decides the values of these facilities: sizes and times of registry, catalogue and every file of
    /// theirs (Core §4.2).
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn generation(&self, facilities: &[FacilityId]) -> Result<String, StoreError> {
        generation::digest(&self.root, facilities)
    }

    /// Takes the store's lock, waiting up to `wait`, and tidies up what killed writers left.
    ///
    /// # Errors
    /// Somebody else holds the lock, or leftovers cannot be tidied up.
    pub fn writer(&self, wait: Duration) -> Result<StoreWriter<'_>, StoreError> {
        StoreWriter::open(self, wait)
    }

    fn lock_index(&self) -> std::sync::MutexGuard<'_, HashMap<FacilityId, Arc<IndexedParts>>> {
        // The map is only ever replaced entry by entry, so a panic elsewhere leaves it whole.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The points of one facility.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FacilityPoints {
    /// (equipment, role), distinct and sorted.
    pub points: BTreeSet<(String, String)>,
    /// Class per equipment, `""` when none is recorded: the first non-empty one in the order of file paths.
    pub classes: BTreeMap<String, String>,
}
