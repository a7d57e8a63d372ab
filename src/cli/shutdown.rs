//! Signals that end the program.

use tokio_util::sync::CancellationToken;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Finished,
    /// By Ctrl-C.
    Interrupted,
}

/// Waits for the signal to end: Ctrl-C, or the request of the service manager.
pub async fn signal() -> Ending {
    tokio::select! {
        outcome = tokio::signal::ctrl_c() => match outcome {
            Ok(()) => Ending::Interrupted,
            Err(error) => {
                tracing::error!(%error, "Ctrl-C cannot be watched; end the program by its service manager");
                std::future::pending().await
            }
        },
        () = terminate() => Ending::Finished,
    }
}

/// A token that fires at the signal, and the task that tells how. A second signal ends the program at once.
pub fn watch() -> (CancellationToken, tokio::task::JoinHandle<Ending>) {
    let stop = CancellationToken::new();
    let fired = stop.clone();
    let watcher = tokio::spawn(async move {
        let ending = signal().await;
        fired.cancel();
        tokio::spawn(end_at_the_next_signal());
        ending
    });
    (stop, watcher)
}

/// Whoever asks twice does not want to wait for the farewell to the station.
async fn end_at_the_next_signal() {
    signal().await;
    tracing::warn!(
        "ended at once by a second signal; sessions may stay behind at the station until they have been idle"
    );
    std::process::exit(INTERRUPTED);
}

/// Exit code of a program that was interrupted.
pub const INTERRUPTED: i32 = 130;

#[cfg(unix)]
async fn terminate() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            terminate.recv().await;
        }
        Err(error) => {
            tracing::error!(%error, "SIGTERM cannot be watched");
            std::future::pending().await
        }
    }
}

#[cfg(windows)]
async fn terminate() {
    use tokio::signal::windows::{ctrl_close, ctrl_shutdown};
    match (ctrl_close(), ctrl_shutdown()) {
        (Ok(mut close), Ok(mut shutdown)) => {
            tokio::select! {
                _ = close.recv() => {}
                _ = shutdown.recv() => {}
            }
        }
        _ => std::future::pending().await,
    }
}
