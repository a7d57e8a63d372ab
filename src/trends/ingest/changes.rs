//! Reads a history that records the changes of a state: each holds until the next, and of every bin the share is stored in
//! which the state was on (Store §11).
//!
//! Only complete bins are stored, so a bin is never stored twice and never has to be corrected. The state in which a
//! stretch begins is that of the last record before it; for the stretch that goes on from the last run this is the newest
//! record of that run, which is read once more.

use tokio::sync::mpsc::Sender;

use super::covered::{Millis, Stretch};
use super::out_of_order::Arrivals;
use super::plan::{HeldRule, PlannedPoint};
use super::progress_state::PointProgress;
use super::reading::{
    HistoryReader, Piece, ReadProblem, Tally, check_states, is_out_of_order, lost_remark,
    shows_opposites,
};
use super::sample_rule::{DropReason, SampleCounts, SampleRule};
use crate::station::facade::{HistorySample, SampleValue};
use crate::trends::duty::StateDuty;

/// How far the last record before a stretch is looked for at first.
const FIRST_LOOK: Millis = 32 * 86_400_000;

/// No station has records before 1980.
const OLDEST: Millis = 315_532_800_000;

/// One record.
#[derive(Debug, Clone, Copy)]
struct Change {
    when: Millis,
    /// The state, or why there is none.
    state: Result<f64, DropReason>,
    without_status: bool,
    out_of_order: bool,
}

impl Change {
    /// The state from here on; the outer none for a record that tells nothing about it.
    fn state(self) -> Option<Option<f64>> {
        match self.state {
            Ok(state) => Some(Some(state)),
            Err(reason) if reason.ends_state() => Some(None),
            Err(_) => None,
        }
    }
}

/// Takes records one by one.
struct ChangeTaker<'a> {
    rule: &'a SampleRule,
    tally: Tally,
    changes: Vec<Change>,
    no_state: Option<(Millis, f64)>,
}

impl<'a> ChangeTaker<'a> {
    fn new(rule: &'a SampleRule, from: Millis, seen: u64) -> Self {
        Self {
            rule,
            tally: Tally::new(from, seen),
            changes: Vec::new(),
            no_state: None,
        }
    }

    fn take(&mut self, sample: &HistorySample) {
        let when = sample.timestamp.timestamp_millis();
        if !self.tally.visit(when) {
            return;
        }
        let state = self.rule.number(sample);
        if let (Err(DropReason::NoState), SampleValue::Number(number)) = (&state, &sample.value) {
            self.no_state.get_or_insert((when, *number));
        }
        self.changes.push(Change {
            when,
            state,
            without_status: sample.status.is_none(),
            out_of_order: is_out_of_order(sample),
        });
    }

    fn turn_states(&mut self) {
        for change in &mut self.changes {
            change.state = change.state.map(|state| 1.0 - state);
        }
    }
}

/// The newest record and how many there are at its instant.
type Newest = (Millis, u64);

fn newest_of(changes: &[Change]) -> Option<Newest> {
    let when = changes.last()?.when;
    let at_once = changes
        .iter()
        .rev()
        .take_while(|change| change.when == when);
    Some((when, at_once.count() as u64))
}

/// What was before a stretch.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    state: Option<f64>,
    newest: Option<Newest>,
}

/// Where the reading of a stretch begins.
struct Begin {
    from: Millis,
    state: Option<f64>,
    /// The newest record of the last run, which must be there still.
    expected: Option<Newest>,
}

impl HistoryReader<'_> {
    /// As [`HistoryReader::read`] for changes of a state.
    pub(super) async fn read_changes(
        &self,
        number: usize,
        point: &PlannedPoint,
        held: &HeldRule,
        pieces: &Sender<Piece>,
    ) -> Result<(), ReadProblem> {
        let mut progress = point.progress.clone();
        let mut remarks: Vec<String> = point.renamed_remark().into_iter().collect();
        let renamed = !remarks.is_empty();
        if let Some(id) = point.found.source.history_id() {
            id.clone_into(&mut progress.history);
        }
        for stretch in &point.missing {
            let last_covered = progress.covered.last();
            let is_newest = last_covered.is_none_or(|last| last < stretch.from);
            let begin = self
                .begin_of(point, held, *stretch, &mut progress, renamed)
                .await?;
            let mut stretch = StretchReading {
                stretch: *stretch,
                is_newest,
                held,
                duty: StateDuty::new(
                    held.bins,
                    &point.mapped.role.role,
                    stretch.from,
                    begin.state,
                ),
                waiting: Vec::new(),
            };
            self.read_stretch(
                number,
                point,
                &mut stretch,
                begin,
                (&mut progress, &mut remarks),
                pieces,
            )
            .await?;
        }
        Ok(())
    }

    async fn begin_of(
        &self,
        point: &PlannedPoint,
        held: &HeldRule,
        stretch: Stretch,
        progress: &mut PointProgress,
        renamed: bool,
    ) -> Result<Begin, ReadProblem> {
        let last_covered = progress.covered.last();
        let goes_on = last_covered
            .is_some_and(|last| last < stretch.from && held.bins.at(last).end >= stretch.from);
        if let (Some(last), Some(count)) = (progress.last, progress.at_last)
            && goes_on
            && !renamed
        {
            return Ok(Begin {
                from: last,
                state: None,
                expected: Some((last, count)),
            });
        }
        let before = self.last_before(point, stretch.from).await?;
        if let Some((when, count)) = before.newest
            && last_covered.is_none_or(|last| last < stretch.from)
        {
            (progress.last, progress.at_last) = (Some(when), Some(count));
        }
        Ok(Begin {
            from: stretch.from,
            state: before.state,
            expected: None,
        })
    }

    async fn read_stretch(
        &self,
        number: usize,
        point: &PlannedPoint,
        reading: &mut StretchReading<'_>,
        begin: Begin,
        (progress, remarks): (&mut PointProgress, &mut Vec<String>),
        pieces: &Sender<Piece>,
    ) -> Result<(), ReadProblem> {
        let (mut from, mut seen, mut expected) = (begin.from, 0, begin.expected);
        loop {
            let mut taker = ChangeTaker::new(&point.rule, from, seen);
            let mut take = |sample: HistorySample| taker.take(&sample);
            let read = self
                .records(point, from, reading.stretch.to, &mut take)
                .await?;
            self.check(point, &read)?;
            check_states(point, taker.no_state)?;
            if shows_opposites(point, &read) {
                taker.turn_states();
            }
            if progress.history.is_empty() {
                read.history_id.clone_into(&mut progress.history);
            }
            if let Some((last, count)) = expected.take()
                && let Some(remark) = taker.tally.restart_remark(last, count, point)
            {
                remarks.push(remark);
                (progress.last, progress.at_last) = (None, None);
            }
            remarks.extend(lost_remark(&read));
            remarks.extend(taker.tally.capacity_remark(point));
            let next = self.next_of(&read, from, seen)?;
            reading.take(taker.changes);
            let known_until = next.map_or_else(|| reading.known_until(), |(next, _)| next);
            let piece = Piece {
                point: number,
                remarks: std::mem::take(remarks),
                records: read.rows as u64,
                ..reading.piece(known_until, progress)
            };
            pieces
                .send(piece)
                .await
                .map_err(|_| ReadProblem::NotTaken)?;
            match next {
                Some((next, repeats)) => (from, seen) = (next, repeats),
                None => return Ok(()),
            }
        }
    }

    /// The state at an instant, by the last record before it: looked for in the last weeks, then in all time.
    async fn last_before(
        &self,
        point: &PlannedPoint,
        instant: Millis,
    ) -> Result<Before, ReadProblem> {
        let near = instant.saturating_sub(FIRST_LOOK).max(OLDEST);
        let mut before = Before::default();
        for (begin, end) in [(near, instant - 1), (OLDEST, near - 1)] {
            let (mut from, mut seen) = (begin, 0);
            let mut is_told = false;
            while from <= end {
                let mut taker = ChangeTaker::new(&point.rule, from, seen);
                let mut take = |sample: HistorySample| taker.take(&sample);
                let read = self.records(point, from, end, &mut take).await?;
                self.check(point, &read)?;
                check_states(point, taker.no_state)?;
                if shows_opposites(point, &read) {
                    taker.turn_states();
                }
                if let Some(state) = taker.changes.iter().rev().find_map(|change| change.state()) {
                    before.state = state;
                    is_told = true;
                }
                match self.next_of(&read, from, seen)? {
                    Some((next, repeats)) => (from, seen) = (next, repeats),
                    None => {
                        before.newest = before.newest.or(taker.tally.newest);
                        break;
                    }
                }
            }
            if is_told {
                break;
            }
        }
        Ok(before)
    }
}

/// A stretch that is being read.
struct StretchReading<'a> {
    stretch: Stretch,
    /// Nothing later was read before.
    is_newest: bool,
    held: &'a HeldRule,
    duty: StateDuty,
    /// Records of bins that are not complete.
    waiting: Vec<Change>,
}

impl StretchReading<'_> {
    fn take(&mut self, changes: Vec<Change>) {
        for change in &changes {
            let Some(state) = change.state() else {
                continue;
            };
            if change.when < self.stretch.from {
                self.duty.begin_with(state);
            } else {
                self.duty.change(change.when, state);
            }
        }
        self.waiting.extend(changes);
    }

    /// Until when the records tell the state, once all of the stretch were read.
    fn known_until(&self) -> Millis {
        let end = self.stretch.to.saturating_add(1);
        if !(self.held.imported && self.is_newest) {
            return end;
        }
        let newest = self.waiting.last().map(|change| change.when);
        newest.map_or(self.stretch.from, |newest| newest.min(end))
    }

    /// The bins that are complete, with the progress that storing them means.
    fn piece(&mut self, known_until: Millis, progress: &mut PointProgress) -> Piece {
        self.duty.advance(known_until);
        let settled = self.duty.settled();
        let done = self.waiting.partition_point(|change| change.when < settled);
        let done: Vec<Change> = self.waiting.drain(..done).collect();
        if self.is_newest
            && let Some((when, count)) = newest_of(&done)
        {
            (progress.last, progress.at_last) = (Some(when), Some(count));
        }
        if let Some(read) = Stretch::new(self.stretch.from, settled - 1) {
            progress.add(read);
        }
        let mut counts = SampleCounts::default();
        let mut arrivals = Arrivals::default();
        for change in &done {
            if change.when < self.stretch.from {
                continue;
            }
            arrivals.add(change.when, change.out_of_order);
            match change.state {
                Ok(_) => {
                    counts.without_status += u64::from(change.without_status);
                    counts.out_of_order += u64::from(change.out_of_order);
                }
                Err(reason) => counts.drop(reason),
            }
        }
        let stamps = std::mem::take(&mut self.duty.stamps);
        counts.kept = stamps.len() as u64;
        Piece {
            stamps,
            values: std::mem::take(&mut self.duty.values),
            counts,
            progress: progress.clone(),
            out_of_order: arrivals.judge(None),
            ..Piece::default()
        }
    }
}
