-- The waitlist. A party's number is where it stands; one that let an offer pass gets a new one, behind all others.
CREATE TABLE waiters (
    waiter TEXT PRIMARY KEY,
    show TEXT NOT NULL,
    number BIGINT NOT NULL,
    visitor BYTEA NOT NULL,
    room TEXT NOT NULL,
    party TEXT NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    offers BIGINT NOT NULL DEFAULT 0,
    missed BIGINT NOT NULL DEFAULT 0,
    hold TEXT,
    hold_until BIGINT,
    hold_life BIGINT,
    ended_at BIGINT,
    reason TEXT
);
CREATE UNIQUE INDEX waiters_in_line ON waiters (show, number);
CREATE UNIQUE INDEX waiters_waiting ON waiters (visitor, show) WHERE ended_at IS NULL;
CREATE INDEX waiters_by_show ON waiters (show, number) WHERE ended_at IS NULL;
CREATE INDEX waiters_ended ON waiters (visitor, show, ended_at) WHERE ended_at IS NOT NULL;

-- The last number of each show.
CREATE TABLE waiter_marks (
    show TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);
