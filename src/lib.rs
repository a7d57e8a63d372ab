//! niagara-bridge: one process beside a Niagara station; the station's own interfaces outward, MCP inward.
//!
//! - [`station`]: everything that talks to a station (web login, BQL, BOX, oBIX); knows nothing of MCP.
//! - [`audit`]: who changed what on the station: the journal and the log of outcomes.
//! - [`knowledge`]: the site model that integrators map, and its file.
//! - [`trends`]: the samples of mapped points, in a folder that CAMBER reads as well.
//! - [`tools`], [`prompts`], [`resources`]: what MCP clients can ask for; one registry, one entry shape.
//! - [`plot`]: pictures of samples, PNG and SVG.
//! - [`report`]: the ranked issues of a facility as one HTML file for people.
//! - [`identity`]: users' own tokens, and the vault of their station passwords.
//! - [`mcp`]: the registry behind Streamable HTTP and stdio.
//! - [`config`], [`cli`]: one YAML file and the commands.
//! - [`camber`]: read-only capabilities over stored trends, every call under one policy.
//! - [`schema`]: the one JSON Schema validator.
//! - [`secrecy`], [`clock`], [`visible_text`], [`unrepeated_keys`]: what every layer uses: secrets that are never shown, the
//!   time, foreign text that cannot pass for something else, and files in which no value hides another.
//!
//! Imports point one way: `station` ← `tools` ← `mcp` ← `cli`.

pub mod audit;
pub mod camber;
pub mod cli;
pub mod clock;
pub mod config;
pub mod durable_file;
pub mod file_watch;
#[doc(hidden)]
pub mod fuzzing;
pub mod identity;
pub mod knowledge;
pub mod mcp;
pub mod plot;
pub mod prompts;
pub mod report;
pub mod resources;
pub mod schema;
pub mod secrecy;
pub mod station;
pub mod tools;
pub mod trends;
pub mod unrepeated_keys;
pub mod visible_text;
