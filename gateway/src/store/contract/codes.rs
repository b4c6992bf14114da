//! Cases about wrong codes and the budget that a room has for them.

use fairgate_rules::wrong_codes::{KEPT_FOR_NEW, WRONG_AT_ONCE, WRONG_EVERY_MS};

use super::*;
use crate::store::{CodesPaused, Place};

fn right(of: u64) -> Digest {
    Digest::of_bytes(&[1, u8::try_from(of).expect("small")])
}

fn wrong(of: i64) -> ShownCode {
    counted(Digest::of_bytes(&of.to_be_bytes()))
}

async fn put_right_codes(store: &dyn RoomStore) {
    let entry = RoomAuditEntry {
        at: 0,
        role: "promoter",
        action: "codes_replaced",
        detail: serde_json::Value::Null,
    };
    let put = store.put_codes("r", (0..200).map(right).collect(), entry);
    assert!(matches!(put.await.unwrap(), RoomChangeOutcome::To(_)));
}

/// Shows a code at `now` (ms).
async fn show(
    store: &dyn RoomStore,
    of: u64,
    code: ShownCode,
    now: i64,
) -> Result<Place, StoreJoinRefusal> {
    let entrant = StoreJoinRequest {
        code: Some(code),
        needs_code: true,
        now,
        ..entrant(of)
    };
    store.join("r", entrant).await
}

/// Returns how many wrong codes were looked at in the last minute, if this one was looked at.
fn recent(shown: &Result<Place, StoreJoinRefusal>) -> Option<u64> {
    match shown {
        Err(StoreJoinRefusal::CodeInvalid { recent }) => Some(*recent),
        _ => None,
    }
}

fn paused(shown: &Result<Place, StoreJoinRefusal>) -> Option<CodesPaused> {
    match shown {
        Err(StoreJoinRefusal::CodesPaused(paused)) => Some(*paused),
        _ => None,
    }
}

pub(super) async fn wrong_codes_use_up_a_budget_that_right_ones_do_not(Pair { store, .. }: Pair) {
    let store = store.as_ref();
    put_right_codes(store).await;
    let begun = 1_800_000_000_000;
    for of in 0..WRONG_AT_ONCE - 1 {
        let shown = show(store, 900, wrong(of), begun).await;
        assert_eq!(recent(&shown), Some(of.unsigned_abs() + 1), "{shown:?}");
    }
    // One try is left. Right codes do not use it up.
    for of in 0..20 {
        let place = show(store, of, counted(right(of)), begun).await;
        assert_eq!(place.unwrap().number, of);
    }
    let used = show(store, 901, counted(right(0)), begun).await;
    assert!(matches!(used, Err(StoreJoinRefusal::CodeUsed)), "{used:?}");
    assert_eq!(
        recent(&show(store, 900, wrong(900), begun).await),
        Some(100)
    );
    // Now no code is looked at. Whether it is right makes no difference.
    for code in [wrong(901), counted(right(30)), counted(right(0))] {
        let shown = show(store, 30, code, begun + 100).await;
        let expected = CodesPaused {
            wait_ms: WRONG_EVERY_MS - 100,
            recent: 100,
        };
        assert_eq!(paused(&shown), Some(expected), "{shown:?}");
    }
    let known = show(store, 0, wrong(901), begun + 100).await;
    assert_eq!(
        known.unwrap().number,
        0,
        "a holder with a place needs no code"
    );
    // Half a second later right codes are looked at again, until one more is wrong.
    let later = begun + WRONG_EVERY_MS;
    for of in 30..40 {
        show(store, of, counted(right(of)), later).await.unwrap();
    }
    assert_eq!(
        recent(&show(store, 900, wrong(902), later).await),
        Some(101)
    );
    let shown = show(store, 40, counted(right(40)), later).await;
    assert!(paused(&shown).is_some(), "{shown:?}");
    // The budget is whole again in the end, and has no more than before.
    let much_later = begun + 3_600_000;
    for of in 0..WRONG_AT_ONCE {
        let shown = show(store, 900, wrong(of), much_later).await;
        assert_eq!(recent(&shown), Some(of.unsigned_abs() + 1), "{shown:?}");
    }
    assert!(paused(&show(store, 900, wrong(1), much_later).await).is_some());
}

pub(super) async fn the_last_tries_of_the_budget_are_kept_for_others(Pair { store, .. }: Pair) {
    let store = store.as_ref();
    put_right_codes(store).await;
    let keeping = |code: ShownCode| ShownCode {
        kept: KEPT_FOR_NEW,
        ..code
    };
    let mut looked_at = 0;
    while recent(&show(store, 900, keeping(wrong(looked_at)), 1_000).await).is_some() {
        looked_at += 1;
    }
    assert_eq!(looked_at, WRONG_AT_ONCE - KEPT_FOR_NEW);
    let unread = show(store, 1, keeping(counted(right(1))), 1_000).await;
    assert!(paused(&unread).is_some(), "{unread:?}");
    for of in 0..KEPT_FOR_NEW {
        let shown = show(store, 900, wrong(of), 1_000).await;
        assert!(recent(&shown).is_some(), "{shown:?}");
    }
    assert!(paused(&show(store, 900, wrong(0), 1_000).await).is_some());
}

pub(super) async fn a_code_that_is_looked_up_in_two_forms_uses_up_one_try(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    put_right_codes(store).await;
    for of in 0..WRONG_AT_ONCE {
        let first = ShownCode {
            is_counted: false,
            ..wrong(of)
        };
        for code in [first, wrong(of + 1_000)] {
            assert!(recent(&show(store, 900, code, 1_000).await).is_some());
        }
    }
    assert!(paused(&show(store, 900, wrong(1), 1_000).await).is_some());
}
