//! How often one principal may write.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::tools::Principal;

/// Told to a caller who wants more at once than a minute allows.
const A_MINUTE: Duration = Duration::from_secs(60);

/// The limiter of a rate; made anew when the configuration gives another one.
struct Limit {
    per_minute: u32,
    limiter: Arc<DefaultKeyedRateLimiter<Principal>>,
}

/// Counts the writes of each principal.
#[derive(Default)]
pub(super) struct WriteRate {
    limit: Mutex<Option<Limit>>,
    clock: DefaultClock,
}

impl WriteRate {
    /// Takes `writes` off the allowance of a principal; 0 `per_minute` = no limit.
    ///
    /// # Errors
    /// How long to wait.
    pub(super) fn take(
        &self,
        principal: &Principal,
        per_minute: u32,
        writes: usize,
    ) -> Result<(), Duration> {
        let (Some(rate), Some(writes)) = (
            NonZeroU32::new(per_minute),
            NonZeroU32::new(u32::try_from(writes).unwrap_or(u32::MAX)),
        ) else {
            return Ok(());
        };
        match self.limiter(rate).check_key_n(principal, writes) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(full)) => Err(full.wait_time_from(self.clock.now())),
            Err(_) => Err(A_MINUTE),
        }
    }

    fn limiter(&self, rate: NonZeroU32) -> Arc<DefaultKeyedRateLimiter<Principal>> {
        let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        match limit.as_ref() {
            Some(known) if known.per_minute == rate.get() => known.limiter.clone(),
            _ => {
                let limiter = Arc::new(RateLimiter::keyed(Quota::per_minute(rate)));
                *limit = Some(Limit {
                    per_minute: rate.get(),
                    limiter: limiter.clone(),
                });
                limiter
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_an_allowance_of_their_own_and_a_new_rate_counts_at_once() {
        let rate = WriteRate::default();
        let olga = Principal::User {
            name: "olga".into(),
        };
        assert_eq!(rate.take(&olga, 2, 2), Ok(()));
        let wait = rate.take(&olga, 2, 1).expect_err("used up");
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(30));
        assert_eq!(rate.take(&Principal::Service, 2, 1), Ok(()));
        assert_eq!(rate.take(&olga, 2, 3), Err(A_MINUTE), "never at once");
        assert_eq!(rate.take(&olga, 10, 1), Ok(()));
        assert_eq!(rate.take(&olga, 0, 1000), Ok(()), "no limit");
    }
}
