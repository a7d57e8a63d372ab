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

/// A token that fires at the signal, and the task that tells how.
pub fn watch() -> (CancellationToken, tokio::task::JoinHandle<Ending>) {
    let stop = CancellationToken::new();
    let fired = stop.clone();
    let watcher = tokio::spawn(async move {
        let ending = signal().await;
        fired.cancel();
        ending
    });
    (stop, watcher)
}

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
