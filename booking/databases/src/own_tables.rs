//! The tables of the whole installation, which belong to no single crate.

use crate::sql::{Migration, now_ms};

/// The migrations of these tables, in order. A released step is never edited. New steps are
/// appended.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration::of_each(SQLITE_TABLES, POSTGRES_TABLES),
    Migration::of_postgres(LIFE_TABLE),
    // When a lease was taken or renewed. If that lies in the future, the clock was ahead.
    Migration::of_both("ALTER TABLE leases ADD COLUMN taken_at BIGINT NOT NULL DEFAULT 0"),
    Migration::of_both(SECRET_TABLE),
    Migration::of_both(COUNTER_TABLES),
    Migration::of_both(ORDERS_WITHOUT_PROVIDER),
];

/// The kind of the lock that a writing transaction of a process with leases shares, and that a
/// process takes alone before it takes a lease from another process. No other lock has this kind.
pub(crate) const WRITERS_LOCK: i32 = 9_000;

const SQLITE_TABLES: &str = "
CREATE TABLE installation (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO installation (name, value) VALUES ('ledger_id', randomblob(32));
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

const POSTGRES_TABLES: &str = "
CREATE TABLE installation (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);
INSERT INTO installation (name, value)
    VALUES ('ledger_id', decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until BIGINT NOT NULL
);
";

/// A table with one row once a process has sealed something: a value that only the installation's
/// secret opens, and whether plain values of an earlier version may be left in the file.
const SECRET_TABLE: &str = "CREATE TABLE installation_secret (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    check_value TEXT NOT NULL,
    has_plain_remains BOOLEAN NOT NULL DEFAULT FALSE
);";

/// A table with one random value, which identifies one life of the server. A life ends with a
/// crash of the server or the promotion of a replica. Both empty this table, because it is
/// unlogged. An orderly restart does not empty it.
const LIFE_TABLE: &str = "CREATE UNLOGGED TABLE server_life (
    one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one),
    life TEXT NOT NULL DEFAULT gen_random_uuid()::text
);";

/// How far the ledger got, and how often it was found to be behind what a place outside it
/// remembers.
const COUNTER_TABLES: &str = "
CREATE TABLE ledger_counter (
    one INTEGER PRIMARY KEY CHECK (one = 1), counter BIGINT NOT NULL, raised_at BIGINT NOT NULL
);
INSERT INTO ledger_counter (one, counter, raised_at) VALUES (1, 0, 0);
CREATE TABLE ledger_set_backs (
    counter BIGINT PRIMARY KEY, noticed_at BIGINT NOT NULL, lacking BIGINT NOT NULL,
    last_commit_at BIGINT NOT NULL, is_restored BOOLEAN NOT NULL
);
";

/// How many orders got tickets of which no payment provider knows, and how many of them are lost at
/// least after the ledger went back (NULL: not known).
const ORDERS_WITHOUT_PROVIDER: &str = "
ALTER TABLE ledger_counter ADD COLUMN orders_without_provider BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger_set_backs ADD COLUMN orders_lost BIGINT;
";

/// Raises the ledger's counter by `$1` and the number of orders without a provider by `$2`, and
/// returns the row.
pub(crate) const RAISE_COUNTER: &str = concat!(
    "UPDATE ledger_counter SET counter = counter + $1, \
     orders_without_provider = orders_without_provider + $2, raised_at = ",
    now_ms!(),
    " WHERE one = 1 RETURNING counter, orders_without_provider, raised_at"
);
