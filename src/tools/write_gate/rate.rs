//! How often one principal may write.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::tools::Principal;

/// Why writes may not be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TooOften {
    /// They may after this time.
    Wait(Duration),
    /// They are more than a minute allows, so waiting does not help.
    Never,
}

/// Whether that many writes can ever be sent at once; 0 `per_minute` = no limit.
///
/// # Errors
/// [`TooOften::Never`] when they cannot.
pub(super) fn fits(per_minute: u32, writes: usize) -> Result<(), TooOften> {
    let is_more = u32::try_from(writes).map_or(true, |writes| writes > per_minute);
    match per_minute > 0 && is_more {
        true => Err(TooOften::Never),
        false => Ok(()),
    }
}

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
    /// How long to wait, or that they have to be fewer.
    pub(super) fn take(
        &self,
        principal: &Principal,
        per_minute: u32,
        writes: usize,
    ) -> Result<(), TooOften> {
        let (Some(rate), Some(writes)) = (
            NonZeroU32::new(per_minute),
            NonZeroU32::new(u32::try_from(writes).unwrap_or(u32::MAX)),
        ) else {
            return Ok(());
        };
        match self.limiter(rate).check_key_n(principal, writes) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(full)) => Err(TooOften::Wait(full.wait_time_from(self.clock.now()))),
            Err(_) => Err(TooOften::Never),
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
        let used_up = rate.take(&olga, 2, 1).expect_err("used up");
        assert!(
            matches!(used_up, TooOften::Wait(wait) if wait > Duration::ZERO && wait <= Duration::from_secs(30)),
            "{used_up:?}"
        );
        assert_eq!(rate.take(&Principal::Service, 2, 1), Ok(()));
        assert_eq!(rate.take(&olga, 2, 3), Err(TooOften::Never));
        assert_eq!((fits(2, 2), fits(0, 1000)), (Ok(()), Ok(())));
        assert_eq!(fits(2, 3), Err(TooOften::Never));
        assert_eq!(rate.take(&olga, 10, 1), Ok(()));
        assert_eq!(rate.take(&olga, 0, 1000), Ok(()), "no limit");
    }
}
