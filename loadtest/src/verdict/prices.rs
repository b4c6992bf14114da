//! Computes every total, difference, refund and fee again, from the terms in the ledger. The prices
//! in the terms must be the prices that the promoter wrote.

use std::collections::HashMap;

use serde_json::Value;

use super::carried;
use super::dump::{
    DumpedCategory, DumpedExchange, DumpedOrder, DumpedOrderItem, DumpedRefund, DumpedShow,
    DumpedTerms,
};
use super::report::{Findings, Invariant};
use super::rules::{
    GivenSeats, MoneyBackRule, ROUNDING_MS, best_refund, differences, is_moved, kept_of,
};
use super::timeline::RunTimeline;

/// The reason of a refund of an exchange's difference.
pub const DIFFERENCE: &str = "exchange_difference";

/// The least that Stripe charges, in minor units, by currency. Source: "Minimum and maximum charge
/// amounts", docs.stripe.com/currencies. A smaller difference is not charged.
const STRIPE_LEAST: [(&str, i64); 6] = [
    ("EUR", 50),
    ("USD", 50),
    ("CHF", 50),
    ("GBP", 30),
    ("SEK", 300),
    ("JPY", 50),
];

/// Checks all prices. Returns how many seat prices were computed.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    let refunded_by_order = check_refunds(timeline, findings);
    for terms in timeline
        .dump
        .shows
        .values()
        .flat_map(|show| show.terms.values())
    {
        if !terms.is_as_dumped() {
            wrong(findings, || {
                format!("{} does not match its hash", terms.name())
            });
        }
    }
    let mut prices = 0;
    for order in &timeline.dump.orders {
        let Some(show) = timeline.dump.shows.get(&order.show) else {
            continue;
        };
        let Some(terms) = show.terms.get(&order.terms) else {
            wrong(findings, || {
                format!(
                    "{} has terms {} of {}, which do not exist",
                    order.order, order.terms, order.show
                )
            });
            continue;
        };
        // Until the swap, the order of an exchange lists its seats with the difference, not with
        // their price.
        let swapped = order
            .made_in
            .as_ref()
            .is_none_or(|one| one.done_ms.is_some());
        if swapped {
            prices += seats(order, show, terms, findings);
        }
        if timeline.of_this_run(order) {
            check_written_prices(timeline, order, (show, terms), findings);
        }
        match &order.made_in {
            None => {
                total(order, findings);
                carried::check_none(order, findings);
            }
            Some(exchange) => {
                let refunded = refunded_by_order
                    .get(&*exchange.order)
                    .copied()
                    .unwrap_or(0);
                difference(timeline, order, exchange, refunded, findings);
            }
        }
    }
    prices
}

/// Checks the fee of each refund. Returns, for each order, how much was refunded because it was
/// exchanged for a cheaper one.
fn check_refunds<'a>(timeline: &RunTimeline<'a>, findings: &mut Findings) -> HashMap<&'a str, i64> {
    let mut refunded_by_order: HashMap<&str, i64> = HashMap::new();
    let mut parts: HashMap<&str, i64> = HashMap::new();
    for refund in &timeline.dump.refunds {
        if let Some(whole_refund) = &refund.part_of {
            *parts.entry(whole_refund).or_default() += refund.amount;
        }
    }
    for refund in &timeline.dump.refunds {
        if refund.part_of.is_some() {
            continue;
        }
        if refund.reason == DIFFERENCE {
            let amount = refund.amount + parts.get(&*refund.refund).unwrap_or(&0);
            *refunded_by_order.entry(&refund.order).or_default() += amount;
        } else if let Some(order) = timeline.dump.order(&refund.order) {
            check_refund_fee(timeline, order, refund, findings);
        }
    }
    refunded_by_order
}

fn wrong(findings: &mut Findings, evidence: impl FnOnce() -> String) {
    findings.add(Invariant::Prices, evidence);
}

/// Checks that the prices in an order's terms are those that the promoter wrote.
fn check_written_prices(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    (show, terms): (&DumpedShow, &DumpedTerms),
    findings: &mut Findings,
) {
    let run = timeline.history.run.as_ref();
    let written = run.map(|run| &run.show_docs[&order.show]["prices"]);
    let Some(written) = written.and_then(Value::as_object) else {
        return;
    };
    let price = |name: &str| {
        let mut categories = show.categories.iter();
        let is_named = |category: &&DumpedCategory| category.key == name || category.label == name;
        let other = categories.find(is_named).and_then(|category| {
            let price = terms.prices.get(&category.key);
            price.or(terms.prices.get(&category.label))
        });
        terms.prices.get(name).or(other).copied()
    };
    let strange = written
        .iter()
        .find(|(name, amount)| price(name) != amount.as_i64());
    if let Some((name, amount)) = strange {
        wrong(findings, || {
            format!(
                "{} has terms {} of {}: {name} costs {:?} there, and the promoter wrote {amount}",
                order.order,
                terms.version,
                order.show,
                price(name)
            )
        });
    }
}

/// Checks that the currency and the price of each seat are those of the order's terms, or of a
/// train's fares. Returns the number of seats.
fn seats(
    order: &DumpedOrder,
    show: &DumpedShow,
    terms: &DumpedTerms,
    findings: &mut Findings,
) -> u64 {
    if order.currency != terms.currency {
        wrong(findings, || {
            format!(
                "{} is in {}, its terms in {}",
                order.order, order.currency, terms.currency
            )
        });
    }
    let keeps_all_seats = matches!(&*order.state, "pending" | "confirmed" | "ticketed");
    for item in &order.items {
        // The train may no longer have the stretch of a seat that went back or expired.
        if item.from == item.to && !keeps_all_seats {
            continue;
        }
        let price = show.price(terms, item.seat, &(item.from..item.to));
        if price != Some(item.amount) {
            wrong(findings, || {
                format!(
                    "{}: {} over legs {}..{} for {}, and terms {} of {} say {price:?}",
                    order.order,
                    show.label(item.seat),
                    item.from,
                    item.to,
                    item.amount,
                    terms.version,
                    order.show
                )
            });
        }
    }
    order.items.len() as u64
}

fn sum<'a>(items: impl IntoIterator<Item = &'a DumpedOrderItem>) -> i64 {
    items.into_iter().map(|item| item.amount).sum()
}

/// Checks that an order's total is the price of its seats, and that nothing was waived.
fn total(order: &DumpedOrder, findings: &mut Findings) {
    let expected = sum(&order.items);
    if order.amount != expected || order.let_go != 0 {
        wrong(findings, || {
            format!(
                "{} has the amount {} ({} were waived), and its seats cost {expected}",
                order.order, order.amount, order.let_go
            )
        });
    }
}

/// Checks that the difference of an exchange follows from the rules and both orders' prices.
fn difference(
    timeline: &RunTimeline<'_>,
    new: &DumpedOrder,
    exchange: &DumpedExchange,
    refunded: i64,
    findings: &mut Findings,
) {
    let Some(old) = timeline.dump.order(&exchange.order) else {
        return;
    };
    let Some(show) = timeline.dump.shows.get(&old.show) else {
        return;
    };
    let price = sum(&new.items);
    if exchange.done_ms.is_some() && exchange.price != price {
        wrong(findings, || {
            format!(
                "{} was made for seats of {}, and they cost {price}",
                new.order, exchange.price
            )
        });
    }
    let given = GivenSeats {
        order: old,
        items: old.items_over(show.labels.len(), &exchange.given.cells),
        credit: exchange.credit - old.let_go,
    };
    let outcomes = differences(show, &given, exchange.price, exchange.at_ms);
    // If another exchange of the same order was done, the refund belongs to that exchange.
    let is_done = exchange.done_ms.is_some();
    let replaced_by_another = old.state == "exchanged" && !is_done;
    let expected_back = |refunded: i64| if is_done { refunded } else { 0 };
    let let_go = let_go(timeline, new);
    let fits = outcomes.iter().any(|outcome| {
        let due = new.amount + let_go;
        let amounts_fit =
            outcome.due == due && (replaced_by_another || expected_back(outcome.back) == refunded);
        amounts_fit && outcome.fee == exchange.fee
    });
    if !fits {
        wrong(findings, || {
            format!(
                "{} for {}: seats of {} (less {} waived) for seats of {}, fee {}: {} were to be paid, {} waived, \
                 {refunded} were refunded; the rules say {outcomes:?}",
                exchange.order,
                new.order,
                exchange.credit,
                old.let_go,
                exchange.price,
                exchange.fee,
                new.amount,
                let_go
            )
        });
    }
    check_charged_least(timeline, new, let_go, findings);
    carried::check(show, &given, (exchange, new), findings);
}

/// Checks that no amount below the provider's minimum is charged, and that only such an amount is
/// waived.
fn check_charged_least(
    timeline: &RunTimeline<'_>,
    new: &DumpedOrder,
    let_go: i64,
    findings: &mut Findings,
) {
    // A payment of 0 has no provider. All other payments of a run have the same provider.
    let mut payments = timeline.dump.payments.iter();
    let by_stripe = payments.any(|payment| payment.provider == "stripe");
    let least = STRIPE_LEAST.iter().find(|(code, _)| *code == new.currency);
    let least = least.filter(|_| by_stripe).map_or(0, |(_, least)| *least);
    let charged_least = new.amount == 0 || new.amount >= least;
    if let_go != 0 && (new.amount != 0 || let_go >= least) || !charged_least {
        wrong(findings, || {
            format!(
                "{}: {} are charged and {let_go} waived, the provider's minimum is {least}",
                new.order, new.amount
            )
        });
    }
}

/// Returns the part of an order's price that was waived when the order was made: the part that the
/// order still records, and the part that was subtracted from its refunds.
fn let_go(timeline: &RunTimeline<'_>, order: &DumpedOrder) -> i64 {
    let order_refunds = timeline.dump.refunds.iter();
    let order_refunds = order_refunds.filter(|refund| {
        refund.order == order.order && refund.reason != DIFFERENCE && !refund.is_unasked()
    });
    let subtracted: i64 = order_refunds
        .filter(|refund| refund.part_of.is_none())
        .map(|refund| uncharged(timeline, refund))
        .sum();
    order.let_go + subtracted
}

/// Returns how much less a refund paid because a part of the price was never charged. What money
/// that went back at the provider has covered does not count.
pub fn uncharged(timeline: &RunTimeline<'_>, refund: &DumpedRefund) -> i64 {
    let parts = timeline.dump.refunds.iter();
    let parts = parts.filter(|part| part.part_of.as_ref() == Some(&refund.refund));
    let parts_sum: i64 = parts.map(|part| part.amount).sum();
    refund.paid - refund.fee - refund.amount - refund.covered - parts_sum
}

/// Checks the price and the fee of a refund. Of the order's rules and the rules in force, the rule
/// that keeps least applies. Only a refund that the buyer asked for has a fee.
fn check_refund_fee(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    refund: &DumpedRefund,
    findings: &mut Findings,
) {
    let Some(show) = timeline.dump.shows.get(&order.show) else {
        return;
    };
    let refunded_items = order.items_over(show.labels.len(), &refund.cells);
    let cost = sum(refunded_items.iter().copied());
    if cost != refund.paid {
        findings.add(Invariant::Money, || {
            format!(
                "{} of {}: its seats cost {cost}, and it says {}",
                refund.refund, order.order, refund.paid
            )
        });
    }
    if refund.reason == "train_retimed" && !is_moved(show, order, refund.at_ms, ROUNDING_MS) {
        wrong(findings, || {
            format!(
                "{}: by {:.0}, {} was not moved by more than 15 minutes at the buyer's stops",
                refund.refund, refund.at_ms, order.show
            )
        });
    }
    if refund.reason != "refund_by_buyer" {
        return without_fee(show, order, refund, findings);
    }
    let Some(pct) = best_refund(show, order, refund.at_ms, ROUNDING_MS) else {
        return wrong(findings, || {
            format!(
                "{}: no rule allowed a refund at {:.0}",
                refund.refund, refund.at_ms
            )
        });
    };
    let rule = MoneyBackRule { pct, frees: false };
    let kept = refunded_items.iter().map(|item| kept_of(item, rule));
    let fee: i64 = kept.sum();
    if refund.fee != fee {
        wrong(findings, || {
            format!(
                "{}: {} were kept of {cost} for {} tickets, and the rule of {pct} % and the carried shares say {fee}",
                refund.refund,
                refund.fee,
                refunded_items.len()
            )
        });
    }
}

/// Checks a refund of a cancelled or postponed show, or of a train that was moved: it has no fee,
/// and the refund of a postponed show is made before the deadline, for an order that was made
/// before the show was postponed.
fn without_fee(
    show: &DumpedShow,
    order: &DumpedOrder,
    refund: &DumpedRefund,
    findings: &mut Findings,
) {
    let fate = show.fate.as_ref();
    // Another invariant checks whether the show was cancelled at all. If a postponed show was
    // cancelled after the refund, the deadline is no longer known, so it is not checked.
    let postponed =
        fate.filter(|fate| refund.reason == "show_postponed" && fate.fate == "postponed");
    let until_ms = postponed.and_then(|fate| fate.refunds_until_ms);
    let too_late = until_ms.is_some_and(|until_ms| refund.at_ms > until_ms + ROUNDING_MS);
    let bought_later = postponed.is_some_and(|fate| order.created_ms > fate.at_ms + ROUNDING_MS);
    if too_late || bought_later || refund.fee != 0 {
        wrong(findings, || {
            format!(
                "{}: {} were kept of a refund of {}, made at {:.0}, for {}, and the show's fate is {fate:?}",
                refund.refund, refund.fee, order.order, order.created_ms, refund.reason
            )
        });
    }
}
