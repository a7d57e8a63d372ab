//! A file that another program may still be writing is left alone until it rests: an editor that empties the file and
//! fills it step by step has it half written for moments, and a save on top of that would cut off the rest.

use std::time::{Duration, SystemTime};

use super::reading::regular_file;
use super::{KnowledgeSnapshot, Shared};
use crate::knowledge::error::EditError;

/// How long a file that another program wrote must have been unchanged before an edit is saved on top of it.
pub const REST: Duration = Duration::from_secs(1);

/// Looks at the file in the time that it must rest.
const LOOKS: u32 = 4;

/// How many rests an edit waits for one before it is refused; calls of tools end after 9 s.
const PATIENCE: u32 = 3;

/// Size and last modification of a file, by which a change shows without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    size: u64,
    modified: Option<SystemTime>,
}

impl Facts {
    pub(super) fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
        }
    }
}

impl Shared {
    /// Waits until nobody has written into the file for [`super::StoreOptions::rest`]; at once for a file that was
    /// written here or long ago.
    ///
    /// # Errors
    /// The file has another content than the snapshot, or does not come to rest.
    pub(super) fn wait_for_rest(&self, before: &KnowledgeSnapshot) -> Result<(), EditError> {
        let rest = self.options.rest;
        if rest.is_zero() || before.content.is_none() || before.is_written_here {
            return Ok(());
        }
        self.refuse_if_changed(before)?;
        self.wait_until_quiet()
    }

    /// Waits until nobody has written into the file for a rest, whatever it holds.
    ///
    /// # Errors
    /// The file does not come to rest.
    pub(super) fn wait_until_quiet(&self) -> Result<(), EditError> {
        let rest = self.options.rest;
        let mut seen = self.facts();
        if rest.is_zero() || self.age(seen).is_some_and(|age| age >= rest) {
            return Ok(());
        }
        let step = rest / LOOKS;
        let mut quiet = 0;
        for _ in 0..LOOKS * PATIENCE {
            (self.options.pause)(step);
            let now = self.facts();
            quiet = if now == seen { quiet + 1 } else { 0 };
            seen = now;
            if quiet >= LOOKS {
                return Ok(());
            }
        }
        Err(EditError::StillChanging {
            path: self.path.clone(),
        })
    }

    fn facts(&self) -> Option<Facts> {
        let metadata = regular_file(&self.path).ok().flatten()?;
        Some(Facts::of(&metadata))
    }

    /// None for a file of the future, of which nothing can be told: clocks of file servers differ.
    fn age(&self, facts: Option<Facts>) -> Option<Duration> {
        let now = SystemTime::from(self.options.clock.now());
        now.duration_since(facts?.modified?).ok()
    }
}
