//! The cases about the baskets of visitors, and about when visitors were last seen.

use super::*;
use crate::store::{NotedBasket, SEEN_EARLY_S};

fn basket(hold: &str, at: i64) -> NotedBasket {
    NotedBasket {
        hold: hold.to_owned(),
        at,
        in_checkout: false,
    }
}

pub(super) async fn baskets_are_known_by_number_and_those_made_before_a_checkout_are_in_it(
    Pair { store, .. }: Pair,
) {
    let now = 1_000_000;
    let known = async |number| {
        let mut baskets = store.baskets_of("r", number, now).await.unwrap();
        baskets.sort_by(|one, other| one.hold.cmp(&other.hold));
        baskets
    };
    assert!(known(3).await.is_empty());
    // A checkout without a basket means nothing for later baskets.
    store.note_checkout("r", 3, now - 900).await.unwrap();
    for (number, hold, at) in [(3, "a", 800), (3, "b", 500), (4, "c", 700)] {
        let made = basket(hold, now - at);
        store.note_basket("r", number, made).await.unwrap();
    }
    let expected = [basket("a", now - 800), basket("b", now - 500)];
    assert_eq!(known(3).await, expected);
    store.note_checkout("r", 3, now - 600).await.unwrap();
    let in_checkout = known(3)
        .await
        .iter()
        .map(|basket| basket.in_checkout)
        .collect::<Vec<_>>();
    assert_eq!(in_checkout, [true, false], "the second basket is newer");
    // The call that made the first basket comes once more.
    let again = basket("a", now - 400);
    store.note_basket("r", 3, again).await.unwrap();
    let first = &known(3).await[0];
    assert_eq!((first.at, first.in_checkout), (now - 800, true));
    assert_eq!(known(4).await, [basket("c", now - 700)]);
}

pub(super) async fn it_is_known_who_was_seen_since_a_moment(Pair { store, .. }: Pair) {
    for at in 0..4 {
        store.join("r", entrant(at)).await.unwrap();
    }
    store.note_seen("r", &[0, 1], 1_000).await.unwrap();
    store.note_seen("r", &[1, 2], 1_030).await.unwrap();
    let seen = async |since_s| {
        let seen = store.seen_since("r", &[3, 2, 1, 0], since_s, 1_040).await;
        let mut seen = seen.unwrap();
        seen.sort_unstable();
        seen
    };
    assert_eq!(seen(1_000).await, [0, 1, 2]);
    assert_eq!(seen(1_000 + SEEN_EARLY_S).await, [1, 2]);
    assert_eq!(seen(1_030).await, [1, 2]);
    assert!(seen(1_030 + SEEN_EARLY_S).await.is_empty());
    let of_one = store.seen_since("r", &[0], 1_000, 1_040).await.unwrap();
    assert_eq!(of_one, [0], "only the numbers that were asked for");
}
