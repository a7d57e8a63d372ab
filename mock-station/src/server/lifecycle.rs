//! Restarts: what begins anew with the station's process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The station's process as the network sees it.
#[derive(Debug)]
pub struct Lifecycle {
    run: Mutex<Run>,
}

#[derive(Debug)]
struct Run {
    /// Cancelled when the process ends: its connections break.
    connections: CancellationToken,
    down_until: Option<Instant>,
    vm: Uuid,
    fox_connections: u32,
    restarts: u32,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            run: Mutex::new(Run {
                connections: CancellationToken::new(),
                down_until: None,
                vm: Uuid::new_v4(),
                fox_connections: 0,
                restarts: 0,
            }),
        }
    }
}

impl Lifecycle {
    /// Cancelled when the process that accepted a connection ends.
    pub(crate) fn connections(&self) -> CancellationToken {
        self.lock().connections.clone()
    }

    /// Whether connections are closed as soon as they are accepted, because the station is still starting.
    pub(crate) fn is_down(&self) -> bool {
        self.lock()
            .down_until
            .is_some_and(|until| Instant::now() < until)
    }

    /// The identifier of the station's virtual machine instance: a new one with each start (Fox specification §4.3).
    pub(crate) fn vm(&self) -> Uuid {
        self.lock().vm
    }

    /// Counts Fox connections since the start.
    pub(crate) fn next_fox_connection(&self) -> u32 {
        let mut run = self.lock();
        run.fox_connections = run.fox_connections.wrapping_add(1);
        run.fox_connections
    }

    /// Restarts so far.
    pub fn restarts(&self) -> u32 {
        self.lock().restarts
    }

    /// Refuses new connections for a while.
    pub(crate) fn go_down(&self, down: Duration) {
        self.lock().down_until = Instant::now().checked_add(down);
    }

    /// Breaks all connections and begins a new process.
    pub(crate) fn begin_anew(&self) {
        let mut run = self.lock();
        run.connections.cancel();
        run.connections = CancellationToken::new();
        run.vm = Uuid::new_v4();
        run.fox_connections = 0;
        run.restarts = run.restarts.wrapping_add(1);
    }

    fn lock(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
