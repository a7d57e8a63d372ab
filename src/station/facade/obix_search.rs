//! A search through the component tree over oBIX, level by level, many components per request (oBIX specification §4.4, §8).

use std::collections::HashSet;

use super::StationFacade;
use super::error::FacadeResult;
use super::history::is_timeout;
use super::obix_routes::obix_path;
use crate::station::boxp::tree::MAX_COMPONENTS;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::obix::client::Document;
use crate::station::obix::folder::{ComponentClass, Folder};
use crate::station::obix::href::ObixPath;
use crate::station::ord::SlotPath;

/// Components per request: their documents stay far below the response limit.
const CHUNK: usize = 100;

/// What a visitor wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The children of this component too.
    Below,
    /// Other components only.
    Beside,
    /// Nothing more.
    End,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchEnd {
    Complete,
    /// The visitor had enough.
    Ended,
    /// The time was over or the tree too large: components may be missing.
    Cut,
}

/// Looks at a component: its path, its document, its children.
pub(super) type Visit<'v> = &'v mut (dyn FnMut(&ObixPath, &Document, &Folder) -> Next + Send);

impl StationFacade {
    /// Visits a component and what lies below it, without the extensions of points.
    ///
    /// # Errors
    /// Those of the start, and of a lost connection; components that cannot be read are left out.
    pub(super) async fn search_by_obix(
        &self,
        scope: &CallScope,
        start: &SlotPath,
        visit: Visit<'_>,
    ) -> FacadeResult<SearchEnd> {
        let start = obix_path(start)?;
        let document = self
            .over_obix(async { Ok(self.obix().get(scope, &start).await?) })
            .await?;
        let folder = Folder::read(&start, &document);
        match visit(&start, &document, &folder) {
            Next::Below => {}
            Next::Beside => return Ok(SearchEnd::Complete),
            Next::End => return Ok(SearchEnd::Ended),
        }
        let mut seen = HashSet::from([start.key()]);
        let mut level = unseen_children(&folder, &mut seen);
        while !level.is_empty() {
            let mut next = Vec::new();
            for paths in level.chunks(CHUNK) {
                let answers = match self
                    .over_obix(async { Ok(self.obix().documents(scope, paths).await?) })
                    .await
                {
                    Ok(answers) => answers,
                    Err(error) if is_timeout(&error) => return Ok(SearchEnd::Cut),
                    Err(error) => return Err(error),
                };
                let mut is_late = false;
                for (path, answer) in paths.iter().zip(answers) {
                    let document = match answer {
                        Ok(document) => document,
                        Err(StationError::Timeout { .. } | StationError::Queued { .. }) => {
                            is_late = true;
                            continue;
                        }
                        Err(error) => {
                            tracing::debug!(%error, "a component is left out of the search");
                            continue;
                        }
                    };
                    let folder = Folder::read(path, &document);
                    match visit(path, &document, &folder) {
                        Next::Below => next.extend(unseen_children(&folder, &mut seen)),
                        Next::Beside => {}
                        Next::End => return Ok(SearchEnd::Ended),
                    }
                    if seen.len() > MAX_COMPONENTS {
                        return Ok(SearchEnd::Cut);
                    }
                }
                if is_late {
                    return Ok(SearchEnd::Cut);
                }
            }
            level = next;
        }
        Ok(SearchEnd::Complete)
    }
}

fn unseen_children(folder: &Folder, seen: &mut HashSet<String>) -> Vec<ObixPath> {
    folder
        .children
        .iter()
        .filter(|child| matches!(child.class, ComponentClass::Point | ComponentClass::Other))
        .map(|child| &child.path)
        .filter(|path| path.is_in_tree() && seen.insert(path.key()))
        .cloned()
        .collect()
}
