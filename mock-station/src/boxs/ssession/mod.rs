//! Channel `ssession`: server sessions and the component spaces in them (Station web specification §4.4).

mod action;
mod fold;
mod link;
mod load;
mod lookup;
mod operation;
mod path;
mod poll;
mod space;
mod store;
mod subscribe;
mod subscriptions;
mod sync;

use serde_json::{Value, json};

use super::call::{Argument, Call, bad_body};
use super::error::BoxError;
use store::Session;

/// All server sessions of a running station.
pub type Sessions = store::Sessions;

const SPACE_TYPE: &str = "box:ComponentSpaceSessionHandler";

pub fn answer(call: &Call<'_>) -> Result<Value, BoxError> {
    match call.key {
        "make" => make(call),
        "makessc" => make_space(call),
        "removessc" => remove_space(call),
        "callssc" => call_space(call),
        "pollchgs" => poll::answer(call),
        "del" => delete(call),
        _ => Err(call.unknown_key()),
    }
}

fn make(call: &Call<'_>) -> Result<Value, BoxError> {
    let id = sessions(call).make(&call.user.name, call.context.now(), &call.switches.boxs)?;
    Ok(json!(id))
}

fn make_space(call: &Call<'_>) -> Result<Value, BoxError> {
    let argument = call.object()?;
    let (space, kind, base) = (
        argument.text("scid")?,
        argument.text("scts")?,
        argument.text("scarg")?,
    );
    if kind != SPACE_TYPE {
        return Err(BoxError::UnknownType {
            spec: kind.to_owned(),
        });
    }
    if base.trim_start_matches("local:|") != "station:" {
        return Err(BoxError::Unresolved {
            ord: base.to_owned(),
            reason: "the only component space is 'station:'".to_owned(),
        });
    }
    with_session(call, |session| {
        session.create_space(space);
        Ok(json!({"isReadonly": false}))
    })
}

fn remove_space(call: &Call<'_>) -> Result<Value, BoxError> {
    let space = call.object()?.text("scid")?;
    with_session(call, |session| {
        session.remove_space(space);
        Ok(Value::Null)
    })
}

fn call_space(call: &Call<'_>) -> Result<Value, BoxError> {
    let argument = call.object()?;
    let (space, key) = (argument.text("scid")?, argument.text("sck")?);
    // A handler runs only for the owner of a living session that has the space.
    with_session(call, |session| session.space(space).map(|_| ()))?;
    let handler = space::HandlerCall {
        call,
        space,
        key,
        argument: argument.get("scarg").unwrap_or(&Value::Null),
    };
    space::answer(&handler)
}

fn delete(call: &Call<'_>) -> Result<Value, BoxError> {
    let id = session_id(call)?;
    sessions(call).delete(
        &id,
        &call.user.name,
        call.context.now(),
        &call.switches.boxs,
    )?;
    Ok(Value::Null)
}

fn sessions(call: &Call<'_>) -> std::sync::Arc<Sessions> {
    call.context.servlet_state::<Sessions>()
}

/// The id in the body, else the frame's.
fn session_id(call: &Call<'_>) -> Result<String, BoxError> {
    let in_body = match call.body {
        Value::Object(_) => Argument::read(call.key, call.body)?.optional_text("id"),
        _ => None,
    };
    in_body
        .or(call.frame_session)
        .map(str::to_owned)
        .ok_or_else(|| bad_body(call.key, "member 'id' must name a server session"))
}

fn with_session<Answer>(
    call: &Call<'_>,
    work: impl FnOnce(&mut Session) -> Result<Answer, BoxError>,
) -> Result<Answer, BoxError> {
    let id = session_id(call)?;
    sessions(call).with(
        &id,
        &call.user.name,
        call.context.now(),
        &call.switches.boxs,
        work,
    )
}
