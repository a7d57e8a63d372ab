//! Notices that a file got another content: the configuration, certificates, the knowledge file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use ring::digest::{SHA256, digest};
use tokio::sync::mpsc;

/// Editors write in several steps; the file is read when it has been quiet for this long.
const QUIET: Duration = Duration::from_millis(150);

/// Watches one file. Its folder is watched, because editors and orchestrators put a new file in place of the old one.
pub struct FileWatch {
    path: PathBuf,
    last: Option<Vec<u8>>,
    events: mpsc::Receiver<()>,
    _watcher: RecommendedWatcher,
}

impl FileWatch {
    /// Starts to watch.
    ///
    /// # Errors
    /// The folder cannot be watched.
    pub fn start(path: &Path) -> notify::Result<Self> {
        let (sender, events) = mpsc::channel(1);
        let watched = path.to_owned();
        // Orchestrators swap the folder that a link leads through: then every name in the folder counts.
        let any_name = path.is_symlink();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // A full queue means that a look at the file is due already.
            match event {
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
                Ok(event) if any_name || concerns(&event, &watched) => drop(sender.try_send(())),
                // A log beside the file would keep it from ever being quiet.
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(file = %watched.display(), %error, "changes of this file may go unnoticed");
                }
            }
        })?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(Self {
            path: path.to_owned(),
            last: fingerprint(path),
            events,
            _watcher: watcher,
        })
    }

    /// Waits until something was done to the file and it has been quiet since, whatever it holds now; false when it
    /// cannot be watched any longer.
    ///
    /// For whoever also writes the file: only they know whether what it holds is what they know of it.
    pub async fn touched(&mut self) -> bool {
        if self.events.recv().await.is_none() {
            return false;
        }
        while let Ok(event) = tokio::time::timeout(QUIET, self.events.recv()).await {
            if event.is_none() {
                return false;
            }
        }
        true
    }

    /// Waits until the file has another content; false when it cannot be watched any longer.
    pub async fn changed(&mut self) -> bool {
        loop {
            if !self.touched().await {
                return false;
            }
            let now = fingerprint(&self.path);
            // A file that is away for the moment of its replacement is no change.
            if now.is_some() && now != self.last {
                self.last = now;
                return true;
            }
        }
    }
}

fn concerns(event: &Event, file: &Path) -> bool {
    event.need_rescan()
        || event.paths.is_empty()
        || event
            .paths
            .iter()
            .any(|path| path.file_name() == file.file_name())
}

fn fingerprint(path: &Path) -> Option<Vec<u8>> {
    let text = zeroize::Zeroizing::new(std::fs::read(path).ok()?);
    Some(digest(&SHA256, &text).as_ref().to_vec())
}
