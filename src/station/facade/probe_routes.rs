//! What an ord leads to, as oBIX and BQL tell it where BOX is not offered (Tool surface §8.6, §13.5).

use std::ops::ControlFlow;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::prefer;
use super::obix_routes::{is_point_type, obix_path};
use super::view::{PresentOrd, Probe, ProbedComponent};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::obix::folder::{ComponentClass, Folder};
use crate::station::ord::{Ord, SlotPath};

/// A component comes first among what lies below it; a station that sorts otherwise is not searched to the end.
const ROWS_TO_ITSELF: usize = 200;

impl StationFacade {
    /// `refusal` is BOX's, for ords that only BOX can resolve.
    pub(super) async fn probe_without_box(
        &self,
        scope: &CallScope,
        ord: &Ord,
        refusal: FacadeError,
    ) -> FacadeResult<Probe> {
        // A handle is looked up over BOX, and histories and alarms are no components.
        let Some(path) = ord.slot_path() else {
            return Err(refusal);
        };
        let outcome = match self.probe_by_obix(scope, path).await {
            Err(error) if self.may_fall_back(&error) => self
                .probe_by_query(scope, path)
                .await
                .map_err(|second| prefer(error, second)),
            outcome => outcome,
        };
        match outcome {
            Ok(present) => Ok(Probe::Present(present)),
            Err(error @ FacadeError::Station(StationError::NotFound { .. })) => Ok(Probe::Absent {
                reason: error.to_string(),
                denied: false,
            }),
            Err(error @ FacadeError::Station(StationError::PermissionDenied { .. })) => {
                Ok(Probe::Absent {
                    reason: error.to_string(),
                    denied: true,
                })
            }
            Err(error) => Err(prefer(refusal, error)),
        }
    }

    async fn probe_by_obix(&self, scope: &CallScope, path: &SlotPath) -> FacadeResult<PresentOrd> {
        let folder = self.obix_folder(scope, path).await?;
        let type_spec = folder.type_spec.clone().unwrap_or_default();
        // A struct has a document like a component; only its parent tells them apart.
        let is_component = match path.parent() {
            None => true,
            Some(parent) => {
                let siblings = self.obix_folder(scope, &parent).await?.children;
                let own = path.name().map(|name| name.as_str().to_owned());
                siblings
                    .iter()
                    .any(|child| Some(&child.name) == own.as_ref())
            }
        };
        let component = is_component.then(|| component_of(path, &folder, &type_spec));
        Ok(PresentOrd {
            type_spec,
            component,
        })
    }

    async fn obix_folder(&self, scope: &CallScope, path: &SlotPath) -> FacadeResult<Folder> {
        let target = obix_path(path)?;
        self.over_obix(async { Ok(self.obix().folder(scope, &target).await?) })
            .await
    }

    async fn probe_by_query(&self, scope: &CallScope, path: &SlotPath) -> FacadeResult<PresentOrd> {
        let Some((display_name, type_spec)) = self.own_row(scope, path, "baja:Component").await?
        else {
            return Err(StationError::InterfaceMissing {
                station: self.station(),
                needs: "BOX or oBIX",
                detail: format!("BQL tells of components only, and {path} is none"),
            }
            .into());
        };
        let mut facts = ProbedComponent {
            display_name,
            parent_ord: path.parent().map(|parent| Ord::slot(parent).absolute()),
            is_control_point: is_point_type(&type_spec)
                || self
                    .own_row(scope, path, "control:ControlPoint")
                    .await?
                    .is_some(),
            ..ProbedComponent::default()
        };
        if facts.is_control_point {
            facts.is_writable = type_spec.ends_with("Writable");
            facts.history_extensions = self.extensions(scope, path, "history:HistoryExt").await?;
            facts.is_alarm_source = !self
                .extensions(scope, path, "alarm:AlarmSourceExt")
                .await?
                .is_empty();
        }
        Ok(PresentOrd {
            type_spec,
            component: Some(facts),
        })
    }

    /// Display name and type of a component, when it is of this type.
    async fn own_row(
        &self,
        scope: &CallScope,
        path: &SlotPath,
        of_type: &str,
    ) -> FacadeResult<Option<(String, String)>> {
        let query = format!(
            "station:|{path}|bql:select top {ROWS_TO_ITSELF} slotPath, displayName, type from {of_type}"
        );
        let mut own = None;
        self.rows(scope, &query, &mut |row| {
            if path_in(row.cell(0).text()).as_ref() != Some(path) {
                return ControlFlow::Continue(());
            }
            own = Some((row.cell(1).text().to_owned(), row.cell(2).text().to_owned()));
            ControlFlow::Break(())
        })
        .await?;
        Ok(own)
    }

    /// Slot names of a point's own extensions of a type.
    async fn extensions(
        &self,
        scope: &CallScope,
        path: &SlotPath,
        of_type: &str,
    ) -> FacadeResult<Vec<String>> {
        let query = format!("station:|{path}|bql:select slotPath from {of_type}");
        let mut names = Vec::new();
        let asked = self
            .rows(scope, &query, &mut |row| {
                if let Some(found) = path_in(row.cell(0).text())
                    && found.parent().as_ref() == Some(path)
                    && let Some(name) = found.name()
                {
                    names.push(name.as_str().to_owned());
                }
                ControlFlow::Continue(())
            })
            .await;
        match asked {
            // A station without the module does not know the type: then there is no such extension.
            Ok(_) | Err(FacadeError::Station(StationError::BadQuery { .. })) => Ok(names),
            Err(error) => Err(error),
        }
    }
}

fn path_in(text: &str) -> Option<SlotPath> {
    Ord::component(text).ok()?.slot_path().cloned()
}

fn component_of(path: &SlotPath, folder: &Folder, type_spec: &str) -> ProbedComponent {
    let of_class = |class: ComponentClass| {
        let children = folder.children.iter();
        children.filter(move |child| child.class == class)
    };
    let is_control_point = folder.class == ComponentClass::Point;
    ProbedComponent {
        display_name: folder
            .display_name
            .clone()
            .unwrap_or_else(|| path.name().map(|name| name.display()).unwrap_or_default()),
        parent_ord: path.parent().map(|parent| Ord::slot(parent).absolute()),
        // Topics and hidden slots have no oBIX form.
        slot_count: None,
        actions: None,
        is_control_point,
        is_writable: is_control_point && type_spec.ends_with("Writable"),
        is_alarm_source: of_class(ComponentClass::AlarmExtension).next().is_some(),
        history_extensions: of_class(ComponentClass::HistoryExtension)
            .map(|child| child.name.clone())
            .collect(),
    }
}
