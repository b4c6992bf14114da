-- Stripe, late money, refunds, and what the reconciler looks for.

-- What the provider calls a payment, what its part of the page needs, the card's fingerprint, what went back, and what
-- was last asked of the provider: capture, void or refund.
ALTER TABLE payments ADD COLUMN reference TEXT;
ALTER TABLE payments ADD COLUMN client TEXT;
ALTER TABLE payments ADD COLUMN card TEXT;
ALTER TABLE payments ADD COLUMN refunded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN owes TEXT;
ALTER TABLE payments ADD COLUMN read_due INTEGER NOT NULL DEFAULT 0;
UPDATE payments SET owes = (SELECT kind FROM effects WHERE effects.order_id = payments.order_id ORDER BY effect DESC LIMIT 1);
CREATE INDEX payments_of_card ON payments (card) WHERE card IS NOT NULL;
CREATE INDEX payments_unread ON payments (read_due) WHERE state IN ('created', 'declined', 'authorised');
CREATE INDEX payments_by_change ON payments (updated_at);

ALTER TABLE provider_events ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE provider_events ADD COLUMN due_at INTEGER NOT NULL DEFAULT 0;

-- A row has its own hold and seats: those of its order may be others when it is delivered.
ALTER TABLE seat_outbox ADD COLUMN hold TEXT;
ALTER TABLE seat_outbox ADD COLUMN items TEXT;
UPDATE seat_outbox SET (hold, items) = (SELECT hold, items FROM orders WHERE orders.order_id = seat_outbox.order_id);

DROP INDEX orders_due;
CREATE INDEX orders_due ON orders (claim_until) WHERE state IN ('pending', 'awaiting_consent');
CREATE INDEX orders_waiting ON orders (state) WHERE state IN ('pending', 'awaiting_consent', 'confirmed');

-- Money that came after its order had expired. hold and items are the seats that it was given or offered.
CREATE TABLE late_money (
    order_id TEXT PRIMARY KEY REFERENCES orders (order_id),
    since INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    hold TEXT,
    items TEXT,
    made_for TEXT,
    until INTEGER,
    outcome TEXT,
    decided_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX late_money_due ON late_money (due_at) WHERE outcome IS NULL;
