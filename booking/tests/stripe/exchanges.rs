//! Differences of exchanges that are smaller than the provider takes: they are let go, count in later sums, and never go back.

use serde_json::{Value, json};

use crate::shop::{Shop, text};

const PROMOTER: &str = "promoter-key";

/// Nights at 99.00, 99.20, 99.40 and 99.60, and a paid seat of the first.
async fn opened(seed: u64) -> (Shop, Value) {
    let rules =
        json!({"refunds": [{"until_h": 1, "fee_pct": 0}], "exchange": {"cheaper": "refund"}});
    let shop = Shop::open(seed, "4x10", rules.clone()).await;
    for (night, price) in [("night-2", 9_920), ("night-3", 9_940), ("night-4", 9_960)] {
        let mut document = json!({
            "venue": "hall", "title": night, "starts_at": "2099-06-01T20:00:00+02:00", "currency": "EUR",
            "prices": {"cat1": price, "cat2": price}, "orphans": "allow",
        });
        if let (Some(document), Value::Object(rules)) = (document.as_object_mut(), rules.clone()) {
            document.extend(rules);
        }
        let path = format!("/v1/promoter/shows/{night}");
        shop.ask("PUT", &path, PROMOTER, &document).await.is(200);
    }
    let order = shop.order(1, 1).await;
    shop.pay(&order, "visa", true);
    shop.order_once(&order, |order| order["state"] == "ticketed")
        .await;
    (shop, order)
}

/// Gives an order's seat for the best one of another night.
async fn exchanged(shop: &Shop, order: &Value, night: &str) -> Value {
    let path = format!("/v1/orders/{}/exchange", text(order, "order"));
    let ask = json!({"show": night, "best": {"quantity": 1}});
    let made = shop
        .ask("POST", &path, &text(order, "order_key"), &ask)
        .await;
    let made = made.is(200);
    let told = &shop.read(order).await["exchange"];
    json!({"order": made["order"], "order_key": told["order_key"], "payment": made["payment"], "state": made["state"]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_too_small_to_charge_is_let_go_and_counts_in_the_next_sum() {
    let (shop, first) = opened(21).await;
    let second = exchanged(&shop, &first, "night-2").await;
    assert_eq!(
        second["state"], "ticketed",
        "0.20 is less than Stripe takes"
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
    shop.pay(&fourth, "visa", true);
    shop.order_once(&fourth, |order| order["state"] == "ticketed")
        .await;
    shop.refund(&fourth, &json!({})).await;
    let back = shop
        .order_once(&fourth, |order| order["refunds"][0]["state"] == "done")
        .await;
    assert_eq!(back["refunds"][0]["amount"]["amount"], 9_960);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_let_go_does_not_go_back() {
    let (shop, first) = opened(22).await;
    let second = exchanged(&shop, &first, "night-2").await;
    shop.refund(&second, &json!({})).await;
    let back = shop
        .order_once(&second, |order| order["refunds"][0]["state"] == "done")
        .await;
    assert_eq!(back["refunds"][0]["amount"]["amount"], 9_900);
    let found = shop.booking.reconciler().pass(0).await.expect("readable");
    assert!(found.is_empty(), "{found:?}");
}
