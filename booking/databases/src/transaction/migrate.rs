//! Brings tables up to date when a database is opened.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{SqlTransaction, on_file};
use crate::own_tables;
use crate::sql::{Migration, SqlDialect};
use crate::sqlite::{
    FilePlace, SqliteConnection, close_whole, open_existing_to_write, open_to_read, open_to_write,
};
use crate::{LedgerError, PostgresDatabase, SqliteDatabase};

impl SqliteDatabase {
    /// Opens (or creates) the file at `path`, makes the installation's own tables, and starts the
    /// writing thread.
    ///
    /// # Errors
    /// Returns an error where the file cannot be opened as a database, or where its tables cannot
    /// be made. The error is [`LedgerError::Corrupt`] where the file has no tables, because a
    /// ledger always has some: it is part of a copy, and an empty ledger would sell everything
    /// again.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        if path.exists() {
            refuse_without_tables(path)?;
        } else {
            make_whole(path)?;
        }
        let connection = open_to_write(path)?;
        make_own_tables(&connection)?;
        Self::start(FilePlace::of(path)?, connection, false)
    }

    /// Opens the existing file at `path`, which another process may be using. Makes and changes no
    /// tables.
    ///
    /// # Errors
    /// Returns an error where there is no such file, where it cannot be opened as a database, or
    /// where another version made the installation's own tables in it.
    pub fn open_beside(path: &Path) -> Result<Self, LedgerError> {
        let connection = open_existing_to_write(path)?;
        on_file::run_on_file(&connection, |tx| Box::pin(check_own_tables(tx)))?;
        Self::start(FilePlace::of(path)?, connection, true)
    }

    /// Brings the tables of one crate, the `owner`, up to date. Applies the migrations that the
    /// file lacks, in order.
    ///
    /// `migrations[i]` is version `i + 1`. A released migration is never edited.
    ///
    /// # Errors
    /// Returns an error where a migration fails. Then none of the migrations was applied.
    pub async fn migrate(
        &self,
        owner: &'static str,
        migrations: impl IntoIterator<Item: ToString>,
    ) -> Result<(), LedgerError> {
        let steps: Vec<String> = migrations
            .into_iter()
            .map(|step| step.to_string())
            .collect();
        self.enqueue_sql(steps, move |tx, steps| {
            Box::pin(apply_migrations(tx, owner, steps))
        })
        .await
    }
}

/// Makes the installation's own tables, or brings them up to date.
fn make_own_tables(connection: &Arc<SqliteConnection>) -> Result<(), LedgerError> {
    let steps = Migration::steps(SqlDialect::Sqlite, own_tables::MIGRATIONS);
    connection.batch("BEGIN IMMEDIATE")?;
    // If a step fails, the connection is dropped. That rolls all steps back.
    on_file::run_on_file(connection, move |tx| {
        Box::pin(async move { apply_migrations(tx, "installation", &steps).await })
    })?;
    connection.batch("COMMIT")
}

/// Makes a new ledger under another name, and gives it its name once it has its tables. So a file
/// of this name that has no tables is never a start that was interrupted.
fn make_whole(path: &Path) -> Result<(), LedgerError> {
    for log in ["-wal", "-journal"] {
        let log = beside(path, log);
        if log.exists() {
            return Err(LedgerError::Corrupt(format!(
                "{} is missing, but its log {} is there. Nothing was changed",
                path.display(),
                log.display()
            )));
        }
    }
    let unusable = |error: std::io::Error| LedgerError::Unavailable(error.to_string());
    let fresh = beside(path, ".new");
    for leftover in [
        beside(&fresh, ""),
        beside(&fresh, "-wal"),
        beside(&fresh, "-shm"),
    ] {
        match std::fs::remove_file(&leftover) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(unusable(error));
            }
            _ => {}
        }
    }
    let connection = open_to_write(&fresh)?;
    make_own_tables(&connection)?;
    close_whole(connection)?;
    std::fs::rename(&fresh, path).map_err(unusable)?;
    match path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) => File::open(folder).and_then(|folder| folder.sync_all()),
        None => Ok(()),
    }
    .map_err(unusable)
}

/// Returns the path of the file beside this one whose name ends with `ending`.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Refuses a file without the tables that every ledger has. Changes nothing.
fn refuse_without_tables(path: &Path) -> Result<(), LedgerError> {
    let connection = open_to_read(path)?;
    let mut is_ledger = false;
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'installation'";
    connection.query_each(sql, &[], |_| {
        is_ledger = true;
        false
    })?;
    if is_ledger {
        return Ok(());
    }
    Err(LedgerError::Corrupt(
        "the file has no tables, so it is not a whole ledger. A copy of a ledger that was in use \
         lacks what was in its log (the file ending with -wal). Nothing was changed"
            .to_owned(),
    ))
}

impl PostgresDatabase {
    /// Opens a pool for `url` (`postgres://user:password@host:port/database`, with
    /// `sslmode=require` for TLS) and makes the installation's own tables. Needs PostgreSQL 13 or
    /// newer.
    ///
    /// # Errors
    /// Returns an error where the address cannot be read, the database does not answer, or the
    /// tables cannot be made.
    pub async fn connect(url: &str) -> Result<Self, LedgerError> {
        let database = Self::reading(url)?;
        let steps = Migration::steps(SqlDialect::Postgres, own_tables::MIGRATIONS);
        database.migrate("installation", steps).await?;
        Ok(database)
    }

    /// Opens a pool for the database at `url`, which other processes may be using. Makes no tables
    /// and changes none.
    ///
    /// # Errors
    /// Returns an error where the address cannot be read, the database does not answer, or another
    /// version made the installation's own tables in it.
    pub async fn open_beside(url: &str) -> Result<Self, LedgerError> {
        let database = Self::reading(url)?;
        let checked = database
            .read(|tx| async move { check_own_tables(&SqlTransaction::on_postgres(tx)).await });
        checked.await?;
        Ok(database)
    }

    /// Brings the tables of one crate, the `owner`, up to date. Applies the migrations that the
    /// database lacks, in order. Nodes that start at the same time wait for one another.
    ///
    /// `migrations[i]` is version `i + 1`. A released migration is never edited.
    ///
    /// # Errors
    /// Returns an error where a migration fails. Then none of the migrations was applied, unless
    /// the connection broke at the commit.
    pub async fn migrate(
        &self,
        owner: &'static str,
        migrations: impl IntoIterator<Item: ToString>,
    ) -> Result<(), LedgerError> {
        let steps: Vec<String> = migrations
            .into_iter()
            .map(|step| step.to_string())
            .collect();
        self.run_migration_alone(async move |tx| {
            apply_migrations(&SqlTransaction::on_postgres(tx), owner, &steps).await
        })
        .await
    }
}

/// Checks that this version's installation made the own tables of a database.
async fn check_own_tables(tx: &SqlTransaction) -> Result<(), LedgerError> {
    let sql = "SELECT COALESCE(MAX(version), 0) FROM migrations WHERE owner = 'installation'";
    let applied: i64 = match tx.query_one(sql, &[]).await {
        Ok(row) => row.get(0)?,
        // There is no such table.
        Err(LedgerError::Sql(_)) => 0,
        Err(error) => return Err(error),
    };
    let known = Migration::version_of(tx.dialect(), own_tables::MIGRATIONS);
    if applied == known {
        return Ok(());
    }
    Err(LedgerError::Corrupt(format!(
        "its own tables are at {applied}, and this program knows {known}; start a gateway or a \
         booking of this version on it first"
    )))
}

/// Applies the steps of one owner that the database lacks, in order.
///
/// # Errors
/// Returns an error where a step fails. The error is [`LedgerError::Corrupt`] where the database
/// has more steps than the list.
pub(crate) async fn apply_migrations(
    tx: &SqlTransaction,
    owner: &str,
    steps: &[String],
) -> Result<(), LedgerError> {
    let (create_table, container) = match tx.dialect() {
        SqlDialect::Sqlite => (
            "CREATE TABLE IF NOT EXISTS migrations (owner TEXT NOT NULL, version INTEGER NOT NULL, \
             PRIMARY KEY (owner, version)) WITHOUT ROWID;",
            "file",
        ),
        SqlDialect::Postgres => (
            "CREATE TABLE IF NOT EXISTS migrations (owner TEXT NOT NULL, version BIGINT NOT NULL, \
             PRIMARY KEY (owner, version))",
            "database",
        ),
    };
    tx.batch(create_table).await?;
    let sql = "SELECT COALESCE(MAX(version), 0) FROM migrations WHERE owner = $1";
    let applied: i64 = tx.query_one(sql, &[&owner]).await?.get(0)?;
    let newest = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if applied > newest {
        return Err(LedgerError::Corrupt(format!(
            "the {container} was written by a newer version: {owner} is at {applied}, \
             this binary knows {newest}"
        )));
    }
    let lacking = (1_i64..)
        .zip(steps)
        .filter(|(version, _)| *version > applied);
    for (version, step) in lacking {
        tx.batch(step).await?;
        let sql = "INSERT INTO migrations (owner, version) VALUES ($1, $2)";
        tx.execute(sql, &[&owner, &version]).await?;
    }
    Ok(())
}
