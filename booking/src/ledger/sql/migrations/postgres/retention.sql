-- What goes once it is old is found without looking at everything.

-- How far each show's rows of the seat outbox are deleted, and how far they were delivered at a moment: what was delivered
-- by then may go when that moment is long enough ago.
ALTER TABLE seat_marks
    ADD COLUMN pruned BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN noted BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN noted_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX seats_to_prune ON seat_marks (noted_at) WHERE delivered > pruned;

-- The same for lists that know no times: up to which number there were rows at a moment.
CREATE TABLE retention_marks (
    list TEXT PRIMARY KEY,
    upto BIGINT NOT NULL,
    noted_at BIGINT NOT NULL
);

CREATE INDEX waiters_by_end ON waiters (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX events_by_position ON provider_events (position);
