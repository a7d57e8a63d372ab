//! `/health`: whether the bridge can do its work, without authentication and without station data (Tool surface §1.4).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::Front;
use super::checks::json_response;
use crate::tools::ServerFacts;

/// What a look at the station found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StationHealth {
    /// The station's web service answers, if only to refuse the login.
    pub reachable: bool,
    /// The bridge's own account can work with it.
    pub usable: bool,
    pub alarm: bool,
    pub history: bool,
}

/// Looks at the station.
pub trait StationProbe: Send + Sync {
    /// Asks the station once; never fails, an unreachable station is an answer.
    fn check(&self) -> BoxFuture<'_, StationHealth>;

    /// Whether the station is known to refuse the login at present; costs it no question.
    fn refuses_login(&self) -> bool {
        false
    }

    /// Whether the newest connection met a certificate that is not trusted; costs the station no question.
    fn distrusts_certificate(&self) -> bool {
        false
    }

    /// How many requests of the bridge the station has answered so far.
    fn answered(&self) -> u64 {
        0
    }
}

/// What became of the knowledge file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnowledgeHealth {
    /// Size in bytes, none when there is no file.
    pub size: Option<u64>,
    /// False when a file exists but cannot be read or parsed.
    pub readable: bool,
}

/// Looks at the knowledge file.
pub trait KnowledgeProbe: Send + Sync {
    fn check(&self) -> KnowledgeHealth;
}

/// Station services whose absence makes the bridge unhealthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequiredService {
    Alarm,
    History,
}

/// A look at the station is reused this long, so that a monitor cannot load the station.
const STATION_CHECK_AGE: Duration = Duration::from_secs(10);
const STATION_CHECK_LIMIT: Duration = Duration::from_secs(5);

/// The parts of `/health`.
pub struct Health {
    station: Arc<dyn StationProbe>,
    knowledge: Arc<dyn KnowledgeProbe>,
    required: BTreeSet<RequiredService>,
    last: Mutex<Option<Look>>,
}

/// A look at the station.
#[derive(Clone, Copy)]
struct Look {
    when: Instant,
    health: StationHealth,
    refused_login: bool,
}

impl Health {
    /// Asks these probes.
    pub fn new(
        station: Arc<dyn StationProbe>,
        knowledge: Arc<dyn KnowledgeProbe>,
        required: impl IntoIterator<Item = RequiredService>,
    ) -> Self {
        Self {
            station,
            knowledge,
            required: required.into_iter().collect(),
            last: Mutex::new(None),
        }
    }

    async fn station(&self) -> StationHealth {
        let mut last = self.last.lock().await;
        if let Some(look) = *last
            && look.when.elapsed() < STATION_CHECK_AGE
            // What was seen before a refused login or certificate, or while it lasted, is out of date.
            && look.refused_login == self.station.refuses_login()
            && !(look.health.usable && self.station.distrusts_certificate())
        {
            return look.health;
        }
        let answered = self.station.answered();
        let health = timeout(STATION_CHECK_LIMIT, self.station.check())
            .await
            .unwrap_or_default();
        // A station that answers other calls is there; the look only waited behind them in the bridge.
        let is_busy = !health.reachable && self.station.answered() > answered;
        let health = match (is_busy, *last) {
            (true, Some(look)) => look.health,
            (true, None) => StationHealth {
                reachable: true,
                ..health
            },
            (false, _) => health,
        };
        *last = Some(Look {
            when: Instant::now(),
            health,
            refused_login: self.station.refuses_login(),
        });
        health
    }

    /// Whether the bridge is healthy, and the document that says so.
    pub async fn report(&self, enabled: bool, facts: &dyn ServerFacts) -> (bool, Value) {
        let station = self.station().await;
        let knowledge = self.knowledge.check();
        let has = |service: RequiredService| {
            station.reachable
                && match service {
                    RequiredService::Alarm => station.alarm,
                    RequiredService::History => station.history,
                }
        };
        let audit = facts.audit();
        let lacks_audit = audit
            .as_ref()
            .is_some_and(|audit| audit.is_needed && audit.failure.is_some());
        let healthy = enabled
            && !lacks_audit
            && station.reachable
            && station.usable
            && knowledge.readable
            && self.required.iter().all(|service| has(*service));
        let services: Vec<&str> = [
            has(RequiredService::Alarm).then_some("alarm"),
            has(RequiredService::History).then_some("history"),
            Some("web"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let mut document = json!({
            "status": if healthy { "ok" } else { "degraded" },
            "version": facts.version(),
            "uptimeSeconds": facts.uptime().as_secs(),
            "knowledgeFileSize": knowledge.size.map_or(json!(-1), |size| json!(size)),
            "sessionCount": facts.sessions().total(),
            "healthyServices": services,
            "station": if station.reachable { "reachable" } else { "unreachable" },
        });
        if self.station.distrusts_certificate() {
            document["stationCertificate"] = json!("untrusted");
        }
        if let Some(audit) = &audit {
            document["audit"] = json!(if audit.failure.is_some() {
                "failing"
            } else {
                "recording"
            });
        }
        if let Some(failure) = audit.and_then(|audit| audit.failure) {
            document["auditFailure"] = json!(format!(
                "Writes to the station cannot be recorded and are refused: {}.",
                failure.cause
            ));
        }
        if !enabled {
            document["note"] = json!("The service is disabled.");
        }
        (healthy, document)
    }
}

/// Answers `GET /health`.
pub async fn answer(State(front): State<Arc<Front>>) -> Response {
    let enabled = front.bridge.switches.enabled.load(Ordering::Relaxed);
    let (healthy, document) = front.health.report(enabled, front.bridge.as_ref()).await;
    let status = if healthy {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    json_response(status, &document)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::tools::context::NoServer;

    struct Fixed(StationHealth, KnowledgeHealth, AtomicUsize);

    impl StationProbe for Fixed {
        fn check(&self) -> BoxFuture<'_, StationHealth> {
            self.2.fetch_add(1, Ordering::Relaxed);
            Box::pin(std::future::ready(self.0))
        }
    }

    impl KnowledgeProbe for Fixed {
        fn check(&self) -> KnowledgeHealth {
            self.1
        }
    }

    const UP: StationHealth = StationHealth {
        reachable: true,
        usable: true,
        alarm: true,
        history: true,
    };
    const NO_FILE: KnowledgeHealth = KnowledgeHealth {
        size: None,
        readable: true,
    };

    async fn report(
        station: StationHealth,
        knowledge: KnowledgeHealth,
        required: &[RequiredService],
    ) -> (bool, Value) {
        let fixed = Arc::new(Fixed(station, knowledge, AtomicUsize::new(0)));
        let health = Health::new(fixed.clone(), fixed, required.iter().copied());
        health.report(true, &NoServer::default()).await
    }

    #[tokio::test]
    async fn a_missing_knowledge_file_is_healthy_a_broken_one_is_not() {
        let both = [RequiredService::Alarm, RequiredService::History];
        let (healthy, document) = report(UP, NO_FILE, &both).await;
        assert!(healthy);
        assert_eq!(document["status"], "ok");
        assert_eq!(document["knowledgeFileSize"], -1);
        assert_eq!(
            document["healthyServices"],
            json!(["alarm", "history", "web"])
        );
        let broken = KnowledgeHealth {
            size: Some(12),
            readable: false,
        };
        let (healthy, document) = report(UP, broken, &both).await;
        assert!(!healthy);
        assert_eq!(document["knowledgeFileSize"], 12);
    }

    #[tokio::test]
    async fn required_services_are_configurable_but_the_station_must_answer() {
        let no_alarm = StationHealth { alarm: false, ..UP };
        assert!(!report(no_alarm, NO_FILE, &[RequiredService::Alarm]).await.0);
        assert!(
            report(no_alarm, NO_FILE, &[RequiredService::History])
                .await
                .0
        );
        let (healthy, document) = report(
            StationHealth {
                reachable: false,
                ..UP
            },
            NO_FILE,
            &[],
        )
        .await;
        assert!(!healthy);
        assert_eq!(document["station"], "unreachable");
        assert_eq!(document["healthyServices"], json!(["web"]));
        let refused = StationHealth {
            usable: false,
            alarm: false,
            history: false,
            ..UP
        };
        let (healthy, document) = report(refused, NO_FILE, &[]).await;
        assert!(!healthy, "a station that refuses the login is of no use");
        assert_eq!(document["status"], "degraded");
        assert_eq!(document["station"], "reachable");
    }

    /// A station whose password was changed.
    struct Turned(std::sync::atomic::AtomicBool);

    impl StationProbe for Turned {
        fn check(&self) -> BoxFuture<'_, StationHealth> {
            let usable = !self.refuses_login();
            Box::pin(std::future::ready(StationHealth { usable, ..UP }))
        }

        fn refuses_login(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_login_shows_at_once() {
        let station = Arc::new(Turned(false.into()));
        let knowledge = Arc::new(Fixed(UP, NO_FILE, AtomicUsize::new(0)));
        let health = Health::new(station.clone(), knowledge, []);
        assert!(health.report(true, &NoServer::default()).await.0);
        station.0.store(true, Ordering::Relaxed);
        assert!(!health.report(true, &NoServer::default()).await.0);
    }

    /// A station whose certificate was replaced while older connections serve.
    struct Replaced(std::sync::atomic::AtomicBool);

    impl StationProbe for Replaced {
        fn check(&self) -> BoxFuture<'_, StationHealth> {
            let usable = !self.distrusts_certificate();
            Box::pin(std::future::ready(StationHealth { usable, ..UP }))
        }

        fn distrusts_certificate(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_certificate_that_is_not_trusted_shows_at_once() {
        let station = Arc::new(Replaced(false.into()));
        let knowledge = Arc::new(Fixed(UP, NO_FILE, AtomicUsize::new(0)));
        let health = Health::new(station.clone(), knowledge, []);
        let (healthy, document) = health.report(true, &NoServer::default()).await;
        assert!(healthy && document.get("stationCertificate").is_none());
        station.0.store(true, Ordering::Relaxed);
        let (healthy, document) = health.report(true, &NoServer::default()).await;
        assert!(!healthy);
        assert_eq!(document["stationCertificate"], "untrusted");
    }

    #[tokio::test(start_paused = true)]
    async fn a_login_that_is_accepted_again_shows_at_once() {
        let station = Arc::new(Turned(true.into()));
        let knowledge = Arc::new(Fixed(UP, NO_FILE, AtomicUsize::new(0)));
        let health = Health::new(station.clone(), knowledge, []);
        assert!(!health.report(true, &NoServer::default()).await.0);
        station.0.store(false, Ordering::Relaxed);
        assert!(health.report(true, &NoServer::default()).await.0);
    }

    /// A station that answers one other call in each second, and this look never after the first time.
    #[derive(Default)]
    struct Queued {
        looks: AtomicUsize,
        is_silent: std::sync::atomic::AtomicBool,
        answered: std::sync::atomic::AtomicU64,
    }

    impl StationProbe for Queued {
        fn check(&self) -> BoxFuture<'_, StationHealth> {
            Box::pin(async {
                if self.looks.fetch_add(1, Ordering::Relaxed) == 0 {
                    return UP;
                }
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    if !self.is_silent.load(Ordering::Relaxed) {
                        self.answered.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        }

        fn answered(&self) -> u64 {
            self.answered.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_waits_behind_other_calls_does_not_make_the_station_unreachable() {
        let station = Arc::new(Queued::default());
        let knowledge = Arc::new(Fixed(UP, NO_FILE, AtomicUsize::new(0)));
        let health = Health::new(station.clone(), knowledge.clone(), []);
        for _ in 0..3 {
            let (healthy, document) = health.report(true, &NoServer::default()).await;
            assert!(healthy, "{document}");
            tokio::time::advance(STATION_CHECK_AGE).await;
        }
        let (healthy, document) = Health::new(station.clone(), knowledge, [])
            .report(true, &NoServer::default())
            .await;
        assert_eq!(
            (healthy, &document["station"]),
            (false, &json!("reachable"))
        );
        station.is_silent.store(true, Ordering::Relaxed);
        let (_, document) = health.report(true, &NoServer::default()).await;
        assert_eq!(document["station"], "unreachable");
    }

    #[tokio::test(start_paused = true)]
    async fn a_monitor_does_not_load_the_station() {
        let fixed = Arc::new(Fixed(UP, NO_FILE, AtomicUsize::new(0)));
        let health = Health::new(fixed.clone(), fixed.clone(), []);
        for _ in 0..5 {
            health.report(true, &NoServer::default()).await;
        }
        assert_eq!(fixed.2.load(Ordering::Relaxed), 1);
        tokio::time::advance(STATION_CHECK_AGE).await;
        health.report(true, &NoServer::default()).await;
        assert_eq!(fixed.2.load(Ordering::Relaxed), 2);
    }
}
