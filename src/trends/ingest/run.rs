//! Reads what a plan names, several histories at a time, and stores it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};

use super::IngestError;
use super::plan::{IngestPlan, PlannedPoint, refusal};
use super::progress_state::{Points, ProgressFile};
use super::reading::{HistoryReader, Piece, ReadProblem};
use super::report::IngestReport;
use crate::station::facade::StationFacade;
use crate::station::http::CallScope;
use crate::trends::store::lock::wait_from_environment;
use crate::trends::store::{
    EquipmentRows, FacilityId, Registration, RoleColumn, StagedFacility, StoreError, TrendStore,
};

/// Samples after which an append is made: a few parts of a large building, and not much memory.
const BATCH: usize = 1_000_000;

/// Moments of an ingest at which a kill must be survived, told to the observer just after each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IngestStep {
    /// Parts are complete and out of sight.
    Staged,
    /// What they will bring is noted.
    Noted,
    /// They are in place.
    Appended,
    /// That is noted.
    Finished,
    /// The progress of what is going to be replaced is forgotten.
    Forgotten,
    /// The new content is in place.
    Replaced,
}

impl IngestStep {
    /// All steps.
    pub const ALL: [Self; 6] = [
        Self::Staged,
        Self::Noted,
        Self::Appended,
        Self::Finished,
        Self::Forgotten,
        Self::Replaced,
    ];
}

/// How far a running ingest is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IngestProgress {
    /// Histories that were read to their end.
    pub histories: usize,
    pub of: usize,
    /// Samples that were read.
    pub samples: u64,
    pub elapsed: Duration,
}

/// How an ingest goes about its work.
#[derive(Clone)]
pub struct IngestOptions {
    /// Histories that are read at a time.
    pub parallel: usize,
    /// Samples after which those that were read are stored.
    pub batch: usize,
    pub on_progress: Arc<dyn Fn(IngestProgress) + Send + Sync>,
    pub on_step: Arc<dyn Fn(IngestStep) + Send + Sync>,
}

impl Default for IngestOptions {
    /// Four at a time, as many as a station is asked at once (design, "Limits").
    fn default() -> Self {
        Self {
            parallel: 4,
            batch: BATCH,
            on_progress: Arc::new(|_| {}),
            on_step: Arc::new(|_| {}),
        }
    }
}

/// Carries out a plan.
///
/// A history that cannot be read is told in the report; the others go on. When the station is gone or the caller gives up,
/// what was read is stored first.
///
/// # Errors
/// The store cannot be written, or the station cannot be read at all.
pub async fn ingest(
    station: &StationFacade,
    scope: &CallScope,
    store: &Arc<TrendStore>,
    mut plan: IngestPlan,
    options: &IngestOptions,
) -> Result<IngestReport, IngestError> {
    let begun = Instant::now();
    let mut report = IngestReport::of(&plan);
    let target = match plan.force {
        true => Target::Replacement(Box::new(store.stage_facility(&plan.facility)?)),
        false => Target::Append,
    };
    let keeper = Keeper {
        store: store.clone(),
        facility: plan.facility.clone(),
        station_name: plan.station_name.clone(),
        zone: plan.clock.zone().name().to_owned(),
        file: plan.progress.clone(),
        target,
        replaced: Points::new(),
        accept_less: plan.accept_less,
        registers: !plan.points.is_empty(),
        on_step: options.on_step.clone(),
    };
    let points = std::mem::take(&mut plan.points);
    let reader = HistoryReader {
        station,
        scope,
        clock: plan.clock,
        now: plan.now,
    };
    let (send, receive) = mpsc::channel(options.parallel.max(1) * 2);
    let done = AtomicUsize::new(0);
    // Boxed: the compiler's limit on nested futures is near here.
    let reading: BoxFuture<'_, _> =
        Box::pin(read_all(&points, reader, send, options.parallel, &done));
    let storing: BoxFuture<'_, _> = Box::pin(store_all(
        &points,
        keeper,
        receive,
        options,
        &done,
        begun,
        &mut report,
    ));
    let (problems, stored) = tokio::join!(reading, storing);
    let keeper = stored?;
    let hopeless = problems.iter().find(|(_, problem)| problem.is_hopeless());
    let failed = match hopeless {
        Some((_, ReadProblem::Station(error))) => Some(error.clone()),
        _ => None,
    };
    if let Some(error) = failed {
        if plan.force {
            // What was read has replaced nothing.
            return Err(error.into());
        }
        return Err(IngestError::Stopped {
            error,
            samples: report.counts.kept,
        });
    }
    for (number, problem) in problems {
        if let Some(point) = points.get(number) {
            report
                .refused
                .push(refusal(&point.mapped, problem.to_string()));
        }
    }
    if plan.force && !report.refused_while_reading().is_empty() {
        return Err(IngestError::Incomplete {
            histories: report.refused_while_reading().len(),
            first: report
                .refused_while_reading()
                .first()
                .map_or_else(String::new, |refused| refused.reason.clone()),
        });
    }
    report.in_place_of = ended(tokio::task::spawn_blocking(move || keeper.close()).await)?;
    report.finish(begun.elapsed());
    Ok(report)
}

/// Reads all points that miss something; the problems of those that failed.
async fn read_all(
    points: &[PlannedPoint],
    reader: HistoryReader<'_>,
    send: mpsc::Sender<Piece>,
    parallel: usize,
    done: &AtomicUsize,
) -> Vec<(usize, ReadProblem)> {
    let send = &send;
    let mut outcomes = futures::stream::iter(0..points.len())
        .map(|number| async move {
            let outcome = match points.get(number) {
                Some(point) if !point.missing.is_empty() => reader.read(number, point, send).await,
                _ => Ok(()),
            };
            done.fetch_add(1, Ordering::Relaxed);
            outcome.err().map(|problem| (number, problem))
        })
        .buffer_unordered(parallel.max(1));
    let mut problems = Vec::new();
    while let Some(outcome) = outcomes.next().await {
        let Some(problem) = outcome else { continue };
        let hopeless = problem.1.is_hopeless();
        problems.push(problem);
        if hopeless {
            break;
        }
    }
    problems
}

/// Stores pieces as they come, in batches; the next batch fills while one is written.
async fn store_all(
    points: &[PlannedPoint],
    keeper: Keeper,
    mut receive: mpsc::Receiver<Piece>,
    options: &IngestOptions,
    done: &AtomicUsize,
    begun: Instant,
    report: &mut IngestReport,
) -> Result<Keeper, IngestError> {
    let mut batch = Batch::default();
    let mut desk = Desk::Idle(Box::new(keeper));
    loop {
        let piece = tokio::select! {
            // A store that cannot be written ends the reading at once.
            outcome = desk.written(), if desk.is_busy() => {
                let (keeper, parts) = outcome?;
                report.parts += parts;
                desk = Desk::Idle(Box::new(keeper));
                continue;
            }
            piece = receive.recv() => match piece {
                Some(piece) => piece,
                None => break,
            },
        };
        let Some(point) = points.get(piece.point) else {
            continue;
        };
        report.take(point, &piece);
        batch.add(point, piece);
        (options.on_progress)(IngestProgress {
            histories: done.load(Ordering::Relaxed),
            of: points.len(),
            samples: report.counts.kept,
            elapsed: begun.elapsed(),
        });
        if batch.samples >= options.batch {
            let (keeper, parts) = desk.free().await?;
            report.parts += parts;
            desk = Desk::Busy(keep(keeper, std::mem::take(&mut batch)));
        }
    }
    let (keeper, parts) = desk.free().await?;
    report.parts += parts;
    desk = Desk::Busy(keep(keeper, batch));
    let (keeper, parts) = desk.free().await?;
    report.parts += parts;
    (options.on_progress)(IngestProgress {
        histories: points.len(),
        of: points.len(),
        samples: report.counts.kept,
        elapsed: begun.elapsed(),
    });
    Ok(keeper)
}

/// Samples that are stored together, with the progress that they mean.
#[derive(Default)]
struct Batch {
    rows: BTreeMap<String, EquipmentRows>,
    points: Points,
    samples: usize,
}

impl Batch {
    fn add(&mut self, point: &PlannedPoint, piece: Piece) {
        let (equip, role) = (&point.mapped.equip, &point.mapped.role.role);
        self.samples += piece.stamps.len();
        self.points
            .entry(equip.clone())
            .or_default()
            .insert(role.clone(), piece.progress);
        if piece.stamps.is_empty() {
            return;
        }
        let rows = self
            .rows
            .entry(equip.clone())
            .or_insert_with(|| EquipmentRows {
                equip: equip.clone(),
                equip_class: point.mapped.equip_class.to_owned(),
                columns: Vec::new(),
            });
        match rows.columns.iter_mut().find(|column| column.role == *role) {
            Some(column) => {
                column.stamps.extend(piece.stamps);
                column.values.extend(piece.values);
            }
            None => rows.columns.push(RoleColumn {
                role: role.clone(),
                stamps: piece.stamps,
                values: piece.values,
            }),
        }
    }
}

enum Target {
    Append,
    Replacement(Box<StagedFacility>),
}

/// Puts batches into the store and notes the progress.
struct Keeper {
    store: Arc<TrendStore>,
    facility: FacilityId,
    station_name: String,
    zone: String,
    file: ProgressFile,
    target: Target,
    /// Progress of a replacement, noted when it is in place.
    replaced: Points,
    accept_less: bool,
    /// Whether there is anything of which samples may come: the station may be another one than was meant, and an id that
    /// is registered once can only be removed for good.
    registers: bool,
    on_step: Arc<dyn Fn(IngestStep) + Send + Sync>,
}

/// A batch that is written, and in how many parts.
type Written = JoinHandle<Result<(Keeper, usize), IngestError>>;

/// Where batches are written, one at a time.
enum Desk {
    Idle(Box<Keeper>),
    Busy(Written),
}

impl Desk {
    fn is_busy(&self) -> bool {
        matches!(self, Self::Busy(_))
    }

    /// Waits for the batch that is written now; for ever when there is none.
    async fn written(&mut self) -> Result<(Keeper, usize), IngestError> {
        match self {
            Self::Idle(_) => std::future::pending().await,
            Self::Busy(written) => ended(written.await),
        }
    }

    /// The keeper, once nothing is written any longer, and the parts that this took.
    async fn free(self) -> Result<(Keeper, usize), IngestError> {
        match self {
            Self::Idle(keeper) => Ok((*keeper, 0)),
            Self::Busy(written) => ended(written.await),
        }
    }
}

fn keep(mut keeper: Keeper, batch: Batch) -> Written {
    tokio::task::spawn_blocking(move || {
        let parts = keeper.keep(batch)?;
        Ok((keeper, parts))
    })
}

fn ended<T>(outcome: Result<Result<T, IngestError>, JoinError>) -> Result<T, IngestError> {
    outcome.map_err(|error| IngestError::Ended(error.to_string()))?
}

impl Keeper {
    fn keep(&mut self, batch: Batch) -> Result<usize, IngestError> {
        let rows: Vec<EquipmentRows> = batch.rows.into_values().collect();
        if batch.points.is_empty() {
            return Ok(0);
        }
        if let Target::Replacement(staged) = &mut self.target {
            let before = staged.parts();
            staged.add(&rows)?;
            for (equip, roles) in batch.points {
                self.replaced.entry(equip).or_default().extend(roles);
            }
            return Ok(staged.parts() - before);
        }
        let registration = self.registration();
        let mut writer = self.store.writer(wait_from_environment())?;
        self.file.check_unchanged()?;
        let staged = writer.stage_append(&self.facility, &rows)?;
        (self.on_step)(IngestStep::Staged);
        self.file.begin(&self.store, &rows, batch.points)?;
        (self.on_step)(IngestStep::Noted);
        let report = staged.commit(Some(&registration))?;
        (self.on_step)(IngestStep::Appended);
        self.file.finish()?;
        (self.on_step)(IngestStep::Finished);
        Ok(report.parts.len())
    }

    /// Swaps a replacement in, and writes the catalogue so that readers need not look into parts. Returns how many samples
    /// were replaced.
    fn close(mut self) -> Result<Option<u64>, IngestError> {
        let registration = self.registration();
        let mut writer = self.store.writer(wait_from_environment())?;
        let mut in_place_of = None;
        if let Target::Replacement(staged) = std::mem::replace(&mut self.target, Target::Append) {
            self.file.check_unchanged()?;
            let stored = self.stored()?;
            if staged.rows() < stored && !self.accept_less {
                return Err(IngestError::Less {
                    facility: self.facility,
                    stored,
                    read: staged.rows(),
                });
            }
            in_place_of = Some(stored);
            self.file.forget()?;
            (self.on_step)(IngestStep::Forgotten);
            staged.commit(&mut writer, Some(&registration))?;
            (self.on_step)(IngestStep::Replaced);
            self.file.replace(std::mem::take(&mut self.replaced))?;
        } else if self.registers {
            writer.register(&self.facility, &registration)?;
        }
        writer.offer_catalogue()?;
        Ok(in_place_of)
    }

    /// Samples that are stored now and can be read.
    fn stored(&self) -> Result<u64, StoreError> {
        match self.store.view(&self.facility) {
            Ok(view) => Ok(view.readable_rows()),
            // Nothing, or a folder that cannot even be listed: there is nothing to lose.
            Err(StoreError::NoData(_) | StoreError::Damaged { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// An entry keeps its own name: a station that is renamed stays the same facility.
    fn registration(&self) -> Registration {
        let registry = self.store.registry();
        let entry = registry.entry(self.facility.as_str());
        let name = match entry {
            Some(_) => None,
            None => Some(self.station_name.as_str()),
        };
        let zone = match entry.and_then(|entry| entry.time_zone(|_| None)) {
            Some(_) => None,
            None => Some(self.zone.as_str()),
        };
        Registration::active(name, zone)
    }
}
