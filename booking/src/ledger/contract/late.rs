//! Cases of money that came after its order had expired: the search for seats, its one outcome, and
//! the seats that stay claimed while the buyer decides.

use OrderState::{AwaitingConsent, Cancelled, Confirmed, Expired};
use SeatOutboxAction::{Free, Sell};
use fairgate_model::orders::ReplacementOffer;
use fairgate_model::orders::transition::{EffectKind, LateRefundReason, OrderEvent};

use super::*;
use crate::ledger::LateMoneyOutcome;

pub(super) const CASES: &[Case] = cases![
    late_money_begins_a_search_that_is_lent_to_one_worker_at_a_time,
    late_money_buys_the_same_seats_once,
    late_money_never_takes_a_claimed_cell,
    late_money_respects_the_limit_and_the_plan,
    other_seats_stay_claimed_until_the_buyer_consents,
    other_seats_are_freed_if_the_buyer_declines_or_does_not_answer,
    late_money_that_buys_nothing_is_voided_with_its_reason,
    late_money_that_was_captured_is_refunded,
    of_two_outcomes_at_once_exactly_one_is_written,
    of_consent_and_its_deadline_at_once_exactly_one_wins,
];

const UNTIL_MS: i64 = CLAIM_UNTIL_MS + 900_000;

/// Makes an expired order, and then authorises its payment.
async fn late(ledger: &Books, key: &str, visitor: Holder, seats: &[u32]) -> Order {
    let order = claimed(ledger, key, visitor, seats).await;
    let ended = ledger
        .apply_event(&order.id, OrderEvent::DeadlinePassed, CLAIM_UNTIL_MS)
        .await;
    assert!(ended.expect("written").expect("known").changed);
    authorised(ledger, &order).await;
    order
}

async fn due(ledger: &Books, now_ms: i64) -> Vec<OrderId> {
    let due = ledger.late_due(now_ms, now_ms + 1_000, 10).await;
    due.expect("written")
}

async fn settle(
    ledger: &Books,
    order: &Order,
    outcome: LateMoneyOutcome,
) -> Result<bool, SeatClaimRefused> {
    let settled = ledger
        .late_settle(&order.id, outcome, Some(LATE_BASIS), CLAIM_UNTIL_MS)
        .await;
    settled.map(|applied| applied.expect("known").changed)
}

fn same(order: &Order) -> LateMoneyOutcome {
    LateMoneyOutcome::SameSeats(HoldId::of_late_money(&order.id, "same"))
}

fn other(order: &Order, seats: &[u32]) -> LateMoneyOutcome {
    LateMoneyOutcome::OtherSeats(ReplacementOffer {
        hold: HoldId::of_late_money(&order.id, "other"),
        items: super::order("x", order.visitor, seats).items,
        until_ms: UNTIL_MS,
    })
}

async fn state(ledger: &Books, order: &Order) -> (OrderState, String) {
    let order = record(ledger, order).await.order;
    (order.state, order.reason)
}

async fn effects(ledger: &Books, order: &Order) -> Vec<EffectKind> {
    let due = ledger
        .due_effects(i64::MAX / 2, 100)
        .await
        .expect("readable");
    let own = due.iter().filter(|due| due.payment.order == order.id);
    own.map(|due| due.kind).collect()
}

async fn late_money_begins_a_search_that_is_lent_to_one_worker_at_a_time(ledger: Books) {
    stocked(&ledger).await;
    let order = late(&ledger, "a", ANA, &[0]).await;
    assert_eq!(
        state(&ledger, &order).await,
        (Expired, "late_money".to_owned())
    );
    assert!(
        effects(&ledger, &order).await.is_empty(),
        "nothing is decided yet"
    );
    assert_eq!(
        due(&ledger, NOW_MS + 1).await,
        std::slice::from_ref(&order.id)
    );
    assert!(
        due(&ledger, NOW_MS + 1_000).await.is_empty(),
        "the first worker still has the search"
    );
    assert_eq!(
        due(&ledger, NOW_MS + 1_001).await,
        std::slice::from_ref(&order.id)
    );
    let back = LateMoneyOutcome::Back(LateRefundReason::SeatsGone);
    assert!(settle(&ledger, &order, back).await.expect("written"));
    assert!(due(&ledger, i64::MAX / 2).await.is_empty());
}

async fn late_money_buys_the_same_seats_once(ledger: Books) {
    stocked(&ledger).await;
    let order = late(&ledger, "a", ANA, &[0, 1]).await;
    assert!(
        settle(&ledger, &order, same(&order))
            .await
            .expect("written")
    );
    assert!(
        !settle(&ledger, &order, same(&order))
            .await
            .expect("written")
    );
    assert_eq!(
        state(&ledger, &order).await,
        (Confirmed, "late_same_seats".to_owned())
    );
    assert_eq!(effects(&ledger, &order).await, [EffectKind::Capture]);
    let late_hold = HoldId::of_late_money(&order.id, "same");
    assert_eq!(
        outbox(&ledger).await,
        [(Free, order.hold.clone()), (Sell, late_hold)],
        "each row has the hold that had the seats at that time"
    );
    let taken = claim(&ledger, &super::order("b", BEN, &[1])).await;
    assert!(matches!(taken, Err(SeatClaimRefused::Taken(_))));
}

async fn late_money_never_takes_a_claimed_cell(ledger: Books) {
    stocked(&ledger).await;
    let order = late(&ledger, "a", ANA, &[0, 1]).await;
    let ben = claimed(&ledger, "b", BEN, &[1]).await;
    let refused = settle(&ledger, &order, same(&order)).await;
    let cells: Vec<u32> = GRID.cells_of(1, 0..GRID.legs).collect();
    assert!(matches!(refused, Err(SeatClaimRefused::Taken(taken)) if taken == cells));
    assert_eq!(
        state(&ledger, &order).await,
        (Expired, "late_money".to_owned())
    );
    claimed(&ledger, "c", BEN, &[0]).await;
    assert_eq!(record(&ledger, &ben).await.order.state, OrderState::Pending);
    assert!(
        settle(&ledger, &order, other(&order, &[2, 3]))
            .await
            .expect("written")
    );
}

async fn late_money_respects_the_limit_and_the_plan(ledger: Books) {
    stocked(&ledger).await;
    let order = late(&ledger, "a", ANA, &[0, 1]).await;
    claimed(&ledger, "b", ANA, &[2]).await;
    let refused = ledger
        .late_settle(
            &order.id,
            same(&order),
            Some(ClaimBasis {
                limit: 2,
                ..LATE_BASIS
            }),
            CLAIM_UNTIL_MS,
        )
        .await;
    assert!(matches!(
        refused,
        Err(SeatClaimRefused::Limit { have: 1, limit: 2 })
    ));
    let kept = ledger.put_show(stored(2), Some(check(1, |_| true)), NOW_MS);
    assert!(kept.await.is_ok());
    let refused = settle(&ledger, &order, same(&order)).await;
    assert!(matches!(refused, Err(SeatClaimRefused::PlanChanged)));
    assert_eq!(state(&ledger, &order).await.0, Expired);
}

async fn other_seats_stay_claimed_until_the_buyer_consents(ledger: Books) {
    stocked(&ledger).await;
    let order = late(&ledger, "a", ANA, &[0, 1]).await;
    assert!(
        settle(&ledger, &order, other(&order, &[4, 5]))
            .await
            .expect("written")
    );
    let waiting = record(&ledger, &order).await;
    assert_eq!(waiting.order.state, AwaitingConsent);
    assert_eq!(
        waiting.order.held_seats(),
        order.held_seats(),
        "the order has its own seats until the buyer consents"
    );
    let offer = waiting.offer.expect("an offer");
    assert_eq!(offer.until_ms, UNTIL_MS);
    let taken = claim(&ledger, &super::order("b", BEN, &[4])).await;
    assert!(
        matches!(taken, Err(SeatClaimRefused::Taken(_))),
        "the offered seats are claimed"
    );
    let picture = ledger
        .open_show(&show(), PLAN, None)
        .await
        .expect("readable");
    assert_eq!(picture.ordered.len(), 1);
    assert_eq!(
        (&picture.ordered[0].id, picture.ordered[0].items.len()),
        (&offer.hold, 2)
    );
    assert_eq!(picture.ordered[0].items[0].seat, 4);
    for changed in [true, false] {
        let said = ledger
            .apply_event(&order.id, OrderEvent::Consented, UNTIL_MS)
            .await;
        assert_eq!(said.expect("written").expect("known").changed, changed);
    }
    let after = record(&ledger, &order).await;
    let seats: Vec<u32> = after
        .order
        .items
        .iter()
        .map(|item| item.held.seat)
        .collect();
    assert_eq!((after.order.state, seats), (Confirmed, vec![4, 5]));
    assert!(after.offer.is_none());
    assert_eq!(outbox(&ledger).await.last(), Some(&(Sell, offer.hold)));
    let sold = rows(&ledger).await.pop().expect("a row").items;
    assert_eq!(sold, after.order.held_seats());
    assert_eq!(effects(&ledger, &order).await, [EffectKind::Capture]);
    let picture = ledger
        .open_show(&show(), PLAN, None)
        .await
        .expect("readable");
    assert_eq!(picture.sold, [(ANA, after.order.held_seats())]);
}

async fn other_seats_are_freed_if_the_buyer_declines_or_does_not_answer(ledger: Books) {
    stocked(&ledger).await;
    for (key, says, ends) in [
        (
            "a",
            Some(OrderEvent::ConsentDeclined),
            (Cancelled, "consent_declined"),
        ),
        ("b", Some(OrderEvent::GivenUp), (Cancelled, "by_visitor")),
        ("c", None, (Expired, "consent_deadline")),
    ] {
        let order = late(&ledger, key, ANA, &[0]).await;
        assert!(
            settle(&ledger, &order, other(&order, &[4]))
                .await
                .expect("written")
        );
        match says {
            Some(said) => {
                let said = ledger.apply_event(&order.id, said, UNTIL_MS - 1).await;
                assert!(said.expect("written").expect("known").changed);
            }
            None => {
                let early = ledger.expire_due(UNTIL_MS - 1, 10).await.expect("written");
                assert!(early.is_empty());
                let expired = ledger.expire_due(UNTIL_MS, 10).await.expect("written");
                assert_eq!(expired, std::slice::from_ref(&order.id));
            }
        }
        assert_eq!(state(&ledger, &order).await, (ends.0, ends.1.to_owned()));
        assert_eq!(effects(&ledger, &order).await, [EffectKind::Void]);
        let freed = rows(&ledger).await.pop().expect("a row");
        assert_eq!(
            (freed.kind, freed.items[0].seat),
            (Free, 4),
            "the seats that were offered"
        );
        let late = ledger
            .apply_event(&order.id, OrderEvent::Consented, UNTIL_MS)
            .await;
        assert!(!late.expect("written").expect("known").changed);
    }
    claimed(&ledger, "d", BEN, &[0, 4]).await;
}

async fn late_money_that_buys_nothing_is_voided_with_its_reason(ledger: Books) {
    stocked(&ledger).await;
    for (n, why) in LateRefundReason::ALL.into_iter().enumerate() {
        let order = late(&ledger, &n.to_string(), ANA, &[0]).await;
        for changed in [true, false] {
            let settled = settle(&ledger, &order, LateMoneyOutcome::Back(why)).await;
            assert_eq!(settled.expect("written"), changed);
        }
        assert_eq!(
            state(&ledger, &order).await,
            (Expired, why.as_str().to_owned())
        );
        assert_eq!(effects(&ledger, &order).await, [EffectKind::Void]);
    }
}

async fn late_money_that_was_captured_is_refunded(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let ended = ledger
        .apply_event(&order.id, OrderEvent::DeadlinePassed, CLAIM_UNTIL_MS)
        .await;
    ended.expect("written");
    let captured = provider_event(&order, ProviderEventKind::Captured);
    assert_eq!(settled(&ledger, captured, CLAIM_UNTIL_MS).await, "applied");
    let back = LateMoneyOutcome::Back(LateRefundReason::SeatsGone);
    assert!(settle(&ledger, &order, back).await.expect("written"));
    assert_eq!(effects(&ledger, &order).await, [EffectKind::Refund]);
}

async fn of_two_outcomes_at_once_exactly_one_is_written(ledger: Books) {
    stocked(&ledger).await;
    for round in 0..20 {
        let order = late(&ledger, &round.to_string(), ANA, &[0]).await;
        let (one, two) = tokio::join!(
            settle(&ledger, &order, same(&order)),
            settle(&ledger, &order, other(&order, &[1])),
        );
        let written = [one.expect("written"), two.expect("written")];
        assert_ne!(written[0], written[1], "exactly one outcome is written");
        let claims = ledger.claimed(&show()).await.expect("readable");
        assert_eq!(claims.len(), usize::from(GRID.legs));
        assert!(
            claims
                .iter()
                .all(|(seat, _, _)| *seat == u32::from(written[1]))
        );
        // This frees the seats for the next round.
        if written[0] {
            let due = ledger
                .due_effects(i64::MAX / 2, 100)
                .await
                .expect("readable");
            let capture = due.iter().find(|due| due.payment.order == order.id);
            let capture = capture.expect("a capture is owed").id;
            let freed = ledger
                .capture_refused(capture, "no".into(), CLAIM_UNTIL_MS)
                .await;
            freed.expect("written");
        } else {
            let said = ledger
                .apply_event(&order.id, OrderEvent::ConsentDeclined, UNTIL_MS)
                .await;
            said.expect("written");
        }
    }
}

async fn of_consent_and_its_deadline_at_once_exactly_one_wins(ledger: Books) {
    stocked(&ledger).await;
    for (round, seat) in [(0, 4), (1, 5), (2, 6), (3, 7)] {
        let order = late(&ledger, &format!("r{round}"), ANA, &[round]).await;
        assert!(
            settle(&ledger, &order, other(&order, &[seat]))
                .await
                .expect("written")
        );
        let (said, expired) = tokio::join!(
            ledger.apply_event(&order.id, OrderEvent::Consented, UNTIL_MS),
            ledger.expire_due(UNTIL_MS, 10),
        );
        let said = said.expect("written").expect("known").changed;
        let expired = !expired.expect("written").is_empty();
        assert_ne!(said, expired);
        let expected = if said {
            EffectKind::Capture
        } else {
            EffectKind::Void
        };
        assert_eq!(effects(&ledger, &order).await, [expected]);
    }
}
