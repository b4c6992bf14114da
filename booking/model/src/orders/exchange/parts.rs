//! Finds which cells an exchange gains and which it gives up. Cells that both orders have do not
//! change.

use std::ops::Range;

use crate::holds::HeldSeat;
use crate::orders::OrderItem;

/// The cells that change in an exchange. An item without legs has no cell and only counts as one
/// seat. If both orders have a seat, both lists have equally many entries for it. The difference of
/// the two lengths is therefore the change in the number of seats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangedSeats {
    /// The cells to claim.
    pub gained: Vec<OrderItem>,
    /// The cells to free.
    pub lost: Vec<OrderItem>,
}

/// Compares the seats of two orders of one show.
#[must_use]
pub fn parts(old: &[OrderItem], new: &[OrderItem]) -> ExchangedSeats {
    let mut parts = ExchangedSeats {
        gained: Vec::new(),
        lost: Vec::new(),
    };
    let legs_of = |items: &[OrderItem], seat: u32| {
        let found = items.iter().find(|item| item.held.seat == seat);
        found.map(|item| item.held.legs.clone())
    };
    for item in new {
        let old_legs = legs_of(old, item.held.seat);
        let (gained, lost) = gained_and_lost_legs(old_legs.as_ref(), &item.held.legs);
        parts
            .gained
            .extend(gained.into_iter().map(|legs| item_over_legs(item, legs)));
        parts
            .lost
            .extend(lost.into_iter().map(|legs| item_over_legs(item, legs)));
    }
    let gone = old
        .iter()
        .filter(|item| legs_of(new, item.held.seat).is_none());
    parts.lost.extend(gone.cloned());
    parts
}

/// Returns the legs that are gained and lost on one seat. If the old order has the seat, too, empty
/// ranges make both lists equally long.
fn gained_and_lost_legs(
    old: Option<&Range<u16>>,
    new: &Range<u16>,
) -> (Vec<Range<u16>>, Vec<Range<u16>>) {
    let Some(old) = old else {
        return (vec![new.clone()], Vec::new());
    };
    let (mut gained, mut lost) = (without(new, old), without(old, new));
    let pad = new.start..new.start;
    let most = gained.len().max(lost.len()).max(1);
    gained.resize(most, pad.clone());
    lost.resize(most, pad);
    (gained, lost)
}

/// Returns the parts of `from` that are not in `removed`.
fn without(from: &Range<u16>, removed: &Range<u16>) -> Vec<Range<u16>> {
    let before = from.start..from.end.min(removed.start);
    let after = from.start.max(removed.end)..from.end;
    let mut pieces: Vec<Range<u16>> = [before, after]
        .into_iter()
        .filter(|legs| !legs.is_empty())
        .collect();
    // If the two do not overlap, all of `from` remains, even if it is empty.
    if from.end <= removed.start || removed.end <= from.start {
        pieces = vec![from.clone()];
    }
    pieces
}

fn item_over_legs(item: &OrderItem, legs: Range<u16>) -> OrderItem {
    OrderItem {
        held: HeldSeat {
            legs,
            ..item.held.clone()
        },
        ..item.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::orders::exchange::carried::CarriedMoney;

    fn item((seat, from, len): (u32, u16, u16)) -> OrderItem {
        OrderItem {
            held: HeldSeat {
                seat,
                legs: from..from + len,
            },
            amount: 100,
            label: seat.to_string(),
            category: "c".to_owned(),
            category_key: "c".to_owned(),
            traveller: None,
            carried: CarriedMoney::default(),
        }
    }

    fn cells(items: &[OrderItem]) -> BTreeSet<(u32, u16)> {
        let of = |item: &OrderItem| {
            let seat = item.held.seat;
            item.held
                .legs
                .clone()
                .map(move |leg| (seat, leg))
                .collect::<Vec<_>>()
        };
        items.iter().flat_map(of).collect()
    }

    fn party() -> impl Strategy<Value = Vec<OrderItem>> {
        let seats = proptest::collection::btree_set(0_u32..6, 1..4);
        (seats, 0_u16..6, 1_u16..6).prop_map(|(seats, from, len)| {
            seats
                .into_iter()
                .map(|seat| item((seat, from, len)))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn the_gained_and_lost_cells_are_exactly_the_difference(old in party(), new in party()) {
            let parts = parts(&old, &new);
            let (had, has) = (cells(&old), cells(&new));
            prop_assert_eq!(cells(&parts.gained), &has - &had);
            prop_assert_eq!(cells(&parts.lost), &had - &has);
            let pieces: usize = parts.gained.iter().map(|item| item.held.legs.len()).sum();
            prop_assert_eq!(pieces, (&has - &had).len(), "no cell is gained twice");
            // The lengths of the lists give the change in the number of seats.
            prop_assert_eq!(old.len() + parts.gained.len() - parts.lost.len(), new.len());
        }
    }
}
