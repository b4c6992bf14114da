-- Every card that paid for an order, or for what was exchanged for it: an order counts for all of them.
CREATE TABLE order_cards (
    order_id TEXT NOT NULL,
    card TEXT NOT NULL,
    PRIMARY KEY (order_id, card)
) STRICT, WITHOUT ROWID;
CREATE INDEX orders_of_card ON order_cards (card);

INSERT INTO order_cards (order_id, card) SELECT order_id, card FROM payments WHERE card IS NOT NULL;

DROP INDEX payments_of_card;
ALTER TABLE payments DROP COLUMN card;
