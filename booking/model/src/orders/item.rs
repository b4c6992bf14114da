//! Makes an order's item from a seat of a show.

use super::OrderItem;
use super::exchange::carried::CarriedMoney;
use crate::holds::HeldSeat;
use crate::shows::Show;

/// Makes the order's item for a seat, with the texts that are printed on its ticket.
#[must_use]
pub fn order_item_for_seat(show: &Show, held: HeldSeat, amount: i64) -> OrderItem {
    let names = show.category_names(held.seat);
    OrderItem {
        label: show.seat_label(held.seat).to_owned(),
        category: names.map_or("", |names| names.label).to_owned(),
        category_key: names.map_or("", |names| names.key).to_owned(),
        traveller: None,
        carried: CarriedMoney::default(),
        held,
        amount,
    }
}
