//! Makes a pool of connections from an address. All connections have the same settings.

use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::LedgerError;

/// The most connections that one process opens. By default PostgreSQL accepts a hundred connections
/// from all processes together.
const CONNECTIONS_MAX: usize = 16;

/// How long a transaction waits for a free connection before it is refused.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Settings of every connection. `synchronous_commit` makes sure that data is durable before a
/// caller gets its answer. The limits on a statement, on a wait for a lock and on an idle open
/// transaction keep one stuck transaction from holding up the others.
const SETTINGS: &str = "-c synchronous_commit=on -c statement_timeout=30000 -c lock_timeout=5000 \
                        -c idle_in_transaction_session_timeout=5000";

/// Reads a database's address. With TLS, this program always verifies the certificate chain and the
/// host name, so `require` means the same as the stricter modes.
pub(super) fn config_of_url(url: &str) -> Result<Config, tokio_postgres::Error> {
    url.replace("sslmode=verify-full", "sslmode=require")
        .replace("sslmode=verify-ca", "sslmode=require")
        .parse()
}

/// Returns a pool of connections to `url`. The pool opens no connection yet.
///
/// # Errors
/// Returns an error where the address cannot be read, or where it asks for TLS and this machine has
/// no root certificates.
pub(super) fn pool_for_url(url: &str) -> Result<Pool, LedgerError> {
    let mut config = config_of_url(url).map_err(|error| {
        let why = std::error::Error::source(&error).map_or_else(String::new, |why| format!(": {why}"));
        LedgerError::Unavailable(format!(
            "the database's address cannot be read{why}; it has the form postgres://user:password@host:port/database"
        ))
    })?;
    let url_options = config.get_options().unwrap_or_default().to_owned();
    config
        .options(format!("{SETTINGS} {url_options}"))
        .connect_timeout(WAIT_MAX)
        .keepalives_idle(Duration::from_secs(10))
        .tcp_user_timeout(Duration::from_secs(20));
    if config.get_application_name().is_none() {
        config.application_name("fairgate");
    }
    let manager_config = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let manager = if config.get_ssl_mode() == SslMode::Require {
        Manager::from_config(config, tls_connector()?, manager_config)
    } else {
        config.ssl_mode(SslMode::Disable);
        Manager::from_config(config, NoTls, manager_config)
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
