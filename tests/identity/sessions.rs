//! One station session per user: never mixed, latched alone, closed when idle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use mock_station::model::accounts::{OPERATOR, VIEWER};
use mock_station::server::LoginOutcome;
use niagara_bridge::config::Secret;
use niagara_bridge::tools::station_access::StationDirectory;
use niagara_bridge::tools::{
    Annotations, Arguments, CallContext, Category, Principal, Registry, Tool, ToolDefinition,
    ToolOutput, ToolResult,
};
use serde_json::json;

use crate::desk::{Desk, marked_query, text, token_of};

fn principal(name: &str) -> Principal {
    Principal::User { name: name.into() }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_users_at_once_never_share_a_session() {
    let desk = Desk::new().await;
    let crew = desk.crew(20);
    let served = desk.serve().await;
    let calls = crew.iter().map(|member| {
        let (served, user) = (&served, member.user.clone());
        async move {
            let client = served.session(&token_of(&user)).await;
            let rounds = (0..4).map(|_| client.call("bqlQuery", marked_query(&user)));
            for answer in join_all(rounds).await {
                assert_eq!(answer["isError"], false, "{user}: {}", text(&answer));
            }
        }
    });
    join_all(calls).await;
    let mut sessions: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    let mut marked = 0;
    for request in desk.station.requests() {
        let Some(user) = request.user else { continue };
        if let Some(session) = request.session {
            sessions.entry(session).or_default().insert(user.clone());
        }
        if let Some(member) = crew
            .iter()
            .find(|member| request.target.contains(&member.user))
        {
            assert_eq!(user, member.user, "{}", request.target);
            marked += 1;
        }
    }
    assert!(marked >= 80, "{marked} of the calls were seen");
    assert!(
        sessions.values().all(|users| users.len() == 1),
        "{sessions:?}"
    );
    let by_user = desk.station.sessions_by_user();
    for member in &crew {
        assert_eq!(by_user.get(&member.user), Some(&1), "{by_user:?}");
    }
    served.stop().await;
    assert_eq!(desk.station.sessions(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_password_is_tried_once_then_latched_while_others_go_on() {
    let desk = Desk::new().await;
    let operator = desk.bind("operator", OPERATOR.password).await;
    let viewer = desk.bind("viewer", VIEWER.password).await;
    let served = desk.serve().await;
    let (operator, viewer) = (
        served.session(&operator).await,
        served.session(&viewer).await,
    );
    desk.station
        .change_password("operator", "Another-1")
        .expect("changed");
    desk.station.clear_logs();
    let first = operator.call("bqlQuery", marked_query("x")).await;
    assert_eq!(first["errorData"]["kind"], "station-auth", "{first}");
    let second = operator.call("bqlQuery", marked_query("x")).await;
    assert!(
        second["errorData"]["retryAfterSeconds"].as_u64() > Some(0),
        "{second}"
    );
    for answer in [&first, &second] {
        let said = answer.to_string();
        assert!(said.contains("operator"), "{said}");
        assert!(!said.contains(OPERATOR.password), "{said}");
    }
    let answer = viewer.call("bqlQuery", marked_query("x")).await;
    assert_eq!(answer["isError"], false, "{}", text(&answer));
    let failed = desk
        .station
        .logins()
        .into_iter()
        .filter(|login| login.user == "operator");
    let outcomes: Vec<LoginOutcome> = failed.map(|login| login.outcome).collect();
    assert_eq!(outcomes, [LoginOutcome::BadProof], "one attempt");

    // Bound again with the new password, the user works at once: the latch went with the old session.
    desk.vault()
        .keep("operator", &Secret::new("Another-1"))
        .expect("kept");
    let answer = operator.call("bqlQuery", marked_query("x")).await;
    assert_eq!(answer["isError"], false, "{}", text(&answer));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_sessions_are_logged_out_and_the_oldest_makes_room() {
    let desk = Desk::new().await;
    let crew = desk.crew(3);
    let served = desk
        .serve_with(|config| {
            config.user_sessions = 2;
            config.user_idle = Duration::from_secs(3600);
        })
        .await;
    for member in &crew {
        let client = served.session(&token_of(&member.user)).await;
        client.call("bqlQuery", marked_query("x")).await;
    }
    assert_eq!(served.end.users().open_users(), ["crew02", "crew03"]);
    let users = served.end.users();
    let held: Vec<_> = ["crew02", "crew03"]
        .map(|name| users.for_caller(&principal(name)).expect("open"))
        .into();
    let error = users
        .for_caller(&principal("crew01"))
        .expect_err("both are at work");
    assert_eq!(error.data["kind"], "station-busy");
    assert!(error.message.contains("identity.maxSessions"), "{error}");
    drop(held);
    users.tidy().await;
    assert_eq!(
        users.open_users(),
        ["crew02", "crew03"],
        "they are not idle yet"
    );
    served.stop().await;

    let served = desk
        .serve_with(|config| config.user_idle = Duration::ZERO)
        .await;
    let client = served.session(&token_of("crew01")).await;
    client.call("bqlQuery", marked_query("x")).await;
    served.end.users().tidy().await;
    assert!(served.end.users().open_users().is_empty());
    assert_eq!(
        desk.station.sessions_by_user().get("crew01"),
        None,
        "logged out"
    );
    served.stop().await;
}

/// A tool that changes the station and tells by whose session.
struct Change(Arc<dyn StationDirectory>);

impl Tool for Change {
    fn definition(&self) -> ToolDefinition {
        let changing = Annotations::MUTATION;
        ToolDefinition::new("change", Category::Write, changing, "Changes the station.")
    }

    fn run<'a>(&'a self, context: &'a CallContext, _: Arguments) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let station = self.0.for_caller(&context.principal)?;
            Ok(ToolOutput::text(station.web().user()))
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_a_password_in_the_vault_changes_nothing() {
    let desk = Desk::new().await;
    desk.crew(1);
    let served = desk.serve().await;
    let users = served.end.users().clone();
    let tools = Registry::builder()
        .tool(Change(users.clone()))
        .acting_by(users.clone())
        .build()
        .expect("registry");
    let call = |principal: Principal| {
        let context = CallContext::new(principal, CallContext::service().server);
        tools.call("change", json!({}), context)
    };
    let answer = call(principal("crew01")).await.expect("allowed");
    assert_eq!(text(&answer), "crew01");
    let answer = call(Principal::Service).await.expect("allowed");
    assert_eq!(text(&answer), "bridge");
    let refusal = call(principal("guest")).await.expect_err("refused");
    assert_eq!(refusal.code.code(), -32011);
    assert_eq!(refusal.data["tool"], "change");
    assert_eq!(refusal.data["requiresUserContext"], true);
    let reason = refusal.data["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("no station password of 'guest'"),
        "{reason}"
    );
    served.stop().await;
}
