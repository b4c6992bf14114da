//! Money that an exchange carries over from the old order to its successor. It keeps the share that
//! could be refunded on the day of the exchange, so that an exchange is no way around a refund
//! rule. The module is pure.

use crate::money::Currency;
use crate::orders::OrderItem;
use crate::payments::fees::step;

/// The part of a price that was carried over from an exchanged order, in minor units. It is 0 in
/// orders that no exchange made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CarriedMoney {
    /// What was carried over. The rest of the price was added in the exchange.
    pub amount: i64,
    /// How much of `amount` could be refunded on the day of the exchange. A later refund returns at
    /// most this.
    pub refundable: i64,
}

impl CarriedMoney {
    /// Returns whether nothing was carried over.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.amount == 0
    }
}

/// Returns `sum × part ÷ whole`, rounded up to a multiple of the currency's step, but not more than
/// `sum`. Returns 0 if `whole` is not positive.
#[must_use]
pub fn share_rounded_up(sum: i64, (part, whole): (i64, i64), currency: Currency) -> i64 {
    sum - share(sum, (whole - part, whole), step(currency))
}

/// Returns `sum × part ÷ whole`, rounded down to a multiple of `step`. If `part` is the whole, it
/// is `sum`, even if `sum` is no multiple.
fn share(sum: i64, (part, whole): (i64, i64), step: i64) -> i64 {
    if whole <= 0 || part >= whole {
        return sum;
    }
    let exact = i128::from(sum) * i128::from(part) / i128::from(whole);
    let exact = i64::try_from(exact).unwrap_or(sum);
    exact - exact.rem_euclid(step)
}

/// Returns the new seats of an exchange with the money that was carried over. The money is spread
/// over the seats by their prices: the first seats together get the share that their prices are of
/// all prices, rounded down to the currency's step, and the last seat gets the rest.
#[must_use]
pub fn with_carried_money(
    items: &[OrderItem],
    carried: CarriedMoney,
    currency: Currency,
) -> Vec<OrderItem> {
    let total = super::total_price(items);
    // A price that is no multiple of the step leaves its seat no room for rounding.
    let is_stepped = items.iter().all(|item| item.amount % step(currency) == 0);
    let step = if is_stepped { step(currency) } else { 1 };
    let (mut price, mut given) = (0, CarriedMoney::default());
    let with_share = |item: &OrderItem| {
        price += item.amount;
        let until = CarriedMoney {
            amount: share(carried.amount, (price, total), step),
            refundable: share(carried.refundable, (price, total), step),
        };
        let own = CarriedMoney {
            amount: until.amount - given.amount,
            refundable: until.refundable - given.refundable,
        };
        given = until;
        OrderItem {
            carried: own,
            ..item.clone()
        }
    };
    items.iter().map(with_share).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::holds::HeldSeat;

    fn item((seat, amount): (u32, i64)) -> OrderItem {
        OrderItem {
            held: HeldSeat { seat, legs: 0..1 },
            amount,
            label: seat.to_string(),
            category: "c".to_owned(),
            category_key: "c".to_owned(),
            traveller: None,
            carried: CarriedMoney::default(),
        }
    }

    #[test]
    fn each_seat_gets_its_share_and_the_last_one_the_rest() {
        let items = [(0, 3_000), (1, 3_000), (2, 4_000)].map(item);
        let carried = CarriedMoney {
            amount: 5_000,
            refundable: 4_501,
        };
        let spread = with_carried_money(&items, carried, Currency::EUR);
        let shares: Vec<(i64, i64)> = spread
            .iter()
            .map(|item| (item.carried.amount, item.carried.refundable))
            .collect();
        assert_eq!(shares, [(1_500, 1_350), (1_500, 1_350), (2_000, 1_801)]);
    }

    proptest! {
        #[test]
        fn no_cent_is_lost_and_no_seat_carries_more_than_its_price(
            prices in proptest::collection::vec(0_i64..2_000, 1..6),
            part in 0_i64..=100, refundable_pct in 0_i64..=100, code in prop::sample::select(vec!["EUR", "KWD", "ISK"]),
        ) {
            let currency = Currency::parse(code).expect("a currency");
            let step = step(currency);
            let items: Vec<OrderItem> = (0_u32..).zip(&prices).map(|(seat, price)| item((seat, price * step))).collect();
            let total: i64 = prices.iter().sum();
            let amount = total * part / 100;
            let refundable = amount * refundable_pct / 100;
            let carried = CarriedMoney { amount: amount * step, refundable: refundable * step };
            let spread = with_carried_money(&items, carried, currency);
            let sum = |of: fn(&CarriedMoney) -> i64| spread.iter().map(|item| of(&item.carried)).sum::<i64>();
            prop_assert_eq!((sum(|it| it.amount), sum(|it| it.refundable)), (carried.amount, carried.refundable));
            for item in &spread {
                prop_assert!((0..=item.amount).contains(&item.carried.amount));
                prop_assert!(item.carried.refundable >= 0);
                prop_assert_eq!((item.carried.amount % step, item.carried.refundable % step), (0, 0));
            }
        }
    }
}
