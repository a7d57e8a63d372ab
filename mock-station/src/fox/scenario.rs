//! What the Fox ports can be made to do (Fox specification §11).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};

/// What a Fox port does with a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FoxScenario {
    /// The 18 fields of an AX station.
    Ax,
    /// The four fields of an N4 station, followed at once by the challenge.
    #[default]
    N4,
    /// A hello that refuses this kind of peer (§4.4).
    Fatal,
    /// Accepts and never answers.
    Silent,
    /// Accepts and closes.
    Close,
    /// Returns what it gets.
    Echo,
    /// Answers with octets that are no Fox.
    Garbage,
    /// The N4 hello, one octet at a time.
    Slow,
    /// The AX hello in two parts, cut one octet later at each connection.
    Split,
    /// The N4 hello and one MiB more.
    Trailing,
    /// An AX hello with a blob that contains the end of a frame.
    BlobTerminator,
    /// A blob that claims 2^31 octets.
    HugeLen,
    /// The AX hello, without its object, in lines that end with CR LF.
    Crlf,
    /// An error frame first.
    ErrorFrame,
    /// Keep-alive frames before the hello.
    KeepaliveFirst,
    /// The plain port speaks TLS.
    TlsOnPlain,
    /// The TLS port answers whatever it gets with a plain hello.
    PlainOnTls,
    /// The TLS port shows a certificate that ended yesterday.
    ExpiredCert,
    /// The TLS port shows the factory certificate.
    FactoryCert,
}

impl FoxScenario {
    /// Every scenario, in the order of the Fox specification §11.
    pub const ALL: [Self; 19] = [
        Self::Ax,
        Self::N4,
        Self::Fatal,
        Self::Silent,
        Self::Close,
        Self::Echo,
        Self::Garbage,
        Self::Slow,
        Self::Split,
        Self::Trailing,
        Self::BlobTerminator,
        Self::HugeLen,
        Self::Crlf,
        Self::ErrorFrame,
        Self::KeepaliveFirst,
        Self::TlsOnPlain,
        Self::PlainOnTls,
        Self::ExpiredCert,
        Self::FactoryCert,
    ];
}

/// The name that the Fox specification §11 uses.
impl fmt::Display for FoxScenario {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A unit variant is written as its name.
        self.serialize(out)
    }
}

/// Reads the name that the Fox specification §11 uses, as `keepalive-first`; the error lists all.
impl FromStr for FoxScenario {
    type Err = serde::de::value::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::deserialize(name.into_deserializer())
    }
}

/// How the Fox ports behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoxSettings {
    pub scenario: FoxScenario,
    /// Pause between two octets of [`FoxScenario::Slow`].
    pub pace: Duration,
    /// Frames before the hello in [`FoxScenario::KeepaliveFirst`], of type `k` and `n` in turn; clients bear four.
    pub keepalives: u8,
}

impl Default for FoxSettings {
    fn default() -> Self {
        Self {
            scenario: FoxScenario::default(),
            pace: Duration::from_millis(50),
            keepalives: 1,
        }
    }
}

impl From<FoxScenario> for FoxSettings {
    fn from(scenario: FoxScenario) -> Self {
        Self {
            scenario,
            ..Self::default()
        }
    }
}
