//! What people do at Stripe without a call of the account's owner: refunds and cancellations in the
//! dashboard, disputes by the buyer's bank, and money that no call of the owner asked for.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::intent::StripeIntent;
use super::{FakeStripeServer, FakeStripeState};

/// The beginning of the ids of intents that no call of the account's owner made.
const UNKNOWN: &str = "pi_unknown_";

/// A dispute of an intent.
#[derive(Debug, Clone)]
pub(super) struct StripeDispute {
    /// Its id.
    pub(super) id: String,
    /// The disputed amount in minor units.
    pub(super) amount: i64,
    /// `needs_response`, `won` or `lost`.
    pub(super) status: &'static str,
}

impl StripeDispute {
    /// Returns the dispute as answers and events show it. It has no metadata.
    pub(super) fn shown(&self, intent: &str, currency: &str) -> Value {
        json!({
            "id": self.id, "object": "dispute", "payment_intent": intent, "charge": format!("ch_{intent}"),
            "amount": self.amount, "currency": currency, "status": self.status, "metadata": {},
        })
    }
}

impl FakeStripeState {
    /// Returns the id of the newest intent of a payment.
    fn newest_of(&self, payment: &str) -> Option<String> {
        let of_payment = |(id, intent): &(&String, &StripeIntent)| {
            intent.metadata_value("payment") == payment && !id.starts_with(UNKNOWN)
        };
        let all = self.intents.iter().filter(of_payment);
        let newest = all.max_by_key(|(_, intent)| intent.made);
        newest.map(|(id, _)| id.clone())
    }
}

impl FakeStripeServer {
    /// Changes the newest intent of a payment. Sends the event that `change` returns. Returns
    /// whether there was anything to change.
    fn change_newest(
        &self,
        payment: &str,
        change: impl FnOnce(&mut StripeIntent, u64) -> Option<&'static str>,
    ) -> bool {
        let changed = {
            let mut inner = self.inner.lock();
            inner.next += 1;
            let number = inner.next;
            let id = inner.newest_of(payment);
            id.and_then(|id| {
                let intent = inner.intents.get_mut(&id)?;
                change(intent, number).map(|kind| (kind, id))
            })
        };
        if let Some((kind, id)) = &changed {
            self.send_event(kind, id);
        }
        changed.is_some()
    }

    /// Refunds an amount in the dashboard. Such a refund carries nothing of the account's owner.
    /// Returns false if the intent has not so much left, or is disputed.
    pub fn refund_in_dashboard(&self, payment: &str, amount: i64) -> bool {
        self.change_newest(payment, |intent, _| {
            let refunded = intent.refund("succeeded", Some(amount), HashMap::new());
            refunded.ok().map(|()| "charge.refunded")
        })
    }

    /// Cancels an intent in the dashboard. Returns false if it was captured or cancelled before.
    pub fn cancel_in_dashboard(&self, payment: &str) -> bool {
        self.change_newest(payment, |intent, _| {
            let may_cancel = matches!(
                intent.status,
                "requires_payment_method" | "requires_capture"
            );
            may_cancel.then(|| {
                intent.status = "canceled";
                "payment_intent.canceled"
            })
        })
    }

    /// Captures a part of an authorised intent in the dashboard. Returns false if it is not
    /// authorised, or if the part is not a part.
    pub fn capture_part_in_dashboard(&self, payment: &str, amount: i64) -> bool {
        self.change_newest(payment, |intent, _| {
            let may_capture =
                intent.status == "requires_capture" && (1..intent.amount).contains(&amount);
            may_capture.then(|| {
                intent.capture_part(amount);
                "payment_intent.succeeded"
            })
        })
    }

    /// Refunds an amount of an intent in the dashboard, whoever made it. Returns false if it has
    /// not so much left.
    pub fn refund_intent(&self, id: &str, amount: i64) -> bool {
        let refunded = {
            let mut inner = self.inner.lock();
            let intent = inner.intents.get_mut(id);
            intent.is_some_and(|intent| {
                intent
                    .refund("succeeded", Some(amount), HashMap::new())
                    .is_ok()
            })
        };
        if refunded {
            self.send_event("charge.refunded", id);
        }
        refunded
    }

    /// Disputes all that is left of an intent, whoever made it, and decides for the buyer. Returns
    /// false if nothing is left.
    pub fn lose_intent(&self, id: &str) -> bool {
        let lost = {
            let mut inner = self.inner.lock();
            inner.next += 1;
            let number = inner.next;
            let intent = inner.intents.get_mut(id).filter(|intent| intent.kept() > 0);
            intent.is_some_and(|intent| {
                intent.disputes.push(StripeDispute {
                    id: format!("dp_{number}"),
                    amount: intent.kept(),
                    status: "lost",
                });
                true
            })
        };
        if lost {
            self.send_event("charge.dispute.closed", id);
        }
        lost
    }

    /// Opens a dispute over all that is left of a captured intent. Returns false if nothing is
    /// left, or if there is a dispute already.
    pub fn open_dispute(&self, payment: &str) -> bool {
        self.open_dispute_over(payment, i64::MAX)
    }

    /// Does the same as [`Self::open_dispute`], over at most this amount.
    pub fn open_dispute_over(&self, payment: &str, amount: i64) -> bool {
        self.change_newest(payment, |intent, number| {
            let left = intent.amount - intent.refunded;
            let may_dispute =
                intent.status == "succeeded" && left > 0 && intent.disputes.is_empty();
            may_dispute.then(|| {
                intent.disputes.push(StripeDispute {
                    id: format!("dp_{number}"),
                    amount: left.min(amount),
                    status: "needs_response",
                });
                "charge.dispute.created"
            })
        })
    }

    /// Ends the open dispute of an intent. Returns false if there is none.
    pub fn close_dispute(&self, payment: &str, won: bool) -> bool {
        self.change_newest(payment, |intent, _| {
            let mut disputes = intent.disputes.iter_mut();
            let open = disputes.find(|dispute| dispute.status == "needs_response")?;
            open.status = if won { "won" } else { "lost" };
            Some("charge.dispute.closed")
        })
    }

    /// Captures money for a payment, under an intent that no call of the account's owner made.
    /// Returns the intent's id.
    pub fn capture_unknown(&self, payment: &str, order: &str, amount: i64) -> String {
        let id = {
            let mut inner = self.inner.lock();
            inner.next += 1;
            let id = format!("{UNKNOWN}{}", inner.next);
            let fields = [
                ("amount", amount.to_string()),
                ("currency", "eur".to_owned()),
                ("capture_method", "manual".to_owned()),
                ("metadata[payment]", payment.to_owned()),
                ("metadata[order]", order.to_owned()),
            ];
            let fields: HashMap<String, String> =
                fields.map(|(name, value)| (name.to_owned(), value)).into();
            let made = inner.next;
            let mut intent =
                StripeIntent::from_fields(made, &fields).expect("a sum that Stripe takes");
            intent.status = "succeeded";
            inner.intents.insert(id.clone(), intent);
            id
        };
        self.send_event("payment_intent.succeeded", &id);
        id
    }

    /// Returns the money that the account has of each payment, of all its intents: what was
    /// captured, less what was refunded and lost in disputes.
    #[must_use]
    pub fn money_by_payment(&self) -> HashMap<String, i64> {
        self.sum_intents(|_| true)
    }

    /// Does the same as [`Self::money_by_payment`], without money that no call of the account's
    /// owner asked for.
    #[must_use]
    pub fn known_money(&self) -> HashMap<String, i64> {
        self.sum_intents(|id| !id.starts_with(UNKNOWN))
    }

    fn sum_intents(&self, counts: impl Fn(&str) -> bool) -> HashMap<String, i64> {
        let mut money: HashMap<String, i64> = HashMap::new();
        for (id, intent) in &self.inner.lock().intents {
            if counts(id) {
                let payment = intent.metadata_value("payment").to_owned();
                *money.entry(payment).or_default() += intent.kept();
            }
        }
        money
    }

    /// Returns whether an intent of a payment, made by a call of the account's owner, is authorised
    /// or captured.
    #[must_use]
    pub fn has_money(&self, payment: &str) -> bool {
        let inner = self.inner.lock();
        inner.intents.iter().any(|(id, intent)| {
            intent.metadata_value("payment") == payment
                && !id.starts_with(UNKNOWN)
                && matches!(intent.status, "requires_capture" | "succeeded")
        })
    }
}
