//! Compares the provider's books with the ledger: every cent that was captured belongs to a
//! confirmed order or was refunded, and both sides have the same captures and refunds.

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::bail;
use serde::Deserialize;

use super::dump::{DumpedLedger, DumpedPayment};
use super::json_lines::{each_line, kind_of};
use super::report::{Findings, Invariant};

/// The provider's books, with one intent on each line.
#[derive(Default)]
pub struct ProviderBooks {
    intents: Vec<ProviderIntent>,
}

#[derive(Deserialize)]
struct ProviderIntent {
    intent: String,
    payment: String,
    order: String,
    status: String,
    amount: i64,
    currency: String,
    captured: i64,
    refunded: i64,
    /// The refunds that are done or under way; absent if the books do not list refunds.
    refunds: Option<Vec<ProviderBookRefund>>,
}

/// A refund as the provider knows it.
#[derive(Deserialize)]
struct ProviderBookRefund {
    /// The ledger's id of the refund; empty if the whole payment was refunded without such an id.
    refund: String,
    amount: i64,
}

impl ProviderBooks {
    /// Reads the books.
    ///
    /// # Errors
    /// If a line is no valid intent. The message names the first such line.
    pub fn read(name: &str, text: impl BufRead) -> anyhow::Result<Self> {
        let mut books = Self::default();
        each_line(name, text, |_, line| {
            let kind = kind_of(line)?.kind;
            if kind != "intent" {
                bail!("no record is of kind {kind:?}");
            }
            books.intents.push(serde_json::from_str(line)?);
            Ok(())
        })?;
        Ok(books)
    }

    /// Returns how many intents there are.
    pub fn count(&self) -> u64 {
        self.intents.len() as u64
    }

    /// Compares the books with the ledger.
    pub fn judge(&self, dump: &DumpedLedger, findings: &mut Findings) {
        let mut by_payment: HashMap<&str, Vec<&ProviderIntent>> = HashMap::new();
        for intent in &self.intents {
            by_payment.entry(&intent.payment).or_default().push(intent);
        }
        let payments: HashMap<&str, &DumpedPayment> = dump
            .payments
            .iter()
            .map(|payment| (payment.payment.as_str(), payment))
            .collect();
        for intent in &self.intents {
            self::undecided(intent, dump, findings);
            if !payments.contains_key(intent.payment.as_str()) && intent.captured != intent.refunded
            {
                wrong(findings, || {
                    format!(
                        "{} took {} for {}, which the ledger does not know",
                        intent.intent,
                        intent.captured - intent.refunded,
                        intent.payment
                    )
                });
            }
        }
        self.refunds(dump, findings);
        let none = Vec::new();
        for payment in &dump.payments {
            let intents = by_payment.get(payment.payment.as_str()).unwrap_or(&none);
            compare_payment(payment, intents, dump, findings);
        }
    }
}

impl ProviderIntent {
    /// Returns whether the whole captured amount was refunded at once, without a refund's id.
    fn went_back_whole(&self) -> bool {
        let refunds = self.refunds.as_deref().unwrap_or_default();
        matches!(refunds, [all] if all.refund.is_empty() && all.amount == self.captured)
    }
}

impl ProviderBooks {
    /// Compares the refunds in the books with those that the ledger has as done. Each must be in
    /// both once, with the same order and amount. If any intent lacks its list of refunds, refunds
    /// that the books miss are not reported.
    fn refunds(&self, dump: &DumpedLedger, findings: &mut Findings) {
        let mut done_refunds: HashMap<&str, (&str, i64)> = HashMap::new();
        let finished = dump
            .refunds
            .iter()
            .filter(|refund| refund.done_ms.is_some() && !refund.at_provider);
        for refund in finished {
            done_refunds.insert(&refund.refund, (&refund.order, refund.amount));
        }
        for intent in &self.intents {
            let booked = intent.refunds.iter().flatten();
            for refund in booked.filter(|refund| !refund.refund.is_empty()) {
                let recorded = done_refunds.remove(&*refund.refund);
                if recorded != Some((&*intent.order, refund.amount)) {
                    wrong(findings, || {
                        format!(
                            "{} refunded {} as {}, which the ledger has as {recorded:?}",
                            intent.intent, refund.amount, refund.refund
                        )
                    });
                }
            }
        }
        if self.intents.iter().any(|intent| intent.refunds.is_none()) {
            return;
        }
        // Money that was never captured is released, not refunded. If money was captured when it
        // should have been released, the whole payment is refunded. In neither case do the books
        // have a refund with the ledger's id.
        let was_captured = |order: &str| {
            let mut intents = self.intents.iter().filter(|intent| intent.order == order);
            intents.any(|intent| intent.captured != 0 && !intent.went_back_whole())
        };
        for (refund, (order, amount)) in done_refunds {
            if amount != 0 && was_captured(order) {
                wrong(findings, || {
                    format!("{refund} of {order} is done, and the provider refunded nothing for it")
                });
            }
        }
    }
}

fn wrong(findings: &mut Findings, evidence: impl FnOnce() -> String) {
    findings.add(Invariant::Books, evidence);
}

/// Checks that the provider has captured or released every authorised payment. Only the payment of
/// an order that awaits the buyer's consent may still be open.
fn undecided(intent: &ProviderIntent, dump: &DumpedLedger, findings: &mut Findings) {
    let awaits_consent = dump
        .order(&intent.order)
        .is_some_and(|order| order.state == "awaiting_consent");
    if intent.status == "requires_capture" && !awaits_consent {
        findings.add(Invariant::Settled, || {
            format!(
                "the provider holds {} of {} in {}, neither captured nor released",
                intent.amount, intent.order, intent.intent
            )
        });
    }
}

/// Returns how much of a payment went back at the provider without a call of booking.
fn unasked(payment: &DumpedPayment, dump: &DumpedLedger) -> i64 {
    let unasked = dump.refunds.iter();
    let unasked = unasked.filter(|refund| refund.order == payment.order && refund.at_provider);
    unasked.map(|refund| refund.amount).sum()
}

fn compare_payment(
    payment: &DumpedPayment,
    intents: &[&ProviderIntent],
    dump: &DumpedLedger,
    findings: &mut Findings,
) {
    let id = &payment.payment;
    let sum =
        |field: fn(&ProviderIntent) -> i64| intents.iter().map(|intent| field(intent)).sum::<i64>();
    let (captured, refunded) = (sum(|intent| intent.captured), sum(|intent| intent.refunded));
    if (captured, refunded) != (payment.captured, payment.refunded) {
        wrong(findings, || {
            format!(
                "{id}: the provider captured {captured} and refunded {refunded}, the ledger says {} and {}",
                payment.captured, payment.refunded
            )
        });
    }
    let sold = dump.order(&payment.order).filter(|order| order.sold());
    // The show's rules decide how much a partial refund keeps. Other checks compare the ledger with
    // those rules.
    let exact = sold.is_none_or(|order| order.state != "partly_refunded");
    let refunded_by_rule = dump
        .order(&payment.order)
        .is_some_and(|order| matches!(order.state.as_str(), "refunded" | "exchanged"));
    let owed = sold.map_or(0, |order| order.amount) - unasked(payment, dump);
    if exact && !refunded_by_rule && captured - refunded != owed {
        wrong(findings, || {
            format!(
                "{id}: the provider keeps {}, and {} cost {owed}",
                captured - refunded,
                payment.order
            )
        });
    }
    let captures = intents.iter().filter(|intent| intent.captured != 0).count();
    if captures > 1 {
        wrong(findings, || {
            format!("{id} was captured by {captures} intents")
        });
    }
    if let Some(other) = intents.iter().find(|intent| {
        intent.amount != payment.amount
            || intent.currency != payment.currency
            || intent.order != payment.order
    }) {
        wrong(findings, || {
            format!(
                "{id} is over {} {} for {}, and {} over {} {} for {}",
                payment.amount,
                payment.currency,
                payment.order,
                other.intent,
                other.amount,
                other.currency,
                other.order
            )
        });
    }
}
