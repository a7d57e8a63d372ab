//! Type and facets of every point, in one query: what exports say about units and states.

use std::ops::ControlFlow;

use super::StationFacade;
use super::error::FacadeResult;
use super::rows::RowsEnd;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// Type and facets of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedPoint {
    /// Absolute ord.
    pub ord: String,
    /// `module:Type`.
    pub type_spec: String,
    pub facets: Facets,
}

/// The points that a station described, and whether these are all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribedPoints {
    pub points: Vec<DescribedPoint>,
    /// False when the time was over or the answer too large.
    pub complete: bool,
}

impl StationFacade {
    /// Type and facets of all control points that this identity may see.
    ///
    /// # Errors
    /// Station errors; a row that names no component is left out.
    pub async fn described_points(&self, scope: &CallScope) -> FacadeResult<DescribedPoints> {
        let query = "station:|slot:/|bql:select slotPath, type, facets from control:ControlPoint";
        let mut points = Vec::new();
        let ended = self
            .rows(scope, query, &mut |row| {
                if let Ok(ord) = Ord::component(row.cell(0).text()) {
                    points.push(DescribedPoint {
                        ord: ord.absolute(),
                        type_spec: row.cell(1).text().to_owned(),
                        facets: row.cell(2).facets(),
                    });
                }
                ControlFlow::Continue(())
            })
            .await?;
        Ok(DescribedPoints {
            points,
            complete: ended == RowsEnd::Complete,
        })
    }
}
