//! The table of all configuration keys.

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text; blank counts as not set.
    Text,
    /// A text that must not be shown; `<key>File` names a file to read it from.
    Secret,
    Flag,
    /// A whole number within bounds.
    Whole(i64, i64),
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A list of texts, or one text with commas.
    List,
    /// A map of anything.
    Map,
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Names from the root, joined by dots.
    pub path: &'static str,
    pub kind: Kind,
    /// Default as YAML; empty = not set.
    pub default: &'static str,
    /// What it does, in one or two sentences.
    pub about: &'static str,
}

const fn key(path: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key {
        path,
        kind,
        default,
        about,
    }
}

const FOREVER: i64 = i32::MAX as i64;
/// The in-station module corrects values that are too small instead of refusing them (Tool surface §6).
const CORRECTED: i64 = i32::MIN as i64;

/// Every key in the order of the written file: names of the in-station module first (Tool surface §6).
pub const KEYS: &[Key] = &[
    key(
        "enabled",
        Kind::Flag,
        "true",
        "Off: every request but /health is answered with 503.",
    ),
    key(
        "listen",
        Kind::Text,
        "127.0.0.1:8723",
        "Address and port of the bridge. Anything but this machine itself needs tls, or allowPlainHttp: true.",
    ),
    key(
        "allowPlainHttp",
        Kind::Flag,
        "false",
        "Allows to listen on an address that other machines reach, without TLS.",
    ),
    key(
        "basePath",
        Kind::Text,
        "niagaramcp",
        "Path in front of /mcp and /health.",
    ),
    key(
        "allowedHosts",
        Kind::List,
        "[]",
        "Host names that requests may carry. Empty: loopback names on a loopback address, any name otherwise.",
    ),
    key(
        "allowedOrigins",
        Kind::List,
        "[]",
        "Web origins, such as https://console.example, whose pages may use the bridge.",
    ),
    key(
        "dataDir",
        Kind::Text,
        "",
        "Folder of everything the bridge keeps. Empty: the user's data folder.",
    ),
    key(
        "apiToken",
        Kind::Secret,
        "",
        "Bearer token of the service identity, 32 characters or more. Empty: only users' own tokens are accepted.",
    ),
    key(
        "showLog",
        Kind::Flag,
        "false",
        "Logs every request in detail.",
    ),
    key(
        "sseEnabled",
        Kind::Flag,
        "true",
        "Serves the older SSE transport.",
    ),
    key(
        "streamableEnabled",
        Kind::Flag,
        "true",
        "Serves Streamable HTTP.",
    ),
    key(
        "sseHeartbeatSec",
        Kind::Whole(CORRECTED, FOREVER),
        "25",
        "Seconds between heartbeats of an SSE stream.",
    ),
    key(
        "mcpSessionIdleTimeoutSec",
        Kind::Whole(1, FOREVER),
        "1800",
        "Seconds after which an unused session ends.",
    ),
    key(
        "mcpProtocolVersion",
        Kind::Choice(&["", "2025-06-18", "2025-11-25"]),
        "",
        "Protocol revision told to every client. Empty: what the client asks for, else 2025-06-18.",
    ),
    key(
        "disabledTools",
        Kind::Text,
        "",
        "Tools that do not exist for clients, separated by commas.",
    ),
    key(
        "toolsets",
        Kind::List,
        "[]",
        "Tool sets (categories) offered. Empty: all.",
    ),
    key(
        "enableTestSetup",
        Kind::Flag,
        "false",
        "Opens the tool setupTestUser to callers on this machine (and behind a proxy on it). Only for test benches.",
    ),
    key(
        "maxHistoryRecordsPerQuery",
        Kind::Whole(CORRECTED, FOREVER),
        "10000",
        "Most history records in one answer; 10000 is the upper limit.",
    ),
    key(
        "requiredServices",
        Kind::List,
        "[alarm, history]",
        "Station services without which /health says degraded.",
    ),
    key(
        "knowledgeFilePath",
        Kind::Text,
        "",
        "The knowledge file. Empty: knowledge.yaml in dataDir.",
    ),
    key(
        "knowledgeAutoBackup",
        Kind::Flag,
        "true",
        "Keeps a copy of the knowledge file before each change.",
    ),
    key(
        "knowledgeBackupCount",
        Kind::Whole(CORRECTED, FOREVER),
        "5",
        "How many such copies are kept.",
    ),
    key(
        "knowledge.readOnly",
        Kind::Flag,
        "false",
        "Refuses every change of the knowledge file.",
    ),
    key(
        "station.url",
        Kind::Text,
        "",
        "Address of the station's web service, such as https://station.example.",
    ),
    key(
        "station.user",
        Kind::Text,
        "",
        "The station account of the bridge (service account).",
    ),
    key("station.password", Kind::Secret, "", "Its password."),
    key(
        "station.scheme",
        Kind::Choice(&["form-scram", "header-scram", "basic"]),
        "form-scram",
        "How that account logs in. form-scram and header-scram: DigestScheme; basic: HTTPBasicScheme.",
    ),
    key(
        "station.timeZone",
        Kind::Text,
        "",
        "Zone of the station's clock, such as America/New_York. Empty: ask the station.",
    ),
    key(
        "station.fox",
        Kind::Text,
        "",
        "Fox port of the station, fox://HOST:1911 or foxs://HOST:4911, for liveness in getServiceHealth: one hello a minute at most, never a login. Empty: not asked.",
    ),
    key(
        "station.tls.caFile",
        Kind::Text,
        "",
        "PEM file of the authority that signed the station's certificate.",
    ),
    key(
        "station.tls.fingerprint",
        Kind::Text,
        "",
        "SHA-256 fingerprint of the station's own certificate, for factory certificates.",
    ),
    key(
        "station.tls.insecure",
        Kind::Flag,
        "false",
        "Accepts any certificate. Everyone on the way can then read and change everything.",
    ),
    key(
        "tls.certFile",
        Kind::Text,
        "",
        "PEM file of the bridge's own certificate and its chain; read again when it changes.",
    ),
    key(
        "tls.keyFile",
        Kind::Text,
        "",
        "PEM file of its private key.",
    ),
    key(
        "tls.generate",
        Kind::Flag,
        "false",
        "Serves HTTPS with a self-signed certificate, made once and kept in dataDir.",
    ),
    key(
        "writes.enabled",
        Kind::Flag,
        "false",
        "Allows tools that change the station.",
    ),
    key(
        "writes.serviceAccountMayWrite",
        Kind::Flag,
        "true",
        "Allows writePoint with apiToken; false where operators have tokens of their own.",
    ),
    key(
        "writes.readbackDelayMs",
        Kind::Whole(0, 10_000),
        "1000",
        "Milliseconds between a write and reading it back.",
    ),
    key(
        "writes.allow",
        Kind::List,
        "[]",
        "Slot paths that may be written, such as slot:/Drivers/**: * is any part of a name, ** any names. Names as Workbench shows them or as stored. Empty: all.",
    ),
    key(
        "writes.deny",
        Kind::List,
        "[]",
        "Slot paths that are never written, nor anything below them, whatever allows them.",
    ),
    key(
        "writes.priorities",
        Kind::List,
        "[1-16]",
        "Priorities that may be written, such as [8, 10-16].",
    ),
    key(
        "writes.principals",
        Kind::Map,
        "{}",
        "The lists allow, deny and priorities of single persons, by user name; service is the holder of apiToken. deny adds to the general one, the others replace it.",
    ),
    key(
        "writes.maxOverrideMinutes",
        Kind::Whole(0, 525_600),
        "0",
        "Longest time of an override in minutes; 0 = no limit.",
    ),
    key(
        "writes.ratePerMinute",
        Kind::Whole(0, 100_000),
        "60",
        "Writes of one person in a minute; 0 = no limit.",
    ),
    key(
        "writes.confirm",
        Kind::List,
        "[]",
        "Slot paths whose writes, and those below them, somebody must confirm; those at priority 1 and 8 always are.",
    ),
    key(
        "writes.confirmDestructive",
        Kind::Flag,
        "true",
        "Asks for confirmation before something is removed.",
    ),
    key(
        "identity.vaultKeyFile",
        Kind::Text,
        "",
        "File with the key of the vault of users' station passwords; `niagara-bridge user key FILE` makes one.",
    ),
    key(
        "identity.idleLogoutSec",
        Kind::Whole(1, 86_400),
        "900",
        "Seconds after which an unused station session of a user is logged out.",
    ),
    key(
        "identity.maxSessions",
        Kind::Whole(1, 1000),
        "64",
        "Station sessions of users that are open at the same time; the one unused for longest makes room.",
    ),
    key(
        "identity.stationTokenTags",
        Kind::Flag,
        "false",
        "Tokens count too whose digests the station keeps as the tag mcp:tokenHash of its users; the station account must be allowed to read them.",
    ),
    key(
        "identity.testSetupMinutes",
        Kind::Whole(1, 1440),
        "60",
        "Minutes after the start for which enableTestSetup has effect.",
    ),
    key(
        "limits.inFlight",
        Kind::Whole(1, 64),
        "4",
        "Requests to the station at the same time, per identity.",
    ),
    key(
        "limits.requestsPerSecond",
        Kind::Whole(0, 10_000),
        "20",
        "Requests to the station per second, per identity; 0 = no limit.",
    ),
    key(
        "limits.latchSec",
        Kind::Whole(1, 3600),
        "30",
        "Seconds without a further login attempt after a failed one.",
    ),
    key(
        "limits.inboundPerPrincipal",
        Kind::Whole(0, 1_000_000),
        "100",
        "Requests per second accepted from one identity; 0 = no limit.",
    ),
    key(
        "limits.inboundPerAddress",
        Kind::Whole(0, 1_000_000),
        "200",
        "Requests per second accepted from one address; 0 = no limit.",
    ),
    key(
        "limits.bodyMiB",
        Kind::Whole(1, 64),
        "4",
        "Largest request body in MiB.",
    ),
    key(
        "trends.facilityId",
        Kind::Text,
        "",
        "Name of this site in the trend store. Empty: made from the station's name.",
    ),
    key(
        "trends.ingestMinutes",
        Kind::Whole(0, 10_080),
        "0",
        "Pause between two readings of new records of all mapped points into the trend store; 0 = none by itself.",
    ),
    key(
        "trends.ingestDays",
        Kind::Whole(1, 36_500),
        "400",
        "How many days back records are read into the trend store.",
    ),
    key(
        "camber.allow",
        Kind::List,
        "[]",
        "Facilities of the trend store that capabilities may show: facility ids, or all-active. Empty: none.",
    ),
    key(
        "camber.config",
        Kind::List,
        "[]",
        "Run configurations of the analyses, JSON or YAML files, one per facility; read and checked at the start.",
    ),
    key(
        "camber.minTrust",
        Kind::Text,
        "0.5",
        "Lowest trust score, 0 to 1, of a sensor that an analysis may rest on.",
    ),
    key(
        "camber.maxRows",
        Kind::Whole(1, 1_000_000),
        "5000",
        "Most rows of a list in the answer of a capability.",
    ),
    key(
        "camber.maxBytes",
        Kind::Whole(1000, 100_000_000),
        "2000000",
        "Largest answer of a capability in bytes.",
    ),
    key(
        "camber.maxSeconds",
        Kind::Whole(1, 3600),
        "120",
        "Longest time of a call of a capability.",
    ),
    key(
        "camber.principals",
        Kind::Map,
        "{}",
        "allow, minTrust, maxRows, maxBytes and maxSeconds of single persons, by user name; service is the holder of apiToken.",
    ),
    key(
        "log.format",
        Kind::Choice(&["text", "json"]),
        "text",
        "Form of log lines on standard error.",
    ),
    key(
        "log.level",
        Kind::Choice(&["error", "warn", "info", "debug", "trace"]),
        "info",
        "How much is logged.",
    ),
];

/// Keys that are accepted, so that files written for the in-station module load, while nothing acts on them in this
/// version; `init` leaves them out. Whoever gives one its function takes it off this list.
pub const WITHOUT_FUNCTION: &[&str] = &[];

/// The key of that path.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// Whether the path is a block that holds keys.
pub fn is_block(path: &str) -> bool {
    KEYS.iter().any(|key| {
        key.path
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// The secret whose `…File` form this path is.
pub fn secret_of_file(path: &str) -> Option<&'static Key> {
    find(path.strip_suffix("File")?).filter(|key| key.kind == Kind::Secret)
}

/// The known path that a mistyped one most likely means.
pub fn suggest(path: &str) -> Option<String> {
    KEYS.iter()
        .map(|key| {
            (
                strsim::jaro_winkler(&key.path.to_lowercase(), &path.to_lowercase()),
                key.path,
            )
        })
        .chain(KEYS.iter().filter_map(|key| {
            // A key at the wrong level is a common slip: compare last names too.
            let (own, given) = (key.path.rsplit('.').next()?, path.rsplit('.').next()?);
            own.eq_ignore_ascii_case(given).then_some((1.0, key.path))
        }))
        .filter(|(likeness, _)| *likeness > 0.85)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, path)| path.to_owned())
}
