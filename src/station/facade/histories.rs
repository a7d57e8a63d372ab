//! The list of histories with their settings, and how far back each reaches (Station web specification §3.5; oBIX
//! specification §10.1, §10.2).

use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;

use super::StationFacade;
use super::error::FacadeResult;
use super::history::prefer;
use super::interfaces::is_interface_refusal;
use super::list_page::{ListPage, PageRequest, Pager, is_bad_query};
use super::overrides::unit_symbol;
use super::rows::Row;
use super::sample::SampleKind;
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::obix::history::HistoryInfo;
use crate::station::ord::{Ord, SlotPath, unescape};
use crate::station::web::query::literal;

/// Columns of a history's settings, the whole set and the ones that stations are known to have
/// (Station web specification §3.5); cells are read by position.
const COLUMNS: [&str; 3] = [
    "id, source, recordType, valueFacets, timeZone, interval, capacity, fullPolicy",
    "id, source, recordType, valueFacets",
    "id",
];

/// Which histories are wanted; all conditions must hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryFilter<'a> {
    /// Beginning of the id, such as `/Station/`.
    pub id_prefix: Option<&'a str>,
    /// Part of the id or of the source's path in readable form, ignoring case.
    pub text: Option<&'a str>,
    /// Only histories of this component or of what lies below it.
    pub below: Option<&'a SlotPath>,
}

/// A history as the station lists it; a field is none when the station did not tell it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListedHistory {
    /// `/Station/Name`, escaped.
    pub id: String,
    /// The station or device that the records come from; readable form.
    pub device: Option<String>,
    /// `history:NumericTrendRecord` and the like.
    pub record_type: Option<String>,
    pub kind: Option<SampleKind>,
    /// Unit symbol of the values.
    pub units: Option<String>,
    /// How the values are shown, the unit with its definition among it.
    pub facets: Facets,
    pub time_zone: Option<String>,
    /// Absolute ords that the station names as source, the extension of a local history.
    pub sources: Vec<String>,
    /// The point whose values are recorded here.
    pub point_ord: Option<String>,
    /// `regular:900000` or `irregular`, as the station writes it.
    pub interval: Option<String>,
    pub interval_millis: Option<i64>,
    /// `unlimited` or the number of records, as the station writes it.
    pub capacity: Option<String>,
    pub capacity_records: Option<u64>,
    /// `roll` or `stop`.
    pub full_policy: Option<String>,
    pub extent: Option<HistoryExtent>,
}

/// How many records a history holds, and from when to when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryExtent {
    pub count: Option<u64>,
    pub first: Option<DateTime<FixedOffset>>,
    pub last: Option<DateTime<FixedOffset>>,
}

impl StationFacade {
    /// Histories that this identity may see, in the station's order, with the extent of each where oBIX tells it.
    ///
    /// First choice is the station's list of histories; then the settings of the history extensions, which leave out
    /// imported histories; then the names that oBIX lists.
    ///
    /// # Errors
    /// Station errors. An extent that cannot be had is left out.
    pub async fn histories(
        &self,
        scope: &CallScope,
        filter: HistoryFilter<'_>,
        page: PageRequest,
        with_extent: bool,
    ) -> FacadeResult<ListPage<ListedHistory>> {
        let zone = self.zone(scope).await?;
        let mut listed = match self.histories_by_list(scope, &filter, page).await {
            Ok(listed) => listed,
            Err(error) if is_no_list(&error) => {
                match self.histories_by_extensions(scope, &filter, page).await {
                    Ok(listed) => listed,
                    Err(second) => return Err(prefer(error, second)),
                }
            }
            Err(error) if self.may_fall_back(&error) => self
                .histories_by_obix(scope, &filter, page)
                .await
                .map_err(|second| prefer(error, second))?,
            Err(error) => return Err(error),
        };
        if with_extent {
            let outcome = self.add_extents(scope, &mut listed.items, zone).await;
            listed.notes.extend(note_of_extents(&listed.items, outcome));
        }
        Ok(listed)
    }

    async fn histories_by_list(
        &self,
        scope: &CallScope,
        filter: &HistoryFilter<'_>,
        page: PageRequest,
    ) -> FacadeResult<ListPage<ListedHistory>> {
        let condition = id_condition(filter)?;
        self.histories_by_query(scope, filter, page, &|columns| {
            format!("history:|bql:select {columns}{condition}")
        })
        .await
    }

    async fn histories_by_extensions(
        &self,
        scope: &CallScope,
        filter: &HistoryFilter<'_>,
        page: PageRequest,
    ) -> FacadeResult<ListPage<ListedHistory>> {
        let root = SlotPath::root();
        let below = filter.below.unwrap_or(&root);
        let listed = self
            .histories_by_query(scope, filter, page, &|columns| {
                let columns = columns.replace("source", "parent.slotPath");
                format!("station:|{below}|bql:select {columns} from history:HistoryConfig")
            })
            .await?;
        Ok(listed)
    }

    /// Asks with all columns, with fewer where the station does not know them.
    async fn histories_by_query(
        &self,
        scope: &CallScope,
        filter: &HistoryFilter<'_>,
        page: PageRequest,
        query: &(dyn Fn(&str) -> String + Sync),
    ) -> FacadeResult<ListPage<ListedHistory>> {
        let (last, first) = COLUMNS.split_last().unwrap_or((&"id", &[]));
        for columns in first {
            match self.matching(scope, filter, page, &query(columns)).await {
                Err(error) if is_bad_query(&error) => {
                    tracing::debug!(%error, "the list of histories is asked for fewer columns");
                }
                outcome => return outcome,
            }
        }
        self.matching(scope, filter, page, &query(last)).await
    }

    async fn matching(
        &self,
        scope: &CallScope,
        filter: &HistoryFilter<'_>,
        page: PageRequest,
        query: &str,
    ) -> FacadeResult<ListPage<ListedHistory>> {
        let wanted = Wanted::new(filter);
        let mut pager = Pager::new(page);
        self.page_rows(scope, query, &mut pager, &mut |row| {
            Ok(read_row(row)
                .into_iter()
                .filter(|history| wanted.takes(history))
                .collect())
        })
        .await?;
        Ok(pager.page)
    }

    async fn histories_by_obix(
        &self,
        scope: &CallScope,
        filter: &HistoryFilter<'_>,
        page: PageRequest,
    ) -> FacadeResult<ListPage<ListedHistory>> {
        if filter.below.is_some() {
            return Err(StationError::InterfaceMissing {
                station: self.station(),
                needs: "bql-history",
                detail: "the source of a history is told by BQL only; leave 'ord' out".to_owned(),
            }
            .into());
        }
        let list = self
            .over_obix(async { Ok(self.obix().histories(scope).await?) })
            .await?;
        for (device, error) in &list.problems {
            tracing::warn!(%device, %error, "the histories of a device are not listed");
        }
        let wanted = Wanted::new(filter);
        let mut pager = Pager::new(page);
        let unlisted = list
            .problems
            .iter()
            .map(|(device, error)| format!("The histories of {device} are not listed: {error}."));
        pager.page.notes.extend(unlisted);
        for history in list.histories {
            let history = ListedHistory {
                id: format!("/{}/{}", history.device, history.name),
                device: Some(unescape(&history.device)),
                ..ListedHistory::default()
            };
            if wanted.takes(&history) && pager.take(history).is_break() {
                break;
            }
        }
        Ok(pager.page)
    }

    async fn add_extents(
        &self,
        scope: &CallScope,
        histories: &mut [ListedHistory],
        zone: Tz,
    ) -> FacadeResult<()> {
        if histories.is_empty() {
            return Ok(());
        }
        let mut paths = Vec::with_capacity(histories.len());
        for history in histories.iter() {
            paths.push(
                self.over_obix(async { Ok(self.obix().history_path(scope, &history.id).await?) })
                    .await?,
            );
        }
        let infos = self
            .over_obix(async { Ok(self.obix().history_infos(scope, &paths).await?) })
            .await?;
        let mut out_of_time = None;
        for (history, info) in histories.iter_mut().zip(infos) {
            match info {
                Ok(info) => history.extent = Some(extent(&info, zone)),
                Err(error @ (StationError::Timeout { .. } | StationError::Queued { .. })) => {
                    out_of_time = Some(error);
                }
                Err(error) => {
                    tracing::debug!(history = %history.id, %error, "its extent is not told");
                }
            }
        }
        out_of_time.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// Says that extents are missing which another try may bring; that a station offers no oBIX is no news.
fn note_of_extents(histories: &[ListedHistory], outcome: FacadeResult<()>) -> Option<String> {
    let error = match outcome {
        Err(super::FacadeError::Station(error)) if !is_interface_refusal(&error) => error,
        Err(error) => {
            tracing::debug!(%error, "the extent of histories is left out");
            return None;
        }
        Ok(()) => return None,
    };
    let without = histories.iter().filter(|history| history.extent.is_none());
    Some(format!(
        "Number of records and timestamps of {} of {} histories are missing: {error}.",
        without.count(),
        histories.len()
    ))
}

fn extent(info: &HistoryInfo, zone: Tz) -> HistoryExtent {
    // An empty history has no first and last record, whatever instants stand there.
    let local = |time: Option<DateTime<FixedOffset>>| {
        time.filter(|time| info.count != Some(0) && time.timestamp_millis() != 0)
            .map(|time| time.with_timezone(&zone).fixed_offset())
    };
    HistoryExtent {
        count: info.count,
        first: local(info.start),
        last: local(info.end),
    }
}

/// The list itself is not offered as a table, though queries are.
fn is_no_list(error: &super::FacadeError) -> bool {
    is_bad_query(error)
        || matches!(
            error,
            super::FacadeError::Station(StationError::NotFound { .. })
        )
}

/// The prefix as a condition of the query; a star in it would be a wildcard there.
fn id_condition(filter: &HistoryFilter<'_>) -> FacadeResult<String> {
    match filter.id_prefix {
        Some(prefix) if !prefix.is_empty() && !prefix.contains('*') => Ok(format!(
            " where id like {}",
            literal(&format!("{prefix}*"))?
        )),
        _ => Ok(String::new()),
    }
}

struct Wanted<'a> {
    filter: HistoryFilter<'a>,
    text: Option<String>,
}

impl<'a> Wanted<'a> {
    fn new(filter: &HistoryFilter<'a>) -> Self {
        Self {
            filter: *filter,
            text: filter.text.map(str::to_lowercase),
        }
    }

    fn takes(&self, history: &ListedHistory) -> bool {
        let mut texts = std::iter::once(&history.id).chain(&history.sources);
        self.filter
            .id_prefix
            .is_none_or(|prefix| history.id.starts_with(prefix))
            && self.text.as_ref().is_none_or(|wanted| {
                texts.any(|text| {
                    text.to_lowercase().contains(wanted)
                        || unescape(text).to_lowercase().contains(wanted)
                })
            })
            && self.filter.below.is_none_or(|below| {
                history.sources.iter().any(|source| {
                    source
                        .parse::<Ord>()
                        .ok()
                        .and_then(|ord| ord.slot_path().cloned())
                        .is_some_and(|path| path.is_within(below))
                })
            })
    }
}

fn read_row(row: &Row<'_>) -> Option<ListedHistory> {
    let text = |at: usize| row.cell(at).some().map(str::to_owned);
    let id = text(0)?;
    let record_type = text(2);
    let facets = row.cell(3).facets();
    let sources: Vec<String> = row
        .cell(1)
        .ord_list()
        .iter()
        .map(|source| Ord::parse(source).map_or_else(|_| source.clone(), |ord| ord.absolute()))
        .collect();
    let interval = text(5);
    let capacity = text(6);
    Some(ListedHistory {
        device: device_of(&id),
        kind: record_type.as_deref().and_then(SampleKind::of_record_type),
        units: unit_symbol(&facets),
        facets,
        time_zone: row.cell(4).some().map(zone_id),
        point_ord: point_of(&sources, record_type.as_deref()),
        interval_millis: interval.as_deref().and_then(interval_millis),
        interval,
        capacity_records: capacity.as_deref().and_then(capacity_records),
        capacity,
        full_policy: row.cell(7).some().map(str::to_lowercase),
        record_type,
        sources,
        id,
        extent: None,
    })
}

fn device_of(id: &str) -> Option<String> {
    let (device, _) = id.strip_prefix('/')?.split_once('/')?;
    Some(unescape(device))
}

/// A zone stands alone, or in front of its rules.
fn zone_id(text: &str) -> String {
    text.split(';').next().unwrap_or(text).trim().to_owned()
}

/// The point above the extension of a trend; an imported history names where it came from first, and no point here.
fn point_of(sources: &[String], record_type: Option<&str>) -> Option<String> {
    let [extension] = sources else { return None };
    let is_trend = record_type.is_none_or(|name| name.ends_with("TrendRecord"));
    let ord: Ord = extension.parse().ok()?;
    let parent = ord.slot_path()?.parent()?;
    (is_trend && !parent.is_root()).then(|| Ord::slot(parent).absolute())
}

/// `regular:900000`.
fn interval_millis(text: &str) -> Option<i64> {
    let (kind, millis) = text.split_once(':')?;
    millis
        .trim()
        .parse()
        .ok()
        .filter(|millis| kind == "regular" && *millis > 0)
}

/// `500`, `500 records`.
fn capacity_records(text: &str) -> Option<u64> {
    let digits: String = text
        .chars()
        .filter(|character| !matches!(character, ',' | '.' | '\u{a0}'))
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::web::cell::CellFormat;

    fn read(cells: &[&str]) -> ListedHistory {
        let cells = cells.iter().collect();
        let format = CellFormat::machine(chrono_tz::UTC);
        read_row(&Row {
            cells: &cells,
            format: &format,
        })
        .expect("a history")
    }

    fn trend() -> ListedHistory {
        read(&[
            "/Main$20St/Zone$201T",
            "local:|station:|slot:/Drivers/Net/Zone$201/T/Trend",
            "history:NumericTrendRecord",
            "units=u:celsius;°C;(K);+273.15;|precision=i:1",
            "Europe/Berlin;3600000;0",
            "regular:900000",
            "1,500 records",
            "Roll",
        ])
    }

    #[test]
    fn every_setting_of_a_trend_is_read() {
        let history = trend();
        assert_eq!(history.device.as_deref(), Some("Main St"));
        assert_eq!(history.kind, Some(SampleKind::Numeric));
        assert_eq!(history.units.as_deref(), Some("°C"));
        assert_eq!(history.time_zone.as_deref(), Some("Europe/Berlin"));
        assert_eq!(
            history.point_ord.as_deref(),
            Some("station:|slot:/Drivers/Net/Zone$201/T")
        );
        assert_eq!(
            (history.interval_millis, history.capacity_records),
            (Some(900_000), Some(1500))
        );
        assert_eq!(history.full_policy.as_deref(), Some("roll"));
    }

    #[test]
    fn a_station_that_tells_less_leaves_fields_out() {
        let bare = read(&["/A/B"]);
        let expected = ListedHistory {
            id: "/A/B".into(),
            device: Some("A".into()),
            ..ListedHistory::default()
        };
        assert_eq!(bare, expected);
        let odd = read(&[
            "/A/Log",
            "station:|slot:/Services/Audit/H",
            "history:AuditRecord",
            "",
            "null",
            "irregular",
            "unlimited",
            "stop",
        ]);
        assert_eq!(
            (odd.point_ord, odd.interval_millis, odd.capacity_records),
            (None, None, None)
        );
        assert_eq!(odd.interval.as_deref(), Some("irregular"));
        let imported = read(&["/A/B", "station:|slot:/X/Y\nstation:|slot:/Drivers/Import"]);
        assert_eq!((imported.sources.len(), imported.point_ord), (2, None));
    }

    #[test]
    fn filters_look_at_ids_and_sources_in_readable_form() {
        let history = trend();
        let takes = |filter: HistoryFilter<'_>| Wanted::new(&filter).takes(&history);
        let id = |prefix| HistoryFilter {
            id_prefix: Some(prefix),
            ..HistoryFilter::default()
        };
        assert!(takes(id("/Main$20St/")) && !takes(id("/main$20st/")));
        let text = |text| HistoryFilter {
            text: Some(text),
            ..HistoryFilter::default()
        };
        assert!(takes(text("zone 1")) && takes(text("NET/")) && !takes(text("zone 2")));
        let below: SlotPath = "slot:/Drivers/Net".parse().expect("a path");
        let beside: SlotPath = "slot:/Drivers/Ne".parse().expect("a path");
        let under = |below| HistoryFilter {
            below: Some(below),
            ..HistoryFilter::default()
        };
        assert!(takes(under(&below)) && !takes(under(&beside)));
    }
}
