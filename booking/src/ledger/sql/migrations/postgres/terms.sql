-- Terms of sale as numbered versions: a row never changes once it is written. An order keeps the version that it was made
-- under. What was sold before terms had numbers keeps its show's terms as version 1, with an exchange as it was then: until
-- the show begins, for nothing, and the whole difference goes back. What is sold from now on goes by the show's document.
CREATE TABLE terms (
    show TEXT NOT NULL REFERENCES shows (show),
    version BIGINT NOT NULL,
    terms TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (show, version)
);

WITH present AS (
    SELECT show, updated_at, jsonb_build_object(
        'currency', COALESCE(document ->> 'currency', 'EUR'),
        'prices', document -> 'prices',
        'refunds', COALESCE(document -> 'refunds', '[]'::jsonb),
        'starts_at', document -> 'starts_at') AS terms
    FROM shows)
INSERT INTO terms (show, version, terms, at)
SELECT show, 2, terms::text, updated_at FROM present
UNION ALL
SELECT show, 1, (terms || '{"exchange": {"until_h": 0, "fee": 0, "cheaper": "refund"}}'::jsonb)::text, updated_at FROM present;

-- The newest version of a show's terms; the version that an order was made under; small differences of exchanges that were
-- not charged and count in the order's later sums.
ALTER TABLE shows ADD COLUMN terms BIGINT NOT NULL DEFAULT 0;
UPDATE shows SET terms = 2;
ALTER TABLE orders ADD COLUMN terms BIGINT NOT NULL DEFAULT 1;
ALTER TABLE orders ADD COLUMN let_go BIGINT NOT NULL DEFAULT 0;

-- What an exchange costs beside the difference, and what goes back; what was begun before has neither.
ALTER TABLE exchanges ADD COLUMN fee BIGINT NOT NULL DEFAULT 0;
ALTER TABLE exchanges ADD COLUMN back BIGINT;
