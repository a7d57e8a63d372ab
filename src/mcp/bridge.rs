//! What a running bridge serves, and the facts that diagnostic tools show about it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rmcp::model::CustomRequest;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::metrics::{MetricSource, Metrics};
use super::protocol::Revision;
use crate::audit::JOURNAL_NAME;
use crate::config::Config;
use crate::prompts::PromptRegistry;
use crate::resources::{Address, ResourceRegistry};
use crate::tools::write_gate::SharedGate;
use crate::tools::{AuditFacts, Category, Registry, ServerFacts, SessionCounts};

/// Switches that may change while the bridge runs (Tool surface §6).
#[derive(Debug)]
pub struct Switches {
    pub enabled: AtomicBool,
    pub sse: AtomicBool,
    pub streamable: AtomicBool,
}

impl Switches {
    /// Takes the switches of a configuration.
    pub fn set(&self, config: &Config) {
        self.enabled.store(config.enabled, Ordering::Relaxed);
        self.sse.store(config.sse_enabled, Ordering::Relaxed);
        self.streamable
            .store(config.streamable_enabled, Ordering::Relaxed);
    }
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            enabled: AtomicBool::new(true),
            sse: AtomicBool::new(true),
            streamable: AtomicBool::new(true),
        }
    }
}

type SessionCounter = Box<dyn Fn() -> SessionCounts + Send + Sync>;

/// Tools, resources and prompts of one running server.
pub struct Bridge {
    pub tools: Registry,
    pub resources: ResourceRegistry,
    pub prompts: PromptRegistry,
    pub switches: Switches,
    pub metrics: Metrics,
    /// Station, knowledge file and whatever else measures for itself.
    pub metric_sources: Vec<Box<dyn MetricSource>>,
    /// The gate of writes, whose records health looks at.
    pub writes: Option<SharedGate>,
    /// Advertised whatever the client asks for (`mcpProtocolVersion`).
    pub fixed_revision: Option<Revision>,
    started: Instant,
    sessions: OnceLock<SessionCounter>,
    tool_lists: watch::Sender<u64>,
    resource_lists: watch::Sender<u64>,
    end: OnceLock<CancellationToken>,
}

impl Bridge {
    /// A server that starts now.
    pub fn new(tools: Registry, resources: ResourceRegistry, prompts: PromptRegistry) -> Self {
        Self {
            tools,
            resources,
            prompts,
            switches: Switches::default(),
            metrics: Metrics::default(),
            metric_sources: Vec::new(),
            writes: None,
            fixed_revision: None,
            started: Instant::now(),
            sessions: OnceLock::new(),
            tool_lists: watch::Sender::new(0),
            resource_lists: watch::Sender::new(0),
            end: OnceLock::new(),
        }
    }

    /// Tells the bridge how to count its sessions; the first front that holds sessions does so.
    pub fn count_sessions_by(&self, counter: impl Fn() -> SessionCounts + Send + Sync + 'static) {
        if self.sessions.set(Box::new(counter)).is_err() {
            tracing::debug!("sessions are counted already by another front");
        }
    }

    /// Tells the bridge the token that ends it; the first front that serves does so.
    pub fn ends_with(&self, stop: CancellationToken) {
        if self.end.set(stop).is_err() {
            tracing::debug!("the end of the bridge is announced already by another front");
        }
    }

    /// Whether the end has begun.
    pub fn is_stopping(&self) -> bool {
        self.end.get().is_some_and(CancellationToken::is_cancelled)
    }

    /// Whether a request may have to ask its client something, or say something beyond its own end.
    ///
    /// Only those need the session's loop, which tells apart what belongs to which request.
    pub fn may_ask(&self, request: &CustomRequest) -> bool {
        match request.method.as_str() {
            "tools/list"
            | "prompts/list"
            | "prompts/get"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "completion/complete"
            | "ping" => false,
            "tools/call" => {
                let params = request.params.as_ref();
                let name = params.and_then(|params| params.get("name"));
                let definition = name
                    .and_then(Value::as_str)
                    .and_then(|name| self.tools.definition(name));
                definition.is_some_and(|definition| definition.asks)
            }
            _ => true,
        }
    }

    /// Tells those who listen that the list of tools changed.
    pub fn tools_changed(&self) {
        self.tool_lists.send_modify(|count| *count += 1);
    }

    /// Counts the changes of the list of tools.
    pub fn tool_lists(&self) -> watch::Receiver<u64> {
        self.tool_lists.subscribe()
    }

    /// Tells those who listen that other documents can be read than before.
    pub fn resources_changed(&self) {
        self.resource_lists.send_modify(|count| *count += 1);
    }

    /// Counts the changes of which documents can be read.
    pub fn resource_lists(&self) -> watch::Receiver<u64> {
        self.resource_lists.subscribe()
    }

    /// This bridge as facts for tools.
    pub fn facts(self: &Arc<Self>) -> Arc<dyn ServerFacts> {
        self.clone()
    }
}

impl ServerFacts for Bridge {
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    fn sessions(&self) -> SessionCounts {
        self.sessions
            .get()
            .map_or_else(SessionCounts::default, |count| count())
    }

    fn transports(&self) -> Vec<&'static str> {
        let sse = self.switches.sse.load(Ordering::Relaxed).then_some("sse");
        let streamable = self
            .switches
            .streamable
            .load(Ordering::Relaxed)
            .then_some("streamable-http");
        sse.into_iter().chain(streamable).collect()
    }

    fn tools(&self) -> Vec<(String, Category)> {
        self.tools
            .definitions()
            .map(|definition| (definition.name.clone(), definition.category))
            .collect()
    }

    fn resources(&self) -> Vec<(String, bool)> {
        self.resources
            .definitions()
            .map(|definition| {
                (
                    definition.address.text().to_owned(),
                    matches!(definition.address, Address::Template(_)),
                )
            })
            .collect()
    }

    fn prompts(&self) -> Vec<String> {
        self.prompts
            .definitions()
            .map(|definition| definition.name.clone())
            .collect()
    }

    fn audit(&self) -> Option<AuditFacts> {
        let gate = self.writes.as_ref()?;
        let trail = gate.trail();
        Some(AuditFacts {
            path: trail.folder().join(JOURNAL_NAME),
            is_needed: gate.rules().enabled,
            failure: trail.check().err(),
        })
    }
}
