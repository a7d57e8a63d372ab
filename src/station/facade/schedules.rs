//! The schedules of a station: what they put out now, and what comes next (Station web specification §3.4).

use std::ops::ControlFlow;

use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::prefer;
use super::list_page::{ListPage, PageRequest, Pager, is_bad_query};
use super::obix_search::{Next, SearchEnd};
use super::overrides::{absolute, unit_symbol};
use super::rows::Row;
use super::schedule_part::{Part, facets_of, is_schedule_type};
use super::schedule_program::{Effective, effective_of, instant_of};
use super::status_reading::StatusReading;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};

/// The columns, in the order in which cells are read.
const COLUMNS: &str = "slotPath, displayName, type, out.value, out.status, nextTime, nextValue.value, nextValue.status, \
                       facets, effective.start, effective.end";

/// The type of all schedules and of their parts.
const TYPE: &str = "schedule:AbstractSchedule";

/// A schedule at a glance; a field is none when the station did not tell it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSchedule {
    /// Absolute ord.
    pub ord: String,
    pub display_name: String,
    pub type_spec: String,
    pub out: Option<StatusReading>,
    /// When the output changes next.
    pub next_time: Option<DateTime<FixedOffset>>,
    pub next_value: Option<StatusReading>,
    /// Unit symbol of the output.
    pub units: Option<String>,
    pub effective: Option<Effective>,
}

impl StationFacade {
    /// Schedules at and below a component, without the parts that they consist of.
    ///
    /// # Errors
    /// Station errors.
    pub async fn schedules(
        &self,
        scope: &CallScope,
        below: &Ord,
        page: PageRequest,
    ) -> FacadeResult<ListPage<ListedSchedule>> {
        let zone = self.zone(scope).await?;
        let path = self.slot_path(scope, below).await?;
        match self.schedules_by_query(scope, &path, page, zone).await {
            Err(error) if self.may_fall_back(&error) => self
                .schedules_by_obix(scope, &path, page, zone)
                .await
                .map_err(|second| prefer(error, second)),
            Err(error) => Err(self.of_base(scope, &path, error).await),
            listed => listed,
        }
    }

    async fn schedules_by_query(
        &self,
        scope: &CallScope,
        path: &SlotPath,
        page: PageRequest,
        zone: Tz,
    ) -> FacadeResult<ListPage<ListedSchedule>> {
        // `stop` keeps the station from listing the parts of each schedule; not every version knows the word.
        let query = |stop| format!("station:|{path}|bql:select {COLUMNS} from {TYPE}{stop}");
        let error = match self.outermost(scope, &query(" stop"), page, zone).await {
            Err(error) if is_bad_query(&error) => error,
            outcome => return outcome,
        };
        match self.outermost(scope, &query(""), page, zone).await {
            Err(second) if is_bad_query(&second) => {
                if self.knows_schedules(scope).await? {
                    return Err(second);
                }
                tracing::debug!(%error, "the station has no schedule module, so it has no schedules");
                Ok(Pager::new(page).page)
            }
            outcome => outcome,
        }
    }

    async fn knows_schedules(&self, scope: &CallScope) -> FacadeResult<bool> {
        let record = self
            .over_box(async { Ok(self.boxp().type_record(scope, TYPE).await?) })
            .await;
        match record {
            Ok(record) => Ok(record.is_some()),
            // Without a registry nobody can say that the type is not there.
            Err(error) if self.may_fall_back(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The schedules of a query that stand in no other schedule.
    async fn outermost(
        &self,
        scope: &CallScope,
        query: &str,
        page: PageRequest,
        zone: Tz,
    ) -> FacadeResult<ListPage<ListedSchedule>> {
        let mut pager = Pager::new(page);
        let mut seen: Vec<SlotPath> = Vec::new();
        self.page_rows(scope, query, &mut pager, &mut |row| {
            let ord = Ord::component(row.cell(0).text()).ok();
            if let Some(path) = ord.and_then(|ord| ord.slot_path().cloned()) {
                // Components come before what they hold, so the last few tell.
                if seen.iter().rev().any(|outer| path.is_within(outer)) {
                    return Ok(Vec::new());
                }
                seen.push(path);
            }
            Ok(vec![read_row(row, zone)?])
        })
        .await?;
        Ok(pager.page)
    }

    async fn schedules_by_obix(
        &self,
        scope: &CallScope,
        path: &SlotPath,
        page: PageRequest,
        zone: Tz,
    ) -> FacadeResult<ListPage<ListedSchedule>> {
        let mut pager = Pager::new(page);
        let end = self
            .search_by_obix(scope, path, &mut |path, document, folder| {
                if !folder.type_spec.as_deref().is_some_and(is_schedule_type) {
                    return Next::Below;
                }
                let Some(ord) = path.slot_path() else {
                    return Next::Below;
                };
                let facets = facets_of(document);
                let part = Part::of_obix(self.obix(), path, document, folder, &facets);
                match pager.take(listed(&part, absolute(&ord), zone, &facets)) {
                    ControlFlow::Continue(()) => Next::Beside,
                    ControlFlow::Break(()) => Next::End,
                }
            })
            .await?;
        pager.page.truncated_by_timeout = end == SearchEnd::Cut;
        Ok(pager.page)
    }
}

fn read_row(row: &Row<'_>, zone: Tz) -> FacadeResult<ListedSchedule> {
    let type_spec = row.cell(2).text();
    let facets = row.cell(8).facets();
    let value = |value, status| StatusReading::of_cells(row, value, status, type_spec, &facets);
    let next = row.cell(5).time(row.format).map_err(FacadeError::from)?;
    let text = |at: usize| row.cell(at).some().map(str::to_owned);
    Ok(ListedSchedule {
        ord: absolute(row.cell(0).text()),
        display_name: row.cell(1).text().to_owned(),
        out: value(3, 4),
        next_time: next.map(|instant| instant.with_timezone(&zone).fixed_offset()),
        // Without a time there is no change: the slot then holds a default.
        next_value: next.and_then(|_| value(6, 7)),
        units: unit_symbol(&facets),
        effective: Effective::new(text(9), text(10), None),
        type_spec: type_spec.to_owned(),
    })
}

fn listed(part: &Part, ord: String, zone: Tz, facets: &Facets) -> ListedSchedule {
    let next_time = instant_of(part, "nextTime", zone);
    ListedSchedule {
        ord,
        display_name: part.display_name.clone(),
        type_spec: part.type_spec.clone(),
        out: part.reading("out"),
        next_time,
        next_value: next_time.and_then(|_| part.reading("nextValue")),
        units: unit_symbol(facets),
        effective: effective_of(part),
    }
}
