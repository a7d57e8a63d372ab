//! A station that is gone, and back.

use mock_station::server::MockStation;
use niagara_bridge::station::facade::{FacadeError, PointValue};

use crate::mock::{scope, start};
use crate::{facade, model_value, points};

#[tokio::test]
async fn after_many_failures_only_a_connection_is_tried_and_the_first_call_after_the_return_works()
{
    let frozen = start().await;
    let facade = facade(&frozen);
    let (handle, ord) = points(&frozen, 1)[0].clone();
    facade.read_point(&scope(), &ord).await.expect("readable");
    frozen
        .station
        .switches()
        .change(|switches| switches.faults.cut = true);
    let mut told = false;
    for _ in 0..6 {
        let error = facade.read_point(&scope(), &ord).await.expect_err("gone");
        told |= error.to_string().contains("in a row");
        let FacadeError::Station(error) = error else {
            panic!("{error}");
        };
        assert_eq!(error.kind(), "station-unreachable");
    }
    // The port still accepts connections, so that every call is a trial of its own.
    assert!(
        !told,
        "the breaker does not hide that the station accepts connections"
    );
    frozen
        .station
        .switches()
        .change(|switches| switches.faults.cut = false);
    let reading = facade.read_point(&scope(), &ord).await.expect("it is back");
    assert_eq!(
        reading.typed,
        Some(PointValue::Number(model_value(&frozen, handle)))
    );

    let address = frozen.station.address();
    frozen.station.shutdown().await;
    let mut texts = Vec::new();
    for _ in 0..8 {
        let error = facade.read_point(&scope(), &ord).await.expect_err("down");
        texts.push(error.to_string());
    }
    let last = texts.last().expect("a text");
    assert!(
        last.contains("in a row") && last.contains("only a connection is tried"),
        "{last}"
    );
    let again = MockStation::builder()
        .bind(address)
        .start()
        .await
        .expect("the same port");
    facade
        .read_point(&scope(), &ord)
        .await
        .expect("the first call after the return");
    assert!(again.sessions() > 0);
}
