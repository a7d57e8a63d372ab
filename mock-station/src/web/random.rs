//! Unpredictable texts for ids, nonces and tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

/// Random bytes from the operating system; random identifiers if that source fails.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        for chunk in bytes.chunks_mut(16) {
            let source = uuid::Uuid::new_v4().into_bytes();
            chunk.copy_from_slice(&source[..chunk.len()]);
        }
    }
    bytes
}

/// A random text of letters, digits, `-` and `_` made from up to 32 random bytes.
pub(crate) fn token(bytes_used: usize) -> String {
    let source = bytes::<32>();
    URL_SAFE_NO_PAD.encode(&source[..bytes_used.min(32)])
}
