-- Exchanges: an order that was made for seats that another one's are given for. items are the new seats, whole; given are
-- those they are for.
CREATE TABLE exchanges (
    successor TEXT PRIMARY KEY REFERENCES orders (order_id),
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    items TEXT NOT NULL,
    given TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    done_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX exchanges_of ON exchanges (order_id);

-- What goes back of seats that an earlier order's money pays for comes from that order: a part of the refund named.
ALTER TABLE refunds ADD COLUMN part_of TEXT;
CREATE INDEX refunds_in_parts ON refunds (part_of) WHERE part_of IS NOT NULL;
