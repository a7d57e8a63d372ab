//! Links between slots: what the station thinks of one before it is made, and its form as a slot of the sink
//! (Station web specification §4.5, §4.8, §5.6).

use serde_json::{Value as Json, json};

use super::client::{BoxClient, RefusalClass, protocol};
use super::encode::property;
use super::frame::Request;
use super::node::Node;
use crate::station::error::StationError;
use crate::station::http::CallScope;

/// The two slots that a link connects; components by their bare handles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkEnds {
    pub source: String,
    pub source_slot: String,
    pub sink: String,
    pub sink_slot: String,
}

impl LinkEnds {
    fn argument(&self) -> Json {
        json!({"s": self.source, "ss": self.source_slot, "t": self.sink, "ts": self.sink_slot})
    }

    fn target(&self) -> String {
        format!(
            "h:{}/{} to h:{}/{}",
            self.source, self.source_slot, self.sink, self.sink_slot
        )
    }

    /// The link as a value to add to the sink; with a converter it is a conversion link.
    pub fn encode(&self, converter: Option<&str>) -> Json {
        let member = |name: &str, type_spec: &str, text: &str| json!({"nm": "p", "n": name, "t": type_spec, "v": text});
        let mut members = vec![
            member("sourceOrd", "baja:Ord", &format!("h:{}", self.source)),
            member("sourceSlotName", "baja:String", &self.source_slot),
            member("targetSlotName", "baja:String", &self.sink_slot),
        ];
        let type_spec = match converter {
            Some(converter) => {
                members.push(json!({"nm": "p", "n": "converter", "t": converter}));
                "baja:ConversionLink"
            }
            None => "baja:Link",
        };
        json!({"nm": "p", "t": type_spec, "s": members})
    }
}

/// What the station thinks of a link that does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkCheck {
    Valid,
    /// With the station's reason, empty where it gives none.
    Invalid {
        reason: String,
    },
    /// This station cannot be asked, in its own words.
    NotOffered {
        detail: String,
    },
}

/// What a link says of its two ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    /// As it is stored: usually by handle; empty when the link has lost its source.
    pub source_ord: String,
    pub source_slot: String,
    pub sink_slot: String,
    pub is_enabled: bool,
}

impl Wire {
    /// Reads a link; members at their default are left out of loads.
    pub fn of(link: &Node) -> Self {
        let text = |name: &str| {
            let member = link.child(name).and_then(|member| member.value.clone());
            member.filter(|text| text != "null").unwrap_or_default()
        };
        Self {
            source_ord: text("sourceOrd"),
            source_slot: text("sourceSlotName"),
            sink_slot: text("targetSlotName"),
            is_enabled: text("enabled") != "false",
        }
    }
}

/// Whether a slot is a link, by its type or by the members that only links have.
pub fn is_link(slot: &Node) -> bool {
    slot.is_property()
        && (["baja:Link", "baja:ConversionLink"].contains(&slot.type_name())
            || (slot.child("sourceSlotName").is_some() && slot.child("targetSlotName").is_some()))
}

impl BoxClient {
    /// Asks whether a link could be made, without making it.
    ///
    /// Stations before 4.13 know this question by another name or not at all.
    ///
    /// # Errors
    /// [`StationError::PermissionDenied`] when this identity may not ask.
    pub async fn check_link(
        &self,
        scope: &CallScope,
        ends: &LinkEnds,
    ) -> Result<LinkCheck, StationError> {
        let mut session = self.lock(scope).await?;
        let mut argument = ends.argument();
        // With true the station makes the link, under a name of its own.
        argument["c"] = json!(false);
        let mut detail = String::new();
        for key in ["checkLinks", "checkLink"] {
            let reply = self.call_space(scope, &mut session, key, argument.clone());
            match reply.await? {
                Ok(body) => {
                    return read_check(&body).ok_or_else(|| {
                        protocol(&ends.target(), "{\"v\":true or false}", "neither")
                    });
                }
                Err(refusal) if refusal.class() == RefusalClass::Other => {
                    if detail.is_empty() {
                        detail = refusal.text;
                    }
                }
                Err(refusal) => return Err(self.not_found(&ends.target(), refusal)),
            }
        }
        Ok(LinkCheck::NotOffered { detail })
    }

    /// The link as the station would make it, to be added to the sink; none where it does not offer that.
    ///
    /// # Errors
    /// [`StationError::PermissionDenied`] when this identity may not ask.
    pub async fn make_link(
        &self,
        scope: &CallScope,
        ends: &LinkEnds,
    ) -> Result<Option<Json>, StationError> {
        let mut session = self.lock(scope).await?;
        let reply = self
            .call_space(scope, &mut session, "makeLink", ends.argument())
            .await?;
        match reply {
            Ok(body @ Json::Object(_)) => {
                let made = Node::decode(&body).ok().filter(is_link);
                Ok(made
                    .filter(|link| link.is_loaded)
                    .map(|link| property(&link)))
            }
            Ok(_) => Ok(None),
            Err(refusal) if refusal.class() == RefusalClass::Other => Ok(None),
            Err(refusal) => Err(self.not_found(&ends.target(), refusal)),
        }
    }

    /// The types of a kind that can be instantiated.
    ///
    /// # Errors
    /// [`StationError::NotFound`] when the registry does not tell.
    pub async fn concrete_types(
        &self,
        scope: &CallScope,
        type_spec: &str,
    ) -> Result<Vec<String>, StationError> {
        let request = Request::new("reg", "getConcreteTypes", json!(type_spec));
        let body = self
            .call(scope, request)
            .await?
            .map_err(|refusal| self.not_found(type_spec, refusal))?;
        let specs = body.get("s").and_then(Json::as_array);
        let listed = specs.map(|specs| {
            let names = specs.iter().filter_map(Json::as_str);
            names.map(str::to_owned).collect()
        });
        let records = || {
            let records = body.get("t").and_then(Json::as_object)?;
            Some(records.keys().cloned().collect())
        };
        Ok(listed.or_else(records).unwrap_or_default())
    }
}

/// The first verdict, however deep it is nested: `[[{"v":false,"r":"why"}]]`.
fn read_check(body: &Json) -> Option<LinkCheck> {
    match body {
        Json::Array(items) => items.iter().find_map(read_check),
        Json::Object(verdict) => Some(if verdict.get("v")?.as_bool()? {
            LinkCheck::Valid
        } else {
            LinkCheck::Invalid {
                reason: verdict
                    .get("r")
                    .and_then(Json::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            }
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::boxp::scripted::{Say, Scripted};

    fn ends() -> LinkEnds {
        LinkEnds {
            source: "2f1".into(),
            source_slot: "out".into(),
            sink: "300".into(),
            sink_slot: "in10".into(),
        }
    }

    async fn station(answer: impl Fn(&str) -> Say + Send + 'static) -> Scripted {
        Scripted::start(move |_, key, _| match key {
            "make" => Say::Body(json!("s1")),
            "makessc" => Say::Body(json!({})),
            "pollchgs" => Say::Body(json!([])),
            key => answer(key),
        })
        .await
    }

    #[tokio::test]
    async fn a_check_never_makes_the_link_and_tells_the_reason() {
        let station = station(|key| match key {
            "checkLinks" => Say::Body(json!([[{"v": false, "r": "type mismatch", "s": null}]])),
            _ => Say::Refuse("unexpected"),
        })
        .await;
        let scope = CallScope::unlimited();
        let check = station.client.check_link(&scope, &ends()).await;
        let reason = "type mismatch".to_owned();
        assert_eq!(check, Ok(LinkCheck::Invalid { reason }));
        let (_, _, body) = station.heard().pop().expect("a message");
        assert_eq!(
            body["scarg"],
            json!({"s": "2f1", "ss": "out", "t": "300", "ts": "in10", "c": false})
        );
    }

    #[tokio::test]
    async fn an_older_station_is_asked_by_the_older_name_and_may_know_neither() {
        let older = station(|key| match key {
            "checkLink" => Say::Body(json!({"v": true})),
            _ => Say::Refuse("unknown key"),
        })
        .await;
        let scope = CallScope::unlimited();
        let check = older.client.check_link(&scope, &ends()).await;
        assert_eq!(check, Ok(LinkCheck::Valid));
        assert_eq!(older.client.make_link(&scope, &ends()).await, Ok(None));

        let oldest = station(|_| Say::Refuse("unknown key")).await;
        let check = oldest.client.check_link(&scope, &ends()).await;
        let detail = "unknown key".to_owned();
        assert_eq!(check, Ok(LinkCheck::NotOffered { detail }));
        let denied = station(|_| Say::Refuse("Missing adminWrite permission")).await;
        let check = denied.client.check_link(&scope, &ends()).await;
        assert!(
            matches!(check, Err(StationError::PermissionDenied { .. })),
            "{check:?}"
        );
    }

    #[tokio::test]
    async fn the_stations_own_link_is_added_as_it_made_it() {
        let made = json!({"nm": "p", "t": "baja:Link", "d": "Indirect", "s": [
            {"nm": "p", "n": "sourceOrd", "t": "baja:Ord", "v": "h:2f1"},
            {"nm": "p", "n": "sourceSlotName", "t": "baja:String", "v": "out"},
            {"nm": "p", "n": "targetSlotName", "t": "baja:String", "v": "in10"}]});
        let station = station(move |key| match key {
            "makeLink" => Say::Body(made.clone()),
            _ => Say::Refuse("unexpected"),
        })
        .await;
        let link = station
            .client
            .make_link(&CallScope::unlimited(), &ends())
            .await
            .expect("made")
            .expect("offered");
        let read = |json: &Json| Wire::of(&Node::decode(json).expect("a node"));
        assert_eq!(read(&link), read(&ends().encode(None)));
        assert_eq!((&link["t"], link.get("d")), (&json!("baja:Link"), None));
    }

    #[test]
    fn a_link_with_a_converter_is_a_conversion_link() {
        let encoded = ends().encode(Some("converters:StatusNumericToStatusString"));
        assert_eq!(encoded["t"], "baja:ConversionLink");
        let node = Node::decode(&encoded).expect("a node");
        assert!(is_link(&node));
        assert_eq!(
            node.child("converter").map(Node::type_name),
            Some("converters:StatusNumericToStatusString")
        );
        assert_eq!(Wire::of(&node).source_ord, "h:2f1");
    }
}
