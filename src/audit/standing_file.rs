//! Whether an open file is still the one that its name leads to: a removed or replaced file takes every line, and nobody
//! ever reads them.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;

use super::{AuditError, failed};

/// What tells a file from another one under its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileMark([u64; 2]);

impl FileMark {
    /// The file that a name leads to.
    ///
    /// # Errors
    /// There is none, or it cannot be looked at.
    pub(super) fn of(path: &Path) -> Result<Self, AuditError> {
        let facts = std::fs::metadata(path).map_err(failed("look at", path))?;
        Ok(Self::of_facts(&facts))
    }

    #[cfg(unix)]
    fn of_facts(facts: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self([facts.dev(), facts.ino()])
    }

    /// Windows tells the number of a file only to nightly compilers; the time it was made in steps of 100 ns, together
    /// with its length, tells files apart as well.
    #[cfg(windows)]
    fn of_facts(facts: &Metadata) -> Self {
        use std::os::windows::fs::MetadataExt;
        Self([facts.creation_time(), 0])
    }

    /// Whether `path` still leads to this file, with at least `length` bytes.
    ///
    /// # Errors
    /// What became of the file; or it cannot be looked at.
    pub(super) fn check(self, path: &Path, length: u64) -> Result<(), AuditError> {
        let displaced = |problem: &'static str| AuditError::Displaced {
            path: path.to_owned(),
            problem,
        };
        let facts = match std::fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(displaced("it was removed or moved away"));
            }
            facts => facts.map_err(failed("look at", path))?,
        };
        if Self::of_facts(&facts) != self {
            return Err(displaced("another file was put in its place"));
        }
        match facts.len() < length {
            true => Err(displaced("it was cut")),
            false => Ok(()),
        }
    }
}
