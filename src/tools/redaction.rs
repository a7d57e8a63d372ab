//! Secrets are never shown: slot names and types whose values are replaced (Tool surface §4.2, §8.5).

/// What stands in place of a secret.
pub const REDACTED: &str = "<redacted>";

const SECRET_WORDS: [&str; 7] = [
    "password",
    "secret",
    "token",
    "apikey",
    "passcode",
    "pwd",
    "credential",
];

/// Whether a key or slot of this name may hold a secret: one of the words occurs in it, whatever its case.
///
/// ```
/// use niagara_bridge::tools::redaction::is_secret_name;
/// assert!(is_secret_name("smtpPassword") && is_secret_name("mcp$3atokenHash"));
/// assert!(!is_secret_name("setpoint"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Whether values of this type are secrets: password types and the authenticators of users.
pub fn is_secret_type(type_spec: &str) -> bool {
    let name = type_spec
        .rsplit(':')
        .next()
        .unwrap_or(type_spec)
        .to_lowercase();
    name.contains("password") || name.contains("authenticator") || name.contains("credential")
}
