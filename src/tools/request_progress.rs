//! Progress of a call by the station requests that are done and the rows that have come.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::context::Progress;
use crate::station::http::RequestCount;

/// Between two reports.
const PAUSE: Duration = Duration::from_millis(500);

/// Counts the answered requests of one call and the rows that came with them, and reports the first, then at most two
/// counts a second, and the last count at the end of the call. How many there will be is not known before.
#[derive(Debug)]
pub struct RequestProgress {
    progress: Progress,
    count: Mutex<Count>,
}

#[derive(Debug, Default)]
struct Count {
    done: u64,
    rows: u64,
    reported: u64,
    last: Option<Instant>,
}

impl RequestProgress {
    /// Reports to `progress`.
    pub fn new(progress: Progress) -> Self {
        Self {
            progress,
            count: Mutex::default(),
        }
    }

    fn report(&self, count: &mut Count) {
        count.reported = count.done + count.rows;
        count.last = Some(Instant::now());
        let noun = if count.done == 1 {
            "request"
        } else {
            "requests"
        };
        let mut message = format!("{} station {noun} done", count.done);
        match count.rows {
            0 => {}
            1 => message.push_str(", 1 row so far"),
            rows => message.push_str(&format!(", {rows} rows so far")),
        }
        self.progress
            .report(count.reported as f64, None, Some(message));
    }

    fn note(&self, change: impl FnOnce(&mut Count)) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut count);
        if count.last.is_none_or(|last| last.elapsed() >= PAUSE) {
            self.report(&mut count);
        }
    }
}

impl RequestCount for RequestProgress {
    fn answered(&self) {
        self.note(|count| count.done += 1);
    }

    fn row(&self) {
        self.note(|count| count.rows += 1);
    }
}

impl Drop for RequestProgress {
    fn drop(&mut self) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if count.done + count.rows > count.reported {
            self.report(&mut count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tools::context::ProgressSink;

    #[derive(Default)]
    struct Heard(Mutex<Vec<(f64, Option<String>)>>);

    impl ProgressSink for Heard {
        fn report(&self, done: f64, _total: Option<f64>, message: Option<String>) {
            self.0.lock().expect("unpoisoned").push((done, message));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_the_last_and_two_counts_a_second_are_told() {
        let heard = Arc::new(Heard::default());
        let progress = RequestProgress::new(Progress::to(heard.clone()));
        for _ in 0..23 {
            progress.answered();
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        drop(progress);
        let heard = heard.0.lock().expect("unpoisoned");
        let counts: Vec<f64> = heard.iter().map(|(done, _)| *done).collect();
        assert_eq!(counts, [1.0, 6.0, 11.0, 16.0, 21.0, 23.0]);
        assert_eq!(heard[0].1.as_deref(), Some("1 station request done"));
        assert_eq!(heard[5].1.as_deref(), Some("23 station requests done"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_rows_of_a_long_answer_are_told_while_they_come() {
        let heard = Arc::new(Heard::default());
        let progress = RequestProgress::new(Progress::to(heard.clone()));
        progress.answered();
        for _ in 0..1200 {
            progress.row();
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        drop(progress);
        let heard = heard.0.lock().expect("unpoisoned");
        let told: Vec<(f64, &str)> = heard
            .iter()
            .map(|(done, message)| (*done, message.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(
            told,
            [
                (1.0, "1 station request done"),
                (502.0, "1 station request done, 501 rows so far"),
                (1002.0, "1 station request done, 1001 rows so far"),
                (1201.0, "1 station request done, 1200 rows so far"),
            ]
        );
    }
}
