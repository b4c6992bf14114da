use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_model::shows::coverage::matches;
use fairgate_model::venues::VenueLocation;
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::RoomDocument;

use super::*;
use crate::ledger::{DrawSecret, ReleaseRow, RoomLedger, RoomRow};
use crate::room::DrawState;

fn show(id: &str, title: &str, starts_at: &str, city: &str) -> ShowSummary {
    ShowSummary {
        id: id.parse().expect("a slug"),
        title: title.to_owned(),
        starts_at: starts_at.parse().expect("a time"),
        venue: "hall".to_owned(),
        location: VenueLocation {
            city: Some(city.to_owned()),
            time_zone: Some("Europe/Berlin".to_owned()),
            ..VenueLocation::default()
        },
        currency: "EUR".to_owned(),
        seats: 10,
        showing: false,
        walk_in: true,
        hold_s: 300,
    }
}

/// Opens rooms, each with a title, the start of its sale and the patterns of its shows.
async fn open_rooms(rooms: &[(&str, i64, &[&str])]) -> Vec<Room> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("the file opens");
    let ledger = RoomLedger::open(
        Installation::File(file),
        InstallationSecret::derive("a test's secret"),
    )
    .await;
    let ledger = ledger.expect("it migrates");
    let mut opened = Vec::new();
    for (title, draw_at, shows) in rooms {
        let row = RoomRow {
            room: title.to_lowercase(),
            document: RoomDocument {
                title: (*title).to_owned(),
                draw_at: *draw_at,
                shows: shows.iter().map(|show| (*show).to_owned()).collect(),
                ..RoomDocument::everyday()
            },
            facts: RoomFacts::default(),
            version: 1,
            secret: DrawSecret([1; 32]),
            created_at: 0,
        };
        let draw = DrawState::restore(&ledger, &row).await.expect("no draw");
        opened.push(Room::new(row, draw, ReleaseRow::default()));
    }
    opened
}

fn index(rooms: Vec<Room>, shows: &[ShowSummary]) -> OnSaleIndex {
    let known = rooms.clone();
    let room_of = move |show: &ShowSummary| {
        let covers = |room: &&Room| {
            let row = room.row();
            let mut patterns = row.document.shows.iter();
            patterns.any(|pattern| matches(pattern, show.id.as_str()))
        };
        known.iter().find(covers).map(|room| room.id().to_owned())
    };
    OnSaleIndex::new(OnSaleEdition::default(), rooms, shows, room_of)
}

fn search(q: &str, city: &str, from: &str, to: &str) -> OnSaleSearch {
    OnSaleSearch::parse(q, city, from, to).expect("a search")
}

#[test]
fn a_show_is_found_by_its_words_with_a_slip_its_city_and_its_day_at_the_venue() {
    // The show begins half an hour after midnight in the venue's time zone.
    let night = show("n-1", "Die Zauberflöte", "2027-06-01T22:30:00Z", "Köln");
    let index = index(Vec::new(), &[night]);
    for q in [
        "zauberflöte",
        "Zauberflote",
        "zauberflöt",
        "zuaberflöte",
        "hall",
        "koln",
    ] {
        assert_eq!(index.find(&search(q, "", "", "")).shows, [0], "{q}");
    }
    for ([q, city, from, to], is_found) in [
        (["Carmen", "", "", ""], false),
        (["", "Koln", "", ""], true),
        (["", "Berlin", "", ""], false),
        (["", "", "2027-06-02", "2027-06-02"], true),
        (["", "", "", "2027-06-01"], false),
        (["", "", "2027-06-03", ""], false),
    ] {
        let found = index.find(&search(q, city, from, to));
        assert_eq!(!found.shows.is_empty(), is_found, "{q} {city} {from} {to}");
    }
}

#[tokio::test]
async fn rooms_come_in_the_order_of_their_first_matching_show() {
    let rooms = open_rooms(&[
        ("Late", 10, &["l-*"]),
        ("Early", 20, &["e-1", "e-2"]),
        ("Orchard", 1_799_000_000_000, &["unknown"]),
    ])
    .await;
    let mut film = show("e-1", "A film", "2027-01-01T20:00:00Z", "Lyon");
    film.showing = true;
    let shows = [
        show("l-1", "Carmen", "2027-03-01T20:00:00Z", "Lyon"),
        show("x-1", "In no room", "2027-01-01T20:00:00Z", "Lyon"),
        show("e-2", "Tosca", "2027-04-01T20:00:00Z", "Köln"),
        film,
    ];
    let index = index(rooms, &shows);
    let found = |q: &str, city: &str, from: &str| {
        let found = index.find(&search(q, city, from, ""));
        let rooms = found.rooms.iter().map(|at| index.room(*at).room.id());
        let shows = found.shows.iter().map(|at| index.show(*at));
        let shows = shows.map(|show| show.summary.id.to_string());
        (
            rooms.map(str::to_owned).collect::<Vec<_>>(),
            shows.collect::<Vec<_>>(),
        )
    };
    let all = found("", "", "");
    assert_eq!(all.0, ["early", "orchard", "late"]);
    assert_eq!(all.1, ["x-1", "l-1", "e-2"], "a showing has its own search");
    assert_eq!(found("", "", "2027-02-01").0, ["late", "early"]);
    assert_eq!(found("", "koln", "").0, ["early"]);
    assert_eq!(found("orchrd", "", "").0, ["orchard"], "by its title");
    assert_eq!(found("orchard", "Lyon", "").0, Vec::<String>::new());
    assert_eq!(
        found("tosac", "", ""),
        (vec!["early".to_owned()], vec!["e-2".to_owned()])
    );
    let early = index.find(&search("", "koln", "", "")).rooms[0];
    let early = index.room(early);
    assert_eq!((early.seats, early.shows), (20, 2));
    assert_eq!(early.zone.as_deref(), Some("Europe/Berlin"));
    let cities: Vec<_> = index.cities().collect();
    assert_eq!(cities, ["Köln", "Lyon"]);
}

#[test]
fn an_index_is_out_of_date_if_either_number_has_grown() {
    let edition = |shows, rooms| OnSaleEdition { shows, rooms };
    let made = edition(Some(5), 7);
    for (newest, is_current) in [
        (edition(Some(5), 7), true),
        (edition(None, 7), true),
        (edition(Some(6), 7), false),
        (edition(Some(5), 8), false),
    ] {
        assert_eq!(made.is_at_least(newest), is_current, "{newest:?}");
    }
    assert!(!edition(None, 9).is_at_least(made));
}
