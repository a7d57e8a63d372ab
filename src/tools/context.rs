//! What a call knows: who asks, until when, how to report progress, and facts of the server it runs in.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::dialogue::Client;
use super::registry::{Category, ToolDefinition};
use crate::audit::AuditFailure;

/// The caller of a request (Tool surface §3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Principal {
    /// Whoever holds `apiToken`: acts with the configured service account.
    Service,
    /// A person with a token of their own: acts as that station user.
    User { name: String },
}

impl Principal {
    /// The station user's name, none for the service identity.
    pub fn user(&self) -> Option<&str> {
        match self {
            Self::Service => None,
            Self::User { name } => Some(name),
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.user().unwrap_or("service"))
    }
}

/// The tools a caller may use: the tool sets that were asked for (names are the categories; none means all), within
/// the rights of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSets {
    chosen: Option<BTreeSet<Category>>,
    keeps_station: bool,
    keeps_knowledge: bool,
}

impl ToolSets {
    /// Every category.
    pub fn all() -> Self {
        Self::default()
    }

    /// Only these categories.
    pub fn only(categories: impl IntoIterator<Item = Category>) -> Self {
        Self {
            chosen: Some(categories.into_iter().collect()),
            ..Self::default()
        }
    }

    /// Only what is also among these categories.
    pub fn and(mut self, categories: impl IntoIterator<Item = Category>) -> Self {
        let mut categories: BTreeSet<Category> = categories.into_iter().collect();
        if let Some(chosen) = &self.chosen {
            categories.retain(|category| chosen.contains(category));
        }
        self.chosen = Some(categories);
        self
    }

    /// Without the tools that change the station, or that bind users who may.
    pub fn without_station_changes(mut self) -> Self {
        self.keeps_station = true;
        self
    }

    /// Without the tools that change the knowledge file.
    pub fn without_knowledge_changes(mut self) -> Self {
        self.keeps_knowledge = true;
        self
    }

    /// Parses a comma list of category names; blank text means all.
    ///
    /// # Errors
    /// The first name that is no category.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        if names.is_empty() {
            return Ok(Self::all());
        }
        names
            .into_iter()
            .map(|name| Category::from_name(name).ok_or_else(|| name.to_owned()))
            .collect::<Result<BTreeSet<_>, _>>()
            .map(Self::only)
    }

    /// Whether tools of this category are offered.
    pub fn contains(&self, category: Category) -> bool {
        self.chosen
            .as_ref()
            .is_none_or(|set| set.contains(&category))
    }

    /// Whether plans of writes can be applied.
    pub fn may_change_station(&self) -> bool {
        self.contains(Category::Write) && !self.keeps_station
    }

    /// Whether this tool is offered.
    pub fn offers(&self, tool: &ToolDefinition) -> bool {
        self.contains(tool.category)
            && !(self.keeps_station && (tool.changes_station() || tool.binds_users()))
            && !(self.keeps_knowledge && tool.changes_knowledge())
    }
}

/// Receives progress of a running call; the transport turns it into notifications.
pub trait ProgressSink: Send + Sync {
    fn report(&self, done: f64, total: Option<f64>, message: Option<String>);
}

/// Progress reporting of one call; silent when the client asked for none.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn ProgressSink>>);

impl Progress {
    /// Reports to `sink`.
    pub fn to(sink: Arc<dyn ProgressSink>) -> Self {
        Self(Some(sink))
    }

    /// Whether anybody listens.
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Reports `done` of `total` units with an optional sentence.
    pub fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if let Some(sink) = &self.0 {
            sink.report(done, total, message);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Progress(wanted: {})", self.wanted())
    }
}

/// Sessions that are open now, by transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionCounts {
    pub sse: usize,
    pub streamable: usize,
}

impl SessionCounts {
    /// All sessions of both transports.
    pub fn total(self) -> usize {
        self.sse + self.streamable
    }
}

/// What diagnostic tools may know of the server they run in (Tool surface §8.11).
pub trait ServerFacts: Send + Sync {
    /// Product version.
    fn version(&self) -> &str;
    /// Time since start.
    fn uptime(&self) -> Duration;
    /// Open sessions.
    fn sessions(&self) -> SessionCounts;
    /// Enabled transports: `sse` then `streamable-http`.
    fn transports(&self) -> Vec<&'static str>;
    /// Names and categories of all offered tools, in registration order.
    fn tools(&self) -> Vec<(String, Category)>;
    /// Fixed URI or template of every resource, in registration order, with whether it is a template.
    fn resources(&self) -> Vec<(String, bool)>;
    /// Prompt names, in registration order.
    fn prompts(&self) -> Vec<String>;
    /// Whether writes can be recorded; none where none are.
    fn audit(&self) -> Option<AuditFacts> {
        None
    }
}

/// How the audit of writes does.
#[derive(Debug, Clone)]
pub struct AuditFacts {
    /// The journal.
    pub path: PathBuf,
    /// Writes are allowed, so that a bridge that cannot record them lacks a part of its work.
    pub is_needed: bool,
    pub failure: Option<AuditFailure>,
}

/// Facts of a server that offers nothing: for calls outside a running server, such as tests of one tool.
#[derive(Debug, Clone)]
pub struct NoServer {
    started: Instant,
}

impl Default for NoServer {
    fn default() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl ServerFacts for NoServer {
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }
    fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
    fn sessions(&self) -> SessionCounts {
        SessionCounts::default()
    }
    fn transports(&self) -> Vec<&'static str> {
        Vec::new()
    }
    fn tools(&self) -> Vec<(String, Category)> {
        Vec::new()
    }
    fn resources(&self) -> Vec<(String, bool)> {
        Vec::new()
    }
    fn prompts(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Whether the audit has what there is to record of a call; its copies share it.
#[derive(Debug, Clone, Default)]
pub struct Audited(Arc<AtomicBool>);

impl Audited {
    /// The call is recorded, or is one that leaves no record.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Longer than any tool may take.
const LONGEST_CALL: Duration = Duration::from_secs(3600);

/// Everything a tool knows of the call it serves.
#[derive(Clone)]
pub struct CallContext {
    /// Who asks.
    pub principal: Principal,
    /// The answer must be there by then; the registry brings it forward to the tool's own limit.
    pub deadline: Instant,
    /// Fires when the client cancels, its connection ends or the server stops.
    pub cancel: CancellationToken,
    /// Where to report progress.
    pub progress: Progress,
    /// The client: log messages and questions to it.
    pub client: Client,
    /// Tool sets of the session.
    pub toolsets: ToolSets,
    /// Session id, empty when the transport has none (audit records carry it).
    pub session_id: String,
    /// Names this request in log lines, audit records and answers about faults; empty outside a server.
    pub request_id: String,
    /// The caller runs on the bridge's own machine.
    pub from_this_machine: bool,
    /// Names of arguments that the tool does not declare; they were left out of those that it got.
    pub undeclared: Arc<[String]>,
    /// Whether the call is in the audit.
    pub audited: Audited,
    /// Facts of the server.
    pub server: Arc<dyn ServerFacts>,
}

impl CallContext {
    /// A context of the service identity outside a server, with as much time as each tool allows.
    pub fn service() -> Self {
        Self::new(Principal::Service, Arc::new(NoServer::default()))
    }

    /// A context of `principal` in `server`; the other fields take their neutral values.
    pub fn new(principal: Principal, server: Arc<dyn ServerFacts>) -> Self {
        Self {
            principal,
            deadline: Instant::now() + LONGEST_CALL,
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            client: Client::default(),
            toolsets: ToolSets::all(),
            session_id: String::new(),
            request_id: String::new(),
            from_this_machine: false,
            undeclared: Arc::default(),
            audited: Audited::default(),
            server,
        }
    }

    /// The same call, ending no later than in `limit`.
    pub fn at_most(&self, limit: Duration) -> Self {
        let mut context = self.clone();
        context.deadline = context.deadline.min(Instant::now() + limit);
        context
    }

    /// Time left until the deadline, zero when it has passed.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CallContext")
            .field("principal", &self.principal)
            .field("request_id", &self.request_id)
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_sets_are_categories_and_blank_means_all() {
        let sets = ToolSets::parse(" read, history ").expect("known names");
        assert!(sets.contains(Category::Read) && sets.contains(Category::History));
        assert!(!sets.contains(Category::Write));
        assert!(
            ToolSets::parse(" , ")
                .expect("blank")
                .contains(Category::Write)
        );
        assert_eq!(ToolSets::parse("read,reed"), Err("reed".to_owned()));
    }
}
