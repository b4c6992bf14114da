-- Every card that paid for an order, or for what was exchanged for it: an order counts for all of them. payments.card is
-- written no more; it stays for nodes of the version before, which may still be running.
CREATE TABLE order_cards (
    order_id TEXT NOT NULL REFERENCES orders (order_id),
    card TEXT NOT NULL,
    PRIMARY KEY (order_id, card)
);
CREATE INDEX orders_of_card ON order_cards (card);

-- A card that was declined has bought nothing. Successors have the card that bought the seats they were exchanged for.
INSERT INTO order_cards (order_id, card)
SELECT order_id, card FROM payments
WHERE card IS NOT NULL AND (state <> 'declined' OR order_id IN (SELECT successor FROM exchanges));
