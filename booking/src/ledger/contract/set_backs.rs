//! Cases of a ledger that went back to an older state.

use super::*;
use crate::ledger::LedgerError;

pub(super) const CASES: &[Case] = cases![
    a_ledger_behind_the_counter_outside_closes_every_show_once,
    a_closed_show_takes_no_claim_and_what_is_pending_can_be_paid,
    a_reopened_show_sells_until_the_ledger_goes_back_again,
    nothing_is_reopened_in_a_ledger_that_never_went_back,
];

/// Makes the ledger one that lacks 100 commits.
async fn set_back(ledger: &Books) {
    let counter = ledger.raise_counter().await.expect("raised");
    let noticed = ledger.note_outside_counter(counter + 100).await;
    noticed.expect("written").expect("it is behind");
}

fn is_closed(refused: &Result<Order, SeatClaimRefused>) -> bool {
    matches!(
        refused,
        Err(SeatClaimRefused::Ledger(LedgerError::SetBack(_)))
    )
}

async fn a_ledger_behind_the_counter_outside_closes_every_show_once(ledger: Books) {
    stocked(&ledger).await;
    assert_eq!(ledger.sale_closure().await.expect("readable"), None);
    let counter = ledger.raise_counter().await.expect("raised");
    let noticed = ledger.note_outside_counter(counter).await;
    assert_eq!(noticed.expect("readable"), None, "it is not behind");
    set_back(&ledger).await;
    let closure = ledger.sale_closure().await.expect("readable");
    let closure = closure.expect("it went back");
    assert!(closure.lacking > 0 && closure.lacking <= 100, "{closure:?}");
    assert!(closure.is_closed(&show()) && closure.noticed_at_ms > 0);
    let again = ledger.note_outside_counter(counter + 50).await;
    assert_eq!(again.expect("readable"), None);
}

async fn a_closed_show_takes_no_claim_and_what_is_pending_can_be_paid(ledger: Books) {
    stocked(&ledger).await;
    let pending = claimed(&ledger, "before", ANA, &[1]).await;
    set_back(&ledger).await;
    let refused = claim(&ledger, &order("after", BEN, &[2])).await;
    assert!(is_closed(&refused), "{refused:?}");
    let same = claim(&ledger, &order("before", ANA, &[1])).await;
    assert_eq!(same.expect("the order is there").id, pending.id);
    authorised(&ledger, &pending).await;
    let state = record(&ledger, &pending).await.order.state;
    assert_eq!(state, OrderState::Confirmed);
}

async fn a_reopened_show_sells_until_the_ledger_goes_back_again(ledger: Books) {
    stocked(&ledger).await;
    set_back(&ledger).await;
    let version = ledger.catalogue_version().await.expect("readable");
    for other in ["night-2", "night", "night_1", "ight-*"] {
        ledger
            .reopen_shows(other.to_owned(), NOW_MS)
            .await
            .expect("written");
        let refused = claim(&ledger, &order("x", ANA, &[1])).await;
        assert!(is_closed(&refused), "{other}: {refused:?}");
    }
    let reopened = ledger.reopen_shows("night-*".to_owned(), NOW_MS).await;
    assert!(reopened.expect("written"));
    assert!(ledger.catalogue_version().await.expect("readable") > version);
    claimed(&ledger, "x", ANA, &[1]).await;
    let closure = ledger.sale_closure().await.expect("readable");
    assert!(!closure.expect("it went back").is_closed(&show()));
    set_back(&ledger).await;
    let refused = claim(&ledger, &order("y", BEN, &[2])).await;
    assert!(is_closed(&refused), "{refused:?}");
    let reopened = ledger.reopen_shows("*".to_owned(), NOW_MS).await;
    assert!(reopened.expect("written"));
    claimed(&ledger, "y", BEN, &[2]).await;
}

async fn nothing_is_reopened_in_a_ledger_that_never_went_back(ledger: Books) {
    stocked(&ledger).await;
    let reopened = ledger.reopen_shows("*".to_owned(), NOW_MS).await;
    assert!(!reopened.expect("written"));
    assert_eq!(ledger.sale_closure().await.expect("readable"), None);
    set_back(&ledger).await;
    let refused = claim(&ledger, &order("x", ANA, &[1])).await;
    assert!(is_closed(&refused), "{refused:?}");
}
