//! Checks at the start of a process whether the database can be used. The message for a fault is
//! one sentence. It has the address without user and password, and says what is wrong and what to
//! do.

use deadpool_postgres::PoolError;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;

use super::PostgresDatabase;
use super::connect::config_of_url;
use crate::LedgerError;

/// The oldest version that has all functions of the ledger, as `server_version_num` writes it.
const OLDEST: i32 = 130_000;

/// Why a database cannot be used when the process starts. Nothing was written to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the database {address} cannot be used: {fault}")]
pub struct DatabaseOpenError {
    /// The address without user and password.
    address: String,
    /// What is wrong, and what to do.
    fault: String,
}

impl PostgresDatabase {
    /// Connects and makes the tables as [`PostgresDatabase::connect`] does. Its errors are written
    /// for an operator.
    ///
    /// # Errors
    /// [`DatabaseOpenError`].
    pub async fn open(url: &str) -> Result<Self, DatabaseOpenError> {
        let address = shown_address(url);
        let open_error = |fault: String| DatabaseOpenError {
            address: address.clone(),
            fault,
        };
        if config_of_url(url).is_err() {
            return Err(open_error("its host, port, user, password or options cannot be read; write it as postgres://user:password@host:port/database".to_owned()));
        }
        let database = Self::reading(url).map_err(|error| open_error(error.to_string()))?;
        database.check_at_start().await.map_err(open_error)?;
        Self::connect(url)
            .await
            .map_err(|error| open_error(fault_of_tables(&error)))
    }

    async fn check_at_start(&self) -> Result<(), String> {
        let connection = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => fault_of_connection(&error),
            other => format!("it does not answer ({other}); start it, or correct host and port"),
        })?;
        let version = connection
            .query_one("SELECT current_setting('server_version_num')::int", &[])
            .await
            .map_err(|error| fault_of_connection(&error))?;
        version_fault(version.get(0)).map_or(Ok(()), Err)
    }
}

/// Returns the address of a database without user, password and options.
fn shown_address(url: &str) -> String {
    let Ok(config) = config_of_url(url) else {
        return "of this address".to_owned();
    };
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(path) => format!("{}:{port}", path.display()),
        }
    });
    let hosts: Vec<String> = hosts.collect();
    format!(
        "{}/{}",
        hosts.join(","),
        config.get_dbname().unwrap_or_default()
    )
}

/// Describes why a connection failed.
fn fault_of_connection(error: &tokio_postgres::Error) -> String {
    let Some(db_error) = error.as_db_error() else {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        let why = cause.unwrap_or_else(|| error.to_string());
        return format!("it does not answer ({why}); start it, or correct host, port and sslmode");
    };
    let remedy = match *db_error.code() {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "correct user and password, or let the server's pg_hba.conf accept them"
        }
        SqlState::INVALID_CATALOG_NAME => "create the database, or correct its name",
        SqlState::TOO_MANY_CONNECTIONS => "raise max_connections, or run fewer processes",
        SqlState::CANNOT_CONNECT_NOW => "wait until it has started, and start this process again",
        _ => "see the server's log",
    };
    format!(
        "it refuses the connection ({}); {remedy}",
        db_error.message()
    )
}

/// Describes why the tables of the ledger could not be made or read.
fn fault_of_tables(error: &LedgerError) -> String {
    match error {
        LedgerError::Corrupt(_) => {
            format!("{error}; start the version that wrote it, or a newer one")
        }
        _ => format!(
            "its tables cannot be made ({error}); let the user create tables there (GRANT CREATE ON SCHEMA), and see the server's log"
        ),
    }
}

fn version_fault(version: i32) -> Option<String> {
    (version < OLDEST).then(|| {
        format!(
            "PostgreSQL {}.{} is older than {}, which the ledger needs; upgrade it",
            version / 10_000,
            version % 10_000,
            OLDEST / 10_000
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_user_password_and_options() {
        for (url, shown) in [
            (
                "postgres://ana:geheim@db:6543/sale?sslmode=require",
                "db:6543/sale",
            ),
            ("postgres://ana:ge%40im@a,b:1/sale", "a:5432,b:1/sale"),
            (
                "postgresql://db/sale?user=ana&password=geheim",
                "db:5432/sale",
            ),
            ("postgres://ana:geheim@db:port/sale", "of this address"),
        ] {
            assert_eq!(shown_address(url), shown, "{url}");
        }
    }

    #[test]
    fn an_old_server_is_refused() {
        let told = version_fault(120_022).expect("it is too old");
        assert_eq!(
            told,
            "PostgreSQL 12.22 is older than 13, which the ledger needs; upgrade it"
        );
        assert_eq!(version_fault(130_000), None);
        assert_eq!(version_fault(180_001), None);
    }
}
