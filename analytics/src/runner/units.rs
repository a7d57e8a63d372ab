//! Units of work on several threads: a look at the clock before each, and none begun after it is over.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

/// The run was ended before its last unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run was cancelled before its end")]
pub struct Cancelled;

/// Does the work of all units, and returns what each gave, in their order.
///
/// Every unit is claimed and the clock is looked at under one lock, so that after a cancel at most one more begins.
///
/// # Errors
/// `cancelled` said so before some unit.
pub fn in_parallel<U: Sync, T: Send>(
    units: &[U],
    threads: NonZeroUsize,
    cancelled: &(dyn Fn() -> bool + Sync),
    work: impl Fn(&U) -> T + Sync,
) -> Result<Vec<T>, Cancelled> {
    let claims = Mutex::new(Claims {
        next: 0,
        ended: false,
    });
    let claim = || {
        let mut claims = claims.lock().unwrap_or_else(PoisonError::into_inner);
        if claims.ended || claims.next >= units.len() {
            return None;
        }
        if cancelled() {
            claims.ended = true;
            return None;
        }
        claims.next += 1;
        units
            .get(claims.next - 1)
            .map(|unit| (claims.next - 1, unit))
    };
    let share = || {
        let mut done: Vec<(usize, T)> = Vec::new();
        while let Some((place, unit)) = claim() {
            match catch_unwind(AssertUnwindSafe(|| work(unit))) {
                Ok(outcome) => done.push((place, outcome)),
                Err(panic) => {
                    claims.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
                    resume_unwind(panic);
                }
            }
        }
        done
    };
    let mut done: Vec<(usize, T)> = match threads.get().min(units.len()) {
        0 | 1 => share(),
        several => std::thread::scope(|scope| {
            let others: Vec<_> = (1..several).map(|_| scope.spawn(share)).collect();
            let mut done = share();
            for other in others {
                match other.join() {
                    Ok(part) => done.extend(part),
                    Err(panic) => resume_unwind(panic),
                }
            }
            done
        }),
    };
    let ended = claims
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .ended;
    if ended {
        return Err(Cancelled);
    }
    done.sort_unstable_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, outcome)| outcome).collect())
}

struct Claims {
    next: usize,
    ended: bool,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    #[test]
    fn what_units_give_stands_in_their_order() {
        let units: Vec<usize> = (0..200).collect();
        for count in [1, 4] {
            let squares = in_parallel(&units, threads(count), &|| false, |unit| unit * unit);
            let expected: Vec<usize> = units.iter().map(|unit| unit * unit).collect();
            assert_eq!(squares, Ok(expected));
        }
        assert_eq!(
            in_parallel(&[] as &[usize], threads(4), &|| true, |unit| *unit),
            Ok(Vec::new())
        );
    }

    #[test]
    fn no_unit_begins_after_a_cancel() {
        let units = vec![(); 1000];
        for count in [1, 4] {
            let begun = AtomicUsize::new(0);
            // Cancelled while the tenth unit is worked on: those that run then may end.
            let outcome = in_parallel(
                &units,
                threads(count),
                &|| begun.load(Ordering::SeqCst) >= 10,
                |()| begun.fetch_add(1, Ordering::SeqCst),
            );
            assert_eq!(outcome, Err(Cancelled));
            assert!(begun.load(Ordering::SeqCst) < 10 + count);
        }
    }

    #[test]
    fn a_panic_of_one_unit_is_that_of_the_run() {
        let units: Vec<usize> = (0..50).collect();
        let run = || {
            in_parallel(&units, threads(3), &|| false, |unit| {
                assert!(*unit != 20, "unit 20");
            })
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
}
