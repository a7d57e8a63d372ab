//! Adding and removing slots: one operation per message (Station web specification §4.6).

use serde_json::{Value as Json, json};

use super::client::BoxClient;
use super::encode::simple;
use super::write::BoxWriteError;
use crate::station::http::CallScope;

impl BoxClient {
    /// Adds a dynamic slot: `syncTo` with the one operation `a`. `value` is a node as the encoder writes it.
    ///
    /// The answer is the name that the station gave the slot, which differs from the wanted one where that was taken;
    /// none when the station does not tell.
    pub async fn add_slot(
        &self,
        scope: &CallScope,
        parent: &str,
        name: &str,
        value: Json,
    ) -> Result<Option<String>, BoxWriteError> {
        let operation = json!({"nm": "a", "h": parent, "n": name, "b": value});
        let answer = self
            .synchronise(scope, &format!("h:{parent}/{name}"), operation)
            .await?;
        Ok(given_name(&answer))
    }

    /// Removes a dynamic slot with everything below it: `syncTo` with the one operation `v`.
    pub async fn remove_slot(
        &self,
        scope: &CallScope,
        parent: &str,
        name: &str,
    ) -> Result<(), BoxWriteError> {
        let operation = json!({"nm": "v", "h": parent, "n": name});
        self.synchronise(scope, &format!("h:{parent}/{name}"), operation)
            .await
            .map(drop)
    }
}

/// A new value: a simple one by its text, anything else as its type makes it.
pub fn fresh_value(type_spec: &str, text: Option<&str>) -> Json {
    match text {
        Some(text) => simple(type_spec, text),
        None => json!({"nm": "p", "t": type_spec}),
    }
}

/// The name in the answer to an addition, `[{"id":"a","nn":"Dup1"}]`.
fn given_name(answer: &Json) -> Option<String> {
    answer
        .as_array()?
        .iter()
        .find_map(|item| item.get("nn")?.as_str())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::boxp::scripted::{Say, Scripted};

    async fn station(answer: Json) -> Scripted {
        Scripted::start(move |_, key, _| match key {
            "make" => Say::Body(json!("s1")),
            "makessc" => Say::Body(json!({})),
            "pollchgs" => Say::Body(json!([])),
            "syncTo" => Say::Body(answer.clone()),
            _ => Say::Refuse("unexpected"),
        })
        .await
    }

    #[tokio::test]
    async fn the_name_that_the_station_gave_is_told() {
        for (answer, name) in [
            (json!([{"id": "a", "nn": "Dup1"}]), Some("Dup1")),
            (json!([{"id": "a"}]), None),
            (json!([]), None),
            (Json::Null, None),
        ] {
            let station = station(answer).await;
            let value = json!({"nm": "p", "t": "baja:Folder"});
            let given = station
                .client
                .add_slot(&CallScope::unlimited(), "2f1", "Dup", value)
                .await
                .expect("added");
            assert_eq!(given.as_deref(), name);
            let (_, _, body) = station.heard().pop().expect("a message");
            assert_eq!(
                body["scarg"],
                json!({"nm": "sync", "ver": 1.0, "ops": [
                    {"nm": "a", "h": "2f1", "n": "Dup", "b": {"nm": "p", "t": "baja:Folder"}}]})
            );
        }
    }

    #[tokio::test]
    async fn a_slot_is_removed_from_its_parent_by_name() {
        let station = station(json!([])).await;
        station
            .client
            .remove_slot(&CallScope::unlimited(), "2f1", "Old")
            .await
            .expect("removed");
        let (_, _, body) = station.heard().pop().expect("a message");
        assert_eq!(
            body["scarg"]["ops"],
            json!([{"nm": "v", "h": "2f1", "n": "Old"}])
        );
        assert_eq!(station.count("syncTo"), 1);
    }
}
