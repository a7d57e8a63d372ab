//! One page of a list: what to skip, the limit, and why there may be more.

use std::ops::ControlFlow;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::is_timeout;
use super::rows::{Row, RowsEnd};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};

/// Which part of a list is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// Matching items to leave out first.
    pub offset: usize,
    /// Most items.
    pub limit: usize,
}

impl PageRequest {
    /// Rows that prove whether there is more, where every row is an item.
    pub(super) fn rows(self) -> usize {
        self.offset + self.limit + 1
    }
}

/// A part of a list in the station's order.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    /// More items exist behind the limit.
    pub truncated: bool,
    /// The time was over, or the answer cut, before the list ended.
    pub truncated_by_timeout: bool,
    /// What else is missing, in sentences.
    pub notes: Vec<String>,
}

/// Collects a page from items that come one by one.
#[derive(Debug)]
pub(super) struct Pager<T> {
    skip: usize,
    limit: usize,
    pub page: ListPage<T>,
}

impl<T> Pager<T> {
    pub fn new(request: PageRequest) -> Self {
        Self {
            skip: request.offset,
            limit: request.limit,
            page: ListPage {
                items: Vec::new(),
                truncated: false,
                truncated_by_timeout: false,
                notes: Vec::new(),
            },
        }
    }

    /// Takes the next item; breaks at the first one beyond the limit.
    pub fn take(&mut self, item: T) -> ControlFlow<()> {
        if self.skip > 0 {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        if self.page.items.len() == self.limit {
            self.page.truncated = true;
            return ControlFlow::Break(());
        }
        self.page.items.push(item);
        ControlFlow::Continue(())
    }

    /// Takes several items of one row.
    pub fn take_all(&mut self, items: impl IntoIterator<Item = T>) -> ControlFlow<()> {
        items.into_iter().try_for_each(|item| self.take(item))
    }
}

impl StationFacade {
    /// The error of a query below a component, or of the component itself where that is what is not there: a refused
    /// table does not tell a wrong query from a wrong base.
    pub(super) async fn of_base(
        &self,
        scope: &CallScope,
        base: &SlotPath,
        error: FacadeError,
    ) -> FacadeError {
        let may_be_base = |error: &FacadeError| {
            matches!(error, FacadeError::Station(StationError::NotFound { .. }))
        };
        if !is_bad_query(&error) && !may_be_base(&error) {
            return error;
        }
        match self.resolve(scope, &Ord::slot(base.clone())).await {
            Err(missing) if may_be_base(&missing) => missing,
            _ => error,
        }
    }

    /// Runs a query whose rows hold items of a page.
    ///
    /// # Errors
    /// Those of the query before its first row, and those of a row that cannot be read.
    pub(super) async fn page_rows<T: Send>(
        &self,
        scope: &CallScope,
        query: &str,
        pager: &mut Pager<T>,
        items: &mut (dyn FnMut(&Row<'_>) -> FacadeResult<Vec<T>> + Send),
    ) -> FacadeResult<()> {
        let mut failure = None;
        let ended = self
            .rows(scope, query, &mut |row| match items(&row) {
                Ok(items) => pager.take_all(items),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            })
            .await;
        if let Some(error) = failure {
            return Err(error);
        }
        match ended {
            Ok(RowsEnd::Cut) => pager.page.truncated_by_timeout = true,
            Ok(RowsEnd::Complete | RowsEnd::Stopped) => {}
            Err(error) if !pager.page.items.is_empty() && is_timeout(&error) => {
                pager.page.truncated_by_timeout = true;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The station could not make sense of the query: a type or a column is unknown to it.
pub(super) fn is_bad_query(error: &FacadeError) -> bool {
    matches!(error, FacadeError::Station(StationError::BadQuery { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_skips_takes_and_tells_of_more() {
        let page = |offset, limit| {
            let mut pager = Pager::new(PageRequest { offset, limit });
            let flow = pager.take_all(1..=5);
            (pager.page.items, pager.page.truncated, flow.is_break())
        };
        assert_eq!(page(0, 2), (vec![1, 2], true, true));
        assert_eq!(page(2, 3), (vec![3, 4, 5], false, false));
        assert_eq!(page(4, 9), (vec![5], false, false));
        assert_eq!(page(9, 1), (vec![], false, false));
    }
}
