//! The copy of an order that the payment provider keeps in the payment's metadata. If the ledger is
//! restored from a backup, paid orders that it no longer has are written again from such copies.
//! The module is pure.
//!
//! A copy that does not fit into the metadata has no seats, and cannot be restored.

use std::collections::BTreeMap;

use fairgate_pass::Holder;

use crate::holds::HeldSeat;
use crate::ids::{HoldId, OrderId, PaymentId};
use crate::money::Money;
use crate::orders::exchange::carried::CarriedMoney;
use crate::orders::exchange::total_price;
use crate::orders::item::order_item_for_seat;
use crate::orders::{Buyer, Order, OrderItem, OrderState};
use crate::payments::metadata_list::{KEYS_MAX, VALUE_CHARS_MAX, from_values, in_values};
use crate::shows::Show;

/// The reason code of an order that was made again from its copy.
pub const RESTORED: &str = "restored_from_provider";

/// What the provider keeps of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderCopy {
    /// The id of the ledger that has the order, in hex. Another ledger may use the same account at
    /// the provider.
    pub ledger: String,
    /// The hold that the order was made from. It contains the show, and the ids of the order, its
    /// payment and its tickets follow from it.
    pub hold: HoldId,
    /// The visitor who has the order.
    pub visitor: Holder,
    /// The room of the pass with which it was made.
    pub room: String,
    /// The buyer.
    pub buyer: Buyer,
    /// The version of the terms that it was made under.
    pub terms: u32,
    /// The version of the plan that its seat indices belong to.
    pub plan_version: u32,
    /// When it was made, in milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Its seats. For the successor of an exchange: all new seats at their own prices.
    pub seats: Vec<CopiedSeat>,
    /// The exchange that made it, if one did.
    pub exchange: Option<CopiedExchange>,
}

/// A seat of a copied order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedSeat {
    /// The seat and the legs.
    pub held: HeldSeat,
    /// Its price, in minor units.
    pub amount: i64,
    /// The part of the price that was carried over from an exchanged order.
    pub carried: CarriedMoney,
    /// The traveller's name, if the show asks for names.
    pub traveller: Option<String>,
}

/// The exchange that made a copied order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedExchange {
    /// The order whose seats were exchanged.
    pub of: OrderId,
    /// The fee of the exchange, in minor units.
    pub fee: i64,
}

impl OrderCopy {
    /// Copies an order. `items` are its seats at their own prices; for the successor of an exchange
    /// those that it will have after the swap.
    #[must_use]
    pub fn of_order(
        order: &Order,
        items: &[OrderItem],
        exchange: Option<CopiedExchange>,
        ledger: &str,
    ) -> Self {
        let seat = |item: &OrderItem| CopiedSeat {
            held: item.held.clone(),
            amount: item.amount,
            carried: item.carried,
            traveller: item.traveller.clone(),
        };
        Self {
            ledger: ledger.to_owned(),
            hold: order.hold.clone(),
            visitor: order.visitor,
            room: order.room.clone(),
            buyer: order.buyer.clone(),
            terms: order.terms,
            plan_version: order.plan_version,
            created_at_ms: order.created_at_ms,
            seats: items.iter().map(seat).collect(),
            exchange,
        }
    }

    /// Returns the copy as keys and values of a payment's metadata.
    #[must_use]
    pub fn to_metadata(&self) -> Vec<(String, String)> {
        let order = OrderId::of_hold(&self.hold);
        let mut metadata: Vec<(String, String)> = [
            ("payment", PaymentId::of_order(&order).to_string()),
            ("order", order.to_string()),
            ("ledger", self.ledger.clone()),
            ("show", self.hold.show().to_string()),
            ("hold", self.hold.to_string()),
            ("visitor", self.visitor.to_string()),
            ("room", self.room.clone()),
            ("buyer_name", self.buyer.name.clone()),
            ("buyer_email", self.buyer.email.clone()),
            ("terms", self.terms.to_string()),
            ("plan", self.plan_version.to_string()),
            ("made_ms", self.created_at_ms.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        if let Some(exchange) = &self.exchange {
            metadata.push(("exchange_of".to_owned(), exchange.of.to_string()));
            metadata.push(("exchange_fee".to_owned(), exchange.fee.to_string()));
        }
        let mut lists = in_values("seats", &self.seats, ' ', seat_text);
        if self.seats.iter().any(|seat| seat.traveller.is_some()) {
            let name = |seat: &CopiedSeat| seat.traveller.clone().unwrap_or_default();
            lists.extend(in_values("travellers", &self.seats, '\n', name));
        }
        if metadata.len() + lists.len() <= KEYS_MAX {
            metadata.extend(lists);
        }
        metadata.retain(|(_, value)| value.chars().count() <= VALUE_CHARS_MAX);
        metadata
    }

    /// Makes the order again, pending until `until_ms`, and returns it with its seats. `paid` is
    /// the money of its payment. If an exchange made the order, it has no seats yet: the exchanged
    /// order decides which of them it gains. Returns `None` if the show's plan is another one, or
    /// if the money is not for these seats.
    #[must_use]
    pub fn to_order(
        &self,
        show: &Show,
        paid: Money,
        until_ms: i64,
    ) -> Option<(Order, Vec<OrderItem>)> {
        let grid = show.grid();
        let is_of_plan = |seat: &CopiedSeat| {
            let HeldSeat { seat, legs } = &seat.held;
            *seat < grid.seats && legs.start < legs.end && legs.end <= grid.legs
        };
        if show.plan.version != self.plan_version || !self.seats.iter().all(is_of_plan) {
            return None;
        }
        let item = |seat: &CopiedSeat| OrderItem {
            traveller: seat.traveller.clone(),
            carried: seat.carried,
            ..order_item_for_seat(show, seat.held.clone(), seat.amount)
        };
        let items: Vec<OrderItem> = self.seats.iter().map(item).collect();
        if self.exchange.is_none() && total_price(&items) != paid.amount {
            return None;
        }
        let id = OrderId::of_hold(&self.hold);
        let order = Order {
            payment: PaymentId::of_order(&id),
            show: show.id.clone(),
            hold: self.hold.clone(),
            visitor: self.visitor,
            room: self.room.clone(),
            buyer: self.buyer.clone(),
            currency: paid.currency,
            total: paid.amount,
            items: match self.exchange {
                Some(_) => Vec::new(),
                None => items.clone(),
            },
            plan_version: self.plan_version,
            terms: self.terms,
            waived: 0,
            state: OrderState::Pending,
            reason: RESTORED.to_owned(),
            created_at_ms: self.created_at_ms,
            pay_until_ms: until_ms,
            full_pay_until_ms: until_ms,
            claim_until_ms: until_ms,
            full_claim_until_ms: until_ms,
            id,
        };
        Some((order, items))
    }

    /// Reads a copy from a payment's metadata. Returns `None` if it is not a whole copy.
    #[must_use]
    pub fn read(metadata: &BTreeMap<String, String>) -> Option<Self> {
        let text = |key: &str| metadata.get(key).map(String::as_str);
        let number = |key: &str| text(key)?.parse::<i64>().ok();
        let mut seats: Vec<CopiedSeat> = from_values(metadata, "seats", ' ')
            .into_iter()
            .map(read_seat)
            .collect::<Option<_>>()?;
        let travellers = from_values(metadata, "travellers", '\n');
        if seats.is_empty() || !(travellers.is_empty() || travellers.len() == seats.len()) {
            return None;
        }
        for (seat, name) in seats.iter_mut().zip(travellers) {
            seat.traveller = (!name.is_empty()).then(|| name.to_owned());
        }
        let exchange = match text("exchange_of") {
            Some(of) => Some(CopiedExchange {
                of: of.parse().ok()?,
                fee: number("exchange_fee")?,
            }),
            None => None,
        };
        Some(Self {
            ledger: text("ledger")?.to_owned(),
            hold: text("hold")?.parse().ok()?,
            visitor: text("visitor")?.parse().ok()?,
            room: text("room")?.to_owned(),
            buyer: Buyer {
                name: text("buyer_name")?.to_owned(),
                email: text("buyer_email")?.to_owned(),
            },
            terms: number("terms")?.try_into().ok()?,
            plan_version: number("plan")?.try_into().ok()?,
            created_at_ms: number("made_ms")?,
            seats,
            exchange,
        })
    }
}

/// Writes a seat as `seat.from.to.amount`, with `.carried.refundable` if something was carried
/// over.
fn seat_text(seat: &CopiedSeat) -> String {
    let CopiedSeat { held, amount, .. } = seat;
    let text = format!(
        "{}.{}.{}.{amount}",
        held.seat, held.legs.start, held.legs.end
    );
    match seat.carried {
        carried if carried.is_none() => text,
        CarriedMoney { amount, refundable } => format!("{text}.{amount}.{refundable}"),
    }
}

fn read_seat(text: &str) -> Option<CopiedSeat> {
    let numbers: Vec<i64> = text
        .split('.')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    let (seat, from, to, amount, carried) = match numbers[..] {
        [seat, from, to, amount] => (seat, from, to, amount, CarriedMoney::default()),
        [seat, from, to, amount, of, refundable] => {
            let carried = CarriedMoney {
                amount: of,
                refundable,
            };
            (seat, from, to, amount, carried)
        }
        _ => return None,
    };
    Some(CopiedSeat {
        held: HeldSeat {
            seat: seat.try_into().ok()?,
            legs: from.try_into().ok()?..to.try_into().ok()?,
        },
        amount,
        carried,
        traveller: None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::ShowId;

    fn copy(seats: Vec<CopiedSeat>, exchange: Option<CopiedExchange>) -> OrderCopy {
        let show: ShowId = "night-1".parse().expect("a slug");
        let visitor = Holder([7; 32]);
        OrderCopy {
            ledger: "00ff".to_owned(),
            hold: HoldId::of_key(&show, visitor, "k"),
            visitor,
            room: "demo".to_owned(),
            buyer: Buyer {
                name: "Zoë Ünal".to_owned(),
                email: "zoe@example.org".to_owned(),
            },
            terms: 3,
            plan_version: 2,
            created_at_ms: 1_811_894_400_000,
            seats,
            exchange,
        }
    }

    fn seat(number: u32, amount: i64, traveller: Option<&str>) -> CopiedSeat {
        CopiedSeat {
            held: HeldSeat {
                seat: number,
                legs: 2..5,
            },
            amount,
            carried: CarriedMoney::default(),
            traveller: traveller.map(str::to_owned),
        }
    }

    fn read(copy: &OrderCopy) -> Option<OrderCopy> {
        OrderCopy::read(&copy.to_metadata().into_iter().collect())
    }

    #[test]
    fn metadata_names_what_a_person_looks_for() {
        let metadata: BTreeMap<String, String> = copy(vec![seat(4, 9_900, None)], None)
            .to_metadata()
            .into_iter()
            .collect();
        assert_eq!(metadata["show"], "night-1");
        assert_eq!(metadata["seats"], "4.2.5.9900");
        assert_eq!(metadata["buyer_name"], "Zoë Ünal");
        assert_eq!(
            metadata["order"],
            OrderId::of_hold(&copy(Vec::new(), None).hold).to_string()
        );
    }

    #[test]
    fn a_copy_that_does_not_fit_names_its_order_and_cannot_be_restored() {
        let seats: Vec<CopiedSeat> = (0..3_000).map(|number| seat(number, 9_900, None)).collect();
        let large = copy(seats, None);
        let metadata = large.to_metadata();
        assert!(metadata.len() <= KEYS_MAX);
        assert!(metadata.iter().any(|(key, _)| key == "order"));
        assert_eq!(read(&large), None);
        let mut long_name = copy(vec![seat(0, 1, None)], None);
        long_name.buyer.name = "x".repeat(501);
        assert_eq!(read(&long_name), None);
    }

    proptest! {
        #[test]
        fn a_copy_is_read_as_it_was_written(
            seats in proptest::collection::vec((0_u32..50_000, 0_i64..1_000_000, 0_i64..2, "[A-Za-z ü]{1,40}"), 1..120),
            has_names: bool, is_exchange: bool,
        ) {
            let seats = seats.into_iter().map(|(number, amount, carried, name)| CopiedSeat {
                carried: CarriedMoney { amount: amount * carried, refundable: amount * carried / 2 },
                ..seat(number, amount, has_names.then_some(name.as_str()))
            });
            let mut whole = copy(seats.collect(), None);
            whole.exchange = is_exchange.then(|| CopiedExchange { of: OrderId::of_hold(&whole.hold), fee: 300 });
            let metadata = whole.to_metadata();
            prop_assert!(metadata.len() <= KEYS_MAX);
            for (key, value) in &metadata {
                prop_assert!(key.len() <= 40 && value.chars().count() <= VALUE_CHARS_MAX);
            }
            prop_assert_eq!(read(&whole), Some(whole));
        }
    }
}
