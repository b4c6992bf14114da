//! Reconciles once, from the command line. If the ledger is a database, other processes may serve
//! at the same time.

use fairgate_base::secret::open_secret;

use crate::app::BookingSetup;
use crate::config::BookingConfig;
use crate::door::signing::keyring;
use crate::open::{self, BookingOpenError};
use crate::reconciler::ReconcilerLine;

/// Compares and repairs once, and returns everything that did not agree. A repair may add payment
/// calls or seat rows to the ledger. The serving processes carry these out, now or after their next
/// start. Without Redis, the store's picture of the seats is not compared, because it exists only
/// in the memory of a serving process.
///
/// # Errors
/// Returns a [`BookingOpenError`]. If another process uses the data folder, nothing was compared.
pub async fn reconcile_once(
    config: &BookingConfig,
) -> Result<Vec<ReconcilerLine>, BookingOpenError> {
    let (installation, _lock) = open::open_installation(&config.stores, &config.data).await?;
    let secret = open_secret(&installation, &config.secret, &config.data).await?;
    let clock = open::installation_clock(&installation).await?;
    let setup = BookingSetup {
        keyring: keyring(&installation, &secret, clock.now_ms()).await?,
        secret,
        keys: config.keys.roles(),
        clock,
        payments: config.payments.clone(),
    };
    let redis_url = config.stores.redis_url.as_ref();
    let booking = open::booking(&installation, redis_url, setup).await?;
    let found = booking.reconciler().reconcile_all(0).await?;
    open::close_installation(&installation).await;
    Ok(found)
}
