//! Applies the rules in a show's terms: which refund rule applies, and what an exchange costs. The
//! functions are pure.

use super::dump::{
    DumpedCarriedMoney, DumpedCheaperRule, DumpedExchangeRule, DumpedOrder, DumpedOrderItem,
    DumpedShow, DumpedTerms,
};

const HOUR_MS: f64 = 3_600_000.0;

/// How far a train may be moved before its buyers may give tickets back without a fee.
const MOVED_MS: f64 = 15.0 * 60_000.0;

/// How far the times of two programs on one machine may differ, in milliseconds, because each
/// program rounds its times.
pub const ROUNDING_MS: f64 = 5.0;

/// The expected cost of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedExchange {
    /// The amount that the buyer pays.
    pub due: i64,
    /// The amount that the buyer gets back.
    pub back: i64,
    /// The fee of the exchange itself.
    pub fee: i64,
}

/// Returns the terms that may apply to an order at a moment: its own terms, the terms then in
/// force, and the terms that were in force `leeway_ms` before. The last ones are included because
/// the moment is not exact.
fn applicable_terms<'a>(
    show: &'a DumpedShow,
    order: &DumpedOrder,
    at_ms: f64,
    leeway_ms: f64,
) -> Vec<&'a DumpedTerms> {
    let own_terms = show.terms.get(&order.terms);
    let terms_then = [show.terms_at(at_ms), show.terms_at(at_ms - leeway_ms)];
    own_terms
        .into_iter()
        .chain(terms_then.into_iter().flatten())
        .collect()
}

/// Returns when an order's show begins: the latest start in `terms`. A train begins when it leaves
/// the stop where the passenger boards.
fn starts_ms(show: &DumpedShow, order: &DumpedOrder, terms: &[&DumpedTerms]) -> f64 {
    let boards = order.items.iter().map(|item| item.from).min();
    let starts = terms.iter().map(|terms| {
        let departs = boards.and_then(|leg| show.departs_ms(terms, leg));
        departs.unwrap_or(terms.starts_ms)
    });
    starts.fold(f64::NEG_INFINITY, f64::max)
}

/// Returns whether a train was moved so far, by the terms in force at `at_ms`, that its buyers may
/// give tickets back without a fee: at the stops of one of the order's seats, it leaves or arrives
/// more than [`MOVED_MS`] earlier or later than it was sold.
pub fn is_moved(show: &DumpedShow, order: &DumpedOrder, at_ms: f64, leeway_ms: f64) -> bool {
    let Some(sold) = show.terms.get(&order.terms) else {
        return false;
    };
    let terms_then = [show.terms_at(at_ms), show.terms_at(at_ms - leeway_ms)];
    let is_far = |one: Option<f64>, other: Option<f64>| {
        let apart = one.zip(other).map(|(one, other)| (one - other).abs());
        apart.is_some_and(|apart| apart > MOVED_MS)
    };
    let mut moved = terms_then.into_iter().flatten().flat_map(|then| {
        order.items.iter().map(move |item| {
            let last = item.to.saturating_sub(1);
            is_far(
                show.departs_ms(sold, item.from),
                show.departs_ms(then, item.from),
            ) || is_far(show.arrives_ms(sold, last), show.arrives_ms(then, last))
        })
    });
    moved.any(|is_moved| is_moved)
}

/// Returns the percentage of a ticket's price that a refund at `at_ms` keeps. Of all rules that may
/// apply and have not expired, the rule that keeps least decides. Returns `None` if no rule allows
/// a refund.
pub fn best_refund(
    show: &DumpedShow,
    order: &DumpedOrder,
    at_ms: f64,
    leeway_ms: f64,
) -> Option<i64> {
    let terms = applicable_terms(show, order, at_ms, leeway_ms);
    let starts_ms = starts_ms(show, order, &terms);
    let rules = terms.iter().flat_map(|terms| &terms.refunds);
    let valid_rules = rules.filter(|rule| at_ms <= starts_ms - rule.until_h * HOUR_MS);
    valid_rules.map(|rule| rule.fee_pct).min()
}

/// A rule by which money goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoneyBackRule {
    /// The percentage that is kept.
    pub pct: i64,
    /// Whether money that was carried over goes back whatever its share was.
    pub frees: bool,
}

/// Returns the rules of which one was in force for an order at `at_ms`; `None` stands for no
/// refund. There is one, unless an event of the show happened at that moment or the dump no longer
/// tells an earlier event.
pub fn rules_in_force(
    show: &DumpedShow,
    order: &DumpedOrder,
    at_ms: f64,
) -> Vec<Option<MoneyBackRule>> {
    let free = Some(MoneyBackRule {
        pct: 0,
        frees: true,
    });
    let pct = best_refund(show, order, at_ms, 0.0);
    let of_terms = pct.map(|pct| MoneyBackRule { pct, frees: false });
    if is_moved(show, order, at_ms, 0.0) {
        return vec![free];
    }
    let Some(fate) = &show.fate else {
        return vec![of_terms];
    };
    let is_over = fate
        .refunds_until_ms
        .is_some_and(|until_ms| at_ms > until_ms);
    let is_free = at_ms >= fate.at_ms && order.created_ms <= fate.at_ms && !is_over;
    if (at_ms - fate.at_ms).abs() <= ROUNDING_MS {
        return vec![of_terms, free];
    }
    // A show that was moved and then got another fate may have been postponed before.
    let mut starts = show.terms.values().filter(|terms| terms.at_ms <= at_ms);
    let first = starts.next().map(|terms| terms.starts_ms);
    let may_be_postponed = starts.any(|terms| Some(terms.starts_ms) != first);
    match (is_free, at_ms < fate.at_ms && may_be_postponed) {
        (true, _) => vec![free],
        (false, true) => vec![of_terms, free],
        (false, false) => vec![of_terms],
    }
}

/// Returns what a rule keeps of a seat's price. Fees are rounded down, in the buyer's favour. Money
/// that was carried over goes back at most by its own share.
pub fn kept_of(item: &DumpedOrderItem, rule: MoneyBackRule) -> i64 {
    let carried = item.carried;
    let by_rule = carried.amount * rule.pct / 100;
    let by_share = carried.amount - carried.refundable.min(carried.amount);
    let own = item.amount - carried.amount;
    let of_carried = if rule.frees {
        by_rule
    } else {
        by_rule.max(by_share)
    };
    of_carried + own * rule.pct / 100
}

/// The seats that an exchange gives up.
pub struct GivenSeats<'a> {
    /// The order that had them.
    pub order: &'a DumpedOrder,
    /// The seats.
    pub items: Vec<&'a DumpedOrderItem>,
    /// What they count for.
    pub credit: i64,
}

impl GivenSeats<'_> {
    /// Returns how much of their worth a refund by this rule would return.
    fn refundable(&self, rule: Option<MoneyBackRule>) -> i64 {
        let Some(rule) = rule else { return 0 };
        let back: i64 = self
            .items
            .iter()
            .map(|item| item.amount - kept_of(item, rule))
            .sum();
        back - self.order.let_go.min(back).max(0)
    }

    /// Returns the part of a sum that belongs to a difference of `cheaper`, rounded up.
    fn part(&self, sum: i64, cheaper: i64) -> i64 {
        match self.credit {
            credit if credit > 0 => sum - sum * (credit - cheaper) / credit,
            _ => 0,
        }
    }

    /// Returns what is carried over to seats of price `price`, if `rule` was in force.
    pub fn carried_over(&self, rule: Option<MoneyBackRule>, price: i64) -> DumpedCarriedMoney {
        let refundable = self.refundable(rule);
        let cheaper = (self.credit - price).max(0);
        DumpedCarriedMoney {
            amount: self.credit.min(price),
            refundable: refundable - self.part(refundable, cheaper),
        }
    }
}

/// Returns what an exchange for seats of price `price` costs. Of all exchange rules that may apply
/// and have not expired, the rule that is best for the buyer decides. If several rules are equally
/// good but differ in the fee, each of them gives one result. If no rule allows an exchange, there
/// is no result.
pub fn differences(
    show: &DumpedShow,
    given: &GivenSeats<'_>,
    price: i64,
    at_ms: f64,
) -> Vec<ExpectedExchange> {
    let terms = applicable_terms(show, given.order, at_ms, 0.0);
    let starts_ms = starts_ms(show, given.order, &terms);
    let rules = terms.iter().filter_map(|terms| terms.exchange.as_ref());
    let valid_rules: Vec<&DumpedExchangeRule> = rules
        .filter(|rule| at_ms <= starts_ms - rule.until_h * HOUR_MS)
        .collect();
    let mut all = Vec::new();
    for in_force in rules_in_force(show, given.order, at_ms) {
        let mut outcomes: Vec<ExpectedExchange> = valid_rules
            .iter()
            .map(|rule| difference(rule, given, price, in_force))
            .collect();
        let gain = |outcome: &ExpectedExchange| outcome.back - outcome.due;
        let best = outcomes.iter().map(gain).max();
        outcomes.retain(|outcome| Some(gain(outcome)) == best);
        all.extend(outcomes);
    }
    all.dedup();
    all
}

/// Returns the cost of an exchange for seats of price `price` under one rule, if `in_force` was the
/// rule for refunds.
fn difference(
    rule: &DumpedExchangeRule,
    given: &GivenSeats<'_>,
    price: i64,
    in_force: Option<MoneyBackRule>,
) -> ExpectedExchange {
    let cheaper = (given.credit - price).max(0);
    let by = match rule.cheaper {
        DumpedCheaperRule::Keep => None,
        DumpedCheaperRule::RefundRule => in_force,
        DumpedCheaperRule::Refund => Some(MoneyBackRule {
            pct: 0,
            frees: in_force.is_some_and(|rule| rule.frees),
        }),
    };
    let back = given.part(given.refundable(by), cheaper);
    let net = (price - given.credit).max(0) + rule.fee - back;
    ExpectedExchange {
        due: net.max(0),
        back: (-net).max(0),
        fee: rule.fee,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(fee: i64, cheaper: DumpedCheaperRule) -> DumpedExchangeRule {
        DumpedExchangeRule {
            until_h: 2.0,
            fee,
            cheaper,
        }
    }

    #[track_caller]
    fn check(
        rule: &DumpedExchangeRule,
        (credit, price): (i64, i64),
        pct: Option<i64>,
        (due, back): (i64, i64),
    ) {
        let fee = rule.fee;
        let order = order(credit, DumpedCarriedMoney::default());
        let in_force = pct.map(|pct| MoneyBackRule { pct, frees: false });
        assert_eq!(
            difference(rule, &given(&order), price, in_force),
            ExpectedExchange { due, back, fee }
        );
    }

    fn order(amount: i64, carried: DumpedCarriedMoney) -> DumpedOrder {
        let mut order: DumpedOrder = serde_json::from_value(serde_json::json!({
            "order": "order_1", "show": "night", "hold": "hold_1", "visitor": "v", "room": "demo",
            "state": "ticketed", "amount": amount, "currency": "EUR", "terms": 1, "cells": [0],
            "items": [{ "seat": 0, "from": 0, "to": 1, "amount": amount }], "labels": ["A-1"],
            "created_ms": 0, "pay_until_ms": 0, "claim_until_ms": 0, "history": [],
        }))
        .expect("an order");
        order.items[0].carried = carried;
        order
    }

    fn given(order: &DumpedOrder) -> GivenSeats<'_> {
        GivenSeats {
            items: order.items.iter().collect(),
            credit: order.amount,
            order,
        }
    }

    #[test]
    fn carried_money_keeps_the_lower_share_and_an_event_of_the_show_frees_it() {
        let carried = DumpedCarriedMoney {
            amount: 1_000,
            refundable: 500,
        };
        let order = order(1_200, carried);
        let rule = |pct, frees| MoneyBackRule { pct, frees };
        let kept = |rule| kept_of(&order.items[0], rule);
        assert_eq!(kept(rule(10, false)), 500 + 20);
        assert_eq!(kept(rule(80, false)), 800 + 160);
        assert_eq!(kept(rule(0, true)), 0);
        let over = |pct, price| given(&order).carried_over(pct, price).refundable;
        assert_eq!(over(Some(rule(10, false)), 1_200), 680);
        assert_eq!(over(Some(rule(10, false)), 600), 340);
        assert_eq!(over(None, 1_200), 0);
    }

    #[test]
    fn dearer_seats_cost_the_difference_and_the_fee() {
        let rule = rule(200, DumpedCheaperRule::RefundRule);
        check(&rule, (4_900, 9_900), Some(10), (5_200, 0));
        check(&rule, (4_900, 4_900), None, (200, 0));
    }

    #[test]
    fn cheaper_seats_refund_what_the_rule_says_less_the_fee() {
        check(
            &rule(0, DumpedCheaperRule::Refund),
            (9_900, 4_900),
            None,
            (0, 5_000),
        );
        check(
            &rule(0, DumpedCheaperRule::Keep),
            (9_900, 4_900),
            Some(0),
            (0, 0),
        );
        let by_rule = rule(200, DumpedCheaperRule::RefundRule);
        check(&by_rule, (9_905, 4_900), Some(10), (0, 5_005 - 500 - 200));
        check(&by_rule, (9_900, 4_900), None, (200, 0));
    }

    #[test]
    fn the_buyer_pays_the_part_of_a_fee_that_exceeds_the_refund() {
        check(
            &rule(200, DumpedCheaperRule::Refund),
            (5_000, 4_900),
            None,
            (100, 0),
        );
        check(
            &rule(200, DumpedCheaperRule::Keep),
            (9_900, 4_900),
            None,
            (200, 0),
        );
    }
}
