//! Acknowledging alarms: by oBIX, else by the alarm channel of BOX (design, decision 1; oBIX specification §11.3;
//! Station web specification §4.10).
//!
//! Each alarm is one message, sent once, and is looked at again afterwards.

use chrono::TimeDelta;

use super::StationFacade;
use super::alarms::{AlarmFilter, AlarmOrder, AlarmRequest};
use super::error::{FacadeError, FacadeResult};
use super::view::AlarmRecord;
use super::write_target::doubt_scope;
use crate::station::boxp::write::BoxWriteError;
use crate::station::echo::shortened;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::obix::alarm::{AlarmQuery, ObixAlarm};

/// Most alarms acknowledged by one call: each takes a request of its own.
pub const MOST_ACKNOWLEDGED: usize = 50;

/// Most open alarms that are looked through over oBIX.
const OPEN_LIMIT: u32 = 50_000;

/// Which alarms are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmChoice<'a> {
    /// The record with this id.
    Uuid(&'a str),
    /// Every open alarm of this source, or of a source below it.
    Source(&'a str),
}

/// Why no alarm was chosen.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AlarmChoiceError {
    #[error(transparent)]
    Facade(#[from] FacadeError),
    /// Nothing fits; alarms that are acknowledged and back to normal are closed.
    #[error("the station has no open alarm {what}; getActiveAlarms lists those that it has")]
    NoneOpen { what: String },
    /// More than one call may acknowledge.
    #[error(
        "more than {MOST_ACKNOWLEDGED} alarms of {} wait; name a source further down, or acknowledge single ones by uuid",
        shortened(source_ord)
    )]
    TooMany { source_ord: String },
}

/// How an acknowledgement went to the station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckRoute {
    /// The operation `ack` of the record.
    Obix,
    /// The alarm channel.
    Box,
}

/// What became of one acknowledgement.
#[derive(Debug, Clone, PartialEq)]
pub enum AckEnding {
    Done(AckRoute),
    /// Somebody had acknowledged it; nothing was sent.
    WasAcknowledged,
    /// The station did not do it.
    Refused(FacadeError),
    /// The answer was lost: the station may have done it. It was not sent again.
    InDoubt(String),
    /// An earlier one failed; nothing was sent.
    NotTried,
}

/// The open alarms as oBIX lists them, or why it does not.
#[derive(Debug)]
pub struct AckList(FacadeResult<Vec<ObixAlarm>>);

/// One alarm before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct AlarmAck {
    pub before: AlarmRecord,
    pub ending: AckEnding,
    /// The record read back, or why that failed.
    pub after: Result<AlarmRecord, String>,
}

impl StationFacade {
    /// The open alarms that are meant, whether or not somebody has acknowledged them; a read.
    ///
    /// # Errors
    /// [`AlarmChoiceError::NoneOpen`] when there is none.
    pub async fn alarms_to_acknowledge(
        &self,
        scope: &CallScope,
        choice: AlarmChoice<'_>,
    ) -> Result<Vec<AlarmRecord>, AlarmChoiceError> {
        let (uuid, source_prefix, limit) = match choice {
            AlarmChoice::Uuid(uuid) => (Some(uuid), None, 1),
            AlarmChoice::Source(source) => (None, Some(source), MOST_ACKNOWLEDGED),
        };
        let request = AlarmRequest {
            between: None,
            source_prefix,
            filter: AlarmFilter {
                uuid,
                ..AlarmFilter::default()
            },
            order: AlarmOrder::Database,
            offset: 0,
            limit,
        };
        let begun = self.clock.monotonic();
        let page = self.alarms(scope, request).await?;
        let what = match choice {
            AlarmChoice::Uuid(uuid) => format!("with the uuid {}", shortened(uuid)),
            AlarmChoice::Source(source) => format!("of {} or below it", shortened(source)),
        };
        match choice {
            _ if page.alarms.is_empty() && page.truncated_by_timeout => {
                Err(FacadeError::from(StationError::Timeout {
                    what: format!("the search for open alarms {what}"),
                    after: self.clock.monotonic().saturating_sub(begun),
                    call: None,
                })
                .into())
            }
            _ if page.alarms.is_empty() => Err(AlarmChoiceError::NoneOpen { what }),
            AlarmChoice::Source(source) if page.truncated || page.truncated_by_timeout => {
                Err(AlarmChoiceError::TooMany {
                    source_ord: source.to_owned(),
                })
            }
            _ => Ok(page.alarms),
        }
    }

    /// What oBIX lists, to be asked once for several acknowledgements.
    pub async fn list_to_acknowledge(&self, scope: &CallScope) -> AckList {
        AckList(self.listed_by_obix(scope).await)
    }

    /// Acknowledges these alarms in their order, one message each, and stops at the first that fails.
    pub async fn acknowledge_alarms(
        &self,
        scope: &CallScope,
        alarms: Vec<AlarmRecord>,
    ) -> Vec<AlarmAck> {
        let list = self.list_to_acknowledge(scope).await;
        let mut acknowledged = Vec::with_capacity(alarms.len());
        let mut has_failed = false;
        for before in alarms {
            let ack = if has_failed {
                AlarmAck {
                    after: Ok(before.clone()),
                    before,
                    ending: AckEnding::NotTried,
                }
            } else {
                self.acknowledge_alarm(scope, &list, before).await
            };
            has_failed = matches!(
                ack.ending,
                AckEnding::Refused(_) | AckEnding::InDoubt(_) | AckEnding::NotTried
            );
            acknowledged.push(ack);
        }
        acknowledged
    }

    /// Acknowledges one alarm with one message, unless somebody has, and reads its record again.
    pub async fn acknowledge_alarm(
        &self,
        scope: &CallScope,
        list: &AckList,
        before: AlarmRecord,
    ) -> AlarmAck {
        let ending = match before.is_acknowledged {
            Some(true) => AckEnding::WasAcknowledged,
            _ => self.acknowledge(scope, &before, &list.0).await,
        };
        let after = match &ending {
            AckEnding::WasAcknowledged | AckEnding::NotTried => Ok(before.clone()),
            // The caller's own time may be over.
            AckEnding::InDoubt(_) => listed(self.alarm_again(&doubt_scope(), &before).await),
            AckEnding::Refused(_) => listed(self.alarm_again(scope, &before).await),
            AckEnding::Done(_) => {
                let again = self.alarm_again(scope, &before).await;
                again.map(|found| found.unwrap_or_else(|| closed(&before)))
            }
        };
        AlarmAck {
            before,
            ending,
            after,
        }
    }

    async fn listed_by_obix(&self, scope: &CallScope) -> FacadeResult<Vec<ObixAlarm>> {
        let query = AlarmQuery {
            limit: OPEN_LIMIT,
            start: None,
            end: None,
        };
        self.over_obix(async { Ok(self.obix().alarms(scope, query).await?) })
            .await
    }

    async fn acknowledge(
        &self,
        scope: &CallScope,
        alarm: &AlarmRecord,
        listed: &FacadeResult<Vec<ObixAlarm>>,
    ) -> AckEnding {
        let Some(uuid) = alarm.uuid.as_deref() else {
            return AckEnding::Refused(
                StationError::NotFound {
                    target: "the alarm".to_owned(),
                    detail: "its record has no uuid".to_owned(),
                }
                .into(),
            );
        };
        let refusal = match listed {
            Ok(listed) => match same_record(listed, uuid) {
                Some(record) => match self.acknowledge_by_obix(scope, record).await {
                    Err(error) if self.may_fall_back(&error) => error,
                    outcome => return ending(outcome, AckRoute::Obix),
                },
                None => StationError::InterfaceMissing {
                    station: self.station(),
                    needs: "this alarm over oBIX",
                    detail: "its alarm query does not list the record".to_owned(),
                }
                .into(),
            },
            Err(error) if self.may_fall_back(error) => error.clone(),
            Err(error) => return AckEnding::Refused(error.clone()),
        };
        let by_box = self.acknowledge_by_box(scope, uuid).await;
        match by_box {
            // Why oBIX does not serve says more to the operator than that BOX has no such channel.
            Err(second) if self.may_fall_back(&second) => AckEnding::Refused(refusal),
            outcome => ending(outcome, AckRoute::Box),
        }
    }

    async fn acknowledge_by_obix(&self, scope: &CallScope, record: &ObixAlarm) -> FacadeResult<()> {
        self.over_obix(async {
            self.obix().acknowledge_alarm(scope, record).await?;
            Ok(())
        })
        .await
    }

    async fn acknowledge_by_box(&self, scope: &CallScope, uuid: &str) -> FacadeResult<()> {
        self.over_box(async {
            let answer = self.boxp().acknowledge_alarms(scope, &[uuid]).await;
            answer.map_err(|error| match error {
                BoxWriteError::Station(error) => error,
                BoxWriteError::Refused { detail } => StationError::InterfaceMissing {
                    station: self.station(),
                    needs: "acknowledging alarms over BOX",
                    detail,
                },
            })?;
            Ok(())
        })
        .await
    }

    /// The record as the station has it now; none when it does not list it, as oBIX with closed ones.
    async fn alarm_again(
        &self,
        scope: &CallScope,
        alarm: &AlarmRecord,
    ) -> Result<Option<AlarmRecord>, String> {
        let second = TimeDelta::seconds(1);
        let filter = AlarmFilter {
            uuid: alarm.uuid.as_deref(),
            ..AlarmFilter::default()
        };
        let request = |between| AlarmRequest {
            between,
            source_prefix: None,
            filter,
            order: AlarmOrder::Database,
            offset: 0,
            limit: 1,
        };
        let around = alarm.timestamp.map(|time| (time - second, time + second));
        let found = match self.alarms(scope, request(around)).await {
            // Past alarms are told by BQL only.
            Err(error) if around.is_some() && self.may_fall_back(&error) => {
                self.alarms(scope, request(None)).await
            }
            outcome => outcome,
        };
        let page = found.map_err(|error| error.to_string())?;
        Ok(page.alarms.into_iter().next())
    }
}

/// A record that is looked for and not known to have been acknowledged by us.
fn listed(found: Result<Option<AlarmRecord>, String>) -> Result<AlarmRecord, String> {
    found?.ok_or_else(|| {
        "the alarm is no longer listed: it is closed, or was removed, and by whom is not known"
            .to_owned()
    })
}

/// An acknowledged alarm that left the list of open ones.
fn closed(alarm: &AlarmRecord) -> AlarmRecord {
    AlarmRecord {
        ack_state: Some("acked".to_owned()),
        is_acknowledged: Some(true),
        is_open: Some(false),
        ..alarm.clone()
    }
}

fn same_record<'a>(listed: &'a [ObixAlarm], uuid: &str) -> Option<&'a ObixAlarm> {
    listed.iter().find(|record| {
        record
            .id
            .as_deref()
            .is_some_and(|id| id.eq_ignore_ascii_case(uuid))
    })
}

fn ending(outcome: FacadeResult<()>, route: AckRoute) -> AckEnding {
    match outcome {
        Ok(()) => AckEnding::Done(route),
        Err(FacadeError::Station(StationError::OutcomeUnknown { cause, .. })) => {
            AckEnding::InDoubt(cause)
        }
        Err(error) => AckEnding::Refused(error),
    }
}
