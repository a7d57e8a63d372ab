//! People take their time to confirm: what changed meanwhile is seen before the first message.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use mock_station::model::accounts::ADMIN;
use mock_station::model::{AckState, Value as ModelValue};
use niagara_bridge::audit::AuditOptions;
use niagara_bridge::tools::{Asking, Client, ClientPort, LogLevel, Question};
use serde_json::{Value, json};

use crate::alarms::{SOURCE, add_alarms, uuid};
use crate::office::{Office, context, failure_of};
use crate::schedules::{OCCUPANCY, add_schedules};
use crate::site::SIMPLES;

/// Says yes, after something happened on the station.
struct Decider<F> {
    capabilities: Value,
    meanwhile: F,
}

impl<F: Fn() + Send + Sync> ClientPort for Decider<F> {
    fn log(&self, _: LogLevel, _: Value) {}

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn asking(&self) -> &Asking {
        &Asking::Now
    }

    fn ask(&self, _: Question) -> BoxFuture<'_, Result<Value, String>> {
        (self.meanwhile)();
        std::future::ready(Ok(
            json!({"action": "accept", "content": {"confirm": true}}),
        ))
        .boxed()
    }
}

async fn office() -> Arc<Office> {
    let rules = json!({"confirm": ["slot:/Logic/**"]});
    let office = Office::with(rules, AuditOptions::default()).await;
    add_schedules(&office.site);
    add_alarms(&office.site);
    Arc::new(office)
}

/// A call that is confirmed after `meanwhile`.
async fn confirmed_after(
    office: &Arc<Office>,
    tool: &str,
    arguments: Value,
    meanwhile: impl Fn(&Office) + Send + Sync + 'static,
) -> Value {
    let mut caller = context(Some(ADMIN.user));
    let inner = office.clone();
    caller.client = Client::at(Arc::new(Decider {
        capabilities: json!({"elicitation": {}}),
        meanwhile: move || meanwhile(&inner),
    }));
    let answer = office.call(caller, tool, arguments).await;
    answer.expect("answered")
}

fn short_monday() -> Value {
    json!({"ord": OCCUPANCY, "week": [{"day": "monday", "periods": [
        {"start": "06:30", "finish": "12:00", "value": true}]}]})
}

#[tokio::test]
async fn a_program_that_was_changed_meanwhile_is_not_mixed_with_ours() {
    let office = office().await;
    let answer = confirmed_after(&office, "writeSchedule", short_monday(), |office| {
        let mut station = office.site.frozen.station.station().write();
        let monday = format!("{OCCUPANCY}/schedule/week/monday/day");
        let day = station.resolve_component(&monday).expect("a day");
        let period = station.children(day).next().expect("a period").handle();
        let time = ModelValue::decode_as("baja:Time", "05:00:00.000").expect("a time");
        station.set(period, "start", time).expect("set");
    })
    .await;
    let (code, data) = failure_of(&answer);
    assert_eq!(
        (code, &data["kind"]),
        (-32602, &json!("schedule-changed")),
        "{data}"
    );
    assert_eq!(
        data["changed"][0]["after"][0]["start"],
        json!("05:00:00"),
        "{data}"
    );
    assert_eq!(office.site.writes(), []);
    assert_eq!(office.last_line(1, 1)["outcome"], json!("failed"));
    let done = confirmed_after(&office, "writeSchedule", short_monday(), |_| {}).await;
    assert_eq!(done["structuredContent"]["verified"], json!(true), "{done}");
}

#[tokio::test]
async fn a_plan_whose_values_changed_meanwhile_is_not_sent_and_still_counts() {
    let office = office().await;
    let slot = |name: &str| json!({"tool": "setSlot", "arguments": {"ord": SIMPLES, "slotName": name, "value": 7}});
    let operations = json!({"operations": [slot("long"), slot("integer")]});
    let shown = office.answer(ADMIN, "planWrites", operations).await;
    let mut apply = json!({"planId": shown["planId"]});
    let answer = confirmed_after(&office, "applyWrites", apply.clone(), |office| {
        let folder = office.site.handle(SIMPLES);
        let mut station = office.site.frozen.station.station().write();
        let nine = ModelValue::decode_as("baja:Integer", "9").expect("a number");
        station.set(folder, "integer", nine).expect("set");
    })
    .await;
    let (code, data) = failure_of(&answer);
    assert_eq!(
        (code, &data["kind"]),
        (-32602, &json!("plan-outdated")),
        "{data}"
    );
    assert_eq!(data["changed"][0]["now"], json!(9));
    assert_eq!(office.site.writes(), []);
    let line = office.last_line(0, 2);
    assert_eq!(line["outcome"], json!("refused"), "both are recorded");

    let again = office.failure(ADMIN, "applyWrites", apply.clone()).await;
    assert_eq!(again.1["kind"], json!("plan-outdated"));
    assert_eq!(
        office.last_line(0, 3)["tool"],
        json!("setSlot"),
        "the one that stands in the way is recorded"
    );
    apply["ignoreChanges"] = json!(true);
    let done = confirmed_after(&office, "applyWrites", apply, |_| {}).await;
    assert_eq!(done["structuredContent"]["applied"], json!(2), "{done}");
    assert_eq!(office.site.held(SIMPLES, "integer"), "7");
}

#[tokio::test]
async fn an_alarm_that_somebody_acknowledged_meanwhile_is_told_and_not_acknowledged_again() {
    let office = office().await;
    let one = json!({"uuid": uuid(0)});
    let answer = confirmed_after(&office, "ackAlarm", one, |office| {
        let mut station = office.site.frozen.station.station().write();
        let mut alarm = station.alarms.get(&uuid(0)).expect("an alarm").clone();
        alarm.ack_state = AckState::Acked;
        alarm.user = "operator".to_owned();
        station.insert_alarm(alarm);
    })
    .await;
    assert_eq!(answer["isError"], json!(false), "{answer}");
    let told = &answer["structuredContent"];
    assert_eq!(
        (&told["acknowledged"], &told["alreadyAcknowledged"]),
        (&json!(0), &json!(1)),
        "{SOURCE}: {told}"
    );
    assert_eq!(told["alarms"][0]["before"]["user"], json!("operator"));
}
