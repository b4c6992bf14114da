-- Tickets that were given back, and the money that goes back for them: each refund is a machine of its own.
ALTER TABLE tickets ADD COLUMN voided_at BIGINT;

CREATE TABLE refunds (
    refund TEXT PRIMARY KEY,
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    nth BIGINT NOT NULL,
    items TEXT NOT NULL,
    amount BIGINT NOT NULL,
    fee BIGINT NOT NULL,
    reason TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NOT NULL,
    done_at BIGINT,
    failed_at BIGINT,
    note TEXT,
    UNIQUE (order_id, nth)
);
CREATE INDEX refunds_due ON refunds (due_at) WHERE done_at IS NULL;
CREATE INDEX refunds_failed ON refunds (order_id) WHERE failed_at IS NOT NULL AND done_at IS NULL;

-- Shows that were cancelled or postponed.
CREATE TABLE show_fates (
    show TEXT PRIMARY KEY REFERENCES shows (show),
    fate TEXT NOT NULL,
    refunds_until BIGINT,
    at BIGINT NOT NULL
);

-- What the sandbox provider remembers of the money it gave back in parts.
CREATE TABLE sandbox_refunds (
    refund TEXT PRIMARY KEY,
    payment TEXT NOT NULL,
    amount BIGINT NOT NULL
);
CREATE INDEX sandbox_refunds_of_payment ON sandbox_refunds (payment);
