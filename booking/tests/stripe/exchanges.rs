//! Tests exchanges whose difference is smaller than the provider accepts. Such a difference is
//! neither charged nor refunded. It is added to the difference of a later exchange. Also tests the
//! card limit of the new show.

use serde_json::{Value, json};

use crate::shop::*;

fn rules() -> Value {
    json!({"refunds": [{"until_h": 1, "fee_pct": 0}], "exchange": {"cheaper": "refund"}})
}

/// Puts a night like `night-1` at this price, with changes.
async fn put_night(shop: &Shop, night: &str, price: i64, changes: Value) {
    let mut document = json!({
        "venue": "hall", "title": night, "starts_at": "2099-06-01T20:00:00+02:00", "currency": "EUR",
        "prices": {"cat1": price, "cat2": price}, "orphans": "allow",
    });
    for more in [rules(), changes] {
        if let (Some(document), Value::Object(more)) = (document.as_object_mut(), more) {
            document.extend(more);
        }
    }
    let path = format!("/v1/promoter/shows/{night}");
    let put = put(&path, &document).by(PROMOTER);
    shop.ask(put).await.is(200);
}

/// Returns a paid order for a seat of the first night.
async fn paid(shop: &Shop, who: u16, card: &str) -> Value {
    let order = shop.order_best(who, 1).await;
    shop.pay_by_card(&order, card, true);
    shop.order_once(&order, |order| order["state"] == "ticketed")
        .await;
    order
}

/// Opens four nights at 99.00, 99.20, 99.40 and 99.60, with a paid seat for the first night.
async fn opened(seed: u64) -> (Shop, Value) {
    let shop = Shop::open(seed, "4x10", rules()).await;
    for (night, price) in [("night-2", 9_920), ("night-3", 9_940), ("night-4", 9_960)] {
        put_night(&shop, night, price, json!({})).await;
    }
    let order = paid(&shop, 1, "visa").await;
    (shop, order)
}

/// Asks to exchange an order's seat for the best seat of another night.
async fn exchange(shop: &Shop, order: &Value, night: &str) -> TestAnswer {
    let path = format!("/v1/orders/{}/exchange", text(order, "order"));
    let ask = json!({"show": night, "best": {"quantity": 1}});
    let call = post(&path, &ask).by(&text(order, "order_key"));
    shop.ask(call).await
}

/// Exchanges an order's seat for the best seat of another night.
async fn exchanged(shop: &Shop, order: &Value, night: &str) -> Value {
    let made = exchange(shop, order, night).await.is(200);
    let told = &shop.read(order).await["exchange"];
    json!({"order": made["order"], "order_key": told["order_key"], "payment": made["payment"], "state": made["state"]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_too_small_to_charge_is_waived_and_counts_in_the_next_sum() {
    let (shop, first) = opened(21).await;
    let second = exchanged(&shop, &first, "night-2").await;
    assert_eq!(
        second["state"], "ticketed",
        "0.20 is less than Stripe accepts"
    );
    assert_eq!(second["payment"]["amount"]["amount"], 0);
    let third = exchanged(&shop, &second, "night-3").await;
    assert_eq!(
        (&third["state"], &third["payment"]["amount"]["amount"]),
        (&json!("ticketed"), &json!(0))
    );
    let fourth = exchanged(&shop, &third, "night-4").await;
    assert_eq!(fourth["state"], "pending");
    assert_eq!(
        fourth["payment"]["amount"]["amount"], 60,
        "0.60 since the last payment"
    );
    shop.pay_by_card(&fourth, "visa", true);
    shop.order_once(&fourth, |order| order["state"] == "ticketed")
        .await;
    shop.change_order(&fourth, "refund", &json!({})).await;
    let back = shop
        .order_once(&fourth, |order| order["refunds"][0]["state"] == "done")
        .await;
    assert_eq!(back["refunds"][0]["amount"]["amount"], 9_960);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waived_difference_is_neither_offered_nor_refunded() {
    let (shop, first) = opened(22).await;
    let second = exchanged(&shop, &first, "night-2").await;
    let offer = &shop.read(&second).await["refund_offer"];
    assert_eq!(offer["amount"]["amount"], 9_900);
    assert_eq!(offer["tickets"][0]["amount"]["amount"], 9_900);
    shop.change_order(&second, "refund", &json!({})).await;
    let back = shop
        .order_once(&second, |order| order["refunds"][0]["state"] == "done")
        .await;
    assert_eq!(back["refunds"][0]["amount"]["amount"], 9_900);
    let found = shop
        .booking
        .reconciler()
        .reconcile_all(0)
        .await
        .expect("readable");
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_does_not_bypass_the_card_limit_of_its_new_show() {
    let shop = Shop::open(24, "4x10", rules()).await;
    put_night(&shop, "night-2", 9_900, json!({"seats_per_card": 1})).await;
    let (first, second) = (paid(&shop, 1, "visa").await, paid(&shop, 2, "visa").await);
    exchanged(&shop, &first, "night-2").await;
    let refused = exchange(&shop, &second, "night-2").await.is(422);
    assert_eq!(
        (&refused["code"], &refused["limit"]),
        (&json!("limit_exceeded"), &json!(1))
    );
    assert_eq!(shop.read(&second).await["state"], "ticketed");
}
