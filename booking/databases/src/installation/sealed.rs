//! What the database stores for the installation's secret: the value by which a wrong secret is
//! noticed, and whether plain values of an earlier version may still be in the file's free pages.

use super::Installation;
use crate::{LedgerError, SqlTransaction};

impl Installation {
    /// Returns the sealed check value. Returns `None` if no process has stored one yet. Then the
    /// database has no sealed values.
    ///
    /// # Errors
    /// Returns an error where the database does not answer.
    pub async fn secret_check(&self) -> Result<Option<String>, LedgerError> {
        self.read((), |tx, ()| Box::pin(read_check(tx))).await
    }

    /// Stores the sealed check value, unless there is one, and returns the stored one.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn put_secret_check(&self, fresh: String) -> Result<String, LedgerError> {
        self.write(fresh, |tx, fresh| {
            Box::pin(async move {
                let sql = "INSERT INTO installation_secret (one, check_value) VALUES (1, $1) \
                     ON CONFLICT (one) DO NOTHING";
                tx.execute(sql, &[fresh]).await?;
                let stored = read_check(tx).await?;
                stored.ok_or_else(|| LedgerError::Corrupt("the secret's check is gone".to_owned()))
            })
        })
        .await
    }

    /// Returns the value that is stored under `name`, if there is one.
    ///
    /// # Errors
    /// Returns an error where the database does not answer.
    pub async fn stored_value(&self, name: &'static str) -> Result<Option<Vec<u8>>, LedgerError> {
        self.read((), move |tx, ()| {
            Box::pin(async move {
                let sql = "SELECT value FROM installation WHERE name = $1";
                let row = tx.first(sql, &[&name]).await?;
                row.map(|row| row.get(0)).transpose()
            })
        })
        .await
    }

    /// Replaces the value under `name` if it still is `from`. Returns whether it was.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn replace_value(
        &self,
        name: &'static str,
        from: Vec<u8>,
        to: Vec<u8>,
    ) -> Result<bool, LedgerError> {
        self.write((from, to), move |tx, (from, to)| {
            Box::pin(replace(tx, name, from, to))
        })
        .await
    }

    /// Replaces a plain value of an earlier version by its sealed form, if it is still stored.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn seal_plain_value(
        &self,
        name: &'static str,
        plain: Vec<u8>,
        sealed: Vec<u8>,
    ) -> Result<(), LedgerError> {
        self.write((plain, sealed), move |tx, (plain, sealed)| {
            Box::pin(async move {
                replace(tx, name, plain, sealed).await?;
                tx.note_plain_value().await
            })
        })
        .await
    }

    /// Erases the plain values of an earlier version from a file, if any may be left there: writes
    /// the file anew without its free pages, and empties its log. A PostgreSQL server reuses such
    /// space by itself. Returns whether anything may have been left.
    ///
    /// # Errors
    /// Returns an error where the file could not be written anew. It is tried again at the next
    /// start.
    pub async fn erase_plain_values(&self) -> Result<bool, LedgerError> {
        let sql = "SELECT 1 FROM installation_secret WHERE has_plain_remains = TRUE";
        let noted = self.read((), move |tx, ()| Box::pin(tx.first(sql, &[])));
        if noted.await?.is_none() {
            return Ok(false);
        }
        if let Self::File(writer) = self {
            writer.rewrite().await?;
        }
        self.write((), |tx, ()| {
            Box::pin(async move {
                let sql = "UPDATE installation_secret SET has_plain_remains = FALSE";
                tx.execute(sql, &[]).await.map(drop)
            })
        })
        .await?;
        Ok(true)
    }
}

impl SqlTransaction {
    /// Notes that this transaction replaces a plain value by its sealed form. The plain bytes may
    /// still be in the file, until [`Installation::erase_plain_values`] has run.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn note_plain_value(&self) -> Result<(), LedgerError> {
        let sql = "UPDATE installation_secret SET has_plain_remains = TRUE";
        self.execute(sql, &[]).await.map(drop)
    }
}

async fn replace(
    tx: &SqlTransaction,
    name: &str,
    from: &[u8],
    to: &[u8],
) -> Result<bool, LedgerError> {
    let sql = "UPDATE installation SET value = $1 WHERE name = $2 AND value = $3";
    Ok(tx.execute(sql, &[&to, &name, &from]).await? == 1)
}

async fn read_check(tx: &SqlTransaction) -> Result<Option<String>, LedgerError> {
    let sql = "SELECT check_value FROM installation_secret";
    let row = tx.first(sql, &[]).await?;
    row.map(|row| row.get(0)).transpose()
}
