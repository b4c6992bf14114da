//! Contract cases for the wishes of places.

use fairgate_rules::wishes::SeatWish;
use futures_util::future::join_all;

use super::{Pair, entrant, leaving};
use crate::store::wishes::CHANGES_MAX;
use crate::store::{RoomStore, WishChanges, WishCursor, WishList};

/// How many wishes are written at once. A store gives up a call that waits too long behind others.
const AT_ONCE: usize = 100;

fn wishes(quantities: &[u32]) -> WishList {
    let wish = |quantity: &u32| SeatWish {
        show: None,
        quantity: *quantity,
        categories: vec!["stalls".into()],
        accessible: 0,
    };
    quantities.iter().map(wish).collect()
}

async fn set(store: &dyn RoomStore, number: u64, quantities: &[u32]) {
    let set = store.set_wishes("r", number, wishes(quantities)).await;
    set.unwrap();
}

async fn changed(store: &dyn RoomStore, since: WishCursor) -> WishChanges {
    store.wishes_changed("r", since).await.unwrap()
}

pub(super) async fn the_last_wishes_of_a_number_are_kept_and_their_changes_are_read_once(
    Pair { store, .. }: Pair,
) {
    let store = &*store;
    assert_eq!(store.wishes_of("r", 3).await.unwrap(), None);
    let none = changed(store, WishCursor::default()).await;
    assert!(none.is_new_life && none.changed.is_empty());

    set(store, 3, &[2, 4]).await;
    set(store, 9, &[1]).await;
    set(store, 3, &[5]).await;
    assert_eq!(store.wishes_of("r", 3).await.unwrap(), Some(wishes(&[5])));
    let both = changed(store, none.cursor).await;
    assert!(!both.is_new_life);
    assert_eq!(both.changed, [(9, wishes(&[1])), (3, wishes(&[5]))]);

    let nothing = changed(store, both.cursor).await;
    assert_eq!((nothing.cursor, nothing.changed), (both.cursor, vec![]));
    set(store, 9, &[]).await;
    let one = changed(store, both.cursor).await;
    assert_eq!(one.changed, [(9, wishes(&[]))]);
    assert_eq!(store.wishes_of("r", 9).await.unwrap(), Some(wishes(&[])));

    let other_life = WishCursor {
        incarnation: one.cursor.incarnation + 1,
        ..one.cursor
    };
    let again = changed(store, other_life).await;
    assert!(again.is_new_life);
    assert_eq!(again.changed.len(), 2, "all wishes are read again");
    assert_eq!(again.cursor, one.cursor);
}

pub(super) async fn many_changed_wishes_are_read_in_parts(Pair { store, .. }: Pair) {
    let all = CHANGES_MAX as u64 + 5;
    let numbers: Vec<u64> = (0..all).collect();
    for some in numbers.chunks(AT_ONCE) {
        join_all(some.iter().map(|number| set(&*store, *number, &[1]))).await;
    }
    let first = changed(&*store, WishCursor::default()).await;
    let rest = changed(&*store, first.cursor).await;
    assert_eq!((first.changed.len(), rest.changed.len()), (CHANGES_MAX, 5));
    let mut numbers: Vec<_> = first.changed.iter().chain(&rest.changed).collect();
    numbers.sort_by_key(|(number, _)| *number);
    numbers.dedup_by_key(|(number, _)| *number);
    assert_eq!(numbers.len() as u64, all);
}

pub(super) async fn the_wishes_of_a_place_that_was_given_up_are_forgotten(
    Pair { store, .. }: Pair,
) {
    let store = &*store;
    for at in 0..3 {
        store.join("r", entrant(at)).await.unwrap();
        set(store, at, &[1]).await;
    }
    let read = changed(store, WishCursor::default()).await;
    store.leave("r", leaving(0, 2000)).await.unwrap();
    store.end_places("r", &[leaving(2, 2000)]).await.unwrap();
    let known = async |number| store.wishes_of("r", number).await.unwrap();
    let all = (known(0).await, known(1).await, known(2).await);
    assert_eq!(all, (None, Some(wishes(&[1])), None));
    let mut gone = changed(store, read.cursor).await.changed;
    gone.sort_by_key(|(number, _)| *number);
    assert_eq!(gone, [(0, wishes(&[])), (2, wishes(&[]))]);
}
