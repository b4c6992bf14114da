//! Tests refunds. A refund is done when the provider reports that it succeeded. A failed refund
//! stays owed, and the reconciler reports it.

use booking::payments::stripe::{StripeProvider, StripeSettings};
use booking::payments::{PaymentProvider, READ_BACK_AFTER};
use fairgate_model::findings::DriftKind;
use fairgate_model::money::Currency;
use fairgate_model::orders::refund::OwedRefund;
use fairgate_model::payments::{Payment, PaymentState};
use fairgate_servers::{
    STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, StripeIntent,
};
use serde_json::{Value, json};

use crate::dashboard::attention;
use crate::shop::*;

/// Returns a cancelled order. The provider has captured its money, although booking asked for no
/// capture.
async fn taken_in_vain(seed: u64, refunds_are: &'static str) -> (Shop, Value) {
    let shop = Shop::open(seed, "4x10", json!({})).await;
    shop.stripe.refunds_are(refunds_are);
    let order = shop.order_best(1, 2).await;
    shop.change_order(&order, "cancel", &json!({})).await;
    shop.stripe
        .capture_unasked(&text(&order["payment"]["client"], "client_secret"));
    (shop, order)
}

fn intent(shop: &Shop, order: &Value) -> StripeIntent {
    let payment = text(&order["payment"], "payment");
    shop.stripe.intents()[&payment][0].clone()
}

fn refunded(order: &Value) -> bool {
    order["payment"]["state"] == "refunded"
}

async fn nothing_owed(shop: &Shop) {
    until("nothing owed", async || {
        let backlog = shop.ledger.backlog().await.expect("readable");
        (backlog == (0, 0)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_refund_is_owed_until_it_succeeds() {
    let (shop, order) = taken_in_vain(11, "pending").await;
    until("the refund to be asked for", async || {
        (intent(&shop, &order).refunds == ["pending"]).then_some(())
    })
    .await;
    // The provider sends the refund's event at once, although the refund is still pending.
    until("the provider's events to be settled", async || {
        let backlog = shop.ledger.backlog().await.expect("readable");
        (backlog == (0, 1)).then_some(())
    })
    .await;
    assert!(!refunded(&shop.read(&order).await));
    let payment = text(&order["payment"], "payment");
    shop.stripe.end_refund(&payment, "succeeded");
    shop.order_once(&order, refunded).await;
    nothing_owed(&shop).await;
    assert_eq!(
        intent(&shop, &order).refunds,
        ["succeeded"],
        "asked for once"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tickets_are_refunded_one_by_one_and_a_failed_refund_stays_owed() {
    let rules = json!({"refunds": [{"until_h": 1, "fee_pct": 10}]});
    let shop = Shop::open(13, "4x10", rules).await;
    let order = shop.order_best(1, 2).await;
    shop.pay_by_card(&order, "visa", true);
    let read = shop
        .order_once(&order, |order| order["state"] == "ticketed")
        .await;
    let ticket = |n: usize| json!({"tickets": [read["tickets"][n]["ticket"]]});
    shop.change_order(&order, "refund", &ticket(0)).await;
    let first = |order: &Value| order["refunds"][0]["state"] == "done";
    let half = shop.order_once(&order, first).await;
    assert_eq!(half["payment"]["state"], "captured");
    let price = half["total"]["amount"].as_i64().expect("a price") / 2;
    let back = price - price / 10;
    assert_eq!(intent(&shop, &order).refunded, back);
    shop.stripe.refunds_are("failed");
    shop.change_order(&order, "refund", &ticket(1)).await;
    let failed = |order: &Value| order["refunds"][1]["state"] == "failed";
    shop.order_once(&order, failed).await;
    let reconciler = shop.booking.reconciler();
    let found = reconciler.reconcile_all(0).await.expect("readable");
    assert!(
        found
            .iter()
            .any(|line| line.kind == DriftKind::RefundFailed),
        "{found:?}"
    );
    assert_eq!(
        intent(&shop, &order).refunded,
        back,
        "the failed refund gave no money back"
    );
    let backlog = shop.ledger.backlog().await.expect("readable");
    assert_eq!(backlog.1, 1, "the refund is still owed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_fails_is_a_finding_and_is_tried_again() {
    let (shop, order) = taken_in_vain(12, "pending").await;
    until("the refund to be asked for", async || {
        (intent(&shop, &order).refunds == ["pending"]).then_some(())
    })
    .await;
    shop.stripe.refunds_are("failed");
    let payment = text(&order["payment"], "payment");
    shop.stripe.end_refund(&payment, "failed");
    let reconciler = shop.booking.reconciler();
    let found = until("the finding", async || {
        let found = reconciler.reconcile_all(0).await.expect("readable");
        found
            .into_iter()
            .find(|line| line.kind == DriftKind::RefundFailed)
    })
    .await;
    assert_eq!(
        found.repair, "later",
        "the reconciler does not repair a failed refund"
    );
    assert!(found.told.contains(&payment), "{}", found.told);
    let listed = attention(&shop).await;
    assert_eq!(listed[0]["code"], "refund_failed");
    assert_eq!(listed[0]["order"], order["order"]);
    assert_eq!(intent(&shop, &order).refunds, ["failed", "failed"]);
    assert_eq!(shop.read(&order).await["payment"]["state"], "captured");
    let backlog = shop.ledger.backlog().await.expect("readable");
    assert_eq!(backlog.1, 1, "the refund is still owed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_fails_after_it_succeeded_is_owed_and_tried_again() {
    let rules = json!({"refunds": [{"until_h": 1, "fee_pct": 10}]});
    let shop = Shop::open(14, "4x10", rules).await;
    let order = shop.order_best(1, 2).await;
    shop.pay_by_card(&order, "visa", true);
    shop.order_once(&order, |order| order["state"] == "ticketed")
        .await;
    shop.change_order(&order, "refund", &json!({})).await;
    let state = |state: &'static str| move |order: &Value| order["refunds"][0]["state"] == state;
    shop.order_once(&order, state("done")).await;
    let back = intent(&shop, &order).refunded;
    let payment = text(&order["payment"], "payment");
    // The refund fails after it had succeeded, and the next try fails as well.
    shop.stripe.refunds_are("failed");
    shop.stripe.refund_fails(&payment);
    let failed = shop.order_once(&order, state("failed")).await;
    assert_eq!(failed["state"], "refunded", "the tickets stay void");
    assert_eq!(intent(&shop, &order).refunded, 0);
    let found = until("the second try", async || {
        let tried = intent(&shop, &order).refunds == ["failed", "failed"];
        let found = shop
            .booking
            .reconciler()
            .reconcile_all(0)
            .await
            .expect("readable");
        tried.then_some(found)
    })
    .await;
    assert!(
        found
            .iter()
            .any(|line| line.kind == DriftKind::RefundFailed),
        "{found:?}"
    );

    // The refund of another order also fails after it had succeeded, but its next try succeeds.
    let order = shop.order_best(2, 2).await;
    shop.pay_by_card(&order, "visa", true);
    shop.order_once(&order, |order| order["state"] == "ticketed")
        .await;
    shop.stripe.refunds_are("succeeded");
    shop.change_order(&order, "refund", &json!({})).await;
    shop.order_once(&order, state("done")).await;
    let payment = text(&order["payment"], "payment");
    shop.stripe.refund_fails(&payment);
    until("the second refund to succeed", async || {
        let intent = intent(&shop, &order);
        (intent.refunds == ["failed", "succeeded"] && intent.refunded == back).then_some(())
    })
    .await;
    shop.order_once(&order, state("done")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_captured_for_a_cancelled_order_is_refunded_again_if_its_refund_fails() {
    let (shop, order) = taken_in_vain(15, "succeeded").await;
    shop.order_once(&order, refunded).await;
    nothing_owed(&shop).await;
    let whole = intent(&shop, &order).refunded;
    assert!(whole > 0);
    let payment = text(&order["payment"], "payment");
    shop.stripe.refund_fails(&payment);
    until("the second refund to succeed", async || {
        let intent = intent(&shop, &order);
        (intent.refunds == ["failed", "succeeded"] && intent.refunded == whole).then_some(())
    })
    .await;
    shop.order_once(&order, refunded).await;
    nothing_owed(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_on_a_later_page_of_the_providers_list_is_not_made_again() {
    let rules = json!({"refunds": [{"until_h": 1, "fee_pct": 10}]});
    let shop = Shop::open(17, "4x10", rules).await;
    let order = shop.order_best(1, 4).await;
    shop.pay_by_card(&order, "visa", true);
    let read = shop
        .order_once(&order, |order| order["state"] == "ticketed")
        .await;
    // The provider lists the newest refunds first, two on a page. So the first two refunds are on
    // the second page.
    for nth in 0..4 {
        let ticket = json!({"tickets": [read["tickets"][nth]["ticket"]]});
        shop.change_order(&order, "refund", &ticket).await;
        shop.order_once(&order, |order| order["refunds"][nth]["state"] == "done")
            .await;
    }
    // When one refund fails, booking marks all four as not done, and asks for the result of each
    // again.
    shop.stripe.forget_keys();
    shop.stripe
        .refund_fails(&text(&order["payment"], "payment"));
    until("the failed refund to be made again", async || {
        let refunds = intent(&shop, &order).refunds;
        let expected = ["succeeded", "succeeded", "succeeded", "failed", "succeeded"];
        (refunds == expected).then_some(())
    })
    .await;
    nothing_owed(&shop).await;
    let found = shop.booking.reconciler().reconcile_all(0).await;
    assert_eq!(found.expect("readable"), []);
    let read = shop.read(&order).await;
    for nth in 0..4 {
        assert_eq!(read["refunds"][nth]["state"], "done", "refund {nth}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_whose_answer_and_key_were_lost_is_not_made_again() {
    let rules = json!({"refunds": [{"until_h": 1, "fee_pct": 10}]});
    let shop = Shop::open(18, "4x10", rules).await;
    let order = shop.order_best(1, 2).await;
    shop.pay_by_card(&order, "visa", true);
    let read = shop
        .order_once(&order, |order| order["state"] == "ticketed")
        .await;
    let ticket = json!({"tickets": [read["tickets"][0]["ticket"]]});
    shop.change_order(&order, "refund", &ticket).await;
    let read = shop
        .order_once(&order, |order| order["refunds"][0]["state"] == "done")
        .await;
    let back = intent(&shop, &order).refunded;

    // A node may die after the call, and its ledger may not be reachable until Stripe has forgotten
    // the key. Then the same call is made again as if it were the first.
    shop.stripe.forget_keys();
    let provider = StripeProvider::new(StripeSettings {
        secret_key: STRIPE_SECRET_KEY.to_owned(),
        webhook_secret: STRIPE_WEBHOOK_SECRET.to_owned(),
        publishable_key: STRIPE_PUBLISHABLE_KEY.to_owned(),
        url: shop.stripe.url().to_owned(),
        read_back_after: READ_BACK_AFTER,
    })
    .expect("TLS");
    let secret = text(&order["payment"]["client"], "client_secret");
    let (reference, _) = secret.split_once("_secret_").expect("an intent's secret");
    let refund = OwedRefund {
        id: text(&read["refunds"][0], "refund").parse().expect("an id"),
        amount: back,
        attempts: 0,
        payment: Payment {
            id: text(&order["payment"], "payment").parse().expect("an id"),
            order: text(&order, "order").parse().expect("an id"),
            provider: provider.name().to_owned(),
            amount: Currency::EUR.with_amount(back * 2),
            state: PaymentState::Captured,
            reference: Some(reference.to_owned()),
            client: None,
            refunded: 0,
            attempt: 0,
            dispute: None,
        },
        copy: None,
    };
    assert_eq!(provider.refund_part(&refund).await, Ok(()));
    assert_eq!(intent(&shop, &order).refunded, back);
    assert_eq!(intent(&shop, &order).refunds, ["succeeded"]);
}
