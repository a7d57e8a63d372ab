//! The key of the vault: from a file, the environment, or the service manager, never from the configuration itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::{Zeroize, Zeroizing};

use super::error::IdentityError;
use super::private_file::{self, Readers};

/// Bytes of a key of AES-256.
pub const KEY_BYTES: usize = 32;

/// Variable that holds the key as Base64.
pub const KEY_VARIABLE: &str = "NIAGARA_BRIDGE_VAULT_KEY";

/// Variable that names a file with the key.
pub const KEY_FILE_VARIABLE: &str = "NIAGARA_BRIDGE_VAULT_KEY_FILE";

/// Folder that systemd puts credentials into.
const CREDENTIALS_VARIABLE: &str = "CREDENTIALS_DIRECTORY";

/// Name of the key among them.
const CREDENTIAL_NAME: &str = "niagara-bridge-vault-key";

/// The key of a vault; wiped from memory at its end. It has no Debug.
pub struct VaultKey {
    bytes: Zeroizing<[u8; KEY_BYTES]>,
    /// Where it came from, for error texts.
    place: String,
}

impl VaultKey {
    /// Looks for the key: `file` if given, then the two variables, then the systemd credential.
    ///
    /// # Errors
    /// [`IdentityError::NoKey`] when nothing names one; otherwise what is wrong with the one that is named.
    pub fn find(
        file: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, IdentityError> {
        if let Some(file) = file {
            return Self::from_file(file);
        }
        if let Some(text) = variable(KEY_VARIABLE).filter(|text| !text.is_empty()) {
            let text = Zeroizing::new(text.to_string_lossy().into_owned());
            return Self::from_bytes(text.as_bytes(), format!("the variable {KEY_VARIABLE}"));
        }
        if let Some(file) = variable(KEY_FILE_VARIABLE).filter(|file| !file.is_empty()) {
            return Self::from_file(Path::new(&file));
        }
        let credential = variable(CREDENTIALS_VARIABLE)
            .map(|folder| PathBuf::from(folder).join(CREDENTIAL_NAME))
            .filter(|file| file.is_file());
        match credential {
            Some(file) => Self::from_file(&file),
            None => Err(IdentityError::NoKey),
        }
    }

    /// Reads the key of a file.
    ///
    /// # Errors
    /// The file cannot be read, strangers can read it, or it holds no key.
    pub fn from_file(path: &Path) -> Result<Self, IdentityError> {
        let missing = || IdentityError::Unreadable {
            path: path.to_owned(),
            source: std::io::ErrorKind::NotFound.into(),
        };
        let content = private_file::read(path, Readers::OwnerAndGroup)?.ok_or_else(missing)?;
        Self::from_bytes(&content, path.display().to_string())
    }

    /// A key of 32 bytes, raw or as Base64 of either alphabet.
    ///
    /// # Errors
    /// The content is no key; `place` names it.
    pub fn from_bytes(content: &[u8], place: String) -> Result<Self, IdentityError> {
        if let Ok(bytes) = <[u8; KEY_BYTES]>::try_from(content) {
            return Ok(Self {
                bytes: Zeroizing::new(bytes),
                place,
            });
        }
        let text = content.trim_ascii();
        let decoded = [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD]
            .iter()
            .find_map(|alphabet| alphabet.decode(text).ok());
        let decoded = Zeroizing::new(decoded.unwrap_or_default());
        match <[u8; KEY_BYTES]>::try_from(decoded.as_slice()) {
            Ok(mut bytes) => {
                let key = Self {
                    bytes: Zeroizing::new(bytes),
                    place,
                };
                bytes.zeroize();
                Ok(key)
            }
            Err(_) => Err(IdentityError::BadKey { place }),
        }
    }

    /// Makes a key and writes it into a new file, as Base64; an existing file is never overwritten.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn make(path: &Path) -> Result<Self, IdentityError> {
        let mut bytes = Zeroizing::new([0_u8; KEY_BYTES]);
        SystemRandom::new()
            .fill(bytes.as_mut())
            .map_err(|_| IdentityError::Random)?;
        let text = Zeroizing::new(format!("{}\n", STANDARD.encode(bytes.as_ref())));
        private_file::create(path, text.as_bytes())?;
        Ok(Self {
            bytes,
            place: path.display().to_string(),
        })
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.bytes
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(outcome: Result<VaultKey, IdentityError>) -> String {
        match outcome {
            Ok(_) => panic!("a key was found"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_key_comes_from_the_first_place_that_names_one() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("vault.key");
        let made = VaultKey::make(&file).expect("made");
        let same = VaultKey::find(Some(&file), |_| None).expect("found");
        assert_eq!(made.bytes(), same.bytes());
        assert!(refusal(VaultKey::make(&file)).starts_with("cannot create"));

        let named = |name: &str| (name == KEY_FILE_VARIABLE).then(|| file.clone().into_os_string());
        assert_eq!(
            VaultKey::find(None, named).expect("named").bytes(),
            made.bytes()
        );

        let other = STANDARD.encode([7; KEY_BYTES]);
        let text = |name: &str| (name == KEY_VARIABLE).then(|| other.clone().into());
        assert_eq!(
            VaultKey::find(None, text).expect("text").bytes(),
            &[7; KEY_BYTES]
        );

        std::fs::rename(&file, folder.path().join(CREDENTIAL_NAME)).expect("moved");
        let systemd = |name: &str| (name == CREDENTIALS_VARIABLE).then(|| folder.path().into());
        assert_eq!(
            VaultKey::find(None, systemd).expect("credential").bytes(),
            made.bytes()
        );
        assert!(refusal(VaultKey::find(None, |_| None)).starts_with("no key for the vault"));
    }

    #[test]
    fn raw_bytes_and_both_alphabets_are_keys_and_nothing_else_is() {
        let bytes = [0xfb; KEY_BYTES];
        for content in [
            bytes.to_vec(),
            format!("{}\n", STANDARD.encode(bytes)).into_bytes(),
            URL_SAFE_NO_PAD.encode(bytes).into_bytes(),
        ] {
            let key = VaultKey::from_bytes(&content, "a test".into()).expect("a key");
            assert_eq!(key.bytes(), &bytes);
        }
        for content in ["", "sentinel", &STANDARD.encode([1; 31])] {
            let error = refusal(VaultKey::from_bytes(content.as_bytes(), "a test".into()));
            assert!(error.contains("from a test is not usable"), "{error}");
            assert!(!error.contains("sentinel"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_strangers_can_read_is_refused_with_the_command_that_helps() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("vault.key");
        VaultKey::make(&file).expect("made");
        let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode));
        mode(0o440).expect("mode");
        assert!(
            VaultKey::from_file(&file).is_ok(),
            "a group may hand it over"
        );
        mode(0o444).expect("mode");
        let error = refusal(VaultKey::from_file(&file));
        assert!(
            error.contains("mode 444") && error.contains("chmod 400"),
            "{error}"
        );
    }
}
