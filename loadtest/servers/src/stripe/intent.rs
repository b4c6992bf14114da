//! Defines a payment intent, and writes it as JSON for answers, for events and for the provider's
//! books. A load test compares booking's ledger with these books.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::dashboard::StripeDispute;
use super::rules::{StripeErrorReply, charge, invalid};

/// A payment intent.
#[derive(Debug, Clone)]
pub struct StripeIntent {
    /// `requires_payment_method`, `requires_capture`, `succeeded` or `canceled`.
    pub status: &'static str,
    /// The amount in minor units.
    pub amount: i64,
    /// The amount refunded, in minor units. As at Stripe, pending refunds count, and failed refunds
    /// do not.
    pub refunded: i64,
    /// The states of the intent's refunds.
    pub refunds: Vec<&'static str>,
    /// The amount of each refund in minor units, and the id that the caller stored with the refund.
    pub parts: Vec<(i64, String)>,
    /// What the caller stored with each refund. Stripe copies no metadata of an intent to its
    /// refunds.
    refund_metadata: Vec<HashMap<String, String>>,
    /// The disputes of the intent's charge.
    pub(super) disputes: Vec<StripeDispute>,
    /// How much of the amount was not captured, in minor units.
    pub(super) not_captured: i64,
    /// How often the intent was captured.
    pub captures: u32,
    /// The number of the intent. Later intents have larger numbers.
    pub(super) made: u64,
    pub(super) currency: String,
    pub(super) metadata: HashMap<String, String>,
    card: String,
    declined: bool,
}

/// Returns the id of an intent's refund. The refunds of an intent are counted from 0.
pub(super) fn refund_id(intent: &str, nth: usize) -> String {
    format!("re_{intent}_{nth}")
}

/// Reads the metadata from the fields of a call.
///
/// # Errors
/// [`StripeErrorReply`], if it is larger than Stripe takes.
pub(super) fn metadata_of(
    fields: &HashMap<String, String>,
) -> Result<HashMap<String, String>, StripeErrorReply> {
    let given = fields.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("metadata[")?.strip_suffix(']')?;
        Some((name.to_owned(), value.clone()))
    });
    let metadata: HashMap<String, String> = given.collect();
    let is_long = |(name, value): (&String, &String)| {
        name.chars().count() > 40 || value.chars().count() > 500
    };
    if metadata.len() > 50 || metadata.iter().any(is_long) {
        let message = "metadata takes 50 keys of 40 characters and values of 500 characters";
        return Err(invalid("", "metadata", message));
    }
    Ok(metadata)
}

impl StripeIntent {
    /// Makes an intent that waits for a card, from the fields of the call.
    ///
    /// # Errors
    /// [`StripeErrorReply`], where Stripe would refuse the call, or where the call does not ask for
    /// manual capture.
    pub(super) fn from_fields(
        made: u64,
        fields: &HashMap<String, String>,
    ) -> Result<Self, StripeErrorReply> {
        let (amount, currency) = charge(fields.get("amount"), fields.get("currency"))?;
        if fields.get("capture_method").map(String::as_str) != Some("manual") {
            let message = "this server wants captures by hand";
            return Err(invalid("", "capture_method", message));
        }
        let metadata = metadata_of(fields)?;
        Ok(Self {
            status: "requires_payment_method",
            amount,
            refunded: 0,
            refunds: Vec::new(),
            parts: Vec::new(),
            refund_metadata: Vec::new(),
            disputes: Vec::new(),
            not_captured: 0,
            captures: 0,
            made,
            currency,
            metadata,
            card: String::new(),
            declined: false,
        })
    }

    /// Returns a value that the caller stored with the intent.
    pub(super) fn metadata_value(&self, name: &str) -> &str {
        self.metadata.get(name).map_or("", String::as_str)
    }

    /// Captures a part of the amount. As at Stripe, the rest is a refund.
    pub(super) fn capture_part(&mut self, amount: i64) {
        self.status = "succeeded";
        self.captures += 1;
        self.not_captured = self.amount - amount;
        self.refunds.push("succeeded");
        self.parts.push((self.not_captured, String::new()));
        self.refund_metadata.push(HashMap::new());
        self.count_refunds();
    }

    /// Tries a card. Returns the kind of the event to send, or `None` if the intent no longer waits
    /// for a card.
    pub(super) fn confirm(&mut self, card: &str, good: bool) -> Option<&'static str> {
        if self.status != "requires_payment_method" {
            return None;
        }
        card.clone_into(&mut self.card);
        self.declined = !good;
        if good {
            self.status = "requires_capture";
            Some("payment_intent.amount_capturable_updated")
        } else {
            Some("payment_intent.payment_failed")
        }
    }

    /// Makes a refund in the given state. Without an amount, refunds all that is left.
    ///
    /// # Errors
    /// [`StripeErrorReply`], where the intent was not captured or is disputed, where nothing is
    /// left to refund, or where the amount is below 1 or larger than what is left.
    pub(super) fn refund(
        &mut self,
        state: &'static str,
        amount: Option<i64>,
        metadata: HashMap<String, String>,
    ) -> Result<(), StripeErrorReply> {
        let left = self.amount - self.refunded - self.lost();
        if self.status != "succeeded" {
            let message = "this intent has no successful charge to refund";
            return Err(invalid("payment_intent_unexpected_state", "", message));
        }
        let mut disputes = self.disputes.iter();
        let is_open = disputes.any(|dispute| dispute.status == "needs_response");
        if is_open || (left == 0 && self.lost() > 0) {
            let message = "the charge has been charged back";
            return Err(invalid("charge_disputed", "", message));
        }
        if left == 0 {
            let message = "the charge has already been refunded";
            return Err(invalid("charge_already_refunded", "", message));
        }
        let amount = amount.unwrap_or(left);
        if amount < 1 {
            let message = "This value must be greater than or equal to 1.";
            return Err(invalid("parameter_invalid_integer", "amount", message));
        }
        if amount > left {
            let message =
                format!("Refund amount ({amount}) is greater than unrefunded amount ({left})");
            return Err(invalid("", "amount", &message));
        }
        self.refunds.push(state);
        let id = metadata.get("refund").cloned().unwrap_or_default();
        self.parts.push((amount, id));
        self.refund_metadata.push(metadata);
        self.count_refunds();
        Ok(())
    }

    /// Sets the state in which the last refund ends.
    pub(super) fn end_refund(&mut self, state: &'static str) {
        if let Some(last) = self.refunds.last_mut() {
            *last = state;
        }
        self.count_refunds();
    }

    fn count_refunds(&mut self) {
        let all = self.refunds.iter().zip(&self.parts);
        let succeeded = all.filter(|(state, _)| **state != "failed");
        self.refunded = succeeded.map(|(_, (amount, _))| amount).sum();
    }

    /// Returns the amount captured.
    fn captured(&self) -> i64 {
        if self.status == "succeeded" {
            self.amount
        } else {
            0
        }
    }

    /// Returns the amount lost in disputes.
    fn lost(&self) -> i64 {
        let lost = self.disputes.iter().filter(|one| one.status == "lost");
        lost.map(|dispute| dispute.amount).sum()
    }

    /// Returns the amount that the account has: captured, not refunded and not lost in a dispute.
    pub(super) fn kept(&self) -> i64 {
        self.captured() - self.refunded - self.lost()
    }

    /// Returns the record of the intent in the books. It leaves out failed refunds. Lost disputes
    /// count as refunded.
    pub(super) fn booked(&self, id: &str) -> Value {
        let all = self.refunds.iter().zip(&self.parts);
        let succeeded = all.filter(|(state, _)| **state != "failed");
        let mut refunds: Vec<Value> = succeeded
            .map(|(_, (amount, noted))| json!({ "refund": noted, "amount": amount }))
            .collect();
        let lost = self.disputes.iter().filter(|one| one.status == "lost");
        refunds.extend(lost.map(|one| json!({ "refund": "", "amount": one.amount })));
        json!({
            "kind": "intent", "intent": id, "payment": self.metadata_value("payment"), "order": self.metadata_value("order"),
            "status": self.status, "amount": self.amount, "currency": self.currency.to_ascii_uppercase(),
            "captured": self.captured(), "refunded": self.refunded + self.lost(), "refunds": refunds,
            "captures": self.captures,
        })
    }

    /// Returns the intent's charge as JSON.
    pub(super) fn charge(&self, id: &str) -> Value {
        json!({
            "id": format!("ch_{id}"), "payment_intent": id, "amount": self.amount, "amount_refunded": self.refunded,
            "currency": self.currency, "metadata": self.metadata, "disputed": !self.disputes.is_empty(),
            "payment_method_details": { "card": { "fingerprint": self.card } },
        })
    }

    /// Returns the last refund as an event shows it.
    pub(super) fn last_refund(&self, id: &str) -> Value {
        self.refund_json(id, self.parts.len().saturating_sub(1))
    }

    /// Returns a refund of the intent as answers and events show it.
    pub(super) fn refund_json(&self, id: &str, nth: usize) -> Value {
        json!({
            "id": refund_id(id, nth), "object": "refund", "payment_intent": id, "status": self.refunds.get(nth),
            "amount": self.parts.get(nth).map(|(amount, _)| amount), "currency": self.currency,
            "metadata": self.refund_metadata.get(nth),
        })
    }

    /// Returns the last dispute as an event shows it.
    pub(super) fn last_dispute(&self, id: &str) -> Value {
        let last = self.disputes.last();
        last.map_or(Value::Null, |dispute| dispute.shown(id, &self.currency))
    }

    /// Returns the intent as answers and events show it. If `expanded` is true, it contains the
    /// whole charge. Otherwise it contains only the id of the charge.
    pub(super) fn intent_json(&self, id: &str, expanded: bool) -> Value {
        let capturable = if self.status == "requires_capture" {
            self.amount
        } else {
            0
        };
        let mut intent = json!({
            "id": id, "object": "payment_intent", "status": self.status, "amount": self.amount,
            "amount_capturable": capturable, "amount_received": (self.captured() - self.not_captured).max(0), "currency": self.currency,
            "metadata": self.metadata, "client_secret": format!("{id}_secret_x"),
            "latest_charge": format!("ch_{id}"),
            "last_payment_error": self.declined.then(|| json!({ "code": "card_declined" })),
        });
        if expanded {
            intent["latest_charge"] = self.charge(id);
        }
        intent
    }
}
