-- The seat outbox is numbered by show. One writer makes the rows, so the order of insertion is that of the commits.
CREATE TABLE seat_rows (
    show TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    PRIMARY KEY (show, number)
) STRICT, WITHOUT ROWID;
INSERT INTO seat_rows (show, number, kind, order_id)
    SELECT o.show, ROW_NUMBER() OVER (PARTITION BY o.show ORDER BY s.seq), s.kind, s.order_id
    FROM seat_outbox s JOIN orders o ON o.order_id = s.order_id;
DROP TABLE seat_outbox;
ALTER TABLE seat_rows RENAME TO seat_outbox;

-- How far each show's rows are numbered, and how far they are delivered.
CREATE TABLE seat_marks (
    show TEXT PRIMARY KEY,
    numbered INTEGER NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO seat_marks (show, numbered, delivered)
    SELECT show, MAX(number), MAX(number) FROM seat_outbox GROUP BY show;
CREATE INDEX seats_undelivered ON seat_marks (show) WHERE numbered > delivered;

-- Grows with every change of a venue, a show or the coverage.
CREATE TABLE catalogue_version (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL
) STRICT;
INSERT INTO catalogue_version (one, version) VALUES (1, 0);
