//! The steps of a migration, which make and change tables.

use super::{SqlDialect, for_sqlite};

/// One migration step. A released step is never edited. New steps are appended.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    sqlite: Option<&'static str>,
    postgres: Option<&'static str>,
    is_translated: bool,
}

impl Migration {
    /// Makes a step from separate SQL for each database.
    #[must_use]
    pub const fn of_each(sqlite: &'static str, postgres: &'static str) -> Self {
        Self {
            sqlite: Some(sqlite),
            postgres: Some(postgres),
            is_translated: false,
        }
    }

    /// Makes a step that only SQLite needs.
    #[must_use]
    pub const fn of_sqlite(sqlite: &'static str) -> Self {
        Self {
            sqlite: Some(sqlite),
            postgres: None,
            is_translated: false,
        }
    }

    /// Makes a step that only PostgreSQL needs.
    #[must_use]
    pub const fn of_postgres(postgres: &'static str) -> Self {
        Self {
            sqlite: None,
            postgres: Some(postgres),
            is_translated: false,
        }
    }

    /// Makes a step from one SQL text, written for PostgreSQL. For SQLite the types are translated.
    #[must_use]
    pub const fn of_both(sql: &'static str) -> Self {
        Self {
            is_translated: true,
            ..Self::of_each(sql, sql)
        }
    }

    /// Returns the version of a database that has all of `steps`. The version is the number of
    /// steps that exist for this dialect.
    #[must_use]
    pub fn version_of(dialect: SqlDialect, steps: &[Self]) -> i64 {
        let of_dialect = steps.iter().filter(|step| match dialect {
            SqlDialect::Sqlite => step.sqlite.is_some(),
            SqlDialect::Postgres => step.postgres.is_some(),
        });
        i64::try_from(of_dialect.count()).unwrap_or(i64::MAX)
    }

    /// Returns the SQL of the steps that exist for one dialect, in order.
    pub(crate) fn steps(dialect: SqlDialect, steps: &[Self]) -> Vec<String> {
        let sql_of = |step: &Self| match dialect {
            SqlDialect::Sqlite if step.is_translated => step.sqlite.map(for_sqlite),
            SqlDialect::Sqlite => step.sqlite.map(str::to_owned),
            SqlDialect::Postgres => step.postgres.map(str::to_owned),
        };
        steps.iter().filter_map(sql_of).collect()
    }
}
