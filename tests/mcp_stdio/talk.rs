//! A client that speaks lines.

use niagara_bridge::config::Secret;
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::relay::{Pauses, Relay};
use niagara_bridge::mcp::stdio;
use niagara_bridge::station::http::Trust;
use niagara_bridge::tools::{Principal, ToolSets};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A test never waits for a pause.
const NO_PAUSES: Pauses = Pauses {
    first: Duration::from_millis(1),
    longest: Duration::from_millis(10),
};

/// The client's end of a relay.
pub struct Talk {
    requests: WriteHalf<DuplexStream>,
    answers: Lines<BufReader<ReadHalf<DuplexStream>>>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Talk {
    pub fn with(endpoint: &str, token: &str) -> Self {
        Self::until(endpoint, token, CancellationToken::new())
    }

    pub fn until(endpoint: &str, token: &str, stop: CancellationToken) -> Self {
        let relay = Relay::new(
            endpoint.parse().expect("url"),
            Secret::new(token),
            &Trust::System,
        )
        .expect("relay")
        .with_pauses(NO_PAUSES);
        Self::over(|input, output| relay.run(input, output, stop))
    }

    /// With the bridge itself at the other end.
    pub fn directly(bridge: Arc<Bridge>, stop: CancellationToken) -> Self {
        Self::over(|input, output| {
            let (caller, sets) = (Principal::Service, ToolSets::all());
            let served = stdio::serve(bridge, caller, sets, input, output, stop);
            async { served.await.map_err(std::io::Error::other) }
        })
    }

    fn over<F>(serve: impl FnOnce(ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) -> F) -> Self
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        let (client, server) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let task = tokio::spawn(serve(input, output));
        let (answers, requests) = tokio::io::split(client);
        Self {
            requests,
            answers: BufReader::new(answers).lines(),
            task,
        }
    }

    pub async fn say(&mut self, line: &str) {
        self.requests
            .write_all(format!("{line}\n").as_bytes())
            .await
            .expect("write");
    }

    pub async fn hear(&mut self) -> Value {
        let line = self
            .answers
            .next_line()
            .await
            .expect("read")
            .expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    pub async fn ask(&mut self, message: Value) -> Value {
        self.say(&message.to_string()).await;
        self.hear().await
    }

    /// No further line comes from the client.
    pub async fn fall_silent(&mut self) {
        self.requests.shutdown().await.expect("end of input");
    }

    /// Ends the input, and gives what is heard until the other end has ended too.
    pub async fn rest(mut self) -> Vec<Value> {
        self.fall_silent().await;
        self.task.await.expect("task").expect("a session");
        let mut rest = Vec::new();
        while let Some(line) = self.answers.next_line().await.expect("read") {
            rest.push(serde_json::from_str(&line).expect("JSON"));
        }
        rest
    }

    pub async fn end(mut self) {
        self.fall_silent().await;
        self.task.await.expect("task").expect("relay");
    }
}
