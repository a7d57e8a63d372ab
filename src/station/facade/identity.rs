//! Who the station is: name, version, time zone; and what it offers this identity (Station web specification §6.5).

use std::ops::ControlFlow;

use chrono_tz::Tz;
use futures::future::BoxFuture;

use super::StationFacade;
use super::changes::ChangeRoute;
use super::components::station_name_of;
use super::error::{FacadeError, FacadeResult};
use super::fox_port::FoxState;
use super::interfaces::Interface;
use super::operation_routes::{OperationRoute, Usable};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};
use crate::station::web::query::TableQuery;

/// Where the time zone of a station was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneSource {
    /// `station.timeZone` of the configuration.
    Configuration,
    /// oBIX `about`.
    Obix,
    /// The configuration of the station's histories.
    Histories,
    /// Nothing told it: times are shown in UTC.
    Assumed,
}

impl ZoneSource {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Obix => "obix",
            Self::Histories => "histories",
            Self::Assumed => "assumed",
        }
    }
}

/// Whether a service of the station answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceState {
    Available,
    Unavailable,
    Failed(String),
}

/// Whether this identity can use an interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterfaceState {
    pub usable: bool,
    /// The form that this station takes, such as the URL form of BQL.
    pub form: Option<String>,
    pub reason: Option<String>,
}

/// Everything that getServiceHealth tells of a station.
#[derive(Debug, Clone, PartialEq)]
pub struct StationReport {
    /// The station's web service answers, if only to refuse the login.
    pub reachable: bool,
    pub error: Option<String>,
    pub url: Option<String>,
    pub name: Option<String>,
    pub version: Option<String>,
    pub time_zone: Option<String>,
    pub time_zone_source: Option<String>,
    pub alarm_service: ServiceState,
    pub history_service: ServiceState,
    pub bql: InterfaceState,
    pub boxp: InterfaceState,
    pub obix: InterfaceState,
    /// Kinds of operations and the interface of each.
    pub operations: Vec<OperationRoute>,
    /// How changes of points reach the bridge; none while nothing is watched.
    pub change_route: Option<ChangeRoute>,
    pub watched_points: usize,
    /// None without a configured Fox port.
    pub fox: Option<FoxState>,
}

impl StationReport {
    /// A report of a station that could not be asked at all.
    pub fn unreachable(reason: String) -> Self {
        let state = InterfaceState {
            usable: false,
            form: None,
            reason: Some(reason.clone()),
        };
        Self {
            reachable: false,
            error: Some(reason.clone()),
            url: None,
            name: None,
            version: None,
            time_zone: None,
            time_zone_source: None,
            alarm_service: ServiceState::Failed(reason.clone()),
            history_service: ServiceState::Failed(reason),
            bql: state.clone(),
            boxp: state.clone(),
            obix: state,
            operations: Vec::new(),
            change_route: None,
            watched_points: 0,
            fox: None,
        }
    }
}

impl StationFacade {
    /// The station's time zone: configured, else told by oBIX, else by its histories, else UTC.
    ///
    /// # Errors
    /// Only when the station cannot be reached or refuses the login; a zone that nobody tells is UTC.
    pub async fn zone(&self, scope: &CallScope) -> FacadeResult<Tz> {
        self.zone_and_source(scope).await.map(|(zone, _)| zone)
    }

    async fn zone_and_source(&self, scope: &CallScope) -> FacadeResult<(Tz, ZoneSource)> {
        if let Some(known) = self.known_zone() {
            return Ok(known);
        }
        let _only = scope
            .run("the station's time zone", async {
                Ok(self.zone_search.lock().await)
            })
            .await?;
        if let Some(known) = self.known_zone() {
            return Ok(known);
        }
        // An oBIX server that hangs must leave time for the histories, which tell the zone as well.
        let share = scope
            .remaining()
            .unwrap_or(ZONE_PATIENCE)
            .min(ZONE_PATIENCE)
            / 2;
        let (told, unheard) = match self.zone_by_obix(&scope.at_most(share)).await {
            Ok(zone) => (zone.map(|zone| (zone, ZoneSource::Obix)), None),
            Err(error) if may_be_one_interface(&error) => (None, Some(error)),
            Err(error) if is_hopeless(&error) => return Err(error),
            Err(_) => (None, None),
        };
        let told = match told {
            Some(told) => Some(told),
            None => match self.zone_by_histories(scope).await {
                Ok(zone) => zone.map(|zone| (zone, ZoneSource::Histories)),
                Err(error) if is_hopeless(&error) => return Err(error),
                Err(_) => None,
            },
        };
        // Nothing was said, which is no reason to assume a zone.
        if let (None, Some(error)) = (&told, unheard) {
            return Err(error);
        }
        let known = told.unwrap_or_else(|| {
            tracing::warn!("the station does not tell its time zone; times are in UTC until station.timeZone is set");
            (Tz::UTC, ZoneSource::Assumed)
        });
        self.remember_zone(known);
        Ok(known)
    }

    async fn zone_by_histories(&self, scope: &CallScope) -> FacadeResult<Option<Tz>> {
        let mut zone = None;
        self.rows(
            scope,
            "history:|bql:select top 1 id, timeZone",
            &mut |row| {
                zone = zone_in(row.cell(1).text());
                ControlFlow::Break(())
            },
        )
        .await?;
        Ok(zone)
    }

    /// The station's name: the root's own property, else BQL, else what oBIX calls the server.
    ///
    /// # Errors
    /// The error of the last interface asked.
    pub async fn station_name(&self, scope: &CallScope) -> FacadeResult<String> {
        let root = Ord::slot(SlotPath::root());
        match self.resolve(scope, &root).await {
            Ok(node) => {
                if let Some(name) = station_name_of(&node) {
                    return Ok(name);
                }
            }
            Err(error) if is_hopeless(&error) => return Err(error),
            Err(_) => {}
        }
        let mut name = None;
        let asked = self
            .rows(
                scope,
                "station:|slot:/|bql:select stationName from baja:Station",
                &mut |row| {
                    name = row.cell(0).some().map(str::to_owned);
                    ControlFlow::Break(())
                },
            )
            .await;
        match (asked, name) {
            (_, Some(name)) => Ok(name),
            (Err(error), None) if is_hopeless(&error) => Err(error),
            _ => self.server_name_by_obix(scope).await,
        }
    }

    /// The licence host id, where a Fox port is configured and tells it: controllers of the newer generation do not.
    pub async fn host_id(&self, scope: &CallScope) -> Option<String> {
        let state = self.fox_state(scope).await?;
        let answer = state.outcome.ok()?;
        answer.report.identity.as_ref()?.host_id.clone()
    }

    /// Name, version, zone, services and interfaces; what cannot be asked is told as such.
    pub async fn report(&self, scope: &CallScope) -> StationReport {
        // Boxed: the compiler's limit on nested futures is near here.
        let web: BoxFuture<'_, StationReport> = Box::pin(self.web_report(scope));
        let fox: BoxFuture<'_, Option<FoxState>> = Box::pin(self.fox_state(scope));
        let (report, fox) = futures::join!(web, fox);
        let usable = Usable {
            bql: report.bql.usable,
            boxp: report.boxp.usable,
            obix: report.obix.usable,
        };
        StationReport {
            operations: self.operation_routes(usable),
            change_route: self.change_route(),
            watched_points: self.watched_points(),
            fox,
            ..report
        }
    }

    async fn web_report(&self, scope: &CallScope) -> StationReport {
        self.interfaces.doubt_all();
        let mut report = StationReport::unreachable(String::new());
        report.url = Some(self.station());
        if let Err(error) = self.web().login(scope).await {
            let text = error.to_string();
            return StationReport {
                url: report.url,
                reachable: error.shows_station(),
                ..StationReport::unreachable(text)
            };
        }
        let answered = self.web().traffic().answered();
        // All at once: one that hangs would use up the time of those after it. Boxed as above.
        let identity: BoxFuture<'_, _> = Box::pin(async {
            let zone = self.zone_and_source(scope).await.ok();
            (self.station_name(scope).await.ok(), zone)
        });
        let bql: BoxFuture<'_, _> = Box::pin(self.bql_state(scope));
        let ((about, properties, alarm, history), bql, (name, zone)) = futures::join!(
            async {
                futures::join!(
                    self.about_by_obix(scope),
                    self.over_box(async { Ok(self.boxp().user_properties(scope).await?) }),
                    self.ask_service(scope, ALARM_SERVICE),
                    self.ask_service(scope, HISTORY_SERVICE),
                )
            },
            bql,
            identity,
        );
        let silence = [
            silence(&about),
            silence(&properties),
            silence(&alarm),
            silence(&history),
        ];
        if let [Some(first), Some(_), Some(_), Some(_)] = silence {
            let queued = silence
                .into_iter()
                .flatten()
                .find(|error| error.is_of_own_queue());
            return StationReport {
                url: report.url,
                // Behind a queue of other calls the report gets no answers, while those get theirs.
                reachable: queued.is_some() && self.web().traffic().answered() > answered,
                ..StationReport::unreachable(queued.unwrap_or(first).to_string())
            };
        }
        report.reachable = true;
        report.error = None;
        report.alarm_service = state_of_service(alarm);
        report.history_service = state_of_service(history);
        report.obix = state_of(&about);
        report.boxp = state_of(&properties);
        report.bql = bql;
        report.version = about.ok().and_then(|about| about.version);
        report.name = name;
        if let Some((zone, source)) = zone {
            report.time_zone = Some(zone.name().to_owned());
            report.time_zone_source = Some(source.name().to_owned());
        }
        report
    }

    /// Whether the alarm and the history service answer.
    ///
    /// # Errors
    /// The station cannot be reached, answers neither question, or refuses the login.
    pub async fn services(
        &self,
        scope: &CallScope,
    ) -> Result<(ServiceState, ServiceState), StationError> {
        self.web().login(scope).await?;
        let (alarm, history) = futures::join!(
            self.ask_service(scope, ALARM_SERVICE),
            self.ask_service(scope, HISTORY_SERVICE),
        );
        // A session of before proves nothing: the station may have gone since.
        if let (Some(error), Some(_)) = (silence(&alarm), silence(&history)) {
            return Err(error.clone());
        }
        Ok((state_of_service(alarm), state_of_service(history)))
    }

    async fn ask_service(&self, scope: &CallScope, query: &str) -> FacadeResult<()> {
        self.rows(scope, query, &mut |_| ControlFlow::Break(()))
            .await
            .map(drop)
    }

    async fn bql_state(&self, scope: &CallScope) -> InterfaceState {
        let query = "station:|slot:/|bql:select stationName from baja:Station";
        // Not through `rows`, which BOX answers where the ord servlet does not.
        let outcome = self
            .over(Interface::Bql, async {
                let query = TableQuery::parse(query)?;
                Ok(self.bql().query(&query, scope).await?)
            })
            .await;
        let form = match &outcome {
            Ok(_) => self.bql_form(scope).await,
            Err(_) => None,
        };
        InterfaceState {
            form,
            ..state_of(&outcome)
        }
    }

    async fn bql_form(&self, scope: &CallScope) -> Option<String> {
        let dialect = self.bql().dialect(scope).await.ok()?;
        let cells = if dialect.machine {
            "machine cells"
        } else {
            "display cells"
        };
        Some(format!("{}, {cells}", dialect.form))
    }

    /// Runs work over BOX unless the station is known not to offer it.
    pub(super) async fn over_box<T>(
        &self,
        work: impl Future<Output = FacadeResult<T>>,
    ) -> FacadeResult<T> {
        self.over(Interface::Box, work).await
    }
}

/// No other interface will answer either.
pub(super) fn is_hopeless(error: &FacadeError) -> bool {
    match error {
        FacadeError::Station(error) => {
            !super::interfaces::is_interface_refusal(error)
                && matches!(
                    error,
                    StationError::Unreachable { .. }
                        | StationError::Cut { .. }
                        | StationError::Certificate { .. }
                        | StationError::Auth { .. }
                        | StationError::Latched { .. }
                        | StationError::Timeout { .. }
                        | StationError::LoginTimeout { .. }
                        | StationError::Queued { .. }
                        | StationError::Cancelled { .. }
                        | StationError::Setup { .. }
                )
        }
        _ => false,
    }
}

/// One row of the service's own space: its presence costs the station least this way.
/// Whether the error may concern the asked interface alone, although it would concern all if the station were gone.
fn may_be_one_interface(error: &FacadeError) -> bool {
    matches!(
        error,
        FacadeError::Station(
            StationError::Timeout { .. }
                | StationError::Queued { .. }
                | StationError::Cut { .. }
                | StationError::Unreachable { .. }
        )
    )
}

/// Time for finding out the zone in a call without a deadline, or one that has more; oBIX may use half of it.
const ZONE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(6);

const ALARM_SERVICE: &str = "alarm:|bql:select top 1 uuid";
const HISTORY_SERVICE: &str = "history:|bql:select top 1 id";

fn state_of_service(outcome: FacadeResult<()>) -> ServiceState {
    match outcome {
        Ok(()) => ServiceState::Available,
        Err(FacadeError::Station(
            StationError::BadQuery { .. } | StationError::NotFound { .. },
        )) => ServiceState::Unavailable,
        Err(error) => ServiceState::Failed(error.to_string()),
    }
}

/// Why nothing of the station was heard; none when it answered, be it with a refusal.
fn silence<T>(outcome: &FacadeResult<T>) -> Option<&StationError> {
    match outcome {
        Err(error) if is_hopeless(error) => match error {
            FacadeError::Station(error) if !error.shows_station() => Some(error),
            _ => None,
        },
        _ => None,
    }
}

fn state_of<T>(outcome: &FacadeResult<T>) -> InterfaceState {
    InterfaceState {
        usable: outcome.is_ok(),
        form: None,
        reason: outcome.as_ref().err().map(ToString::to_string),
    }
}

/// The zone id at the start of a text such as `America/New_York` or `America/New_York (-5/-4)`.
pub(super) fn zone_in(text: &str) -> Option<Tz> {
    let id = text.trim().split([' ', ';', '(']).next()?;
    id.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_read_with_or_without_its_rules() {
        assert_eq!(
            zone_in("America/New_York"),
            Some(chrono_tz::America::New_York)
        );
        assert_eq!(
            zone_in(" Europe/Berlin (+1/+2)"),
            Some(chrono_tz::Europe::Berlin)
        );
        assert_eq!(zone_in("EST?"), None);
        assert_eq!(zone_in(""), None);
    }
}
