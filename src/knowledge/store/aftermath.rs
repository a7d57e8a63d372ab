//! A second look at files that saves replaced: a program that had one of them open may write on into it, where nobody
//! would find what it wrote.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::Shared;
use super::backup::Backups;
use super::reading::ContentHash;
use super::settling::Facts;
use crate::durable_file;
use crate::knowledge::format::MAX_BYTES;

/// How often the replaced files are looked at.
const EVERY: Duration = Duration::from_secs(2);

/// How long a replaced file is looked at.
const WATCHED: Duration = Duration::from_secs(60);

/// Most files that are kept open.
const MOST: usize = 32;

/// Files that saves replaced and that somebody may still write into.
#[derive(Debug, Default)]
pub(super) struct Aftermath {
    files: Vec<Replaced>,
    is_looked_at: bool,
}

/// A file without a name.
#[derive(Debug)]
pub(super) struct Replaced {
    file: File,
    facts: Facts,
    content: Option<ContentHash>,
    /// Where its later content was kept.
    kept: Option<PathBuf>,
    since: Duration,
}

impl Replaced {
    /// The replaced file, by the name that it still has; none when it cannot be opened.
    pub(super) fn open(path: &Path, content: Option<ContentHash>, since: Duration) -> Option<Self> {
        let file = File::open(path).ok()?;
        let facts = Facts::of(&file.metadata().ok()?);
        Some(Self {
            file,
            facts,
            content,
            kept: None,
            since,
        })
    }

    /// What it holds, if that is something else than at the last look.
    fn news(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let facts = Facts::of(&self.file.metadata()?);
        if facts == self.facts {
            return Ok(None);
        }
        self.facts = facts;
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        (&self.file).take(MAX_BYTES).read_to_end(&mut bytes)?;
        let content = Some(ContentHash::of(&bytes));
        let is_news = content != self.content && !bytes.is_empty();
        self.content = content;
        Ok(is_news.then_some(bytes))
    }
}

impl Shared {
    fn aftermath(&self) -> MutexGuard<'_, Aftermath> {
        self.aftermath
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a replaced file in view.
    pub(super) fn keep_in_view(&self, replaced: Replaced) {
        let full = self.aftermath().files.len() >= MOST;
        if full {
            self.look_at_replaced_files();
        }
        let mut aftermath = self.aftermath();
        if aftermath.files.len() >= MOST {
            aftermath.files.remove(0);
        }
        aftermath.files.push(replaced);
    }

    /// Looks once more at each replaced file; what others wrote into one since is kept beside the knowledge file and told.
    pub(super) fn look_at_replaced_files(&self) {
        let now = self.options.clock.monotonic();
        let mut files = std::mem::take(&mut self.aftermath().files);
        for replaced in &mut files {
            match replaced.news() {
                Ok(Some(bytes)) => self.keep_news(replaced, &bytes),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "a replaced knowledge file cannot be looked at again");
                }
            }
        }
        files.retain(|replaced| now.saturating_sub(replaced.since) < WATCHED);
        let mut aftermath = self.aftermath();
        files.append(&mut aftermath.files);
        aftermath.files = files;
    }

    fn keep_news(&self, replaced: &mut Replaced, bytes: &[u8]) {
        let backups = Backups::new(self.target(), self.options.backup_count);
        let kept = match &replaced.kept {
            Some(kept) => durable_file::replace(kept, bytes).map(|()| kept.clone()),
            None => backups.keep_text("outside", bytes, self.options.clock.now()),
        };
        match kept {
            Ok(kept) => {
                tracing::warn!(
                    file = %self.path.display(), kept = %kept.display(),
                    "another program went on writing into the knowledge file after an edit had replaced it; what it wrote is kept"
                );
                if replaced.kept.is_none() {
                    self.notice(format!(
                        "another program went on writing into the knowledge file after an edit had replaced it: what it \
                         wrote is kept in {}; compare it with the model and bring over what is missing",
                        kept.display()
                    ));
                }
                replaced.kept = Some(kept);
            }
            Err(error) => {
                tracing::error!(%error, "what another program wrote into a replaced knowledge file cannot be kept");
            }
        }
    }

    /// Looks at the replaced files from time to time until none is left.
    pub(super) fn look_again_later(self: &Arc<Self>) {
        {
            let mut aftermath = self.aftermath();
            if aftermath.is_looked_at || aftermath.files.is_empty() {
                return;
            }
            aftermath.is_looked_at = true;
        }
        tokio::spawn(look_while_needed(Arc::downgrade(self)));
    }
}

async fn look_while_needed(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let work = tokio::task::spawn_blocking(move || {
            shared.look_at_replaced_files();
            let mut aftermath = shared.aftermath();
            aftermath.is_looked_at = !aftermath.files.is_empty();
            aftermath.is_looked_at
        });
        if !work.await.unwrap_or(false) {
            return;
        }
    }
}
