//! Computes what an exchange costs. The module is pure.

use super::carried::{CarriedMoney, share_rounded_up};
use crate::orders::refund::RefundReason;
use crate::orders::refund::rules::{RefundRuleInForce, in_force, until_ms};
use crate::orders::terms::OrderTerms;
use crate::orders::{Order, OrderItem};
use crate::payments::fees::fixed_fee;
use crate::shows::rules::{CheaperSeatsRule, ExchangeRule};

/// The sums that the buyer pays and gets back in an exchange, in minor units of the order's
/// currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeCost {
    /// What the buyer has to pay.
    pub due: i64,
    /// What goes back to the buyer.
    pub back: i64,
    /// What the exchange itself costs. The fee is a part of what is due, or is taken from what goes
    /// back.
    pub fee: i64,
    /// A sum that would be due but is below the smallest sum that the payment provider takes. It is
    /// waived now, and the order's later refunds and exchanges take it into account.
    pub waived: i64,
    /// What is carried over from the old seats to the new ones.
    pub carried: CarriedMoney,
}

/// Why an order's seats cannot be exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeRuleError {
    /// The show offers no exchange.
    #[error("the show offers no exchange")]
    NotOffered,
    /// The show offered exchanges until this moment.
    #[error("the show offered exchanges until {until_ms}")]
    Over {
        /// The end of the last rule, in milliseconds since the epoch. At this moment it is already
        /// too late.
        until_ms: i64,
    },
}

/// Returns the rules in an order's terms that allow an exchange of its seats at `now_ms`. Their
/// fees are sums that every provider takes.
///
/// # Errors
/// [`ExchangeRuleError`] if no rule allows an exchange now.
pub fn rules(
    terms: &OrderTerms,
    items: &[OrderItem],
    now_ms: i64,
) -> Result<Vec<ExchangeRule>, ExchangeRuleError> {
    let begins_ms = terms.begins_ms(items);
    let with_payable_fee = |rule: ExchangeRule| ExchangeRule {
        fee: fixed_fee(terms.original.currency.with_amount(rule.fee)),
        ..rule
    };
    let known = [terms.original.exchange, terms.present.exchange];
    let known: Vec<ExchangeRule> = known.into_iter().flatten().map(with_payable_fee).collect();
    let ends_ms = |rule: &ExchangeRule| until_ms(begins_ms, rule.until_h);
    let last_ms = known.iter().map(ends_ms).max();
    let last_ms = last_ms.ok_or(ExchangeRuleError::NotOffered)?;
    let not_ended: Vec<ExchangeRule> = known
        .into_iter()
        .filter(|rule| now_ms < ends_ms(rule))
        .collect();
    if not_ended.is_empty() {
        return Err(ExchangeRuleError::Over { until_ms: last_ms });
    }
    Ok(not_ended)
}

/// Returns the rule by which the difference goes back if the new seats are cheaper; none if nothing
/// goes back. A show that returns the whole difference takes no fee, but does not free money that
/// was carried over from an earlier exchange.
fn rule_for_difference(
    rule: &ExchangeRule,
    terms: &OrderTerms,
    order: &Order,
    now_ms: i64,
) -> Option<RefundRuleInForce> {
    let in_force = in_force(terms, order, now_ms).ok();
    match rule.cheaper {
        CheaperSeatsRule::Keep => None,
        CheaperSeatsRule::RefundRule => in_force,
        CheaperSeatsRule::Refund => Some(RefundRuleInForce {
            fee_pct: 0,
            ..in_force.unwrap_or(RefundRuleInForce {
                fee_pct: 0,
                until_ms: None,
                reason: RefundReason::ByBuyer,
            })
        }),
    }
}

/// Returns how much of what an order's seats are worth goes back by a refund rule, in minor units.
fn refundable(rule: Option<RefundRuleInForce>, order: &Order) -> i64 {
    rule.map_or(0, |rule| rule.split_price(order, &order.items).amount)
}

/// Returns how many per cent of the difference are at most kept if the new seats are cheaper.
fn kept_pct(rule: Option<RefundRuleInForce>, order: &Order) -> u32 {
    let fee_pct = rule.map_or(100, |rule| rule.fee_pct);
    let credit = credit(order);
    if credit <= 0 || order.items.iter().all(|item| item.carried.is_none()) {
        return fee_pct;
    }
    let kept = credit - refundable(rule, order);
    let kept_pct = (i128::from(kept) * 100 + i128::from(credit) - 1) / i128::from(credit);
    u32::try_from(kept_pct).map_or(fee_pct, |kept_pct| kept_pct.max(fee_pct))
}

/// What an exchange would cost, shown before the buyer chooses seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeQuote {
    /// Until when the seats may be exchanged at this cost, in milliseconds since the epoch.
    pub until_ms: i64,
    /// What the exchange itself costs, in minor units.
    pub fee: i64,
    /// How many per cent of the difference are at most kept if the new seats are cheaper.
    pub kept_pct: u32,
}

/// Returns the best quote for an exchange at `now_ms`: the one with the lowest fee or, among equal
/// fees, the one that refunds the most.
///
/// # Errors
/// [`ExchangeRuleError`] if no rule allows an exchange now.
pub fn exchange_quote(
    terms: &OrderTerms,
    order: &Order,
    now_ms: i64,
) -> Result<ExchangeQuote, ExchangeRuleError> {
    let begins_ms = terms.begins_ms(&order.items);
    let rules = rules(terms, &order.items, now_ms)?;
    let offers = rules.iter().map(|rule| ExchangeQuote {
        until_ms: until_ms(begins_ms, rule.until_h),
        fee: rule.fee,
        kept_pct: kept_pct(rule_for_difference(rule, terms, order, now_ms), order),
    });
    let best = offers.min_by_key(|offer| (offer.fee, offer.kept_pct));
    best.ok_or(ExchangeRuleError::NotOffered)
}

/// Returns what an order's seats are worth in an exchange: what was paid for the seats that the
/// order still has, in minor units.
#[must_use]
pub fn credit(order: &Order) -> i64 {
    super::total_price(&order.items) - order.waived
}

/// Computes what it costs to exchange `order`'s seats for new ones at `price`. `least` is the
/// smallest sum that the payment provider takes. If the terms of the order differ from the show's
/// present terms, the terms that are better for the buyer apply.
///
/// # Errors
/// [`ExchangeRuleError`] if no rule allows an exchange now.
pub fn exchange_cost(
    order: &Order,
    terms: &OrderTerms,
    price: i64,
    least: i64,
    now_ms: i64,
) -> Result<ExchangeCost, ExchangeRuleError> {
    let rules = rules(terms, &order.items, now_ms)?;
    let credit = credit(order);
    let cheaper = (credit - price).max(0);
    let of_difference =
        |refundable| share_rounded_up(refundable, (cheaper, credit), order.currency);
    let net = |rule: &ExchangeRule| {
        let by = rule_for_difference(rule, terms, order, now_ms);
        (price - credit).max(0) + rule.fee - of_difference(refundable(by, order))
    };
    let refundable = refundable(in_force(terms, order, now_ms).ok(), order);
    let offers = rules.iter().map(|rule| (net(rule), rule.fee));
    let (net, fee) = offers.min().unwrap_or((0, 0));
    let small = net > 0 && net < least;
    Ok(ExchangeCost {
        due: if small { 0 } else { net.max(0) },
        back: (-net).max(0),
        fee,
        waived: if small { net } else { 0 },
        carried: CarriedMoney {
            amount: credit.min(price),
            refundable: refundable - of_difference(refundable),
        },
    })
}

#[cfg(test)]
mod tests;
