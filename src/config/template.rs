//! The commented configuration file that `init` writes, made from the table of keys.

use std::fmt::Write;

use super::keys::{KEYS, Key, Kind, WITHOUT_FUNCTION};

const HEAD: &str =
    "# Configuration of niagara-bridge. Every setting stands at its default, commented out.
# Environment variables override the file: NIAGARA_BRIDGE__STATION__URL, NIAGARA_BRIDGE__APITOKEN, …
# Secrets can stand in files of their own: apiTokenFile, station.passwordFile.
";

/// The file, with `token` as `apiToken` when given.
pub fn template(token: Option<&str>) -> String {
    let mut text = HEAD.to_owned();
    let mut open: Vec<&str> = Vec::new();
    let offered = |key: &&Key| !WITHOUT_FUNCTION.contains(&key.path);
    for key in KEYS.iter().filter(offered) {
        let mut names: Vec<&str> = key.path.split('.').collect();
        let name = names.pop().unwrap_or(key.path);
        let shared = open
            .iter()
            .zip(&names)
            .take_while(|(open, name)| open == name)
            .count();
        for (depth, block) in names.iter().enumerate().skip(shared) {
            let gap = if depth == 0 { "\n" } else { "" };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{gap}{}{block}:", "  ".repeat(depth));
        }
        write_key(
            &mut text,
            key,
            name,
            names.len(),
            token.filter(|_| key.path == "apiToken"),
        );
        open = names;
    }
    text
}

fn write_key(text: &mut String, key: &Key, name: &str, depth: usize, value: Option<&str>) {
    let indent = "  ".repeat(depth);
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
    let gap = if depth == 0 { "\n" } else { "" };
    let _ = writeln!(text, "{gap}{indent}# {}{choices}", key.about);
    let _ = match value {
        Some(value) => writeln!(text, "{indent}{name}: {value}"),
        None if key.default.is_empty() => writeln!(text, "{indent}# {name}: \"\""),
        None => writeln!(text, "{indent}# {name}: {}", key.default),
    };
}
