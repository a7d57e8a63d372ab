//! Edits: a copy of the document is changed, saved, and only then shown to readers.

use std::sync::Arc;

use super::audit::AuditRecord;
use super::backup::Backups;
use super::reading::regular_file;
use super::{KnowledgeSnapshot, KnowledgeState, KnowledgeStore, Shared};
use crate::knowledge::document::{KnowledgeDocument, SCHEMA_VERSION};
use crate::knowledge::error::{EditError, KnowledgeUnreadable};
use crate::knowledge::format;
use crate::knowledge::model::KnowledgeModel;

/// Who edits, for the log of edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editor {
    /// Name of the user, `service` for the service identity.
    pub principal: String,
    /// Session of the client, empty when the transport has none.
    pub session_id: String,
    pub tool: String,
}

/// The outcome of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited<T> {
    /// `id` in the log of edits (Tool surface §8.6, §8.7).
    pub audit_id: String,
    pub result: T,
}

impl<T> Edited<T> {
    pub fn new(audit_id: impl Into<String>, result: T) -> Self {
        Self {
            audit_id: audit_id.into(),
            result,
        }
    }
}

/// Whether an edit may begin with an empty model in place of a file that cannot be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unusable {
    Refused,
    Replaced,
}

impl KnowledgeStore {
    /// Changes the knowledge: `change` works on a copy, which is saved and then shown to readers.
    ///
    /// One edit runs at a time, in the order of the calls. An edit whose caller stops waiting is finished nevertheless.
    /// `action` is the name in the log of edits, usually that of the tool.
    ///
    /// # Errors
    /// The file may not be changed or cannot be saved, or `change` refused; then nothing has changed.
    pub async fn edit<T, F>(&self, editor: &Editor, action: &str, change: F) -> Result<T, EditError>
    where
        T: Send + 'static,
        F: FnOnce(&mut KnowledgeDocument) -> Result<Edited<T>, EditError> + Send + 'static,
    {
        self.change(editor, action, Unusable::Refused, change).await
    }

    /// The same for a change that needs nothing of the present model: it also replaces a file that cannot be used.
    ///
    /// Of such a file a copy is kept whatever the settings are; `change` then begins with an empty document.
    ///
    /// # Errors
    /// As [`KnowledgeStore::edit`].
    pub async fn replace<T, F>(
        &self,
        editor: &Editor,
        action: &str,
        change: F,
    ) -> Result<T, EditError>
    where
        T: Send + 'static,
        F: FnOnce(&mut KnowledgeDocument) -> Result<Edited<T>, EditError> + Send + 'static,
    {
        self.change(editor, action, Unusable::Replaced, change)
            .await
    }

    async fn change<T, F>(
        &self,
        editor: &Editor,
        action: &str,
        unusable: Unusable,
        change: F,
    ) -> Result<T, EditError>
    where
        T: Send + 'static,
        F: FnOnce(&mut KnowledgeDocument) -> Result<Edited<T>, EditError> + Send + 'static,
    {
        let writer = self.writer.clone().lock_owned().await;
        let shared = self.shared.clone();
        let (editor, action) = (editor.clone(), action.to_owned());
        let work = tokio::task::spawn_blocking(move || {
            let _writer = writer;
            let outcome = shared.apply(&editor, &action, unusable, change);
            (shared, outcome)
        });
        let (shared, outcome) = work.await.map_err(|error| EditError::Interrupted {
            detail: error.to_string(),
        })?;
        shared.look_again_later();
        outcome
    }

    /// Begins anew with an empty document where the file is missing and nobody wants its copies back; those are taken out
    /// of the rotation of backups and stay. Where there is a file, nothing is done.
    ///
    /// # Errors
    /// As [`KnowledgeStore::edit`].
    pub async fn start_empty(&self, editor: &Editor) -> Result<(), EditError> {
        let writer = self.writer.clone().lock_owned().await;
        let shared = self.shared.clone();
        let editor = editor.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _writer = writer;
            shared.start_empty(&editor)
        });
        work.await.unwrap_or_else(|error| {
            Err(EditError::Interrupted {
                detail: error.to_string(),
            })
        })
    }
}

impl Shared {
    fn start_empty(&self, editor: &Editor) -> Result<(), EditError> {
        if (self.options.read_only)() {
            return Err(EditError::ReadOnly {
                path: self.path.clone(),
            });
        }
        if !matches!(regular_file(&self.path), Ok(None)) {
            return Ok(());
        }
        self.keep_last_model();
        Backups::new(self.target(), self.options.backup_count).set_rotation_aside();
        self.accept();
        let before = KnowledgeSnapshot {
            format: self.snapshot().format,
            ..KnowledgeSnapshot::empty(KnowledgeState::Missing)
        };
        let begin = |_: &mut KnowledgeDocument| Ok(Edited::new("", ()));
        self.put(before, editor, "reloadKnowledge", begin)
    }

    fn apply<T>(
        &self,
        editor: &Editor,
        action: &str,
        unusable: Unusable,
        change: impl FnOnce(&mut KnowledgeDocument) -> Result<Edited<T>, EditError>,
    ) -> Result<T, EditError> {
        if (self.options.read_only)() {
            return Err(EditError::ReadOnly {
                path: self.path.clone(),
            });
        }
        let mut before = self.snapshot();
        if matches!(before.state, KnowledgeState::Unreadable(_)) && before.content.is_some() {
            // Half a document may be what another program has written so far.
            self.wait_until_quiet()?;
            before = self.read_again(true);
        }
        let stands_in_the_way = match &before.state {
            KnowledgeState::Missing | KnowledgeState::Loaded => None,
            KnowledgeState::Lost(detail) => Some(detail),
            KnowledgeState::Unreadable(detail) => {
                let is_replaced = unusable == Unusable::Replaced && before.content.is_some();
                (!is_replaced).then_some(detail)
            }
        };
        if let Some(detail) = stands_in_the_way {
            return Err(EditError::Unreadable(KnowledgeUnreadable {
                path: self.path.clone(),
                detail: detail.clone(),
            }));
        }
        self.wait_for_rest(&before).inspect_err(|error| {
            if matches!(error, EditError::ChangedOnDisk { .. }) {
                self.read_again(true);
            }
        })?;
        self.put(before, editor, action, change)
    }

    /// Changes a copy of the document, saves it and shows it to readers.
    fn put<T>(
        &self,
        before: KnowledgeSnapshot,
        editor: &Editor,
        action: &str,
        change: impl FnOnce(&mut KnowledgeDocument) -> Result<Edited<T>, EditError>,
    ) -> Result<T, EditError> {
        let old = before.model.document();
        let mut document = old.clone();
        let Edited { audit_id, result } = change(&mut document)?;
        document.schema_version = SCHEMA_VERSION;
        document.drop_blank_texts();
        let origin = self.path.display().to_string();
        let text = format::render(&origin, before.format, &document.to_tree())?;
        let record = AuditRecord::new(
            self.options.clock.now(),
            editor,
            action,
            &audit_id,
            old,
            &document,
        );
        let content = self.save(&before, text.as_bytes()).inspect_err(|error| {
            if matches!(error, EditError::ChangedOnDisk { .. }) {
                // What stands in the way of the edit is what readers should see.
                self.read_again(true);
            }
        })?;
        let fresh = KnowledgeSnapshot {
            model: Arc::new(KnowledgeModel::new(document)),
            format: before.format,
            state: KnowledgeState::Loaded,
            // They tell what the file held that was read.
            warnings: Arc::from([]),
            content: Some(content),
            is_written_here: true,
        };
        self.refer_to(&fresh);
        self.publish(fresh);
        self.log(&record);
        Ok(result)
    }
}
