-- A call under an Idempotency-Key is written down before it is carried out. Until it is answered its status is 0, and it is
-- lent to a node until a moment; once that is over it may be begun again. A row without that moment is answered, as all
-- rows from before are.
ALTER TABLE kept_answers ADD COLUMN lent_to BIGINT;
ALTER TABLE kept_answers ADD COLUMN lent_until BIGINT;

-- The scanner and its key, as one digest: the same scan again is told from another one.
ALTER TABLE tickets ADD COLUMN scanned_by BYTEA;
