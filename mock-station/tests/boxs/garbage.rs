//! Whatever a client sends, the servlet answers.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::direct::{Direct, sample};

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "(slot:/|h:|station:\\||alarm:|history:|//|\\.\\.|Logic|/|bql:|select|\\PC){0,6}"
            .prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec(
                ("(o|bo|c|of|lm|t|id|scid|sck|scarg|d|spi|sn|h|a)", inner),
                0..4
            )
            .prop_map(|pairs| Json::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_message_body_gets_one_reply(
        channel in "(sys|reg|ord|ssession|unit|timeZone|x)",
        key in "(props|loadTypes|loadContract|getConcreteTypes|resolve|cursor|make|makessc|callssc|pollchgs|del|list)",
        body in any_json(),
    ) {
        let message = json!({"r": 4, "t": "rt", "c": channel, "k": key, "b": body});
        let frame = json!({"p": "box", "v": 1, "n": 2, "m": [message]});
        let (status, text) = sample().post(frame.to_string().into_bytes());
        prop_assert_eq!(status, 200);
        let reply: Json = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&reply["n"], &json!(2));
        prop_assert_eq!(&reply["m"][0]["r"], &json!(4));
        prop_assert!(reply["m"][0]["t"] == "rp" || reply["m"][0]["b"]["isErr"] == true);
    }

    #[test]
    fn any_handler_argument_gets_one_reply(
        key in "(loadRoot|loadSlots|loadSlotPath|sub|unsub|getActionParameterDefault|handleToPath|serviceToPath|navChildren|x)",
        argument in any_json(),
    ) {
        let station: Direct = sample();
        let send = |key: &str, body: Json| station.message("ssession", key, body);
        let id = send("make", json!({}))["b"].clone();
        send("makessc", json!({
            "id": id, "scid": "s", "scts": "box:ComponentSpaceSessionHandler", "scarg": "station:",
        }));
        let reply = send("callssc", json!({"id": id, "scid": "s", "sck": key, "scarg": argument}));
        prop_assert!(reply["t"] == "rp" || reply["b"]["isErr"] == true);
        prop_assert_eq!(&send("pollchgs", json!({"id": id}))["t"], &json!("rp"));
    }

    #[test]
    fn any_bytes_get_an_answer(body in prop::collection::vec(any::<u8>(), 0..64)) {
        let (status, _) = sample().post(body);
        prop_assert!(status == 200 || status == 500);
    }
}
