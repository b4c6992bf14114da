//! Builds, runs and drains booking as a separate process. The process serves the public handlers
//! that a gateway can also host, and routes for gateways and operators.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use fairgate_base::config::BadConfig;
use fairgate_base::process::connections::ConnectionLimits;
use fairgate_base::process::data::DataLock;
use fairgate_base::process::leases::{ProcessLeases, ProcessStoreKind};
use fairgate_base::process::serve::{EndSignals, ListenError};
use fairgate_base::process::warning_log::log_warnings;
use fairgate_base::process::{LedgerLost, recorder, serve, until_ended};
use fairgate_base::secret::open_secret;
use fairgate_databases::Installation;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::{Booking, BookingSetup};
use crate::config::BookingConfig;
use crate::door::signing::{KeyFollower, keyring};
use crate::http::internal::InternalRoutes;
use crate::http::internal_key::InternalKey;
use crate::http::ops::BookingOpsRoutes;
use crate::open::{self, BookingOpenError};
use crate::router::{operators_port, process_router};

/// How long the process still answers after it has begun to drain. Gateways ask each booking
/// process twice a second whether it can sell. By the end of this time, every gateway therefore
/// uses another process.
const DRAIN_NOTICE: Duration = Duration::from_millis(1_200);
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// Why booking did not start. Nothing is left running.
#[derive(Debug, thiserror::Error)]
pub enum BookingStartError {
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] BadConfig),
    /// An address cannot be used as a listening address.
    #[error(transparent)]
    Address(#[from] ListenError),
    /// The runtime's threads or timers cannot be started.
    #[error("the runtime cannot be started: {0}")]
    Runtime(io::Error),
    /// The process ended because it lost its ledger.
    #[error(transparent)]
    LedgerLost(#[from] LedgerLost),
    /// Ledger, store or keys cannot be opened.
    #[error(transparent)]
    Parts(#[from] BookingOpenError),
}

/// A booking that is built but does not serve yet.
pub struct BookingService {
    listener: TcpListener,
    operators: Option<TcpListener>,
    booking: Booking,
    config: BookingConfig,
    leases: Option<ProcessLeases>,
    installation: Option<Installation>,
    keys: Option<KeyFollower>,
    _lock: Option<DataLock>,
}

impl BookingService {
    /// Opens everything that the settings name, and begins to listen.
    ///
    /// # Errors
    /// [`BookingStartError`].
    pub async fn build(config: BookingConfig) -> Result<Self, BookingStartError> {
        let (installation, lock) = open::open_installation(&config.stores, &config.data).await?;
        let secret = open_secret(&installation, &config.secret, &config.data)
            .await
            .map_err(BookingOpenError::from)?;
        let is_shared = config.stores.redis_url.is_some();
        let leases =
            open::process_leases(&installation, &[(ProcessStoreKind::Seats, is_shared)]).await?;
        let clock = open::installation_clock(&installation)
            .await
            .map_err(BookingOpenError::from)?;
        let keyring = keyring(&installation, &secret, clock.now_ms())
            .await
            .map_err(BookingOpenError::from)?;
        let keys = KeyFollower::new(&installation, &secret, &keyring);
        let setup = BookingSetup {
            secret,
            keyring,
            keys: config.keys.roles(),
            clock,
            payments: config.payments.clone(),
        };
        let redis_url = config.stores.redis_url.as_ref();
        let booking = open::booking(&installation, redis_url, setup).await?;
        open::erase_plain_values(&installation).await;
        Ok(Self {
            leases,
            installation: Some(installation),
            keys: Some(keys),
            _lock: lock,
            ..Self::with_booking(booking, config).await?
        })
    }

    /// Makes the service of a booking that is already open, and begins to listen.
    ///
    /// # Errors
    /// [`BookingStartError::Address`].
    pub async fn with_booking(
        booking: Booking,
        config: BookingConfig,
    ) -> Result<Self, BookingStartError> {
        let listener = serve::listen(config.listen, "FAIRGATE_LISTEN").await?;
        let operators = match config.ops.listen {
            Some(address) => Some(serve::listen(address, "FAIRGATE_OPS_LISTEN").await?),
            None => None,
        };
        Ok(Self {
            listener,
            operators,
            booking,
            config,
            leases: None,
            installation: None,
            keys: None,
            _lock: None,
        })
    }

    /// Returns the address on which this process listens.
    ///
    /// # Errors
    /// Returns an error if the system does not report the address.
    pub fn listen_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown`, or until another process has taken a lease of this process or the
    /// ledger's file is not in its place any more. Then drains: reports that it is not ready, waits
    /// until gateways have noticed, ends the calls, ends the workers, and closes the ledger.
    ///
    /// # Errors
    /// [`LedgerLost`] if the process ended because it lost a lease or its ledger's file.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), LedgerLost> {
        let Self {
            listener,
            operators,
            booking,
            config,
            leases,
            installation,
            keys,
            _lock,
        } = self;
        let (stop, stopping) = watch::channel(false);
        let (close, closing) = watch::channel(false);
        let metrics = recorder();
        let mut workers = booking.start();
        workers.spawn(run_metrics_upkeep(metrics.clone()));
        if let Some(keys) = keys {
            workers.spawn(async move { match keys.run().await {} });
        }
        let gateways = InternalRoutes {
            desk: booking.gateways().clone(),
            key: InternalKey::new(config.internal.key.as_ref()),
            stopping: stopping.clone(),
        };
        let ops = BookingOpsRoutes {
            desk: booking.gateways().clone(),
            metrics,
            warnings: config.warnings(),
            stopping: stopping.clone(),
            keys: config.keys.roles(),
            has_own_port: operators.is_some(),
        };
        let watched = ops.clone();
        workers.spawn(log_warnings(
            async move || watched.troubles().await,
            stopping,
        ));
        let (public, _) = booking.router().split_for_parts();
        // Only gateways and operators connect to booking, so there is no limit per network.
        let limits = ConnectionLimits::of_process(false);
        let public_max = if operators.is_some() {
            limits.without_operators()
        } else {
            limits
        };
        let operators_max = ConnectionLimits::of_operators();
        let operators =
            operators.map(|listener| (listener, operators_port(ops.clone()), operators_max));
        let public = (listener, process_router(public, gateways, ops), public_max);
        let ports = [Some(public), operators].into_iter().flatten();
        let serving: Vec<_> = ports
            .map(|(listener, router, limits)| {
                let end = EndSignals {
                    leaving: stop.subscribe(),
                    closing: closing.clone(),
                };
                let serving = serve::run(listener, router, end, config.drain.calls, limits);
                tokio::spawn(serving)
            })
            .collect();
        let ended = until_ended(shutdown, leases.as_ref(), installation.as_ref()).await;
        tracing::info!("draining");
        stop.send_replace(true);
        tokio::time::sleep(config.drain.notice.unwrap_or(DRAIN_NOTICE)).await;
        close.send_replace(true);
        for port in serving {
            if port.await.is_err() {
                tracing::error!("an accept loop had failed");
            }
        }
        stop_workers(workers).await;
        if let Some(leases) = leases {
            leases.release_all().await;
        }
        if let Some(installation) = installation {
            open::close_installation(&installation).await;
        }
        ended
    }
}

async fn run_metrics_upkeep(metrics: PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP_EVERY).await;
        metrics.run_upkeep();
    }
}

/// Ends the workers at once. Unfinished work is done after the next start, or by another process.
async fn stop_workers(mut workers: JoinSet<()>) {
    workers.shutdown().await;
}
