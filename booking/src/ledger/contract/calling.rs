//! Cases of calls under an `Idempotency-Key`: only one of two different calls under one key is ever
//! carried out, even if the calls arrive at different nodes.

use super::*;
use crate::ledger::{BeginCallOutcome, CALL_LEASE_MS, KeptAnswer, KeyedCall};

pub(super) const CASES: &[Case] = cases![
    of_many_calls_with_one_key_at_once_one_is_carried_out,
    two_callers_may_use_the_same_key,
    a_running_call_begins_at_another_node_only_after_its_time_ran_out,
    a_call_that_its_node_gave_back_begins_again_and_keeps_its_key,
    the_first_answer_stays_and_ends_the_call,
];

/// The digests of two different calls.
const REQUEST_DIGESTS: [[u8; 32]; 2] = [[5; 32], [6; 32]];

pub(super) fn answer(status: u16) -> KeptAnswer {
    KeptAnswer {
        asked: REQUEST_DIGESTS[0],
        status,
        body: r#"{"a":1}"#.to_owned(),
    }
}

pub(super) fn call(key: &str, node: i64) -> KeyedCall {
    KeyedCall {
        scope: [1; 32],
        key: key.to_owned(),
        asked: REQUEST_DIGESTS[0],
        node,
    }
}

fn other(call: KeyedCall) -> KeyedCall {
    KeyedCall {
        asked: REQUEST_DIGESTS[1],
        ..call
    }
}

pub(super) async fn begin(ledger: &Books, call: KeyedCall) -> BeginCallOutcome {
    begin_at(ledger, call, NOW_MS).await
}

pub(super) async fn begin_at(ledger: &Books, call: KeyedCall, now_ms: i64) -> BeginCallOutcome {
    let begun = ledger.begin_call(call, now_ms).await;
    begun.expect("written")
}

async fn of_many_calls_with_one_key_at_once_one_is_carried_out(ledger: Books) {
    for round in 0..10 {
        let mut beginning = tokio::task::JoinSet::new();
        for node in 0..6 {
            let ledger = ledger.clone();
            let own = call(&format!("k{round}"), node);
            let own = if node % 2 == 0 { own } else { other(own) };
            beginning.spawn(async move { begin(&ledger, own).await });
        }
        let begun = beginning.join_all().await;
        let count = |what: BeginCallOutcome| begun.iter().filter(|begun| **begun == what).count();
        assert_eq!(
            [
                BeginCallOutcome::Act,
                BeginCallOutcome::Running,
                BeginCallOutcome::OtherCall
            ]
            .map(count),
            [1, 2, 3],
            "{begun:?}"
        );
    }
}

async fn two_callers_may_use_the_same_key(ledger: Books) {
    assert_eq!(begin(&ledger, call("k", 1)).await, BeginCallOutcome::Act);
    let stranger = KeyedCall {
        scope: [2; 32],
        ..other(call("k", 2))
    };
    assert_eq!(begin(&ledger, stranger).await, BeginCallOutcome::Act);
    assert_eq!(begin(&ledger, call("l", 2)).await, BeginCallOutcome::Act);
}

async fn a_running_call_begins_at_another_node_only_after_its_time_ran_out(ledger: Books) {
    assert_eq!(begin(&ledger, call("k", 1)).await, BeginCallOutcome::Act);
    assert_eq!(
        begin(&ledger, call("k", 1)).await,
        BeginCallOutcome::Act,
        "its own node may begin it again"
    );
    let until_ms = NOW_MS + CALL_LEASE_MS;
    let elsewhere = async |now_ms| begin_at(&ledger, call("k", 2), now_ms).await;
    assert_eq!(elsewhere(until_ms - 1).await, BeginCallOutcome::Running);
    let lent = ledger.set_call_lease(call("k", 1), until_ms + 100).await;
    lent.expect("written");
    assert_eq!(elsewhere(until_ms + 99).await, BeginCallOutcome::Running);
    let begun = begin_at(&ledger, other(call("k", 2)), until_ms + 100).await;
    assert_eq!(
        begun,
        BeginCallOutcome::OtherCall,
        "the key still belongs to the first call"
    );
    assert_eq!(elsewhere(until_ms + 100).await, BeginCallOutcome::Act);
    // The first node was only slow. The call belongs to the second node now, so the first node
    // cannot give it back.
    let back = ledger.set_call_lease(call("k", 1), 0).await;
    back.expect("nothing is written");
    let third = begin_at(&ledger, call("k", 3), until_ms + 101).await;
    assert_eq!(third, BeginCallOutcome::Running);
}

async fn a_call_that_its_node_gave_back_begins_again_and_keeps_its_key(ledger: Books) {
    assert_eq!(begin(&ledger, call("k", 1)).await, BeginCallOutcome::Act);
    ledger
        .set_call_lease(call("k", 1), 0)
        .await
        .expect("written");
    let begun = begin(&ledger, other(call("k", 2))).await;
    assert_eq!(begun, BeginCallOutcome::OtherCall);
    assert_eq!(begin(&ledger, call("k", 2)).await, BeginCallOutcome::Act);
}

async fn the_first_answer_stays_and_ends_the_call(ledger: Books) {
    assert_eq!(begin(&ledger, call("k", 1)).await, BeginCallOutcome::Act);
    for status in [201, 409] {
        let written = ledger.keep([1; 32], "k".to_owned(), answer(status), NOW_MS + 1);
        written.await.expect("written");
    }
    ledger
        .set_call_lease(call("k", 1), 0)
        .await
        .expect("nothing is written");
    let kept = BeginCallOutcome::Answered(answer(201));
    for node in [1, 2] {
        assert_eq!(begin(&ledger, call("k", node)).await, kept);
        let begun = begin(&ledger, other(call("k", node))).await;
        assert_eq!(begun, BeginCallOutcome::OtherCall);
    }
    // An answer that an earlier version of Fairgate stored has no registered call.
    let written = ledger.keep([1; 32], "old".to_owned(), answer(201), NOW_MS);
    written.await.expect("written");
    assert_eq!(begin(&ledger, call("old", 1)).await, kept);
}
