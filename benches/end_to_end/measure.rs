//! Durations, their quantiles, and the table they are printed in.

use std::fmt;
use std::time::{Duration, Instant};

use futures::future::join_all;

/// Sorted durations.
pub struct Figures(Vec<Duration>);

impl Figures {
    pub fn of(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }

    /// The duration that this share of all does not exceed.
    pub fn quantile(&self, share: f64) -> Duration {
        let last = self.0.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        self.0.get(at).copied().unwrap_or_default()
    }

    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    pub fn into_durations(self) -> Vec<Duration> {
        self.0
    }
}

/// Runs work again and again.
pub async fn sequential<F: Future>(times: usize, mut work: impl FnMut() -> F) -> Figures {
    let mut durations = Vec::with_capacity(times);
    for _ in 0..times {
        let began = Instant::now();
        work().await;
        durations.push(began.elapsed());
    }
    Figures::of(durations)
}

/// Runs work from several callers at the same time; the rate per second.
pub async fn together<F: Future>(callers: usize, each: usize, work: impl Fn() -> F) -> f64 {
    let began = Instant::now();
    join_all((0..callers).map(|_| async {
        for _ in 0..each {
            work().await;
        }
    }))
    .await;
    (callers * each) as f64 / began.elapsed().as_secs_f64()
}

/// Named figures in the order in which they were found.
#[derive(Default)]
pub struct Table(Vec<(String, String)>);

impl Table {
    pub fn row(&mut self, name: &str, figure: String) {
        eprintln!("{name}: {figure}");
        self.0.push((name.to_owned(), figure));
    }

    pub fn latency(&mut self, name: &str, figures: &Figures) {
        let milliseconds = |share| figures.quantile(share).as_secs_f64() * 1e3;
        let text = format!(
            "{:.2} ms (p99 {:.2} ms)",
            milliseconds(0.5),
            milliseconds(0.99)
        );
        self.row(name, text);
    }

    pub fn throughput(&mut self, name: &str, rate: f64) {
        self.row(name, format!("{rate:.0}/s"));
    }

    pub fn ratio(&mut self, name: &str, one: Duration, other: Duration) {
        self.row(
            name,
            format!("{:.2}", one.as_secs_f64() / other.as_secs_f64()),
        );
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | figure |\n|---|---|")?;
        self.0
            .iter()
            .try_for_each(|(name, figure)| writeln!(f, "| {name} | {figure} |"))
    }
}
