//! Reads what is missing of one history, piece by piece.

use chrono::{DateTime, Utc};
use tokio::sync::mpsc::Sender;

use super::covered::{Millis, Stretch, instant};
use super::out_of_order::{Arrivals, FLAG, OutOfOrder};
use super::plan::PlannedPoint;
use super::progress_state::PointProgress;
use super::sample_rule::{DropReason, SampleCounts, SampleRule};
use super::station_histories::RecordSource;
use crate::station::error::StationError;
use crate::station::facade::{
    FacadeError, HistoryRead, HistoryRequest, HistorySample, HistorySpan, SampleKind, SampleValue,
    StationFacade,
};
use crate::station::http::CallScope;
use crate::station::units::unit_by_symbol;
use crate::trends::site_time::SiteClock;
use crate::trends::states::texts_are_swapped;
use crate::trends::units::{agreed, chosen_unit};

/// Records after which what was read is handed on to be stored.
pub(super) const PIECE: usize = 200_000;

/// Two records further apart than this many intervals have a gap between them.
const GAP_INTERVALS: f64 = 1.5;

/// Samples of a part of one history, with the progress that storing them means.
#[derive(Debug, Default)]
pub struct Piece {
    /// Number of the point in the plan.
    pub point: usize,
    pub stamps: Vec<i64>,
    pub values: Vec<f64>,
    pub counts: SampleCounts,
    pub gaps: u64,
    pub progress: PointProgress,
    pub remarks: Vec<String>,
    /// Records that were visited.
    pub records: u64,
    /// What records that were written after later ones mean.
    pub out_of_order: OutOfOrder,
}

/// Why a history could not be read to its end.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadProblem {
    #[error(transparent)]
    Station(#[from] FacadeError),
    /// Records that cannot be stored under this role.
    #[error("{0}")]
    Refused(String),
    /// The time was over again and again before anything new came.
    #[error("no record after {from} came in time; ingest again when the station is less busy")]
    Stuck { from: String },
    /// Nobody takes what is read: storing has failed, and says so itself.
    #[error("the samples could not be stored")]
    NotTaken,
}

impl ReadProblem {
    /// Whether reading other histories is pointless too.
    pub fn is_hopeless(&self) -> bool {
        match self {
            Self::Station(FacadeError::Station(error)) => matches!(
                error,
                StationError::Unreachable { .. }
                    | StationError::Certificate { .. }
                    | StationError::Auth { .. }
                    | StationError::Latched { .. }
                    | StationError::LoginTimeout { .. }
                    | StationError::Cancelled { .. }
            ),
            Self::Station(_) | Self::Refused(_) | Self::Stuck { .. } => false,
            Self::NotTaken => true,
        }
    }
}

/// Reads histories of one station.
#[derive(Debug, Clone, Copy)]
pub struct HistoryReader<'a> {
    pub station: &'a StationFacade,
    pub scope: &'a CallScope,
    pub clock: SiteClock,
    /// End of the newest stretch when that is the present: later records are still to come.
    pub now: Option<Millis>,
}

impl HistoryReader<'_> {
    /// Reads all that is missing of a point and hands it on.
    ///
    /// # Errors
    /// What was handed on before stays good.
    pub async fn read(
        &self,
        number: usize,
        point: &PlannedPoint,
        pieces: &Sender<Piece>,
    ) -> Result<(), ReadProblem> {
        if let Some(held) = &point.held {
            return self.read_changes(number, point, held, pieces).await;
        }
        let mut progress = point.progress.clone();
        let mut remarks = point.renamed_remark().into_iter().collect::<Vec<_>>();
        let renamed = !remarks.is_empty();
        if let Some(id) = point.found.source.history_id() {
            id.clone_into(&mut progress.history);
        }
        for stretch in &point.missing {
            let mut from = stretch.from;
            let mut seen = 0;
            // The newest record is asked for once more: it shows whether the history is still the one it was.
            let newest = progress.last.filter(|last| *last == stretch.from - 1);
            let mut expected = None;
            if let Some(last) = newest {
                from = last;
                seen = progress.at_last.unwrap_or(u64::MAX);
                expected = progress
                    .at_last
                    .filter(|_| !renamed)
                    .map(|count| (last, count));
            }
            loop {
                let mut taker = Taker::new(self.clock, point, from, seen);
                let mut take = |sample: HistorySample| taker.take(&sample);
                let read = self.records(point, from, stretch.to, &mut take).await?;
                self.check(point, &read)?;
                check_states(point, taker.no_state)?;
                if shows_opposites(point, &read) {
                    taker.turn_states();
                }
                if progress.history.is_empty() {
                    read.history_id.clone_into(&mut progress.history);
                }
                if let Some((last, count)) = expected.take() {
                    remarks.extend(taker.tally.restart_remark(last, count, point));
                }
                remarks.extend(lost_remark(&read));
                remarks.extend(taker.tally.capacity_remark(point));
                let next = self.next_of(&read, from, seen)?;
                self.note(&mut progress, &taker.tally, from, *stretch, next);
                let piece = taker.piece(
                    number,
                    progress.clone(),
                    std::mem::take(&mut remarks),
                    read.rows,
                );
                pieces
                    .send(piece)
                    .await
                    .map_err(|_| ReadProblem::NotTaken)?;
                match next {
                    Some((next, repeats)) => (from, seen) = (next, repeats),
                    None => break,
                }
            }
        }
        Ok(())
    }

    pub(super) async fn records(
        &self,
        point: &PlannedPoint,
        from: Millis,
        to: Millis,
        take: &mut (dyn FnMut(HistorySample) + Send),
    ) -> Result<HistoryRead, FacadeError> {
        let local = |millis| {
            instant(millis)
                .with_timezone(&self.clock.zone())
                .fixed_offset()
        };
        let (from, to) = (local(from), local(to));
        match &point.found.source {
            RecordSource::OfPoint(ord) => {
                let request = HistoryRequest {
                    ord,
                    from,
                    to,
                    limit: PIECE,
                };
                self.station.read_history(self.scope, request, take).await
            }
            RecordSource::Listed(history) => {
                let span = HistorySpan {
                    from,
                    to,
                    limit: PIECE,
                };
                self.station
                    .read_listed_history(self.scope, history, span, take)
                    .await
            }
        }
    }

    /// What only the records tell: their kind, and their unit where no list of histories told it.
    pub(super) fn check(
        &self,
        point: &PlannedPoint,
        read: &HistoryRead,
    ) -> Result<(), ReadProblem> {
        if let Some(kind) = read.kind {
            SampleRule::check_kind(point.mapped.role, kind)
                .map_err(|problem| ReadProblem::Refused(problem.to_string()))?;
        }
        if point.found.source.listed().is_some() {
            return Ok(());
        }
        let of_history = read.units.as_deref().and_then(unit_by_symbol);
        let agree = match point.mapped.unit.as_deref() {
            None => {
                let of_point = crate::station::units::unit_by_name(&point.found.unit);
                agreed(of_history, of_point).map(|_| ())
            }
            stated => {
                let role = point.mapped.role;
                chosen_unit(role, of_history, None, stated, &mut Vec::new()).map(|_| ())
            }
        };
        agree.map_err(|problem| ReadProblem::Refused(problem.to_string()))
    }

    /// Where to go on, and how many records there are visited already.
    pub(super) fn next_of(
        &self,
        read: &HistoryRead,
        from: Millis,
        seen: u64,
    ) -> Result<Option<(Millis, u64)>, ReadProblem> {
        if !read.truncated_by_limit && !read.truncated_by_timeout {
            return Ok(None);
        }
        let next = read.next_from.map(|next| next.timestamp_millis());
        // The facade does not know of the records at `from` that were visited in earlier pieces.
        let repeats = read.next_from_repeats as u64;
        match next {
            Some(next) if next > from => Ok(Some((next, repeats))),
            Some(next) if next == from && repeats > seen && seen != u64::MAX => {
                Ok(Some((next, repeats)))
            }
            _ => Err(ReadProblem::Stuck {
                from: instant(from).to_rfc3339(),
            }),
        }
    }

    fn note(
        &self,
        progress: &mut PointProgress,
        tally: &Tally,
        from: Millis,
        stretch: Stretch,
        next: Option<(Millis, u64)>,
    ) {
        if let Some((newest, count)) = tally.newest
            && progress.last.is_none_or(|last| newest >= last)
        {
            let known = progress.last == Some(newest);
            progress.last = Some(newest);
            progress.at_last = match (known, progress.at_last) {
                (true, None) => None,
                (true, Some(earlier)) => Some(earlier.max(count)),
                (false, _) => Some(count),
            };
        }
        let to = match next {
            Some((next, 0)) => next - 1,
            Some((next, _)) => next,
            // Of the present only what is recorded is known.
            None if self.now == Some(stretch.to) => match tally.newest {
                Some((newest, _)) => newest,
                None => return,
            },
            None => stretch.to,
        };
        if let Some(read) = Stretch::new(from, to) {
            progress.add(read);
        }
    }
}

/// States whose texts say the opposite of their values.
pub(super) fn shows_opposites(point: &PlannedPoint, read: &HistoryRead) -> bool {
    let [when_false, when_true] = &read.boolean_texts;
    point.mapped.role.status
        && read.kind == Some(SampleKind::Boolean)
        && texts_are_swapped(when_false, when_true)
}

/// Refuses a history under a role of states that holds other numbers (Store §10.1: 0/1).
pub(super) fn check_states(
    point: &PlannedPoint,
    no_state: Option<(Millis, f64)>,
) -> Result<(), ReadProblem> {
    let Some((when, number)) = no_state else {
        return Ok(());
    };
    Err(ReadProblem::Refused(format!(
        "the history holds numbers other than 0 and 1, such as {number} at {}, and {} is a state; map a point to the role \
         that tells whether it is on",
        instant(when).to_rfc3339(),
        point.mapped.role.role
    )))
}

pub(super) fn lost_remark(read: &HistoryRead) -> Option<String> {
    read.possibly_lost.then(|| {
        "has more records at one instant than the station can tell apart; some may be missing"
            .to_owned()
    })
}

/// Which records were visited.
#[derive(Debug)]
pub(super) struct Tally {
    /// Records at this instant were visited before, so many of them.
    from: Millis,
    seen: u64,
    pub at_from: u64,
    /// First record that is new.
    pub first: Option<Millis>,
    /// Last record and how many there are at its instant.
    pub newest: Option<(Millis, u64)>,
    records: u64,
}

impl Tally {
    pub fn new(from: Millis, seen: u64) -> Self {
        Self {
            from,
            seen,
            at_from: 0,
            first: None,
            newest: None,
            records: 0,
        }
    }

    /// Counts a record; whether it is new.
    pub fn visit(&mut self, millis: Millis) -> bool {
        self.records += 1;
        match &mut self.newest {
            Some((newest, count)) if *newest == millis => *count += 1,
            Some((newest, _)) if *newest > millis => {}
            newest => *newest = Some((millis, 1)),
        }
        if millis == self.from {
            self.at_from += 1;
            if self.at_from <= self.seen {
                return false;
            }
        }
        self.first = self.first.or(Some(millis));
        true
    }

    /// A history that keeps so few records that some are lost when nobody fetches them in time.
    pub fn capacity_remark(&self, point: &PlannedPoint) -> Option<String> {
        let history = point.found.source.listed()?;
        let capacity = history.capacity_records?;
        let is_full = point.progress.covered.is_empty() && self.records >= capacity;
        let reach = match (self.first, self.newest) {
            (Some(first), Some((newest, _))) if is_full => instant(newest) - instant(first),
            _ => return None,
        };
        Some(format!(
            "keeps its last {capacity} records only, which reach back {}; ingest more often than that",
            span(reach.num_minutes())
        ))
    }

    /// What it means that the newest record of before is not there any more.
    pub fn restart_remark(&self, last: Millis, count: u64, point: &PlannedPoint) -> Option<String> {
        if self.at_from >= count {
            return None;
        }
        let Some(first) = self.first else {
            return Some(format!(
                "was cleared since {}; what was read before stays in the store",
                instant(last).to_rfc3339()
            ));
        };
        let lost = interval_of(point)
            .is_none_or(|interval| (first - last) as f64 > GAP_INTERVALS * interval as f64);
        let limited = point
            .found
            .source
            .listed()
            .is_some_and(|history| history.capacity_records.is_some());
        Some(match (lost, limited) {
            (true, true) => format!(
                "has rolled over since the last ingest: records between {} and {} are lost; ingest more often",
                instant(last).to_rfc3339(),
                instant(first).to_rfc3339()
            ),
            _ => format!(
                "was cleared or renewed after {} and goes on from {}; what was read before stays in the store",
                instant(last).to_rfc3339(),
                instant(first).to_rfc3339()
            ),
        })
    }
}

fn interval_of(point: &PlannedPoint) -> Option<Millis> {
    point
        .found
        .source
        .listed()
        .and_then(|history| history.interval_millis)
}

/// A length of time in words.
fn span(minutes: i64) -> String {
    match minutes {
        ..120 => format!("{minutes} minutes"),
        120..2880 => format!("{} hours", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}

/// Takes records one by one.
struct Taker<'a> {
    clock: SiteClock,
    rule: &'a SampleRule,
    interval: Option<Millis>,
    tally: Tally,
    stamps: Vec<i64>,
    values: Vec<f64>,
    counts: SampleCounts,
    arrivals: Arrivals,
    gaps: u64,
    last_kept: Option<(DateTime<Utc>, i64)>,
    no_state: Option<(Millis, f64)>,
}

impl<'a> Taker<'a> {
    fn new(clock: SiteClock, point: &'a PlannedPoint, from: Millis, seen: u64) -> Self {
        Self {
            clock,
            rule: &point.rule,
            interval: interval_of(point),
            tally: Tally::new(from, seen),
            stamps: Vec::new(),
            values: Vec::new(),
            counts: SampleCounts::default(),
            arrivals: Arrivals::default(),
            gaps: 0,
            last_kept: None,
            no_state: None,
        }
    }

    fn take(&mut self, sample: &HistorySample) {
        let when = sample.timestamp.to_utc();
        let millis = when.timestamp_millis();
        if !self.tally.visit(millis) {
            return;
        }
        let out_of_order = is_out_of_order(sample);
        self.arrivals.add(millis, out_of_order);
        let number = match self.rule.number(sample) {
            Ok(number) => number,
            Err(reason) => {
                if let (DropReason::NoState, SampleValue::Number(number)) = (reason, &sample.value)
                {
                    self.no_state.get_or_insert((millis, *number));
                }
                return self.counts.drop(reason);
            }
        };
        let Some(stamp) = self.clock.stamp(when) else {
            return self.counts.drop(DropReason::OutOfTime);
        };
        self.counts.out_of_order += u64::from(out_of_order);
        self.count_kept(sample, when, stamp);
        self.stamps.push(stamp);
        self.values.push(number);
    }

    fn count_kept(&mut self, sample: &HistorySample, when: DateTime<Utc>, stamp: i64) {
        self.counts.kept += 1;
        self.counts.without_status += u64::from(sample.status.is_none());
        if let Some((before, before_stamp)) = self.last_kept {
            self.counts.repeated_hour += u64::from(when > before && stamp <= before_stamp);
            let apart = (when - before).num_milliseconds() as f64;
            self.gaps += u64::from(
                self.interval
                    .is_some_and(|interval| apart > GAP_INTERVALS * interval as f64),
            );
        }
        self.last_kept = Some((when, stamp));
    }

    fn turn_states(&mut self) {
        for value in &mut self.values {
            *value = 1.0 - *value;
        }
    }

    fn piece(
        self,
        point: usize,
        progress: PointProgress,
        remarks: Vec<String>,
        rows: usize,
    ) -> Piece {
        Piece {
            point,
            stamps: self.stamps,
            values: self.values,
            counts: self.counts,
            gaps: self.gaps,
            progress,
            remarks,
            records: rows as u64,
            out_of_order: self.arrivals.judge(self.interval),
        }
    }
}

pub(super) fn is_out_of_order(sample: &HistorySample) -> bool {
    sample.trend_flags.iter().any(|flag| flag == FLAG)
}
