//! Calls run on a bounded pool: a heavy one never starves station tools (Design, rulings, layers).

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

type Job = Box<dyn FnOnce() + Send>;

/// Threads that take one job after another.
#[derive(Debug)]
pub struct WorkerPool {
    jobs: Mutex<Sender<Job>>,
}

impl WorkerPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(threads: NonZeroUsize) -> std::io::Result<Self> {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..threads.get() {
            let queue = queue.clone();
            std::thread::Builder::new()
                .name(format!("analysis-{number}"))
                .spawn(move || work(&queue))?;
        }
        Ok(Self {
            jobs: Mutex::new(jobs),
        })
    }

    /// Runs the job as soon as a thread is free; false when the pool has ended.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .send(Box::new(job))
            .is_ok()
    }
}

fn work(queue: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is held while waiting: the next free thread waits for it instead of for a job.
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else {
            return;
        };
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("an analysis ended with a panic");
        }
    }
}
