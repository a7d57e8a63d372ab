//! The commented configuration file that `init` writes, made from the table of keys.

use std::fmt::Write;

use super::keys::{KEYS, Key, Kind};

const HEAD: &str =
    "# Configuration of niagara-bridge. Every setting stands at its default, commented out.
# Environment variables override the file: NIAGARA_BRIDGE__STATION__URL, NIAGARA_BRIDGE__APITOKEN, …
# Secrets can stand in files of their own: apiTokenFile, station.passwordFile.
";

/// The file, with `token` as `apiToken` when given.
pub fn template(token: Option<&str>) -> String {
    let mut text = HEAD.to_owned();
    let mut block = "";
    for key in KEYS {
        let (owner, name) = key.path.split_once('.').unwrap_or(("", key.path));
        if owner != block && !owner.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\n{owner}:");
        }
        block = owner;
        write_key(
            &mut text,
            key,
            owner,
            name,
            token.filter(|_| key.path == "apiToken"),
        );
    }
    text
}

fn write_key(text: &mut String, key: &Key, owner: &str, name: &str, value: Option<&str>) {
    let indent = if owner.is_empty() { "" } else { "  " };
    let choices = match key.kind {
        Kind::Choice(words) => {
            format!(
                " One of: {}.",
                words
                    .iter()
                    .filter(|word| !word.is_empty())
                    .copied()
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        Kind::Whole(least, most) if most < i64::from(i32::MAX) => {
            format!(" From {least} to {most}.")
        }
        _ => String::new(),
    };
    let gap = if owner.is_empty() { "\n" } else { "" };
    let _ = writeln!(text, "{gap}{indent}# {}{choices}", key.about);
    let _ = match value {
        Some(value) => writeln!(text, "{indent}{name}: {value}"),
        None if key.default.is_empty() => writeln!(text, "{indent}# {name}: \"\""),
        None => writeln!(text, "{indent}# {name}: {}", key.default),
    };
}
