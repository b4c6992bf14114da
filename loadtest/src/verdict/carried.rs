//! Checks the money that exchanges carry over. Each exchange is checked against the carried money
//! of the seats that it gave up, so that a chain is right if each of its links is.

use super::dump::{DumpedCarriedMoney, DumpedExchange, DumpedOrder, DumpedOrderItem, DumpedShow};
use super::report::{Findings, Invariant};
use super::rules::{GivenSeats, rules_in_force};

fn wrong(findings: &mut Findings, evidence: impl FnOnce() -> String) {
    findings.add(Invariant::Prices, evidence);
}

/// Checks that an order that no exchange made carries nothing.
pub fn check_none(order: &DumpedOrder, findings: &mut Findings) {
    let carried = DumpedCarriedMoney::default();
    if order.items.iter().any(|item| item.carried != carried) {
        wrong(findings, || {
            format!("{} carries money, and no exchange made it", order.order)
        });
    }
}

/// Checks that the new seats of an exchange carry what was paid for the given seats, with the share
/// that could be refunded when the exchange began. `show` is the show of the given seats.
pub fn check(
    show: &DumpedShow,
    given: &GivenSeats<'_>,
    (exchange, new): (&DumpedExchange, &DumpedOrder),
    findings: &mut Findings,
) {
    let told: Vec<DumpedCarriedMoney> = exchange.items.iter().map(|item| item.carried).collect();
    let rules = rules_in_force(show, given.order, exchange.at_ms);
    let mut expected = rules.into_iter().map(|rule| {
        let carried = given.carried_over(rule, exchange.price);
        spread(carried, &exchange.items)
    });
    if !expected.any(|expected| expected == told) {
        wrong(findings, || {
            format!(
                "{} carries {told:?} over from {}, and the rules at {:.0} say otherwise",
                new.order, exchange.order, exchange.at_ms
            )
        });
    }
    let is_as_exchanged = |item: &DumpedOrderItem| {
        let mut items = exchange.items.iter();
        items.any(|other| other.seat == item.seat && other.carried == item.carried)
    };
    if exchange.done_ms.is_some() && !new.items.iter().all(is_as_exchanged) {
        wrong(findings, || {
            format!(
                "{} carries {:?}, and its exchange carried {told:?} over",
                new.order, new.items
            )
        });
    }
}

/// Spreads carried money over seats: the first seats together get the share that their prices are
/// of all prices, rounded down.
fn spread(carried: DumpedCarriedMoney, items: &[DumpedOrderItem]) -> Vec<DumpedCarriedMoney> {
    let total: i64 = items.iter().map(|item| item.amount).sum();
    let (mut price, mut before) = (0, DumpedCarriedMoney::default());
    let mut next = |item: &DumpedOrderItem| {
        price += item.amount;
        let share = |sum: i64| if total == 0 { sum } else { sum * price / total };
        let until = DumpedCarriedMoney {
            amount: share(carried.amount),
            refundable: share(carried.refundable),
        };
        let own = DumpedCarriedMoney {
            amount: until.amount - before.amount,
            refundable: until.refundable - before.refundable,
        };
        before = until;
        own
    };
    items.iter().map(&mut next).collect()
}
