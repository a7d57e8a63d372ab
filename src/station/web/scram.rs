//! SCRAM-SHA-256, client side (RFC 5802, RFC 7677; Station web specification §2.3).

use std::num::NonZeroU32;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD as BASE64};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{hmac, pbkdf2};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::secrecy::Secret;

/// Iteration counts beyond this are an attempt to keep the bridge busy.
const MAX_ITERATIONS: u32 = 1_000_000;

/// Padding may be missing (Station web specification §2.4).
const TOLERANT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What is wrong with a message of the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum ScramError {
    #[error("the station's first message is not a SCRAM message")]
    FirstMessage,
    #[error("the station's nonce does not continue the bridge's")]
    Nonce,
    #[error("the station's iteration count is not between 1 and 1000000")]
    Iterations,
    #[error("the station's final message carries no signature")]
    NoSignature,
    #[error("the station's signature is wrong")]
    WrongSignature,
    #[error("the system's random source failed")]
    Random,
}

/// The exchange before the server's first message.
pub(crate) struct ClientFirst {
    bare: String,
    nonce: Secret,
}

impl ClientFirst {
    /// Begins with a fresh random nonce.
    pub(crate) fn new(user: &str) -> Result<Self, ScramError> {
        let mut random = [0u8; 18];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| ScramError::Random)?;
        // 18 bytes need no padding; the two special letters are replaced so that the text is safe in form bodies.
        let nonce = BASE64.encode(random).replace(['+', '/'], "A");
        Ok(Self::with_nonce(user, &nonce))
    }

    fn with_nonce(user: &str, nonce: &str) -> Self {
        let user = prepare(user).replace('=', "=3D").replace(',', "=2C");
        Self {
            bare: format!("n={user},r={nonce}"),
            nonce: Secret::new(nonce),
        }
    }

    /// The message to send.
    pub(crate) fn message(&self) -> String {
        format!("n,,{}", self.bare)
    }

    /// Answers the server's first message.
    pub(crate) fn answer(
        self,
        server_first: &str,
        password: &str,
    ) -> Result<ClientFinal, ScramError> {
        let server_first = server_first.trim();
        let field = |key: &str| {
            server_first
                .split(',')
                .find_map(|field| field.strip_prefix(key)?.strip_prefix('='))
                .ok_or(ScramError::FirstMessage)
        };
        let nonce = field("r")?;
        let own = self.nonce.expose();
        if !nonce.starts_with(own) || nonce.len() == own.len() {
            return Err(ScramError::Nonce);
        }
        let salt = TOLERANT_BASE64
            .decode(field("s")?)
            .map_err(|_| ScramError::FirstMessage)?;
        let iterations = field("i")?
            .parse::<NonZeroU32>()
            .ok()
            .filter(|count| count.get() <= MAX_ITERATIONS)
            .ok_or(ScramError::Iterations)?;

        let mut salted = Zeroizing::new([0u8; 32]);
        let password = Zeroizing::new(prepare(password));
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            iterations,
            &salt,
            password.as_bytes(),
            &mut *salted,
        );
        let without_proof = format!("c=biws,r={nonce}");
        let auth_message = format!("{},{server_first},{without_proof}", self.bare);
        let keyed = |key: &[u8], text: &str| {
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
        };

        let client_key = keyed(&*salted, "Client Key");
        let stored_key = digest(&SHA256, client_key.as_ref());
        let signature = keyed(stored_key.as_ref(), &auth_message);
        let proof: Vec<u8> = client_key
            .as_ref()
            .iter()
            .zip(signature.as_ref())
            .map(|(key, sign)| key ^ sign)
            .collect();
        let proof = BASE64.encode(proof);
        let server_key = keyed(&*salted, "Server Key");
        Ok(ClientFinal {
            message: format!("{without_proof},p={proof}"),
            _secrets: [Secret::new(nonce), Secret::new(proof)],
            server_key: hmac::Key::new(hmac::HMAC_SHA256, server_key.as_ref()),
            auth_message,
        })
    }
}

/// The exchange before the server's final message.
pub(crate) struct ClientFinal {
    message: String,
    server_key: hmac::Key,
    auth_message: String,
    /// The whole nonce and the proof, kept from log lines while the exchange lasts.
    _secrets: [Secret; 2],
}

impl ClientFinal {
    /// The message to send.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Checks that the server knows the password too.
    pub(crate) fn verify(&self, server_final: &str) -> Result<(), ScramError> {
        let signature = server_final
            .trim()
            .split(',')
            .find_map(|field| field.trim().strip_prefix("v="))
            .ok_or(ScramError::NoSignature)?;
        let signature = TOLERANT_BASE64
            .decode(signature)
            .map_err(|_| ScramError::WrongSignature)?;
        hmac::verify(&self.server_key, self.auth_message.as_bytes(), &signature)
            .map_err(|_| ScramError::WrongSignature)
    }
}

/// Runs a client over messages of any server: the first line answers the client's first message, the second its final
/// one. A first message that begins with `r=+` continues the client's nonce.
#[doc(hidden)]
pub fn scram_messages(data: &[u8]) {
    /// More would only cost time: the hash has no branch on it.
    const FEW_ITERATIONS: u32 = 32;
    let text = String::from_utf8_lossy(data);
    let (first, last) = text.split_once('\n').unwrap_or((&*text, ""));
    let asks_for_many = first
        .split(',')
        .filter_map(|field| field.trim().strip_prefix("i=")?.parse::<u32>().ok())
        .any(|count| count > FEW_ITERATIONS);
    if asks_for_many {
        return;
    }
    let client = ClientFirst::with_nonce(last, "nonce");
    let first = match first.strip_prefix("r=+") {
        Some(rest) => format!("r={}{rest}", client.nonce.expose()),
        None => first.to_owned(),
    };
    if let Ok(answer) = client.answer(&first, "password") {
        assert!(answer.message().starts_with("c=biws,r="));
        assert!(answer.verify(last).is_err(), "nobody guesses a signature");
    }
}

/// SASLprep where it applies; text it forbids is sent as typed, and the station decides.
fn prepare(text: &str) -> String {
    stringprep::saslprep(text)
        .map(|prepared| prepared.into_owned())
        .unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER_FIRST: &str =
        "r=Y2xpZW50bm9uY2UwMDAxc2VydmVybm9uY2UwMDAy,s=AAECAwQFBgcICQoLDA0ODw==,i=4096";

    fn exchange() -> ClientFinal {
        ClientFirst::with_nonce("bridge", "Y2xpZW50bm9uY2UwMDAx")
            .answer(SERVER_FIRST, "Secret-1")
            .unwrap()
    }

    #[test]
    fn the_worked_vector_comes_out_message_by_message() {
        let first = ClientFirst::with_nonce("bridge", "Y2xpZW50bm9uY2UwMDAx");
        assert_eq!(first.message(), "n,,n=bridge,r=Y2xpZW50bm9uY2UwMDAx");
        let last = exchange();
        assert_eq!(
            last.message(),
            "c=biws,r=Y2xpZW50bm9uY2UwMDAxc2VydmVybm9uY2UwMDAy,p=7TKZFuu5MDrg+ExHrLIAYtGa/t8tDUglZrMpT9l+NC4="
        );
        assert_eq!(
            last.verify("v=8FzQaoo69oHDlFwPyJ3M0e5iHMHj5zHjAS2aa+QYE1g="),
            Ok(())
        );
        assert_eq!(
            last.verify("v=8FzQaoo69oHDlFwPyJ3M0e5iHMHj5zHjAS2aa+QYE1g"),
            Ok(())
        );
    }

    #[test]
    fn a_station_that_does_not_know_the_password_is_found_out() {
        let last = exchange();
        assert_eq!(
            last.verify("v=AFzQaoo69oHDlFwPyJ3M0e5iHMHj5zHjAS2aa+QYE1g="),
            Err(ScramError::WrongSignature)
        );
        assert_eq!(last.verify("e=other-error"), Err(ScramError::NoSignature));
    }

    #[test]
    fn messages_that_break_the_rules_are_refused() {
        let answer = |text: &str| ClientFirst::with_nonce("u", "abc").answer(text, "p").err();
        assert_eq!(answer("r=xyz,s=AA==,i=1"), Some(ScramError::Nonce));
        assert_eq!(answer("r=abc,s=AA==,i=1"), Some(ScramError::Nonce));
        assert_eq!(answer("r=abcd,s=AA==,i=0"), Some(ScramError::Iterations));
        assert_eq!(
            answer("r=abcd,s=AA==,i=1000001"),
            Some(ScramError::Iterations)
        );
        assert_eq!(answer("r=abcd,s=!!,i=1"), Some(ScramError::FirstMessage));
        assert_eq!(answer("<html>"), Some(ScramError::FirstMessage));
    }

    #[test]
    fn names_are_escaped_and_nonces_differ() {
        assert_eq!(
            ClientFirst::with_nonce("a=b,c", "n").message(),
            "n,,n=a=3Db=2Cc,r=n"
        );
        assert_ne!(
            ClientFirst::new("u").unwrap().message(),
            ClientFirst::new("u").unwrap().message()
        );
    }
}
