//! The samples that `renderTrend` draws: live histories of the station, and stored trends.

use crate::plot::Series;

/// What a point is, beside its samples.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Drawn {
    /// The name in the legend.
    pub label: String,
    pub ord: Option<String>,
    pub history_id: Option<String>,
    pub facility: Option<String>,
    pub equip: Option<String>,
    pub role: Option<String>,
    pub units: Option<String>,
    /// What the numbers of states mean, in the order of the numbers.
    pub states: Vec<(f64, String)>,
    /// Whether the interface told the status of live records; without it bad ones are drawn like others.
    pub status_available: Option<bool>,
    /// Why there are fewer samples than the window has.
    pub truncated: Option<Truncation>,
}

/// A reading that ended before the window did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Truncation {
    /// The time was over; otherwise there are more samples than one picture reads.
    pub by_time: bool,
    /// The first record that was not read, RFC 3339.
    pub next_from: Option<String>,
}

/// A point with its samples.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Samples {
    pub drawn: Drawn,
    pub series: Series,
}
