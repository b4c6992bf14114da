//! One pass by command, over whatever the settings name, beside processes that serve or without
//! any.

use crate::app::Setup;
use crate::config::Config;
use crate::door::signing::keyring;
use crate::open::{self, NotOpened};
use crate::reconciler::Line;

/// Compares and mends once; everything that did not agree. What a repair owes to the provider or to
/// the store is carried out by the processes that serve. Without Redis there is no picture to
/// compare: it lives in the process that serves.
///
/// # Errors
/// [`NotOpened`]; where a gateway has the data folder, nothing was compared.
pub async fn once(config: &Config) -> Result<Vec<Line>, NotOpened> {
    let (installation, _lock) = open::installation(&config.stores, &config.data).await?;
    let clock = open::clock(&installation).await?;
    let setup = Setup {
        keyring: keyring(&installation, clock.now_ms()).await?,
        keys: config.keys.roles(),
        clock,
        payments: config.payments.clone(),
    };
    let redis_url = config.stores.redis_url.as_ref();
    let booking = open::booking(&installation, redis_url, setup).await?;
    let found = booking.reconciler().pass(0).await?;
    open::close(&installation).await;
    Ok(found)
}
