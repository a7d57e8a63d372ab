//! Texts of ten thousand characters in every argument of every tool: errors stay short, and say what they repeat once.

use niagara_bridge::tools::CallContext;
use serde_json::{Value, json};

use crate::examples;
use crate::support::Bench;

const LENGTH: usize = 10_000;
/// A whole error, data included.
const LONGEST_ERROR: usize = 2_000;
/// Its sentence.
const LONGEST_MESSAGE: usize = 900;
/// A piece of the long text that no message has by chance.
const PIECE: &str = "QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ";

fn long_texts() -> Vec<String> {
    let run = "Q".repeat(LENGTH);
    vec![
        run.clone(),
        format!("station:|slot:/{run}"),
        format!("station:|slot:/{run}/"),
        format!("station:|slot://{run}"),
        format!("h:{run}"),
        format!("history:/Station/{run}"),
        format!("control:{run}"),
        format!("2026-10-25T12:00:00{run}"),
        "9".repeat(LENGTH),
        format!("station:|slot:/Drivers|bql:select {run} from control:NumericPoint"),
        format!("station:|slot:/Drivers|bql:select name from control:{run}"),
        format!("station:|slot:/{run}|bql:select name from control:NumericPoint"),
        format!("station:|slot:/Drivers|bql:{run}"),
    ]
}

/// How often the long text shows in a sentence; a shortened one shows its two ends.
fn repeats(message: &str) -> usize {
    let whole = message.replace(" characters …] ", "");
    whole
        .split(|character: char| character != 'Q')
        .filter(|run| run.len() >= PIECE.len())
        .count()
}

fn problems(place: &str, message: &str, whole: &str, once: bool) -> Vec<String> {
    let mut problems = Vec::new();
    if whole.len() > LONGEST_ERROR {
        problems.push(format!("{place}: {} bytes of error", whole.len()));
    }
    if message.len() > LONGEST_MESSAGE {
        problems.push(format!("{place}: a long message: {message}"));
    }
    // Beginning and end of one text are two runs.
    if once && repeats(message) > 2 {
        problems.push(format!("{place}: said more than once: {message}"));
    }
    problems
}

#[tokio::test]
async fn errors_repeat_long_arguments_shortened_and_once() {
    let bench = Bench::new().await.with_capabilities();
    let mut wrong = Vec::new();
    let mut refused = 0;
    for example in examples::of(&bench.registry) {
        let definition = bench.registry.definition(&example.tool).expect("a tool");
        let properties = definition.input_schema["properties"]
            .as_object()
            .expect("properties")
            .clone();
        let texts = properties
            .iter()
            .filter(|(_, property)| property["type"] == json!("string"));
        for (name, _) in texts {
            for text in long_texts() {
                let mut arguments = example.arguments();
                arguments[name.as_str()] = json!(text);
                let place = format!("{} {name}={}…", example.tool, &text[..20]);
                let outcome = bench
                    .registry
                    .call(&example.tool, arguments, CallContext::service())
                    .await;
                let (message, whole) = match outcome {
                    Ok(answer) if answer["isError"] == json!(false) => continue,
                    Ok(answer) => (text_of(&answer), answer.to_string()),
                    Err(error) => (error.message.clone(), error.to_json().to_string()),
                };
                refused += 1;
                // A tool of the bridge itself may name a thing and what it refers to.
                let once = example.asks_the_station();
                wrong.extend(problems(&place, &message, &whole, once));
            }
        }
    }
    assert!(refused > 50, "only {refused} errors");
    wrong.iter_mut().for_each(|text| text.truncate(400));
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn text_of(answer: &Value) -> String {
    answer["content"][0]["text"]
        .as_str()
        .expect("a message")
        .to_owned()
}

#[tokio::test]
async fn the_error_of_a_query_shows_the_query_that_was_written() {
    let bench = Bench::new().await;
    for query in [
        "station:|slot:/Drivers|bql:select name from control:NoSuchPoint",
        "station:|slot:/Drivers|bql:select   name,,   from control:NumericPoint",
        "station:|slot:/Nowhere|bql:SELECT name FROM control:NumericPoint",
        "history:/No/Such|bql:select timestamp",
    ] {
        let (_, message, _) = bench
            .failure("bqlQuery", json!({"query": query, "limit": 17}))
            .await;
        assert!(message.contains(query), "{query}: {message}");
        assert!(!message.contains("top 18"), "{message}");
    }
}

#[tokio::test]
async fn leap_seconds_and_absurd_years_are_wrong_arguments_of_every_tool_with_times() {
    let bench = Bench::new().await;
    let mut asked = 0;
    for example in examples::of(&bench.registry) {
        for name in ["from", "to"] {
            if example.arguments().get(name).is_none() {
                continue;
            }
            for (time, word) in [
                ("2016-12-31T23:59:60Z", "leap second"),
                ("0001-01-01", "1900"),
                ("9999-12-31T23:59:59Z", "2999"),
                ("1790000000000000", "1900"),
            ] {
                let mut arguments = example.arguments();
                arguments[name] = json!(time);
                let (code, message, data) = bench.failure(&example.tool, arguments).await;
                assert_eq!(code, -32602, "{}: {message}", example.tool);
                assert!(message.contains(word), "{}: {message}", example.tool);
                assert_eq!(data["argument"], json!(name), "{message}");
                asked += 1;
            }
        }
    }
    assert!(asked >= 16, "{asked}");
}
