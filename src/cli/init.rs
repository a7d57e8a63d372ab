//! `init`: writes the commented configuration file.

use std::io::Write;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use super::arguments::InitOptions;
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
        None => std::io::stdout()
            .write_all(text.as_bytes())
            .context("standard output cannot be written")?,
        Some(path) => {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(path).with_context(|| {
                format!(
                    "{} cannot be written; an existing file is never overwritten",
                    path.display()
                )
            })?;
            file.write_all(text.as_bytes())
                .with_context(|| format!("{} cannot be written", path.display()))?;
            eprintln!(
                "Wrote {}. Fill in the block 'station', then: niagara-bridge serve --config {}",
                path.display(),
                path.display()
            );
        }
    }
    Ok(Ending::Finished)
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
    }
}
