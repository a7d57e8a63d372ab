//! Configuration → a bridge that can be served.

mod probes;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures::future::BoxFuture;

use self::probes::{KnowledgeFile, ServiceProbe};
use super::metric_sources::{KnowledgeMetrics, StationMetrics, WriteMetrics};
use crate::audit::{AuditOptions, AuditTrail};
use crate::camber::run_config::RunConfigs;
use crate::camber::{CapabilityService, PointDirectory, Workspace, capabilities as built_in};
use crate::clock::{SharedClock, SystemClock};
use crate::config::policy::{Policy, SharedPolicy};
use crate::config::{Config, Secret, StationConfig};
use crate::identity::stations::MakeFacade;
use crate::identity::{
    Credentials, Identities, IdentityError, SessionLimits, StationTags, UserStations, Vault,
    VaultKey, vault_file,
};
use crate::knowledge::{KnowledgeStore, StoreOptions};
use crate::mcp::auth::{Authenticator, UserTokens};
use crate::mcp::bridge::Bridge;
use crate::mcp::http::HttpOptions;
use crate::mcp::http::connections::ConnectionLimits;
use crate::mcp::http::health::Health;
use crate::mcp::station_points::StationPoints;
use crate::prompts::camber_completion::completed_prompts;
use crate::prompts::{PromptRegistry, site_prompts};
use crate::resources::ResourceRegistry;
use crate::resources::equipment::equipment;
use crate::resources::equipment_trends::EquipmentWithTrends;
use crate::resources::kinds::KindsCatalog;
use crate::resources::overview::OverviewResource;
use crate::resources::point::{PointResource, StationChanges};
use crate::resources::samples::SamplesResource;
use crate::resources::space::space;
use crate::resources::standalone_point::standalone_point;
use crate::station::boxp::types::TypeCache;
use crate::station::facade::StationFacade;
use crate::station::http::CallScope;
use crate::station::web::{WebOptions, WebSession};
use crate::tools::capability::{CapabilityAccess, capability_tools};
use crate::tools::render_trend::RenderTrend;
use crate::tools::station_access::{SharedStations, StationDirectory};
use crate::tools::test_setup::{SetupTestUser, TestSetupGate};
use crate::tools::write_gate::{SharedGate, WriteGate};
use crate::tools::{Offer, Principal, Registry, ToolError, reading_tools, writing_tools};
use crate::trends::store::{FacilityId, TrendStore};

/// A bridge with everything that its fronts need.
pub struct Assembly {
    pub bridge: Arc<Bridge>,
    pub authenticator: Authenticator,
    pub health: Health,
    pub http: HttpOptions,
    pub station: StationEnd,
    pub knowledge: Arc<KnowledgeStore>,
    pub identities: Arc<Identities>,
    /// What tools may do; they hold a copy of this handle.
    pub policy: SharedPolicy,
    /// Where writes are recorded; whoever has taken the data folder resumes it.
    pub audit: Arc<AuditTrail>,
    /// None when the trends store cannot be opened.
    pub capabilities: Option<Arc<CapabilityService>>,
}

/// The trends store in the data folder.
pub const TRENDS_FOLDER: &str = "trends";

/// Time for the first look at the station; embedded controllers need seconds for a login.
const FIRST_LOGIN: Duration = Duration::from_secs(30);

/// Time for the logout: a session that is left behind takes one of the few places of a small station until it has
/// been idle.
const FAREWELL: Duration = Duration::from_secs(10);

/// After this time whoever waits for the end is told why.
const SHORT_FAREWELL: Duration = Duration::from_secs(1);

/// The station's side, to be closed at the end.
#[derive(Clone)]
pub struct StationEnd {
    service: Arc<StationFacade>,
    users: Arc<UserStations>,
}

/// The station as the service account of a configuration reaches it; it is made first, so that it can be greeted while the
/// rest is assembled.
pub struct ServiceAccount {
    user: String,
    facade: Arc<StationFacade>,
    make: MakeFacade,
    clock: SharedClock,
}

impl ServiceAccount {
    /// The station is not asked yet.
    ///
    /// # Errors
    /// No station is configured, or its settings cannot be used.
    pub fn of(config: &Config) -> anyhow::Result<Self> {
        let station = config.station.as_ref().context(
            "station.url is not set; fill in the block 'station' of the configuration (`niagara-bridge init` writes one)",
        )?;
        let clock = SystemClock::shared();
        let make = facades(station.clone(), clock.clone());
        Ok(Self {
            user: station.user.clone(),
            facade: Arc::new(make(&station.user, station.password.clone())?),
            make,
            clock,
        })
    }

    /// Tries the station once and tells the log whether its account can log in.
    pub fn greet(&self) -> impl Future<Output = ()> + Send + use<> {
        let (user, facade) = (self.user.clone(), self.facade.clone());
        async move {
            let scope = CallScope::within(FIRST_LOGIN);
            // Boxed: the compiler's limit on nested futures is near here.
            let look: BoxFuture<'_, _> = Box::pin(facade.services(&scope));
            match look.await {
                Ok(_) => tracing::info!(user, "the station accepts the login"),
                Err(error) => {
                    tracing::warn!(user, %error, "the station cannot be used yet; calls will try again");
                }
            }
        }
    }

    /// Ends the session that a greeting began.
    pub fn farewell(&self) -> impl Future<Output = ()> + Send + use<> {
        let facade = self.facade.clone();
        async move {
            if tokio::time::timeout(FAREWELL, facade.close())
                .await
                .is_err()
            {
                tracing::warn!(
                    "the station did not answer the logout; its session ends when it has been idle"
                );
            }
        }
    }
}

impl StationEnd {
    /// The station as the service account sees it.
    pub fn service(&self) -> &Arc<StationFacade> {
        &self.service
    }

    /// The sessions of users.
    pub fn users(&self) -> &Arc<UserStations> {
        &self.users
    }

    /// Gives up the BOX sessions and logs everybody out; a station that does not answer is left alone.
    pub async fn close(&self) {
        let service = tokio::time::timeout(FAREWELL, self.service.close());
        let farewell = async { tokio::join!(service, self.users.close()) };
        tokio::pin!(farewell);
        let (service, ()) = tokio::select! {
            done = &mut farewell => done,
            () = tokio::time::sleep(SHORT_FAREWELL) => {
                tracing::warn!(
                    "the station is slow to end the bridge's sessions; waiting up to {} s, a second signal ends at once",
                    FAREWELL.as_secs()
                );
                farewell.await
            }
        };
        if service.is_err() {
            tracing::warn!(
                "the station did not answer the logout; its session ends when it has been idle"
            );
        }
    }
}

/// Builds the bridge of a configuration; the station is not asked yet.
///
/// # Errors
/// No station is configured, or its settings cannot be used.
pub fn assemble(config: &Config) -> anyhow::Result<Assembly> {
    assemble_around(ServiceAccount::of(config)?, config)
}

/// The same around a service account that may have been greeted.
///
/// # Errors
/// The configuration cannot be used.
pub fn assemble_around(account: ServiceAccount, config: &Config) -> anyhow::Result<Assembly> {
    let ServiceAccount {
        facade,
        make,
        clock,
        ..
    } = account;
    let identities = Arc::new(Identities::new(&config.data_dir, clock.clone()));
    let limits = SessionLimits {
        most: config.user_sessions,
        idle: config.user_idle,
    };
    let credentials = credentials(config)?;
    let gate = match config.enable_test_setup {
        true => TestSetupGate::open_for(config.test_setup_time, clock.clone()),
        false => TestSetupGate::closed(clock.clone()),
    };
    let users = UserStations::new(facade.clone(), credentials, make, limits, clock.clone());
    let users = Arc::new(users);
    let policy = SharedPolicy::new(Policy::of(config));
    let knowledge = Arc::new(open_knowledge(config, policy.clone()));
    let stations: SharedStations = users.clone();
    let setup = SetupTestUser {
        identities: identities.clone(),
        stations: stations.clone(),
        gate,
        api_token: config.api_token.clone(),
    };
    let audit = AuditTrail::new(&config.data_dir, AuditOptions::default(), clock.clone());
    let gate = WriteGate::new(policy.clone(), audit.clone(), stations.clone(), clock);
    let capabilities = capabilities(config, &policy, &knowledge)?;
    let access = capabilities
        .as_ref()
        .map_or_else(CapabilityAccess::default, |service| {
            CapabilityAccess::new(service.clone(), policy.clone())
        });
    let own = OwnParts {
        gate: &gate,
        setup,
        capabilities: access.clone(),
    };
    let tools = tools(config, stations.clone(), knowledge.clone(), own)?;
    let prompts = prompts(&knowledge, &access);
    let mut bridge = Bridge::new(tools, resources(&knowledge, stations, access), prompts);
    bridge.fixed_revision = config.fixed_revision;
    bridge.switches.set(config);
    bridge.metric_sources = vec![
        Box::new(StationMetrics(facade.clone())),
        Box::new(KnowledgeMetrics(knowledge.clone())),
        Box::new(WriteMetrics(gate.clone())),
    ];
    bridge.writes = Some(gate);
    let tokens: Arc<dyn UserTokens> = match config.station_token_tags {
        true => Arc::new(StationTags::new(
            identities.clone(),
            facade.clone(),
            SystemClock::shared(),
        )),
        false => identities.clone(),
    };
    Ok(Assembly {
        bridge: Arc::new(bridge),
        authenticator: Authenticator::new(config.api_token.clone(), Some(tokens)),
        health: Health::new(
            Arc::new(ServiceProbe(facade.clone())),
            Arc::new(KnowledgeFile(knowledge.clone())),
            config.required_services.iter().copied(),
        ),
        http: HttpOptions {
            base_path: config.base_path.clone(),
            allowed_hosts: config.allowed_hosts.clone(),
            allowed_origins: config.allowed_origins.clone(),
            body_limit: config.body_limit,
            session_idle: config.session_idle,
            sse_heartbeat: config.sse_heartbeat,
            limits: config.inbound,
            connections: ConnectionLimits::default(),
            tls: None,
        },
        station: StationEnd {
            service: facade,
            users,
        },
        identities,
        policy,
        audit,
        knowledge,
        capabilities,
    })
}

/// The station as its service account sees it, for commands that serve nobody; it is not asked yet.
///
/// # Errors
/// No station is configured, or its settings cannot be used.
pub fn service_facade(config: &Config) -> anyhow::Result<StationFacade> {
    let station = config.station.as_ref().context(
        "station.url is not set; fill in the block 'station' of the configuration (`niagara-bridge init` writes one)",
    )?;
    let make = facades(station.clone(), SystemClock::shared());
    Ok(make(&station.user, station.password.clone())?)
}

fn open_knowledge(config: &Config, policy: SharedPolicy) -> KnowledgeStore {
    KnowledgeStore::open_with(
        &config.knowledge_file,
        StoreOptions {
            auto_backup: config.knowledge_auto_backup,
            backup_count: config.knowledge_backup_count,
            read_only: Arc::new(move || policy.current().knowledge_read_only),
            ..StoreOptions::default()
        },
    )
}

/// The definitions of everything, without a station behind them.
///
/// # Errors
/// A definition is broken.
pub fn definitions_only() -> anyhow::Result<Bridge> {
    let config = crate::config::load::load(None, [])?;
    let knowledge = Arc::new(KnowledgeStore::open(""));
    let stations: SharedStations = Arc::new(NoStation);
    let clock = SystemClock::shared();
    let gate = WriteGate::new(
        SharedPolicy::default(),
        AuditTrail::new("", AuditOptions::default(), clock.clone()),
        stations.clone(),
        clock.clone(),
    );
    let setup = SetupTestUser {
        identities: Arc::new(Identities::new(Path::new(""), clock.clone())),
        stations: stations.clone(),
        gate: TestSetupGate::closed(clock),
        api_token: None,
    };
    let own = OwnParts {
        gate: &gate,
        setup,
        capabilities: CapabilityAccess::default(),
    };
    let tools = tools(&config, stations.clone(), knowledge.clone(), own)?;
    Ok(Bridge::new(
        tools,
        resources(&knowledge, stations, CapabilityAccess::default()),
        prompts(&knowledge, &CapabilityAccess::default()),
    ))
}

/// Makes the facade of any account of the station; all share the types that were learned.
fn facades(station: StationConfig, clock: SharedClock) -> MakeFacade {
    let types = TypeCache::new();
    Box::new(move |user, password| {
        let session = WebSession::new(web_options(&station, user, password), clock.clone())?;
        let facade = StationFacade::new(session, types.clone(), station.time_zone);
        Ok(match &station.fox {
            Some(fox) => facade.with_fox(fox.clone(), station.trust.clone()),
            None => facade,
        })
    })
}

/// The vault of the data folder, if its key is known.
fn credentials(config: &Config) -> Result<Credentials, IdentityError> {
    let file = vault_file(&config.data_dir);
    match VaultKey::find(config.vault_key_file.as_deref(), |name| {
        std::env::var_os(name)
    }) {
        Ok(key) => Ok(Credentials::Vault(Box::new(Vault::open(file, &key)?))),
        Err(error @ IdentityError::NoKey) => {
            if file.exists() {
                tracing::warn!(file = %file.display(), %error, "bound users read by the service account and change nothing");
            }
            Ok(Credentials::None {
                reason: error.to_string(),
            })
        }
        Err(error) => Err(error),
    }
}

/// How an account reaches the station.
pub(super) fn web_options(station: &StationConfig, user: &str, password: Secret) -> WebOptions {
    let mut options = WebOptions::new(station.url.clone(), user, password);
    options.scheme = station.scheme;
    options.trust = station.trust.clone();
    options.limits = station.limits.clone();
    options.latch = station.latch;
    options
}

/// What only some tools have.
struct OwnParts<'a> {
    gate: &'a SharedGate,
    setup: SetupTestUser,
    capabilities: CapabilityAccess,
}

/// The capabilities over the stored trends of the data folder. A bridge whose store cannot be opened serves its station
/// nevertheless.
///
/// # Errors
/// A run configuration is wrong, or the threads cannot be started.
fn capabilities(
    config: &Config,
    policy: &SharedPolicy,
    knowledge: &Arc<KnowledgeStore>,
) -> anyhow::Result<Option<Arc<CapabilityService>>> {
    let run_configs = RunConfigs::read(&policy.current().camber.run_configs)
        .context("camber.config cannot be used")?;
    let folder = config.data_dir.join(TRENDS_FOLDER);
    let store = match TrendStore::create(&folder) {
        Ok(store) => Arc::new(store),
        Err(error) => {
            tracing::error!(%error, "the trends store cannot be opened; capabilities answer unavailable");
            return Ok(None);
        }
    };
    let points = StationPoints::new(knowledge.clone(), store.clone(), config.facility_id.clone());
    let own = points.facility();
    run_configs.warn(&store, |facility| {
        let is_stored = FacilityId::parse(facility).is_ok_and(|id| store.has_partition(&id));
        // Before anything is stored, nobody knows which facility the first ingest brings.
        let is_own = own.as_deref().map_or_else(
            || store.facilities().is_ok_and(|stored| stored.is_empty()),
            |own| own == facility,
        );
        is_stored || is_own
    });
    let workspace = Workspace::new(store)
        .with_run_configs(run_configs)
        .with_points(Arc::new(points));
    Ok(Some(Arc::new(CapabilityService::start(workspace)?)))
}

fn tools(
    config: &Config,
    stations: SharedStations,
    knowledge: Arc<KnowledgeStore>,
    own: OwnParts<'_>,
) -> anyhow::Result<Registry> {
    let writing = writing_tools(own.gate, &knowledge);
    let pictures = RenderTrend {
        stations: stations.clone(),
        capabilities: own.capabilities.clone(),
        clock: own.gate.clock().clone(),
    };
    let registry = Registry::builder()
        .acting_by(stations.clone())
        .recording_by(own.gate.clone())
        .tools(reading_tools(
            stations,
            knowledge,
            config.max_history_records,
        ))
        .tools(writing)
        .tool(pictures)
        .tool(own.setup)
        .tools(capability_tools(&own.capabilities)?)
        .offer(offer(config))
        .build()?;
    Ok(registry)
}

/// The seven of the tool surface, then those of capabilities.
fn prompts(knowledge: &Arc<KnowledgeStore>, capabilities: &CapabilityAccess) -> PromptRegistry {
    let names = built_in::names();
    let own = completed_prompts(|name| names.contains(&name), capabilities);
    site_prompts(knowledge).with_all(own)
}

/// The tools that a configuration offers.
pub fn offer(config: &Config) -> Offer {
    Offer::new(&config.disabled_tools, config.toolsets.clone())
}

/// The six of the tool surface in its order, then ours (Tool surface §10).
fn resources(
    knowledge: &Arc<KnowledgeStore>,
    stations: SharedStations,
    capabilities: CapabilityAccess,
) -> ResourceRegistry {
    let changes = Arc::new(StationChanges(stations.clone()));
    ResourceRegistry::default()
        .with(OverviewResource::new(knowledge.clone()))
        .with(KindsCatalog(knowledge.clone()))
        .with(EquipmentWithTrends::new(
            equipment(knowledge.clone()),
            capabilities,
        ))
        .with(space(knowledge.clone()))
        .with(standalone_point(knowledge.clone()))
        .with(SamplesResource)
        .with(PointResource::new(stations, changes))
}

/// No station: definitions are read, nothing is called.
struct NoStation;

impl StationDirectory for NoStation {
    fn for_caller(&self, _principal: &Principal) -> Result<Arc<StationFacade>, ToolError> {
        Err(ToolError::station(
            "station-unreachable",
            "No station is configured.",
        ))
    }
}
