//! The station client in depth, against the stand-in station: watched points, Fox, certificates, a station that is gone.

#[path = "../mock/mod.rs"]
mod mock;

mod breaker;
mod fox;
mod obix_watch;
mod probe;
mod trust;
mod watched;

use std::sync::Arc;
use std::time::Duration;

use mock::Frozen;
use mock_station::model::accounts;
use mock_station::model::component::Handle;
use mock_station::model::value::Value;
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::{
    Change, ChangePacing, PointValue, StationFacade, Subscription,
};
use niagara_bridge::station::ord::Ord;

/// Polls as fast as the answers come; a test never waits for a pause.
pub const FAST: ChangePacing = ChangePacing {
    watch: Duration::from_millis(2),
    box_session: Duration::from_millis(2),
    polling: Duration::from_millis(2),
    first_pause: Duration::from_millis(2),
    longest_pause: Duration::from_millis(10),
    recheck: Duration::from_secs(600),
};

pub fn facade(frozen: &Frozen) -> Arc<StationFacade> {
    let session = frozen.session(accounts::BRIDGE);
    Arc::new(StationFacade::new(session, TypeCache::new(), None).with_change_pacing(FAST))
}

/// Numeric points of the station in good state with their ords, the writable ones first.
pub fn points(frozen: &Frozen, count: usize) -> Vec<(Handle, Ord)> {
    let station = frozen.station.station().read();
    let mut found: Vec<_> = station
        .descendants(station.root())
        .filter(|component| component.ty().is("control:NumericPoint"))
        .filter(|component| {
            station
                .out(component.handle())
                .is_some_and(|(_, status)| status.bits == 0)
        })
        .map(|component| {
            let path = station.slot_path(component.handle());
            let is_writable = component.ty().is("control:NumericWritable");
            let ord = Ord::component(&path).expect("an ORD");
            (!is_writable, component.handle(), ord)
        })
        .collect();
    found.sort();
    assert!(found.len() >= count && !found[0].0);
    found
        .into_iter()
        .map(|(_, handle, ord)| (handle, ord))
        .take(count)
        .collect()
}

/// Commands a point at level 8, as an operator does; returns what its output is now.
pub fn command(frozen: &Frozen, handle: Handle, value: f64) -> f64 {
    let mut station = frozen.station.station().write();
    let input = station.value(handle, "in8").expect("an input");
    let Value::Struct(mut input) = input else {
        panic!("an input is a struct");
    };
    input.set("value", Value::Double(value));
    input.set("status", Value::Status(Default::default()));
    station
        .set(handle, "in8", Value::Struct(input))
        .expect("set");
    let (value, _) = station.out(handle).expect("an output");
    value.as_f64().expect("a number")
}

pub fn model_value(frozen: &Frozen, handle: Handle) -> f64 {
    let station = frozen.station.station().read();
    let (value, _) = station.out(handle).expect("an output");
    value.as_f64().expect("a number")
}

pub fn number(change: &Change) -> Option<f64> {
    match &change.value {
        Some(PointValue::Number(number)) => Some(*number),
        _ => None,
    }
}

/// The next change of a point that satisfies a condition; fails the test when none comes in good time.
pub async fn awaited(
    subscription: &mut Subscription,
    ord: &Ord,
    accepts: impl Fn(&Change) -> bool,
) -> Change {
    let search = async {
        loop {
            let change = subscription.next().await.expect("the subscription lives");
            if change.ord == *ord && accepts(&change) {
                return change;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), search)
        .await
        .expect("the change arrives")
}
