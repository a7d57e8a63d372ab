//! What clients of the Fox ports sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::watch;

use super::FoxScenario;

/// Octets kept of one connection.
const KEPT: usize = 64 * 1024;

/// Connections kept; the oldest go first.
const CAPACITY: usize = 10_000;

/// One connection to a Fox port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoxConnection {
    pub time: DateTime<Utc>,
    /// Whether it came to the TLS port.
    pub secure: bool,
    pub scenario: FoxScenario,
    /// The first 64 KiB that the client sent, decrypted where TLS was spoken.
    pub received: Vec<u8>,
    /// Count of all octets that the client sent.
    pub received_total: usize,
    /// Whether the client's hello was complete and well formed.
    pub greeted: bool,
    /// Why the TLS handshake failed, if it did.
    pub handshake_error: Option<String>,
    pub open: bool,
}

/// The connections of a service.
#[derive(Clone, Debug)]
pub(super) struct Records {
    list: Arc<Mutex<Vec<Arc<Mutex<FoxConnection>>>>>,
    changed: Arc<watch::Sender<()>>,
}

impl Default for Records {
    fn default() -> Self {
        Self {
            list: Arc::default(),
            changed: Arc::new(watch::Sender::new(())),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Records {
    pub(super) fn open(
        &self,
        time: DateTime<Utc>,
        secure: bool,
        scenario: FoxScenario,
    ) -> OpenRecord {
        let record = Arc::new(Mutex::new(FoxConnection {
            time,
            secure,
            scenario,
            received: Vec::new(),
            received_total: 0,
            greeted: false,
            handshake_error: None,
            open: true,
        }));
        let mut list = lock(&self.list);
        if list.len() == CAPACITY {
            list.remove(0);
        }
        list.push(record.clone());
        OpenRecord {
            record,
            changed: self.changed.clone(),
        }
    }

    pub(super) fn all(&self) -> Vec<FoxConnection> {
        lock(&self.list)
            .iter()
            .map(|record| lock(record).clone())
            .collect()
    }

    pub(super) fn clear(&self) {
        lock(&self.list).clear();
    }

    pub(super) async fn closed(&self, count: usize) -> Vec<FoxConnection> {
        let mut changes = self.changed.subscribe();
        loop {
            let all = self.all();
            if all.len() >= count && all.iter().all(|connection| !connection.open) {
                return all;
            }
            if changes.changed().await.is_err() {
                return all;
            }
        }
    }
}

/// The record of a connection that is still open; dropping it closes the record.
#[derive(Debug)]
pub(super) struct OpenRecord {
    record: Arc<Mutex<FoxConnection>>,
    changed: Arc<watch::Sender<()>>,
}

impl OpenRecord {
    pub(super) fn received(&self, octets: &[u8]) {
        let mut record = lock(&self.record);
        record.received_total = record.received_total.saturating_add(octets.len());
        let room = KEPT.saturating_sub(record.received.len()).min(octets.len());
        record.received.extend(octets.iter().take(room));
    }

    pub(super) fn greeted(&self) {
        lock(&self.record).greeted = true;
    }

    pub(super) fn handshake_failed(&self, reason: String) {
        lock(&self.record).handshake_error = Some(reason);
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        lock(&self.record).open = false;
        self.changed.send_replace(());
    }
}
