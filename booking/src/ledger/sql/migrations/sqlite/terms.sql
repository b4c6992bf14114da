-- Terms of sale as numbered versions: a row never changes once it is written. An order keeps the version that it was made
-- under. What was sold before terms had numbers keeps its show's terms as version 1, with an exchange as it was then: until
-- the show begins, for nothing, and the whole difference goes back. What is sold from now on goes by the show's document.
CREATE TABLE terms (
    show TEXT NOT NULL REFERENCES shows (show),
    version INTEGER NOT NULL,
    terms TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (show, version)
) STRICT, WITHOUT ROWID;

INSERT INTO terms (show, version, terms, at)
SELECT show, 2, json_object(
    'currency', COALESCE(json_extract(document, '$.currency'), 'EUR'),
    'prices', json_extract(document, '$.prices'),
    'refunds', COALESCE(json_extract(document, '$.refunds'), json_array()),
    'starts_at', json_extract(document, '$.starts_at')), updated_at
FROM shows;
INSERT INTO terms (show, version, terms, at)
SELECT show, 1, json_set(terms, '$.exchange', json('{"until_h":0,"fee":0,"cheaper":"refund"}')), at FROM terms;

-- The newest version of a show's terms; the version that an order was made under; small differences of exchanges that were
-- not charged and count in the order's later sums.
ALTER TABLE shows ADD COLUMN terms INTEGER NOT NULL DEFAULT 0;
UPDATE shows SET terms = 2;
ALTER TABLE orders ADD COLUMN terms INTEGER NOT NULL DEFAULT 1;
ALTER TABLE orders ADD COLUMN let_go INTEGER NOT NULL DEFAULT 0;

-- What an exchange costs beside the difference, and what goes back; what was begun before has neither.
ALTER TABLE exchanges ADD COLUMN fee INTEGER NOT NULL DEFAULT 0;
ALTER TABLE exchanges ADD COLUMN back INTEGER;
