//! Tests the search with typing errors in a thousand titles. Also compares the filters with a plain
//! loop over all showings.

use jiff::ToSpan;
use proptest::prelude::*;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

mod french;

const FIRST: [&str; 32] = [
    "The",
    "A",
    "Last",
    "Silent",
    "Golden",
    "Électrique",
    "Midnight",
    "Winter",
    "Two",
    "Hidden",
    "Paper",
    "Iron",
    "Mr",
    "Little",
    "Lost",
    "Red",
    "Under",
    "Slow",
    "Broken",
    "My",
    "Old",
    "Blue",
    "Über",
    "Seven",
    "Distant",
    "Wild",
    "Der",
    "La",
    "Glass",
    "Night",
    "Second",
    "Beyond",
];
const SECOND: [&str; 40] = [
    "Harbour",
    "River",
    "Garden",
    "Detective",
    "Orchard",
    "Train",
    "Letter",
    "Summer",
    "Kitchen",
    "Mountain",
    "Orchestra",
    "Island",
    "Lighthouse",
    "Umbrella",
    "Station",
    "Weather",
    "Fox",
    "Bicycle",
    "Ocean's",
    "Street",
    "Machine",
    "Window",
    "Piano",
    "Bridge",
    "Snow",
    "Carnival",
    "Sister",
    "Engine",
    "Violin",
    "Forest",
    "Market",
    "Neighbour",
    "Café",
    "Captain",
    "Moon",
    "Archive",
    "Stranger",
    "Balloon",
    "Wolf",
    "Theatre",
];
const THIRD: [&str; 16] = [
    "",
    "",
    "",
    "of Lisbon",
    "in Spring",
    "Returns",
    "2",
    "and I",
    "from the North",
    "at Dawn",
    "Part III",
    "for Two",
    "on Fire",
    "Again",
    "of the Sea",
    "Blues",
];

/// Returns a thousand different titles, some of them very short.
fn titles() -> Vec<String> {
    let mut dice = ChaCha8Rng::seed_from_u64(7);
    let mut titles: Vec<String> = [
        "Up",
        "M",
        "Heat",
        "Her",
        "Alien",
        "Psycho",
        "千与千寻",
        "東京物語",
    ]
    .map(ToOwned::to_owned)
    .into();
    while titles.len() < 1_000 {
        let pick = |from: &[&'static str], dice: &mut ChaCha8Rng| *from.choose(dice).unwrap_or(&"");
        let parts = [
            pick(&FIRST, &mut dice),
            pick(&SECOND, &mut dice),
            pick(&THIRD, &mut dice),
        ];
        let title = parts.join(" ").trim().to_owned();
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    titles
}

/// Makes one random edit: a letter inserted, deleted, replaced, or swapped with its neighbour.
fn slip(title: &str, dice: &mut ChaCha8Rng) -> String {
    let mut chars: Vec<char> = title.chars().collect();
    let at = dice.random_range(0..chars.len());
    let letter = char::from(dice.random_range(b'a'..=b'z'));
    match dice.random_range(0..4) {
        0 => chars.insert(at, letter),
        1 if chars.len() > 1 => drop(chars.remove(at)),
        2 if at + 1 < chars.len() => chars.swap(at, at + 1),
        _ => chars[at] = letter,
    }
    chars.into_iter().collect()
}

fn film(id: usize, title: &str) -> Film {
    Film {
        id: format!("film-{id}"),
        title: title.to_owned(),
        description: String::new(),
        duration_s: 5_400,
        genre: None,
        language: None,
        version: None,
        rating: None,
        release_date: None,
        country: None,
    }
}

fn moment(text: &str) -> Timestamp {
    text.parse().expect("a moment")
}

/// Makes a programme of three cities in three time zones. Each cinema is given as its city's index,
/// latitude and longitude, and gets one hall.
fn places(cinemas: &[(usize, f64, f64)]) -> Programme {
    let zones = ["Europe/Berlin", "America/New_York", "Asia/Shanghai"];
    let city = |(at, zone): (usize, &&str)| City {
        id: format!("city-{at}"),
        name: format!("City {at}"),
        country: None,
        time_zone: (*zone).to_owned(),
    };
    let mut programme = Programme {
        cities: zones.iter().enumerate().map(city).collect(),
        ..Programme::default()
    };
    for (at, (city, lat, lon)) in cinemas.iter().enumerate() {
        programme.cinemas.push(Cinema {
            id: format!("cinema-{at}"),
            city: format!("city-{city}"),
            name: format!("Cinema {at}"),
            address: "Street 1".to_owned(),
            postal_code: format!("1{at} 00"),
            lat: *lat,
            lon: *lon,
        });
        programme.halls.push(Hall {
            id: format!("hall-{at}").parse().expect("a slug"),
            cinema: format!("cinema-{at}"),
            name: "Hall".to_owned(),
            plan: None,
            focal_depth: None,
            at: String::new(),
        });
    }
    programme
}

fn showing(id: usize, film: usize, hall: usize, starts_at: Timestamp, price: i64) -> Showing {
    Showing {
        listed_as: None,
        has_own_id: false,
        show: format!("show-{id}").parse().expect("a slug"),
        film: format!("film-{film}"),
        hall: format!("hall-{hall}").parse().expect("a slug"),
        starts_at,
        language: None,
        version: None,
        rating: None,
        prices: [("cat1".to_owned(), price + 100), ("cat2".to_owned(), price)].into(),
        at: String::new(),
    }
}

fn all() -> ShowingQuery {
    ShowingQuery {
        page: 1,
        per_page: 10_000,
        ..ShowingQuery::default()
    }
}

/// Indexes one film for each title. Each film has one showing, and the showings begin in the order
/// of the titles.
fn one_of_each(titles: &[String]) -> ProgrammeIndex {
    let mut programme = places(&[(0, 52.5, 13.4)]);
    for (at, title) in titles.iter().enumerate() {
        programme.films.push(film(at, title));
        let hour = i64::try_from(at).expect("small");
        let begins = moment("2027-01-01T00:00:00Z") + hour.hours();
        programme.showings.push(showing(at, at, 0, begins, 1_000));
    }
    ProgrammeIndex::new(programme)
}

fn found(index: &ProgrammeIndex, query: &ShowingQuery) -> Vec<String> {
    let found = index.search(query);
    let id = |hit: &ShowingHit| index.showing(hit).showing.show.to_string();
    found.hits.iter().map(id).collect()
}

#[test]
fn one_typing_error_still_finds_nearly_every_title() {
    let titles = titles();
    let index = one_of_each(&titles);
    for fuzzy in [None, Some(true)] {
        let mut dice = ChaCha8Rng::seed_from_u64(11);
        let mut missed = Vec::new();
        for (at, title) in titles.iter().enumerate() {
            let typed = slip(title, &mut dice);
            let query = ShowingQuery {
                keyword: Some(typed.clone()),
                fuzzy,
                ..all()
            };
            if !found(&index, &query).contains(&format!("show-{at}")) {
                missed.push((title, typed));
            }
        }
        #[expect(clippy::print_stdout, reason = "the figure is a result of this test")]
        {
            let found = titles.len() - missed.len();
            println!("FIGURE found with one edit: {found} of {}", titles.len());
        }
        assert!(
            missed.len() <= 50,
            "{} of 1,000, {fuzzy:?}: {missed:?}",
            missed.len()
        );
    }
}

#[test]
fn a_keyword_that_matches_a_title_finds_similar_titles_only_if_fuzzy_is_set() {
    let titles = ["Heat", "Heart", "Wheat", "Alien", "Aliens"].map(ToOwned::to_owned);
    let index = one_of_each(&titles);
    let check = |keyword: &str, fuzzy, expected: &[&str], near_only| {
        let query = ShowingQuery {
            keyword: Some(keyword.to_owned()),
            fuzzy,
            ..all()
        };
        let hits = index.search(&query);
        let title = |hit: &ShowingHit| index.showing(hit).film.title.clone();
        let titles: Vec<_> = hits.hits.iter().map(title).collect();
        assert_eq!(
            (titles, hits.near_only),
            (
                expected.iter().map(ToString::to_string).collect(),
                near_only
            ),
            "{keyword} {fuzzy:?}"
        );
    };
    check("heat", None, &["Heat"], false);
    check("heat", Some(true), &["Heat", "Heart", "Wheat"], false);
    check("haet", Some(false), &[], false);
    check("haet", None, &["Heat"], true);
    check("alie", None, &["Alien", "Aliens"], false);
    check("...", None, &[], false);
    check("zzzzzz", None, &[], false);
}

#[test]
fn genre_and_description_are_searched_for_whole_words() {
    let mut programme = places(&[(0, 52.5, 13.4)]);
    let mut one = film(0, "Up");
    one.genre = Some("Science Fiction".to_owned());
    one.description = "A balloon, and a boy.".to_owned();
    programme.films.push(one);
    programme
        .showings
        .push(showing(0, 0, 0, moment("2027-01-01T18:00:00Z"), 900));
    let index = ProgrammeIndex::new(programme);
    for (keyword, expected) in [
        ("balloon", 1),
        ("science boy", 1),
        ("ballon", 0),
        ("fict", 0),
    ] {
        let query = ShowingQuery {
            keyword: Some(keyword.to_owned()),
            ..all()
        };
        assert_eq!(index.search(&query).total, expected, "{keyword}");
    }
}

#[test]
fn a_day_is_counted_in_the_cinemas_time_zone_and_pages_follow_each_other() {
    let mut programme = places(&[(0, 52.5, 13.4), (1, 40.7, -74.0), (2, 31.2, 121.5)]);
    programme.films.push(film(0, "Heat"));
    // At half past eleven at night in New York, it is already the next day in Berlin and in
    // Shanghai.
    let late = moment("2027-01-02T04:30:00Z");
    for hall in 0..3 {
        programme.showings.push(showing(hall, 0, hall, late, 1_000));
    }
    let index = ProgrammeIndex::new(programme);
    let on = |day| ShowingQuery {
        from: Some(MomentOrDay::Day(day)),
        to: Some(MomentOrDay::Day(day)),
        ..all()
    };
    assert_eq!(
        found(&index, &on(jiff::civil::date(2027, 1, 1))),
        ["show-1"]
    );
    assert_eq!(
        found(&index, &on(jiff::civil::date(2027, 1, 2))),
        ["show-0", "show-2"]
    );
    let page = |page| ShowingQuery {
        page,
        per_page: 2,
        ..all()
    };
    assert_eq!(found(&index, &page(1)), ["show-0", "show-1"]);
    assert_eq!(found(&index, &page(2)), ["show-2"]);
    assert_eq!(found(&index, &page(usize::MAX)), [""; 0]);
    assert_eq!(index.search(&page(9)).total, 3);
}

/// Computes the distance in another way, from the straight line through the globe between the
/// points.
fn km_by_chords(a: GeoPoint, b: GeoPoint) -> f64 {
    let direction = |point: GeoPoint| {
        let (lat, lon) = (point.lat.to_radians(), point.lon.to_radians());
        [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]
    };
    let (a, b) = (direction(a), direction(b));
    let chord: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    2.0 * 6_371.008_8 * (chord.sqrt() / 2.0).clamp(0.0, 1.0).asin()
}

/// Applies the filters to one showing after the other, without an index.
fn by_brute_force(programme: &Programme, query: &ShowingQuery) -> Vec<String> {
    let mut found = Vec::new();
    for showing in &programme.showings {
        let hall = programme.halls.iter().find(|hall| hall.id == showing.hall);
        let cinema = hall.and_then(|hall| programme.cinemas.iter().find(|c| c.id == hall.cinema));
        let city = cinema.and_then(|c| programme.cities.iter().find(|city| city.id == c.city));
        let (Some(cinema), Some(city)) = (cinema, city) else {
            continue;
        };
        let zone = TimeZone::get(&city.time_zone).expect("a zone");
        let day = showing.starts_at.to_zoned(zone).date();
        let late_enough = match query.from {
            None => true,
            Some(MomentOrDay::At(moment)) => showing.starts_at >= moment,
            Some(MomentOrDay::Day(first)) => day >= first,
        };
        let early_enough = match query.to {
            None => true,
            Some(MomentOrDay::At(moment)) => showing.starts_at <= moment,
            Some(MomentOrDay::Day(last)) => day <= last,
        };
        let location = GeoPoint {
            lat: cinema.lat,
            lon: cinema.lon,
        };
        let near = match (query.near, query.radius_km) {
            (Some(near), Some(radius_km)) => km_by_chords(location, near) <= radius_km,
            _ => true,
        };
        let fits = |asked: &Option<String>, has: &str| asked.as_ref().is_none_or(|id| id == has);
        if late_enough
            && early_enough
            && near
            && fits(&query.film, &showing.film)
            && fits(&query.city, &city.id)
            && fits(&query.cinema, &cinema.id)
        {
            found.push(showing.show.to_string());
        }
    }
    found.sort();
    found
}

fn some_moment() -> impl Strategy<Value = Option<MomentOrDay>> {
    let at = |half_hour: i64| moment("2027-03-26T00:00:00Z") + (half_hour * 30).minutes();
    prop_oneof![
        1 => Just(None),
        2 => (0_i64..240).prop_map(move |half_hour| Some(MomentOrDay::At(at(half_hour)))),
        2 => (24_i8..=31).prop_map(|day| Some(MomentOrDay::Day(jiff::civil::date(2027, 3, day)))),
    ]
}

proptest! {
    #[test]
    fn filters_find_the_same_showings_as_a_plain_loop_over_all(
        cinemas in proptest::collection::vec((0_usize..3, -90.0_f64..90.0, -180.0_f64..180.0), 1..8),
        // The third number counts half hours from 26 March. Early on 28 March, Berlin's clocks go
        // forward by an hour.
        showings in proptest::collection::vec((0_usize..4, 0_usize..8, 0_i64..240, 0_i64..5), 0..60),
        near in proptest::option::of((-90.0_f64..90.0, -180.0_f64..180.0)),
        radius_km in proptest::option::of(0.0_f64..20_100.0),
        from in some_moment(),
        to in some_moment(),
        film_asked in proptest::option::of(0_usize..4),
        city in proptest::option::of(0_usize..3),
        cinema in proptest::option::of(0_usize..8),
    ) {
        let mut programme = places(&cinemas);
        programme.films = (0..4).map(|id| film(id, "Heat")).collect();
        for (id, (film, hall, half_hour, price)) in showings.into_iter().enumerate() {
            let begins = moment("2027-03-26T00:00:00Z") + (half_hour * 30).minutes();
            programme.showings.push(showing(id, film, hall % cinemas.len(), begins, price));
        }
        let near = near.map(|(lat, lon)| GeoPoint { lat, lon });
        let query = ShowingQuery {
            near,
            radius_km: radius_km.filter(|_| near.is_some()),
            from,
            to,
            film: film_asked.map(|id| format!("film-{id}")),
            city: city.map(|id| format!("city-{id}")),
            cinema: cinema.map(|id| format!("cinema-{id}")),
            ..all()
        };
        let expected = by_brute_force(&programme, &query);
        let index = ProgrammeIndex::new(programme);
        let mut ids = found(&index, &query);
        ids.sort();
        prop_assert_eq!(&ids, &expected);
        for sort in [ShowingSort::Start, ShowingSort::Price, ShowingSort::Distance, ShowingSort::Title, ShowingSort::Match] {
            let hits = index.search(&ShowingQuery { sort, ..query.clone() }).hits;
            prop_assert_eq!(hits.len(), expected.len());
            let key = |hit: &ShowingHit| {
                let on = index.showing(hit);
                let price = on.showing.prices.values().copied().min();
                match sort {
                    ShowingSort::Start | ShowingSort::Title | ShowingSort::Match => (on.showing.starts_at.as_second() as f64, None),
                    ShowingSort::Price => (0.0, price),
                    ShowingSort::Distance => (hit.distance_km.unwrap_or(0.0), None),
                }
            };
            prop_assert!(hits.is_sorted_by(|a, b| key(a) <= key(b)), "{:?}", sort);
        }
    }
}
