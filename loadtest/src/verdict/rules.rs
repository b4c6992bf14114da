//! Applies the rules in a show's terms: which refund rule applies, and what an exchange costs. The
//! functions are pure.

use super::dump::{DumpedCheaperRule, DumpedExchangeRule, DumpedOrder, DumpedShow, DumpedTerms};

const HOUR_MS: f64 = 3_600_000.0;

/// How far a train may be moved before its buyers may give tickets back without a fee.
const MOVED_MS: f64 = 15.0 * 60_000.0;

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

/// Returns what an exchange costs. Of all exchange rules that may apply and have not expired, the
/// rule that is best for the buyer decides. If several rules are equally good but differ in the
/// fee, each of them gives one result. If no rule allows an exchange, there is no result.
pub fn differences(
    show: &DumpedShow,
    old: &DumpedOrder,
    (credit, price): (i64, i64),
    at_ms: f64,
) -> Vec<ExpectedExchange> {
    let terms = applicable_terms(show, old, at_ms, 0.0);
    let starts_ms = starts_ms(show, old, &terms);
    let rules = terms.iter().filter_map(|terms| terms.exchange.as_ref());
    let valid_rules = rules.filter(|rule| at_ms <= starts_ms - rule.until_h * HOUR_MS);
    let pct = best_refund(show, old, at_ms, 0.0);
    let mut outcomes: Vec<ExpectedExchange> = valid_rules
        .map(|rule| difference(rule, (credit, price), pct))
        .collect();
    let gain = |outcome: &ExpectedExchange| outcome.back - outcome.due;
    let best = outcomes.iter().map(gain).max();
    outcomes.retain(|outcome| Some(gain(outcome)) == best);
    outcomes.dedup();
    outcomes
}

/// Returns the cost of exchanging seats of price `credit` for seats of price `price` under one
/// rule. A refund would keep `pct` percent; `None` if no refund is allowed.
fn difference(
    rule: &DumpedExchangeRule,
    (credit, price): (i64, i64),
    pct: Option<i64>,
) -> ExpectedExchange {
    let cheaper = (credit - price).max(0);
    let back = match (rule.cheaper, pct) {
        (DumpedCheaperRule::Refund, _) => cheaper,
        (DumpedCheaperRule::RefundRule, Some(pct)) => cheaper - cheaper * pct / 100,
        (DumpedCheaperRule::Keep, _) | (DumpedCheaperRule::RefundRule, None) => 0,
    };
    let net = (price - credit).max(0) + rule.fee - back;
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
        prices: (i64, i64),
        pct: Option<i64>,
        (due, back): (i64, i64),
    ) {
        let fee = rule.fee;
        assert_eq!(
            difference(rule, prices, pct),
            ExpectedExchange { due, back, fee }
        );
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
