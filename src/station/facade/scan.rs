//! Every component of a type below another, one by one as the station lists them (Tool surface §8.7, §13.5.2).

use std::ops::ControlFlow;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::list_page::is_bad_query;
use super::rows::{Row, RowsEnd};
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};

/// A component that a scan came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedComponent {
    pub path: SlotPath,
    /// Escaped slot name; empty for the root.
    pub name: String,
    pub display_name: String,
    pub type_spec: String,
}

/// How a scan ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The type asked for in the form `module:Type`.
    pub type_spec: String,
    /// Rows that the station sent, those without a component included.
    pub rows: usize,
    /// The time was over, or the answer cut, before the end.
    pub is_cut: bool,
}

/// Path, type and handle of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedComponent {
    pub path: SlotPath,
    pub type_spec: String,
    /// Hexadecimal digits; none where the station does not tell.
    pub handle: Option<String>,
}

/// Takes components as they come; a break ends the scan.
pub type TakeComponent<'t> = &'t mut (dyn FnMut(ScannedComponent) -> ControlFlow<()> + Send);

impl StationFacade {
    /// Shows every component of a type or its subtypes at and below a component to a visitor: one query, read as it
    /// comes.
    ///
    /// The type is written as for [`StationFacade::find_by_type`].
    ///
    /// # Errors
    /// [`FacadeError::UnknownType`] when the registry or the query refuses the type, and station errors.
    pub async fn scan_components(
        &self,
        scope: &CallScope,
        type_name: &str,
        below: &Ord,
        take: TakeComponent<'_>,
    ) -> FacadeResult<Scan> {
        let type_spec = self.complete_type(scope, type_name).await?;
        let base = self.slot_path(scope, below).await?;
        let query = format!(
            "station:|{base}|bql:select slotPath, name, displayName, type from {type_spec}"
        );
        let mut rows = 0;
        let ended = self
            .rows(scope, &query, &mut |row| {
                rows += 1;
                match scanned(&row) {
                    Some(component) => take(component),
                    None => ControlFlow::Continue(()),
                }
            })
            .await;
        match ended {
            Ok(end) => Ok(Scan {
                type_spec,
                rows,
                is_cut: end == RowsEnd::Cut,
            }),
            Err(error) => Err(match self.of_base(scope, &base, error).await {
                error if is_bad_query(&error) => FacadeError::UnknownType {
                    type_name: type_spec,
                },
                error => error,
            }),
        }
    }

    /// Path, type and handle of every component at and below a component; none when the station did not send the
    /// whole list in time.
    ///
    /// # Errors
    /// Station errors.
    pub async fn list_components(
        &self,
        scope: &CallScope,
        below: &SlotPath,
    ) -> FacadeResult<Option<Vec<ListedComponent>>> {
        match self.list_with(scope, below, ", handle").await {
            // A station that does not know the column still knows the rest.
            Err(error) if is_bad_query(&error) => match self.list_with(scope, below, "").await {
                Err(error) => Err(self.of_base(scope, below, error).await),
                listed => listed,
            },
            Err(error) => Err(self.of_base(scope, below, error).await),
            listed => listed,
        }
    }

    async fn list_with(
        &self,
        scope: &CallScope,
        below: &SlotPath,
        handle_column: &str,
    ) -> FacadeResult<Option<Vec<ListedComponent>>> {
        let query = format!(
            "station:|{below}|bql:select slotPath, type{handle_column} from baja:Component"
        );
        let mut components = Vec::new();
        let end = self
            .rows(scope, &query, &mut |row| {
                if let Some(path) = path_of(row.cell(0).text()) {
                    components.push(ListedComponent {
                        path,
                        type_spec: row.cell(1).text().to_owned(),
                        handle: handle_of(row.cell(2).text()),
                    });
                }
                ControlFlow::Continue(())
            })
            .await?;
        Ok((end == RowsEnd::Complete).then_some(components))
    }
}

fn scanned(row: &Row<'_>) -> Option<ScannedComponent> {
    Some(ScannedComponent {
        path: path_of(row.cell(0).text())?,
        name: row.cell(1).text().to_owned(),
        display_name: row.cell(2).text().to_owned(),
        type_spec: row.cell(3).text().to_owned(),
    })
}

fn path_of(text: &str) -> Option<SlotPath> {
    match Ord::component(text) {
        Ok(Ord::Slot(path)) => Some(path),
        _ => None,
    }
}

fn handle_of(text: &str) -> Option<String> {
    match Ord::component(text) {
        Ok(Ord::Handle(digits)) => Some(digits),
        _ => None,
    }
}
