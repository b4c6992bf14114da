//! The gateway's tables in PostgreSQL. A migration that was once released is never edited; the next one is added.

/// `MIGRATIONS[i]` is version `i + 1`.
pub(super) const MIGRATIONS: &[&str] = &["
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
"];
