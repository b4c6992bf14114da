-- Booking's tables. Times are milliseconds since the epoch; amounts are minor units; ids are text.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE venues (
    venue TEXT NOT NULL,
    version INTEGER NOT NULL,
    plan TEXT NOT NULL,
    digest BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (venue, version)
) STRICT;

CREATE TABLE shows (
    show TEXT PRIMARY KEY,
    document TEXT NOT NULL,
    plan_version INTEGER NOT NULL,
    incarnation INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE coverage (
    position INTEGER PRIMARY KEY,
    room TEXT NOT NULL,
    pattern TEXT NOT NULL
) STRICT;

CREATE TABLE orders (
    order_id TEXT PRIMARY KEY,
    show TEXT NOT NULL,
    hold TEXT NOT NULL,
    visitor BLOB NOT NULL,
    room TEXT NOT NULL,
    buyer_name TEXT NOT NULL,
    buyer_email TEXT NOT NULL,
    currency TEXT NOT NULL,
    total INTEGER NOT NULL,
    items TEXT NOT NULL,
    plan_version INTEGER NOT NULL,
    payment TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    pay_until INTEGER NOT NULL,
    claim_until INTEGER NOT NULL
) STRICT;
CREATE INDEX orders_due ON orders (claim_until) WHERE state = 'pending';
CREATE INDEX orders_of_show ON orders (show, state);

-- The final arbiter: a cell of a show has at most one order.
CREATE TABLE claims (
    show TEXT NOT NULL,
    seat INTEGER NOT NULL,
    leg INTEGER NOT NULL,
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    visitor BLOB NOT NULL,
    PRIMARY KEY (show, seat, leg)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_of_visitor ON claims (show, visitor);
CREATE INDEX claims_of_order ON claims (order_id);

CREATE TABLE order_history (
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (order_id, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE payments (
    payment TEXT PRIMARY KEY,
    order_id TEXT NOT NULL UNIQUE REFERENCES orders (order_id),
    provider TEXT NOT NULL,
    amount INTEGER NOT NULL,
    currency TEXT NOT NULL,
    state TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- What the sandbox provider remembers; it stands for the provider's own records.
CREATE TABLE sandbox_payments (
    payment TEXT PRIMARY KEY,
    state TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE provider_events (
    provider TEXT NOT NULL,
    event TEXT NOT NULL,
    body BLOB NOT NULL,
    received_at INTEGER NOT NULL,
    settled_at INTEGER,
    outcome TEXT,
    PRIMARY KEY (provider, event)
) STRICT;
CREATE INDEX events_unsettled ON provider_events (received_at) WHERE settled_at IS NULL;

-- Rows are numbered in the order of their commits: one writer makes them.
CREATE TABLE seat_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    order_id TEXT NOT NULL REFERENCES orders (order_id)
) STRICT;

CREATE TABLE effects (
    effect INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    kind TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL,
    done_at INTEGER,
    note TEXT,
    UNIQUE (order_id, kind)
) STRICT;
CREATE INDEX effects_due ON effects (due_at) WHERE done_at IS NULL;

-- Who has finished, in the order of finishing.
CREATE TABLE finished (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    show TEXT NOT NULL,
    visitor BLOB NOT NULL
) STRICT;

CREATE TABLE tickets (
    ticket TEXT PRIMARY KEY,
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    show TEXT NOT NULL,
    label TEXT NOT NULL,
    legs TEXT NOT NULL,
    issued_at INTEGER NOT NULL,
    scanned_at INTEGER
) STRICT;
CREATE INDEX tickets_of_order ON tickets (order_id);

CREATE TABLE kept_answers (
    scope BLOB NOT NULL,
    key TEXT NOT NULL,
    asked BLOB NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    kept_at INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_age ON kept_answers (kept_at);
