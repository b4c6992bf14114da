//! Named locks. Two transactions that take the same lock run one after the other, even if they
//! change no common row. They can run together only if both take the lock as a shared lock.
//!
//! On PostgreSQL these are advisory locks, and each lock ends with its transaction. SQLite has one
//! writer, so it needs no locks.

use super::SqlTransaction;
use crate::LedgerError;
use crate::sql::{SqlDialect, SqlValue, ToSqlValue};

/// One lock. Its name is a kind and a word, or a kind and a number.
#[derive(Debug, Clone, Copy)]
pub struct NamedLock<'a> {
    kind: i32,
    name: LockName<'a>,
    is_shared: bool,
}

#[derive(Debug, Clone, Copy)]
enum LockName<'a> {
    /// A word, which is hashed. Two words with the same hash share one lock.
    Word(&'a str),
    Number(i32),
}

impl<'a> NamedLock<'a> {
    /// Names a lock by a kind and a word. Only one transaction at a time may hold it.
    #[must_use]
    pub fn alone(kind: i32, word: &'a str) -> Self {
        Self {
            kind,
            name: LockName::Word(word),
            is_shared: false,
        }
    }

    /// Names a lock by a kind and a word. Several transactions may hold it together, but not while
    /// one holds it alone.
    #[must_use]
    pub fn shared(kind: i32, word: &'a str) -> Self {
        Self {
            is_shared: true,
            ..Self::alone(kind, word)
        }
    }

    /// Names a lock by a kind and a number. Only one transaction at a time may hold it.
    #[must_use]
    pub fn numbered(kind: i32, number: i32) -> Self {
        Self {
            kind,
            name: LockName::Number(number),
            is_shared: false,
        }
    }
}

impl ToSqlValue for LockName<'_> {
    fn to_sql_value(&self) -> SqlValue<'_> {
        match self {
            Self::Word(word) => SqlValue::Text(word),
            Self::Number(number) => SqlValue::Number((*number).into()),
        }
    }
}

impl SqlTransaction {
    /// Waits for the locks in the given order, in one round trip, and holds them until the
    /// transaction ends.
    ///
    /// # Errors
    /// As [`SqlTransaction::query`]. The wait for a lock has a time limit.
    pub async fn lock(&self, locks: &[NamedLock<'_>]) -> Result<(), LedgerError> {
        if self.dialect() == SqlDialect::Sqlite || locks.is_empty() {
            return Ok(());
        }
        let mut sql = String::from("SELECT ");
        let mut values: Vec<&(dyn ToSqlValue + Sync)> = Vec::with_capacity(2 * locks.len());
        for lock in locks {
            if !values.is_empty() {
                sql.push_str(", ");
            }
            let (kind_at, name_at) = (values.len() + 1, values.len() + 2);
            let shared = if lock.is_shared { "_shared" } else { "" };
            let name = match lock.name {
                LockName::Word(_) => format!("hashtext(${name_at})"),
                LockName::Number(_) => format!("${name_at}"),
            };
            sql.push_str(&format!(
                "pg_advisory_xact_lock{shared}(${kind_at}, {name})"
            ));
            values.push(&lock.kind);
            values.push(&lock.name);
        }
        sql.push_str(", 1");
        self.query(&sql, &values).await.map(drop)
    }

    /// Waits for the lock of each word. Takes all these locks in one statement, in the order of the
    /// words' bytes, so that two transactions that take several never wait for each other. Holds
    /// them until the transaction ends.
    ///
    /// # Errors
    /// As [`SqlTransaction::query`].
    pub async fn lock_each(&self, kind: i32, words: &[String]) -> Result<(), LedgerError> {
        if self.dialect() == SqlDialect::Sqlite || words.is_empty() {
            return Ok(());
        }
        let mut words = words.to_vec();
        words.sort_unstable();
        let sql =
            "SELECT pg_advisory_xact_lock($1, hashtext(word)), 1 FROM unnest($2::text[]) AS word";
        self.query(sql, &[&kind, &words]).await.map(drop)
    }
}
