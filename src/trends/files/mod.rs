//! Trends from and into files.
//!
//! - [`mapping`]: which column or point of a file stands for which role and equipment.
//! - [`profile`]: how a vendor writes numbers and times; [`timestamps`]: times → stamps of the store.
//! - [`table`]: a CSV file as a frame of text columns; [`forms`]: its wide, long, per-point and history-export form.
//! - [`import`]: files into the store; [`resample`]: their samples in bins; [`export`]: frames of the store into CSV,
//!   Parquet or Arrow files, by way of [`frames`].
//! - [`csv_series`]: one series of samples out of a file.
//!
//! Source: CAMBER Parquet store: exact format, protocols, ingest §11.

pub mod csv_series;
pub mod export;
pub mod forms;
pub mod frames;
pub mod import;
pub mod mapping;
pub mod profile;
pub mod resample;
pub mod table;
pub mod timestamps;

use std::path::PathBuf;

pub use self::export::{ExportFormat, FrameExport};
pub use self::forms::{FileForm, LongColumns};
pub use self::import::{FileImport, ImportReport};
pub use self::mapping::Mapping;
pub use self::profile::Profile;
pub use self::resample::FileBins;
use super::store::StoreError;
use crate::durable_file::FileError;

/// A file that cannot be imported or written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{file}, line {line}: {problem}", file = file.display())]
    Csv {
        file: PathBuf,
        line: u64,
        problem: String,
    },
    /// The file is CSV, but not of the form that was named.
    #[error("{file}: {problem}", file = file.display())]
    Form { file: PathBuf, problem: String },
    #[error("the mapping file cannot be used: {0}")]
    Mapping(String),
    #[error("the export cannot be written: {0}")]
    Write(String),
}
