//! Contract cases for latecomers: visitors who were called long ago and claim now.

use super::*;

pub(super) async fn visitors_who_are_expected_and_never_come_keep_no_latecomer_out_for_long(
    Pair { store, .. }: Pair,
) {
    join_visitors(store.as_ref(), 6).await;
    store.end_tick("r", tick(0, 1000, 0..2, &[])).await.unwrap();
    // The window of the first two ends, and two others are called.
    figures(store.as_ref(), 6001, &[]).await;
    store
        .end_tick("r", tick(1000, 6001, 2..4, &[]))
        .await
        .unwrap();
    let enter = async |number, now| {
        store
            .admit_claimant("r", claimant(number, now))
            .await
            .unwrap()
    };
    assert_eq!(enter(2, 6100).await, AdmissionDecision::Let { first: true });
    assert_eq!(
        enter(0, 11_599).await,
        WAITS,
        "the last entry is kept for number 3"
    );
    assert_eq!(
        enter(0, 11_600).await,
        AdmissionDecision::Let { first: true },
        "nobody has entered for 5 s and the time of one visitor at the pace"
    );
    assert_eq!(enter(3, 11_700).await, WAITS, "two visitors may be inside");
    assert_eq!(figures(store.as_ref(), 11_700, &[]).await.owed_u, VISITOR_U);
    store.undo_admission("r", failed(2)).await.unwrap();
    let claim = RecordedPassClaim {
        number: 0,
        reserved: Some(0),
        exp_s: 12,
        at_s: 1,
    };
    assert!(store.note_claim("r", claim).await.unwrap());
    let late = 12_000 + idle_ms(Some(2 * VISITOR_U));
    let second = enter(0, late).await;
    assert_eq!(
        second, WAITS_FOR_A_TICK,
        "a second pass waits for a share of the pace"
    );
}
