//! Tests that old rows are deleted in batches while a buyer buys, and not all at once at the start.

use std::time::{Duration, Instant};

use booking::ledger::{BeginCallOutcome, KeptAnswer, KeyedCall};
use booking::retention::{BATCH_MAX, RetentionKind, rest_after};

use crate::harness::*;

/// The number of batches. It is so large that the worker's rests between the batches take much
/// longer than all deletions.
const BATCHES: u32 = 30;

#[tokio::test(flavor = "multi_thread")]
async fn old_answers_are_deleted_in_batches_after_the_start_during_a_purchase() {
    let (app, _, _) = opened().await;
    let ledger = app.ledger().await;
    let rows = BATCHES * BATCH_MAX;
    let answer = || KeptAnswer {
        asked: [5; 32],
        status: 201,
        body: "{}".to_owned(),
    };
    // Answers of one moment are deleted in the order of their keys.
    let key = |n: u32| format!("old-{n:05}");
    let now_ms = app.clock.now_ms();
    let keep = |n| ledger.keep([1; 32], key(n), answer(), now_ms);
    for kept in join_all((0..rows).map(keep)).await {
        kept.expect("written");
    }
    app.clock
        .advance_ms(RetentionKind::Answers.kept_for_ms() + 1);
    let app = app.restarted().await;
    let is_gone = async |n: u32| {
        let again = KeyedCall {
            scope: [1; 32],
            key: key(n),
            asked: answer().asked,
            node: 1,
        };
        let begun = ledger.begin_call(again, app.clock.now_ms()).await;
        begun.expect("written") == BeginCallOutcome::Act
    };
    // The worker may have deleted some batches before this. It rests after every batch but the
    // last. So the deletion of the others takes at least as long as the rests between them.
    let began = Instant::now();
    let mut left = BATCHES;
    while left > 0 && is_gone((BATCHES - left) * BATCH_MAX).await {
        left -= 1;
    }
    assert!(left > 1, "all batches were deleted at once at the start");
    let buying = async {
        let order = app.order(&app.visitor(3), &["A-1"]).await;
        app.pay(&order, "approve").await.is(200);
        app.order_in(&order, "ticketed").await;
    };
    let going = async {
        until("the deletion of the last old answer", async || {
            is_gone(rows - 1).await.then_some(())
        })
        .await;
        let took = began.elapsed();
        let rests = rest_after(Duration::ZERO) * (left - 1);
        assert!(took >= rests, "{left} batches in {took:?}");
    };
    tokio::join!(buying, going);
    for n in (0..rows).step_by(BATCH_MAX as usize) {
        assert!(is_gone(n).await, "old answer {n}");
    }
}
