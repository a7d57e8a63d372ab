//! The state of the mapped folders when the model was verified, kept beside the knowledge file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::KnownComponent;
use crate::durable_file::{self, FileError};

/// The only form so far.
const FORMAT: u32 = 1;

/// Largest file that is read: about half a million components.
const MAX_BYTES: u64 = 64 << 20;

/// Which station it is, as far as it tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StationIdentity {
    pub name: String,
    /// SHA-256 of the host id in hexadecimal digits: the id itself identifies an installation (Fox specification §8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id_hash: Option<String>,
}

impl StationIdentity {
    /// The station of that name, on that host where its Fox port tells which.
    pub fn new(name: String, host_id: Option<&str>) -> Self {
        let hash = |id: &str| {
            let digest = ring::digest::digest(&ring::digest::SHA256, id.as_bytes());
            let bytes = digest.as_ref().iter();
            bytes.map(|byte| format!("{byte:02x}")).collect()
        };
        Self {
            name,
            host_id_hash: host_id.map(hash),
        }
    }

    /// Whether both are the same station: of one name, and not known to be on two hosts.
    pub fn is_same(&self, other: &Self) -> bool {
        let hosts = (&self.host_id_hash, &other.host_id_hash);
        self.name == other.name && !matches!(hosts, (Some(ours), Some(theirs)) if ours != theirs)
    }
}

/// The components under mapped folders at a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    format: u32,
    /// RFC 3339.
    pub verified_at: String,
    /// Who marked it.
    pub verified_by: String,
    /// The station that was looked at; none in files of older versions, or when it did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub station: Option<StationIdentity>,
    /// Slot paths of the folders that were looked at.
    pub folders: Vec<String>,
    pub components: Vec<KnownComponent>,
}

impl Baseline {
    /// A baseline in the present form.
    pub fn new(
        verified_at: String,
        verified_by: String,
        station: Option<StationIdentity>,
        folders: Vec<String>,
        components: Vec<KnownComponent>,
    ) -> Self {
        Self {
            format: FORMAT,
            verified_at,
            verified_by,
            station,
            folders,
            components,
        }
    }
}

/// Why a baseline cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    #[error("{} cannot be read: {source}; check the rights of the file", .path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{} is no baseline that this version understands: {detail}; call diffStation with markVerified to write it anew",
        .path.display()
    )]
    Content { path: PathBuf, detail: String },
    #[error(transparent)]
    Write(#[from] FileError),
}

impl BaselineError {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. } | Self::Content { path, .. } => path,
            Self::Write(error) => &error.path,
        }
    }
}

/// Where the baseline of a knowledge file is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineFile {
    path: PathBuf,
}

impl BaselineFile {
    /// `knowledge.baseline.json` beside `knowledge.yaml`.
    pub fn beside(knowledge_file: &Path) -> Self {
        Self {
            path: knowledge_file.with_extension("baseline.json"),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it; none when the model was never verified.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn load(&self) -> Result<Option<Baseline>, BaselineError> {
        let read = |source| BaselineError::Read {
            path: self.path.clone(),
            source,
        };
        let content = |detail: String| BaselineError::Content {
            path: self.path.clone(),
            detail,
        };
        match std::fs::metadata(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(read(error)),
            Ok(facts) if facts.len() > MAX_BYTES => {
                return Err(content(format!(
                    "it has {} bytes, more than {MAX_BYTES}",
                    facts.len()
                )));
            }
            Ok(_) => {}
        }
        let bytes = std::fs::read(&self.path).map_err(read)?;
        let baseline: Baseline =
            serde_json::from_slice(&bytes).map_err(|error| content(error.to_string()))?;
        if baseline.format != FORMAT {
            return Err(content(format!(
                "its format is {}, not {FORMAT}",
                baseline.format
            )));
        }
        Ok(Some(baseline))
    }

    /// Replaces it as a whole: after a crash the file is the old or the new one.
    ///
    /// # Errors
    /// The file cannot be written; the old one is still there.
    pub fn save(&self, baseline: &Baseline) -> Result<(), BaselineError> {
        let text = serde_json::to_vec(baseline).map_err(|error| BaselineError::Content {
            path: self.path.clone(),
            detail: error.to_string(),
        })?;
        Ok(durable_file::replace(&self.path, &text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline() -> Baseline {
        let component = KnownComponent {
            path: "slot:/A".to_owned(),
            type_spec: "baja:Folder".to_owned(),
            handle: Some("2f".to_owned()),
        };
        Baseline::new(
            "2026-10-25T12:00:00Z".to_owned(),
            "ann".to_owned(),
            Some(StationIdentity::new(
                "Harborview".to_owned(),
                Some("Qnx-DEMO-0000"),
            )),
            vec!["slot:/A".to_owned()],
            vec![component],
        )
    }

    #[test]
    fn what_was_saved_is_read_again_and_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = BaselineFile::beside(&folder.path().join("deep/knowledge.yaml"));
        assert_eq!(file.load().unwrap(), None);
        file.save(&baseline()).unwrap();
        assert_eq!(file.path().file_name().unwrap(), "knowledge.baseline.json");
        let mut other = baseline();
        other.components.clear();
        file.save(&other).unwrap();
        assert_eq!(file.load().unwrap(), Some(other));
        let names: Vec<_> = std::fs::read_dir(file.path().parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["knowledge.baseline.json"], "no leftovers");
    }

    #[test]
    fn a_station_is_known_by_its_name_and_by_its_host_where_both_are_told() {
        let station = |name: &str, host| StationIdentity::new(name.to_owned(), host);
        let here = station("Harborview", Some("Qnx-1"));
        for (other, is_same) in [
            (station("Harborview", Some("Qnx-1")), true),
            (station("Harborview", None), true),
            (station("Harborview", Some("Qnx-2")), false),
            (station("Lakeside", Some("Qnx-1")), false),
            (station("Lakeside", None), false),
        ] {
            assert_eq!(here.is_same(&other), is_same, "{other:?}");
            assert_eq!(other.is_same(&here), is_same, "{other:?}");
        }
        let text = serde_json::to_string(&baseline()).unwrap();
        assert!(!text.contains("Qnx"), "{text}");
        let mut old: serde_json::Value = serde_json::from_str(&text).unwrap();
        old.as_object_mut().unwrap().shift_remove("station");
        let read: Baseline = serde_json::from_value(old).unwrap();
        assert_eq!(read.station, None, "files of older versions are read");
    }

    #[test]
    fn a_file_that_is_no_baseline_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = BaselineFile::beside(&folder.path().join("knowledge.yaml"));
        let newer = serde_json::to_string(&baseline())
            .unwrap()
            .replace("\"format\":1", "\"format\":2");
        for (text, reason) in [
            ("", "EOF"),
            ("{}", "missing field"),
            (newer.as_str(), "its format is 2"),
        ] {
            std::fs::write(file.path(), text).unwrap();
            let error = file.load().unwrap_err().to_string();
            assert!(
                error.contains(reason) && error.contains("knowledge.baseline.json"),
                "{error}"
            );
        }
    }
}
