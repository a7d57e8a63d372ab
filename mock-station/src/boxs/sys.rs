//! Channel `sys`: who the user is to the station (Station web specification §4.3).

use serde_json::{Value, json};

use super::call::Call;
use super::error::BoxError;
use crate::model::display::DisplayContext;

/// Where users land after login.
const USER_HOME: &str = "station:|slot:/";

pub fn answer(call: &Call<'_>) -> Result<Value, BoxError> {
    match call.key {
        "props" => properties(call),
        // What a real station says here is not established: an empty object commits to nothing.
        "hello" => Ok(json!({})),
        "error" => {
            tracing::debug!(user = %call.user.name, "a client reported an error of its own");
            Ok(Value::Null)
        }
        _ => Err(call.unknown_key()),
    }
}

fn properties(call: &Call<'_>) -> Result<Value, BoxError> {
    let station = call.context.station.read();
    let user = call.account(&station)?;
    let display = DisplayContext::of(user, &station);
    Ok(json!({
        "userName": user.name,
        "lang": display.language,
        "userHome": USER_HOME,
        "timeFormat": display.time_format,
        "logClientErrors": false,
        "enableWebStorage": true,
        "regLastBuildTime": station.started().timestamp_millis(),
    }))
}
