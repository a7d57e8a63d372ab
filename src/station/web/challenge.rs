//! SCRAM challenges and answers in headers (Station web specification §2.4).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Parameters of a SCRAM challenge: comma separated, any order, quotes and padding tolerated.
pub(super) struct Challenge {
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// Finds the SCRAM challenge in a header that may hold several.
    pub(super) fn scram(header: &str) -> Option<Self> {
        let lower = header.to_ascii_lowercase();
        let at = lower.match_indices("scram").find_map(|(at, _)| {
            let starts = at == 0 || matches!(header.as_bytes().get(at - 1), Some(b' ' | b','));
            let ends = matches!(header.as_bytes().get(at + 5), Some(b' '));
            (starts && ends).then_some(at + 6)
        })?;
        Some(Self::parameters(&header[at..]))
    }

    pub(super) fn parameters(text: &str) -> Self {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                continue;
            };
            let key = key.trim().to_ascii_lowercase();
            // A blank inside the key begins another challenge, for example `Basic realm`.
            if key.contains(' ') {
                break;
            }
            let value = value.trim().trim_matches('"').to_owned();
            parameters.push((key, value));
        }
        Self { parameters }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn data(&self) -> Option<String> {
        let text = self
            .get("data")?
            .trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_");
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        String::from_utf8(bytes).ok()
    }

    pub(super) fn reply(&self, message: String) -> String {
        let data = URL_SAFE_NO_PAD.encode(message);
        match self.get("handshaketoken") {
            Some(token) => format!("SCRAM data={data}, handshakeToken={token}"),
            None => format!("SCRAM data={data}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_in_any_order_case_and_company() {
        let challenge = Challenge::scram(
            "Basic realm=\"x\", SCRAM HandshakeToken=\"t2\", data=\"cj1hYg==\", hash=SHA-256",
        );
        let challenge = challenge.unwrap();
        assert_eq!(challenge.get("handshaketoken"), Some("t2"));
        assert_eq!(challenge.data().as_deref(), Some("r=ab"));
        assert_eq!(
            challenge.reply("n,,n=bridge,r=x".into()),
            "SCRAM data=biwsbj1icmlkZ2Uscj14, handshakeToken=t2"
        );
        assert!(Challenge::scram("Basic realm=\"scram\"").is_none());
    }

    #[test]
    fn the_challenge_ends_where_the_next_begins() {
        let challenge =
            Challenge::scram("scram handshakeToken=t1, Basic realm=\"x\", data=zzz").unwrap();
        assert_eq!(challenge.get("handshaketoken"), Some("t1"));
        assert_eq!(challenge.get("data"), None);
    }
}
