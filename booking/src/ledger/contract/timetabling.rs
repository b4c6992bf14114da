//! Cases of timetables and the plans of their trains.

use super::*;
use crate::ledger::{NewSeatingPlan, NewTimetable, StoredTimetable};

pub(super) const CASES: &[Case] = cases![
    a_timetable_is_stored_with_the_plans_of_its_trains,
    the_newest_timetable_stored_again_keeps_its_version,
    a_new_timetable_raises_the_version_of_the_catalogue,
];

fn venue_of(name: &str) -> VenueId {
    name.parse().expect("a slug")
}

fn timetable(text: &str, plans: &[(&str, &str)]) -> NewTimetable {
    let digest = |text: &str| [text.len().try_into().expect("short"); 32];
    let plans = plans.iter().map(|(venue, plan)| NewSeatingPlan {
        venue: venue_of(venue),
        plan: (*plan).to_owned(),
        digest: digest(plan),
    });
    NewTimetable {
        text: text.to_owned(),
        digest: digest(text),
        plans: plans.collect(),
    }
}

async fn put(ledger: &Books, text: &str, plans: &[(&str, &str)]) -> u32 {
    let put = ledger.put_timetable(timetable(text, plans), NOW_MS).await;
    put.expect("written")
}

async fn a_timetable_is_stored_with_the_plans_of_its_trains(ledger: Books) {
    assert_eq!(ledger.newest_timetable().await.expect("readable"), None);
    assert_eq!(ledger.timetable(1).await.expect("readable"), None);
    let plans = [("rail-long", "abc"), ("rail-short", "a")];
    assert_eq!(put(&ledger, "one", &plans).await, 1);
    let plans = [("rail-short", "a"), ("rail-long", "abcd")];
    assert_eq!(put(&ledger, "another", &plans).await, 2);
    assert_eq!(ledger.newest_timetable().await.expect("readable"), Some(2));
    for (version, text, plans) in [
        (1, "one", [("rail-long", 1), ("rail-short", 1)]),
        (2, "another", [("rail-short", 1), ("rail-long", 2)]),
    ] {
        let kept = ledger.timetable(version).await.expect("readable");
        let plans = plans.map(|(venue, version)| (venue_of(venue), version));
        let expected = StoredTimetable {
            text: text.to_owned(),
            plans: plans.to_vec(),
        };
        assert_eq!(kept, Some(expected), "version {version}");
    }
    let plan = ledger.plan(&venue_of("rail-long"), 2).await;
    assert_eq!(plan.expect("readable").as_deref(), Some("abcd"));
}

async fn the_newest_timetable_stored_again_keeps_its_version(ledger: Books) {
    assert_eq!(put(&ledger, "one", &[("rail", "a")]).await, 1);
    assert_eq!(put(&ledger, "one", &[("rail", "a")]).await, 1);
    assert_eq!(put(&ledger, "one", &[("rail", "ab")]).await, 2);
    assert_eq!(put(&ledger, "three", &[("rail", "ab")]).await, 3);
    let again = put(&ledger, "one", &[("rail", "ab")]).await;
    assert_eq!(again, 4, "an older timetable gets a new version");
}

async fn a_new_timetable_raises_the_version_of_the_catalogue(ledger: Books) {
    let version = async || ledger.catalogue_version().await.expect("readable");
    put(&ledger, "one", &[("rail", "a")]).await;
    let before = version().await;
    put(&ledger, "one", &[("rail", "a")]).await;
    assert_eq!(version().await, before, "nothing changed");
    put(&ledger, "three", &[("rail", "a")]).await;
    assert!(version().await > before);
}
