//! Cases of timetables and the plans of their trains.

use fairgate_model::runs::TrainRun;
use fairgate_model::shows::fate::ShowFate;
use fairgate_model::timetables::KeptDeparture;

use super::keeping::{by_distance, departure};
use super::*;
use crate::ledger::{
    ChangedRun, DepartureDecision, DepartureDecisions, KeptRun, LedgerError, NewSeatingPlan,
    NewTimetable, SoldFigures, StoredTimetable, SwitchedTimetable, TimetableRefused,
    TimetableSwitch, TouchedDeparture, TripOnDate, UndecidedShow,
};

pub(super) const CASES: &[Case] = cases![
    a_timetable_is_stored_with_the_plans_of_its_trains,
    the_newest_timetable_stored_again_keeps_its_version,
    a_new_timetable_raises_the_version_of_the_catalogue,
    touched_departures_are_taken_over_as_decided,
    an_undecided_departure_a_preview_and_a_replaced_timetable_leave_all_as_it_was,
    a_departure_of_a_replaced_timetable_gets_no_row,
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

/// Decides the same about all departures.
fn switch(
    earlier: Option<u32>,
    decide: impl Fn(&TouchedDeparture) -> DepartureDecision + Send + Sync + 'static,
) -> TimetableSwitch {
    TimetableSwitch {
        earlier,
        decide: Box::new(move |touched| DepartureDecisions {
            decided: touched
                .iter()
                .map(|touched| Some(decide(touched)))
                .collect(),
            undecided: Vec::new(),
        }),
        has_choices: false,
        is_preview: false,
    }
}

fn leave(_: &TouchedDeparture) -> DepartureDecision {
    DepartureDecision::Left(KeptRun::default())
}

async fn put(ledger: &Books, text: &str, plans: &[(&str, &str)]) -> u32 {
    let earlier = ledger.newest_timetable().await.expect("readable");
    let switched = replace(ledger, text, plans, switch(earlier, leave)).await;
    switched.expect("written").version
}

async fn replace(
    ledger: &Books,
    text: &str,
    plans: &[(&str, &str)],
    switch: TimetableSwitch,
) -> std::result::Result<SwitchedTimetable, TimetableRefused> {
    let new = timetable(text, plans);
    ledger.put_timetable(new, switch, NOW_MS).await
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
            kept: Vec::new(),
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

fn kept_run(unsold: &str) -> KeptRun {
    KeptRun {
        line: "S 1".to_owned(),
        unsold: vec![unsold.to_owned()],
        matches: Vec::new(),
    }
}

fn on_date() -> TripOnDate {
    TripOnDate {
        trip: "trip".to_owned(),
        date: jiff::civil::date(2027, 2, 1),
    }
}

/// Returns the run with all its times an hour later.
fn an_hour_later(run: &TrainRun) -> TrainRun {
    let mut run = run.clone();
    for call in &mut run.calls {
        let later = |at: jiff::Timestamp| at.checked_add(jiff::SignedDuration::from_hours(1));
        call.departs = call.departs.map(|at| later(at).expect("a moment"));
    }
    run
}

async fn touched_departures_are_taken_over_as_decided(ledger: Books) {
    stocked(&ledger).await;
    assert_eq!(put(&ledger, "one", &[("rail", "a")]).await, 1);
    for id in ["same", "later", "ended", "gone", "left"] {
        let show = departure(id, "B", by_distance());
        let opened = ledger.open_departure(show, Some(1), NOW_MS).await;
        opened.expect("stored");
    }
    let before = ledger.departures(0, 10).await.expect("readable");
    let decide = |departure: &TouchedDeparture| match departure.show.id.as_str() {
        "same" => DepartureDecision::Same(on_date()),
        "later" => {
            let run = departure.show.run.as_ref().expect("a run");
            let changed = ChangedRun {
                run: Arc::new(an_hour_later(run)),
                title: "G2 A – C".to_owned(),
                refunds: Vec::new(),
                exchange: None,
                has_other_times: true,
                has_other_stops: false,
                has_other_names: true,
                has_other_terms: false,
            };
            DepartureDecision::Changed(on_date(), changed)
        }
        "ended" => DepartureDecision::Kept(kept_run("other")),
        "gone" => DepartureDecision::Cancelled("It is gone.".to_owned(), KeptRun::default()),
        _ => DepartureDecision::Left(kept_run("another")),
    };
    let replaced = replace(
        &ledger,
        "another",
        &[("rail", "a")],
        switch(Some(1), decide),
    )
    .await;
    let replaced = replaced.expect("written");
    assert_eq!((replaced.version, replaced.decided.len()), (2, 5));

    let kept = ledger.timetable(2).await.expect("readable");
    let kept = kept.expect("version 2").kept;
    let trips = kept.iter().map(
        |KeptDeparture {
             show, trip, unsold, ..
         }| { (show.as_str(), trip.as_deref(), unsold.join(",")) },
    );
    let expected = [
        ("ended", None, "other"),
        ("gone", None, ""),
        ("later", Some("trip"), ""),
        ("left", None, "another"),
        ("same", Some("trip"), ""),
    ];
    assert_eq!(
        trips.collect::<Vec<_>>(),
        expected.map(|(show, trip, unsold)| (show, trip, unsold.to_owned()))
    );
    let (last, _) = before.last().expect("five rows");
    let changed = ledger.departures(*last, 10).await.expect("readable");
    let ids: Vec<_> = changed.iter().map(|(_, show)| show.id.as_str()).collect();
    assert_eq!(
        ids,
        ["ended", "gone", "later"],
        "every node reads these again"
    );
    let [(_, ended), (_, gone), (_, later)] = &changed[..] else {
        panic!("{changed:?}");
    };
    let (_, first) = &before[0];
    assert_eq!(
        ended.document.sells_until.map(|at| at.as_millisecond()),
        Some(NOW_MS)
    );
    assert_eq!(gone.fate, Some(ShowFate::Cancelled));
    let run = an_hour_later(first.run.as_ref().expect("a run"));
    assert_eq!(later.run.as_deref(), Some(&run));
    assert_eq!(Some(later.document.starts_at), run.calls[0].departs);
    assert_eq!(later.document.title, "G2 A – C");
    assert!(
        later.terms > first.terms,
        "its baskets were made for another time"
    );
}

async fn an_undecided_departure_a_preview_and_a_replaced_timetable_leave_all_as_it_was(
    ledger: Books,
) {
    stocked(&ledger).await;
    put(&ledger, "one", &[("rail", "a")]).await;
    let show = departure("sold", "B", by_distance());
    let opened = ledger.open_departure(show, Some(1), NOW_MS).await;
    let (number, _) = opened.expect("stored");
    let cancel = |_: &TouchedDeparture| {
        DepartureDecision::Cancelled("It is gone.".to_owned(), KeptRun::default())
    };
    let version = ledger.catalogue_version().await.expect("readable");
    let undecided = UndecidedShow {
        show: "sold".parse().expect("a slug"),
        why: "nobody knows".to_owned(),
        sold: SoldFigures::default(),
        currency: Currency::parse("EUR").expect("a currency"),
    };
    let named = vec![undecided.clone()];
    let asks = TimetableSwitch {
        earlier: Some(1),
        decide: Box::new(move |touched| DepartureDecisions {
            decided: touched
                .iter()
                .map(|touched| Some(cancel(touched)))
                .collect(),
            undecided: named.clone(),
        }),
        has_choices: false,
        is_preview: false,
    };
    let preview = TimetableSwitch {
        has_choices: false,
        is_preview: true,
        ..switch(Some(1), cancel)
    };
    let plans = [("rail", "ab")];
    let refused = replace(&ledger, "another", &plans, asks).await;
    let Err(TimetableRefused::Undecided(refused)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(refused.undecided, [undecided]);
    let [decided] = &refused.decided[..] else {
        panic!("{refused:?}");
    };
    assert!(matches!(decided.decision, DepartureDecision::Cancelled(..)));
    let refused = replace(&ledger, "another", &plans, preview).await;
    let Err(TimetableRefused::Preview(would)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((would.version, would.decided.len()), (2, 1));
    for earlier in [None, Some(2)] {
        let refused = replace(&ledger, "another", &plans, switch(earlier, cancel)).await;
        assert!(
            matches!(refused, Err(TimetableRefused::Replaced)),
            "{refused:?}"
        );
    }
    assert_eq!(ledger.newest_timetable().await.expect("readable"), Some(1));
    let rail = ledger.newest_plan(&venue_of("rail")).await;
    assert_eq!(rail.expect("readable"), Some(1));
    assert_eq!(
        ledger.departures(number, 10).await.expect("readable").len(),
        0
    );
    let after = ledger.catalogue_version().await.expect("readable");
    assert_eq!(after, version);
}

async fn a_departure_of_a_replaced_timetable_gets_no_row(ledger: Books) {
    stocked(&ledger).await;
    put(&ledger, "one", &[("rail", "a")]).await;
    put(&ledger, "another", &[("rail", "a")]).await;
    let open = async |timetable| {
        let show = departure("g1", "B", by_distance());
        ledger.open_departure(show, timetable, NOW_MS).await
    };
    for stale in [None, Some(1)] {
        let refused = open(stale).await;
        assert!(
            matches!(refused, Err(LedgerError::Overtaken(_))),
            "{refused:?}"
        );
    }
    assert_eq!(ledger.departures(0, 10).await.expect("readable").len(), 0);
    let (number, _) = open(Some(2)).await.expect("stored");
    put(&ledger, "three", &[("rail", "a")]).await;
    let (again, _) = open(Some(2)).await.expect("it has a row");
    assert_eq!(again, number);
}
