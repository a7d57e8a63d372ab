//! Every form of log line passes the mask.

use niagara_bridge::config::{LogFormat, Secret};
use serde_json::Value;

use super::log::Log;

#[test]
fn no_field_message_or_span_shows_a_secret_in_any_format() {
    let secret = "olive-grove \"41\"";
    let _known = Secret::new(secret);
    for (format, colours) in [
        (LogFormat::Text, false),
        (LogFormat::Text, true),
        (LogFormat::Json, false),
    ] {
        let log = Log::default();
        let (lines, _) = log.lines(format, colours, "trace");
        tracing::dispatcher::with_default(&lines, || {
            let span = tracing::error_span!(
                target: "niagara_bridge", "request", principal = %secret, debug = ?secret
            );
            let _inside = span.enter();
            tracing::trace!(
                target: "niagara_bridge",
                %secret, debug = ?secret, password = "unlisted-1", "seen: {secret}"
            );
        });
        let text = log.text();
        assert!(text.contains("<redacted>"), "{text}");
        for shown in ["olive-grove", "\"41", "unlisted-1"] {
            assert!(!text.contains(shown), "{format:?}: {text}");
        }
        if format == LogFormat::Json {
            let line: Value = serde_json::from_str(&text).expect("still JSON");
            assert_eq!(line["fields"]["password"], "<redacted>");
            assert_eq!(line["fields"]["message"], "seen: <redacted>");
        }
    }
}

#[test]
fn another_level_at_run_time_is_masked_as_the_first_was() {
    let _known = Secret::new("olive-grove-42");
    let log = Log::default();
    let (lines, switch) = log.lines(LogFormat::Text, false, "info");
    tracing::dispatcher::with_default(&lines, || {
        tracing::debug!(target: "niagara_bridge", "first olive-grove-42");
        switch.set("debug");
        tracing::debug!(target: "niagara_bridge", "second olive-grove-42");
    });
    let text = log.text();
    assert!(!text.contains("first"), "{text}");
    assert!(text.contains("second <redacted>"), "{text}");
}

/// What callers are told as an error of their own, and the ordinary end of a session, are no errors of the log.
#[test]
fn libraries_do_not_shout_what_is_expected() {
    let log = Log::default();
    let (lines, _) = log.lines(LogFormat::Text, false, "info");
    tracing::dispatcher::with_default(&lines, || {
        tracing::error!(target: "rmcp::transport::worker", "worker quit with fatal: closed");
        tracing::error!(target: "rustls_platform_verifier::verification::others", "failed to verify TLS certificate");
        tracing::error!(target: "rmcp::service", "a fault");
    });
    let text = log.text();
    assert!(text.contains("a fault"), "{text}");
    assert!(
        !text.contains("worker quit") && !text.contains("failed to verify"),
        "{text}"
    );
}
