//! Cases of many nodes that use one ledger: they share its id, its time and its leases. Of two
//! conflicting transactions only one succeeds.

use std::collections::BTreeSet;

use super::*;
use crate::ledger::{EFFECT_LENT_MS, EVENT_LENT_MS};

pub(super) const CASES: &[Case] = cases![
    the_ledger_has_one_id_and_a_time_that_never_goes_back,
    a_lease_has_one_owner_until_the_owner_ends_it,
    an_expired_lease_may_be_taken_by_another_owner,
    of_many_owners_that_ask_for_a_lease_at_once_exactly_one_gets_it,
    every_change_of_the_catalogue_raises_its_version,
    overlapping_claims_at_once_write_nothing_for_the_losers,
    many_claims_of_one_visitor_at_once_stay_within_the_limit,
    two_claims_of_one_order_at_once_make_one_order,
    an_effect_is_lent_to_one_worker_at_a_time,
    a_renewed_effect_stays_lent_and_a_done_effect_stays_done,
    an_event_is_lent_to_one_worker_at_a_time,
    an_event_that_two_nodes_settle_at_once_is_applied_once,
];

async fn the_ledger_has_one_id_and_a_time_that_never_goes_back(ledger: Books) {
    let id = ledger.id().await.expect("readable");
    assert_ne!(id, [0; 32]);
    assert_eq!(ledger.id().await.expect("readable"), id);
    ledger.check().await.expect("it takes writes");
    let before = ledger.now_ms().await.expect("readable");
    let after = ledger.now_ms().await.expect("readable");
    assert!(before > 1_600_000_000_000 && after >= before);
}

async fn a_lease_has_one_owner_until_the_owner_ends_it(ledger: Books) {
    let lease = async |name, owner| ledger.lease(name, owner, 60_000).await.expect("written");
    let let_go = async |owner| ledger.end_lease("seats", owner).await.expect("written");
    assert!(lease("seats", "one").await);
    assert!(!lease("seats", "two").await);
    assert!(lease("seats", "one").await, "its owner renews it");
    assert!(
        lease("other", "two").await,
        "each name is a lease of its own"
    );
    let_go("two").await;
    assert!(!lease("seats", "two").await, "only its owner ends a lease");
    let_go("one").await;
    assert!(lease("seats", "two").await);
}

async fn an_expired_lease_may_be_taken_by_another_owner(ledger: Books) {
    let lease = async |owner, ttl_ms| ledger.lease("seats", owner, ttl_ms).await.expect("written");
    assert!(lease("one", 0).await);
    assert!(lease("two", 60_000).await);
    assert!(!lease("one", 60_000).await);
}

async fn of_many_owners_that_ask_for_a_lease_at_once_exactly_one_gets_it(ledger: Books) {
    let mut asking = tokio::task::JoinSet::new();
    for owner in 0..20 {
        let ledger = ledger.clone();
        asking.spawn(async move {
            let taken = ledger.lease("seats", &owner.to_string(), 60_000).await;
            taken.expect("written")
        });
    }
    let answers = asking.join_all().await;
    assert_eq!(answers.iter().filter(|taken| **taken).count(), 1);
}

async fn every_change_of_the_catalogue_raises_its_version(ledger: Books) {
    let version = async || ledger.catalogue_version().await.expect("readable");
    let first = version().await;
    stocked(&ledger).await;
    let second = version().await;
    assert!(second > first);
    let same = ledger
        .put_venue(&venue(), plan_of("plan", [1; 32]), NOWHERE, NOW_MS)
        .await;
    assert_eq!(same.expect("stored"), 1);
    assert_eq!(version().await, second, "the same plan changes nothing");
    ledger.put_coverage(vec![]).await.expect("written");
    assert!(version().await > second);
}

async fn overlapping_claims_at_once_write_nothing_for_the_losers(ledger: Books) {
    stocked(&ledger).await;
    let mut running = tokio::task::JoinSet::new();
    for n in 0..40_u8 {
        let ledger = ledger.clone();
        running.spawn(async move {
            // Every third task asks for its seats in reverse order.
            let first = u32::from(n % 8);
            let mut seats: Vec<u32> = (first..first + 3).map(|seat| seat % 8).collect();
            if n % 3 == 0 {
                seats.reverse();
            }
            let order = order("a", Holder([n + 10; 32]), &seats);
            let answer = claim(&ledger, &order).await;
            (order, answer)
        });
    }
    let mut taken = BTreeSet::new();
    let mut losers = Vec::new();
    for (order, answer) in running.join_all().await {
        let cells: BTreeSet<u32> = fairgate_model::holds::cells_of(&order.held_seats(), GRID)
            .into_iter()
            .collect();
        match answer {
            Ok(_) => assert!(
                cells.into_iter().all(|cell| taken.insert(cell)),
                "sold twice"
            ),
            Err(SeatClaimRefused::Taken(refused)) => {
                assert!(!refused.is_empty() && refused.iter().all(|cell| cells.contains(cell)));
                losers.push(order);
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(!taken.is_empty());
    for order in losers {
        assert!(ledger.order(&order.id).await.expect("readable").is_none());
        let payment = ledger.payment(&order.payment).await.expect("readable");
        assert!(payment.is_none());
    }
    for seat in (0..8).filter(|seat| !taken.contains(seat)) {
        claimed(&ledger, &seat.to_string(), BEN, &[seat]).await;
    }
}

async fn many_claims_of_one_visitor_at_once_stay_within_the_limit(ledger: Books) {
    stocked(&ledger).await;
    let mut running = tokio::task::JoinSet::new();
    for seat in 0..8 {
        let ledger = ledger.clone();
        running.spawn(async move {
            let order = order(&seat.to_string(), ANA, &[seat]);
            let paid = payment(&order);
            ledger
                .claim(
                    order,
                    paid,
                    ClaimBasis {
                        limit: 3,
                        ..BASKET_BASIS
                    },
                )
                .await
                .is_ok()
        });
    }
    let answers = running.join_all().await;
    assert_eq!(answers.iter().filter(|won| **won).count(), 3);
}

async fn two_claims_of_one_order_at_once_make_one_order(ledger: Books) {
    stocked(&ledger).await;
    let order = order("a", ANA, &[0, 1]);
    let (one, two) = tokio::join!(claim(&ledger, &order), claim(&ledger, &order));
    assert_eq!(one.expect("claimed"), two.expect("the same"));
    assert_eq!(history(&ledger, &order).await.len(), 1);
}

async fn an_effect_is_lent_to_one_worker_at_a_time(ledger: Books) {
    stocked(&ledger).await;
    for seat in 0..8 {
        let order = claimed(&ledger, &seat.to_string(), ANA, &[seat]).await;
        authorised(&ledger, &order).await;
    }
    let now_ms = NOW_MS + 10;
    let due = async |now_ms| ledger.due_effects(now_ms, 100).await.expect("readable");
    let (one, two) = tokio::join!(due(now_ms), due(now_ms));
    let mut lent: Vec<i64> = one.iter().chain(&two).map(|effect| effect.id).collect();
    lent.sort_unstable();
    lent.dedup();
    assert_eq!(
        (lent.len(), one.len() + two.len()),
        (8, 8),
        "each is lent once"
    );
    assert!(due(now_ms + EFFECT_LENT_MS - 1).await.is_empty());
    let back = due(now_ms + EFFECT_LENT_MS).await;
    assert_eq!(back.len(), 8, "effects that were not done are due again");
}

async fn a_renewed_effect_stays_lent_and_a_done_effect_stays_done(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &order).await;
    let now_ms = NOW_MS + 10;
    let due = async |now_ms| ledger.due_effects(now_ms, 100).await.expect("readable");
    let capture = due(now_ms).await.remove(0).id;
    let renew_lease = async |now_ms| ledger.renew_lease(capture, now_ms).await.expect("written");
    renew_lease(now_ms + 2_000).await;
    renew_lease(now_ms + 1_000).await;
    assert!(due(now_ms + 2_000 + EFFECT_LENT_MS - 1).await.is_empty());
    ledger.captured(capture, now_ms).await.expect("written");
    renew_lease(now_ms).await;
    assert!(due(i64::MAX / 2).await.is_empty());
}

async fn an_event_is_lent_to_one_worker_at_a_time(ledger: Books) {
    for n in 0..8_u8 {
        let kept = ledger.keep_event(PROVIDER, n.to_string(), None, vec![n], i64::from(n));
        assert!(kept.await.expect("stored"));
    }
    let due = async |now_ms, most| ledger.due_events(now_ms, most).await.expect("readable");
    let (one, two) = tokio::join!(due(NOW_MS, 6), due(NOW_MS, 6));
    let mut lent: Vec<&str> = one
        .iter()
        .chain(&two)
        .map(|kept| kept.event.as_str())
        .collect();
    lent.sort_unstable();
    lent.dedup();
    assert_eq!(lent.len(), one.len() + two.len(), "each is lent once");
    // If two nodes ask at the same moment, each may skip events that the other has locked.
    let left = due(NOW_MS, 8).await.len();
    assert_eq!(lent.len() + left, 8);
    assert!(due(NOW_MS + EVENT_LENT_MS - 1, 8).await.is_empty());
    let back = due(NOW_MS + EVENT_LENT_MS, 8).await;
    let back: Vec<&str> = back.iter().map(|kept| kept.event.as_str()).collect();
    assert_eq!(
        back,
        ["0", "1", "2", "3", "4", "5", "6", "7"],
        "oldest first"
    );
}

async fn an_event_that_two_nodes_settle_at_once_is_applied_once(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let event = provider_event(&order, ProviderEventKind::Authorised);
    let kept = ledger.keep_event(PROVIDER, event.event.clone(), None, vec![1], NOW_MS);
    assert!(kept.await.expect("stored"));
    let settle = async || {
        let (name, parsed) = (
            event.event.clone(),
            ParsedProviderEvent::Event(event.clone()),
        );
        let settled = ledger
            .settle(PROVIDER.to_owned(), name, parsed, NOW_MS)
            .await;
        settled.expect("settled")
    };
    let (one, two) = tokio::join!(settle(), settle());
    let mut outcomes = [one, two];
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["applied", "repeated"]);
    assert_eq!(rows(&ledger).await.len(), 1, "sold once");
}
