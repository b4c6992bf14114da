//! Reads Stripe's events: checks the signature over the raw body, and reads the few kinds of events
//! that booking needs.

use fairgate_model::money::Money;
use fairgate_model::payments::stripe_sums::from_stripe;
use fairgate_model::payments::{ParsedProviderEvent, ProviderEvent, ProviderEventKind};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// How many seconds an event's time may differ from now. If it differs more, the event is refused,
/// because it may be a replay.
pub const TOLERANCE_S: u64 = 300;

/// How many signatures of one header are checked, at most. The rotation of a secret needs fewer.
const SIGNATURES_MAX: usize = 16;

/// Returns the header's value for a body: `t=UNIX_SECONDS,v1=HEX` over `t.body`.
#[cfg(test)]
fn sign(secret: &str, body: &[u8], at_s: i64) -> String {
    format!(
        "t={at_s},v1={}",
        hex::encode(stripe_event_mac(secret, body, at_s))
    )
}

fn stripe_event_mac(secret: &str, body: &[u8], at_s: i64) -> [u8; 32] {
    let mut mac =
        <Hmac<Sha256>>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(at_s.to_string().as_bytes());
    mac.update(b".");
    mac.update(body);
    mac.finalize().into_bytes().into()
}

/// Returns whether one of the header's `v1` signatures is right and the header's time is at most
/// [`TOLERANCE_S`] from now. Signatures of other schemes are ignored, so that nobody can downgrade
/// to a weaker one.
#[must_use]
pub fn genuine(secret: &str, header: &str, body: &[u8], now_s: i64) -> bool {
    let parts = || {
        header
            .split(',')
            .filter_map(|part| part.trim().split_once('='))
    };
    let Some(at_s) = parts()
        .find(|(scheme, _)| *scheme == "t")
        .and_then(|(_, at)| at.parse::<i64>().ok())
    else {
        return false;
    };
    if now_s.abs_diff(at_s) > TOLERANCE_S {
        return false;
    }
    let right = stripe_event_mac(secret, body, at_s);
    let mut is_genuine = false;
    let signatures = parts().filter(|(scheme, _)| *scheme == "v1");
    for (_, signature) in signatures.take(SIGNATURES_MAX) {
        let given = hex::decode(signature).unwrap_or_default();
        // Every signature is compared, even after a right one, so that the time of the check
        // reveals nothing.
        is_genuine |= bool::from(right.as_slice().ct_eq(&given));
    }
    is_genuine
}

/// Returns the id of an event.
#[must_use]
pub fn id(body: &[u8]) -> Option<String> {
    let event: Value = serde_json::from_slice(body).ok()?;
    let id = event["id"].as_str()?;
    (!id.is_empty() && id.len() <= 255).then(|| id.to_owned())
}

/// Reads an event. Events of unknown kinds and events that name no payment are ignored.
#[must_use]
pub fn read(body: &[u8]) -> ParsedProviderEvent {
    let Ok(event) = serde_json::from_slice::<Value>(body) else {
        return ParsedProviderEvent::Unreadable;
    };
    let (Some(id), Some(kind)) = (event["id"].as_str(), event["type"].as_str()) else {
        return ParsedProviderEvent::Unreadable;
    };
    let object = &event["data"]["object"];
    use ProviderEventKind as K;
    let (kind, amount, reference) = match kind {
        "payment_intent.amount_capturable_updated" => {
            // Stripe also sends this event when nothing is left to capture. Another event reports
            // what happened to the money.
            if object["status"] != "requires_capture" {
                return ParsedProviderEvent::Ignored;
            }
            (K::Authorised, "amount_capturable", "id")
        }
        "payment_intent.succeeded" => (K::Captured, "amount_received", "id"),
        "payment_intent.payment_failed" => (K::Declined, "amount", "id"),
        "payment_intent.canceled" => (K::Voided, "amount", "id"),
        "charge.refunded" => (K::Refunded, "amount_refunded", "payment_intent"),
        // Stripe may have reported this refund as done before. The inbox therefore reads from
        // Stripe how much was really refunded.
        "refund.failed" | "refund.updated" | "charge.refund.updated" => {
            (K::Refunded, "amount", "payment_intent")
        }
        "charge.dispute.created"
        | "charge.dispute.updated"
        | "charge.dispute.closed"
        | "charge.dispute.funds_withdrawn"
        | "charge.dispute.funds_reinstated" => return of_reference(id, object),
        _ => return ParsedProviderEvent::Ignored,
    };
    let Some(payment) = object["metadata"]["payment"].as_str() else {
        // Another shop may use the same account. A refund that was made in the dashboard does not
        // say whose payment it is of.
        return match kind {
            K::Refunded => of_reference(id, object),
            _ => ParsedProviderEvent::Ignored,
        };
    };
    let (Ok(payment), Some(amount)) = (payment.parse(), money(object, amount)) else {
        return ParsedProviderEvent::Unreadable;
    };
    ParsedProviderEvent::Event(ProviderEvent {
        event: id.to_owned(),
        kind,
        payment,
        amount,
        reference: object[reference].as_str().map(str::to_owned),
        card: fingerprint(object),
        returns: None,
    })
}

/// Reads an event about refunds or disputes that names a payment only by the id of its intent.
fn of_reference(event: &str, object: &Value) -> ParsedProviderEvent {
    match object["payment_intent"].as_str() {
        Some(reference) => ParsedProviderEvent::ReturnOf {
            event: event.to_owned(),
            reference: reference.to_owned(),
        },
        None => ParsedProviderEvent::Ignored,
    }
}

/// Reads an amount of a Stripe object, with its currency.
pub(super) fn money(object: &Value, field: &str) -> Option<Money> {
    from_stripe(object[field].as_i64()?, object["currency"].as_str()?)
}

/// Returns the card's fingerprint, if the object contains its charge or is a charge.
pub(super) fn fingerprint(object: &Value) -> Option<String> {
    let details = [&object["latest_charge"], object]
        .map(|charge| &charge["payment_method_details"]["card"]["fingerprint"]);
    details
        .into_iter()
        .find_map(Value::as_str)
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &str = "whsec_test";
    const NOW_S: i64 = 1_800_000_000;

    #[test]
    fn a_signature_of_the_raw_body_is_right_for_five_minutes() {
        let body = b"{\"id\": \"evt_1\"}";
        let header = sign(SECRET, body, NOW_S);
        for (now_s, is_right) in [
            (0, true),
            (300, true),
            (-300, true),
            (301, false),
            (-301, false),
        ] {
            assert_eq!(
                genuine(SECRET, &header, body, NOW_S + now_s),
                is_right,
                "{now_s}"
            );
        }
        assert!(!genuine("whsec_other", &header, body, NOW_S));
        assert!(
            !genuine(SECRET, &header, b"{\"id\":\"evt_1\"}", NOW_S),
            "the same JSON is another body"
        );
    }

    #[test]
    fn one_right_v1_signature_of_several_is_enough_and_other_schemes_are_ignored() {
        let body = b"x";
        let good = sign(SECRET, body, NOW_S);
        let v1 = good.split_once(",v1=").expect("both parts").1;
        let rotated = format!("t={NOW_S},v1={},v1={v1}", "00".repeat(32));
        assert!(genuine(SECRET, &rotated, body, NOW_S));
        for bad in [
            format!("t={NOW_S},v0={v1}"),
            format!("v1={v1}"),
            format!("t={NOW_S}"),
            format!("t={},v1={v1}", NOW_S + 1),
            String::new(),
            "t=,v1=".to_owned(),
        ] {
            assert!(!genuine(SECRET, &bad, body, NOW_S), "{bad}");
        }
    }

    fn said(kind: &str, object: &Value) -> ParsedProviderEvent {
        let event = json!({ "id": "evt_1", "type": kind, "data": { "object": object } });
        read(event.to_string().as_bytes())
    }

    fn payment() -> String {
        format!("payment_night-1_{}", "0".repeat(32))
    }

    #[test]
    fn unrelated_events_are_ignored_and_malformed_events_are_unreadable() {
        assert_eq!(
            said("customer.created", &json!({})),
            ParsedProviderEvent::Ignored
        );
        assert_eq!(
            said("payment_intent.succeeded", &json!({ "metadata": {} })),
            ParsedProviderEvent::Ignored
        );
        let nothing_left = json!({ "status": "succeeded", "metadata": { "payment": payment() } });
        assert_eq!(
            said("payment_intent.amount_capturable_updated", &nothing_left),
            ParsedProviderEvent::Ignored
        );
        let foreign = json!({ "metadata": { "payment": "order_x" }, "amount_received": 1, "currency": "eur" });
        assert_eq!(
            said("payment_intent.succeeded", &foreign),
            ParsedProviderEvent::Unreadable
        );
        assert_eq!(read(b"[]"), ParsedProviderEvent::Unreadable);
        assert_eq!(read(b"\xff"), ParsedProviderEvent::Unreadable);
    }

    #[test]
    fn each_kind_is_read_with_its_own_amount() {
        let intent = json!({
            "id": "pi_1", "status": "requires_capture", "metadata": { "payment": payment() }, "currency": "eur",
            "amount": 1, "amount_capturable": 2, "amount_received": 3,
        });
        let charge = json!({
            "id": "ch_1", "payment_intent": "pi_1", "metadata": { "payment": payment() }, "currency": "eur",
            "amount_refunded": 4, "payment_method_details": { "card": { "fingerprint": "f" } },
        });
        let refund = json!({
            "id": "re_1", "payment_intent": "pi_1", "metadata": { "payment": payment() }, "currency": "eur",
            "amount": 5, "status": "failed",
        });
        use ProviderEventKind as K;
        for (name, object, kind, amount, card) in [
            (
                "payment_intent.payment_failed",
                &intent,
                K::Declined,
                1,
                None,
            ),
            ("payment_intent.canceled", &intent, K::Voided, 1, None),
            (
                "payment_intent.amount_capturable_updated",
                &intent,
                K::Authorised,
                2,
                None,
            ),
            ("payment_intent.succeeded", &intent, K::Captured, 3, None),
            ("charge.refunded", &charge, K::Refunded, 4, Some("f")),
            ("refund.failed", &refund, K::Refunded, 5, None),
        ] {
            let ParsedProviderEvent::Event(event) = said(name, object) else {
                panic!("{name} is no event");
            };
            assert_eq!((event.kind, event.amount.amount), (kind, amount), "{name}");
            assert_eq!(event.reference.as_deref(), Some("pi_1"), "{name}");
            assert_eq!(event.card.as_deref(), card, "{name}");
        }
    }
}
