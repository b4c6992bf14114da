-- What goes once it is old is found without looking at everything.

-- How far each show's rows of the seat outbox are deleted, and how far they were delivered at a moment: what was delivered
-- by then may go when that moment is long enough ago.
ALTER TABLE seat_marks ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE seat_marks ADD COLUMN noted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE seat_marks ADD COLUMN noted_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX seats_to_prune ON seat_marks (noted_at) WHERE delivered > pruned;

-- The same for lists that know no times: up to which number there were rows at a moment.
CREATE TABLE retention_marks (
    list TEXT PRIMARY KEY,
    upto INTEGER NOT NULL,
    noted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX waiters_by_end ON waiters (ended_at) WHERE ended_at IS NOT NULL;
