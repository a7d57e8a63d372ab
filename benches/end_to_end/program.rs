//! The release program: start-up, idle memory, size.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::{Figures, Table};
use crate::served::settings;

const STARTS: usize = 10;
/// When memory is looked at.
const IDLE: Duration = Duration::from_secs(60);

struct Program {
    child: Child,
    /// When it first took a connection.
    listening: Instant,
    _data: tempfile::TempDir,
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub async fn measure(station: String, table: &mut Table) {
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let mut from_start = Vec::new();
    let mut from_listener = Vec::new();
    for _ in 0..STARTS {
        let began = Instant::now();
        let program = start(&station, &http).await;
        from_start.push(began.elapsed());
        from_listener.push(program.listening.elapsed());
    }
    table.latency(
        "start of `serve` to the first healthy answer",
        &Figures::of(from_start),
    );
    table.latency(
        "its listener to the first healthy answer",
        &Figures::of(from_listener),
    );
    let program = start(&station, &http).await;
    tokio::time::sleep(IDLE).await;
    let memory = resident(program.child.id())
        .map_or("not told by this system".to_owned(), |bytes| {
            mebibytes(bytes)
        });
    table.row("resident memory 60 s after the start", memory);
    let size = std::fs::metadata(env!("CARGO_BIN_EXE_niagara-bridge"))
        .expect("the program")
        .len();
    table.row("size of the program", mebibytes(size));
}

/// Starts the program and waits until it says that all is well.
async fn start(station: &str, http: &reqwest::Client) -> Program {
    let data = tempfile::tempdir().expect("a folder");
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let file = data.path().join("config.yaml");
    let document = settings(station, &format!("127.0.0.1:{port}"), data.path());
    std::fs::write(&file, document.to_string()).expect("a file");
    let child = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
        .arg("serve")
        .arg("--config")
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program");
    let mut program = Program {
        child,
        listening: Instant::now(),
        _data: data,
    };
    let patience = Instant::now() + Duration::from_secs(20);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < patience, "nobody listens at {port}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    program.listening = Instant::now();
    let health = format!("http://127.0.0.1:{port}/niagaramcp/health");
    loop {
        match http.get(&health).send().await {
            Ok(answer) if answer.status() == 200 => return program,
            _ if Instant::now() > patience => panic!("{health} is not healthy"),
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
