//! `vault.bin`: the station passwords of bound users, sealed with AES-256-GCM.
//!
//! Layout: 8 bytes `NBVAULT` and the version 1; then records of name length (2 bytes, big endian), name, nonce (12),
//! sealed length (2), sealed bytes. The first record has an empty name and seals nothing: it tells whether the key fits.
//! Each record is bound to its name, so that none can be moved to another user. Passwords are padded, so that the file
//! does not tell their lengths.

use std::path::{Path, PathBuf};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use super::error::IdentityError;
use super::key::VaultKey;
use super::private_file::{self, Readers};
use super::users::check_name;
use crate::secrecy::Secret;

const HEADER: &[u8; 8] = b"NBVAULT\x01";

/// Bytes in front of the version.
const MAGIC: usize = 7;

/// What a record is bound to besides its name.
const PURPOSE: &[u8] = b"niagara-bridge vault 1\0";

/// Passwords are padded to a multiple of this many bytes.
const BLOCK: usize = 64;

/// Longest password in bytes.
const LONGEST: usize = 4096;

/// A sealed password as it lies in the file.
#[derive(Clone, PartialEq, Eq)]
struct Record {
    name: String,
    nonce: [u8; NONCE_LEN],
    sealed: Vec<u8>,
}

/// Names one sealed password: another one has another stamp.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stamp([u8; NONCE_LEN]);

/// The sealed file and the key to it. It has no Debug.
pub struct Vault {
    path: PathBuf,
    key: LessSafeKey,
    key_place: String,
}

impl Vault {
    /// A vault in this file, which is made when the first password is kept.
    ///
    /// # Errors
    /// A file that is no vault, or whose key is another one.
    pub fn open(path: PathBuf, key: &VaultKey) -> Result<Self, IdentityError> {
        // A key of 32 bytes cannot be refused by the algorithm; if it were, no key would fit.
        let cipher =
            UnboundKey::new(&AES_256_GCM, key.bytes()).map_err(|_| IdentityError::BadKey {
                place: key.place().to_owned(),
            })?;
        let vault = Self {
            path,
            key: LessSafeKey::new(cipher),
            key_place: key.place().to_owned(),
        };
        vault.records()?;
        Ok(vault)
    }

    /// The password of a user, none when none is kept.
    ///
    /// # Errors
    /// The file cannot be read, was damaged, or the record was changed.
    pub fn password(&self, name: &str) -> Result<Option<(Secret, Stamp)>, IdentityError> {
        let Some(record) = self
            .records()?
            .into_iter()
            .find(|record| record.name == name)
        else {
            return Ok(None);
        };
        let stamp = Stamp(record.nonce);
        let tampered = || IdentityError::Tampered {
            name: name.to_owned(),
            path: self.path.clone(),
        };
        let opened = self.unseal(record).ok_or_else(tampered)?;
        let password = unpadded(&opened).ok_or_else(tampered)?;
        Ok(Some((Secret::new(password), stamp)))
    }

    /// Which password is kept for a user now, without unsealing it.
    ///
    /// # Errors
    /// As [`Vault::password`], but a changed record is not noticed.
    pub fn stamp(&self, name: &str) -> Result<Option<Stamp>, IdentityError> {
        let record = self
            .records()?
            .into_iter()
            .find(|record| record.name == name);
        Ok(record.map(|record| Stamp(record.nonce)))
    }

    /// Names of the users whose passwords are kept.
    ///
    /// # Errors
    /// The file cannot be read or was damaged.
    pub fn names(&self) -> Result<Vec<String>, IdentityError> {
        Ok(self
            .records()?
            .into_iter()
            .map(|record| record.name)
            .collect())
    }

    /// Keeps a password in place of an earlier one.
    ///
    /// # Errors
    /// The password is too long, or the file cannot be written.
    pub fn keep(&self, name: &str, password: &Secret) -> Result<(), IdentityError> {
        check_name(name)?;
        let _lock = private_file::lock(crate::durable_file::folder_of(&self.path))?;
        let mut records = self.records()?;
        records.retain(|record| record.name != name);
        records.push(self.seal(name, padded(password.expose())?)?);
        self.write(&records)
    }

    /// Forgets the password of a user; false when none was kept.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn forget(&self, name: &str) -> Result<bool, IdentityError> {
        let _lock = private_file::lock(crate::durable_file::folder_of(&self.path))?;
        let mut records = self.records()?;
        let before = records.len();
        records.retain(|record| record.name != name);
        if records.len() == before {
            return Ok(false);
        }
        self.write(&records)?;
        Ok(true)
    }

    fn write(&self, records: &[Record]) -> Result<(), IdentityError> {
        let check = self.seal("", Zeroizing::new(Vec::new()))?;
        let mut content = HEADER.to_vec();
        for record in std::iter::once(&check).chain(records) {
            append(&mut content, record);
        }
        private_file::write(&self.path, &content)
    }

    /// The records behind the first one, which is checked.
    fn records(&self) -> Result<Vec<Record>, IdentityError> {
        let Some(content) = private_file::read(&self.path, Readers::Owner)? else {
            return Ok(Vec::new());
        };
        let damaged = |problem: String| IdentityError::Damaged {
            path: self.path.clone(),
            problem,
        };
        let mut records = parse(&content).map_err(damaged)?;
        if records.first().is_none_or(|check| !check.name.is_empty()) {
            return Err(damaged("its first record is missing".to_owned()));
        }
        let check = records.remove(0);
        if self.unseal(check).is_none() {
            return Err(IdentityError::WrongKey {
                place: self.key_place.clone(),
                path: self.path.clone(),
            });
        }
        Ok(records)
    }

    fn seal(&self, name: &str, mut content: Zeroizing<Vec<u8>>) -> Result<Record, IdentityError> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new()
            .fill(&mut nonce)
            .map_err(|_| IdentityError::Random)?;
        // Room for the tag beforehand: a grown buffer would leave the password behind.
        content.reserve_exact(AES_256_GCM.tag_len());
        self.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(bound_to(name)),
                &mut *content,
            )
            .map_err(|_| IdentityError::TooLong {
                length: content.len(),
                most: LONGEST,
            })?;
        Ok(Record {
            name: name.to_owned(),
            nonce,
            sealed: content.to_vec(),
        })
    }

    fn unseal(&self, record: Record) -> Option<Zeroizing<Vec<u8>>> {
        let mut content = Zeroizing::new(record.sealed);
        let nonce = Nonce::assume_unique_for_key(record.nonce);
        let length = self
            .key
            .open_in_place(nonce, Aad::from(bound_to(&record.name)), &mut content)
            .ok()?
            .len();
        content.truncate(length);
        Some(content)
    }
}

fn bound_to(name: &str) -> Vec<u8> {
    [PURPOSE, name.as_bytes()].concat()
}

/// Length (2 bytes), password, zeros.
fn padded(password: &str) -> Result<Zeroizing<Vec<u8>>, IdentityError> {
    let too_long = || IdentityError::TooLong {
        length: password.len(),
        most: LONGEST,
    };
    if password.len() > LONGEST {
        return Err(too_long());
    }
    let length = u16::try_from(password.len()).map_err(|_| too_long())?;
    let whole = (password.len() + 2).next_multiple_of(BLOCK);
    let mut content = Zeroizing::new(Vec::with_capacity(whole + AES_256_GCM.tag_len()));
    content.extend_from_slice(&length.to_be_bytes());
    content.extend_from_slice(password.as_bytes());
    content.resize(whole, 0);
    Ok(content)
}

fn unpadded(content: &[u8]) -> Option<&str> {
    let (length, rest) = content.split_first_chunk::<2>()?;
    std::str::from_utf8(rest.get(..usize::from(u16::from_be_bytes(*length)))?).ok()
}

fn append(content: &mut Vec<u8>, record: &Record) {
    // Names have at most 200 characters and passwords 4096 bytes: both lengths fit.
    let length = |length: usize| u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
    content.extend_from_slice(&length(record.name.len()));
    content.extend_from_slice(record.name.as_bytes());
    content.extend_from_slice(&record.nonce);
    content.extend_from_slice(&length(record.sealed.len()));
    content.extend_from_slice(&record.sealed);
}

fn parse(content: &[u8]) -> Result<Vec<Record>, String> {
    let Some((header, mut rest)) = content.split_first_chunk::<8>() else {
        return Err("it is too short for a vault".to_owned());
    };
    if header != HEADER {
        return Err(match header.starts_with(&HEADER[..MAGIC]) {
            true => format!(
                "it has version {} and this program reads version 1",
                header[MAGIC]
            ),
            false => "it is no vault".to_owned(),
        });
    }
    let mut records = Vec::new();
    while !rest.is_empty() {
        let (record, behind) =
            parse_record(rest).ok_or_else(|| format!("record {} is cut off", records.len()))?;
        records.push(record);
        rest = behind;
    }
    Ok(records)
}

fn parse_record(content: &[u8]) -> Option<(Record, &[u8])> {
    let (name, rest) = split_counted(content)?;
    let (nonce, rest) = rest.split_first_chunk::<NONCE_LEN>()?;
    let (sealed, rest) = split_counted(rest)?;
    let record = Record {
        name: std::str::from_utf8(name).ok()?.to_owned(),
        nonce: *nonce,
        sealed: sealed.to_vec(),
    };
    Some((record, rest))
}

fn split_counted(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = content.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Where the vault of a data folder lies.
pub fn vault_file(folder: &Path) -> PathBuf {
    folder.join("vault.bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Desk {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    fn key(byte: u8) -> VaultKey {
        VaultKey::from_bytes(&[byte; 32], format!("key {byte}")).expect("a key")
    }

    impl Desk {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("folder");
            let path = vault_file(folder.path());
            Self {
                _folder: folder,
                path,
            }
        }

        fn vault(&self) -> Vault {
            Vault::open(self.path.clone(), &key(1)).expect("opens")
        }

        fn password(&self, name: &str) -> Option<String> {
            let kept = self.vault().password(name).expect("readable");
            kept.map(|(password, _)| password.expose().to_owned())
        }
    }

    fn refusal<T>(outcome: Result<T, IdentityError>) -> String {
        match outcome {
            Ok(_) => panic!("accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn passwords_are_kept_replaced_and_forgotten() {
        let desk = Desk::new();
        assert_eq!(desk.password("olga"), None);
        desk.vault()
            .keep("olga", &Secret::new("Sentinel-1"))
            .expect("kept");
        desk.vault()
            .keep("иван", &Secret::new("Пароль"))
            .expect("kept");
        let first = desk.vault().stamp("olga").expect("stamp");
        desk.vault()
            .keep("olga", &Secret::new("Sentinel-2"))
            .expect("kept");
        assert!(first != desk.vault().stamp("olga").expect("stamp"));
        assert_eq!(desk.password("olga").as_deref(), Some("Sentinel-2"));
        assert_eq!(desk.password("иван").as_deref(), Some("Пароль"));
        assert_eq!(desk.vault().names().expect("names"), ["иван", "olga"]);
        let content = std::fs::read(&desk.path).expect("file");
        assert!(!content.windows(8).any(|part| part == b"Sentinel"));
        assert!(desk.vault().forget("olga").expect("forgotten"));
        assert!(!desk.vault().forget("olga").expect("nothing there"));
        assert_eq!(desk.password("olga"), None);
        assert!(
            refusal(desk.vault().keep("x", &Secret::new("x".repeat(5000)))).contains("5000 bytes")
        );
    }

    #[test]
    fn the_file_does_not_tell_how_long_a_password_is() {
        let length = |password: &str| {
            let desk = Desk::new();
            desk.vault()
                .keep("olga", &Secret::new(password))
                .expect("kept");
            std::fs::metadata(&desk.path).expect("facts").len()
        };
        assert_eq!(
            length("abcd"),
            length("a password of forty characters or so....")
        );
    }

    #[test]
    fn another_key_is_told_apart_from_a_changed_record() {
        let desk = Desk::new();
        desk.vault()
            .keep("olga", &Secret::new("Sentinel-1"))
            .expect("kept");
        let error = refusal(Vault::open(desk.path.clone(), &key(2)));
        assert!(
            error.starts_with("the key from key 2 does not open"),
            "{error}"
        );

        let content = std::fs::read(&desk.path).expect("file");
        let mut changed = content.clone();
        *changed.last_mut().expect("a byte") ^= 1;
        std::fs::write(&desk.path, &changed).expect("write");
        let error = refusal(desk.vault().password("olga"));
        assert!(
            error.starts_with("the record of 'olga'") && error.contains("bind that user again"),
            "{error}"
        );
        assert!(!error.contains("Sentinel"), "{error}");
    }

    #[test]
    fn a_record_cannot_be_moved_to_another_user() {
        let desk = Desk::new();
        desk.vault()
            .keep("olga", &Secret::new("Sentinel-1"))
            .expect("kept");
        let mut content = std::fs::read(&desk.path).expect("file");
        let at = content
            .windows(4)
            .position(|part| part == b"olga")
            .expect("the name");
        content[at..at + 4].copy_from_slice(b"ivan");
        std::fs::write(&desk.path, &content).expect("write");
        assert!(refusal(desk.vault().password("ivan")).starts_with("the record of 'ivan'"));
    }

    #[test]
    fn no_cut_or_flipped_byte_is_taken_for_a_password() {
        let desk = Desk::new();
        desk.vault()
            .keep("olga", &Secret::new("Sentinel-1"))
            .expect("kept");
        let content = std::fs::read(&desk.path).expect("file");
        let answer = || match Vault::open(desk.path.clone(), &key(1)) {
            Ok(vault) => vault
                .password("olga")
                .map(|kept| kept.map(|(password, _)| password)),
            Err(error) => Err(error),
        };
        for place in 0..content.len() {
            let mut changed = content.clone();
            changed[place] ^= 0x10;
            std::fs::write(&desk.path, &changed).expect("write");
            assert!(!matches!(answer(), Ok(Some(_))), "byte {place}");
            std::fs::write(&desk.path, &content[..place]).expect("write");
            assert!(!matches!(answer(), Ok(Some(_))), "cut at {place}");
        }
        std::fs::write(&desk.path, &content).expect("write");
        assert!(matches!(answer(), Ok(Some(_))));
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_the_file_and_a_looser_mode_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let desk = Desk::new();
        desk.vault()
            .keep("olga", &Secret::new("Sentinel-1"))
            .expect("kept");
        let facts = std::fs::metadata(&desk.path).expect("facts");
        assert_eq!(facts.permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&desk.path, std::fs::Permissions::from_mode(0o640)).expect("mode");
        let error = refusal(Vault::open(desk.path.clone(), &key(1)));
        assert!(error.contains("chmod 600"), "{error}");
    }
}
