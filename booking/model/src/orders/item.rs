//! A seat of a show as an order has it.

use super::OrderItem;
use crate::holds::Held;
use crate::shows::Show;

/// A seat with the words that stand on its ticket.
#[must_use]
pub fn named(show: &Show, held: Held, amount: i64) -> OrderItem {
    let names = show.category_names(held.seat);
    OrderItem {
        label: show.label(held.seat).to_owned(),
        category: names.map_or("", |names| names.label).to_owned(),
        category_key: names.map_or("", |names| names.key).to_owned(),
        traveller: None,
        held,
        amount,
    }
}
