//! Tests the whole way from an order to its tickets with Stripe. Also makes two hundred orders
//! while Stripe misbehaves: every order must end, and every cent must be explained.

use std::collections::HashMap;

use fairgate_servers::StripeFaultSettings;
use serde_json::{Value, json};

use crate::shop::*;

fn ended(order: &Value) -> bool {
    let (state, money) = (&order["state"], &order["payment"]["state"]);
    match state.as_str().unwrap_or("") {
        "ticketed" => money == "captured",
        "expired" | "cancelled" | "capture_failed" => money != "authorised" && money != "captured",
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_card_ends_with_tickets_and_one_capture() {
    let shop = Shop::open(1, "4x10", json!({})).await;
    let order = shop.order_best(1, 2).await;
    assert_eq!(
        order["payment"]["client"]["publishable_key"],
        "pk_test_scripted"
    );
    shop.pay_by_card(&order, "bad", false);
    shop.order_once(&order, |order| order["payment"]["state"] == "declined")
        .await;
    shop.pay_by_card(&order, "good", true);
    let done = shop.order_once(&order, ended).await;
    assert_eq!(
        (&done["state"], done["tickets"].as_array().map(Vec::len)),
        (&json!("ticketed"), Some(2))
    );
    let intents = shop
        .stripe
        .intents()
        .remove(&text(&order["payment"], "payment"))
        .expect("made");
    assert_eq!(intents.len(), 1);
    assert_eq!(
        (intents[0].status, intents[0].captures, intents[0].amount),
        ("succeeded", 1, 19_800)
    );
    assert_eq!(shop.stripe.keys_missing(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_over_its_limit_buys_no_more_and_its_payment_is_voided() {
    let shop = Shop::open(2, "4x10", json!({ "seats_per_card": 3 })).await;
    let (first, second) = (shop.order_best(1, 2).await, shop.order_best(2, 2).await);
    shop.pay_by_card(&first, "visa", true);
    let done = shop.order_once(&first, ended).await;
    assert_eq!(done["state"], "ticketed");
    shop.pay_by_card(&second, "visa", true);
    let done = shop.order_once(&second, ended).await;
    assert_eq!(
        (&done["state"], &done["reason"]),
        (&json!("cancelled"), &json!("card_limit"))
    );
    assert_eq!(done["payment"]["state"], "voided");
}

#[tokio::test(flavor = "multi_thread")]
async fn through_chaos_every_order_ends_and_every_cent_is_explained() {
    const ORDERS: u16 = 200;
    let quick = json!({ "hold_s": 2, "grace_s": 1, "claim_grace_s": 1, "pay_s": 8 });
    let shop = Shop::open(3, "20x30", quick).await;
    shop.stripe.misbehave(StripeFaultSettings {
        too_many_pct: 10,
        locked_pct: 10,
        broken_pct: 10,
        hang_pct: 5,
        drop_pct: 10,
        twice_pct: 30,
        delay_ms_max: 300,
        ..StripeFaultSettings::default()
    });
    let mut orders = Vec::new();
    let mut late = Vec::new();
    for n in 0..ORDERS {
        let order = shop.order_from_ill_provider(n, 1 + u32::from(n % 3)).await;
        match n % 5 {
            0 => late.push(orders.len()),
            1 => {
                shop.pay_by_card(&order, "bad", false);
                shop.pay_by_card(&order, "good", true);
            }
            _ => shop.pay_by_card(&order, "good", true),
        }
        orders.push(order);
    }
    // Every fifth buyer pays too late.
    for at in late {
        let gone = |order: &Value| order["state"] == "expired";
        shop.order_once(&orders[at], gone).await;
        shop.pay_by_card(&orders[at], "good", true);
    }
    // The provider works normally again. Booking finds lost events by reading the payments from the
    // provider.
    shop.stripe.misbehave(StripeFaultSettings::default());
    let reconciler = shop.booking.reconciler();
    let mut states: HashMap<String, u32> = HashMap::new();
    let mut sold = 0;
    for order in &orders {
        let last = until("an end", async || {
            let now = shop.read(order).await;
            if now["state"] == "awaiting_consent" {
                shop.change_order(order, "consent", &json!({"accept": true}))
                    .await;
            }
            if now["state"] == "expired" && now["payment"]["state"] == "created" {
                reconciler.reconcile_all(0).await.expect("readable");
            }
            // The order has settled when provider and ledger agree. Either may have changed since
            // the other was read.
            let payment = text(&order["payment"], "payment");
            let intents = shop.stripe.intents();
            let of = |status| {
                intents[&payment]
                    .iter()
                    .filter(move |intent| intent.status == status)
            };
            let ours = of("succeeded").any(|intent| intent.refunded == 0);
            let agree = of("requires_capture").count() == 0 && ours == (now["state"] == "ticketed");
            (ended(&now) && agree).then_some(now)
        })
        .await;
        if last["state"] == "ticketed" {
            sold += last["total"]["amount"].as_i64().expect("an amount");
        }
        *states.entry(text(&last, "state")).or_default() += 1;
    }
    let intents = shop.stripe.intents();
    let all = || intents.values().flatten();
    let captured: i64 = all()
        .filter(|intent| intent.status == "succeeded")
        .map(|intent| intent.amount)
        .sum();
    let refunded: i64 = all().map(|intent| intent.refunded).sum();
    assert_eq!(captured - refunded, sold, "{states:?}");
    assert!(all().all(|intent| intent.captures <= 1 && intent.status != "requires_capture"));
    for of_payment in intents.values() {
        let taken = of_payment
            .iter()
            .filter(|intent| intent.status == "succeeded")
            .count();
        assert!(taken <= 1, "at most one captured intent for each payment");
    }
    assert_eq!(shop.stripe.keys_missing(), 0);
    assert!(shop.stripe.calls() > u64::from(ORDERS));
    until("nothing pending", async || {
        let backlog = shop.ledger.backlog().await.expect("readable");
        (backlog == (0, 0)).then_some(())
    })
    .await;
    assert!(
        states["ticketed"] >= u32::from(ORDERS) * 3 / 4,
        "{states:?}"
    );
}
