//! `niagara://point/{ord}`: one control point as readPoint shows it, and its changes for those who subscribe.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::{Map, Value, json};

use super::{Address, Resource, ResourceDefinition, ResourceError, ord_completion};
use crate::station::error::StationError;
use crate::station::facade::{Change, FacadeError, PointValue};
use crate::station::ord::Ord;
use crate::tools::definition::STATION_CALL_LIMIT;
use crate::tools::point::ReadPoint;
use crate::tools::result_value::{put_number, status_text};
use crate::tools::station_access::{SharedStations, component_ord, scope};
use crate::tools::{Arguments, CallContext, ErrorCode, Principal, Tool};

/// Tells when points change.
pub trait PointChanges: Send + Sync {
    /// The output of a point now and after every change, as the caller may see it; ends the watch when it is dropped.
    ///
    /// # Errors
    /// A sentence: too many points are watched, or the caller has no access to the station.
    fn changes(
        &self,
        principal: &Principal,
        ord: &Ord,
    ) -> Result<BoxStream<'static, Change>, String>;
}

/// The station's own watch of the caller's identity, shared by all its subscribers.
pub struct StationChanges(pub SharedStations);

impl PointChanges for StationChanges {
    fn changes(
        &self,
        principal: &Principal,
        ord: &Ord,
    ) -> Result<BoxStream<'static, Change>, String> {
        let station = self.0.for_caller(principal);
        let station = station.map_err(|error| error.message)?;
        station
            .subscribe(std::slice::from_ref(ord))
            .map(|subscription| subscription.into_stream().boxed())
            .map_err(|error| error.to_string())
    }
}

/// The resource family `niagara://point/{ord}`; the ord is percent-encoded as a whole.
pub struct PointResource {
    reader: ReadPoint,
    changes: Arc<dyn PointChanges>,
}

impl PointResource {
    /// Reads through `stations`; changes come from `changes`.
    pub fn new(stations: SharedStations, changes: Arc<dyn PointChanges>) -> Self {
        Self {
            reader: ReadPoint(stations),
            changes,
        }
    }
}

impl Resource for PointResource {
    fn definition(&self) -> ResourceDefinition {
        ResourceDefinition {
            address: Address::Template("niagara://point/{ord}".into()),
            other_prefixes: Vec::new(),
            name: "point".into(),
            description: "One control point as readPoint shows it: display text, value, status, active level, facets. \
                          The ord is percent-encoded as a whole. Can be subscribed to."
                .into(),
            mime_type: "application/json",
        }
    }

    fn read<'a>(
        &'a self,
        context: &'a CallContext,
        id: &'a str,
    ) -> BoxFuture<'a, Result<String, ResourceError>> {
        Box::pin(async move {
            let mut arguments = Map::new();
            arguments.insert("ord".to_owned(), json!(id));
            let reading = self.reader.run(context, Arguments::new(arguments));
            match tokio::time::timeout(STATION_CALL_LIMIT, reading).await {
                Ok(Ok(output)) => Ok(output.as_text().to_owned()),
                Ok(Err(error)) if error.code == ErrorCode::OrdNotResolvable => {
                    Err(ResourceError::NotFound)
                }
                Ok(Err(error)) => Err(ResourceError::Failed(error.message)),
                Err(_) => Err(ResourceError::Failed(format!(
                    "the station did not answer within {} s",
                    STATION_CALL_LIMIT.as_secs()
                ))),
            }
        })
    }

    fn complete<'a>(
        &'a self,
        context: &'a CallContext,
        typed: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(ord_completion::ords(&self.reader.0, context, typed))
    }

    fn check<'a>(
        &'a self,
        context: &'a CallContext,
        ids: &'a [String],
    ) -> BoxFuture<'a, Vec<Result<(), ResourceError>>> {
        Box::pin(async move {
            let mut checked = vec![Ok(()); ids.len()];
            // A caller without a station account is told so by the watch.
            let Ok(station) = self.reader.0.for_caller(&context.principal) else {
                return checked;
            };
            let (places, ords): (Vec<usize>, Vec<Ord>) = ids
                .iter()
                .enumerate()
                .filter_map(|(place, id)| Some((place, component_ord(id).ok()?)))
                .unzip();
            let scope = scope(context);
            let reading = station.read_outputs(&scope, &ords);
            let Ok(Ok(outputs)) = tokio::time::timeout(STATION_CALL_LIMIT, reading).await else {
                // The station may come back: the watch begins then.
                return checked;
            };
            for (place, output) in places.into_iter().zip(outputs) {
                if let (Err(error), Some(slot)) = (output, checked.get_mut(place)) {
                    *slot = no_point(error);
                }
            }
            checked
        })
    }

    fn watch(
        &self,
        context: &CallContext,
        id: &str,
    ) -> Option<Result<BoxStream<'static, Value>, ResourceError>> {
        let Ok(ord) = component_ord(id) else {
            return Some(Err(ResourceError::NotFound));
        };
        let changes = self.changes.changes(&context.principal, &ord);
        Some(
            changes
                .map(|changes| changes.map(change_json).boxed())
                .map_err(ResourceError::Failed),
        )
    }
}

/// What a failed reading says of the point itself; failures that may pass say nothing.
fn no_point(error: FacadeError) -> Result<(), ResourceError> {
    match error {
        FacadeError::Station(StationError::NotFound { .. }) => Err(ResourceError::NotFound),
        error @ (FacadeError::NotAPoint { .. }
        | FacadeError::NotAComponent { .. }
        | FacadeError::Station(StationError::PermissionDenied { .. })) => {
            Err(ResourceError::Failed(error.to_string()))
        }
        _ => Ok(()),
    }
}

/// A change as subscribers see it, in the words of readPoint.
fn change_json(change: Change) -> Value {
    let mut map = Map::new();
    map.insert("ord".to_owned(), json!(change.ord.to_string()));
    map.insert("at".to_owned(), json!(change.at.to_rfc3339()));
    if let Some(text) = change.text {
        map.insert("out".to_owned(), json!(text));
    }
    match change.value {
        Some(PointValue::Number(number)) => put_number(&mut map, "valueNumber", number),
        Some(PointValue::Boolean(flag)) => {
            map.insert("valueBool".to_owned(), json!(flag));
        }
        Some(PointValue::Enum { tag, ordinal }) => {
            map.insert("value".to_owned(), json!(tag));
            if let Some(ordinal) = ordinal {
                map.insert("valueOrdinal".to_owned(), json!(ordinal));
            }
        }
        Some(PointValue::Text(text)) => {
            map.insert("value".to_owned(), json!(text));
        }
        None => {}
    }
    if let Some(status) = change.status {
        map.insert("status".to_owned(), json!(status_text(status)));
        let bits = format!("{:x}", status.bits());
        map.insert("statusBits".to_owned(), json!(bits));
    }
    if change.gap {
        map.insert("gap".to_owned(), json!(true));
    }
    if let Some(problem) = change.problem {
        map.insert("problem".to_owned(), json!(problem));
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::status::StatusBits;

    #[test]
    fn a_change_says_value_status_and_whether_something_was_missed() {
        let change = Change {
            ord: Ord::component("station:|slot:/A/SAT").expect("an ord"),
            value: Some(PointValue::Number(f64::NAN)),
            text: Some("nan °F {fault}".into()),
            status: Some(StatusBits::from_hex("2").expect("bits")),
            at: "2026-07-15T14:03:00Z".parse().expect("a time"),
            gap: true,
            problem: None,
        };
        assert_eq!(
            change_json(change),
            json!({
                "ord": "station:|slot:/A/SAT",
                "at": "2026-07-15T14:03:00+00:00",
                "out": "nan °F {fault}",
                "valueNumber": null,
                "nonFinite": "NaN",
                "status": "{fault}",
                "statusBits": "2",
                "gap": true,
            })
        );
    }
}
