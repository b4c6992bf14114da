//! Cases of the plan number that a show pins. It stays the same while the show's plan does, and
//! grows each time the plan changes.

use super::*;
use crate::ledger::ShowRefused;

pub(super) const CASES: &[Case] = cases![
    a_show_keeps_its_plan_number_while_its_plan_stays_the_same,
    a_show_that_two_nodes_move_at_once_pins_no_number_of_its_old_hall,
    an_older_plan_never_replaces_the_pinned_one,
];

fn other_hall() -> VenueId {
    "other-hall".parse().expect("a slug")
}

/// Stores the show with a version of a venue's plan, and returns the version that it pins.
async fn put_show(ledger: &Books, venue: &VenueId, version: u32) -> Result<u32, ShowRefused> {
    let mut show = stored(version);
    show.document.venue = venue.clone();
    let versions = ledger.put_show(show, None, NOW_MS).await?;
    Ok(versions.plan)
}

async fn put_plan(ledger: &Books, venue: &VenueId, digest: u8) -> u32 {
    let plan = plan_of("plan", [digest; 32]);
    let version = ledger.put_venue(venue, plan, NOWHERE, NOW_MS).await;
    version.expect("stored")
}

async fn a_show_keeps_its_plan_number_while_its_plan_stays_the_same(ledger: Books) {
    stocked(&ledger).await;
    put_plan(&ledger, &other_hall(), 2).await;
    // Another show moves away and back. So the hall's plan is stored again.
    let mut other = stored(1);
    other.id = "night-2".parse().expect("a slug");
    for (venue, version) in [(venue(), 1), (other_hall(), 2), (venue(), 3)] {
        other.document.venue = venue;
        let put = ledger.put_show(other.clone(), None, NOW_MS).await;
        assert_eq!(put.expect("stored").plan, version);
    }
    assert_eq!(
        ledger.newest_plan(&venue()).await.expect("readable"),
        Some(3)
    );
    let put = put_show(&ledger, &venue(), 3).await;
    assert_eq!(put.expect("stored"), 1);
    claimed(&ledger, "a", ANA, &[0]).await;
    let again = put_show(&ledger, &venue(), 3).await;
    assert_eq!(again.expect("no seat moves"), 1);
    assert_eq!(put_plan(&ledger, &venue(), 3).await, 4);
    let anew = ledger.put_show(stored(4), Some(check(1, |_| true)), NOW_MS);
    assert_eq!(anew.await.expect("stored").plan, 4);
}

async fn a_show_that_two_nodes_move_at_once_pins_no_number_of_its_old_hall(ledger: Books) {
    stocked(&ledger).await;
    put_plan(&ledger, &other_hall(), 2).await;
    // Both nodes read the other hall's newest plan before one of them stores it again.
    for _ in 0..2 {
        let put = put_show(&ledger, &other_hall(), 1).await;
        assert_eq!(put.expect("stored"), 2);
    }
    let old = claim(&ledger, &order("a", ANA, &[0])).await;
    assert!(matches!(old, Err(SeatClaimRefused::PlanChanged)));
}

async fn an_older_plan_never_replaces_the_pinned_one(ledger: Books) {
    stocked(&ledger).await;
    put_plan(&ledger, &other_hall(), 2).await;
    assert_eq!(put_plan(&ledger, &other_hall(), 3).await, 2);
    assert_eq!(
        put_show(&ledger, &other_hall(), 2).await.expect("stored"),
        2
    );
    // Another node read version 1, which is also the number that the show pinned in its old hall.
    let stale = put_show(&ledger, &other_hall(), 1).await;
    assert!(
        matches!(
            stale,
            Err(ShowRefused::Ledger(crate::ledger::LedgerError::Overtaken(
                _
            )))
        ),
        "{stale:?}"
    );
    let shown = ledger.shows().await.expect("readable").remove(0);
    assert_eq!(shown.plan_version, 2, "nothing was written");
}
