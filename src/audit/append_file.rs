//! A file that only grows.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// A file that lines are appended to.
pub trait AppendFile: Send {
    /// Appends all of `bytes`; after a failure a part of them may be in the file.
    ///
    /// # Errors
    /// The disk is full, read-only or broken.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Brings what was appended to the disk.
    ///
    /// # Errors
    /// The disk reports a failure.
    fn sync(&mut self) -> io::Result<()>;
}

/// Opens a file for appending and makes it when it is missing.
pub type OpenAppend = Arc<dyn Fn(&Path) -> io::Result<Box<dyn AppendFile>> + Send + Sync>;

/// Files of the operating system; on Unix only their owner may read new ones.
pub fn on_disk() -> OpenAppend {
    Arc::new(|path| {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Box::new(DiskFile(options.open(path)?)))
    })
}

struct DiskFile(File);

impl AppendFile for DiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}
