//! Contract cases for places that the promoter ended.

use super::*;
use crate::ledger::PassStopCause;

/// Ends places in the ledger and in the store, as a revocation does. Ends them in the store twice,
/// because a repeated call must change nothing.
async fn revoke(pair: &Pair, numbers: &[u64]) {
    pair.store.flush_to_ledger("r").await.unwrap();
    let cause = (PassStopCause::Revoked, String::new());
    let written = pair
        .ledger
        .revoke_places("r", numbers.to_vec(), cause, 2000, None);
    written.await.unwrap();
    let ended: Vec<_> = numbers
        .iter()
        .map(|number| leaving(*number, 2000))
        .collect();
    for _ in 0..2 {
        pair.store.end_places("r", &ended).await.unwrap();
    }
}

pub(super) async fn an_ended_place_counts_as_left_and_keeps_its_leaf(pair: Pair) {
    for at in 0..4 {
        pair.store.join("r", entrant(at)).await.unwrap();
    }
    revoke(&pair, &[1, 3, 99]).await;
    let store = &pair.store;
    assert_eq!(
        store.check_presented_place("r", shown(1, 1)).await.unwrap(),
        PresentedPlaceStatus::Left
    );
    assert_eq!(store.place_of("r", holder(3)).await.unwrap(), None);
    let counts = store.counts("r", 0).await.unwrap();
    assert_eq!((counts.next, counts.joined, counts.left), (4, 4, 2));
    assert_eq!(freeze_line(store.as_ref(), 3000).await.n, 4);
    let leaves = pair.ledger.leaves("r", 4).await.unwrap();
    let expected = [holder(0).0, holder(1).0, holder(2).0, holder(3).0].concat();
    assert_eq!(leaves, expected, "no leaf became void");
}

pub(super) async fn an_ended_place_stays_ended_after_a_restart(open: StoreOpener<'_>) {
    let pair = open(false).await;
    for at in 0..3 {
        pair.store.join("r", entrant(at)).await.unwrap();
    }
    revoke(&pair, &[1]).await;
    drop(pair);
    let pair = open(true).await;
    assert_eq!(
        pair.store
            .check_presented_place("r", shown(1, 1))
            .await
            .unwrap(),
        PresentedPlaceStatus::Left
    );
    let absent = pair.store.absent_numbers("r").await.unwrap();
    assert!(absent.contains(1) && !absent.contains(0));
}
