//! One pass by command, over whatever the settings name, beside processes that serve or without
//! any.

use crate::app::BookingSetup;
use crate::config::BookingConfig;
use crate::door::signing::keyring;
use crate::open::{self, BookingOpenError};
use crate::reconciler::ReconcilerLine;

/// Compares and mends once; everything that did not agree. What a repair owes to the provider or to
/// the store is carried out by the processes that serve. Without Redis there is no picture to
/// compare: it lives in the process that serves.
///
/// # Errors
/// [`BookingOpenError`]; where a gateway has the data folder, nothing was compared.
pub async fn reconcile_once(
    config: &BookingConfig,
) -> Result<Vec<ReconcilerLine>, BookingOpenError> {
    let (installation, _lock) = open::installation(&config.stores, &config.data).await?;
    let clock = open::installation_clock(&installation).await?;
    let setup = BookingSetup {
        keyring: keyring(&installation, clock.now_ms()).await?,
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
