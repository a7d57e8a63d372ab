//! `init`: writes the commented configuration file.

use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use super::arguments::InitOptions;
use super::output;
use super::shutdown::Ending;
use crate::config::template::template;

/// Random bytes of a token (Tool surface §3).
const TOKEN_BYTES: usize = 32;

/// A fresh bearer token: 32 random bytes as base64url.
///
/// # Errors
/// The operating system gives no random numbers.
pub fn mint_token() -> anyhow::Result<Zeroizing<String>> {
    let mut bytes = Zeroizing::new([0_u8; TOKEN_BYTES]);
    SystemRandom::new()
        .fill(bytes.as_mut())
        .map_err(|_| anyhow::anyhow!("the operating system gives no random numbers"))?;
    Ok(Zeroizing::new(URL_SAFE_NO_PAD.encode(bytes.as_ref())))
}

/// Writes the file; an existing one is never overwritten.
///
/// # Errors
/// The file exists or cannot be written.
pub fn run(options: &InitOptions) -> anyhow::Result<Ending> {
    let text = Zeroizing::new(template(Some(&mint_token()?)));
    match &options.file {
        None => output::print(&text)?,
        Some(path) => {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(path).map_err(|error| refused(path, &error))?;
            file.write_all(text.as_bytes())
                .with_context(|| format!("{} cannot be written", path.display()))?;
            output::say(&format!(
                "Wrote {}. Fill in the block 'station', then: niagara-bridge serve --config {}",
                path.display(),
                path.display()
            ));
        }
    }
    Ok(Ending::Finished)
}

fn refused(path: &Path, error: &std::io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::AlreadyExists => anyhow::anyhow!(
            "{} exists already and is never overwritten; choose another name or move it away",
            path.display()
        ),
        ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path);
            anyhow::anyhow!(
                "{} cannot be written: the folder {} does not exist; make it first",
                path.display(),
                folder.display()
            )
        }
        _ => anyhow::anyhow!("{} cannot be written: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::load;

    #[test]
    fn the_written_file_can_be_loaded_and_is_never_overwritten() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("config.yaml");
        let options = InitOptions {
            file: Some(file.clone()),
        };
        run(&options).expect("written");
        let config = load(Some(&file), []).expect("loads");
        assert_eq!(config.api_token.expect("a token").expose().len(), 43);
        let message = format!("{:#}", run(&options).expect_err("exists"));
        assert!(message.contains("never overwritten"), "{message}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&file)
                .expect("facts")
                .permissions()
                .mode();
            assert_eq!(mode & 0o077, 0, "only its owner reads the token");
        }
        let lost = InitOptions {
            file: Some(folder.path().join("none").join("x.yaml")),
        };
        let message = format!("{:#}", run(&lost).expect_err("no folder"));
        assert!(message.contains("none does not exist"), "{message}");
        assert!(!message.contains("overwritten"), "{message}");
    }
}
