//! Changes of what can be listed: who makes them known, and how they reach the clients of each transport.
//!
//! Fixed resources never change; what an edit of the knowledge model changes is which documents the templates lead to,
//! and clients that keep such a list are told (Tool surface §10, §12 number 32).

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{BoxStream, select};
use rmcp::model::{CustomNotification, ServerNotification};
use rmcp::service::{Peer, RoleServer};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::bridge::Bridge;
use crate::knowledge::KnowledgeStore;

/// A list that clients may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    Tools,
    Resources,
}

impl List {
    /// The notification that tells of a change.
    pub const fn notification(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }
}

/// One item per change from now on; changes that come faster than they are taken count once.
pub fn changes(bridge: &Bridge, list: List) -> BoxStream<'static, List> {
    let changes = match list {
        List::Tools => bridge.tool_lists(),
        List::Resources => bridge.resource_lists(),
    };
    futures::stream::unfold(changes, move |mut changes| async move {
        changes.changed().await.ok()?;
        Some((list, changes))
    })
    .boxed()
}

/// Tells a session of every change until the handle is dropped.
pub fn tell(bridge: &Bridge, peer: Peer<RoleServer>) -> AbortOnDropHandle<()> {
    let mut changes = select(
        changes(bridge, List::Tools),
        changes(bridge, List::Resources),
    );
    AbortOnDropHandle::new(tokio::spawn(async move {
        while let Some(list) = changes.next().await {
            let note = CustomNotification::new(list.notification(), Some(json!({})));
            let note = ServerNotification::CustomNotification(note);
            if let Err(error) = peer.send_notification(note).await {
                tracing::debug!(%error, "a session that listened has ended");
                return;
            }
        }
    }))
}

/// Watches the knowledge model until `stop` fires and makes known when entries came or went.
pub fn follow_knowledge(bridge: Arc<Bridge>, knowledge: &KnowledgeStore, stop: CancellationToken) {
    let mut changes = knowledge.changes();
    let mut known = changes.borrow_and_update().entries;
    tokio::spawn(stop.run_until_cancelled_owned(async move {
        while changes.changed().await.is_ok() {
            let entries = changes.borrow_and_update().entries;
            if entries != known {
                known = entries;
                bridge.resources_changed();
            }
        }
    }));
}
