//! A reading that finds much less than the model held: half a file that an editor left, a wrong file put in place.

use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::backup::Backups;
use super::{KnowledgeSnapshot, KnowledgeState, Shared};
use crate::knowledge::document::KnowledgeDocument;
use crate::knowledge::format::DocumentFormat;
use crate::knowledge::model::KnowledgeModel;

/// One part in this many of what the model held may go without a remark, as long as no section is empty then.
const TOLERATED: usize = 10;

/// Most remarks that wait to be read.
const MOST_NOTICES: usize = 20;

/// The model that readings are compared with, and what was noticed since somebody last asked for a reading.
#[derive(Debug, Default)]
pub(super) struct Reference {
    good: Option<(Arc<KnowledgeModel>, DocumentFormat)>,
    /// Where that model was kept when something else was found in the file.
    copy: Option<PathBuf>,
    loss: Option<String>,
    notices: Vec<String>,
}

/// Entries of the sections that a document always has, and the points and roles in them.
fn counts(document: &KnowledgeDocument) -> [(&'static str, usize); 5] {
    let types = document.equipment_types.iter();
    let equipment = document.equipment.iter();
    [
        ("spaces", document.spaces.len()),
        ("equipment types", document.equipment_types.len()),
        ("equipment", document.equipment.len()),
        ("points", document.points.len()),
        (
            "roles",
            types.map(|entry| entry.typical_points.len()).sum::<usize>()
                + equipment.map(|entry| entry.points.len()).sum::<usize>(),
        ),
    ]
}

/// What a document lost against an earlier one, as part of a sentence; none for what a person does in an ordinary edit.
fn lost(before: &KnowledgeDocument, after: &KnowledgeDocument) -> Option<String> {
    let (before, after) = (counts(before), counts(after));
    let total = |counts: &[(&str, usize)]| counts.iter().map(|(_, count)| count).sum::<usize>();
    let gone = total(&before).saturating_sub(total(&after));
    let mut pairs = before.iter().zip(&after);
    let is_emptied = pairs.any(|((_, was), (_, is))| *was > 0 && *is == 0);
    if !is_emptied && gone * TOLERATED <= total(&before) {
        return None;
    }
    let fewer: Vec<String> = before
        .iter()
        .zip(&after)
        .filter(|((_, was), (_, is))| is < was)
        .map(|((section, was), (_, is))| format!("{is} of {was} {section}"))
        .collect();
    Some(fewer.join(", "))
}

impl Shared {
    fn reference(&self) -> MutexGuard<'_, Reference> {
        self.reference
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a model that was read at start or saved here as the one to compare with, unless a loss is still untold.
    pub(super) fn refer_to(&self, snapshot: &KnowledgeSnapshot) {
        let mut reference = self.reference();
        if reference.loss.is_none() && matches!(snapshot.state, KnowledgeState::Loaded) {
            reference.good = Some((snapshot.model.clone(), snapshot.format));
            reference.copy = None;
        }
    }

    /// Compares what was read with the model there was; a loss is told, and the earlier model is kept beside the file.
    pub(super) fn compare(&self, fresh: &KnowledgeSnapshot) {
        let mut reference = self.reference();
        let Some((good, format)) = reference.good.clone() else {
            drop(reference);
            return self.refer_to(fresh);
        };
        let fewer = match &fresh.state {
            KnowledgeState::Loaded => lost(good.document(), fresh.model.document()),
            KnowledgeState::Lost(_) => return,
            KnowledgeState::Missing | KnowledgeState::Unreadable(_) => {
                let held = counts(good.document()).iter().any(|(_, count)| *count > 0);
                held.then(|| "nothing that can be read".to_owned())
            }
        };
        let Some(fewer) = fewer else {
            reference.loss = None;
            drop(reference);
            return self.refer_to(fresh);
        };
        if reference.copy.is_none() {
            reference.copy = self.keep_model(&good, format);
        }
        let kept = match &reference.copy {
            Some(copy) => format!("the model as it was before is kept in {}", copy.display()),
            None => "the model as it was before could not be kept".to_owned(),
        };
        tracing::warn!(file = %self.path.display(), "the knowledge file holds much less than before: {fewer}; {kept}");
        reference.loss = Some(format!(
            "another program changed the knowledge file, which holds much less than before ({fewer}); {kept}; if the \
             change is not intended, copy that file back and call reloadKnowledge, which also ends this remark"
        ));
    }

    /// Keeps the last model that was read or saved, if it held anything and is not kept already.
    pub(super) fn keep_last_model(&self) {
        let mut reference = self.reference();
        let Some((good, format)) = reference.good.clone() else {
            return;
        };
        if reference.copy.is_none() && counts(good.document()).iter().any(|(_, count)| *count > 0) {
            reference.copy = self.keep_model(&good, format);
        }
    }

    fn keep_model(&self, model: &KnowledgeModel, format: DocumentFormat) -> Option<PathBuf> {
        let origin = self.path.display().to_string();
        let text = match model.document().to_text(&origin, format) {
            Ok(text) => text,
            Err(error) => {
                tracing::error!(%error, "the earlier model of the knowledge cannot be kept");
                return None;
            }
        };
        let backups = Backups::new(self.target(), self.options.backup_count);
        match backups.keep_text("earlier", text.as_bytes(), self.options.clock.now()) {
            Ok(copy) => Some(copy),
            Err(error) => {
                tracing::error!(%error, "the earlier model of the knowledge cannot be kept");
                None
            }
        }
    }

    /// Remembers something that whoever works with the knowledge must hear of.
    pub(super) fn notice(&self, text: String) {
        let mut reference = self.reference();
        if reference.notices.len() < MOST_NOTICES {
            reference.notices.push(text);
        }
    }

    pub(super) fn notices(&self) -> Vec<String> {
        let reference = self.reference();
        let loss = reference.loss.iter();
        loss.chain(&reference.notices).cloned().collect()
    }

    /// Ends the remarks: somebody has read them, and the model is meant to be as it is.
    pub(super) fn accept(&self) {
        {
            let mut reference = self.reference();
            reference.loss = None;
            reference.notices.clear();
        }
        self.refer_to(&self.snapshot());
    }
}
