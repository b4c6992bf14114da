//! Makes the data of the bench: a cinema programme of any size, and on-sales beside it. The same
//! size always gives the same data.

use jiff::ToSpan;
use jiff::civil::{Date, date};
use serde_json::{Value, json};

/// The number of halls in a cinema, and of cinemas in a city.
const HALLS_OF: usize = 5;
const CINEMAS_OF: usize = 5;
/// The number of halls.
const HALLS: usize = 500;
/// The number of showings in a hall each day, three hours apart.
const SHOWINGS_A_DAY: usize = 5;
/// The first day of the programme.
const FIRST_DAY: Date = date(2098, 1, 10);
/// The words of the titles.
const WORDS: [&str; 16] = [
    "Canal", "Bridge", "Meadow", "Autumn", "Glass", "Vineyard", "Dawn", "Postcard", "Spring",
    "Attic", "Valley", "Ferry", "Harvest", "Beacon", "Market", "Thunder",
];

/// Returns two words that some titles contain. Each `n` up to 256 gives other words.
pub fn title(n: usize) -> String {
    let (first, second) = (n % WORDS.len(), n / WORDS.len() % WORDS.len());
    format!("{} {}", WORDS[first], WORDS[second])
}

/// Returns the day of the programme that is `n` days after the first.
pub fn day(n: usize) -> Date {
    let days = i64::try_from(n).unwrap_or(0).days();
    FIRST_DAY.saturating_add(days)
}

/// Makes a programme of this many showings.
pub fn programme(showings: usize) -> Value {
    let films: Vec<Value> = (0..WORDS.len() * WORDS.len()).map(film).collect();
    let cinemas = (0..HALLS / HALLS_OF).map(cinema).collect::<Vec<_>>();
    let cities: Vec<Value> = cinemas
        .chunks(CINEMAS_OF)
        .enumerate()
        .map(|(city, cinemas)| {
            json!({"id": format!("city-{city}"), "name": format!("City {city}"),
                "time_zone": "Europe/Paris", "cinemas": cinemas})
        })
        .collect();
    let showings: Vec<Value> = (0..showings).map(|at| showing(at, films.len())).collect();
    json!({"cities": cities, "films": films, "showings": showings})
}

fn film(at: usize) -> Value {
    let title = title(at);
    json!({
        "id": format!("film-{at}"), "title": title, "description": format!("{title}, a film."),
        "duration_s": 6_000, "genre": "Drama", "language": "fr", "release_date": "2097-12-24",
        "country": "FR",
    })
}

fn cinema(at: usize) -> Value {
    let spread = |of: usize, over: f64| (of * 37 % 101) as f64 / 101.0 * over - over / 2.0;
    let hall = |hall: usize| {
        let id = at * HALLS_OF + hall;
        let plan = format!("grid:{}x{}", 8 + id % 6, 12 + id % 9);
        json!({"id": format!("hall-{id}"), "name": format!("Hall {}", hall + 1), "plan": plan})
    };
    json!({
        "id": format!("cinema-{at}"), "name": format!("Cinema {at}"), "address": format!("Street {at}"),
        "postal_code": format!("{:05}", 10_000 + at), "lat": spread(at, 100.0),
        "lon": spread(at + 50, 300.0), "halls": (0..HALLS_OF).map(hall).collect::<Vec<_>>(),
    })
}

fn showing(at: usize, films: usize) -> Value {
    let (hall, nth) = (at % HALLS, at / HALLS);
    let (day, hour) = (day(nth / SHOWINGS_A_DAY), 9 + 3 * (nth % SHOWINGS_A_DAY));
    json!({
        "id": format!("showing-{at}"), "film": format!("film-{}", (at * 7 + nth) % films),
        "hall": format!("hall-{hall}"), "starts_at": format!("{day}T{hour:02}:00:00Z"),
        "prices": {"cat1": 1_200, "cat2": 900},
    })
}

/// Returns the documents of a show and of the room that sells it.
pub fn on_sale(n: usize) -> (Value, Value) {
    let title = format!("{}, live", title(n * 5));
    let starts_at = format!("{}T20:00:00Z", day(n));
    let show = json!({
        "venue": "arena", "title": title, "starts_at": starts_at, "currency": "EUR",
        "prices": {"cat1": 9_900, "cat2": 4_900},
    });
    let room = json!({
        "title": title, "shows": [format!("live-{n}")], "opens_at": "2026-01-01T00:00:00Z",
        "draw_at": "2097-01-01T00:00:00Z", "closes_at": "2098-12-01T00:00:00Z",
    });
    (show, room)
}
