//! What tools call: operations on a station, routed to the interface that answers best (Tool surface §13.5).
//!
//! - [`StationFacade`]: one per identity; what it has learned of the station, and how it falls back.
//! - [`components`], [`points`], [`search`]: the component tree, single points, components by type.
//! - [`history`], [`history_reading`], [`sample`], [`aggregate`]: records of histories and their summaries.
//! - [`alarms`], [`alarm_record`], [`alarm_selection`]: alarm records; [`alarm_ack`]: acknowledging them.
//! - [`changes`]: watched points as a stream of changes.
//! - [`identity`]: name, version, time zone, and which interfaces this identity can use ([`interfaces`]).
//! - [`rows`]: queries as CSV or BOX tables; [`bounded_query`]: a caller's own query.
//! - [`operation_routes`]: which interface answers which kind of operation; [`fox_port`]: the Fox port beside them.
//! - [`obix_routes`], [`obix_records`]: what oBIX answers where the others are not offered.
//! - [`probe_routes`]: what oBIX and BQL tell of an ord where BOX is not offered.
//! - [`histories`], [`schedules`], [`schedule_program`] ([`schedule_part`], [`schedule_hiding`]): lists of histories and schedules, the program of a schedule.
//! - [`schedule_write`] ([`schedule_write_plan`]): changing a program; [`schedule_write_periods`], [`schedule_write_days`]:
//!   periods and special days; [`schedule_picture`]: what a program says about a time.
//! - [`scan`]: every component of a type, one by one; [`ord_check`]: whether many ords lead to something.
//! - [`overrides`]: points in override, a page ([`list_page`]) of them.
//! - [`point_list`]: all points below a component with type, facets and output.
//! - [`user_tags`]: token digests that a station keeps of its users.
//! - [`slot_text`]: texts of slots that hold their defaults; [`status_reading`]: values with their status.
//! - [`obix_search`]: a search through the tree over oBIX.
//! - [`write_plan`]: what a command is going to send; [`write_point`] ([`write_obix`]), [`write_slot`], [`write_action`]: commands of points, slots, actions and saving, each one message
//!   to the station; [`write_value`]: what callers give as values; [`write_target`]: what is known of the target before;
//!   [`write_error`]: refused, or in doubt.
//! - [`structure`], [`structure_removal`] ([`structure_survey`], [`structure_lost`]), [`links`] ([`links_converters`]): components, extensions and links
//!   that come and go; [`structure_error`]: why they did not.
//! - [`view`]: the facts that operations return; [`error`]: what can go wrong.

mod aggregate;
mod alarm_ack;
mod alarm_record;
mod alarm_selection;
mod alarms;
mod bounded_query;
mod changes;
mod components;
mod described_points;
mod error;
mod fox_port;
mod histories;
mod history;
mod history_reading;
mod identity;
mod interfaces;
mod links;
mod links_converters;
mod list_page;
mod obix_records;
mod obix_routes;
mod obix_search;
mod operation_routes;
mod ord_check;
mod overrides;
mod point_list;
mod points;
mod probe_routes;
mod rows;
mod sample;
mod scan;
mod schedule_hiding;
mod schedule_part;
mod schedule_picture;
mod schedule_program;
mod schedule_write;
mod schedule_write_days;
mod schedule_write_periods;
mod schedule_write_plan;
mod schedules;
mod search;
mod slot_text;
mod status_reading;
mod structure;
mod structure_error;
mod structure_lost;
mod structure_removal;
mod structure_survey;
mod tags;
mod user_tags;
mod view;
mod write_action;
mod write_error;
mod write_obix;
mod write_plan;
mod write_point;
mod write_slot;
mod write_target;
mod write_value;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use futures::FutureExt;

pub use aggregate::{Aggregator, Bucket, Excluded, Summary};
pub use alarm_ack::{
    AckEnding, AckList, AckRoute, AlarmAck, AlarmChoice, AlarmChoiceError, MOST_ACKNOWLEDGED,
};
pub use alarms::{AlarmFilter, AlarmOrder, AlarmRequest};
pub use bounded_query::bound_query;
pub use changes::{
    Change, ChangePacing, ChangeRoute, MAX_WATCHED_POINTS, PointOutput, Subscription,
};
pub use described_points::{DescribedPoint, DescribedPoints};
pub use error::{FacadeError, FacadeResult};
pub use fox_port::FoxState;
pub use histories::{HistoryExtent, HistoryFilter, ListedHistory};
pub use history::{HISTORY_SCAN_LIMIT, HistoryRead, HistoryRequest, HistorySpan};
pub use identity::{InterfaceState, ServiceState, StationReport, ZoneSource};
pub use interfaces::Interface;
pub use links::{LinkPlan, LinkState, MadeLink, NewLink, RemovedLink};
pub use list_page::{ListPage, PageRequest};
pub use operation_routes::OperationRoute;
pub use ord_check::OrdState;
pub use overrides::{OverrideOrigin, PointOverride};
pub use point_list::ListedPoint;
pub use sample::{HistorySample, SampleKind, SampleValue, parse_trend_flags};
pub use scan::{ListedComponent, Scan, ScannedComponent};
pub use schedule_picture::{DayPicture, EventPicture, SchedulePicture, Scheduled, ScheduledBy};
pub use schedule_program::{DayProgram, Effective, Period, RawPart, ScheduleProgram, SpecialEvent};
pub use schedule_write::{ScheduleEditError, ScheduleOutcome, SchedulePlan, same_program};
pub use schedule_write_days::{DatePattern, DayRule, EventDays};
pub use schedule_write_periods::{SchedulePeriod, TimeOfDay};
pub use schedule_write_plan::{EventGiven, PeriodGiven, ScheduleEdit};
pub use schedules::ListedSchedule;
pub use status_reading::StatusReading;
pub use structure::{CreatedSlot, NameStrategy, NewSlot};
pub use structure_error::{RefusedEnds, StructureError, StructureResult};
pub use structure_lost::{CutEnd, LostLink, LostLinks};
pub use structure_removal::{Removable, RemovalPlan, RemovedComponent};
pub use structure_survey::{CutLinks, RemovalSurvey};
pub use tags::{DirectTag, MAX_TAGGED, TagValue, TaggedComponent, TaggedComponents};
pub use user_tags::{UserTokenTag, UserTokenTags};
pub use view::*;
pub use write_action::{ActionPlan, ActionResult, StationSaved};
pub use write_error::{Holding, LinkedFrom, Reread, WriteError, WriteResult};
pub use write_plan::PointPlan;
pub use write_point::{PointCommand, PointObserved, PointOrder, WriteRoute};
pub use write_slot::{SlotChange, SlotPlan, Untouched};
pub use write_value::Given;

use self::changes::ChangeHub;
use self::fox_port::FoxPort;
use self::history::HistorySource;
use self::history_reading::HistoryColumns;
use self::interfaces::Interfaces;
use self::overrides::StatusFilter;
use crate::clock::SharedClock;
use crate::station::boxp::{BoxClient, TypeCache};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::obix::ObixClient;
use crate::station::web::WebSession;
use crate::station::web::bql::Bql;
use crate::station::web::cell::{CellFormat, DecimalSign};

/// How long the history of an extension is remembered (Tool surface §13.5.3).
const EXTENSION_CACHE: Duration = Duration::from_secs(600);

/// Most extensions remembered at a time.
const EXTENSION_CACHE_SIZE: usize = 10_000;

/// Time for giving up watch and BOX session; the logout, which frees the most, keeps its own.
const FREEING: Duration = Duration::from_millis(4500);

/// How long a time zone that nobody told is assumed before the station is asked again.
const ASSUMED_ZONE: Duration = Duration::from_secs(600);

/// One station as one identity sees it.
#[derive(Debug)]
pub struct StationFacade {
    bql: Bql,
    boxp: BoxClient,
    obix: ObixClient,
    clock: SharedClock,
    configured_zone: Option<Tz>,
    interfaces: Interfaces,
    prefers_tables: AtomicBool,
    /// The station was gone: it may come back with other interfaces.
    was_unreachable: AtomicBool,
    learned: Mutex<Learned>,
    /// Held while the zone is found out, so that callers who come together ask once.
    zone_search: tokio::sync::Mutex<()>,
    /// The same for the display format.
    format_search: tokio::sync::Mutex<()>,
    changes: Arc<ChangeHub>,
    fox: Option<FoxPort>,
}

/// What was found out about the station.
#[derive(Debug, Default)]
struct Learned {
    history_columns: HistoryColumns,
    extensions: HashMap<String, (HistorySource, Duration)>,
    zone: Option<(Tz, ZoneSource, Duration)>,
    display: Option<(DecimalSign, Option<String>)>,
    status_filter: Option<StatusFilter>,
}

impl StationFacade {
    /// A facade over an identity's session; nothing is sent before the first operation.
    ///
    /// `types` is shared by all identities of a station; `configured_zone` overrides what the station tells.
    pub fn new(session: WebSession, types: Arc<TypeCache>, configured_zone: Option<Tz>) -> Self {
        Self {
            clock: session.clock().clone(),
            bql: Bql::new(session.clone()),
            boxp: BoxClient::new(session.clone(), types),
            obix: ObixClient::new(session),
            configured_zone,
            interfaces: Interfaces::default(),
            prefers_tables: AtomicBool::new(false),
            was_unreachable: AtomicBool::new(false),
            learned: Mutex::default(),
            zone_search: tokio::sync::Mutex::default(),
            format_search: tokio::sync::Mutex::default(),
            changes: Arc::new(ChangeHub::new(ChangePacing::default())),
            fox: None,
        }
    }

    /// Scheme, host and port of the station.
    pub fn station(&self) -> String {
        self.web().station()
    }

    /// The session that all interfaces share.
    pub fn web(&self) -> &WebSession {
        self.bql.session()
    }

    /// Wall time of the bridge.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Gives up the station's resources: the watch, the BOX server session and the login. Subscriptions end.
    pub async fn close(&self) {
        let end = tokio::time::Instant::now() + FREEING;
        for (what, freed) in [
            ("the watch", self.changes.shut_down().boxed()),
            ("the BOX server session", self.boxp.close().boxed()),
        ] {
            if tokio::time::timeout_at(end, freed).await.is_err() {
                tracing::warn!(
                    station = %self.station(),
                    "{what} stays behind at the station, which was too slow to end it; it ends by its lease"
                );
            }
        }
        self.web().close().await;
    }

    fn bql(&self) -> &Bql {
        &self.bql
    }

    fn boxp(&self) -> &BoxClient {
        &self.boxp
    }

    fn obix(&self) -> &ObixClient {
        &self.obix
    }

    /// Runs work over an interface unless it is known to be missing, and learns from the outcome.
    async fn over<T>(
        &self,
        interface: Interface,
        work: impl Future<Output = FacadeResult<T>>,
    ) -> FacadeResult<T> {
        if let Some(error) = self.interfaces.missing(interface, self.clock.monotonic()) {
            return Err(error);
        }
        let outcome = work.await;
        self.interfaces
            .note(interface, &outcome, self.clock.monotonic());
        match &outcome {
            Err(FacadeError::Station(
                StationError::Unreachable { .. } | StationError::Cut { .. },
            )) => {
                self.was_unreachable.store(true, Ordering::Relaxed);
            }
            Ok(_) if self.was_unreachable.swap(false, Ordering::Relaxed) => self.forget(),
            _ => {}
        }
        outcome
    }

    /// Forgets what was learned of the station, so that the next operations find out anew; types stay, since they
    /// belong to the station's version for the life of the process.
    pub fn forget(&self) {
        tracing::info!(station = %self.station(), "what was learned of the station is found out anew");
        self.interfaces.station_is_back();
        self.bql.forget();
        self.obix.forget();
        self.changes.station_is_back();
        self.prefers_tables.store(false, Ordering::Relaxed);
        self.learned(|learned| *learned = Learned::default());
    }

    fn learned<T>(&self, read: impl FnOnce(&mut Learned) -> T) -> T {
        read(&mut self.learned.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn history_columns(&self) -> HistoryColumns {
        self.learned(|learned| learned.history_columns)
    }

    fn set_history_columns(&self, columns: HistoryColumns) {
        self.learned(|learned| learned.history_columns = columns);
    }

    fn cached_extension(&self, path: &str) -> Option<HistorySource> {
        let now = self.clock.monotonic();
        self.learned(|learned| {
            learned
                .extensions
                .get(path)
                .filter(|(_, until)| now < *until)
                .map(|(source, _)| source.clone())
        })
    }

    fn remember_extension(&self, path: String, source: HistorySource) {
        let now = self.clock.monotonic();
        self.learned(|learned| {
            if learned.extensions.len() >= EXTENSION_CACHE_SIZE {
                learned.extensions.retain(|_, (_, until)| now < *until);
            }
            if learned.extensions.len() < EXTENSION_CACHE_SIZE {
                learned
                    .extensions
                    .insert(path, (source, now + EXTENSION_CACHE));
            }
        });
    }

    fn known_zone(&self) -> Option<(Tz, ZoneSource)> {
        if let Some(zone) = self.configured_zone {
            return Some((zone, ZoneSource::Configuration));
        }
        let now = self.clock.monotonic();
        self.learned(|learned| learned.zone)
            .filter(|(_, source, since)| {
                *source != ZoneSource::Assumed || now < *since + ASSUMED_ZONE
            })
            .map(|(zone, source, _)| (zone, source))
    }

    fn known_zone_or_utc(&self) -> Tz {
        self.known_zone().map_or(Tz::UTC, |(zone, _)| zone)
    }

    fn remember_zone(&self, (zone, source): (Tz, ZoneSource)) {
        let now = self.clock.monotonic();
        self.learned(|learned| learned.zone = Some((zone, source, now)));
    }

    /// How the account writes numbers and times, asked once: BOX user properties, else English.
    async fn display_format(&self, scope: &CallScope) -> CellFormat {
        let zone = self.known_zone_or_utc();
        let known = || self.learned(|learned| learned.display.clone());
        let (decimal, time_format) = match known() {
            Some(known) => known,
            None => {
                let turn = async { Ok(self.format_search.lock().await) };
                let _only = scope.run("the display format", turn).await.ok();
                if let Some((decimal, time_format)) = known() {
                    return display_cells(zone, decimal, time_format);
                }
                let asked = self
                    .over_box(async { Ok(self.boxp.user_properties(scope).await?) })
                    .await;
                match asked {
                    Ok(properties) => {
                        let decimal = properties
                            .language
                            .as_deref()
                            .map(DecimalSign::of_language)
                            .unwrap_or_default();
                        let known = (decimal, properties.time_format);
                        self.learned(|learned| learned.display = Some(known.clone()));
                        known
                    }
                    Err(error) => {
                        tracing::debug!(%error, "display texts are read as an English account writes them");
                        (DecimalSign::default(), None)
                    }
                }
            }
        };
        display_cells(zone, decimal, time_format)
    }
}

fn display_cells(zone: Tz, decimal: DecimalSign, time_format: Option<String>) -> CellFormat {
    let default = CellFormat::display(zone);
    CellFormat {
        decimal,
        time_format: time_format.unwrap_or_else(|| default.time_format.clone()),
        ..default
    }
}
