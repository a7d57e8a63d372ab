//! Requests to the control port and their answers.

use std::fmt::Display;
use std::time::Duration;

use chrono::TimeDelta;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::desk::{self, Desk};
use crate::faults::{Fault, FaultId};
use crate::fox::{FoxConnection, FoxScenario, FoxService};
use crate::server::{PlainRequest, PlainResponse, WriteOutcome};
use crate::tls::CertificateProfile;

/// A request that cannot be carried out.
struct Refusal {
    status: StatusCode,
    message: String,
}

type Answer = Result<Value, Refusal>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Restart {
    #[serde(default)]
    down_millis: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClockJump {
    jump_seconds: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Redirect {
    https: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FoxChange {
    scenario: FoxScenario,
    pace_millis: Option<u64>,
    keepalives: Option<u8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PasswordChange {
    user: String,
    password: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BoxChange {
    session_limit: usize,
}

pub(super) fn answer(desk: &Desk, request: &PlainRequest) -> PlainResponse {
    match route(desk, request) {
        Ok(value) => json_response(StatusCode::OK, &value),
        Err(refusal) => json_response(refusal.status, &json!({ "error": refusal.message })),
    }
}

pub(super) fn failed(error: &dyn Display) -> PlainResponse {
    tracing::error!(%error, "a control request failed");
    let text = format!("the request failed: {error}");
    json_response(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "error": text }))
}

fn json_response(status: StatusCode, value: &Value) -> PlainResponse {
    PlainResponse::json(status, format!("{value}\n"))
}

fn route(desk: &Desk, request: &PlainRequest) -> Answer {
    let faults = &desk.context.faults;
    let path = request.raw_path.trim_end_matches('/');
    match (&request.method, path) {
        (&Method::GET, "" | "/state") => Ok(desk.state()),
        (&Method::GET, "/faults") => Ok(json!(faults.list())),
        (&Method::GET, "/fired") => Ok(json!(faults.fired())),
        (&Method::POST, "/faults") => {
            let id = faults.set(body::<Fault>(request)?).map_err(refused)?;
            Ok(json!({ "id": id }))
        }
        (&Method::DELETE, "/faults") => {
            faults.clear_all();
            Ok(json!({}))
        }
        (&Method::DELETE, path) if path.starts_with("/faults/") => clear(desk, path),
        (&Method::POST, "/restart") => {
            let restart: Restart = body_or_default(request)?;
            desk.context
                .restart(Duration::from_millis(restart.down_millis));
            Ok(json!({ "restarts": desk.context.lifecycle.restarts() }))
        }
        (&Method::POST, "/clock") => jump_clock(desk, &body(request)?),
        (&Method::POST, "/certificate") => {
            let profile: CertificateProfile = body(request)?;
            let made = desk.certificates.rotate(&profile).map_err(refused)?;
            Ok(desk::certificate(&made))
        }
        (&Method::POST, "/redirect") => redirect(desk, &body(request)?),
        (&Method::GET, "/fox") => Ok(fox(desk)?.connections().iter().map(connection).collect()),
        (&Method::POST, "/fox") => change_fox(fox(desk)?, &body(request)?),
        (&Method::POST, "/password") => change_password(desk, &body(request)?),
        (&Method::POST, "/box") => change_box(desk, &body(request)?),
        (&Method::GET, "/writes") => Ok(writes(desk)),
        (&Method::GET, "/audit") => Ok(audit(desk)),
        (&Method::DELETE, path) if path.starts_with("/sessions/") => {
            let user = percent_encoding::percent_decode_str(path.trim_start_matches("/sessions/"));
            let sessions = &desk.context.sessions;
            sessions.end_sessions_of(&user.decode_utf8_lossy());
            Ok(json!({}))
        }
        (&Method::DELETE, "/sessions") => {
            desk.context.sessions.clear();
            Ok(json!({}))
        }
        _ => Err(Refusal {
            status: StatusCode::NOT_FOUND,
            message: format!(
                "the control port does not know {} {}; see GET /state",
                request.method, request.raw_path
            ),
        }),
    }
}

fn clear(desk: &Desk, path: &str) -> Answer {
    let id = path.trim_start_matches("/faults/");
    match id.parse() {
        Ok(number) if desk.context.faults.clear(FaultId(number)) => Ok(json!({})),
        _ => Err(Refusal {
            status: StatusCode::NOT_FOUND,
            message: format!("no fault has the id {id:?}; GET /faults lists them"),
        }),
    }
}

fn jump_clock(desk: &Desk, jump: &ClockJump) -> Answer {
    let step = TimeDelta::try_seconds(jump.jump_seconds)
        .ok_or_else(|| refused("the jump leads out of the calendar; use fewer seconds"))?;
    desk.context.station.jump_clock(step);
    Ok(json!({ "shiftSeconds": desk.context.station.clock_shift().num_seconds() }))
}

fn change_password(desk: &Desk, change: &PasswordChange) -> Answer {
    let mut station = desk.context.station.write();
    let changed = station
        .users
        .change_password(&change.user, &change.password);
    changed.map_err(refused)?;
    Ok(json!({ "user": change.user }))
}

fn change_box(desk: &Desk, change: &BoxChange) -> Answer {
    let limit = change.session_limit;
    let switches = &desk.context.switches;
    switches.change(|switches| switches.boxs.session_limit = limit);
    Ok(json!({ "sessionLimit": limit }))
}

fn writes(desk: &Desk) -> Value {
    let entries = desk.context.writes.entries();
    let told = entries.iter().map(|write| {
        let (outcome, error) = match &write.outcome {
            WriteOutcome::Lost => ("lost", None),
            WriteOutcome::Done => ("done", None),
            WriteOutcome::Refused(error) => ("refused", Some(error)),
        };
        json!({
            "time": write.time,
            "user": write.user,
            "session": write.session,
            "key": write.key,
            "target": write.target,
            "outcome": outcome,
            "error": error,
        })
    });
    told.collect()
}

fn audit(desk: &Desk) -> Value {
    let station = desk.context.station.read();
    let told = station.audit.entries().iter().map(|entry| {
        json!({
            "time": entry.time,
            "user": entry.user,
            "operation": entry.operation.word(),
            "target": entry.target,
            "slot": entry.slot,
            "oldValue": entry.old_value,
            "newValue": entry.new_value,
        })
    });
    told.collect()
}

fn redirect(desk: &Desk, redirect: &Redirect) -> Answer {
    let authority = match (redirect.https, desk.https_authority()) {
        (false, _) => None,
        (true, Some(authority)) => Some(authority.to_owned()),
        (true, None) => {
            return Err(refused(
                "the station has no TLS port to redirect to; start it with one",
            ));
        }
    };
    desk.context
        .switches
        .change(|switches| switches.login.https_only = authority);
    Ok(json!({ "redirectsToHttps": redirect.https }))
}

fn fox(desk: &Desk) -> Result<&FoxService, Refusal> {
    desk.fox
        .as_ref()
        .ok_or_else(|| refused("the station has no Fox port; start it with one"))
}

fn change_fox(fox: &FoxService, change: &FoxChange) -> Answer {
    fox.change(|settings| {
        settings.scenario = change.scenario;
        if let Some(millis) = change.pace_millis {
            settings.pace = Duration::from_millis(millis);
        }
        if let Some(keepalives) = change.keepalives {
            settings.keepalives = keepalives;
        }
    });
    Ok(json!({ "scenario": fox.settings().scenario }))
}

fn connection(connection: &FoxConnection) -> Value {
    json!({
        "time": connection.time,
        "secure": connection.secure,
        "scenario": connection.scenario,
        "received": String::from_utf8_lossy(&connection.received),
        "receivedOctets": connection.received_total,
        "greeted": connection.greeted,
        "handshakeError": connection.handshake_error,
        "open": connection.open,
    })
}

fn refused(message: impl Display) -> Refusal {
    Refusal {
        status: StatusCode::BAD_REQUEST,
        message: message.to_string(),
    }
}

fn body<T: DeserializeOwned>(request: &PlainRequest) -> Result<T, Refusal> {
    serde_json::from_slice(&request.body)
        .map_err(|error| refused(format!("the body is not as expected: {error}")))
}

/// As [`body`], with an empty body for an empty object.
fn body_or_default<T: DeserializeOwned>(request: &PlainRequest) -> Result<T, Refusal> {
    if request.body.is_empty() {
        return serde_json::from_slice(b"{}").map_err(refused);
    }
    body(request)
}
