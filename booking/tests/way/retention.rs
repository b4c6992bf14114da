//! Tests that a ledger full of old rows neither delays a start nor slows buyers down.

use std::time::{Duration, Instant};

use booking::ledger::{BeginCallOutcome, KeptAnswer, KeyedCall};
use booking::retention::{BATCH_MAX, RetentionKind, rest_after};

use crate::harness::*;

/// The number of batches: so many that the rests between them are longer than a start.
const BATCHES: u32 = 30;

#[tokio::test(flavor = "multi_thread")]
async fn many_old_answers_go_in_batches_beside_a_purchase_after_the_start() {
    let (app, _, _) = opened().await;
    let ledger = app.ledger().await;
    let rows = BATCHES * BATCH_MAX;
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
    app.clock.advance_ms(RetentionKind::Answers.for_ms() + 1);
    let began = Instant::now();
    let app = app.restarted().await;
    let is_gone = async |n: u32| {
        let again = KeyedCall {
            scope: [1; 32],
            key: format!("old-{n}"),
            asked: answer().asked,
            node: 1,
        };
        let begun = ledger.begin_call(again, app.clock.now_ms()).await;
        begun.expect("written") == BeginCallOutcome::Act
    };
    let buying = async {
        let order = app.order(&app.visitor(3), &["A-1"]).await;
        app.pay(&order, "approve").await.is(200);
        app.order_in(&order, "ticketed").await;
    };
    let going = async {
        for n in (0..rows).step_by(BATCH_MAX as usize).chain([rows - 1]) {
            until("an old answer to go", async || {
                is_gone(n).await.then_some(())
            })
            .await;
        }
        // A rest follows every batch but the last one, so nothing is deleted at the start and
        // nothing is deleted all at once.
        let rests = rest_after(Duration::ZERO) * (BATCHES - 1);
        assert!(began.elapsed() >= rests, "{:?}", began.elapsed());
    };
    tokio::join!(buying, going);
}
