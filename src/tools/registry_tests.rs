use futures::future::BoxFuture;

use super::*;
use crate::station::facade::StationFacade;
use crate::tools::echo::Echo;
use crate::tools::schema::{integer_between, object, string};
use crate::tools::station_access::StationDirectory;
use crate::tools::{Principal, ToolError};

/// A tool whose behaviour the test chooses.
struct Scripted {
    definition: ToolDefinition,
    behaviour: fn(Arguments) -> ToolResult,
}

impl Tool for Scripted {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { (self.behaviour)(arguments) })
    }
}

fn scripted(name: &str, category: Category, behaviour: fn(Arguments) -> ToolResult) -> Scripted {
    Scripted {
        definition: ToolDefinition::new(name, category, Annotations::READ, "Test."),
        behaviour,
    }
}

fn nothing(_: Arguments) -> ToolResult {
    Ok(ToolOutput::text(""))
}

#[test]
fn tools_list_keeps_the_published_order_then_ours_then_capabilities_by_name() {
    let registry = Registry::builder()
        .tool(scripted("zone_report", Category::Camber, nothing))
        .tool(scripted("coverage", Category::Camber, nothing))
        .tool(scripted("planWrites", Category::Read, nothing))
        .tool(scripted("listSchedules", Category::Read, nothing))
        .tool(scripted("clearSlot", Category::Write, nothing))
        .tool(scripted("readPoint", Category::Read, nothing))
        .tool(Echo)
        .build()
        .expect("registry");
    let names: Vec<&str> = registry
        .definitions()
        .map(|definition| definition.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "echo",
            "readPoint",
            "clearSlot",
            "planWrites",
            "listSchedules",
            "coverage",
            "zone_report"
        ]
    );
}

#[tokio::test]
async fn a_disabled_tool_is_neither_listed_nor_called() {
    let registry = Registry::builder()
        .tool(Echo)
        .offer(Offer::new("nothing, ECHO ", ToolSets::all()))
        .build()
        .expect("registry");
    assert_eq!(registry.list(&ToolSets::all()), json!({"tools": []}));
    let refusal = registry
        .call("echo", json!({"msg": "x"}), CallContext::service())
        .await
        .expect_err("refused");
    assert_eq!(refusal.to_json()["code"], -32002);
    assert_eq!(refusal.data["toolName"], "echo");
}

#[test]
fn a_name_that_no_tool_has_is_told_with_the_nearest_tool() {
    let registry = Registry::builder().tool(Echo).build().expect("registry");
    let unknown = registry.unknown_in(&Offer::new("Ecoh, echo", ToolSets::all()));
    let told: Vec<String> = unknown.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["there is no tool 'ecoh'; did you mean 'echo'?"]);
}

#[tokio::test]
async fn a_tool_outside_the_chosen_sets_does_not_exist() {
    let registry = Registry::builder().tool(Echo).build().expect("registry");
    let mut context = CallContext::service();
    context.toolsets = ToolSets::only([Category::Read]);
    assert_eq!(registry.list(&context.toolsets), json!({"tools": []}));
    let refusal = registry
        .call("echo", json!({"msg": "x"}), context)
        .await
        .expect_err("refused");
    assert_eq!(refusal.code, ErrorCode::ToolNotFound);
}

#[tokio::test]
async fn the_service_identity_is_refused_where_a_user_is_needed() {
    let mut tool = scripted("setSlot", Category::Write, nothing);
    tool.definition = tool.definition.for_users();
    let registry = Registry::builder().tool(tool).build().expect("registry");
    let refusal = registry
        .call("setSlot", json!({}), CallContext::service())
        .await
        .expect_err("refused");
    assert_eq!(
        refusal.to_json()["data"],
        json!({"tool": "setSlot", "requiresUserContext": true})
    );
    let mut context = CallContext::service();
    context.principal = Principal::User {
        name: "operator".into(),
    };
    assert_eq!(
        registry
            .call("setSlot", json!({}), context)
            .await
            .expect("allowed")["isError"],
        false
    );
}

#[tokio::test]
async fn arguments_are_clamped_or_refused_as_the_tool_says() {
    let show = |arguments: Arguments| {
        Ok(ToolOutput::text(
            arguments.integer("limit", 100).to_string(),
        ))
    };
    let schema = || {
        object()
            .required("ord", string("Ord."))
            .optional("limit", integer_between("Limit.", 1, 1000, 100))
    };
    let mut clamping = scripted("clamping", Category::Read, show);
    clamping.definition = clamping.definition.input(schema());
    let mut refusing = scripted("refusing", Category::Read, show);
    refusing.definition = refusing
        .definition
        .input(schema())
        .refusing_out_of_range(&["limit"]);
    let registry = Registry::builder()
        .tool(clamping)
        .tool(refusing)
        .build()
        .expect("registry");

    let arguments = json!({"ord": "slot:/", "limit": 5000, "unknown": 1});
    let answer = registry
        .call("clamping", arguments.clone(), CallContext::service())
        .await
        .expect("call");
    assert_eq!(answer["content"][0]["text"], "1000");
    let refusal = registry
        .call("refusing", arguments, CallContext::service())
        .await
        .expect_err("refused");
    assert_eq!(refusal.data["problem"], "range");
    let missing = registry
        .call("clamping", Value::Null, CallContext::service())
        .await
        .expect_err("refused");
    assert_eq!(missing.data["missing"], "ord");
    assert_eq!(missing.data["problem"], "missing");
    assert_eq!(
        missing.message,
        "Invalid arguments for 'clamping': required property 'ord' is missing."
    );
}

#[tokio::test]
async fn a_failing_tool_answers_with_its_code_and_data() {
    let registry = Registry::builder()
        .tool(scripted("probe", Category::Read, |_| {
            Err(ToolError::ord_not_resolvable("slot:/X", "gone"))
        }))
        .build()
        .expect("registry");
    let answer = registry
        .call("probe", json!({}), CallContext::service())
        .await
        .expect("call");
    assert_eq!(answer["isError"], true);
    assert_eq!(answer["errorCode"], -32006);
    assert_eq!(answer["errorData"], json!({"ord": "slot:/X"}));
    assert!(answer.get("structuredContent").is_none());
}

#[tokio::test]
async fn a_panic_in_a_tool_is_an_error_of_that_call_only() {
    let mut writing = scripted("writes", Category::Write, |_| panic!("fault"));
    writing.definition.annotations = Annotations::MUTATION;
    let registry = Registry::builder()
        .tool(scripted("reads", Category::Read, |_| panic!("fault")))
        .tool(writing)
        .tool(Echo)
        .build()
        .expect("registry");
    for name in ["reads", "writes"] {
        let answer = registry
            .call(name, json!({}), CallContext::service())
            .await
            .expect("call");
        assert_eq!(answer["errorCode"], -32603, "{name}");
        assert_eq!(answer["errorData"]["kind"], "fault");
    }
    assert!(
        registry
            .call("echo", json!({"msg": "on"}), CallContext::service())
            .await
            .is_ok()
    );
}

struct Endless;

impl Tool for Endless {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("endless", Category::Read, Annotations::READ, "Never ends.")
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(std::future::pending())
    }
}

/// A station that nobody can ask.
struct Elsewhere;

impl StationDirectory for Elsewhere {
    fn for_caller(&self, _principal: &Principal) -> Result<Arc<StationFacade>, ToolError> {
        Err(ToolError::internal("Nobody can ask this station."))
    }

    fn station_of(&self, _principal: &Principal) -> Option<String> {
        Some("https://st1".to_owned())
    }
}

#[tokio::test]
async fn failures_of_the_station_name_it_and_others_do_not() {
    let failing = |kind: &'static str| {
        scripted(
            kind,
            Category::Read,
            match kind {
                "timeout" => |_| Err(ToolError::station("station-timeout", "Late.")),
                "busy" => |_| Err(ToolError::station("bridge-busy", "Late.")),
                "named" => |_| {
                    Err(ToolError::station("station-auth", "No.").with("station", "https://other"))
                },
                "cancelled" => |_| Err(ToolError::station("cancelled", "Cancelled.")),
                _ => |_| Err(ToolError::invalid_params("Wrong.")),
            },
        )
    };
    let kinds = ["timeout", "busy", "named", "cancelled", "invalid"];
    let registry = Registry::builder()
        .tools(kinds.map(|kind| Arc::new(failing(kind)) as Arc<dyn Tool>))
        .acting_by(Arc::new(Elsewhere))
        .build()
        .expect("registry");
    let mut named = Vec::new();
    for kind in kinds {
        let answer = registry.call(kind, json!({}), CallContext::service()).await;
        let answer = answer.expect("call");
        named.push(answer["errorData"]["station"].clone());
    }
    let (own, other) = (json!("https://st1"), json!("https://other"));
    assert_eq!(named, [own.clone(), own, other, Value::Null, Value::Null]);
}

#[tokio::test(start_paused = true)]
async fn an_endless_call_ends_at_its_limit() {
    let registry = Registry::builder()
        .tool(Endless)
        .acting_by(Arc::new(Elsewhere))
        .build()
        .expect("registry");
    let began = tokio::time::Instant::now();
    let answer = registry
        .call("endless", json!({}), CallContext::service())
        .await
        .expect("call");
    assert_eq!(
        answer["errorData"],
        json!({"kind": "station-timeout", "station": "https://st1"})
    );
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "clients give up at 10 s"
    );
}

#[tokio::test]
async fn a_cancelled_reading_call_ends_at_once() {
    let registry = Registry::builder().tool(Endless).build().expect("registry");
    let context = CallContext::service();
    context.cancel.cancel();
    let answer = registry
        .call("endless", json!({}), context)
        .await
        .expect("call");
    assert_eq!(answer["errorData"]["kind"], "cancelled");
}

#[test]
fn mistakes_in_the_registry_are_found_when_it_is_built() {
    let twice = Registry::builder().tool(Echo).tool(Echo).build();
    assert_eq!(twice.err(), Some(RegistryError::Duplicate("echo".into())));
    let mut broken = scripted("broken", Category::Read, nothing);
    broken.definition = broken
        .definition
        .output(json!({"type": "object", "oneOf": []}));
    assert!(matches!(
        Registry::builder().tool(broken).build(),
        Err(RegistryError::Schema {
            which: "output",
            ..
        })
    ));
}

#[test]
fn arrays_are_never_promoted_to_structured_content() {
    assert_eq!(ToolOutput::text("[1]").structured(), None);
    assert_eq!(ToolOutput::text(" {}").structured(), None);
    assert_eq!(ToolOutput::text("{\"a\":1} x").structured(), None);
    assert_eq!(
        ToolOutput::text("{\"a\":1}").structured(),
        Some(&json!({"a": 1}))
    );
}
