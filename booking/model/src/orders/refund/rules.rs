//! Finds the rule by which tickets may be given back. The module is pure.

use super::RefundReason;
use crate::money::{Currency, Money};
use crate::orders::exchange::carried::CarriedMoney;
use crate::orders::terms::OrderTerms;
use crate::orders::{Order, OrderItem};
use crate::payments::fees::fee_of_price;
use crate::shows::fate::ShowFate;
use crate::shows::rules::RefundRule;

const HOUR_MS: i64 = 3_600_000;

/// The refund rule that is in force at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefundRuleInForce {
    /// The fee, in per cent of each ticket's price.
    pub fee_pct: u32,
    /// Until when the rule is in force, in milliseconds since the epoch; none if it has no end.
    pub until_ms: Option<i64>,
    /// The reason that refunds by this rule get.
    pub reason: RefundReason,
}

/// What becomes of the price of seats that are given back together, in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefundSums {
    /// The sum that goes back.
    pub amount: i64,
    /// The fee that is kept.
    pub fee: i64,
    /// The sum that was never charged.
    pub uncharged: i64,
}

/// Why no refund rule is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefundRuleError {
    /// The show takes no tickets back.
    #[error("the show takes no tickets back")]
    None,
    /// What was paid for the tickets was carried over in exchanges, from tickets that could not be
    /// given back.
    #[error("the tickets were exchanged for others when they could not be given back")]
    CarriedOver,
    /// The show took tickets back until this moment.
    #[error("the show took tickets back until {until_ms}")]
    Over {
        /// The last moment of the last rule, in milliseconds since the epoch.
        until_ms: i64,
    },
}

impl RefundRuleInForce {
    /// Returns the fee for a ticket of this price, in minor units. The fee is rounded in favour of
    /// the buyer.
    #[must_use]
    pub fn fee_for_price(self, price: Money) -> i64 {
        fee_of_price(price, self.fee_pct)
    }

    /// Returns whether the rule also frees money that was carried over in exchanges. A rule of the
    /// show does not. If something happened to the show after it was bought, all money goes back.
    #[must_use]
    pub fn frees_carried_money(self) -> bool {
        self.reason != RefundReason::ByBuyer
    }

    /// Returns the fee for a seat, in minor units. Of money that was carried over, the refund is at
    /// most the share that could be refunded when it was carried over.
    #[must_use]
    pub fn fee_for_item(self, item: &OrderItem, currency: Currency) -> i64 {
        let CarriedMoney { amount, refundable } = item.carried;
        let fee = |amount| self.fee_for_price(currency.with_amount(amount));
        let kept = match self.frees_carried_money() {
            true => 0,
            false => amount - refundable.min(amount),
        };
        fee(amount).max(kept) + fee(item.amount - amount)
    }

    /// Returns what becomes of the price of some of an order's seats if they are given back
    /// together. In an exchange for the order's seats, a sum may have been waived. The buyer never
    /// paid this sum, and does not get it back.
    #[must_use]
    pub fn split_price(self, order: &Order, seats: &[OrderItem]) -> RefundSums {
        let fee = |item: &OrderItem| self.fee_for_item(item, order.currency);
        let fee: i64 = seats.iter().map(fee).sum();
        let left = seats.iter().map(|item| item.amount).sum::<i64>() - fee;
        let uncharged = order.waived.min(left).max(0);
        RefundSums {
            amount: left - uncharged,
            fee,
            uncharged,
        }
    }
}

/// Returns the end of a rule that ends `until_h` hours before `begins_ms`, in milliseconds since
/// the epoch.
#[must_use]
pub fn until_ms(begins_ms: i64, until_h: u32) -> i64 {
    begins_ms - i64::from(until_h) * HOUR_MS
}

/// Returns the rule in force at `now_ms` for an order. There is no fee if the show was cancelled,
/// if it was postponed after the order was made and its time for free refunds has not ended, or
/// before a train leaves that was moved too far ([`OrderTerms::is_moved`]). Otherwise, the rules
/// that the order was made under and the show's present rules are compared. Of those that have not
/// ended, the rule with the lowest fee is in force.
///
/// # Errors
/// [`RefundRuleError`] if no rule is in force.
pub fn in_force(
    terms: &OrderTerms,
    order: &Order,
    now_ms: i64,
) -> Result<RefundRuleInForce, RefundRuleError> {
    let items = &order.items;
    match terms.fate {
        Some(ShowFate::Cancelled) => {
            return Ok(RefundRuleInForce {
                fee_pct: 0,
                until_ms: None,
                reason: RefundReason::ShowCancelled,
            });
        }
        Some(ShowFate::Postponed {
            since_ms,
            refunds_until_ms,
        }) if order.created_at_ms <= since_ms && now_ms <= refunds_until_ms => {
            return Ok(RefundRuleInForce {
                fee_pct: 0,
                until_ms: Some(refunds_until_ms),
                reason: RefundReason::ShowPostponed,
            });
        }
        _ => {}
    }
    let begins_ms = terms.begins_ms(items);
    if now_ms <= begins_ms && terms.is_moved(items) {
        return Ok(RefundRuleInForce {
            fee_pct: 0,
            until_ms: Some(begins_ms),
            reason: RefundReason::TrainRetimed,
        });
    }
    let rules = || terms.original.refunds.iter().chain(&terms.present.refunds);
    let until_ms = |rule: &RefundRule| until_ms(begins_ms, rule.until_h);
    let not_ended = rules().filter(|rule| now_ms <= until_ms(rule));
    let best = not_ended.min_by_key(|rule| (rule.fee_pct, rule.until_h));
    match (best, rules().map(until_ms).max()) {
        (Some(rule), _) => Ok(RefundRuleInForce {
            fee_pct: rule.fee_pct,
            until_ms: Some(until_ms(rule)),
            reason: RefundReason::ByBuyer,
        }),
        (None, Some(until_ms)) => Err(RefundRuleError::Over { until_ms }),
        (None, None) => Err(RefundRuleError::None),
    }
}
