//! The gateway's tables. Never edit a step that was published. Each change adds a new step.

use fairgate_databases::Migration;

/// The SQLite tables came first and changed in several steps. The first PostgreSQL tables already
/// had the result of these steps.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration::of_each("
CREATE TABLE gw_rooms (
    room TEXT PRIMARY KEY, document TEXT NOT NULL, facts TEXT NOT NULL, version INTEGER NOT NULL,
    secret BLOB NOT NULL, created_at INTEGER NOT NULL, finished_cursor INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE gw_joins (
    room TEXT NOT NULL, number INTEGER NOT NULL, holder BLOB NOT NULL, code BLOB, joined_at INTEGER NOT NULL,
    left_at INTEGER, void INTEGER NOT NULL DEFAULT 0, done_at INTEGER,
    PRIMARY KEY (room, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX gw_joins_holder ON gw_joins (room, holder) WHERE left_at IS NULL;

CREATE TABLE gw_codes (
    room TEXT NOT NULL, code BLOB NOT NULL, used_by INTEGER, PRIMARY KEY (room, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE gw_draws (
    room TEXT PRIMARY KEY, n INTEGER NOT NULL, frozen_at INTEGER NOT NULL,
    voids INTEGER, root BLOB, signature TEXT, seed BLOB, drawn_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE gw_releases (
    room TEXT PRIMARY KEY, released INTEGER NOT NULL, remainder_u INTEGER NOT NULL, ticked_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE gw_passes (
    room TEXT NOT NULL, number INTEGER NOT NULL, rank INTEGER NOT NULL, holder BLOB NOT NULL,
    iat INTEGER NOT NULL, exp INTEGER NOT NULL, jti TEXT NOT NULL, PRIMARY KEY (room, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE gw_audit (
    room TEXT NOT NULL, seq INTEGER NOT NULL, at TEXT NOT NULL, role TEXT NOT NULL, action TEXT NOT NULL,
    detail TEXT NOT NULL, hash TEXT NOT NULL, prev TEXT NOT NULL, PRIMARY KEY (room, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE gw_samples (
    room TEXT NOT NULL, at INTEGER NOT NULL, sample TEXT NOT NULL, PRIMARY KEY (room, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE gw_keys (kid TEXT PRIMARY KEY, stored TEXT NOT NULL) STRICT, WITHOUT ROWID;
", "
CREATE TABLE gw_rooms (
    room TEXT PRIMARY KEY, document TEXT NOT NULL, facts TEXT NOT NULL, version BIGINT NOT NULL,
    secret BYTEA NOT NULL, created_at BIGINT NOT NULL, finished_cursor BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE gw_joins (
    room TEXT NOT NULL, number BIGINT NOT NULL, holder BYTEA NOT NULL, code BYTEA, joined_at BIGINT NOT NULL,
    left_at BIGINT, void BOOLEAN NOT NULL DEFAULT FALSE, done_at BIGINT,
    PRIMARY KEY (room, number)
);
CREATE UNIQUE INDEX gw_joins_holder ON gw_joins (room, holder) WHERE left_at IS NULL;
CREATE INDEX gw_joins_left ON gw_joins (room, holder) WHERE left_at IS NOT NULL;

CREATE TABLE gw_lives (
    room TEXT PRIMARY KEY, incarnation BIGINT NOT NULL, first BIGINT NOT NULL, ceiling BIGINT NOT NULL,
    begun_at BIGINT NOT NULL
);

CREATE TABLE gw_codes (
    room TEXT NOT NULL, code BYTEA NOT NULL, used_by BIGINT, PRIMARY KEY (room, code)
);

CREATE TABLE gw_draws (
    room TEXT PRIMARY KEY, n BIGINT NOT NULL, frozen_at BIGINT NOT NULL,
    voids BIGINT, root BYTEA, signature TEXT, seed BYTEA, drawn_at BIGINT
);

CREATE TABLE gw_releases (
    room TEXT PRIMARY KEY, released BIGINT NOT NULL, remainder_u BIGINT NOT NULL, ticked_at BIGINT NOT NULL,
    memory TEXT NOT NULL
);

CREATE TABLE gw_passes (
    room TEXT NOT NULL, number BIGINT NOT NULL, rank BIGINT NOT NULL, holder BYTEA NOT NULL,
    iat BIGINT NOT NULL, exp BIGINT NOT NULL, jti TEXT NOT NULL, PRIMARY KEY (room, number)
);

CREATE TABLE gw_audit (
    room TEXT NOT NULL, seq BIGINT NOT NULL, at TEXT NOT NULL, role TEXT NOT NULL, action TEXT NOT NULL,
    detail TEXT NOT NULL, hash TEXT NOT NULL, prev TEXT NOT NULL, PRIMARY KEY (room, seq)
);

CREATE TABLE gw_samples (
    room TEXT NOT NULL, at BIGINT NOT NULL, sample TEXT NOT NULL, PRIMARY KEY (room, at)
);
"),
    Migration::of_sqlite("
CREATE INDEX gw_joins_left ON gw_joins (room, holder) WHERE left_at IS NOT NULL;
"),
    Migration::of_sqlite("
CREATE TABLE gw_lives (
    room TEXT PRIMARY KEY, incarnation INTEGER NOT NULL, first INTEGER NOT NULL, ceiling INTEGER NOT NULL,
    begun_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE gw_releases ADD COLUMN memory TEXT NOT NULL DEFAULT '';
"),
    Migration::of_sqlite("
INSERT OR IGNORE INTO installation (name, value)
    SELECT 'signing_keys', CAST('[' || group_concat(stored, ',') || ']' AS BLOB) FROM gw_keys HAVING COUNT(*) > 0;
DROP TABLE gw_keys;
"),
    Migration::of_both("
ALTER TABLE gw_joins ADD COLUMN networks BYTEA;
"),
    Migration::of_both("
ALTER TABLE gw_passes ADD COLUMN stopped_at BIGINT;
ALTER TABLE gw_passes ADD COLUMN stop_cause TEXT;
ALTER TABLE gw_passes ADD COLUMN stop_note TEXT;
ALTER TABLE gw_passes ADD COLUMN stop_seq BIGINT;
CREATE INDEX gw_passes_stopped ON gw_passes (room, stop_seq) WHERE stop_seq IS NOT NULL;
ALTER TABLE gw_rooms ADD COLUMN stop_seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gw_rooms ADD COLUMN revoked BIGINT NOT NULL DEFAULT 0;
"),
    Migration::of_both("
CREATE TABLE gw_applied_rooms (room TEXT PRIMARY KEY, document TEXT NOT NULL);
"),
    // The last time that the ledger went back for which lost numbers were made void.
    Migration::of_both("
CREATE TABLE gw_set_back (counter BIGINT NOT NULL);
INSERT INTO gw_set_back (counter) VALUES (0);
"),
    // The last time that the ledger went back after which the secrets of draws were made anew.
    Migration::of_both("
CREATE TABLE gw_renewed_secrets (counter BIGINT NOT NULL);
INSERT INTO gw_renewed_secrets (counter) VALUES (0);
"),
    // The visits that ended before their passes ran out.
    Migration::of_both("
CREATE TABLE gw_ended_visits (
    room TEXT NOT NULL, number BIGINT NOT NULL, issued_s BIGINT NOT NULL, holder BYTEA NOT NULL,
    exp BIGINT NOT NULL, ended_s BIGINT NOT NULL, cause TEXT NOT NULL, stop_seq BIGINT NOT NULL,
    PRIMARY KEY (room, number, issued_s)
);
CREATE INDEX gw_ended_visits_by_seq ON gw_ended_visits (room, stop_seq);
"),
];
