-- Stripe, late money, refunds, and what the reconciler looks for.

-- What the provider calls a payment, what its part of the page needs, the card's fingerprint, what went back, and what
-- was last asked of the provider: capture, void or refund.
ALTER TABLE payments
    ADD COLUMN reference TEXT,
    ADD COLUMN client TEXT,
    ADD COLUMN card TEXT,
    ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN owes TEXT,
    ADD COLUMN read_due BIGINT NOT NULL DEFAULT 0;
UPDATE payments SET owes = (SELECT kind FROM effects WHERE effects.order_id = payments.order_id ORDER BY effect DESC LIMIT 1);
CREATE INDEX payments_of_card ON payments (card) WHERE card IS NOT NULL;
CREATE INDEX payments_unread ON payments (read_due) WHERE state IN ('created', 'declined', 'authorised');
CREATE INDEX payments_by_change ON payments (updated_at);

ALTER TABLE provider_events
    ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN due_at BIGINT NOT NULL DEFAULT 0;

DROP INDEX orders_due;
CREATE INDEX orders_due ON orders (claim_until) WHERE state IN ('pending', 'awaiting_consent');
CREATE INDEX orders_waiting ON orders (state) WHERE state IN ('pending', 'awaiting_consent', 'confirmed');

-- Money that came after its order had expired. hold and items are the seats that it was given or offered.
CREATE TABLE late_money (
    order_id TEXT PRIMARY KEY REFERENCES orders (order_id),
    since BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    hold TEXT,
    items TEXT,
    made_for TEXT,
    until BIGINT,
    outcome TEXT,
    decided_at BIGINT
);
CREATE INDEX late_money_due ON late_money (due_at) WHERE outcome IS NULL;
