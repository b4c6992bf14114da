//! Checks that one card buys no more seats of a show than the show allows.

use fairgate_databases::{NamedLock, SqlTransaction};
use fairgate_model::orders::Order;

use super::rows::{Result, from_json, text};
use super::{exchange_rows, lock};

/// Locks the card that pays for an order. Returns true if this order and the other orders paid with
/// the card have more seats together than the show allows for one card. For an exchange, also locks
/// and checks the cards that bought the old seats. Until this transaction ends, no other
/// transaction checks these cards for this show.
pub(super) async fn over_card_limit(
    tx: &SqlTransaction,
    order: &Order,
    card: Option<&str>,
) -> Result<bool> {
    let sql = "SELECT (s.document ->> 'seats_per_card')::bigint, \
         (SELECT COALESCE(json_agg(card)::text, '[]') FROM order_cards WHERE order_id = $2) \
         FROM shows s WHERE s.show = $1";
    let with = (order.show.as_str(), order.id.as_str());
    let Some(row) = tx.first(sql, &[&with.0, &with.1]).await? else {
        return Ok(false);
    };
    let Some(limit) = row.get::<Option<i64>>(0)? else {
        return Ok(false);
    };
    let mut cards: Vec<String> = from_json(text(&row, 1)?)?;
    cards.extend(card.map(str::to_owned));
    // All transactions lock cards in the same order, so two of them cannot each wait for a card
    // that the other has locked.
    cards.sort_unstable();
    cards.dedup();
    let own = i64::try_from(exchange_rows::seats_when_paid(tx, order).await?).unwrap_or(i64::MAX);
    for card in cards {
        let card_of_show = format!("{} {card}", with.0);
        tx.lock(&[NamedLock::alone(lock::CARD, &card_of_show)])
            .await?;
        let sql = "SELECT COUNT(DISTINCT c.seat) FROM order_cards p JOIN claims c ON c.order_id = p.order_id \
             WHERE p.card = $1 AND c.show = $2 AND p.order_id <> $3 \
             AND NOT EXISTS (SELECT 1 FROM exchanges e WHERE e.successor = $3 AND e.order_id = p.order_id)";
        let row = tx.query_one(sql, &[&card, &with.0, &with.1]).await?;
        if row.get::<i64>(0)?.saturating_add(own) > limit {
            return Ok(true);
        }
    }
    Ok(false)
}
