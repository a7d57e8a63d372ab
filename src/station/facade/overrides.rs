//! Points in override: emergency level 1, operator level 8, or overridden at the device (Station web specification
//! §3.4, §4.8, §5.3).

use std::ops::ControlFlow;

use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::prefer;
use super::list_page::{ListPage, PageRequest, Pager, is_bad_query};
use super::obix_search::{Next, SearchEnd};
use super::rows::Row;
use super::status_reading::StatusReading;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::obix::point::ObixPoint;
use crate::station::ord::{Ord, SlotPath, unescape};
use crate::station::priority::{ActiveLevel, Priority};
use crate::station::status::{Status, StatusBits};
use crate::station::web::cell::Cell;

/// The columns, in the order in which cells are read.
const COLUMNS: &str = "slotPath, displayName, type, out, out.value, out.status, in1.value, in1.status, in8.value, \
                       in8.status, overrideExpiration, facets";

/// How much of the choice of points a station's queries can make; found out once and remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusFilter {
    /// Overridden outputs, and overrides that wait below a higher level.
    OutputAndInputs,
    /// Overridden outputs only.
    Output,
    /// Nothing: every point is looked at.
    Nothing,
}

impl StatusFilter {
    fn condition(self) -> &'static str {
        match self {
            Self::OutputAndInputs => {
                " where out.status.overridden = true or in8.status.isNull = false or in1.status.isNull = false"
            }
            Self::Output => " where out.status.overridden = true",
            Self::Nothing => "",
        }
    }

    /// Holds on some point exactly where a station can tell these bits: a bit that it cannot tell equals neither.
    fn trial(self) -> &'static str {
        match self {
            Self::OutputAndInputs => {
                " where (out.status.overridden = true or out.status.overridden = false) and \
                 (in8.status.isNull = true or in8.status.isNull = false)"
            }
            Self::Output => " where out.status.overridden = true or out.status.overridden = false",
            Self::Nothing => "",
        }
    }
}

/// Who holds a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideOrigin {
    /// Level 1.
    Emergency,
    /// Level 8.
    Operator,
    /// The output says overridden, but neither level is set: overridden at the controller itself.
    Device,
}

/// One override of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointOverride {
    /// Absolute ord of the point.
    pub ord: String,
    pub display_name: String,
    pub type_spec: String,
    pub origin: OverrideOrigin,
    /// Level of the override; of the output for one at the device, where known.
    pub level: Option<u8>,
    /// Whether the output follows it; a higher level may win.
    pub is_active: bool,
    pub value: StatusReading,
    /// Unit symbol.
    pub units: Option<String>,
    /// When it ends by itself; none for a permanent one.
    pub expires: Option<DateTime<FixedOffset>>,
}

impl StationFacade {
    /// Overrides of the points at and below a component: one query, else the points one by one over oBIX.
    ///
    /// # Errors
    /// Station errors.
    pub async fn overrides(
        &self,
        scope: &CallScope,
        below: &Ord,
        page: PageRequest,
    ) -> FacadeResult<ListPage<PointOverride>> {
        let zone = self.zone(scope).await?;
        let path = self.slot_path(scope, below).await?;
        match self.overrides_by_query(scope, &path, page, zone).await {
            Err(error) if self.may_fall_back(&error) => self
                .overrides_by_obix(scope, &path, page, zone)
                .await
                .map_err(|second| prefer(error, second)),
            Err(error) => Err(self.of_base(scope, &path, error).await),
            listed => listed,
        }
    }

    async fn overrides_by_query(
        &self,
        scope: &CallScope,
        path: &SlotPath,
        page: PageRequest,
        zone: Tz,
    ) -> FacadeResult<ListPage<PointOverride>> {
        let filter = self.status_filter(scope, path).await?;
        let top = match filter {
            StatusFilter::Nothing => String::new(),
            _ => format!("top {} ", page.rows()),
        };
        let query = format!(
            "station:|{path}|bql:select {top}{COLUMNS} from control:ControlPoint{}",
            filter.condition()
        );
        let mut pager = Pager::new(page);
        self.page_rows(scope, &query, &mut pager, &mut |row| read_row(row, zone))
            .await?;
        Ok(pager.page)
    }

    /// What queries below a component can filter by. A station that cannot tell a status bit would find no override at
    /// all instead of an error, so each filter is tried on a point first.
    async fn status_filter(
        &self,
        scope: &CallScope,
        path: &SlotPath,
    ) -> FacadeResult<StatusFilter> {
        if let Some(known) = self.learned(|learned| learned.status_filter) {
            return Ok(known);
        }
        for filter in [StatusFilter::OutputAndInputs, StatusFilter::Output] {
            let query = format!(
                "station:|{path}|bql:select top 1 name from control:ControlPoint{}",
                filter.trial()
            );
            let mut holds = false;
            let asked = self
                .rows(scope, &query, &mut |_| {
                    holds = true;
                    ControlFlow::Break(())
                })
                .await;
            match asked {
                Ok(_) if holds => {
                    // Below a component without writable points the output is all there is.
                    if filter == StatusFilter::OutputAndInputs {
                        self.learned(|learned| learned.status_filter = Some(filter));
                    }
                    return Ok(filter);
                }
                Ok(_) => {}
                Err(error) if is_bad_query(&error) => {
                    tracing::debug!(%error, "the station cannot filter points by these status bits");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(StatusFilter::Nothing)
    }

    async fn overrides_by_obix(
        &self,
        scope: &CallScope,
        path: &SlotPath,
        page: PageRequest,
        zone: Tz,
    ) -> FacadeResult<ListPage<PointOverride>> {
        let mut pager = Pager::new(page);
        let end = self
            .search_by_obix(scope, path, &mut |path, document, folder| {
                let Ok(point) = self.obix().point_of(path, document) else {
                    return Next::Below;
                };
                let Some(ord) = path.slot_path().map(|path| format!("station:|{path}")) else {
                    return Next::Below;
                };
                let named = folder
                    .display_name
                    .clone()
                    .unwrap_or_else(|| unescape(path.last_segment()));
                if pager
                    .take_all(read_point(&point, ord, named, zone))
                    .is_break()
                {
                    Next::End
                } else {
                    Next::Below
                }
            })
            .await?;
        pager.page.truncated_by_timeout = end == SearchEnd::Cut;
        Ok(pager.page)
    }
}

/// What is common to the overrides of one point.
struct Overridden {
    ord: String,
    display_name: String,
    type_spec: String,
    units: Option<String>,
    active: Option<ActiveLevel>,
    out: Option<StatusReading>,
    emergency: Option<StatusReading>,
    operator: Option<StatusReading>,
    expires: Option<DateTime<FixedOffset>>,
}

impl Overridden {
    fn overrides(self) -> Vec<PointOverride> {
        let active = self.active.and_then(ActiveLevel::priority);
        let one = |origin, priority: Option<Priority>, value: &StatusReading| PointOverride {
            ord: self.ord.clone(),
            display_name: self.display_name.clone(),
            type_spec: self.type_spec.clone(),
            origin,
            level: priority.map(Priority::level),
            is_active: origin == OverrideOrigin::Device || priority == active,
            value: value.clone(),
            units: self.units.clone(),
            expires: self.expires.filter(|_| origin == OverrideOrigin::Operator),
        };
        let set =
            |value: &Option<StatusReading>| value.clone().filter(|value| value.status.is_valid());
        let mut found = Vec::new();
        if let Some(value) = set(&self.emergency) {
            found.push(one(
                OverrideOrigin::Emergency,
                Some(Priority::EMERGENCY),
                &value,
            ));
        }
        if let Some(value) = set(&self.operator) {
            found.push(one(
                OverrideOrigin::Operator,
                Some(Priority::MANUAL),
                &value,
            ));
        }
        if let (true, Some(out)) = (found.is_empty(), &self.out)
            && out.status.contains(StatusBits::OVERRIDDEN)
        {
            found.push(one(OverrideOrigin::Device, active, out));
        }
        found
    }
}

fn read_row(row: &Row<'_>, zone: Tz) -> FacadeResult<Vec<PointOverride>> {
    let type_spec = row.cell(2).text();
    let facets = row.cell(11).facets();
    let value = |value, status| StatusReading::of_cells(row, value, status, type_spec, &facets);
    let expires = row.cell(10).time(row.format).map_err(FacadeError::from)?;
    let point = Overridden {
        ord: absolute(row.cell(0).text()),
        display_name: row.cell(1).text().to_owned(),
        type_spec: type_spec.to_owned(),
        units: unit_symbol(&facets),
        active: row
            .cell(3)
            .status_text(row.format)
            .level
            .or_else(|| level_of(row.cell(5))),
        out: value(4, 5),
        emergency: value(6, 7),
        operator: value(8, 9),
        expires: expires.map(|instant| instant.with_timezone(&zone).fixed_offset()),
    };
    Ok(point.overrides())
}

/// In machine encoding the level stands beside the bits.
fn level_of(status: Cell<'_>) -> Option<ActiveLevel> {
    status.text().parse::<Status>().ok()?.active_level()
}

fn read_point(
    point: &ObixPoint,
    ord: String,
    display_name: String,
    zone: Tz,
) -> Vec<PointOverride> {
    let input = |priority: Priority| {
        let (_, reading) = point.inputs.iter().find(|(level, _)| *level == priority)?;
        Some(StatusReading::of_obix(reading, &point.facets))
    };
    let overridden = Overridden {
        ord,
        display_name,
        type_spec: point.type_spec.clone().unwrap_or_default(),
        units: unit_symbol(&point.facets),
        active: point.out.active_level,
        out: Some(StatusReading::of_obix(&point.out, &point.facets)),
        emergency: input(Priority::EMERGENCY),
        operator: input(Priority::MANUAL),
        expires: point
            .override_expiration
            .map(|instant| instant.with_timezone(&zone).fixed_offset()),
    };
    overridden.overrides()
}

pub(super) fn absolute(path: &str) -> String {
    Ord::component(path).map_or_else(|_| path.to_owned(), |ord| ord.absolute())
}

pub(super) fn unit_symbol(facets: &Facets) -> Option<String> {
    facets
        .unit()
        .map(|unit| unit.symbol().to_owned())
        .filter(|symbol| !symbol.is_empty())
}
