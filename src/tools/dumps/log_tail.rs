//! The end of a log of lines, without reading all of it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes at the end that are looked at; a line that does not fit in is left out.
const WINDOW: u64 = 256 << 10;

/// The last lines of a file, the oldest first; none when there is no file.
///
/// # Errors
/// The file exists but cannot be read.
pub fn last_lines(path: &Path, count: usize) -> std::io::Result<Vec<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let start = file.metadata()?.len().saturating_sub(WINDOW);
    // One byte before the window tells whether it begins with a whole line.
    file.seek(SeekFrom::Start(start.saturating_sub(1)))?;
    let mut bytes = Vec::new();
    file.take(WINDOW + 1).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = match text.find('\n') {
        Some(end) if start > 0 => text.get(end + 1..).unwrap_or_default(),
        _ => &text,
    };
    let lines: Vec<&str> = whole
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(count);
    Ok(lines.into_iter().skip(first).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_come_oldest_first_whatever_lies_before_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert_eq!(last_lines(&path, 2).unwrap(), [""; 0]);
        std::fs::write(&path, "one\ntwo\n\nthree\n").unwrap();
        assert_eq!(last_lines(&path, 2).unwrap(), ["two", "three"]);
        assert_eq!(last_lines(&path, 9).unwrap(), ["one", "two", "three"]);
        let long = "x".repeat(usize::try_from(WINDOW).unwrap() - 6);
        std::fs::write(&path, format!("é{long}\nlast 1\nlast 2\n")).unwrap();
        assert_eq!(last_lines(&path, 9).unwrap(), ["last 1", "last 2"]);
    }
}
