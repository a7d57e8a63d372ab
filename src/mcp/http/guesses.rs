//! Wrong bearers by address: the answer to each further one takes longer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So many wrong bearers are answered at once: a mistyped configuration.
const FREE: u32 = 3;
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(5);
/// After so long without a wrong bearer an address begins anew.
const MEMORY: Duration = Duration::from_secs(600);
/// Addresses remembered; beyond that the oldest are forgotten early.
const ADDRESSES: usize = 10_000;

/// Addresses that sent bearers that nobody has.
#[derive(Default)]
pub struct Guesses(Mutex<HashMap<IpAddr, (u32, Instant)>>);

impl Guesses {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, (u32, Instant)>> {
        // Insert and remove leave the map consistent, so a panic elsewhere cannot have broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a wrong bearer; gives the count and how long its answer has to wait.
    pub fn wrong(&self, address: IpAddr) -> (u32, Duration) {
        self.forget_idle();
        let mut guesses = self.lock();
        if guesses.len() >= ADDRESSES && !guesses.contains_key(&address) {
            let oldest = guesses.iter().min_by_key(|(_, (_, last))| *last);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                guesses.remove(&oldest);
            }
        }
        let (count, last) = guesses.entry(address).or_insert((0, Instant::now()));
        *count = count.saturating_add(1);
        *last = Instant::now();
        (*count, delay(*count))
    }

    /// Forgets addresses that have been quiet.
    pub fn forget_idle(&self) {
        self.lock().retain(|_, (_, last)| last.elapsed() < MEMORY);
    }
}

fn delay(count: u32) -> Duration {
    match count.saturating_sub(FREE) {
        0 => Duration::ZERO,
        late => FIRST_DELAY
            .saturating_mul(1 << (late - 1).min(10))
            .min(LONGEST_DELAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_further_wrong_bearer_waits_longer_until_the_address_was_quiet() {
        let guesses = Guesses::default();
        let (one, other) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let delays: Vec<u128> = (0..12).map(|_| guesses.wrong(one).1.as_millis()).collect();
        assert_eq!(
            delays,
            [0, 0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]
        );
        assert_eq!(guesses.wrong(other), (1, Duration::ZERO));
        tokio::time::advance(MEMORY).await;
        assert_eq!(guesses.wrong(one), (1, Duration::ZERO));
    }
}
