//! The BOX servlet: JSON messages under the HTML5 user interface (Station web specification §4).
//!
//! `frame` turns request text into messages and outcomes into replies; `channel` sends each message to the
//! file of its channel; `node` and `contract` write components, values and types in the station's JSON form, `decode`
//! reads them.
//! Server sessions and their component spaces live in `ssession`; `mutation` tells what changes the station.

mod call;
mod channel;
mod contract;
mod decode;
mod error;
mod frame;
mod mutation;
mod node;
mod ord;
mod reg;
mod ssession;
mod sys;
mod table;
mod target;
mod time_zone;
mod unit;

use std::collections::BTreeMap;

use http::{Method, StatusCode};
use serde_json::Value;

use crate::server::{
    AuthenticatedUser, PlainRequest, PlainResponse, ServerContext, WriteEntry, WriteOutcome,
};
use call::Call;
use frame::{Frame, FrameError};
use mutation::Mutation;

/// Answers a request on `/box` or `/box/`: one frame in, one frame out, with HTTP 200 also for failed messages
/// (Station web specification §4.1). Text that is not JSON is answered with 500.
pub fn handle(
    context: &ServerContext,
    user: &AuthenticatedUser,
    request: PlainRequest,
) -> PlainResponse {
    let switches = context.switches.get();
    if !switches.boxs.present {
        return PlainResponse::html(
            StatusCode::NOT_FOUND,
            "<html><title>Not Found</title></html>",
        );
    }
    if request.method != Method::POST {
        return PlainResponse::html(
            StatusCode::METHOD_NOT_ALLOWED,
            "<html><title>Method Not Allowed</title></html>",
        )
        .with_header("allow", "POST");
    }
    let frame = match Frame::parse(&request.body) {
        Ok(frame) => frame,
        Err(FrameError::NotJson(error)) => {
            tracing::debug!(%error, "a BOX request body is not JSON");
            return PlainResponse::html(
                StatusCode::INTERNAL_SERVER_ERROR,
                "<html><title>Server Error</title><body><h1>Server Error</h1></body></html>",
            );
        }
        Err(error) => {
            return PlainResponse::json(
                StatusCode::OK,
                frame::refusal_text(&error, &switches.boxs),
            );
        }
    };
    let answered = if switches.boxs.first_message_only {
        frame.messages.get(..1).unwrap_or_default()
    } else {
        &frame.messages
    };
    let replies: Vec<Value> = answered
        .iter()
        .map(|message| {
            let call = Call::new(
                context,
                user,
                &switches,
                frame.session_id.as_deref(),
                message,
            );
            let outcome = channel::answer(&call);
            if let Some(mutation) = Mutation::of(message, frame.session_id.as_deref()) {
                let outcome = match &outcome {
                    Ok(_) => WriteOutcome::Done,
                    Err(error) => WriteOutcome::Refused(error.to_string()),
                };
                note_write(context, Some(&user.name), mutation, outcome);
            }
            message.reply(outcome, &switches.boxs)
        })
        .collect();
    PlainResponse::json(
        StatusCode::OK,
        frame::reply_text(&frame, replies, &switches.boxs),
    )
}

/// Whether a request body asks the station to change something.
pub(crate) fn mutates(body: &[u8]) -> bool {
    !mutation::all(body).is_empty()
}

/// Notes the mutations of a request that a fault kept from the servlet.
pub(crate) fn note_lost(context: &ServerContext, user: Option<&str>, body: &[u8]) {
    for lost in mutation::all(body) {
        note_write(context, user, lost, WriteOutcome::Lost);
    }
}

fn note_write(
    context: &ServerContext,
    user: Option<&str>,
    mutation: Mutation,
    outcome: WriteOutcome,
) {
    context.writes.push(WriteEntry {
        time: context.now(),
        user: user.map(str::to_owned),
        session: mutation.session,
        key: mutation.key,
        target: mutation.target,
        outcome,
    });
}

/// Number of living BOX server sessions of each user that has one.
pub fn sessions_by_user(context: &ServerContext) -> BTreeMap<String, usize> {
    let sessions = context.servlet_state::<ssession::Sessions>();
    sessions.by_user(context.now(), &context.switches.get().boxs)
}

/// Number of BOX server sessions that have neither been deleted nor expired.
pub fn session_count(context: &ServerContext) -> usize {
    let sessions = context.servlet_state::<ssession::Sessions>();
    sessions.count(context.now(), &context.switches.get().boxs)
}
