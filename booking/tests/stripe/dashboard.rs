//! Tests what people do at the provider without a call of ours: refunds and cancellations in its
//! dashboard, disputes, and money that belongs to no payment. Also when the provider's events about
//! it are lost.

use fairgate_model::findings::DriftKind;
use fairgate_servers::StripeFaultSettings;
use serde_json::{Value, json};

use crate::shop::*;

const LOST_EVENTS: StripeFaultSettings = StripeFaultSettings {
    drop_pct: 100,
    away: false,
    sums_pct: 0,
    too_many_pct: 0,
    locked_pct: 0,
    broken_pct: 0,
    hang_pct: 0,
    twice_pct: 0,
    delay_ms_max: 0,
};

fn rules() -> Value {
    json!({"refunds": [{"until_h": 1, "fee_pct": 0}]})
}

/// Opens a shop with a paid order of two seats. Returns also the order's payment.
async fn paid(seed: u64) -> (Shop, Value, String) {
    let shop = Shop::open(seed, "4x10", rules()).await;
    let order = shop.order_best(1, 2).await;
    shop.pay_by_card(&order, "visa", true);
    shop.order_once(&order, |order| order["state"] == "ticketed")
        .await;
    let payment = text(&order["payment"], "payment");
    (shop, order, payment)
}

fn total(order: &Value) -> i64 {
    order["payment"]["amount"]["amount"]
        .as_i64()
        .expect("a sum")
}

pub async fn attention(shop: &Shop) -> Value {
    let call = get("/v1/promoter/attention").by(PROMOTER);
    shop.ask(call).await.is(200)
}

async fn scan(shop: &Shop, read: &Value, nth: usize) -> TestAnswer {
    let path = format!("/v1/tickets/{}/scan", text(&read["tickets"][nth], "ticket"));
    shop.ask(post(&path, &json!({})).by(DOOR)).await
}

async fn nothing_owed(shop: &Shop) {
    until("nothing owed", async || {
        let backlog = shop.ledger.backlog().await.expect("readable");
        (backlog == (0, 0)).then_some(())
    })
    .await;
}

/// Checks that the provider has nothing left of a payment, and that the ledger says so, too.
async fn all_gone(shop: &Shop, order: &Value, payment: &str) {
    let read = shop
        .order_once(order, |order| order["payment"]["state"] == "refunded")
        .await;
    assert_eq!(read["tickets"], json!([]));
    assert_eq!(shop.stripe.money_by_payment()[payment], 0);
    nothing_owed(shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_refund_in_the_dashboard_ends_the_order_even_if_its_event_is_lost() {
    let (shop, order, payment) = paid(31).await;
    let read = shop.read(&order).await;
    // The reconciler begins to follow the provider's list.
    let reconciler = shop.booking.reconciler();
    reconciler.reconcile_all(0).await.expect("readable");
    shop.stripe.misbehave(LOST_EVENTS);
    assert!(shop.stripe.refund_in_dashboard(&payment, total(&order)));
    reconciler.reconcile_all(0).await.expect("readable");
    let ended = shop
        .order_once(&order, |order| order["state"] == "refunded")
        .await;
    assert_eq!(ended["reason"], "refunded_at_provider");
    assert_eq!(ended["refunds"][0]["state"], "done");
    assert_eq!(ended["refunds"][0]["amount"]["amount"], total(&order));
    let problem = scan(&shop, &read, 0).await.is(409);
    assert_eq!(problem["code"], "ticket_void");
    shop.seats_are_free().await;
    all_gone(&shop, &order, &payment).await;
    assert_eq!(attention(&shop).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_refund_in_the_dashboard_is_listed_and_the_buyer_gets_the_other_half() {
    let (shop, order, payment) = paid(32).await;
    let half = total(&order) / 2;
    assert!(shop.stripe.refund_in_dashboard(&payment, half));
    let listed = until("the finding", async || {
        let listed = attention(&shop).await;
        listed.get(0).cloned()
    })
    .await;
    assert_eq!(listed["code"], "refunded_in_part");
    assert_eq!(listed["order"], order["order"]);
    assert_eq!(listed["amount"]["amount"], half);
    let condition = shop.booking.gateways().condition().await;
    assert_eq!(condition.reasons, [] as [String; 0]);
    assert!(
        condition
            .warnings
            .iter()
            .any(|one| one.contains("1 order got")),
        "{:?}",
        condition.warnings
    );
    let found = shop.booking.reconciler().reconcile_all(0).await;
    let found = found.expect("readable");
    assert!(
        found
            .iter()
            .any(|line| line.kind == DriftKind::RefundedInPart)
    );
    let read = shop.read(&order).await;
    assert_eq!(read["tickets"].as_array().map(Vec::len), Some(2));
    assert_eq!(read["refund_offer"]["amount"]["amount"], half);
    shop.change_order(&order, "refund", &json!({})).await;
    all_gone(&shop, &order, &payment).await;
    assert_eq!(attention(&shop).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_is_too_large_shrinks_when_the_dashboard_was_first() {
    let (shop, order, payment) = paid(33).await;
    shop.stripe.misbehave(LOST_EVENTS);
    assert!(
        shop.stripe
            .refund_in_dashboard(&payment, total(&order) - 100)
    );
    // Nobody here knows of it. The provider refuses the whole sum, and is then read back.
    shop.change_order(&order, "refund", &json!({})).await;
    all_gone(&shop, &order, &payment).await;
    let refunds = shop.read(&order).await["refunds"].clone();
    let sums: i64 = refunds
        .as_array()
        .expect("refunds")
        .iter()
        .map(|refund| refund["amount"]["amount"].as_i64().expect("a sum"))
        .sum();
    assert_eq!(sums, total(&order));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoter_names_the_tickets_that_a_refund_was_for_once() {
    let (shop, order, payment) = paid(34).await;
    let read = shop.read(&order).await;
    assert!(shop.stripe.refund_in_dashboard(&payment, 4_000));
    until("the finding", async || {
        attention(&shop).await.get(0).cloned()
    })
    .await;
    let path = format!("/v1/promoter/orders/{}/settle", text(&order, "order"));
    let settle = async |body: &Value, who: &str| shop.ask(post(&path, body).by(who)).await;
    let named = json!({"tickets": [read["tickets"][0]["ticket"]]});
    assert_eq!(settle(&named, "nobody").await.status, 401);
    for bad in [
        json!({}),
        json!({"goodwill": true}),
        json!({"tickets": []}),
        json!({"tickets": [read["tickets"][0]["ticket"]], "goodwill": true, "reason": "both"}),
    ] {
        assert_eq!(settle(&bad, PROMOTER).await.status, 422, "{bad}");
    }
    let settled = settle(&named, PROMOTER).await.is(200);
    assert_eq!(settled["state"], "partly_refunded");
    assert_eq!(settled["seats"].as_array().map(Vec::len), Some(1));
    assert_eq!(scan(&shop, &read, 0).await.status, 409);
    scan(&shop, &read, 1).await.is(200);
    let again = settle(&named, PROMOTER).await.is(409);
    assert_eq!(again["code"], "nothing_to_settle");
    let kept = total(&order) - 4_000;
    assert_eq!(shop.stripe.money_by_payment()[&payment], kept);
    nothing_owed(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disputed_payment_blocks_its_tickets_until_the_bank_has_decided() {
    let (shop, order, payment) = paid(35).await;
    let read = shop.read(&order).await;
    assert!(shop.stripe.open_dispute(&payment));
    let blocked = shop
        .order_once(&order, |order| order["disputed"] == true)
        .await;
    assert_eq!(blocked["state"], "ticketed");
    assert_eq!(
        (&blocked["refund_offer"], &blocked["exchange_offer"]),
        (&Value::Null, &Value::Null)
    );
    let problem = scan(&shop, &read, 0).await.is(409);
    assert_eq!(problem["code"], "ticket_blocked");
    let path = format!("/v1/orders/{}/refund", text(&order, "order"));
    let call = post(&path, &json!({})).by(&text(&order, "order_key"));
    assert_eq!(shop.ask(call).await.is(409)["code"], "payment_disputed");
    let listed = attention(&shop).await;
    assert_eq!(listed[0]["code"], "disputed");
    assert_eq!(listed[0]["order"], order["order"]);
    assert!(shop.stripe.close_dispute(&payment, true));
    shop.order_once(&order, |order| order["disputed"] == false)
        .await;
    assert_eq!(attention(&shop).await, json!([]));
    scan(&shop, &read, 0).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispute_that_is_lost_is_a_whole_refund() {
    let (shop, order, payment) = paid(36).await;
    let read = shop.read(&order).await;
    assert!(shop.stripe.open_dispute(&payment));
    shop.order_once(&order, |order| order["disputed"] == true)
        .await;
    assert!(shop.stripe.close_dispute(&payment, false));
    let ended = shop
        .order_once(&order, |order| order["state"] == "refunded")
        .await;
    assert_eq!(ended["reason"], "dispute_lost");
    assert_eq!(scan(&shop, &read, 0).await.is(409)["code"], "ticket_void");
    shop.seats_are_free().await;
    all_gone(&shop, &order, &payment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_cancelled_in_the_dashboard_is_paid_anew() {
    let shop = Shop::open(37, "4x10", rules()).await;
    let order = shop.order_best(1, 2).await;
    let payment = text(&order["payment"], "payment");
    let secret = |order: &Value| text(&order["payment"]["client"], "client_secret");
    assert!(shop.stripe.cancel_in_dashboard(&payment));
    let first = secret(&order);
    let renewed = shop
        .order_once(&order, |order| {
            order["payment"]["client"]["client_secret"]
                .as_str()
                .is_some_and(|secret| secret != first)
        })
        .await;
    assert_eq!(renewed["state"], "pending");
    // Also a second cancellation is survived.
    assert!(shop.stripe.cancel_in_dashboard(&payment));
    let second = secret(&renewed);
    let renewed = shop
        .order_once(&order, |order| {
            order["payment"]["client"]["client_secret"]
                .as_str()
                .is_some_and(|secret| secret != second)
        })
        .await;
    shop.stripe.confirm(&secret(&renewed), "visa", true);
    shop.order_once(&order, |order| order["state"] == "ticketed")
        .await;
    assert_eq!(shop.stripe.money_by_payment()[&payment], total(&order));
    nothing_owed(&shop).await;
    assert_eq!(attention(&shop).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_money_is_told_with_its_sum_until_somebody_settles_it() {
    let (shop, order, payment) = paid(38).await;
    let strange = payment.replace(|letter: char| letter.is_ascii_digit(), "7");
    shop.booking
        .reconciler()
        .reconcile_all(0)
        .await
        .expect("readable");
    // One payment that the ledger never had, and a second intent of one that it has. The events are
    // lost.
    shop.stripe.misbehave(LOST_EVENTS);
    let unknown = shop.stripe.capture_unknown(&strange, "order_x", 1_234);
    let second = shop
        .stripe
        .capture_unknown(&payment, &text(&order, "order"), total(&order));
    shop.booking
        .reconciler()
        .reconcile_all(0)
        .await
        .expect("readable");
    let listed = until("two findings", async || {
        let listed = attention(&shop).await;
        (listed.as_array().map(Vec::len) == Some(2)).then_some(listed)
    })
    .await;
    let of = |id: &str| {
        let all = listed.as_array().expect("a list");
        let one = all.iter().find(|one| one["finding"] == id);
        one.expect("it is listed").clone()
    };
    assert_eq!(of(&unknown)["amount"]["amount"], 1_234);
    assert_eq!(of(&unknown)["code"], "unknown_money");
    assert_eq!(of(&second)["amount"]["amount"], total(&order));
    let found = shop.booking.reconciler().reconcile_all(0).await;
    let found = found.expect("readable");
    let told = found.iter().find(|line| line.about == unknown);
    let told = told.expect("it is told");
    assert_eq!((told.kind, told.repair), (DriftKind::UnknownMoney, "later"));
    assert!(told.told.contains("12.34 EUR"), "{}", told.told);
    let warnings = shop.booking.gateways().condition().await.warnings;
    assert!(
        warnings.iter().any(|one| one.contains("2 sums")),
        "{warnings:?}"
    );
    for id in [unknown, second] {
        let path = format!("/v1/promoter/attention/{id}/settle");
        let settle = async |body: &Value| shop.ask(post(&path, body).by(PROMOTER)).await;
        assert_eq!(settle(&json!({"reason": " "})).await.status, 422);
        settle(&json!({"reason": "given back by hand"}))
            .await
            .is(200);
        assert_eq!(settle(&json!({"reason": "again"})).await.status, 404);
    }
    assert_eq!(attention(&shop).await, json!([]));
    assert_eq!(shop.read(&order).await["state"], "ticketed");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_money_that_went_back_is_no_longer_listed() {
    let (shop, _, payment) = paid(39).await;
    let strange = payment.replace(|letter: char| letter.is_ascii_digit(), "7");
    let unknown = shop.stripe.capture_unknown(&strange, "order_x", 1_234);
    let listed = async |sum: Option<i64>| {
        until("the finding's sum", async || {
            let listed = attention(&shop).await;
            (listed[0]["amount"]["amount"].as_i64() == sum).then_some(())
        })
        .await;
    };
    listed(Some(1_234)).await;
    assert!(shop.stripe.refund_intent(&unknown, 1_000));
    listed(Some(234)).await;
    assert!(shop.stripe.refund_intent(&unknown, 234));
    listed(None).await;
    let disputed = shop.stripe.capture_unknown(&strange, "order_x", 500);
    listed(Some(500)).await;
    assert!(shop.stripe.lose_intent(&disputed));
    listed(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_captured_counts_as_given_back() {
    let shop = Shop::open(40, "4x10", rules()).await;
    let order = shop.order_best(1, 2).await;
    let payment = text(&order["payment"], "payment");
    // Our own capture must not come first.
    let only_ours = StripeFaultSettings {
        too_many_pct: 100,
        drop_pct: 0,
        ..LOST_EVENTS
    };
    shop.stripe.misbehave(only_ours);
    shop.pay_by_card(&order, "visa", true);
    assert!(shop.stripe.capture_part_in_dashboard(&payment, 4_000));
    shop.stripe.misbehave(StripeFaultSettings::default());
    let ticketed = shop
        .order_once(&order, |order| order["state"] == "ticketed")
        .await;
    let listed = until("the finding", async || {
        let reconciler = shop.booking.reconciler();
        reconciler.reconcile_all(0).await.expect("readable");
        attention(&shop).await.get(0).cloned()
    })
    .await;
    assert_eq!(listed["code"], "refunded_in_part");
    assert_eq!(listed["amount"]["amount"], total(&order) - 4_000);
    assert_eq!(ticketed["tickets"].as_array().map(Vec::len), Some(2));
    shop.change_order(&order, "refund", &json!({})).await;
    all_gone(&shop, &order, &payment).await;
    assert_eq!(attention(&shop).await, json!([]));
}
