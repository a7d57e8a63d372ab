//! The alarm channel: acknowledging by id (Station web specification §4.10).

use serde_json::{Value as Json, json};

use super::client::{BoxClient, RefusalClass};
use super::frame::Request;
use super::write::BoxWriteError;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::web::WebRequest;

impl BoxClient {
    /// Acknowledges alarms in the name of the logged-in user; sent once.
    ///
    /// # Errors
    /// [`StationError::PermissionDenied`] when the station names alarm classes that refused,
    /// [`StationError::OutcomeUnknown`] when the answer was lost; a station without this channel refuses.
    pub async fn acknowledge_alarms(
        &self,
        scope: &CallScope,
        uuids: &[&str],
    ) -> Result<(), BoxWriteError> {
        let request = Request::new("alarm", "ackAlarms", json!({"ids": uuids}));
        let reply = self.call_as(&WebRequest::write(scope), request).await?;
        let target = format!("the alarm {}", uuids.join(", "));
        let answer = reply.map_err(|refusal| match refusal.class() {
            RefusalClass::Other => BoxWriteError::Refused {
                detail: refusal.text,
            },
            _ => self.interface_refused("BOX alarms", refusal).into(),
        })?;
        let classes = refusing_classes(&answer);
        if classes.is_empty() {
            return Ok(());
        }
        Err(StationError::PermissionDenied {
            user: self.user().to_owned(),
            target,
            detail: format!(
                "the alarm classes {} need operator write",
                classes.join(", ")
            ),
        }
        .into())
    }
}

/// The station answers with the alarm classes on which the user may not acknowledge.
fn refusing_classes(answer: &Json) -> Vec<String> {
    let Json::Array(classes) = answer else {
        return Vec::new();
    };
    classes
        .iter()
        .filter_map(Json::as_str)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{Say, Scripted};
    use super::*;

    async fn acknowledged(say: fn() -> Say) -> (Result<(), BoxWriteError>, Vec<Json>) {
        let station = Scripted::start(move |channel, key, _| {
            assert_eq!((channel, key), ("alarm", "ackAlarms"));
            say()
        })
        .await;
        let outcome = station
            .client
            .acknowledge_alarms(&CallScope::unlimited(), &["5f2e", "77"])
            .await;
        let bodies = station.heard().into_iter().map(|(_, _, body)| body);
        (outcome, bodies.collect())
    }

    #[tokio::test]
    async fn ids_are_sent_once_and_refusing_classes_are_a_want_of_permission() {
        let (outcome, sent) = acknowledged(|| Say::Body(Json::Null)).await;
        assert_eq!(outcome, Ok(()));
        assert_eq!(sent, [json!({"ids": ["5f2e", "77"]})]);
        let (outcome, _) = acknowledged(|| Say::Body(json!(["urgent"]))).await;
        let Err(BoxWriteError::Station(StationError::PermissionDenied { user, detail, .. })) =
            outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!(user, "bridge");
        assert!(detail.contains("urgent"), "{detail}");
    }

    #[tokio::test]
    async fn a_station_without_the_channel_refuses_and_a_lost_answer_is_not_repeated() {
        let (outcome, _) = acknowledged(|| Say::Refuse("no such channel")).await;
        let refused = BoxWriteError::Refused {
            detail: "no such channel".to_owned(),
        };
        assert_eq!(outcome, Err(refused));
        let (outcome, sent) = acknowledged(|| Say::Nothing).await;
        assert!(
            matches!(
                outcome,
                Err(BoxWriteError::Station(StationError::OutcomeUnknown { .. }))
            ),
            "{outcome:?}"
        );
        assert_eq!(sent.len(), 1);
    }
}
