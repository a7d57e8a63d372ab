//! How many writes of each tool ended how; for the metrics.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::audit::Verdict;

/// Counts of writes by tool and ending.
#[derive(Debug, Default)]
pub struct WriteCounts(Mutex<BTreeMap<(String, &'static str), u64>>);

impl WriteCounts {
    /// Counts one; `tool` is the name of a tool of the bridge.
    pub(super) fn add(&self, tool: &str, verdict: Verdict) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((tool.to_owned(), verdict.name())).or_default() += 1;
    }

    /// Tool, ending and count of all that happened.
    pub fn all(&self) -> Vec<(String, &'static str, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .iter()
            .map(|((tool, verdict), count)| (tool.clone(), *verdict, *count))
            .collect()
    }
}
