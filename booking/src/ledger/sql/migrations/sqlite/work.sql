-- What waits is found without looking at everything.

-- The payment that an event is about: what was told of a payment in time keeps its order from expiring.
ALTER TABLE provider_events ADD COLUMN payment TEXT;
UPDATE provider_events SET payment = (SELECT p.payment FROM payments p WHERE instr(CAST(provider_events.body AS TEXT), '"' || p.payment || '"') > 0 LIMIT 1)
    WHERE settled_at IS NULL;
CREATE INDEX events_of_payment ON provider_events (payment, received_at) WHERE settled_at IS NULL;

-- Shows with orders that are not done.
CREATE INDEX orders_open ON orders (show) WHERE state IN ('pending', 'awaiting_consent', 'confirmed');
