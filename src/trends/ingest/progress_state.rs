//! How far each history has been read, kept in the store beside the samples.
//!
//! The file is written before and after each append: before it with what will have been read and a proof by which the
//! next run tells whether the append came to be; a kill at any moment then neither loses nor doubles a sample.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::IngestError;
use super::covered::{Covered, Millis, Stretch};
use crate::durable_file::{failed, replace};
use crate::trends::site_time::SiteClock;
use crate::trends::store::wall_clock::MINUTE;
use crate::trends::store::{
    BinWidth, EquipmentRows, FacilityId, Selection, StoreError, TrendStore, Window,
};

/// Folder in the root of the store; names with a dot are invisible to readers (Store §1).
const FOLDER: &str = ".ingest";

/// The form of the file.
const SCHEMA: u32 = 1;

/// How far the history of one role has been read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointProgress {
    /// `/Station/Name`; empty when it is not known which history the samples came from.
    pub history: String,
    /// What has been read.
    pub covered: Covered,
    /// Instant of the newest record that was read.
    pub last: Option<Millis>,
    /// Records at that instant; none when their number is not known.
    pub at_last: Option<u64>,
}

impl PointProgress {
    /// As it is after a stretch without records beyond `last` was read.
    pub fn add(&mut self, stretch: Stretch) {
        self.covered.add(stretch);
    }
}

/// Progress by equipment and role.
pub type Points = BTreeMap<String, BTreeMap<String, PointProgress>>;

/// Samples of one role by which an append is recognised in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Proof {
    equip: String,
    role: String,
    first: i64,
    last: i64,
    /// Samples of the role from first to last, once the append is in place.
    samples: u64,
}

/// An append that was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    proof: Proof,
    points: Points,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    schema: u32,
    /// Counts the changes: two ingests of one facility notice each other.
    change: u64,
    points: Points,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
    /// Width of the bins in which states are stored, in minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state_minutes: Option<u32>,
}

/// The progress of a facility.
#[derive(Debug, Clone)]
pub struct ProgressFile {
    path: PathBuf,
    facility: FacilityId,
    content: Content,
}

impl ProgressFile {
    /// Reads the progress; to be called by whoever holds the lock of the store, so that unfinished appends are decided.
    ///
    /// Where the file is missing or damaged although samples are stored, the newest stored sample of each role counts as
    /// the newest record.
    ///
    /// # Errors
    /// The store or the file cannot be read.
    pub fn open(
        store: &TrendStore,
        facility: &FacilityId,
        clock: SiteClock,
    ) -> Result<Self, IngestError> {
        let path = path(store.root(), facility);
        let content = match read(&path)? {
            // Nothing is stored: what the file tells was of a removed facility, or of an append that did not come to be.
            written if !store.has_partition(facility) => Content {
                change: written.map_or(0, |written| written.change),
                ..Content::default()
            },
            Some(content) => content,
            None => Content {
                points: from_store(store, facility, clock)?,
                ..Content::default()
            },
        };
        let mut file = Self {
            path,
            facility: facility.clone(),
            content,
        };
        file.settle(store)?;
        Ok(file)
    }

    /// The progress of a facility of which nothing is stored.
    pub fn of_nothing(root: &Path, facility: &FacilityId) -> Self {
        Self {
            path: path(root, facility),
            facility: facility.clone(),
            content: Content::default(),
        }
    }

    /// Width of the bins in which states are stored, once one was chosen: another one would count times twice.
    pub fn state_bins(&self) -> Option<BinWidth> {
        self.content.state_minutes.and_then(bins_of_minutes)
    }

    /// Chooses the width, to be kept with the next note.
    pub fn choose_state_bins(&mut self, width: BinWidth) {
        self.content.state_minutes = u32::try_from(width.nanos() / MINUTE).ok();
    }

    /// Decides an append that a kill interrupted.
    fn settle(&mut self, store: &TrendStore) -> Result<(), IngestError> {
        let Some(pending) = self.content.pending.take() else {
            return Ok(());
        };
        let proof = &pending.proof;
        let stored = stored(store, &self.facility, proof)?;
        if stored >= proof.samples {
            tracing::info!(facility = %self.facility, "an interrupted append had been completed");
            self.take_over(pending.points);
        }
        Ok(())
    }

    fn take_over(&mut self, points: Points) {
        for (equip, roles) in points {
            self.content.points.entry(equip).or_default().extend(roles);
        }
    }

    /// The progress of a role.
    pub fn of(&self, equip: &str, role: &str) -> PointProgress {
        let known = self.content.points.get(equip);
        known
            .and_then(|roles| roles.get(role))
            .cloned()
            .unwrap_or_default()
    }

    /// Refuses to go on when another process wrote since.
    ///
    /// # Errors
    /// The file cannot be read, or was changed.
    pub fn check_unchanged(&self) -> Result<(), IngestError> {
        let change = read(&self.path)?.map_or(0, |content| content.change);
        if change == self.content.change {
            Ok(())
        } else {
            Err(IngestError::Another {
                facility: self.facility.clone(),
            })
        }
    }

    /// Notes what an append is going to bring, before it is brought.
    ///
    /// # Errors
    /// The store cannot be read or the file not written.
    pub fn begin(
        &mut self,
        store: &TrendStore,
        rows: &[EquipmentRows],
        points: Points,
    ) -> Result<(), IngestError> {
        let Some(mut proof) = proof_of(rows) else {
            // Nothing will be stored that could be doubled.
            self.take_over(points);
            return self.write();
        };
        proof.samples += stored(store, &self.facility, &proof)?;
        self.content.pending = Some(Pending { proof, points });
        self.write()
    }

    /// Notes that the append is in place.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), IngestError> {
        match self.content.pending.take() {
            Some(pending) => {
                self.take_over(pending.points);
                self.write()
            }
            None => Ok(()),
        }
    }

    /// Forgets everything, before the content of the facility is replaced: the next run then looks into the store.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget(&mut self) -> Result<(), IngestError> {
        // The width was chosen when this ingest began, and counts for what it brings.
        self.content = Content {
            state_minutes: self.content.state_minutes,
            ..Content::default()
        };
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(failed("remove", &self.path)(error).into())
            }
            _ => Ok(()),
        }
    }

    /// Notes the progress that a replacement brought.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn replace(&mut self, points: Points) -> Result<(), IngestError> {
        self.content.points = points;
        self.write()
    }

    fn write(&mut self) -> Result<(), IngestError> {
        self.content.schema = SCHEMA;
        self.content.change += 1;
        let text = serde_json::to_vec(&self.content).map_err(|error| IngestError::Progress {
            path: self.path.clone(),
            problem: error.to_string(),
        })?;
        Ok(replace(&self.path, &text)?)
    }
}

/// Width of the bins in which an ingest stores the states of a facility; none before the first ingest.
///
/// # Errors
/// The progress of the facility cannot be read.
pub fn state_bins_of(root: &Path, facility: &FacilityId) -> Result<Option<BinWidth>, IngestError> {
    let content = read(&path(root, facility))?;
    let minutes = content.and_then(|content| content.state_minutes);
    Ok(minutes.and_then(bins_of_minutes))
}

fn bins_of_minutes(minutes: u32) -> Option<BinWidth> {
    BinWidth::from_nanos(i64::from(minutes) * MINUTE)
}

fn path(root: &Path, facility: &FacilityId) -> PathBuf {
    root.join(FOLDER).join(format!("{facility}.json"))
}

/// None when there is no file, or one that cannot be understood.
fn read(path: &Path) -> Result<Option<Content>, IngestError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error).into()),
    };
    match serde_json::from_slice::<Content>(&text) {
        Ok(content) if content.schema == SCHEMA => Ok(Some(content)),
        Ok(content) => Err(IngestError::Progress {
            path: path.to_owned(),
            problem: format!(
                "it has form {}, and this version knows form {SCHEMA}",
                content.schema
            ),
        }),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the progress of ingest is damaged; the newest stored samples count instead");
            Ok(None)
        }
    }
}

/// The role with the most samples: it is the hardest to mistake.
fn proof_of(rows: &[EquipmentRows]) -> Option<Proof> {
    let columns = rows
        .iter()
        .flat_map(|equip| equip.columns.iter().map(move |column| (equip, column)));
    let (equip, column) = columns.max_by_key(|(_, column)| column.stamps.len())?;
    let (first, last) = (column.stamps.iter().min()?, column.stamps.iter().max()?);
    Some(Proof {
        equip: equip.equip.clone(),
        role: column.role.clone(),
        first: *first,
        last: *last,
        samples: column.stamps.len() as u64,
    })
}

fn stored(store: &TrendStore, facility: &FacilityId, proof: &Proof) -> Result<u64, IngestError> {
    let selection = Selection {
        roles: Some([proof.role.clone()].into()),
        window: Window {
            start: Some(proof.first),
            end: Some(proof.last),
        },
    };
    match store.equipment(facility, &proof.equip, &selection) {
        Ok(series) => Ok(series
            .roles
            .get(&proof.role)
            .map_or(0, |role| role.len() as u64)),
        Err(StoreError::NoData(_)) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

fn from_store(
    store: &TrendStore,
    facility: &FacilityId,
    clock: SiteClock,
) -> Result<Points, IngestError> {
    let stored = store.points(facility)?;
    let equipment: std::collections::BTreeSet<&String> =
        stored.points.iter().map(|(equip, _)| equip).collect();
    let mut points = Points::new();
    for equip in equipment {
        let series = store.equipment(facility, equip, &Selection::default())?;
        for (role, samples) in series.roles {
            let (Some(first), Some(last)) = (samples.stamps.first(), samples.stamps.last()) else {
                continue;
            };
            let (first, last) = (
                clock.first_instant(*first).timestamp_millis(),
                clock.last_instant(*last).timestamp_millis(),
            );
            let progress = PointProgress {
                history: String::new(),
                covered: Stretch::new(first, last)
                    .map_or_else(Covered::default, |stretch| vec![stretch].into()),
                last: Some(last),
                at_last: None,
            };
            points
                .entry(equip.clone())
                .or_default()
                .insert(role, progress);
        }
    }
    Ok(points)
}
