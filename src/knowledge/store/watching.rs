//! Takes up what other programs write into the file. Edits are saved before they are seen, so nothing is discarded.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{KnowledgeState, KnowledgeStore};
use crate::file_watch::FileWatch;

impl KnowledgeStore {
    /// Reads the file again whenever another program gave it another content, until `stop` fires.
    ///
    /// What the file holds is compared with what the model was read from, not with what the file held at an earlier look:
    /// a change back to an earlier content is a change too. Of a file that vanishes the model stays, marked as lost, and
    /// edits are refused until the file is back or reloadKnowledge was called.
    ///
    /// # Errors
    /// The folder of the file cannot be watched.
    pub fn watch(self: &Arc<Self>, stop: CancellationToken) -> notify::Result<()> {
        let mut file = FileWatch::start(self.path())?;
        let store = self.clone();
        tokio::spawn(async move {
            while stop.run_until_cancelled(file.touched()).await == Some(true) {
                let before = store.changes().borrow().snapshots;
                let snapshot = store.reload_if_changed().await;
                let path = store.path().display();
                if store.changes().borrow().snapshots != before
                    && matches!(snapshot.state, KnowledgeState::Loaded)
                {
                    tracing::info!(
                        file = %path, equipment = snapshot.model.document().equipment.len(),
                        "the knowledge file was changed by another program and read again"
                    );
                }
            }
        });
        Ok(())
    }
}
