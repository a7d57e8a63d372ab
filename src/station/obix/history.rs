//! Histories over oBIX: the two-level list, paged reading, rollup (oBIX specification §10).

use chrono::{DateTime, FixedOffset, TimeDelta};

use super::batch::Answers;
use super::client::{Document, ObixClient};
use super::encode::{history_filter, rollup_filter};
use super::href::ObixPath;
use super::object::{Element, Object};
use super::paging::HistoryPager;
use super::record::{
    HistoryPage, HistoryRecord, RecordPrototype, RollupBucket, read_page, read_rollup,
    rollup_buckets,
};
use super::scalar::Scalar;
use crate::station::error::StationError;
use crate::station::http::{CallScope, TimeoutClass};

/// The most rollup intervals asked for at once.
const MAX_BUCKETS: i64 = 20_000;

/// A history in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRef {
    /// History device, normally a station's name; escaped.
    pub device: String,
    /// Escaped name of the history.
    pub name: String,
    pub path: ObixPath,
}

/// The list of histories.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryList {
    pub histories: Vec<HistoryRef>,
    /// Devices whose histories could not be listed.
    pub problems: Vec<(String, StationError)>,
}

/// What a history says of itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryInfo {
    pub count: Option<u64>,
    pub start: Option<DateTime<FixedOffset>>,
    pub end: Option<DateTime<FixedOffset>>,
    pub can_roll_up: bool,
}

impl HistoryInfo {
    /// Older records than the history still holds were asked for: it is a ring buffer (oBIX specification §10.7).
    pub fn has_rolled_past(&self, start: DateTime<FixedOffset>) -> bool {
        self.start.is_some_and(|first| first > start)
    }
}

/// Bounds of a reading.
#[derive(Debug, Clone, Copy)]
pub struct HistoryReadOptions {
    /// Records per request, at most 5,000.
    pub page_limit: u32,
    /// Records in all.
    pub max_records: usize,
    /// Requests in all.
    pub max_requests: usize,
    pub timeout: TimeoutClass,
}

impl Default for HistoryReadOptions {
    fn default() -> Self {
        Self {
            page_limit: 1000,
            max_records: 500_000,
            max_requests: 1000,
            timeout: TimeoutClass::Query,
        }
    }
}

/// Records of a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryReading {
    pub records: Vec<HistoryRecord>,
    pub prototype: RecordPrototype,
    /// A bound was reached; reading on from the last timestamp gives the rest.
    pub is_truncated: bool,
    /// More records shared one instant than a page can hold.
    pub records_possibly_lost: bool,
    /// Records that could not be read, and why the first could not.
    pub unreadable: usize,
    pub first_problem: Option<String>,
    pub requests: usize,
}

impl ObixClient {
    /// All histories: first the devices, then the histories of each.
    ///
    /// # Errors
    /// [`StationError::InterfaceMissing`] when the lobby shows no histories to this user.
    pub async fn histories(&self, scope: &CallScope) -> Result<HistoryList, StationError> {
        let lobby = self.lobby(scope).await?;
        let root = lobby
            .histories
            .as_ref()
            .ok_or_else(|| self.not_exposed("histories over oBIX"))?;
        let devices = self.get(scope, root).await?;
        let mut list = HistoryList::default();
        for (device, path) in named_refs(&devices) {
            match self.get(scope, &path).await {
                Ok(document) => {
                    list.histories
                        .extend(
                            named_refs(&document)
                                .into_iter()
                                .map(|(name, path)| HistoryRef {
                                    device: device.clone(),
                                    name,
                                    path,
                                }),
                        )
                }
                Err(
                    error @ (StationError::NotFound { .. } | StationError::PermissionDenied { .. }),
                ) => {
                    list.problems.push((device, error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(list)
    }

    /// The path of a history by its id, `/Station/Name`.
    pub async fn history_path(
        &self,
        scope: &CallScope,
        id: &str,
    ) -> Result<ObixPath, StationError> {
        let lobby = self.lobby(scope).await?;
        let root = lobby
            .histories
            .as_ref()
            .ok_or_else(|| self.not_exposed("histories over oBIX"))?;
        let names = id
            .trim_start_matches('/')
            .split('/')
            .filter(|name| !name.is_empty());
        let path = names
            .clone()
            .fold(root.clone(), |path, name| path.child(name));
        if names.clone().count() != 2 || names.into_iter().any(|name| name == "..") {
            let detail = "a history id has the form /Station/Name".to_owned();
            return Err(StationError::InvalidInput {
                what: "history id",
                detail: format!("{id:?}: {detail}"),
            });
        }
        Ok(path)
    }

    /// Count and bounds of a history.
    pub async fn history_info(
        &self,
        scope: &CallScope,
        history: &ObixPath,
    ) -> Result<HistoryInfo, StationError> {
        Ok(read_info(&self.get(scope, history).await?.root))
    }

    /// Count and bounds of many histories; the answers are in the order of the paths.
    pub async fn history_infos(
        &self,
        scope: &CallScope,
        histories: &[ObixPath],
    ) -> Result<Answers<HistoryInfo>, StationError> {
        let answers = self.read_many(scope, histories).await?;
        let infos = answers
            .into_iter()
            .map(|answer| answer.map(|object| read_info(&object)));
        Ok(infos.collect())
    }

    /// One query: the oldest `limit` records of the window, bounds included.
    pub async fn history_page(
        &self,
        scope: &CallScope,
        history: &ObixPath,
        window: (DateTime<FixedOffset>, DateTime<FixedOffset>),
        limit: u32,
        timeout: TimeoutClass,
    ) -> Result<HistoryPage, StationError> {
        let argument = history_filter(Some(window.0), Some(window.1), limit);
        let document = self
            .ask(
                scope,
                &history.child("~historyQuery"),
                history,
                &argument,
                timeout,
            )
            .await?;
        let mut page = read_page(&document.root, None);
        if page.as_ref().is_some_and(|page| page.unreadable > 0) {
            // Times without offset and zone: now the station's own zone is needed.
            page = read_page(&document.root, self.station_zone(scope).await);
        }
        page.ok_or_else(|| StationError::Protocol {
            target: history.to_string(),
            expected: "a history query result with a data list",
            found: format!("<{}> without one", document.root.element.local_name()),
        })
    }

    /// Reads all records of a window, bounds included, page by page; records that share a timestamp are
    /// all kept, in the order of the station.
    pub async fn read_history(
        &self,
        scope: &CallScope,
        history: &ObixPath,
        window: (DateTime<FixedOffset>, DateTime<FixedOffset>),
        options: HistoryReadOptions,
    ) -> Result<HistoryReading, StationError> {
        let mut pager = HistoryPager::new(window.0, window.1, options.page_limit.min(5000));
        let mut reading = HistoryReading::default();
        while let Some(request) = pager.next_request() {
            if reading.requests >= options.max_requests {
                reading.is_truncated = true;
                break;
            }
            let bounds = (request.start, request.end);
            let page = self
                .history_page(scope, history, bounds, request.limit, options.timeout)
                .await?;
            reading.requests += 1;
            reading.unreadable += page.unreadable;
            if let Some(problem) = &page.first_problem {
                reading.first_problem.get_or_insert_with(|| problem.clone());
            }
            if reading.requests == 1 || reading.prototype.kind.is_none() {
                reading.prototype = page.prototype.clone();
            }
            let received = page.received();
            let accepted = pager.accept(page.records, received);
            accepted.iter().for_each(|_| scope.row());
            reading.records.extend(accepted);
            if reading.records.len() > options.max_records {
                reading.records.truncate(options.max_records);
                reading.is_truncated = true;
                break;
            }
        }
        reading.records_possibly_lost = pager.records_possibly_lost();
        Ok(reading)
    }

    /// Summaries per interval; intervals without sample are gaps.
    ///
    /// # Errors
    /// [`StationError::InvalidInput`] for an interval that is not positive or gives more than 20,000.
    pub async fn rollup(
        &self,
        scope: &CallScope,
        history: &ObixPath,
        window: (DateTime<FixedOffset>, DateTime<FixedOffset>),
        interval: TimeDelta,
    ) -> Result<Vec<RollupBucket>, StationError> {
        if rollup_buckets(window.1 - window.0, interval).is_none_or(|count| count > MAX_BUCKETS) {
            return Err(StationError::InvalidInput {
                what: "rollup interval",
                detail: format!("it must be positive and give at most {MAX_BUCKETS} intervals"),
            });
        }
        let argument = rollup_filter(window.0, window.1, interval);
        let operation = history.child("~historyRollup");
        let document = self
            .ask(scope, &operation, history, &argument, TimeoutClass::Query)
            .await?;
        let zone = self.station_zone(scope).await;
        read_rollup(&document.root, zone).map_err(|found| StationError::Protocol {
            target: history.to_string(),
            expected: "rollup intervals",
            found,
        })
    }
}

fn named_refs(document: &Document) -> Vec<(String, ObixPath)> {
    let refs = document
        .root
        .children
        .iter()
        .filter(|child| child.element == Element::Ref);
    refs.filter_map(|child| {
        let path = document.path_of(child)?;
        let name = child.name().unwrap_or(path.last_segment()).to_owned();
        path.is_in_tree().then_some((name, path))
    })
    .collect()
}

fn read_info(root: &Object) -> HistoryInfo {
    let time = |name: &str| match root.child(name).map(|child| child.scalar(None)) {
        Some(Ok(Scalar::Instant(instant))) => Some(instant),
        _ => None,
    };
    let count = root
        .child("count")
        .and_then(|child| child.scalar(None).ok());
    let is_empty = count == Some(Scalar::Int(0));
    HistoryInfo {
        count: match count {
            Some(Scalar::Int(count)) => u64::try_from(count).ok(),
            _ => None,
        },
        // Empty histories come with odd bounds.
        start: time("start").filter(|_| !is_empty),
        end: time("end").filter(|_| !is_empty),
        can_roll_up: root
            .child("rollup")
            .is_some_and(|child| child.element == Element::Op),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::decode::decode;

    #[test]
    fn a_history_tells_what_it_still_holds() {
        let body = r#"<obj is="obix:History"><int name="count" val="2736"/>
          <abstime name="start" val="2024-06-15T14:10:00.034-04:00" tz="America/New_York"/>
          <abstime name="end" val="2024-08-20T20:00:00.009-04:00" tz="America/New_York"/>
          <op name="rollup" href="~historyRollup/"/></obj>"#;
        let info = read_info(&decode(body.as_bytes(), None).expect("valid"));
        assert_eq!((info.count, info.can_roll_up), (Some(2736), true));
        let asked = |text: &str| DateTime::parse_from_rfc3339(text).expect("a time");
        assert!(info.has_rolled_past(asked("2024-06-01T00:00:00-04:00")));
        assert!(!info.has_rolled_past(asked("2024-07-01T00:00:00-04:00")));
        let empty = r#"<obj><int name="count" val="0"/><abstime name="start" null="true" val="1970-01-01T00:00:00Z"/><abstime name="end" val="null"/></obj>"#;
        assert_eq!(
            read_info(&decode(empty.as_bytes(), None).expect("valid")),
            HistoryInfo {
                count: Some(0),
                ..HistoryInfo::default()
            }
        );
    }
}
