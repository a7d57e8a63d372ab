//! The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677; Station web specification §2.3).

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use ring::{digest, hmac};
use thiserror::Error;

/// Accepts base64 with and without padding, as clients send both.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What the station keeps of a password.
#[derive(Clone)]
pub(crate) struct Verifier {
    pub salt: Vec<u8>,
    pub iterations: u32,
    pub stored_key: [u8; 32],
    pub server_key: [u8; 32],
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Verifier")
            .field("iterations", &self.iterations)
            .finish_non_exhaustive()
    }
}

/// A message that is not SCRAM or does not belong to the exchange.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum ScramError {
    #[error("client-first has no GS2 header `n,,` or `y,,`")]
    Gs2Header,
    #[error(
        "client-first demands an authorization identity or an extension, which is not supported"
    )]
    Unsupported,
    #[error("the message lacks the attribute `{0}=`")]
    Missing(char),
    #[error("the user name is not a valid SASLprep text")]
    UserName,
    #[error("channel binding does not repeat the GS2 header of client-first")]
    ChannelBinding,
    #[error("the nonce is not the one of this exchange")]
    Nonce,
    #[error("the proof is not base64 of 32 bytes")]
    ProofForm,
    #[error("the proof does not fit the password")]
    BadProof,
}

/// A parsed client-first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientFirst {
    pub user: String,
    nonce: String,
    gs2_header: String,
    bare: String,
}

impl ClientFirst {
    pub(crate) fn parse(message: &str) -> Result<Self, ScramError> {
        let bare_start = message
            .match_indices(',')
            .nth(1)
            .map(|(index, _)| index + 1)
            .ok_or(ScramError::Gs2Header)?;
        let (gs2_header, bare) = message.split_at(bare_start);
        match gs2_header {
            "n,," | "y,," => {}
            header if header.starts_with("n,a=") || header.starts_with("p=") => {
                return Err(ScramError::Unsupported);
            }
            _ => return Err(ScramError::Gs2Header),
        }
        if bare.starts_with("m=") {
            return Err(ScramError::Unsupported);
        }
        let user = attribute(bare, 'n').ok_or(ScramError::Missing('n'))?;
        let nonce = attribute(bare, 'r')
            .filter(|nonce| !nonce.is_empty())
            .ok_or(ScramError::Missing('r'))?;
        Ok(Self {
            user: decode_user(user)?,
            nonce: nonce.to_owned(),
            gs2_header: gs2_header.to_owned(),
            bare: bare.to_owned(),
        })
    }
}

fn decode_user(text: &str) -> Result<String, ScramError> {
    let mut user = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        user.push_str(&rest[..at]);
        match rest.get(at..at + 3) {
            Some("=2C" | "=2c") => user.push(','),
            Some("=3D" | "=3d") => user.push('='),
            _ => return Err(ScramError::UserName),
        }
        rest = &rest[at + 3..];
    }
    user.push_str(rest);
    match stringprep::saslprep(&user) {
        Ok(prepared) if !prepared.is_empty() => Ok(prepared.into_owned()),
        _ => Err(ScramError::UserName),
    }
}

/// The value of the first `key=value` of a comma separated message.
fn attribute(message: &str, key: char) -> Option<&str> {
    message.split(',').find_map(|part| {
        let (name, value) = part.split_once('=')?;
        (name.len() == 1 && name.starts_with(key)).then_some(value)
    })
}

/// A challenge that was sent, waiting for the client's proof.
#[derive(Debug)]
pub(crate) struct Exchange {
    client_first: ClientFirst,
    nonce: String,
    server_first: String,
    verifier: Verifier,
    /// The account cannot log in this way, whatever the proof (unknown user with an invented salt).
    pub hopeless: bool,
}

impl Exchange {
    /// Answers client-first with a server nonce.
    pub(crate) fn start(client_first: ClientFirst, server_nonce: &str, verifier: Verifier) -> Self {
        let nonce = format!("{}{server_nonce}", client_first.nonce);
        let server_first = format!(
            "r={nonce},s={},i={}",
            STANDARD.encode(&verifier.salt),
            verifier.iterations
        );
        Self {
            client_first,
            nonce,
            server_first,
            verifier,
            hopeless: false,
        }
    }

    pub(crate) fn user(&self) -> &str {
        &self.client_first.user
    }

    /// The server-first message, without white space around it.
    pub(crate) fn server_first(&self) -> &str {
        &self.server_first
    }

    /// Checks client-final and returns the server-final message `v=…`.
    pub(crate) fn finish(&self, client_final: &str) -> Result<String, ScramError> {
        let binding = attribute(client_final, 'c').ok_or(ScramError::Missing('c'))?;
        let expected = STANDARD.encode(&self.client_first.gs2_header);
        if binding.trim_end_matches('=') != expected.trim_end_matches('=') {
            return Err(ScramError::ChannelBinding);
        }
        let nonce = attribute(client_final, 'r').ok_or(ScramError::Missing('r'))?;
        if nonce != self.nonce {
            return Err(ScramError::Nonce);
        }
        let (without_proof, proof) = client_final
            .rsplit_once(",p=")
            .ok_or(ScramError::Missing('p'))?;
        let proof: [u8; 32] = LENIENT
            .decode(proof.trim_end())
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(ScramError::ProofForm)?;
        let message = format!(
            "{},{},{without_proof}",
            self.client_first.bare, self.server_first
        );
        let client_signature = sign(&self.verifier.stored_key, message.as_bytes());
        let mut client_key = proof;
        for (byte, mask) in client_key.iter_mut().zip(client_signature) {
            *byte ^= mask;
        }
        if digest::digest(&digest::SHA256, &client_key).as_ref() != self.verifier.stored_key {
            return Err(ScramError::BadProof);
        }
        let server_signature = sign(&self.verifier.server_key, message.as_bytes());
        Ok(format!("v={}", STANDARD.encode(server_signature)))
    }
}

fn sign(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    let mut signature = [0; 32];
    for (byte, source) in signature.iter_mut().zip(tag.as_ref()) {
        *byte = *source;
    }
    signature
}

/// A salt for a user that does not exist: the same for every try, so that it betrays nothing.
pub(crate) fn invented_verifier(user: &str, iterations: u32) -> Verifier {
    let seed = digest::digest(&digest::SHA256, format!("no such user: {user}").as_bytes());
    Verifier {
        salt: seed.as_ref()[..16].to_vec(),
        iterations,
        stored_key: super::random::bytes(),
        server_key: super::random::bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::pbkdf2;
    use std::num::NonZeroU32;

    fn verifier(password: &str, salt: &[u8], iterations: u32) -> Verifier {
        let mut salted = [0; 32];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            NonZeroU32::new(iterations).expect("not zero"),
            salt,
            password.as_bytes(),
            &mut salted,
        );
        let client_key = sign(&salted, b"Client Key");
        let mut stored_key = [0; 32];
        stored_key.copy_from_slice(digest::digest(&digest::SHA256, &client_key).as_ref());
        Verifier {
            salt: salt.to_vec(),
            iterations,
            stored_key,
            server_key: sign(&salted, b"Server Key"),
        }
    }

    fn vector() -> Exchange {
        let salt: Vec<u8> = (0..16).collect();
        let first = ClientFirst::parse("n,,n=bridge,r=Y2xpZW50bm9uY2UwMDAx").expect("valid");
        Exchange::start(
            first,
            "c2VydmVybm9uY2UwMDAy",
            verifier("Secret-1", &salt, 4096),
        )
    }

    const FINAL: &str = "c=biws,r=Y2xpZW50bm9uY2UwMDAxc2VydmVybm9uY2UwMDAy,p=7TKZFuu5MDrg+ExHrLIAYtGa/t8tDUglZrMpT9l+NC4=";

    #[test]
    fn the_worked_vector_logs_in() {
        let exchange = vector();
        assert_eq!(
            exchange.server_first(),
            "r=Y2xpZW50bm9uY2UwMDAxc2VydmVybm9uY2UwMDAy,s=AAECAwQFBgcICQoLDA0ODw==,i=4096"
        );
        assert_eq!(
            exchange.finish(FINAL).as_deref(),
            Ok("v=8FzQaoo69oHDlFwPyJ3M0e5iHMHj5zHjAS2aa+QYE1g=")
        );
    }

    #[test]
    fn a_proof_without_padding_is_accepted() {
        assert!(vector().finish(FINAL.trim_end_matches('=')).is_ok());
    }

    #[test]
    fn wrong_messages_are_refused_by_name() {
        let exchange = vector();
        let changed = |from: &str, to: &str| exchange.finish(&FINAL.replace(from, to));
        assert_eq!(changed("p=7TKZ", "p=8TKZ"), Err(ScramError::BadProof));
        assert_eq!(changed("c=biws", "c=eSws"), Err(ScramError::ChannelBinding));
        assert_eq!(changed("MDAy,p", "MDAz,p"), Err(ScramError::Nonce));
        assert_eq!(changed("NC4=", "NC"), Err(ScramError::ProofForm));
        assert_eq!(exchange.finish("c=biws"), Err(ScramError::Missing('r')));
    }

    #[test]
    fn user_names_are_unescaped() {
        let first = ClientFirst::parse("n,,n=a=2Cb=3Dc,r=x").expect("valid");
        assert_eq!(first.user, "a,b=c");
        assert_eq!(
            ClientFirst::parse("n,,n=a=20b,r=x"),
            Err(ScramError::UserName)
        );
        assert_eq!(ClientFirst::parse("n=a,r=x"), Err(ScramError::Gs2Header));
        assert_eq!(
            ClientFirst::parse("n,a=other,n=a,r=x"),
            Err(ScramError::Unsupported)
        );
    }
}
