//! What every process of Fairgate needs: a log, an accept loop, its own data folder, leases,
//! metrics and an orderly end.

pub mod connection;
pub mod connections;
pub mod data;
pub mod leases;
mod logging;
pub mod search_threads;
pub mod serve;
mod stream;
pub mod warning_log;

pub use logging::{error_text, start_logging};

use fairgate_databases::Installation;
use leases::ProcessLeases;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Makes the files and folders that the process creates from now on readable for this user only,
/// because the ledger holds names, orders and the secrets of draws.
pub fn keep_files_private() {
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Makes the runtime of a process. A file that reaches the limit of `ulimit -f` is then not
/// written, like one on a full disk. Otherwise the system would end the process without a word.
///
/// # Errors
/// Fails if the system gives no threads, or does not take the handler of the signal.
pub fn make_runtime() -> std::io::Result<Runtime> {
    let runtime = Runtime::new()?;
    let too_large = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    let entered = runtime.enter();
    // The handler stays after this listener is dropped.
    drop(signal(too_large)?);
    drop(entered);
    Ok(runtime)
}

/// Takes SIGTERM and Ctrl-C from now on, instead of the system, which would end the process on the
/// spot. The returned future waits for the first of them. A process calls this before it starts, so
/// that it ends in order at every moment.
///
/// # Errors
/// Fails if the system does not take a handler.
///
/// # Panics
/// Panics outside a runtime.
pub fn shutdown() -> std::io::Result<impl Future<Output = ()> + Send + Unpin> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    Ok(Box::pin(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    }))
}

/// Waits until a process has started. Returns nothing if it is to end before.
pub async fn started<T>(
    starting: impl Future<Output = T>,
    shutdown: &mut (impl Future<Output = ()> + Unpin),
) -> Option<T> {
    tokio::select! {
        started = starting => Some(started),
        () = shutdown => {
            tracing::info!("this process was asked to end before it had started");
            None
        }
    }
}

/// Waits until the process begins to drain. Waits for ever if the sender is gone.
pub async fn stopped(stopping: &mut watch::Receiver<bool>) {
    if stopping.wait_for(|stopping| *stopping).await.is_err() {
        std::future::pending().await
    }
}

/// Installs a recorder of metrics for the whole process, and returns a handle on it. If another
/// part of the process has installed a recorder already (in a test), the returned handle shows no
/// metrics.
#[must_use]
pub fn recorder() -> PrometheusHandle {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::debug!("another part of this process counts already");
    }
    handle
}

/// A process ended because it had lost its ledger, and not because somebody asked it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this process ended because it lost its ledger; the log says how")]
pub struct LedgerLost;

/// Waits for `shutdown`, or until the process has lost its ledger: another process has taken one of
/// the leases, or the ledger's file is not in its place any more. Logs what happened.
///
/// # Errors
/// [`LedgerLost`] if the process has lost its ledger.
pub async fn until_ended(
    shutdown: impl Future<Output = ()>,
    leases: Option<&ProcessLeases>,
    installation: Option<&Installation>,
) -> Result<(), LedgerLost> {
    let lost = async {
        match leases {
            Some(leases) => leases.wait_until_lost().await,
            None => std::future::pending().await,
        }
    };
    let moved = async {
        let Some(installation) = installation else {
            return std::future::pending().await;
        };
        let ledger = installation.wait_until_file_moved().await;
        tracing::error!(
            ledger = %ledger.display(),
            "the ledger's file was moved, replaced, removed or overwritten while this process was using it, so this process takes no more orders and ends. What is in its place now was not changed. Put the ledger's own file back, or restore a backup with `gateway restore FILE --data DIR`, and start again"
        );
    };
    tokio::select! {
        () = shutdown => Ok(()),
        () = lost => Err(LedgerLost),
        () = moved => Err(LedgerLost),
    }
}
