-- Booking's tables. Times are milliseconds since the epoch; amounts are minor units; ids are text.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE venues (
    venue TEXT NOT NULL,
    version BIGINT NOT NULL,
    plan TEXT NOT NULL,
    digest BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (venue, version)
);

CREATE TABLE shows (
    show TEXT PRIMARY KEY,
    document JSONB NOT NULL,
    plan_version BIGINT NOT NULL,
    incarnation BIGINT NOT NULL DEFAULT 0,
    updated_at BIGINT NOT NULL
);

CREATE TABLE coverage (
    position BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    room TEXT NOT NULL,
    pattern TEXT NOT NULL
);

-- Grows with every change of a venue, a show or the coverage; its one row is also what orders those changes.
CREATE TABLE catalogue_version (
    one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one),
    version BIGINT NOT NULL DEFAULT 0
);
INSERT INTO catalogue_version DEFAULT VALUES;

CREATE TABLE orders (
    order_id TEXT PRIMARY KEY,
    show TEXT NOT NULL,
    hold TEXT NOT NULL,
    visitor BYTEA NOT NULL,
    room TEXT NOT NULL,
    buyer_name TEXT NOT NULL,
    buyer_email TEXT NOT NULL,
    currency TEXT NOT NULL,
    total BIGINT NOT NULL,
    items TEXT NOT NULL,
    plan_version BIGINT NOT NULL,
    payment TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    pay_until BIGINT NOT NULL,
    claim_until BIGINT NOT NULL
);
CREATE INDEX orders_due ON orders (claim_until) WHERE state = 'pending';
CREATE INDEX orders_of_show ON orders (show, state);

-- The final arbiter: a cell of a show has at most one order.
CREATE TABLE claims (
    show TEXT NOT NULL,
    seat BIGINT NOT NULL,
    leg BIGINT NOT NULL,
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    visitor BYTEA NOT NULL,
    PRIMARY KEY (show, seat, leg)
);
CREATE INDEX claims_of_visitor ON claims (show, visitor);
CREATE INDEX claims_of_order ON claims (order_id);

CREATE TABLE order_history (
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    step BIGINT NOT NULL,
    at BIGINT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (order_id, step)
);

CREATE TABLE payments (
    payment TEXT PRIMARY KEY,
    order_id TEXT NOT NULL UNIQUE REFERENCES orders (order_id),
    provider TEXT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    state TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- What the sandbox provider remembers; it stands for the provider's own records.
CREATE TABLE sandbox_payments (
    payment TEXT PRIMARY KEY,
    state TEXT NOT NULL
);

CREATE TABLE provider_events (
    position BIGINT GENERATED ALWAYS AS IDENTITY,
    provider TEXT NOT NULL,
    event TEXT NOT NULL,
    body BYTEA NOT NULL,
    received_at BIGINT NOT NULL,
    settled_at BIGINT,
    outcome TEXT,
    PRIMARY KEY (provider, event)
);
CREATE INDEX events_unsettled ON provider_events (received_at, position) WHERE settled_at IS NULL;

-- Ids are drawn while transactions run, numbers are given by show once rows are committed. A row has its own hold and
-- seats, so that what its order does later does not change it.
CREATE TABLE seat_outbox (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    show TEXT NOT NULL,
    number BIGINT,
    kind TEXT NOT NULL,
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    hold TEXT NOT NULL,
    visitor BYTEA NOT NULL,
    items TEXT NOT NULL
);
CREATE UNIQUE INDEX seats_numbered ON seat_outbox (show, number) WHERE number IS NOT NULL;
CREATE INDEX seats_unnumbered ON seat_outbox (id) WHERE number IS NULL;

-- How far each show's rows are numbered, and how far they are delivered.
CREATE TABLE seat_marks (
    show TEXT PRIMARY KEY,
    numbered BIGINT NOT NULL,
    delivered BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX seats_undelivered ON seat_marks (show) WHERE numbered > delivered;

CREATE TABLE effects (
    effect BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    kind TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NOT NULL,
    done_at BIGINT,
    note TEXT,
    UNIQUE (order_id, kind)
);
CREATE INDEX effects_due ON effects (due_at) WHERE done_at IS NULL;

-- Who has finished. Numbers are given once rows are committed, so that a reader behind a cursor misses nobody.
CREATE TABLE finished (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    number BIGINT,
    show TEXT NOT NULL,
    visitor BYTEA NOT NULL
);
CREATE SEQUENCE finished_numbers;
CREATE INDEX finished_numbered ON finished (number) WHERE number IS NOT NULL;
CREATE INDEX finished_unnumbered ON finished (id) WHERE number IS NULL;

CREATE TABLE tickets (
    ticket TEXT PRIMARY KEY,
    position BIGINT GENERATED ALWAYS AS IDENTITY,
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    show TEXT NOT NULL,
    label TEXT NOT NULL,
    legs TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    scanned_at BIGINT
);
CREATE INDEX tickets_of_order ON tickets (order_id, position);

CREATE TABLE kept_answers (
    scope BYTEA NOT NULL,
    key TEXT NOT NULL,
    asked BYTEA NOT NULL,
    status BIGINT NOT NULL,
    body TEXT NOT NULL,
    kept_at BIGINT NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX answers_by_age ON kept_answers (kept_at);
