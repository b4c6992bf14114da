//! Tests sums that Stripe does not accept. If booking knows the limit, it refuses the sum before it
//! writes anything. If only Stripe knows the limit, the order ends at once.

use serde_json::{Value, json};

use crate::shop::*;

fn coins(amount: i64, currency: &str) -> Value {
    json!({ "amount": amount, "currency": currency })
}

/// Returns changes to the show's document. `price`, in minor units, is for `cat2`: rows C and D of
/// a 4x10 hall.
fn at(price: i64) -> Value {
    json!({ "prices": { "cat1": 9_900, "cat2": price }, "refunds": [{ "until_h": 1, "fee_pct": 0 }] })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_free_order_never_reaches_stripe() {
    let shop = Shop::open(21, "4x10", at(0)).await;
    let order = shop.order(&shop.pass(1), &["D-1", "D-2"]).await;
    assert_eq!(order["state"], "ticketed");
    shop.change_order(&order, "refund", &json!({})).await;
    let after = shop.read(&order).await;
    assert_eq!(
        (&after["state"], &after["refunds"][0]["state"]),
        (&json!("refunded"), &json!("done"))
    );
    assert_eq!(shop.stripe.calls(), 0);
}

async fn read_hold(shop: &Shop, hold: &Value) -> TestAnswer {
    let path = format!("/v1/holds/{}", text(hold, "hold"));
    shop.ask(get(&path).by(&shop.pass(1))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sum_below_stripes_minimum_is_refused_and_the_seats_stay_held() {
    let shop = Shop::open(22, "4x10", at(20)).await;
    let hold = shop.hold(&shop.pass(1), &["D-1", "D-2"]).await;
    let refused = shop.try_checkout(&shop.pass(1), &hold).await.is(422);
    assert_eq!(
        (&refused["code"], &refused["minimum"], &refused["total"]),
        (
            &json!("amount_too_small"),
            &coins(50, "EUR"),
            &coins(40, "EUR")
        )
    );
    let told = text(&refused, "detail");
    assert!(
        told.contains("0.40 EUR") && told.contains("0.50 EUR"),
        "{told}"
    );
    let kept = read_hold(&shop, &hold).await.is(200);
    assert_eq!(kept["expires_at"], hold["expires_at"]);
    assert_eq!(shop.stripe.calls(), 0);
    // One more seat makes the sum large enough.
    shop.add(&shop.pass(1), &hold, "D-3").await;
    let order = shop.try_checkout(&shop.pass(1), &hold).await.is(201);
    assert_eq!(order["payment"]["amount"], coins(60, "EUR"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sum_above_stripes_maximum_is_refused_and_the_seats_stay_held() {
    let shop = Shop::open(23, "4x10", at(60_000_000)).await;
    let hold = shop.hold(&shop.pass(1), &["D-1", "D-2"]).await;
    let refused = shop.try_checkout(&shop.pass(1), &hold).await.is(422);
    assert_eq!(
        (&refused["code"], &refused["maximum"]),
        (&json!("amount_too_large"), &coins(99_999_999, "EUR"))
    );
    read_hold(&shop, &hold).await.is(200);
    assert_eq!(shop.stripe.calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_stripe_never_takes_is_refused_when_it_is_set() {
    let shop = Shop::open(24, "4x10", at(100)).await;
    for (currency, price) in [("EUR", 100_000_000), ("KWD", 5_123), ("MGA", 1_050)] {
        let mut changes = at(price);
        changes["currency"] = json!(currency);
        let refused = shop.put_show(changes).await.is(422);
        assert_eq!(refused["problems"][0]["field"], "prices.cat2", "{refused}");
    }
    for (currency, price) in [("JPY", 100_000_000), ("KWD", 5_120), ("EUR", 1)] {
        let mut changes = at(price);
        changes["currency"] = json!(currency);
        changes["prices"]["cat1"] = json!(10_000);
        shop.put_show(changes).await.is(200);
    }
}

/// Returns changes to the show's document: both prices are 5.120 Kuwaiti dinars, of which Stripe
/// takes only whole hundredths. A refund has a fee of 15 %, and an exchange one of `fee`.
fn in_dinars(fee: i64) -> Value {
    json!({
        "currency": "KWD", "prices": { "cat1": 5_120, "cat2": 5_120 },
        "refunds": [{ "until_h": 1, "fee_pct": 15 }], "exchange": { "fee": fee },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_fee_that_stripe_never_takes_is_refused_when_it_is_set() {
    let shop = Shop::open(28, "4x10", in_dinars(300)).await;
    let refused = shop.put_show(in_dinars(305)).await.is(422);
    assert_eq!(refused["problems"][0]["field"], "exchange.fee", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_fee_leaves_of_a_price_is_a_sum_that_stripe_refunds() {
    let shop = Shop::open(29, "4x10", in_dinars(0)).await;
    let order = shop.order_best(1, 1).await;
    shop.pay_by_card(&order, "visa", true);
    let paid = shop
        .order_once(&order, |order| order["state"] == "ticketed")
        .await;
    // 15 % of 5.120 are 0.768, and Stripe cannot refund 4.352.
    assert_eq!(paid["refund_offer"]["amount"], coins(4_360, "KWD"));
    assert_eq!(paid["refund_offer"]["fee"], coins(760, "KWD"));
    shop.change_order(&order, "refund", &json!({})).await;
    let back = shop
        .order_once(&order, |order| order["refunds"][0]["state"] != "on_its_way")
        .await;
    assert_eq!(back["refunds"][0]["state"], "done");
    assert_eq!(back["refunds"][0]["amount"], coins(4_360, "KWD"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sum_that_only_stripe_finds_too_small_ends_the_order() {
    // Booking does not know the value of a yuan in the account's own currency, so only Stripe can
    // refuse the sum.
    let mut changes = at(60);
    changes["currency"] = json!("CNY");
    let shop = Shop::open(25, "4x10", changes).await;
    let hold = shop.hold(&shop.pass(1), &["D-1"]).await;
    let refused = shop.try_checkout(&shop.pass(1), &hold).await.is(422);
    assert_eq!(refused["code"], "amount_too_small", "{refused}");
    assert_eq!(refused["total"], coins(60, "CNY"));
    // The order has ended, and its seats are free again.
    shop.seats_are_free().await;
    let again = shop.try_checkout(&shop.pass(1), &hold).await.is(422);
    assert_eq!(again["code"], "payment_refused", "{again}");
    assert_eq!(again["order"], refused["order"]);
    assert_eq!(shop.ledger.backlog().await.expect("readable"), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_currency_that_stripe_does_not_know_ends_the_order() {
    let mut changes = at(4_900);
    changes["currency"] = json!("KPW");
    let shop = Shop::open(26, "4x10", changes).await;
    let hold = shop.hold(&shop.pass(1), &["D-1"]).await;
    let refused = shop.try_checkout(&shop.pass(1), &hold).await.is(422);
    assert_eq!(refused["code"], "payment_refused", "{refused}");
    shop.seats_are_free().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seats_stay_held_while_stripe_refuses_the_keys() {
    let shop = Shop::open(27, "4x10", at(4_900)).await;
    let hold = shop.hold(&shop.pass(1), &["D-1"]).await;
    for status in [401, 403] {
        shop.stripe.refuse_keys(Some(status));
        let put_off = shop.try_checkout(&shop.pass(1), &hold).await.is(503);
        assert_eq!(put_off["code"], "payment_provider_unreachable", "{put_off}");
    }
    // The organiser corrects the keys.
    shop.stripe.refuse_keys(None);
    let order = shop.checkout(&shop.pass(1), &hold).await;
    shop.pay_by_card(&order, "visa", true);
    shop.order_once(&order, |order| order["state"] == "ticketed")
        .await;
}
