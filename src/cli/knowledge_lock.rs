//! The knowledge file is edited by one bridge at a time, also where bridges with data folders of their own share it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::process_lock::{LockError, ProcessLock};

/// Takes the lock of a knowledge file; none where nothing can be written beside it, so that nobody can edit it either.
///
/// # Errors
/// Another bridge has it; that one is named.
pub fn take_knowledge_file(file: &Path, data_folder: &Path) -> anyhow::Result<Option<ProcessLock>> {
    // Bridges that come by different links share the file all the same.
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    if let Err(error) = std::fs::create_dir_all(folder) {
        tracing::warn!(folder = %folder.display(), %error, "the folder of the knowledge file cannot be made; edits will fail");
        return Ok(None);
    }
    let purpose = format!(" with the data folder {}", data_folder.display());
    match ProcessLock::take(
        &beside(&target, ".lock"),
        &beside(&target, ".holder"),
        &purpose,
    ) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Held { holder }) => bail!(
            "the knowledge file {} is in use by {holder}; two bridges that edit one file would lose edits: stop that one, or \
             set knowledgeFilePath to another file",
            file.display()
        ),
        Err(error @ LockError::Failed { .. }) => {
            tracing::warn!(file = %file.display(), %error, "the knowledge file is not locked against other bridges");
            Ok(None)
        }
    }
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_bridge_on_one_knowledge_file_is_refused_and_told_who_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("site/knowledge.yaml");
        let first = take_knowledge_file(&file, Path::new("data-1")).expect("free");
        assert!(first.is_some());
        let message = take_knowledge_file(&file, Path::new("data-2"))
            .expect_err("in use")
            .to_string();
        for part in [
            format!("process {} with the data folder data-1", std::process::id()),
            file.display().to_string(),
            "knowledgeFilePath".to_owned(),
        ] {
            assert!(message.contains(&part), "{message}");
        }
        drop(first);
        assert!(
            take_knowledge_file(&file, Path::new("data-2"))
                .expect("free again")
                .is_some()
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_file_is_the_same_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (
            folder.path().join("real.yaml"),
            folder.path().join("link.yaml"),
        );
        std::fs::write(&file, "schema_version: 1\n").expect("a file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let _first = take_knowledge_file(&file, Path::new("one")).expect("free");
        assert!(take_knowledge_file(&link, Path::new("two")).is_err());
    }

    #[test]
    fn a_file_beside_which_nothing_can_be_written_is_read_without_a_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("plain");
        std::fs::write(&file, "no folder").expect("a file");
        let lock = take_knowledge_file(&file.join("knowledge.yaml"), Path::new("data"));
        assert!(lock.expect("no refusal").is_none());
    }
}
