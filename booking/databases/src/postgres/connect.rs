//! From an address to a pool of connections that are all set alike.

use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::LedgerError;

/// Connections of one process. PostgreSQL's own default takes a hundred from all of them.
const CONNECTIONS_MAX: usize = 16;

/// How long a transaction waits for a free connection before it is refused.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// What "written before it is answered" rests on, and the limits that keep one stuck transaction
/// from holding up the others: a statement, a wait for a lock, and a process that stopped in the
/// middle of a transaction.
const SETTINGS: &str = "-c synchronous_commit=on -c statement_timeout=30000 -c lock_timeout=5000 \
                        -c idle_in_transaction_session_timeout=5000";

/// A pool over `url`; nothing is connected yet.
///
/// # Errors
/// Where the address cannot be read, or TLS is asked for and this machine has no root certificates.
pub(super) fn pool_for_url(url: &str) -> Result<Pool, LedgerError> {
    // The chain and the name are verified whenever TLS is used at all, so the stricter words mean
    // the same here.
    let url = url
        .replace("sslmode=verify-full", "sslmode=require")
        .replace("sslmode=verify-ca", "sslmode=require");
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        let why = std::error::Error::source(&error).map_or_else(String::new, |why| format!(": {why}"));
        LedgerError::Unavailable(format!(
            "the database's address cannot be read{why}; it has the form postgres://user:password@host:port/database"
        ))
    })?;
    let own = config.get_options().unwrap_or_default().to_owned();
    config
        .options(format!("{SETTINGS} {own}"))
        .connect_timeout(WAIT_MAX)
        .keepalives_idle(Duration::from_secs(10))
        .tcp_user_timeout(Duration::from_secs(20));
    if config.get_application_name().is_none() {
        config.application_name("fairgate");
    }
    let asked = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let manager = if config.get_ssl_mode() == SslMode::Require {
        Manager::from_config(config, tls_connector()?, asked)
    } else {
        config.ssl_mode(SslMode::Disable);
        Manager::from_config(config, NoTls, asked)
    };
    Pool::builder(manager)
        .max_size(CONNECTIONS_MAX)
        .runtime(Runtime::Tokio1)
        .timeouts(Timeouts {
            wait: Some(WAIT_MAX),
            create: Some(WAIT_MAX),
            recycle: Some(WAIT_MAX),
        })
        .build()
        .map_err(|error| LedgerError::Unavailable(error.to_string()))
}

fn tls_connector() -> Result<MakeRustlsConnect, LedgerError> {
    match MakeRustlsConnect::with_native_certs() {
        Ok((tls, _)) => Ok(tls),
        Err(errors) => Err(LedgerError::Unavailable(format!(
            "the database's address asks for TLS, and this machine has no root certificates to verify it with ({errors:?}); \
             install ca-certificates, or name a file of them in SSL_CERT_FILE"
        ))),
    }
}
