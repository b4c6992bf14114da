//! A ledger full of old rows neither delays a start nor stands in the way of those who buy.

use booking::ledger::{CallBegun, KeptAnswer, KeyedCall};
use booking::retention::{BATCH_MAX, Retained};

use crate::harness::*;

#[tokio::test(flavor = "multi_thread")]
async fn many_old_answers_go_in_batches_beside_a_purchase_after_the_start() {
    let (app, _, _) = opened().await;
    let ledger = app.ledger().await;
    let rows = 10 * BATCH_MAX;
    let answer = || KeptAnswer {
        asked: [5; 32],
        status: 201,
        body: "{}".to_owned(),
    };
    let now_ms = app.clock.now_ms();
    let keep = |n| ledger.keep([1; 32], format!("old-{n}"), answer(), now_ms);
    for kept in join_all((0..rows).map(keep)).await {
        kept.expect("written");
    }
    app.clock.advance_ms(Retained::Answers.for_ms() + 1);
    let app = app.restarted().await;
    let order = app.order(&app.visitor(3), &["A-1"]).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    for n in 0..rows {
        until("an old answer to go", async || {
            let again = KeyedCall {
                scope: [1; 32],
                key: format!("old-{n}"),
                asked: answer().asked,
                node: 1,
            };
            let begun = ledger.begin_call(again, app.clock.now_ms()).await;
            (begun.expect("written") == CallBegun::Act).then_some(())
        })
        .await;
    }
}
