//! Cases of the waitlist: the order of the line, one party for each visitor, and how offers and
//! waiting end.

use fairgate_model::ids::WaiterId;
use fairgate_model::waiters::{
    WAIT_MS_MAX, WaitEndReason, Waiter, WaitlistOffer, WaitlistOfferEnd, WaitlistParty,
    WaitlistStretch,
};

use super::*;

pub(super) const CASES: &[Case] = cases![
    parties_wait_in_the_order_in_which_they_joined,
    the_wishes_of_a_party_are_stored,
    a_visitor_waits_for_a_show_once_and_may_join_again_at_the_end_of_the_line,
    parties_that_join_at_once_get_different_numbers,
    a_visitor_who_joins_many_times_at_once_waits_once,
    an_offer_is_recorded_only_for_a_waiting_party_without_an_offer,
    a_party_that_took_its_offer_no_longer_waits,
    a_party_that_missed_its_offer_goes_to_the_end_of_the_line,
    a_party_whose_offer_was_lost_keeps_its_number,
    the_time_of_the_last_visit_is_stored_and_never_goes_back,
    a_party_that_stopped_waiting_is_returned_with_the_reason,
];

fn party(n: u8, visitor: Holder) -> Waiter {
    of_show(&show(), n, visitor)
}

pub(super) fn of_show(show: &ShowId, n: u8, visitor: Holder) -> Waiter {
    Waiter {
        id: format!("waiter_{show}_{}", hex::encode([n; 16]))
            .parse()
            .expect("an id"),
        visitor,
        room: "demo".to_owned(),
        party: WaitlistParty {
            quantity: 2,
            categories: vec!["cat1".to_owned()],
            accessible: 0,
            stretch: None,
        },
        number: 0,
        since_ms: NOW_MS + i64::from(n),
        until_ms: NOW_MS + WAIT_MS_MAX,
        seen_ms: NOW_MS,
        offers: 0,
        missed: 0,
        offer: None,
        ended: None,
    }
}

pub(super) async fn joined(ledger: &Books, n: u8) -> Waiter {
    let joined = ledger.join_waitlist(party(n, Holder([n; 32]))).await;
    joined.expect("written")
}

async fn line(ledger: &Books) -> Vec<Waiter> {
    ledger.waiters(&show()).await.expect("readable")
}

async fn visitors(ledger: &Books) -> Vec<u8> {
    let line = line(ledger).await;
    line.iter().map(|waiter| waiter.visitor.0[0]).collect()
}

async fn found(ledger: &Books, n: u8) -> (Waiter, u64) {
    let found = ledger.waiter(&show(), Holder([n; 32])).await;
    found.expect("readable").expect("the party exists")
}

fn offer(waiter: &Waiter, nth: u32) -> WaitlistOffer {
    WaitlistOffer {
        hold: HoldId::of_offer(&waiter.id, nth),
        until_ms: NOW_MS + 60_000,
        life: 3,
    }
}

async fn offered(ledger: &Books, waiter: &Waiter, nth: u32) -> WaitlistOffer {
    let offer = offer(waiter, nth);
    assert!(
        ledger
            .record_offer(&waiter.id, offer.clone())
            .await
            .expect("written")
    );
    offer
}

async fn end_offer(
    ledger: &Books,
    waiter: &Waiter,
    offer: &WaitlistOffer,
    end: WaitlistOfferEnd,
) -> bool {
    let over = ledger.end_offer(&waiter.id, &offer.hold, end, NOW_MS + 5);
    over.await.expect("written")
}

async fn the_wishes_of_a_party_are_stored(ledger: Books) {
    let mut on_a_train = party(2, Holder([2; 32]));
    on_a_train.party.categories.clear();
    on_a_train.party.stretch = Some(WaitlistStretch {
        class: "second".to_owned(),
        from: "VNP".to_owned(),
        to: "AOH".to_owned(),
    });
    for wanted in [party(1, Holder([1; 32])), on_a_train] {
        let joined = ledger.join_waitlist(wanted.clone()).await;
        assert_eq!(joined.expect("written").party, wanted.party);
        let (read, _) = found(&ledger, wanted.visitor.0[0]).await;
        assert_eq!(read.party, wanted.party);
    }
}

async fn parties_wait_in_the_order_in_which_they_joined(ledger: Books) {
    assert!(ledger.waited_shows().await.expect("readable").is_empty());
    for n in [7, 3, 5] {
        let came = joined(&ledger, n).await;
        let expected = Waiter {
            number: came.number,
            ..party(n, Holder([n; 32]))
        };
        assert_eq!(came, expected);
        assert_eq!(found(&ledger, n).await.0, expected);
    }
    let other: ShowId = "night-2".parse().expect("a slug");
    let elsewhere = ledger.join_waitlist(of_show(&other, 9, BEN)).await;
    assert_eq!(
        elsewhere.expect("written").number,
        1,
        "each show has numbers of its own"
    );
    assert_eq!(visitors(&ledger).await, [7, 3, 5]);
    assert_eq!(found(&ledger, 5).await.1, 2);
    let mut shows = ledger.waited_shows().await.expect("readable");
    shows.sort();
    assert_eq!(shows, [(show(), 3), (other, 1)]);
    let who = ledger.waiting_visitors(3).await.expect("readable");
    assert_eq!(
        who,
        [3, 5, 7].map(|n| Holder([n; 32])),
        "those who joined first"
    );
    let nobody = ledger.waiter(&show(), Holder([99; 32])).await;
    assert!(nobody.expect("readable").is_none());
}

async fn a_visitor_waits_for_a_show_once_and_may_join_again_at_the_end_of_the_line(ledger: Books) {
    let first = joined(&ledger, 1).await;
    joined(&ledger, 2).await;
    let again = ledger.join_waitlist(party(9, Holder([1; 32]))).await;
    assert_eq!(again.expect("written"), first);
    let left = async || {
        ledger
            .end_waiter(&first.id, WaitEndReason::Left, NOW_MS + 3)
            .await
    };
    assert!(left().await.expect("written"));
    assert!(!left().await.expect("written"), "a party ends only once");
    assert_eq!(visitors(&ledger).await, [2]);
    let back = ledger.join_waitlist(party(9, Holder([1; 32]))).await;
    let back = back.expect("written");
    assert!(back.number > first.number);
    assert_eq!(visitors(&ledger).await, [2, 1]);
    assert_eq!(found(&ledger, 1).await, (back, 1), "the party that waits");
}

async fn parties_that_join_at_once_get_different_numbers(ledger: Books) {
    let mut coming = tokio::task::JoinSet::new();
    for n in 0..40 {
        let ledger = ledger.clone();
        coming.spawn(async move {
            let own = joined(&ledger, n).await;
            // Every party with a smaller number is in the line by now.
            let line = line(&ledger).await;
            let ahead = line.iter().filter(|other| other.number < own.number);
            (own.number, ahead.count() as u64, own.visitor)
        });
    }
    let mut came: Vec<_> = coming.join_all().await;
    came.sort_unstable_by_key(|(number, ..)| *number);
    for (before, (_, ahead, _)) in (0..).zip(&came) {
        assert_eq!(
            *ahead, before,
            "no party that joins later gets a smaller number"
        );
    }
    let line: Vec<Holder> = line(&ledger).await.iter().map(|w| w.visitor).collect();
    let expected: Vec<Holder> = came.iter().map(|(_, _, visitor)| *visitor).collect();
    assert_eq!(line, expected);
}

async fn a_visitor_who_joins_many_times_at_once_waits_once(ledger: Books) {
    let mut coming = tokio::task::JoinSet::new();
    for n in 0..10 {
        let ledger = ledger.clone();
        coming.spawn(async move { ledger.join_waitlist(party(n, ANA)).await.expect("written") });
    }
    let came = coming.join_all().await;
    let line = line(&ledger).await;
    assert_eq!(line.len(), 1);
    assert!(came.iter().all(|waiter| *waiter == line[0]));
}

async fn an_offer_is_recorded_only_for_a_waiting_party_without_an_offer(ledger: Books) {
    let waiter = joined(&ledger, 1).await;
    let made = offered(&ledger, &waiter, 0).await;
    let (now, _) = found(&ledger, 1).await;
    assert_eq!((now.offers, now.offer), (1, Some(made.clone())));
    let second = ledger.record_offer(&waiter.id, offer(&waiter, 1)).await;
    assert!(!second.expect("written"), "a party has one offer at a time");
    let stranger: WaiterId = party(8, BEN).id;
    let nobody = ledger.record_offer(&stranger, offer(&waiter, 1)).await;
    assert!(!nobody.expect("written"));
    let gone = joined(&ledger, 2).await;
    ledger
        .end_waiter(&gone.id, WaitEndReason::Left, NOW_MS)
        .await
        .expect("written");
    let late = ledger.record_offer(&gone.id, offer(&gone, 0)).await;
    assert!(!late.expect("written"), "the party left");
}

async fn a_party_that_took_its_offer_no_longer_waits(ledger: Books) {
    let waiter = joined(&ledger, 1).await;
    let made = offered(&ledger, &waiter, 0).await;
    assert!(
        !end_offer(
            &ledger,
            &waiter,
            &offer(&waiter, 1),
            WaitlistOfferEnd::Taken
        )
        .await
    );
    assert!(end_offer(&ledger, &waiter, &made, WaitlistOfferEnd::Taken).await);
    assert!(
        !end_offer(&ledger, &waiter, &made, WaitlistOfferEnd::Missed).await,
        "an offer ends only once"
    );
    assert!(line(&ledger).await.is_empty());
    let (then, _) = found(&ledger, 1).await;
    assert_eq!(then.ended, Some((NOW_MS + 5, WaitEndReason::Taken)));
}

async fn a_party_that_missed_its_offer_goes_to_the_end_of_the_line(ledger: Books) {
    for n in 1..4 {
        joined(&ledger, n).await;
    }
    let (first, _) = found(&ledger, 1).await;
    let made = offered(&ledger, &first, 0).await;
    assert!(end_offer(&ledger, &first, &made, WaitlistOfferEnd::Missed).await);
    assert!(
        !end_offer(&ledger, &first, &made, WaitlistOfferEnd::Missed).await,
        "an offer ends only once"
    );
    assert_eq!(visitors(&ledger).await, [2, 3, 1]);
    let (then, ahead) = found(&ledger, 1).await;
    assert_eq!(
        (then.offers, then.missed, then.offer, ahead),
        (1, 1, None, 2)
    );
    joined(&ledger, 4).await;
    assert_eq!(visitors(&ledger).await, [2, 3, 1, 4]);
    offered(&ledger, &first, 1).await;
}

async fn a_party_whose_offer_was_lost_keeps_its_number(ledger: Books) {
    joined(&ledger, 1).await;
    let second = joined(&ledger, 2).await;
    joined(&ledger, 3).await;
    let made = offered(&ledger, &second, 0).await;
    assert!(end_offer(&ledger, &second, &made, WaitlistOfferEnd::Lost).await);
    assert_eq!(visitors(&ledger).await, [1, 2, 3]);
    let (then, _) = found(&ledger, 2).await;
    assert_eq!(
        (then.number, then.missed, then.offer),
        (second.number, 0, None)
    );
}

async fn the_time_of_the_last_visit_is_stored_and_never_goes_back(ledger: Books) {
    joined(&ledger, 1).await;
    joined(&ledger, 2).await;
    let see = async |who: &[u8], at_ms| {
        let who = who.iter().map(|n| Holder([*n; 32])).collect();
        ledger.waiters_seen(who, at_ms).await.expect("written");
    };
    see(&[2, 77], NOW_MS + 9).await;
    see(&[1, 2], NOW_MS + 4).await;
    see(&[], NOW_MS + 99).await;
    let line = line(&ledger).await;
    let seen: Vec<i64> = line.iter().map(|waiter| waiter.seen_ms - NOW_MS).collect();
    assert_eq!(seen, [4, 9]);
}

async fn a_party_that_stopped_waiting_is_returned_with_the_reason(ledger: Books) {
    let why = [
        WaitEndReason::TimeOver,
        WaitEndReason::TooFew,
        WaitEndReason::Missed,
        WaitEndReason::Limit,
        WaitEndReason::Cancelled,
    ];
    for (n, end) in (1..).zip(why) {
        let waiter = joined(&ledger, n).await;
        ledger
            .end_waiter(&waiter.id, end, NOW_MS + i64::from(n))
            .await
            .expect("written");
        let (then, _) = found(&ledger, n).await;
        assert_eq!(then.ended, Some((NOW_MS + i64::from(n), end)));
    }
    assert!(line(&ledger).await.is_empty());
    assert!(
        ledger
            .waiting_visitors(10)
            .await
            .expect("readable")
            .is_empty()
    );
}
