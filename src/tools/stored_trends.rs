//! Stored trends as `renderTrend` draws them.

use chrono_tz::Tz;

use super::capability::CapabilityAccess;
use super::station_access::sentence;
use super::trend_request::{Axis, MILLISECOND, Source, TrendRequest, Window};
use super::trend_samples::{Drawn, Samples};
use super::{CallContext, ErrorCode, ToolError};
use crate::camber::stored_samples::WantedSamples;
use crate::camber::{CapabilityError, FailureCode};
use crate::knowledge::camber_roles::camber_role_named;
use crate::plot::{Series, Shape};
use crate::trends::site_time::SiteClock;
use crate::trends::store;

/// Unit of roles that count stages: like a state, nothing lies between two of them.
const STAGE: &str = "stage";

/// The zone of a facility's wall clock.
pub(super) async fn zone(
    access: &CapabilityAccess,
    context: &CallContext,
    facility: &str,
) -> Result<Option<Tz>, ToolError> {
    let found = access.zone(context, facility).await;
    found.ok_or_else(no_store)?.map_err(refused)
}

/// The stored points of a request, each with its place in it.
pub(super) async fn read(
    access: &CapabilityAccess,
    context: &CallContext,
    request: &TrendRequest,
    axis: Axis,
    window: &Window,
) -> Result<Vec<(usize, Samples)>, ToolError> {
    let Some(facility) = request.facility(access)? else {
        return Ok(Vec::new());
    };
    let clock = match axis {
        Axis::WallClock(_) => None,
        // Beside live points the stored ones are shown at the instants of their wall clock.
        Axis::Instants(zone) => {
            let own = self::zone(access, context, &facility).await?;
            Some(SiteClock::new(own.unwrap_or(zone)))
        }
    };
    let (from, to) = window.bounds();
    let stamp = |millis: i64| match clock {
        None => millis.checked_mul(MILLISECOND),
        Some(clock) => {
            chrono::DateTime::from_timestamp_millis(millis).and_then(|instant| clock.stamp(instant))
        }
    };
    let points = request
        .points
        .iter()
        .filter_map(|point| match &point.source {
            Source::Stored { equip, role, .. } => Some((equip.clone(), role.clone())),
            _ => None,
        });
    let wanted = WantedSamples {
        facility: facility.clone(),
        points: points.collect(),
        window: store::Window {
            start: stamp(from),
            end: stamp(to),
        },
    };
    let found = access.samples(context, wanted).await;
    let found = found.ok_or_else(no_store)?.map_err(refused)?;
    let time = |stamp: i64| match clock {
        None => stamp.div_euclid(MILLISECOND),
        Some(clock) => clock.first_instant(stamp).timestamp_millis(),
    };
    let drawn = request
        .points
        .iter()
        .enumerate()
        .filter_map(|(place, point)| {
            let Source::Stored { equip, role, .. } = &point.source else {
                return None;
            };
            let samples = found.get(&(equip.clone(), role.clone()));
            let known = camber_role_named(role);
            let units = known.map(|known| known.unit.clone());
            let is_state = known.is_some_and(|known| known.status);
            let is_stage = known.is_some_and(|known| known.unit == STAGE);
            let units = units.filter(|units| !units.is_empty() && !is_state);
            let drawn = Drawn {
                label: point.label.clone(),
                facility: Some(facility.clone()),
                equip: Some(equip.clone()),
                role: Some(role.clone()),
                units: units.clone(),
                ..Drawn::default()
            };
            let series = Series {
                label: point.label.clone(),
                units,
                is_state,
                shape: match is_state || is_stage {
                    true => Shape::Stepped,
                    false => Shape::ByInterval,
                },
                times: samples.map_or_else(Vec::new, |one| {
                    one.stamps.iter().copied().map(time).collect()
                }),
                values: samples.map_or_else(Vec::new, |one| one.values.clone()),
            };
            Some((place, Samples { drawn, series }))
        });
    Ok(drawn.collect())
}

pub(super) fn no_store() -> ToolError {
    ToolError::internal(
        "There is no trends store; its log line at the start of the bridge says why. Live histories can be drawn.",
    )
    .with("kind", "trends-unavailable")
    .with("retryable", false)
}

/// A refusal of the store's policy in the codes of the tools.
pub(super) fn refused(error: CapabilityError) -> ToolError {
    let text = crate::visible_text::one_line(&error.message);
    let text = sentence(&text);
    let mut told = match error.code {
        FailureCode::InvalidParams | FailureCode::NotFound | FailureCode::TooLarge => {
            ToolError::invalid_params(text)
        }
        FailureCode::NotAllowed | FailureCode::RefusedLicence => {
            ToolError::new(ErrorCode::PermissionDenied, text)
        }
        FailureCode::Timeout => ToolError::station("trends-timeout", text),
        FailureCode::Unavailable => ToolError::station("trends-unavailable", text),
        FailureCode::Internal | FailureCode::UnknownCapability => {
            ToolError::internal(text).with("kind", "trends-fault")
        }
    };
    for (key, value) in error.data {
        told = told.with(&key, value);
    }
    told
}
