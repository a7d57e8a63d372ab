//! From the histories of mapped points into the trends store.
//!
//! - [`mapped_points`]: which points of the knowledge model have a place in the store.
//! - [`station_histories`]: which history each records into, and in which unit.
//! - [`sample_rule`]: which records are samples, and what number each is.
//! - [`covered`], [`progress_state`]: which stretches of a history have been read, kept beside the samples.
//! - [`plan`]: what is going to be read; [`reading`]: one history, piece by piece; `changes`: one that records changes of a
//!   state; [`run`]: all of them into the store.
//! - [`out_of_order`]: late records told apart from a clock that was put back.
//! - [`report`]: what was done.

mod changes;
pub mod covered;
pub mod mapped_points;
pub mod out_of_order;
pub mod plan;
pub mod progress_state;
pub mod reading;
pub mod report;
pub mod run;
pub mod sample_rule;
pub mod station_histories;

use std::path::PathBuf;

use chrono::{DateTime, Utc};

pub use self::plan::{IngestPlan, IngestRequest};
pub use self::report::IngestReport;
pub use self::run::{IngestOptions, IngestProgress, IngestStep, ingest};
use super::store::{FacilityId, StoreError};
use crate::durable_file::FileError;
use crate::station::facade::FacadeError;

/// An ingest that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Station(#[from] FacadeError),
    /// The station went away, or the caller gave up, in the middle.
    #[error(
        "{error}; {samples} samples were stored before, and the next ingest goes on from there"
    )]
    Stopped { error: FacadeError, samples: u64 },
    #[error("{path}: {problem}; remove the file, and the newest stored samples count instead", path = path.display())]
    Progress { path: PathBuf, problem: String },
    /// Two ingests of one facility would store samples twice.
    #[error("another process has ingested facility \"{facility}\" meanwhile; run the ingest again")]
    Another { facility: FacilityId },
    /// Wall-clock stamps of two zones cannot be told apart.
    #[error(
        "facility \"{facility}\" is stored in the time zone {registered}, and the station's is {station}; set \
         station.timeZone, or choose another trends.facilityId"
    )]
    Zone {
        facility: FacilityId,
        registered: String,
        station: String,
    },
    #[error("nothing can be read from {from} to {to}: the range ends before it begins")]
    NothingWanted {
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    },
    #[error(
        "there is no equipment \"{equip}\" in the knowledge file; name one that listEquipment shows"
    )]
    UnknownEquipment { equip: String },
    #[error(
        "--force replaces the whole facility and cannot be limited to some equipment; leave one of the two out"
    )]
    ForcePart,
    /// A replacement must not hold less than what it replaces.
    #[error(
        "{histories} histories could not be read, the first because: {first}; what is stored stays as it is, run the ingest \
         again"
    )]
    Incomplete { histories: usize, first: String },
    /// The station has no longer what was read of it once.
    #[error(
        "the range that was read holds {read} samples, and {stored} are stored of facility \"{facility}\"; what is stored \
         stays as it is. Read a longer range, or add --yes if the rest may be lost: what a station has dropped cannot be \
         read again"
    )]
    Less {
        facility: FacilityId,
        stored: u64,
        read: u64,
    },
    /// A task of the process ended.
    #[error("the ingest ended by a fault: {0}")]
    Ended(String),
}
