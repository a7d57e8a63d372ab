//! Documents over the web session, and what the lobby offers (oBIX specification §1, §4.1, §4.3).

use chrono::{DateTime, FixedOffset, Utc};
use chrono_tz::Tz;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore};

use super::diagnose::Asked;
use super::display::FlagTranslations;
use super::encode::encode;
use super::href::{ObixPath, Reference, document_base, resolve};
use super::object::{Attribute, Element, Object};
use super::scalar::Scalar;
use crate::station::error::StationError;
use crate::station::http::{CallScope, TimeoutClass};
use crate::station::web::{Purpose, WebRequest, WebResponse, WebSession};

const MEDIA_TYPE: &str = "text/xml";
/// Requests in flight by default: controllers run control logic on the same processor (oBIX specification §12).
const DEFAULT_IN_FLIGHT: usize = 1;
const LARGEST_IN_FLIGHT: usize = 4;
/// How long a refused batch keeps objects from being read in batches: the refusal may have been a passing one, and
/// one object per request is slow.
const BATCH_RECHECK: Duration = Duration::from_secs(60);

/// The oBIX client of one identity.
#[derive(Debug)]
pub struct ObixClient {
    web: WebSession,
    pub(super) translations: FlagTranslations,
    places: Semaphore,
    lobby: Remembered<Lobby>,
    about: Remembered<About>,
    /// When the station last refused a batch.
    refused_batch: RwLock<Option<Duration>>,
}

/// What an answer to a write means that is no oBIX document although its status accepts the message: the page of a
/// gateway, or more than is read. The station may have done it.
fn accepted(operation: &ObixPath, status: u16, error: StationError) -> StationError {
    let cause = match error {
        StationError::Auth { detail, .. } => format!("HTTP {status}: {detail}"),
        StationError::TooLarge { limit, .. } => {
            format!("HTTP {status}: the answer has more than {limit} bytes")
        }
        error => return error,
    };
    StationError::OutcomeUnknown {
        target: operation.to_string(),
        cause,
    }
}

/// A thing read once; further readers wait for the first.
#[derive(Debug)]
struct Remembered<T> {
    thing: RwLock<Option<Arc<T>>>,
    reading: Mutex<()>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self {
            thing: RwLock::new(None),
            reading: Mutex::new(()),
        }
    }
}

impl<T> Remembered<T> {
    /// The thing, else what `read` brings.
    async fn get_or_read(
        &self,
        scope: &CallScope,
        what: &str,
        read: BoxFuture<'_, Result<T, StationError>>,
    ) -> Result<Arc<T>, StationError> {
        if let Some(thing) = self.get() {
            return Ok(thing);
        }
        let _only = scope
            .run(what, async { Ok(self.reading.lock().await) })
            .await?;
        if let Some(thing) = self.get() {
            return Ok(thing);
        }
        Ok(self.set(read.await?))
    }

    fn get(&self) -> Option<Arc<T>> {
        self.thing
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, thing: T) -> Arc<T> {
        let thing = Arc::new(thing);
        *self.thing.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&thing));
        thing
    }

    fn clear(&self) {
        *self.thing.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A fetched object with the path that its relative references start from.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub base: ObixPath,
    pub root: Object,
}

impl Document {
    /// Path of a direct child, when its reference names an object.
    pub fn path_of(&self, child: &Object) -> Option<ObixPath> {
        match resolve(&self.base, child.href()?) {
            Ok(Reference::Object(path)) => Some(path),
            _ => None,
        }
    }
}

/// Where the station's services are; `None` = not exposed to this user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lobby {
    pub about: Option<ObixPath>,
    pub batch: Option<ObixPath>,
    pub watch_service: Option<ObixPath>,
    pub config: Option<ObixPath>,
    pub histories: Option<ObixPath>,
    /// The alarm subject, which lies in the config tree.
    pub alarms: Option<ObixPath>,
}

/// Identity and clock of the station.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    pub obix_version: Option<String>,
    pub server_name: Option<String>,
    pub server_time: Option<DateTime<FixedOffset>>,
    pub server_boot_time: Option<DateTime<FixedOffset>>,
    pub vendor_name: Option<String>,
    pub product_name: Option<String>,
    pub product_version: Option<String>,
    /// Zone by its name in the time-zone database.
    pub zone: Option<Tz>,
    pub component_count: Option<u64>,
    pub local_history_count: Option<u64>,
}

impl ObixClient {
    /// A client over a web session.
    pub fn new(web: WebSession) -> Self {
        Self {
            web,
            translations: FlagTranslations::english(),
            places: Semaphore::new(DEFAULT_IN_FLIGHT),
            lobby: Remembered::default(),
            about: Remembered::default(),
            refused_batch: RwLock::new(None),
        }
    }

    /// The same client with flag words of the user's language.
    pub fn with_translations(mut self, translations: FlagTranslations) -> Self {
        self.translations = translations;
        self
    }

    /// The same client with 1 to 4 requests in flight.
    pub fn with_in_flight(mut self, count: usize) -> Self {
        self.places = Semaphore::new(count.clamp(1, LARGEST_IN_FLIGHT));
        self
    }

    /// Reads an object.
    ///
    /// # Errors
    /// Each status of the oBIX specification §1.2 and each class of §9 has an error of its own.
    pub async fn get(&self, scope: &CallScope, path: &ObixPath) -> Result<Document, StationError> {
        let target = self.target(path)?;
        let request = WebRequest::read(scope).media(MEDIA_TYPE, None);
        let place = self.place(scope, &target).await?;
        let answer = self.web.get(&target, &request).await?;
        // The lobby may have to be asked too, and there may be one place only.
        drop(place);
        let root = self.object(scope, path, &answer).await?;
        Ok(Document {
            base: document_base(path, &root),
            root,
        })
    }

    /// The object of an answer to a read.
    async fn object(
        &self,
        scope: &CallScope,
        path: &ObixPath,
        answer: &WebResponse,
    ) -> Result<Object, StationError> {
        let root = self.asked(path, |asked| {
            asked.answer(answer.status, &answer.content_type, &answer.body)
        });
        if answer.status == 404 && matches!(root, Err(StationError::NotFound { .. })) {
            self.confirm_servlet(scope).await?;
        }
        root
    }

    /// A 404 of a path may also mean that there is no oBIX at all, or no longer: the lobby tells which, asked anew.
    async fn confirm_servlet(&self, scope: &CallScope) -> Result<(), StationError> {
        match Box::pin(self.get(scope, &ObixPath::lobby())).await {
            Ok(document) => {
                self.lobby.set(read_lobby(&document));
                Ok(())
            }
            // The lobby may be hidden from a user who may read a part of the tree.
            Err(StationError::PermissionDenied { .. } | StationError::Protocol { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Invokes an operation that only reads, such as a history query; `owner` is the object that carries
    /// it and the base of the answer's references.
    pub async fn ask(
        &self,
        scope: &CallScope,
        operation: &ObixPath,
        owner: &ObixPath,
        argument: &Object,
        timeout: TimeoutClass,
    ) -> Result<Document, StationError> {
        let target = self.target(operation)?;
        let request = WebRequest::read(scope)
            .media(MEDIA_TYPE, Some(MEDIA_TYPE))
            .timeout(timeout);
        let place = self.place(scope, &target).await?;
        let answer = self.web.post(&target, encode(argument), &request).await?;
        drop(place);
        let root = self.object(scope, operation, &answer).await?;
        Ok(Document {
            base: document_base(owner, &root),
            root,
        })
    }

    /// Invokes an operation whose effect or answer must not be had twice; `None` is an empty argument.
    pub(super) async fn invoke(
        &self,
        scope: &CallScope,
        operation: &ObixPath,
        owner: &ObixPath,
        argument: Option<&Object>,
    ) -> Result<Document, StationError> {
        let empty = Object::new(Element::Obj);
        let request = WebRequest::read_once(scope);
        let argument = argument.unwrap_or(&empty);
        self.invoke_as(request, operation, owner, argument).await
    }

    /// Invokes an operation that changes something of the plant, once.
    pub(super) async fn write(
        &self,
        scope: &CallScope,
        operation: &ObixPath,
        owner: &ObixPath,
        argument: &Object,
    ) -> Result<Document, StationError> {
        self.invoke_as(WebRequest::write(scope), operation, owner, argument)
            .await
    }

    async fn invoke_as(
        &self,
        request: WebRequest,
        operation: &ObixPath,
        owner: &ObixPath,
        argument: &Object,
    ) -> Result<Document, StationError> {
        let target = self.target(operation)?;
        let request = request.media(MEDIA_TYPE, Some(MEDIA_TYPE));
        let _place = self.place(&request.scope, &target).await?;
        let answer = self.web.post(&target, encode(argument), &request).await?;
        let root = self.asked(operation, |asked| {
            asked.answer(answer.status, &answer.content_type, &answer.body)
        });
        let root = match request.purpose {
            Purpose::Write if (200..300).contains(&answer.status) => {
                root.map_err(|error| accepted(operation, answer.status, error))?
            }
            _ => root?,
        };
        Ok(Document {
            base: document_base(owner, &root),
            root,
        })
    }

    /// Name of the logged-in user.
    pub(super) fn user(&self) -> &str {
        self.web.user()
    }

    /// Sets a property, once.
    pub(super) async fn put(
        &self,
        scope: &CallScope,
        path: &ObixPath,
        value: &Object,
    ) -> Result<(), StationError> {
        let target = self.target(path)?;
        let request = WebRequest::write(scope).media(MEDIA_TYPE, Some(MEDIA_TYPE));
        let _place = self.place(scope, &target).await?;
        let answer = self.web.put(&target, encode(value), &request).await?;
        self.asked(path, |asked| {
            asked.answer(answer.status, &answer.content_type, &answer.body)
        })
        .map(drop)
    }

    async fn place(
        &self,
        scope: &CallScope,
        target: &str,
    ) -> Result<tokio::sync::SemaphorePermit<'_>, StationError> {
        let acquire = async {
            self.places
                .acquire()
                .await
                .map_err(|_| StationError::Cancelled {
                    what: target.to_owned(),
                })
        };
        self.web.own_turn(scope, target, acquire).await
    }

    /// References that lead out of the oBIX tree are not followed, whoever wrote them.
    fn target(&self, path: &ObixPath) -> Result<String, StationError> {
        if path.is_in_tree() {
            return Ok(path.request_target());
        }
        Err(StationError::InvalidInput {
            what: "oBIX path",
            detail: format!("{path} is not below /obix/"),
        })
    }

    pub(super) fn asked<T>(&self, path: &ObixPath, question: impl FnOnce(Asked<'_>) -> T) -> T {
        let (station, target) = (self.web.station(), path.to_string());
        question(Asked {
            station: &station,
            user: self.web.user(),
            target: &target,
        })
    }

    /// Wall clock of the bridge.
    pub(super) fn now(&self) -> DateTime<Utc> {
        self.web.clock().now()
    }

    /// An interface that the lobby does not show.
    pub(super) fn not_exposed(&self, needs: &'static str) -> StationError {
        StationError::InterfaceMissing {
            station: self.web.station(),
            needs,
            detail: "the oBIX lobby does not show it to this user".into(),
        }
    }

    /// What the station offers, read once.
    pub async fn lobby(&self, scope: &CallScope) -> Result<Arc<Lobby>, StationError> {
        let read = async { Ok(read_lobby(&self.get(scope, &ObixPath::lobby()).await?)) }.boxed();
        self.lobby.get_or_read(scope, "the oBIX lobby", read).await
    }

    /// Identity, version and zone of the station, read once; the times in it are those of that moment.
    pub async fn about(&self, scope: &CallScope) -> Result<Arc<About>, StationError> {
        let read = self.read_about(scope).boxed();
        self.about.get_or_read(scope, "oBIX about", read).await
    }

    /// Forgets what was learnt of the station, for a new look after errors or a restart.
    pub fn forget(&self) {
        self.lobby.clear();
        self.about.clear();
        self.set_refused_batch(None);
    }

    fn set_refused_batch(&self, at: Option<Duration>) {
        *self
            .refused_batch
            .write()
            .unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Where batches go; none when the lobby has no such operation or the station refused one lately.
    pub(super) async fn batch(&self, scope: &CallScope) -> Result<Option<ObixPath>, StationError> {
        let refused = *self
            .refused_batch
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let now = self.web.clock().monotonic();
        if refused.is_some_and(|at| now.saturating_sub(at) < BATCH_RECHECK) {
            return Ok(None);
        }
        Ok(self.lobby(scope).await?.batch.clone())
    }

    pub(super) fn remember_refused_batch(&self, error: &StationError) {
        tracing::debug!(%error, "the station refuses batches; its objects are read one by one");
        self.set_refused_batch(Some(self.web.clock().monotonic()));
    }

    /// The same, always asked anew: for the station's clock.
    pub async fn read_about(&self, scope: &CallScope) -> Result<About, StationError> {
        let path = match &self.lobby(scope).await?.about {
            Some(path) => path.clone(),
            None => ObixPath::lobby().child("about"),
        };
        Ok(read_about(&self.get(scope, &path).await?.root))
    }

    /// Zone for times without offset; unknown where `about` does not tell.
    pub(super) async fn station_zone(&self, scope: &CallScope) -> Option<Tz> {
        match self.about(scope).await {
            Ok(about) => about.zone,
            Err(error) => {
                tracing::debug!(%error, "the station's zone is unknown over oBIX");
                None
            }
        }
    }
}

/// Services by contract, else by name (oBIX specification §4.1).
fn read_lobby(document: &Document) -> Lobby {
    let find = |accepts: &dyn Fn(&Object) -> bool, name: &str| {
        let children = &document.root.children;
        children
            .iter()
            .find(|child| accepts(child))
            .or_else(|| children.iter().find(|child| child.name() == Some(name)))
            .and_then(|child| document.path_of(child))
    };
    let by_contract = |contract: &'static str| {
        move |child: &Object| child.element == Element::Ref && child.implements(contract)
    };
    Lobby {
        about: find(&by_contract("obix:About"), "about"),
        batch: find(
            &|child: &Object| {
                child.element == Element::Op
                    && child
                        .attribute(Attribute::In)
                        .is_some_and(|input| input.contains("obix:BatchIn"))
            },
            "batch",
        ),
        watch_service: find(&by_contract("obix:WatchService"), "watchService"),
        config: find(&by_contract("baja:Station"), "config"),
        histories: find(&by_contract("obix:HistoryFolder"), "histories"),
        alarms: find(&by_contract("obix:AlarmSubject"), "alarms"),
    }
}

fn read_about(root: &Object) -> About {
    let text = |name: &str| {
        root.child(name)
            .and_then(Object::val)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let time = |name: &str| match root.child(name).map(|child| child.scalar(None)) {
        Some(Ok(Scalar::Instant(instant))) => Some(instant),
        _ => None,
    };
    let count = |name: &str| {
        root.child(name)
            .and_then(Object::val)
            .and_then(|text| text.trim().parse().ok())
    };
    About {
        obix_version: text("obixVersion"),
        server_name: text("serverName"),
        server_time: time("serverTime"),
        server_boot_time: time("serverBootTime"),
        vendor_name: text("vendorName"),
        product_name: text("productName"),
        product_version: text("productVersion"),
        zone: text("tz")
            .and_then(|zone| zone.parse().ok())
            .or_else(|| root.child("serverTime").and_then(Object::zone)),
        component_count: count("componentCount"),
        local_history_count: count("localHistoryCount"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::decode::decode;

    fn document(body: &str) -> Document {
        let root = decode(body.as_bytes(), None).expect("valid");
        Document {
            base: document_base(&ObixPath::lobby(), &root),
            root,
        }
    }

    #[test]
    fn services_are_found_by_contract_then_by_name() {
        let lobby = read_lobby(&document(
            r#"<obj href="https://localhost/obix/" is="obix:Lobby">
              <ref name="information" href="about/" is="obix:About"/>
              <ref name="batch" href="batch"/>
              <ref name="watchService" href="watchService/" is="obix:WatchService"/>
              <ref name="config" href="config/" is="/obix/def/baja:Station /obix/def/baja:Component"/>
              <ref name="histories" href="histories/"/>
              <ref name="alarms" href="config/Services/AlarmService/"/>
            </obj>"#,
        ));
        let paths = [
            &lobby.about,
            &lobby.batch,
            &lobby.config,
            &lobby.histories,
            &lobby.alarms,
        ]
        .map(|path| {
            path.as_ref()
                .map(ObixPath::path)
                .unwrap_or_default()
                .to_owned()
        });
        assert_eq!(
            paths,
            [
                "/obix/about/",
                "/obix/batch",
                "/obix/config/",
                "/obix/histories/",
                "/obix/config/Services/AlarmService/"
            ]
        );
        let bare = read_lobby(&document(
            r#"<obj is="obix:Lobby"><op name="b" href="batch/" in="obix:BatchIn"/></obj>"#,
        ));
        assert_eq!(
            bare.batch.as_ref().map(ObixPath::path),
            Some("/obix/batch/")
        );
        assert_eq!(bare.alarms, None, "not exposed is no error");
    }

    #[test]
    fn about_reads_numbers_sent_as_text() {
        let about = read_about(
            &document(
                r#"<obj is="obix:About"><str name="serverName" val="st1"/><str name="tz" val="Europe/Berlin"/>
                <str name="productVersion" val="4.14.0.162"/><str name="componentCount" val="3120"/>
                <abstime name="serverTime" val="2026-03-01T10:00:00.000+01:00"/></obj>"#,
            )
            .root,
        );
        assert_eq!(about.server_name.as_deref(), Some("st1"));
        assert_eq!(
            (about.zone, about.component_count),
            (Some(chrono_tz::Europe::Berlin), Some(3120))
        );
        assert_eq!(
            about.server_time.expect("a time").to_rfc3339(),
            "2026-03-01T10:00:00+01:00"
        );
    }
}
