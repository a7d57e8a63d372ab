//! What commands print: results on standard output, words to the person at the terminal on standard error.
//!
//! The one place for both: the macros of the standard library panic when nobody reads any longer.

use std::io::{ErrorKind, Write};

use anyhow::Context;

use crate::secrecy::mask;

/// Prints a result. A reader that has seen enough, such as `head`, is no failure; Windows tells of one in the same way.
///
/// # Errors
/// Standard output cannot be written, for example because the disk behind it is full.
pub fn print(text: &str) -> anyhow::Result<()> {
    written(&mut std::io::stdout().lock(), text.as_bytes())
        .context("standard output cannot be written")
}

/// Prints what exists nowhere else: that nobody read it is a failure.
///
/// # Errors
/// Standard output cannot be written, or nobody reads it.
pub fn hand_over(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("standard output cannot be written")
}

/// Standard output for what comes in portions; remembers that nobody reads any longer.
#[derive(Debug, Default)]
pub struct Portions {
    gone: bool,
}

impl Portions {
    /// The outcome of what was written: that the reader has gone is no failure.
    ///
    /// # Errors
    /// As [`print`].
    pub fn ended<T, E>(mut self, outcome: Result<T, E>) -> anyhow::Result<()>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let flushed = self.flush();
        match outcome {
            _ if self.gone => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => flushed.context("standard output cannot be written"),
        }
    }

    fn noted<T>(&mut self, outcome: std::io::Result<T>) -> std::io::Result<T> {
        if let Err(error) = &outcome {
            self.gone |= error.kind() == ErrorKind::BrokenPipe;
        }
        outcome
    }
}

impl Write for Portions {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let outcome = std::io::stdout().write(bytes);
        self.noted(outcome)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let outcome = std::io::stdout().flush();
        self.noted(outcome)
    }
}

fn written(out: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    // What waits for the end of its line would fail unseen when the process ends.
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

/// Tells the person at the terminal something that is no log line.
pub fn say(text: &str) {
    put(&format!("{}\n", mask(text)));
}

/// Overwrites the line of the terminal that was written last in this way.
pub fn overwrite(text: &str) {
    put(&format!("\r{}", mask(text)));
}

fn put(text: &str) {
    // Without standard error there is nobody to tell.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the bytes are to leave its buffer.
    struct Closed(ErrorKind, Vec<u8>);

    impl Write for Closed {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_no_failure_and_a_full_disk_is_one() {
        let outcome = |kind| written(&mut Closed(kind, Vec::new()), b"no line end");
        outcome(ErrorKind::BrokenPipe).expect("an end like any other");
        let full = outcome(ErrorKind::StorageFull).expect_err("nothing was written");
        assert_eq!(full.kind(), ErrorKind::StorageFull);
    }
}
