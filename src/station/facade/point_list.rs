//! All points below a component with what is known of each, in one query (Tool surface §13.5.1).

use super::StationFacade;
use super::error::FacadeResult;
use super::history::prefer;
use super::list_page::{ListPage, PageRequest, Pager};
use super::obix_search::{Next, SearchEnd};
use super::overrides::absolute;
use super::status_reading::StatusReading;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath, unescape};
use crate::station::units::Unit;

/// The columns, in the order in which cells are read.
const COLUMNS: &str = "slotPath, displayName, type, out.value, out.status, facets";

/// A control point at a glance.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedPoint {
    /// Absolute ord.
    pub ord: String,
    pub display_name: String,
    pub type_spec: String,
    /// None where the station told no output.
    pub out: Option<StatusReading>,
    pub facets: Facets,
}

impl ListedPoint {
    /// The unit of its values; none for the null unit.
    pub fn unit(&self) -> Option<&Unit> {
        self.facets.unit().filter(|unit| !unit.is_null())
    }
}

impl StationFacade {
    /// The control points at and below a component, in the station's order.
    ///
    /// # Errors
    /// Station errors.
    pub async fn points_below(
        &self,
        scope: &CallScope,
        below: &Ord,
        page: PageRequest,
    ) -> FacadeResult<ListPage<ListedPoint>> {
        let path = self.slot_path(scope, below).await?;
        match self.points_by_query(scope, &path, page).await {
            Err(error) if self.may_fall_back(&error) => self
                .points_by_obix(scope, &path, page)
                .await
                .map_err(|second| prefer(error, second)),
            Err(error) => Err(self.of_base(scope, &path, error).await),
            listed => listed,
        }
    }

    async fn points_by_query(
        &self,
        scope: &CallScope,
        path: &SlotPath,
        page: PageRequest,
    ) -> FacadeResult<ListPage<ListedPoint>> {
        let query = format!(
            "station:|{path}|bql:select top {} {COLUMNS} from control:ControlPoint",
            page.rows()
        );
        let mut pager = Pager::new(page);
        self.page_rows(scope, &query, &mut pager, &mut |row| {
            let facets = row.cell(5).facets();
            let type_spec = row.cell(2).text();
            Ok(vec![ListedPoint {
                ord: absolute(row.cell(0).text()),
                display_name: row.cell(1).text().to_owned(),
                type_spec: type_spec.to_owned(),
                out: StatusReading::of_cells(row, 3, 4, type_spec, &facets),
                facets,
            }])
        })
        .await?;
        Ok(pager.page)
    }

    async fn points_by_obix(
        &self,
        scope: &CallScope,
        path: &SlotPath,
        page: PageRequest,
    ) -> FacadeResult<ListPage<ListedPoint>> {
        let mut pager = Pager::new(page);
        let end = self
            .search_by_obix(scope, path, &mut |path, document, folder| {
                let Ok(point) = self.obix().point_of(path, document) else {
                    return Next::Below;
                };
                let Some(ord) = path.slot_path().map(|path| format!("station:|{path}")) else {
                    return Next::Below;
                };
                let listed = ListedPoint {
                    ord,
                    display_name: folder
                        .display_name
                        .clone()
                        .unwrap_or_else(|| unescape(path.last_segment())),
                    out: Some(StatusReading::of_obix(&point.out, &point.facets)),
                    type_spec: point.type_spec.unwrap_or_default(),
                    facets: point.facets,
                };
                if pager.take(listed).is_break() {
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
