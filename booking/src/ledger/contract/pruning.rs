//! Cases of deleting old data. Data is deleted in bounded batches, not too early, and not while it
//! is still needed.

use fairgate_model::waiters::WaitEndReason;

use super::calling::{answer, begin, call};
use super::waiting::joined;
use super::*;
use crate::ledger::BeginCallOutcome;
use crate::retention::RetentionKind;

pub(super) const CASES: &[Case] = cases![
    old_answers_are_deleted_in_batches_and_young_answers_stay,
    ended_waitlist_parties_are_deleted_and_waiting_parties_stay,
    the_record_of_a_given_up_hold_is_deleted_after_a_day,
    delivered_seat_rows_are_deleted_after_a_day_and_numbers_continue,
    undelivered_seat_rows_are_never_deleted,
    finished_visitors_are_deleted_after_a_week_and_the_cursor_misses_nobody,
    done_effects_are_deleted_after_180_days_and_owed_effects_stay,
    settled_events_are_deleted_after_180_days_and_unsettled_events_stay,
];

const BATCH: u32 = 3;

/// Prunes until nothing more is old enough. Returns how many rows each batch deleted, and leaves
/// out batches that deleted none.
async fn batches(ledger: &Books, what: RetentionKind, now_ms: i64) -> Vec<u64> {
    let (mut gone, mut after) = (Vec::new(), Some(0));
    while let Some(from) = after {
        let pruned = ledger.prune(what, from, now_ms, BATCH).await;
        let pruned = pruned.expect("written");
        assert!(pruned.rows <= u64::from(BATCH), "{pruned:?}");
        gone.extend((pruned.rows > 0).then_some(pruned.rows));
        after = pruned.next;
    }
    gone
}

/// Returns the first moment at which data that ended at `ended_ms` may be deleted.
fn old_at(what: RetentionKind, ended_ms: i64) -> i64 {
    ended_ms + what.kept_for_ms() + 1
}

async fn old_answers_are_deleted_in_batches_and_young_answers_stay(ledger: Books) {
    for n in 0..7 {
        let kept = ledger.keep([1; 32], format!("old-{n}"), answer(201), NOW_MS + n);
        kept.await.expect("written");
    }
    let young = ledger.keep([1; 32], "young".to_owned(), answer(201), NOW_MS + 100);
    young.await.expect("written");
    let now_ms = old_at(RetentionKind::Answers, NOW_MS + 6);
    assert!(
        batches(&ledger, RetentionKind::Answers, NOW_MS + 100)
            .await
            .is_empty()
    );
    assert_eq!(
        batches(&ledger, RetentionKind::Answers, now_ms).await,
        [3, 3, 1]
    );
    assert_eq!(
        begin(&ledger, call("old-6", 1)).await,
        BeginCallOutcome::Act
    );
    let kept = BeginCallOutcome::Answered(answer(201));
    assert_eq!(begin(&ledger, call("young", 1)).await, kept);
}

async fn ended_waitlist_parties_are_deleted_and_waiting_parties_stay(ledger: Books) {
    for n in 1..4 {
        let waiter = joined(&ledger, n).await;
        if n < 3 {
            let at_ms = NOW_MS + i64::from(n);
            let ended = ledger
                .end_waiter(&waiter.id, WaitEndReason::Left, at_ms)
                .await;
            assert!(ended.expect("written"));
        }
    }
    let known = async || {
        let mut known = Vec::new();
        for n in 1..4 {
            let found = ledger.waiter(&show(), Holder([n; 32])).await;
            known.extend(found.expect("readable").map(|_| n));
        }
        known
    };
    for (now_ms, left) in [
        (old_at(RetentionKind::Waiters, NOW_MS), vec![1, 2, 3]),
        (old_at(RetentionKind::Waiters, NOW_MS + 1), vec![2, 3]),
        (i64::MAX, vec![3]),
    ] {
        batches(&ledger, RetentionKind::Waiters, now_ms).await;
        assert_eq!(known().await, left);
    }
}

async fn the_record_of_a_given_up_hold_is_deleted_after_a_day(ledger: Books) {
    stocked(&ledger).await;
    let attempt = order("a", ANA, &[0]);
    let given_up = ledger.give_up(&attempt.hold, NOW_MS).await;
    assert!(given_up.expect("written"));
    let early = old_at(RetentionKind::GivenUpTries, NOW_MS) - 1;
    assert!(
        batches(&ledger, RetentionKind::GivenUpTries, early)
            .await
            .is_empty()
    );
    assert!(claim(&ledger, &attempt).await.is_err());
    let gone = batches(&ledger, RetentionKind::GivenUpTries, early + 1).await;
    assert_eq!(gone, [1]);
    assert!(claim(&ledger, &attempt).await.is_ok());
}

/// Sells one order for each seat of the range.
async fn sold(ledger: &Books, seats: std::ops::Range<u32>) -> Vec<Order> {
    let mut orders = Vec::new();
    for seat in seats {
        let order = claimed(ledger, &format!("sold-{seat}"), ANA, &[seat]).await;
        authorised(ledger, &order).await;
        orders.push(order);
    }
    orders
}

async fn delivered(ledger: &Books, upto: u64) {
    ledger.number_seat_rows().await.expect("numbered");
    let marked = ledger.seat_rows_delivered(&show(), upto).await;
    marked.expect("written");
}

async fn delivered_seat_rows_are_deleted_after_a_day_and_numbers_continue(ledger: Books) {
    stocked(&ledger).await;
    sold(&ledger, 0..5).await;
    delivered(&ledger, 4).await;
    let prune = async |now_ms| batches(&ledger, RetentionKind::SeatRows, now_ms).await;
    let noted_ms = 10 * RetentionKind::SeatRows.kept_for_ms();
    assert!(
        prune(noted_ms).await.is_empty(),
        "the first run only records which rows there are"
    );
    sold(&ledger, 5..6).await;
    delivered(&ledger, 6).await;
    assert!(
        prune(noted_ms + RetentionKind::SeatRows.kept_for_ms() - 1)
            .await
            .is_empty()
    );
    let now_ms = noted_ms + RetentionKind::SeatRows.kept_for_ms();
    assert_eq!(
        prune(now_ms).await,
        [3, 1],
        "the rows that were delivered at the first run"
    );
    let left: Vec<u64> = rows(&ledger).await.iter().map(|row| row.seq).collect();
    assert_eq!(left, [5, 6]);
    sold(&ledger, 6..7).await;
    assert_eq!(rows(&ledger).await.last().map(|row| row.seq), Some(7));
    assert_eq!(
        prune(now_ms + RetentionKind::SeatRows.kept_for_ms()).await,
        [2]
    );
    let cursor = ledger.seat_cursor(&show()).await;
    assert_eq!(cursor.expect("readable"), 7);
    let picture = ledger
        .open_show(&show(), PLAN, None)
        .await
        .expect("readable");
    let sold: usize = picture.sold.iter().map(|(_, held)| held.len()).sum();
    assert_eq!(
        (sold, picture.cursor),
        (7, 7),
        "the picture does not need the deleted rows"
    );
}

async fn undelivered_seat_rows_are_never_deleted(ledger: Books) {
    stocked(&ledger).await;
    sold(&ledger, 0..5).await;
    delivered(&ledger, 2).await;
    for days in 1..5 {
        batches(
            &ledger,
            RetentionKind::SeatRows,
            days * RetentionKind::SeatRows.kept_for_ms(),
        )
        .await;
    }
    let left: Vec<u64> = rows(&ledger).await.iter().map(|row| row.seq).collect();
    assert_eq!(left, [3, 4, 5]);
    assert_eq!(
        ledger.number_seat_rows().await.expect("numbered"),
        [(show(), 2)]
    );
}

/// Carries out the captures that are due.
async fn captured(ledger: &Books, now_ms: i64) {
    for effect in ledger.due_effects(now_ms, 100).await.expect("readable") {
        let captured = ledger.captured(effect.id, now_ms).await;
        captured.expect("written");
    }
}

async fn finished_visitors_are_deleted_after_a_week_and_the_cursor_misses_nobody(ledger: Books) {
    stocked(&ledger).await;
    let finished = async |after| {
        let finished = ledger.finished(after, vec![show()]).await;
        finished.expect("readable")
    };
    let prune = async |now_ms| batches(&ledger, RetentionKind::Finished, now_ms).await;
    sold(&ledger, 0..4).await;
    captured(&ledger, NOW_MS + 10).await;
    let read = finished(0).await;
    assert_eq!(read.len(), 4);
    let cursor = read[3].0;
    assert!(
        prune(NOW_MS).await.is_empty(),
        "the first run only records which rows there are"
    );
    sold(&ledger, 4..5).await;
    captured(&ledger, NOW_MS + 20).await;
    assert!(
        prune(NOW_MS + RetentionKind::Finished.kept_for_ms() - 1)
            .await
            .is_empty()
    );
    let now_ms = NOW_MS + RetentionKind::Finished.kept_for_ms();
    assert_eq!(prune(now_ms).await, [3, 1]);
    assert_eq!(finished(0).await.len(), 1);
    assert_eq!(finished(cursor).await.len(), 1, "the new visitor is found");
    assert_eq!(
        prune(now_ms + RetentionKind::Finished.kept_for_ms()).await,
        [1]
    );
    sold(&ledger, 5..6).await;
    captured(&ledger, NOW_MS + 30).await;
    let last = finished(cursor).await;
    assert_eq!(last.len(), 1, "numbers continue after a deletion");
}

async fn done_effects_are_deleted_after_180_days_and_owed_effects_stay(ledger: Books) {
    stocked(&ledger).await;
    let owed = sold(&ledger, 0..1).await;
    let owed_id = ledger.due_effects(NOW_MS + 5, 1).await.expect("readable")[0].id;
    sold(&ledger, 1..5).await;
    for effect in ledger.due_effects(NOW_MS + 5, 100).await.expect("readable") {
        assert_ne!(effect.id, owed_id, "that effect is lent");
        let captured = ledger.captured(effect.id, NOW_MS + 10).await;
        captured.expect("written");
    }
    let prune = async |now_ms| batches(&ledger, RetentionKind::Effects, now_ms).await;
    let now_ms = old_at(RetentionKind::Effects, NOW_MS + 10);
    assert!(prune(now_ms - 1).await.is_empty());
    assert_eq!(prune(now_ms).await.iter().sum::<u64>(), 4);
    let left = ledger.due_effects(now_ms, 100).await.expect("readable");
    assert_eq!(
        left.iter().map(|effect| effect.id).collect::<Vec<_>>(),
        [owed_id]
    );
    ledger.captured(owed_id, now_ms).await.expect("written");
    assert_eq!(record(&ledger, &owed[0]).await.tickets.len(), 1);
    assert!(
        prune(now_ms + 1).await.is_empty(),
        "that effect was done just now"
    );
}

async fn settled_events_are_deleted_after_180_days_and_unsettled_events_stay(ledger: Books) {
    stocked(&ledger).await;
    let keep = async |event: &str, now_ms| {
        let kept = ledger.keep_event(PROVIDER, event.to_owned(), None, b"{}".to_vec(), now_ms);
        kept.await.expect("stored")
    };
    for n in 0..5 {
        let event = format!("event-{n}");
        assert!(keep(&event, NOW_MS).await);
        if n != 1 {
            let settled = ledger.settle(
                PROVIDER.to_owned(),
                event,
                ParsedProviderEvent::Ignored,
                NOW_MS + 1,
            );
            settled.await.expect("settled");
        }
    }
    let prune = async |now_ms| batches(&ledger, RetentionKind::ProviderEvents, now_ms).await;
    let now_ms = old_at(RetentionKind::ProviderEvents, NOW_MS + 1);
    assert!(prune(now_ms - 1).await.is_empty());
    assert!(
        !keep("event-0", now_ms).await,
        "a repeated event is recognised"
    );
    assert_eq!(prune(now_ms).await.iter().sum::<u64>(), 4);
    assert!(
        !keep("event-1", now_ms).await,
        "the unsettled event is recognised"
    );
    assert_eq!(
        ledger.due_events(now_ms, 10).await.expect("readable").len(),
        1
    );
}
