//! Log lines kept for a test.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use niagara_bridge::cli::logging::{self, LogSwitch};
use niagara_bridge::config::LogFormat;
use tracing::Dispatch;

/// What was logged so far.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Where lines of that form are written to.
    pub fn lines(&self, format: LogFormat, colours: bool, level: &str) -> (Dispatch, LogSwitch) {
        let writer = self.clone();
        logging::lines(move || writer.clone(), colours, format, level)
    }

    pub fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(kept.clone()).expect("UTF-8")
    }
}
