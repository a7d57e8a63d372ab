//! Commanding a point over oBIX, which reaches levels 8 and 1 (oBIX specification §6).

use super::StationFacade;
use super::error::FacadeError;
use super::obix_routes::{obix_path, reading_of_obix};
use super::write_error::{Reread, WriteError, WriteResult};
use super::write_plan::{PointPlan, Way};
use super::write_point::{PointObserved, PointOrder, bad_value};
use super::write_target::{doubt, doubt_scope};
use super::write_value::point_value;
use crate::station::boxp::point::PointKind;
use crate::station::http::CallScope;
use crate::station::obix::href::ObixPath;
use crate::station::obix::object::Scalar;
use crate::station::obix::point::ObixPoint;
use crate::station::obix::write::command;
use crate::station::obix::{Object, ValueReading};
use crate::station::ord::{Ord, SlotPath};
use crate::station::priority::Priority;
use crate::station::value::{DynamicEnum, StatusValue, Value};

/// The operation of a point that commands a level.
#[derive(Debug)]
pub(super) struct ObixWay {
    path: SlotPath,
    address: ObixPath,
    operation: &'static str,
    argument: Object,
}

impl StationFacade {
    /// `refusal` is why BOX does not serve; it is the answer for the levels that oBIX does not reach.
    pub(super) async fn plan_by_obix(
        &self,
        scope: &CallScope,
        ord: &Ord,
        order: &PointOrder,
        refusal: FacadeError,
    ) -> WriteResult<PointPlan> {
        if ![Priority::MANUAL, Priority::EMERGENCY].contains(&order.priority) {
            return Err(refusal.into());
        }
        let path = self.slot_path(scope, ord).await?;
        let address = obix_path(&path)?;
        let point = self
            .over_obix(async { Ok(self.obix().read_point(scope, &address).await?) })
            .await?;
        let not_writable = || WriteError::NotWritable {
            ord: ord.absolute(),
            type_spec: point.type_spec.clone().unwrap_or_default(),
        };
        let kind = kind_of(&point).ok_or_else(not_writable)?;
        let range = point.facets.range().cloned().unwrap_or_default();
        let value = point_value(kind, &order.value, &range, &point.facets)
            .map_err(|reason| bad_value(&ord.absolute(), &order.value, reason))?;
        let duration = order.overriding.unwrap_or_default();
        let (operation, argument) =
            command(kind, order.priority, &value, duration).ok_or_else(|| {
                let reason = "oBIX takes choices by name, and the station tells none".to_owned();
                bad_value(&ord.absolute(), &order.value, reason)
            })?;
        if !point.operations.iter().any(|name| name == operation) {
            return Err(WriteError::NoAction {
                ord: ord.absolute(),
                action: operation.to_owned(),
                actions: point.operations.clone(),
            });
        }
        Ok(PointPlan {
            ord: ord.absolute(),
            order: order.clone(),
            requested: value,
            previous: input_of(&point, order.priority).unwrap_or_default(),
            way: Way::Obix(Box::new(ObixWay {
                path,
                address,
                operation,
                argument,
            })),
        })
    }

    pub(super) async fn command_by_obix(
        &self,
        scope: &CallScope,
        plan: &PointPlan,
        way: &ObixWay,
    ) -> WriteResult<()> {
        let priority = plan.order.priority;
        let work = async {
            Ok(self
                .obix()
                .command_point(scope, &way.address, way.operation, &way.argument)
                .await?)
        };
        let Err(error) = self.over_obix(work).await else {
            return Ok(());
        };
        let error = WriteError::from(error);
        let Some(cause) = doubt(&error).map(str::to_owned) else {
            return Err(error);
        };
        let seen = self.observe_by_obix(&doubt_scope(), way, priority).await;
        Err(WriteError::InDoubt {
            target: plan.ord.clone(),
            cause,
            reread: match seen {
                Ok(observed) => Reread::Point(Box::new(observed)),
                Err(reason) => Reread::Failed(reason),
            },
        })
    }

    pub(super) async fn observe_by_obix(
        &self,
        scope: &CallScope,
        way: &ObixWay,
        priority: Priority,
    ) -> Result<PointObserved, String> {
        let read = self.over_obix(async { Ok(self.obix().read_point(scope, &way.address).await?) });
        let point = read.await.map_err(|error| error.to_string())?;
        Ok(PointObserved {
            reading: reading_of_obix(&way.path, &point),
            input: input_of(&point, priority),
            expires: point.override_expiration,
        })
    }
}

fn kind_of(point: &ObixPoint) -> Option<PointKind> {
    let name = point.type_spec.as_deref()?;
    let kinds = [
        ("NumericWritable", PointKind::Numeric),
        ("BooleanWritable", PointKind::Boolean),
        ("EnumWritable", PointKind::Enum),
        ("StringWritable", PointKind::Text),
    ];
    kinds
        .into_iter()
        .find(|(suffix, _)| name.ends_with(suffix))
        .map(|(_, kind)| kind)
}

fn input_of(point: &ObixPoint, priority: Priority) -> Option<StatusValue> {
    let (_, reading) = point.inputs.iter().find(|(level, _)| *level == priority)?;
    Some(StatusValue {
        value: value_of(reading, point),
        status: reading.status.into(),
    })
}

fn value_of(reading: &ValueReading, point: &ObixPoint) -> Value {
    match &reading.value {
        Scalar::Bool(flag) => Value::Boolean(*flag),
        Scalar::Real(number) => Value::Double(*number),
        Scalar::Int(number) => Value::Double(*number as f64),
        Scalar::Text(text) => Value::String(text.clone()),
        Scalar::Tag(_) => reading.ordinal.map_or(Value::Null, |ordinal| {
            Value::Enum(DynamicEnum {
                ordinal,
                range: point.facets.range().cloned().unwrap_or_default(),
            })
        }),
        _ => Value::Null,
    }
}
