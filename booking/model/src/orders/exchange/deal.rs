//! What an exchange costs: pure.

use crate::orders::refund::rules::{in_force, until_ms};
use crate::orders::terms::OrderTerms;
use crate::orders::{Order, OrderItem};
use crate::shows::rules::{CheaperSeatsRule, ExchangeRule};

/// What is paid or goes back for an exchange, in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeCost {
    /// To be paid.
    pub due: i64,
    /// Goes back.
    pub back: i64,
    /// What the exchange itself costs; part of what is due, or taken from what goes back.
    pub fee: i64,
    /// What would be due but is less than the payment provider takes: it is not charged now, and
    /// counts in the order's later sums.
    pub let_go: i64,
}

/// Why an order's seats are not exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeRuleError {
    /// The show offers no exchange.
    #[error("the show offers no exchange")]
    NotOffered,
    /// It did until this moment.
    #[error("the show offered exchanges until {until_ms}")]
    Over {
        /// The last moment.
        until_ms: i64,
    },
}

/// The rules of an order's terms by which its seats may be exchanged at `now_ms`.
///
/// # Errors
/// [`ExchangeRuleError`] where there is none.
pub fn rules(
    terms: &OrderTerms,
    items: &[OrderItem],
    now_ms: i64,
) -> Result<Vec<ExchangeRule>, ExchangeRuleError> {
    let begins_ms = terms.begins_ms(items);
    let known = [terms.kept.exchange, terms.present.exchange];
    let known: Vec<ExchangeRule> = known.into_iter().flatten().collect();
    let ends_ms = |rule: &ExchangeRule| until_ms(begins_ms, rule.until_h);
    let last_ms = known.iter().map(ends_ms).max();
    let last_ms = last_ms.ok_or(ExchangeRuleError::NotOffered)?;
    let living: Vec<ExchangeRule> = known
        .into_iter()
        .filter(|rule| now_ms < ends_ms(rule))
        .collect();
    if living.is_empty() {
        return Err(ExchangeRuleError::Over { until_ms: last_ms });
    }
    Ok(living)
}

/// What of a difference is kept by a rule where the new seats are cheaper, in per cent.
fn kept_pct(rule: &ExchangeRule, terms: &OrderTerms, begins_ms: i64, now_ms: i64) -> u32 {
    match rule.cheaper {
        CheaperSeatsRule::Refund => 0,
        CheaperSeatsRule::Keep => 100,
        CheaperSeatsRule::RefundRule => {
            in_force(terms, begins_ms, now_ms).map_or(100, |refund| refund.fee_pct)
        }
    }
}

/// What an exchange would cost, told before anything is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeQuote {
    /// Until when.
    pub until_ms: i64,
    /// What the exchange itself costs, in minor units.
    pub fee: i64,
    /// Per cent of the difference that is kept where the new seats are cheaper.
    pub kept_pct: u32,
}

/// What an order's owner is offered at `now_ms`.
///
/// # Errors
/// [`ExchangeRuleError`].
pub fn exchange_quote(
    terms: &OrderTerms,
    items: &[OrderItem],
    now_ms: i64,
) -> Result<ExchangeQuote, ExchangeRuleError> {
    let begins_ms = terms.begins_ms(items);
    let rules = rules(terms, items, now_ms)?;
    let offers = rules.iter().map(|rule| ExchangeQuote {
        until_ms: until_ms(begins_ms, rule.until_h),
        fee: rule.fee,
        kept_pct: kept_pct(rule, terms, begins_ms, now_ms),
    });
    let best = offers.min_by_key(|offer| (offer.fee, offer.kept_pct));
    best.ok_or(ExchangeRuleError::NotOffered)
}

/// What an order's seats are worth in an exchange: what was paid for those it still has.
#[must_use]
pub fn credit(order: &Order) -> i64 {
    super::total_price(&order.items) - order.let_go
}

/// What it costs to give `order`'s seats for new ones at `price`. `least` is the smallest sum that
/// the payment provider takes. Where the terms of the order and those of the moment differ, the
/// ones that are better for the buyer count.
///
/// # Errors
/// [`ExchangeRuleError`].
pub fn exchange_cost(
    order: &Order,
    terms: &OrderTerms,
    price: i64,
    least: i64,
    now_ms: i64,
) -> Result<ExchangeCost, ExchangeRuleError> {
    let rules = rules(terms, &order.items, now_ms)?;
    let begins_ms = terms.begins_ms(&order.items);
    let credit = credit(order);
    let cheaper = (credit - price).max(0);
    let net = |rule: &ExchangeRule| {
        let kept = i128::from(cheaper) * i128::from(kept_pct(rule, terms, begins_ms, now_ms)) / 100;
        let back = cheaper - i64::try_from(kept).unwrap_or(cheaper);
        (price - credit).max(0) + rule.fee - back
    };
    let offers = rules.iter().map(|rule| (net(rule), rule.fee));
    let (net, fee) = offers.min().unwrap_or((0, 0));
    let small = net > 0 && net < least;
    Ok(ExchangeCost {
        due: if small { 0 } else { net.max(0) },
        back: (-net).max(0),
        fee,
        let_go: if small { net } else { 0 },
    })
}

#[cfg(test)]
mod tests;
