//! The server session of an identity: made on first use, renewed after expiry, closed at shutdown
//! (Station web specification §4.4, §4.5).
//!
//! A load answers by a later poll; the handshake is serialised, so that no load takes the answer of
//! another.

use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::MutexGuard;

use super::client::{BoxClient, node_error, protocol};
use super::frame::{Refusal, Reply, Request};
use super::node::Node;
use crate::secrecy::Secret;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// The name of the component space inside the session; the client chooses it.
pub(super) const SPACE: &str = "station:";
/// Change events kept while nobody asks for them; the oldest go first. Room for a few changes of each of the 500
/// points that an identity may watch.
const MAX_EVENTS: usize = 2_000;
/// Closing must not hold up the end of the process.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// How patiently a load is waited for. The defaults are those of the handshake rules §4.5.1.
#[derive(Debug, Clone, Copy)]
pub struct LoadPolling {
    pub first_delay: Duration,
    pub longest_delay: Duration,
    pub total: Duration,
}

impl Default for LoadPolling {
    fn default() -> Self {
        Self {
            first_delay: Duration::from_millis(100),
            longest_delay: Duration::from_millis(800),
            total: Duration::from_secs(3),
        }
    }
}

/// A change that the station reported: an operation other than the awaited load.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeEvent {
    /// Kind of the operation (`nm`).
    pub kind: String,
    /// Handle of the component, without `h:`.
    pub handle: Option<String>,
    pub fields: Json,
}

/// State of the one session; the client holds it behind a lock.
#[derive(Debug, Default)]
pub struct ServerSession {
    pub(super) id: Option<String>,
    /// The id once more, so that no log line shows it.
    masked: Option<Secret>,
    /// Counts sessions made: subscriptions end with the session they were made in.
    pub(super) generation: u64,
    events: VecDeque<ChangeEvent>,
    dropped: u64,
    /// The answer of a poll never arrived, and its changes with it.
    lost: bool,
    /// Generation in which components were subscribed to last: in another one nobody takes changes.
    followed: Option<u64>,
}

impl ServerSession {
    /// Somebody subscribed in this session and will take its changes.
    pub(super) fn follow(&mut self) {
        self.followed = Some(self.generation);
    }

    /// Keeps a change for whoever subscribed. A load says all about its component, so that it replaces what was kept of
    /// it before: loads whose callers gave up are large and would pile up.
    pub(super) fn keep(&mut self, event: ChangeEvent) {
        if self.followed != Some(self.generation) {
            return;
        }
        if event.kind == "l" && event.handle.is_some() {
            self.events.retain(|kept| kept.handle != event.handle);
        }
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
            self.dropped += 1;
        }
        self.events.push_back(event);
    }
}

/// Changes gathered since the last call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    pub events: Vec<ChangeEvent>,
    /// How many were dropped for want of room.
    pub dropped: u64,
    /// The answer of a poll was lost on its way.
    pub lost: bool,
    /// Number of the server session; another one knows none of the subscriptions.
    pub generation: u64,
}

impl BoxClient {
    /// Loads a component with everything below it to a depth in components: 0 is the component alone.
    ///
    /// `handle` is the component's handle where it is known; a stale one costs one repetition.
    ///
    /// # Errors
    /// [`StationError::Timeout`] when the station accepts the load but never delivers it; refusals as in
    /// [`BoxClient::resolve`].
    pub async fn load_slots(
        &self,
        scope: &CallScope,
        ord: &Ord,
        depth: u32,
        handle: Option<&str>,
    ) -> Result<Node, StationError> {
        let mut session = self.lock(scope).await?;
        match self.load(scope, &mut session, ord, depth, handle).await {
            Err(StationError::Timeout { .. }) if handle.is_some() => {
                self.load(scope, &mut session, ord, depth, None).await
            }
            outcome => outcome,
        }
    }

    pub(super) async fn lock(
        &self,
        scope: &CallScope,
    ) -> Result<MutexGuard<'_, ServerSession>, StationError> {
        scope
            .run("waiting for the BOX server session", async {
                Ok(self.session.lock().await)
            })
            .await
    }

    async fn load(
        &self,
        scope: &CallScope,
        session: &mut ServerSession,
        ord: &Ord,
        depth: u32,
        handle: Option<&str>,
    ) -> Result<Node, StationError> {
        self.drain(scope, session).await?;
        let target = ord.absolute();
        let argument = json!({"o": target, "d": depth});
        self.call_space(scope, session, "loadSlots", argument)
            .await?
            .map_err(|refusal| self.not_found(&target, refusal))?;
        let mut waited = Duration::ZERO;
        let mut delay = self.polling.first_delay;
        loop {
            if let Some(node) = self.poll_for_load(scope, session, &target, handle).await? {
                return Ok(node);
            }
            if waited >= self.polling.total {
                return Err(StationError::Timeout {
                    what: format!("loading {target}"),
                    after: waited,
                    call: None,
                });
            }
            let pause = delay.min(self.polling.total - waited);
            let asleep = async {
                tokio::time::sleep(pause).await;
                Ok(())
            };
            scope.run(&format!("loading {target}"), asleep).await?;
            waited += pause;
            delay = (delay * 2).min(self.polling.longest_delay);
        }
    }

    /// One poll; the first load of the wanted component is the answer, all else is kept as change.
    async fn poll_for_load(
        &self,
        scope: &CallScope,
        session: &mut ServerSession,
        target: &str,
        handle: Option<&str>,
    ) -> Result<Option<Node>, StationError> {
        let body = self
            .poll(scope, session)
            .await?
            .map_err(|refusal| self.not_found(target, refusal))?;
        let mut loaded = None;
        for event in read_changes(&body) {
            let is_wanted = loaded.is_none()
                && event.kind == "l"
                && handle.is_none_or(|wanted| event.handle.as_deref() == Some(wanted));
            match event.fields.get("b") {
                Some(json) if is_wanted => {
                    let mut node =
                        Node::decode(json).map_err(|error| node_error(target, &error))?;
                    node.handle = node.handle.or(event.handle);
                    loaded = Some(node);
                }
                _ => session.keep(event),
            }
        }
        Ok(loaded)
    }

    /// Takes what waits at the station, in a live session.
    pub(super) async fn drain(
        &self,
        scope: &CallScope,
        session: &mut ServerSession,
    ) -> Result<(), StationError> {
        if session.id.is_some() {
            match self.poll(scope, session).await? {
                Ok(body) => read_changes(&body)
                    .into_iter()
                    .for_each(|event| session.keep(event)),
                Err(_) => session.id = None,
            }
        }
        self.open(scope, session).await.map(|_| ())
    }

    async fn poll(
        &self,
        scope: &CallScope,
        session: &mut ServerSession,
    ) -> Result<Reply, StationError> {
        let id = self.open(scope, session).await?;
        let request = Request::new("ssession", "pollchgs", json!({"id": id}));
        // The station hands every change out once: an answer that broke off took its changes along.
        match self.call_once(scope, request.clone()).await {
            Err(StationError::Unreachable { .. } | StationError::Cut { .. }) => {
                session.lost = true;
                self.call(scope, request).await
            }
            Err(error) => {
                session.lost = true;
                Err(error)
            }
            reply => reply,
        }
    }

    /// Calls a handler of the component space; for reads only: it repeats the call in a new session
    /// when the refusal turns out to be the end of the old one.
    pub(super) async fn call_space(
        &self,
        scope: &CallScope,
        session: &mut ServerSession,
        key: &str,
        argument: Json,
    ) -> Result<Reply, StationError> {
        let had_session = session.id.is_some();
        let reply = self.call_space_once(scope, session, key, &argument).await?;
        let Err(refusal) = reply else {
            return Ok(reply);
        };
        if !had_session || self.is_alive(scope, session).await? {
            return Ok(Err(refusal));
        }
        session.id = None;
        self.call_space_once(scope, session, key, &argument).await
    }

    pub(super) async fn call_space_once(
        &self,
        scope: &CallScope,
        session: &mut ServerSession,
        key: &str,
        argument: &Json,
    ) -> Result<Reply, StationError> {
        let id = self.open(scope, session).await?;
        let body = json!({"id": id, "scid": SPACE, "sck": key, "scarg": argument});
        self.call(scope, Request::new("ssession", "callssc", body))
            .await
    }

    /// Texts of expired sessions differ, so a poll tells: it is refused only when the session is gone.
    async fn is_alive(
        &self,
        scope: &CallScope,
        session: &mut ServerSession,
    ) -> Result<bool, StationError> {
        match self.poll(scope, session).await? {
            Ok(body) => {
                read_changes(&body)
                    .into_iter()
                    .for_each(|event| session.keep(event));
                Ok(true)
            }
            Err(_) => Ok(false),
        }
    }

    /// The session's id, made if there is none.
    pub(super) async fn open(
        &self,
        scope: &CallScope,
        session: &mut ServerSession,
    ) -> Result<String, StationError> {
        if let Some(id) = &session.id {
            return Ok(id.clone());
        }
        let needs = "a BOX server session";
        let made = self
            .call(scope, Request::new("ssession", "make", json!({})))
            .await?;
        let id = match made.map_err(|refusal| self.interface_refused(needs, refusal))? {
            Json::String(id) if !id.is_empty() => id,
            Json::Number(id) => id.to_string(),
            _ => {
                return Err(protocol(
                    "BOX ssession/make",
                    "the id of a server session",
                    "none",
                ));
            }
        };
        let space = json!({"id": id, "scid": SPACE, "scts": "box:ComponentSpaceSessionHandler", "scarg": SPACE});
        let opened = self
            .call(scope, Request::new("ssession", "makessc", space))
            .await;
        match opened {
            Ok(Ok(_)) => {
                session.masked = Some(Secret::session_key(&id));
                session.id = Some(id.clone());
                session.generation += 1;
                Ok(id)
            }
            Ok(Err(refusal)) => {
                self.delete(scope, &id).await;
                Err(self.interface_refused(needs, refusal))
            }
            Err(error) => {
                self.delete(scope, &id).await;
                Err(error)
            }
        }
    }

    /// Slot path of a handle, `slot:/A/B`.
    pub async fn handle_to_path(
        &self,
        scope: &CallScope,
        handle: &str,
    ) -> Result<String, StationError> {
        let target = format!("h:{handle}");
        self.path_from(scope, "handleToPath", handle, &target).await
    }

    /// Slot path of the service of a type, such as `alarm:AlarmService`.
    pub async fn service_to_path(
        &self,
        scope: &CallScope,
        type_spec: &str,
    ) -> Result<String, StationError> {
        self.path_from(scope, "serviceToPath", type_spec, type_spec)
            .await
    }

    async fn path_from(
        &self,
        scope: &CallScope,
        key: &str,
        argument: &str,
        target: &str,
    ) -> Result<String, StationError> {
        let mut session = self.lock(scope).await?;
        let reply = self
            .call_space(scope, &mut session, key, json!(argument))
            .await?;
        match reply.map_err(|refusal| self.not_found(target, refusal))? {
            Json::String(path) => {
                let path = path
                    .trim_start_matches("local:|")
                    .trim_start_matches("station:|");
                if path.starts_with("slot:/") {
                    Ok(path.to_owned())
                } else {
                    Err(protocol(target, "a slot path", path))
                }
            }
            _ => Err(StationError::NotFound {
                target: target.to_owned(),
                detail: "the station knows no path for it".into(),
            }),
        }
    }

    /// The station's root component as a stub: handle and type.
    pub async fn load_root(&self, scope: &CallScope) -> Result<Node, StationError> {
        let mut session = self.lock(scope).await?;
        let reply = self
            .call_space(scope, &mut session, "loadRoot", Json::Null)
            .await?;
        let body = reply.map_err(|refusal| self.not_found("slot:/", refusal))?;
        Node::decode(&body).map_err(|error| node_error("slot:/", &error))
    }

    /// Changes that came in while other answers were awaited; asks the station for more first.
    pub async fn take_changes(&self, scope: &CallScope) -> Result<Changes, StationError> {
        let mut session = self.lock(scope).await?;
        self.drain(scope, &mut session).await?;
        Ok(Changes {
            events: session.events.drain(..).collect(),
            dropped: std::mem::take(&mut session.dropped),
            lost: std::mem::take(&mut session.lost),
            generation: session.generation,
        })
    }

    /// Deletes the server session at the station, if there is one; the client can be used again.
    pub async fn close(&self) {
        let scope = CallScope::within(CLOSE_TIMEOUT);
        let Ok(mut session) = self.lock(&scope).await else {
            warn_of_session("it was in use");
            return;
        };
        session.events.clear();
        if let Some(id) = session.id.take() {
            self.delete(&scope, &id).await;
        }
    }

    /// Best effort: a session that stays behind expires after 90 s.
    async fn delete(&self, scope: &CallScope, id: &str) {
        match self
            .call(scope, Request::new("ssession", "del", json!({"id": id})))
            .await
        {
            Ok(Ok(_)) => {}
            Ok(Err(Refusal { text, .. })) => {
                tracing::debug!(text, "the station did not delete the BOX session")
            }
            Err(error) if error.leaves_behind() => warn_of_session(&error.to_string()),
            Err(error) => tracing::debug!(%error, "the BOX session could not be deleted"),
        }
    }
}

fn warn_of_session(cause: &str) {
    tracing::warn!(
        cause,
        "a BOX server session stays behind at the station; it expires after 90 s"
    );
}

/// The operations of a poll's answer: a list of events, one event, or nothing.
fn read_changes(body: &Json) -> Vec<ChangeEvent> {
    let events: &[Json] = match body {
        Json::Array(events) => events,
        Json::Object(_) => std::slice::from_ref(body),
        _ => &[],
    };
    let groups = events.iter().flat_map(|event| match event.get("evs") {
        Some(Json::Array(groups)) => groups.as_slice(),
        Some(group) => std::slice::from_ref(group),
        None => &[],
    });
    groups.flat_map(read_operations).collect()
}

/// The operations of one group, `{"ops":[…]}`.
pub(super) fn read_operations(group: &Json) -> impl Iterator<Item = ChangeEvent> {
    let operations = group.get("ops").and_then(Json::as_array);
    operations.into_iter().flatten().filter_map(|operation| {
        Some(ChangeEvent {
            kind: operation.get("nm")?.as_str()?.to_owned(),
            handle: operation
                .get("h")
                .and_then(Json::as_str)
                .map(|handle| handle.trim_start_matches("h:").to_owned()),
            fields: operation.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_read_in_every_shape() {
        let operations = json!({"nm":"sync","ver":"1.0","ops":[{"nm":"l","h":"2f1","b":{}},{"nm":"s","h":"h:2"},{"x":1}]});
        for body in [
            json!([{"scid":"station:","evs":operations}]),
            json!([{"evs":[operations]}]),
            json!({"evs":operations}),
        ] {
            let kinds: Vec<_> = read_changes(&body)
                .into_iter()
                .map(|event| (event.kind, event.handle))
                .collect();
            assert_eq!(
                kinds,
                [
                    ("l".into(), Some("2f1".into())),
                    ("s".into(), Some("2".into()))
                ]
            );
        }
        assert!(read_changes(&Json::Null).is_empty());
        assert!(read_changes(&json!([])).is_empty());
    }

    #[test]
    fn the_queue_of_changes_drops_the_oldest() {
        let mut session = ServerSession::default();
        session.follow();
        for number in 0..MAX_EVENTS + 3 {
            session.keep(ChangeEvent {
                kind: number.to_string(),
                handle: None,
                fields: Json::Null,
            });
        }
        assert_eq!((session.events.len(), session.dropped), (MAX_EVENTS, 3));
        assert_eq!(
            session.events.front().map(|event| event.kind.as_str()),
            Some("3")
        );
    }

    fn change(kind: &str, handle: &str, fields: Json) -> ChangeEvent {
        ChangeEvent {
            kind: kind.to_owned(),
            handle: Some(handle.to_owned()),
            fields,
        }
    }

    #[test]
    fn loads_that_nobody_awaits_any_more_do_not_pile_up() {
        let mut session = ServerSession::default();
        for number in 0..10 {
            session.keep(change("l", "2f1", json!(number)));
        }
        assert!(session.events.is_empty(), "nobody takes changes");

        session.follow();
        session.keep(change("s", "77", json!("other")));
        for number in 0..10 {
            session.keep(change("s", "2f1", json!("before")));
            session.keep(change("l", "2f1", json!(number)));
        }
        session.keep(change("s", "2f1", json!("after")));
        let kept: Vec<_> = session.events.iter().map(|kept| &kept.fields).collect();
        assert_eq!(kept, [&json!("other"), &json!(9), &json!("after")]);

        session.generation += 1;
        session.keep(change(
            "s",
            "2f1",
            json!("of a session without subscribers"),
        ));
        assert_eq!(session.events.len(), 3);
    }
}
