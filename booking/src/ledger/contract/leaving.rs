//! Cases of showings that a new cinema programme does not have.

use fairgate_model::shows::document::ShowState;
use fairgate_model::shows::fate::ShowFate;

use super::programming::{programme, showing, sold};
use super::waiting::of_show;
use super::*;
use crate::ledger::{
    ChangedShows, LeavingDecision, LeavingShowing, NewProgramme, ProgrammeOutcome,
    ProgrammeRefused, ProgrammeSuccession, SoldFigures, UndecidedShow,
};

pub(super) const CASES: &[Case] = cases![
    a_showing_that_nobody_touched_is_withdrawn_and_sold_again_by_a_later_programme,
    a_touched_showing_is_not_withdrawn_and_nothing_is_stored,
    a_showing_is_kept_or_cancelled_as_a_person_decided,
    a_preview_and_a_programme_for_an_older_catalogue_store_nothing,
];

/// The showing that the programmes of these cases do not have.
fn gone() -> ShowId {
    showing("kino-1", 21, 1_000).0
}

/// Builds a programme without one showing, of which becomes what is decided.
fn without(document: &str, becomes: LeavingDecision) -> NewProgramme {
    let mut next = programme(document, 1, 1_000);
    next.shows.retain(|(show, _)| *show != gone());
    let going_on = next.shows.iter().map(|(show, _)| show.clone());
    NewProgramme {
        succession: ProgrammeSuccession {
            going_on: going_on.collect(),
            leaving: vec![LeavingShowing {
                show: gone(),
                becomes,
            }],
            ..ProgrammeSuccession::default()
        },
        ..next
    }
}

fn withdrawn() -> LeavingDecision {
    LeavingDecision::Withdrawn {
        is_held: false,
        why: "it is gone".to_owned(),
    }
}

async fn put(ledger: &Books, next: NewProgramme) -> ProgrammeOutcome {
    let put = ledger.put_programme(next, NOW_MS).await;
    put.expect("written")
}

async fn stored_showing(ledger: &Books) -> StoredShow {
    let shows = ledger.shows().await.expect("readable");
    let found = shows.into_iter().find(|show| show.id == gone());
    found.expect("it is stored")
}

fn one_show(sold: SoldFigures) -> ChangedShows {
    let mut changed = ChangedShows::default();
    changed.add(sold);
    changed
}

async fn a_showing_that_nobody_touched_is_withdrawn_and_sold_again_by_a_later_programme(
    ledger: Books,
) {
    put(&ledger, programme("first", 1, 1_000)).await;
    let before = stored_showing(&ledger).await;
    let done = put(&ledger, without("second", withdrawn())).await;
    assert_eq!(done.changes.left_out, one_show(SoldFigures::default()));
    assert_eq!(done.changes.unchanged.shows, 2);
    let left = stored_showing(&ledger).await;
    assert_eq!(left.document.state, ShowState::Announced);
    assert_eq!(left.terms, before.terms, "the terms of sale stay");
    let again = put(&ledger, without("second", withdrawn())).await;
    assert_eq!(again.changes.left_out, ChangedShows::default());
    assert!(!again.written, "it was withdrawn before");
    let back = put(&ledger, programme("first", 1, 1_000)).await;
    assert_eq!((back.new, back.changed), (0, 1));
    let again = stored_showing(&ledger).await;
    assert_eq!(
        (again.document, again.terms),
        (before.document, before.terms)
    );
}

async fn a_touched_showing_is_not_withdrawn_and_nothing_is_stored(ledger: Books) {
    let id = sold(&ledger).await;
    let named = async |becomes: LeavingDecision| {
        let refused = ledger.put_programme(without("second", becomes), NOW_MS);
        match refused.await {
            Err(ProgrammeRefused::Undecided(named)) => named,
            other => panic!("a touched showing was withdrawn: {other:?}"),
        }
    };
    let undecided = |why: &str, buyers| UndecidedShow {
        show: id.clone(),
        why: why.to_owned(),
        sold: SoldFigures {
            buyers,
            ..SoldFigures::default()
        },
        currency: Currency::EUR,
    };
    assert_eq!(named(withdrawn()).await, [undecided("it is gone", 1)]);
    let version = ledger.catalogue_version().await.expect("readable");
    let ended = ledger.expire_due(CLAIM_UNTIL_MS + 1, 10).await;
    assert_eq!(ended.expect("written").len(), 1, "the order expired");
    let held = LeavingDecision::Withdrawn {
        is_held: true,
        why: "it is gone".to_owned(),
    };
    let of_holders = named(held).await;
    assert!(of_holders[0].why.contains("basket"), "{of_holders:?}");
    let waiter = ledger.join_waitlist(of_show(&id, 7, BEN)).await;
    waiter.expect("written");
    assert_eq!(named(withdrawn()).await, [undecided("it is gone", 0)]);
    let after = ledger.catalogue_version().await.expect("readable");
    assert_eq!(after, version);
    let stored = stored_showing(&ledger).await;
    assert_eq!(stored.document.state, ShowState::OnSale);
}

async fn a_showing_is_kept_or_cancelled_as_a_person_decided(ledger: Books) {
    sold(&ledger).await;
    let buyer = SoldFigures {
        buyers: 1,
        ..SoldFigures::default()
    };
    let kept = put(&ledger, without("second", LeavingDecision::Kept)).await;
    assert_eq!(kept.changes.kept, one_show(buyer));
    let ended = stored_showing(&ledger).await;
    let until = ended
        .document
        .sells_until
        .map(|until| until.as_millisecond());
    assert_eq!(until, Some(NOW_MS));
    let again = put(&ledger, without("second", LeavingDecision::Kept)).await;
    assert!(!again.written, "its sale ended before");
    let reason = "It is gone.".to_owned();
    let cancelled = put(
        &ledger,
        without("third", LeavingDecision::Cancelled(reason)),
    )
    .await;
    assert_eq!(cancelled.changes.cancelled, one_show(buyer));
    let gone = stored_showing(&ledger).await;
    assert_eq!(gone.fate, Some(ShowFate::Cancelled));
}

async fn a_preview_and_a_programme_for_an_older_catalogue_store_nothing(ledger: Books) {
    sold(&ledger).await;
    let version = ledger.catalogue_version().await.expect("readable");
    let reason = "It is gone.".to_owned();
    let next = |catalogue, is_preview| {
        let mut next = without("second", LeavingDecision::Cancelled(reason.clone()));
        next.succession.catalogue = Some(catalogue);
        next.succession.is_preview = is_preview;
        next
    };
    let preview = ledger.put_programme(next(version, true), NOW_MS).await;
    let Err(ProgrammeRefused::Preview(would)) = preview else {
        panic!("{preview:?}");
    };
    assert_eq!(would.changes.cancelled.buyers, 1);
    let stale = ledger.put_programme(next(version - 1, false), NOW_MS).await;
    assert!(
        matches!(stale, Err(ProgrammeRefused::Replaced)),
        "{stale:?}"
    );
    assert_eq!(stored_showing(&ledger).await.fate, None);
    let after = ledger.catalogue_version().await.expect("readable");
    assert_eq!(after, version);
    let done = ledger.put_programme(next(version, false), NOW_MS).await;
    assert!(done.expect("written").written);
}
