//! Documents that MCP clients can read by URI: one trait, one ordered registry.
//!
//! - [`overview`]: `niagara://overview`, the site in numbers.
//! - [`kinds`]: `niagara://kinds/catalog`, kinds of points and types of equipment.
//! - [`equipment`], [`space`], [`standalone_point`]: entries of the knowledge model by id.
//! - [`samples`]: `niagara://samples/standard-types`, a start for a new site.
//! - [`point`]: `niagara://point/{ord}`, a control point and its changes.
//! - [`ord_completion`]: ords that continue what somebody has typed.
//! - [`knowledge_entry`]: what the resources over the knowledge model share.
//!
//! A resource has either a fixed URI or a template with one variable (Tool surface §10).

pub mod equipment;
pub mod equipment_trends;
pub mod kinds;
pub mod knowledge_entry;
pub mod ord_completion;
pub mod overview;
pub mod point;
pub mod samples;
pub mod space;
pub mod standalone_point;

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

use crate::knowledge::KnowledgeUnreadable;
use crate::station::echo::shortened;
use crate::tools::{CallContext, ErrorCode, RpcError};

/// Everything but the characters that stand for themselves in a URI (RFC 3986, unreserved).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The value of a template's variable as it stands in a URI.
///
/// ```
/// assert_eq!(niagara_bridge::resources::in_uri("gym/rtu 4"), "gym%2Frtu%204");
/// ```
pub fn in_uri(value: &str) -> String {
    utf8_percent_encode(value, RESERVED).to_string()
}

/// Where a resource is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// One document.
    Fixed(String),
    /// One document per value of the only variable: `niagara://space/{id}`.
    Template(String),
}

impl Address {
    /// The URI or the template.
    pub fn text(&self) -> &str {
        match self {
            Self::Fixed(text) | Self::Template(text) => text,
        }
    }

    /// Name of the template's variable.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Fixed(_) => None,
            Self::Template(text) => {
                let (_, rest) = text.split_once('{')?;
                rest.split_once('}').map(|(name, _)| name)
            }
        }
    }

    fn prefix(&self) -> Option<&str> {
        match self {
            Self::Fixed(_) => None,
            Self::Template(text) => text.split_once('{').map(|(prefix, _)| prefix),
        }
    }

    fn suffix(&self) -> &str {
        match self {
            Self::Fixed(_) => "",
            Self::Template(text) => text.split_once('}').map_or("", |(_, suffix)| suffix),
        }
    }
}

/// Everything a client sees of a resource.
#[derive(Debug, Clone)]
pub struct ResourceDefinition {
    pub address: Address,
    /// Further prefixes that lead to the same documents, accepted but not listed (Tool surface §0.2, D02).
    pub other_prefixes: Vec<String>,
    pub name: String,
    pub description: String,
    pub mime_type: &'static str,
}

impl ResourceDefinition {
    /// Whether a template is this one, in any of its spellings.
    fn is_template(&self, template: &str) -> bool {
        let Some(variable) = self.address.variable() else {
            return false;
        };
        let end = format!("{{{variable}}}{}", self.address.suffix());
        let mut prefixes = self
            .address
            .prefix()
            .into_iter()
            .chain(self.other_prefixes.iter().map(String::as_str));
        template
            .strip_suffix(end.as_str())
            .is_some_and(|given| prefixes.any(|prefix| prefix == given))
    }

    fn to_json(&self) -> Value {
        let key = match self.address {
            Address::Fixed(_) => "uri",
            Address::Template(_) => "uriTemplate",
        };
        json!({
            key: self.address.text(),
            "name": self.name,
            "description": self.description,
            "mimeType": self.mime_type,
        })
    }
}

/// Why a resource could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    #[error("there is no such document")]
    NotFound,
    #[error("{0}")]
    Failed(String),
    /// The knowledge file cannot be used, so that nothing can be said about the document (Tool surface §5.3, −32004).
    #[error("{message}")]
    Knowledge { message: String, path: String },
}

impl From<KnowledgeUnreadable> for ResourceError {
    fn from(error: KnowledgeUnreadable) -> Self {
        Self::Knowledge {
            message: error.to_string(),
            path: error.path.display().to_string(),
        }
    }
}

/// What a document holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    Text(String),
    Bytes(Vec<u8>),
}

/// One resource or one family of resources.
pub trait Resource: Send + Sync {
    /// What clients see; asked once, when the registry is built.
    fn definition(&self) -> ResourceDefinition;

    /// The text of the document; `id` is the value of the template's variable, empty for a fixed URI.
    fn read<'a>(
        &'a self,
        context: &'a CallContext,
        id: &'a str,
    ) -> BoxFuture<'a, Result<String, ResourceError>>;

    /// The document as it stands: text, or bytes for other kinds.
    fn contents<'a>(
        &'a self,
        context: &'a CallContext,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Contents, ResourceError>> {
        Box::pin(async move { self.read(context, id).await.map(Contents::Text) })
    }

    /// Whether documents can be watched, asked before [`watch`](Self::watch): one answer per id, in their order. What
    /// cannot be told at present counts as there; its watch tells more.
    fn check<'a>(
        &'a self,
        _context: &'a CallContext,
        ids: &'a [String],
    ) -> BoxFuture<'a, Vec<Result<(), ResourceError>>> {
        Box::pin(std::future::ready(vec![Ok(()); ids.len()]))
    }

    /// Watches the document: every item says what it is now. None when it cannot be watched.
    ///
    /// # Errors
    /// The reason why watching failed.
    fn watch(
        &self,
        _context: &CallContext,
        _id: &str,
    ) -> Option<Result<BoxStream<'static, Value>, ResourceError>> {
        None
    }

    /// Values of the template's variable that begin with, or contain, what the user typed; best first.
    fn complete<'a>(
        &'a self,
        _context: &'a CallContext,
        _typed: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// The resources of a running bridge, in registration order.
#[derive(Default)]
pub struct ResourceRegistry {
    entries: Vec<(ResourceDefinition, Arc<dyn Resource>)>,
}

impl ResourceRegistry {
    /// Adds a resource at the end of the order.
    pub fn with(mut self, resource: impl Resource + 'static) -> Self {
        self.entries
            .push((resource.definition(), Arc::new(resource)));
        self
    }

    /// All definitions in registration order.
    pub fn definitions(&self) -> impl Iterator<Item = &ResourceDefinition> {
        self.entries.iter().map(|(definition, _)| definition)
    }

    /// The result of `resources/list`: fixed URIs only (Tool surface §0.2, D04).
    pub fn list(&self) -> Value {
        json!({ "resources": self.listed(|address| matches!(address, Address::Fixed(_))) })
    }

    /// The result of `resources/templates/list`.
    pub fn list_templates(&self) -> Value {
        json!({ "resourceTemplates": self.listed(|address| matches!(address, Address::Template(_))) })
    }

    fn listed(&self, wanted: impl Fn(&Address) -> bool) -> Vec<Value> {
        self.definitions()
            .filter(|definition| wanted(&definition.address))
            .map(ResourceDefinition::to_json)
            .collect()
    }

    /// The result of `resources/read`; the variable is tried as it stands, then percent-decoded.
    ///
    /// # Errors
    /// −32003 when nothing matches, −32004 when the knowledge file cannot be used, −32603 when the document could not
    /// be read for another reason.
    pub async fn read(&self, uri: &str, context: &CallContext) -> Result<Value, RpcError> {
        let not_found = || not_found(uri);
        let (definition, resource, id) = self.find(uri).ok_or_else(not_found)?;
        let mut outcome = resource.contents(context, id).await;
        if outcome == Err(ResourceError::NotFound)
            && let Ok(decoded) = percent_decode_str(id).decode_utf8()
            && decoded != id
        {
            outcome = resource.contents(context, &decoded).await;
        }
        match outcome {
            Ok(Contents::Text(text)) => Ok(
                json!({ "contents": [{ "uri": uri, "mimeType": definition.mime_type, "text": text }] }),
            ),
            Ok(Contents::Bytes(bytes)) => Ok(
                json!({ "contents": [{ "uri": uri, "mimeType": definition.mime_type, "blob": STANDARD.encode(bytes) }] }),
            ),
            Err(error) => Err(error.told(uri, "could not be read")),
        }
    }

    /// Watches a resource; every item says what it is now.
    ///
    /// # Errors
    /// −32003 when nothing matches, −32602 when the resource cannot be watched, −32603 when watching failed.
    pub async fn watch(
        &self,
        uri: &str,
        context: &CallContext,
    ) -> Result<BoxStream<'static, Value>, RpcError> {
        let opened = self.watch_all(&[uri], context).await.pop();
        opened.unwrap_or_else(|| Err(not_found(uri)))
    }

    /// Watches many resources; one outcome per URI, in their order. Those of a family are looked for together.
    pub async fn watch_all(
        &self,
        uris: &[&str],
        context: &CallContext,
    ) -> Vec<Result<BoxStream<'static, Value>, RpcError>> {
        let mut opened: Vec<_> = uris.iter().map(|uri| Err(not_found(uri))).collect();
        for (definition, resource) in &self.entries {
            let (places, ids): (Vec<usize>, Vec<String>) = uris
                .iter()
                .enumerate()
                .filter_map(|(place, uri)| {
                    let (found, _, id) = self.find(uri)?;
                    let decoded = percent_decode_str(id).decode_utf8();
                    let id = decoded.map_or_else(|_| id.to_owned(), Cow::into_owned);
                    std::ptr::eq(found, definition).then_some((place, id))
                })
                .unzip();
            if ids.is_empty() {
                continue;
            }
            let checked = resource.check(context, &ids).await;
            for ((place, id), checked) in places.into_iter().zip(&ids).zip(checked) {
                let outcome = match checked {
                    Ok(()) => resource.watch(context, id),
                    Err(error) => Some(Err(error)),
                };
                if let (Some(slot), Some(uri)) = (opened.get_mut(place), uris.get(place)) {
                    *slot = watched(uri, outcome);
                }
            }
        }
        opened
    }

    fn find<'a>(
        &'a self,
        uri: &'a str,
    ) -> Option<(&'a ResourceDefinition, &'a dyn Resource, &'a str)> {
        self.entries.iter().find_map(|(definition, resource)| {
            let id = match &definition.address {
                Address::Fixed(fixed) => (fixed == uri).then_some(""),
                template => template
                    .prefix()
                    .into_iter()
                    .chain(definition.other_prefixes.iter().map(String::as_str))
                    .find_map(|prefix| uri.strip_prefix(prefix))
                    .and_then(|rest| rest.strip_suffix(template.suffix()))
                    .filter(|id| !id.is_empty()),
            }?;
            Some((definition, resource.as_ref(), id))
        })
    }

    /// Completions of a template's variable.
    ///
    /// # Errors
    /// −32602 for a template or a variable that does not exist.
    pub async fn complete(
        &self,
        template: &str,
        variable: &str,
        typed: &str,
        context: &CallContext,
    ) -> Result<Vec<String>, RpcError> {
        let entry = self
            .entries
            .iter()
            .find(|(definition, _)| definition.is_template(template));
        let Some((definition, resource)) = entry else {
            return Err(RpcError::new(
                ErrorCode::InvalidParams,
                format!("There is no resource template '{template}'."),
            )
            .with("uri", template));
        };
        if definition.address.variable() != Some(variable) {
            return Err(RpcError::new(
                ErrorCode::InvalidParams,
                format!("The resource template '{template}' has no variable '{variable}'."),
            )
            .with("uri", template)
            .with("argument", variable));
        }
        Ok(resource.complete(context, typed).await)
    }
}

fn watched(
    uri: &str,
    outcome: Option<Result<BoxStream<'static, Value>, ResourceError>>,
) -> Result<BoxStream<'static, Value>, RpcError> {
    match outcome {
        Some(Ok(changes)) => Ok(changes),
        Some(Err(error)) => Err(error.told(uri, "cannot be watched")),
        None => Err(RpcError::new(
            ErrorCode::InvalidParams,
            format!(
                "The resource '{}' does not change by itself and cannot be subscribed to.",
                shortened(uri)
            ),
        )
        .with("uri", uri)),
    }
}

impl ResourceError {
    /// As a client is told of it; `what` names what was not possible with the resource.
    fn told(self, uri: &str, what: &str) -> RpcError {
        match self {
            Self::NotFound => not_found(uri),
            Self::Failed(reason) => RpcError::new(
                ErrorCode::Internal,
                format!("The resource '{}' {what}: {reason}.", shortened(uri)),
            )
            .with("uri", uri),
            Self::Knowledge { message, path } => {
                RpcError::new(ErrorCode::KnowledgeUnreadable, message)
                    .with("uri", uri)
                    .with("path", path)
                    .with("reason", "unreadable")
            }
        }
    }
}

fn not_found(uri: &str) -> RpcError {
    RpcError::new(
        ErrorCode::ResourceNotFound,
        format!(
            "There is no resource '{}'; resources/list and resources/templates/list name those that exist.",
            shortened(uri)
        ),
    )
    .with("uri", uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Spaces;

    impl Resource for Spaces {
        fn definition(&self) -> ResourceDefinition {
            ResourceDefinition {
                address: Address::Template("niagara://space/{id}".into()),
                other_prefixes: vec!["niagara://spaces/".into()],
                name: "space".into(),
                description: "A space.".into(),
                mime_type: "application/json",
            }
        }

        fn read<'a>(
            &'a self,
            _context: &'a CallContext,
            id: &'a str,
        ) -> BoxFuture<'a, Result<String, ResourceError>> {
            Box::pin(async move {
                match id {
                    "lobby" | "100%" | "große halle" => Ok(format!("<{id}>")),
                    "broken" => Err(ResourceError::Failed("the file is damaged".into())),
                    _ => Err(ResourceError::NotFound),
                }
            })
        }

        fn complete<'a>(
            &'a self,
            _context: &'a CallContext,
            typed: &'a str,
        ) -> BoxFuture<'a, Vec<String>> {
            Box::pin(async move {
                ["lobby", "loft"]
                    .into_iter()
                    .filter(|id| id.starts_with(typed))
                    .map(str::to_owned)
                    .collect()
            })
        }
    }

    fn registry() -> ResourceRegistry {
        ResourceRegistry::default().with(Spaces)
    }

    #[tokio::test]
    async fn both_spellings_and_both_encodings_are_read() {
        let context = CallContext::service();
        for (uri, text) in [
            ("niagara://space/lobby", "<lobby>"),
            ("niagara://spaces/lobby", "<lobby>"),
            ("niagara://space/100%", "<100%>"),
            ("niagara://space/gro%C3%9Fe%20halle", "<große halle>"),
        ] {
            let answer = registry().read(uri, &context).await.expect(uri);
            assert_eq!(answer["contents"][0]["uri"], uri);
            assert_eq!(answer["contents"][0]["text"], text);
        }
    }

    #[tokio::test]
    async fn unknown_and_broken_documents_are_told_apart() {
        let context = CallContext::service();
        for uri in [
            "niagara://space/attic",
            "niagara://space/",
            "niagara://nothing",
            "",
        ] {
            let error = registry().read(uri, &context).await.expect_err(uri);
            assert_eq!(error.code, ErrorCode::ResourceNotFound);
            assert_eq!(error.data["uri"], uri);
        }
        let error = registry()
            .read("niagara://space/broken", &context)
            .await
            .expect_err("broken");
        assert_eq!(error.code, ErrorCode::Internal);
        assert!(error.message.contains("the file is damaged"));
    }

    #[tokio::test]
    async fn a_template_is_listed_apart_and_completes_its_variable() {
        assert_eq!(registry().list(), json!({"resources": []}));
        assert_eq!(
            registry().list_templates()["resourceTemplates"][0]["uriTemplate"],
            "niagara://space/{id}"
        );
        let context = CallContext::service();
        for template in ["niagara://space/{id}", "niagara://spaces/{id}"] {
            let found = registry()
                .complete(template, "id", "lo", &context)
                .await
                .expect("complete");
            assert_eq!(found, ["lobby", "loft"], "{template}");
        }
        let error = registry()
            .complete("niagara://space/{id}", "name", "", &context)
            .await
            .expect_err("variable");
        assert_eq!(error.data["argument"], "name");
    }
}
