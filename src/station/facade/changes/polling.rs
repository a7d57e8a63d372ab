//! Reading many outputs at once, and doing so again and again where nothing better is offered.

use super::PointOutput;
use super::driver::{Step, StepFailure};
use crate::station::boxp::{Node, PointView};
use crate::station::error::StationError;
use crate::station::facade::StationFacade;
use crate::station::facade::error::{FacadeError, FacadeResult};
use crate::station::facade::identity::is_hopeless;
use crate::station::facade::interfaces::Interface;
use crate::station::facade::obix_routes::{obix_path, typed_value};
use crate::station::facade::points::reading_of;
use crate::station::http::CallScope;
use crate::station::obix::ValueReading;
use crate::station::ord::Ord;

/// One answer per ord, in the order of the ords.
type Outputs = Vec<FacadeResult<PointOutput>>;

/// One reading of every point.
pub(super) async fn step(
    facade: &StationFacade,
    scope: &CallScope,
    wanted: &[Ord],
) -> Result<Step, StepFailure> {
    let outputs = facade
        .read_outputs(scope, wanted)
        .await
        .map_err(StepFailure::of)?;
    let observed = wanted.iter().cloned().zip(
        outputs
            .into_iter()
            .map(|output| output.map_err(|error| error.to_string())),
    );
    Ok(Step {
        observed: observed.collect(),
        refused: Vec::new(),
    })
}

impl StationFacade {
    /// Reads the outputs of many control points in few requests: oBIX batch, else BOX, else one by one. What one
    /// interface does not show is asked of the next.
    ///
    /// # Errors
    /// Failures of a point stand in its answer; the call fails only when the station cannot be asked.
    pub async fn read_outputs(&self, scope: &CallScope, ords: &[Ord]) -> FacadeResult<Outputs> {
        let mut outputs = match self.outputs_by_obix(scope, ords).await {
            Err(error) if self.may_fall_back(&error) => vec![Err(error); ords.len()],
            outcome => outcome?,
        };
        let (places, missing) = unanswered(&outputs, ords);
        if missing.is_empty() {
            return Ok(outputs);
        }
        let second = match self.outputs_by_box(scope, &missing).await {
            Err(error) if self.may_fall_back(&error) => {
                self.outputs_singly(scope, &missing).await?
            }
            outcome => outcome?,
        };
        for (place, output) in places.into_iter().zip(second) {
            if let Some(slot) = outputs.get_mut(place) {
                *slot = output;
            }
        }
        Ok(outputs)
    }

    async fn outputs_by_obix(&self, scope: &CallScope, ords: &[Ord]) -> FacadeResult<Outputs> {
        if let Some(error) = self
            .interfaces
            .missing(Interface::Obix, self.clock.monotonic())
        {
            return Err(error);
        }
        let mut outputs: Outputs = Vec::with_capacity(ords.len());
        let (mut paths, mut places) = (Vec::new(), Vec::new());
        for (place, ord) in ords.iter().enumerate() {
            match self
                .slot_path(scope, ord)
                .await
                .and_then(|path| obix_path(&path))
            {
                Ok(path) => {
                    paths.push(path);
                    places.push(place);
                    // Replaced by the answer below.
                    outputs.push(Ok(PointOutput::default()));
                }
                Err(error) if is_hopeless(&error) => return Err(error),
                Err(error) => outputs.push(Err(error)),
            }
        }
        let answers = self
            .over(Interface::Obix, async {
                Ok(self.obix().read_values(scope, &paths).await?)
            })
            .await?;
        for (place, answer) in places.into_iter().zip(answers) {
            if let Some(slot) = outputs.get_mut(place) {
                *slot = answer.map(output_of_reading).map_err(FacadeError::from);
            }
        }
        Ok(outputs)
    }

    async fn outputs_by_box(&self, scope: &CallScope, ords: &[Ord]) -> FacadeResult<Outputs> {
        let nodes = self
            .over_box(async { Ok(self.boxp().resolve_many(scope, ords).await?) })
            .await?;
        let mut outputs = Vec::with_capacity(ords.len());
        for (ord, node) in ords.iter().zip(nodes) {
            outputs.push(match node {
                Ok(node) => self.output_of_node(scope, ord, &node).await,
                Err(error) => Err(error.into()),
            });
        }
        Ok(outputs)
    }

    async fn outputs_singly(&self, scope: &CallScope, ords: &[Ord]) -> FacadeResult<Outputs> {
        let mut outputs = Vec::with_capacity(ords.len());
        for ord in ords {
            let reading = self.read_point(scope, ord).await;
            outputs.push(match reading {
                Ok(reading) => Ok(PointOutput {
                    value: reading.typed,
                    text: Some(reading.out).filter(|text| !text.is_empty()),
                    status: reading.status,
                }),
                Err(error) if is_hopeless(&error) => return Err(error),
                Err(error) => Err(error),
            });
        }
        Ok(outputs)
    }

    /// The output of a loaded component, with the defaults of its type where the station left them out.
    pub(super) async fn output_of_node(
        &self,
        scope: &CallScope,
        ord: &Ord,
        node: &Node,
    ) -> FacadeResult<PointOutput> {
        let type_spec = node.type_name();
        let contract = match self.boxp().contract(scope, type_spec).await {
            Ok(contract) => Some(contract),
            Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let point =
            PointView::read(node, contract.as_deref()).ok_or_else(|| FacadeError::NotAPoint {
                ord: ord.absolute(),
                type_spec: type_spec.to_owned(),
            })?;
        let is_null = point
            .out
            .status
            .bits()
            .contains(crate::station::status::StatusBits::NULL);
        let reading = reading_of(point, String::new());
        Ok(PointOutput {
            value: reading.typed.filter(|_| !is_null),
            text: Some(reading.out),
            status: reading.status,
        })
    }
}

/// An output as oBIX tells it.
pub(super) fn output_of_reading(reading: ValueReading) -> PointOutput {
    PointOutput {
        value: typed_value(&reading),
        status: Some(reading.status),
        text: reading.display,
    }
}

fn unanswered(outputs: &Outputs, ords: &[Ord]) -> (Vec<usize>, Vec<Ord>) {
    outputs
        .iter()
        .zip(ords)
        .enumerate()
        .filter(|(_, (output, _))| output.is_err())
        .map(|(place, (_, ord))| (place, ord.clone()))
        .unzip()
}
