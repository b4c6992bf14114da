//! Cases of on-sale files, and of shows that were stored before shows could be walk-ins.

use super::*;
use crate::ledger::{
    AppliedEntry, NewOnsale, OnsaleRefused, OnsaleShowWrite, OnsaleVenueWrite, ShowRefused,
};

pub(super) const CASES: &[Case] = cases![
    an_on_sale_file_is_written_as_a_whole_with_the_plan_that_it_brings,
    an_on_sale_file_that_was_compared_with_an_older_catalogue_changes_nothing,
    an_on_sale_file_with_a_show_that_is_refused_changes_nothing,
    a_show_is_withheld_until_it_is_written_or_released,
];

/// Returns a file with the hall, its plan `plan`, the show, and a room that names the show.
fn onsale(compared_with: u64, plan: NewVenuePlan) -> NewOnsale {
    NewOnsale {
        compared_with,
        coverage: vec![("demo".to_owned(), vec!["night-*".to_owned()])],
        venues: vec![OnsaleVenueWrite {
            id: venue(),
            plan: Some(plan),
            location: NOWHERE,
        }],
        shows: vec![OnsaleShowWrite {
            show: stored(0),
            pins_newest_plan: true,
        }],
        applied: vec![AppliedEntry {
            kind: "show".to_owned(),
            id: show().to_string(),
            document: "{}".to_owned(),
        }],
        released: Vec::new(),
    }
}

async fn version(ledger: &Books) -> u64 {
    ledger.catalogue_version().await.expect("readable")
}

/// Returns the number of shows, of rooms and of applied entries, and the hall's newest plan.
async fn written(ledger: &Books) -> (usize, usize, usize, Option<u32>) {
    (
        ledger.shows().await.expect("readable").len(),
        ledger.coverage().await.expect("readable").len(),
        ledger.applied_entries().await.expect("readable").len(),
        ledger.newest_plan(&venue()).await.expect("readable"),
    )
}

async fn an_on_sale_file_is_written_as_a_whole_with_the_plan_that_it_brings(ledger: Books) {
    let before = version(&ledger).await;
    let file = onsale(before, plan_of("one", [1; 32]));
    let applied = ledger.apply_onsale(file, vec![None], NOW_MS).await;
    applied.expect("written");
    assert_eq!(written(&ledger).await, (1, 1, 1, Some(1)));
    assert!(version(&ledger).await > before, "other nodes read it");
    let shown = ledger.shows().await.expect("readable").remove(0);
    assert_eq!((shown.plan_version, shown.terms), (1, 1));
    let next = onsale(version(&ledger).await, plan_of("two", [2; 32]));
    let checks = vec![Some(check(1, |_| true))];
    ledger
        .apply_onsale(next, checks, NOW_MS)
        .await
        .expect("written");
    let shown = ledger.shows().await.expect("readable").remove(0);
    assert_eq!(shown.plan_version, 2);
    assert_eq!(written(&ledger).await, (1, 1, 1, Some(2)));
}

async fn an_on_sale_file_that_was_compared_with_an_older_catalogue_changes_nothing(ledger: Books) {
    let before = version(&ledger).await;
    ledger.put_coverage(vec![]).await.expect("written");
    let file = onsale(before, plan_of("one", [1; 32]));
    let refused = ledger.apply_onsale(file, vec![None], NOW_MS).await;
    assert!(matches!(refused, Err(OnsaleRefused::ChangedMeanwhile)));
    assert_eq!(written(&ledger).await, (0, 0, 0, None));
}

async fn a_show_is_withheld_until_it_is_written_or_released(ledger: Books) {
    stocked(&ledger).await;
    let withheld = async || ledger.withheld_shows().await.expect("readable");
    let before = version(&ledger).await;
    for _ in 0..2 {
        let compared_with = version(&ledger).await;
        let withhold = ledger.withhold_shows(compared_with, vec![show()]);
        withhold.await.expect("written");
        assert_eq!(withheld().await, [show()]);
    }
    assert!(version(&ledger).await > before, "other nodes read it");
    let late = ledger.withhold_shows(before, vec![show()]).await;
    assert!(matches!(late, Err(OnsaleRefused::ChangedMeanwhile)));
    // Coverage that a gateway sends releases nothing.
    ledger.put_coverage(vec![]).await.expect("written");
    assert_eq!(withheld().await, [show()]);
    let put = ledger.put_show(stored(1), None, NOW_MS).await;
    put.expect("written");
    assert_eq!(withheld().await, []);
    let compared_with = version(&ledger).await;
    let withhold = ledger.withhold_shows(compared_with, vec![show()]);
    withhold.await.expect("written");
    let mut file = onsale(version(&ledger).await, plan_of("one", [1; 32]));
    (file.venues, file.shows, file.released) = (vec![], vec![], vec![show()]);
    let applied = ledger.apply_onsale(file, vec![], NOW_MS).await;
    applied.expect("written");
    assert_eq!(withheld().await, []);
}

async fn an_on_sale_file_with_a_show_that_is_refused_changes_nothing(ledger: Books) {
    stocked(&ledger).await;
    claim(&ledger, &order("a", ANA, &[0]))
        .await
        .expect("the cells are free");
    let file = onsale(version(&ledger).await, plan_of("other", [9; 32]));
    let checks = vec![Some(check(1, |seat| seat != 0))];
    let refused = ledger.apply_onsale(file, checks, NOW_MS).await;
    assert!(
        matches!(&refused, Err(OnsaleRefused::Show(id, ShowRefused::PlanInUse(seats))) if *id == show() && seats == &[0]),
        "{refused:?}"
    );
    assert_eq!(written(&ledger).await, (1, 0, 0, Some(1)));
}

/// Returns the statements with which an earlier version stored shows and orders: a showing of the
/// programme, a show that `everyday` has sold, one that nobody bought, and one that `everyday` has
/// sold before a room named it.
pub(super) fn filling(bytes: upgrading::Bytes) -> String {
    let document = "{\"venue\":\"hall\",\"title\":\"Night\",\"starts_at\":\"2027-06-01T20:00:00Z\",\"currency\":\"EUR\",\"prices\":{\"cat1\":1000}}";
    let shows = ["film-1", "bought", "unsold", "named-1"].map(|show| {
        format!("INSERT INTO shows (show, document, plan_version, updated_at) VALUES ('{show}', '{document}', 1, {NOW_MS});")
    });
    let orders = ["film-1", "bought", "named-1"].map(|show| {
        format!(
            "INSERT INTO orders (order_id, show, hold, visitor, room, buyer_name, buyer_email, currency, total, items, \
             plan_version, payment, state, reason, created_at, pay_until, claim_until) VALUES ('order_{show}_1', '{show}', \
             'hold_{show}_1', {}, 'everyday', 'Ana', 'ana@example.org', 'EUR', 0, '[]', 1, 'payment_{show}_1', 'ticketed', \
             'ordered', {NOW_MS}, {NOW_MS}, {NOW_MS});",
            bytes(&[1; 32])
        )
    });
    let programme = format!(
        "INSERT INTO programme (id, version, document, put_at) VALUES (1, 1, '{{\"showings\":[{{\"show\":\"film-1\"}}]}}', {NOW_MS});"
    );
    let coverage = "INSERT INTO coverage (room, pattern) VALUES ('demo', 'named-*');";
    [
        shows.concat(),
        orders.concat(),
        programme,
        coverage.to_owned(),
    ]
    .concat()
}

/// Checks which of these shows are walk-ins after the upgrade.
pub(super) async fn check_old_shows(ledger: Books) {
    let shows = ledger.shows().await.expect("readable").into_iter();
    let walk_ins: Vec<_> = shows
        .map(|show| (show.id.to_string(), show.document.walk_in))
        .collect();
    let expected = [
        ("bought", true),
        ("film-1", true),
        ("named-1", false),
        ("unsold", false),
    ];
    assert_eq!(
        walk_ins,
        expected.map(|(show, walk_in)| (show.to_owned(), walk_in))
    );
}
