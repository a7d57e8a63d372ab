//! The registries behind Streamable HTTP and stdio.
//!
//! - [`bridge`]: what is served (tools, resources, prompts) and the facts about the running server.
//! - [`message`]: JSON text ↔ protocol messages, request ids, JSON-RPC error bodies.
//! - [`protocol`]: protocol revisions and the `initialize` result.
//! - [`declared`]: what a request of revision 2026-07-28 says of itself.
//! - [`service`]: one request in, one result out; runs inside rmcp's session loop.
//! - [`conversation`]: progress, log messages and questions of a running call; what a session chose.
//! - [`list_changes`]: which lists changed, told to all who keep them.
//! - [`subscriptions`]: changes pushed to those who asked.
//! - [`auth`]: who a bearer is.
//! - [`metrics`]: counters as Prometheus text.
//! - [`http`]: the HTTP front: checks, sessions, replies, `/health`.
//! - [`stdio`]: the same service over standard input and output.
//! - [`capability_stdio`], [`capability_session`]: the capabilities alone over standard input and output.
//! - [`station_points`]: which station point a stored point is.
//! - [`relay`]: a stdio server that passes everything on to a running bridge.

pub mod auth;
pub mod bridge;
pub mod capability_session;
pub mod capability_stdio;
pub mod conversation;
pub mod declared;
pub mod http;
pub mod list_changes;
pub mod message;
pub mod metrics;
pub mod protocol;
pub mod relay;
pub mod service;
pub mod station_points;
pub mod stdio;
pub mod subscriptions;
