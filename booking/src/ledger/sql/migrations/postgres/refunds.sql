-- Refunds that the provider could not carry out, and captured payments that may have gone back since.
ALTER TABLE effects ADD COLUMN failed_at BIGINT;
CREATE INDEX effects_failed ON effects (order_id) WHERE failed_at IS NOT NULL AND done_at IS NULL;
CREATE INDEX payments_taken ON payments (read_due) WHERE state = 'captured';
