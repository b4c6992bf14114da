//! Prints a cinema programme of any size, for measuring imports and searches. The same arguments
//! always give the same programme.
//!
//! `programme HALLS SHOWINGS FROM_DAY`, such as `programme 500 15000 2027-01-10`, prints the
//! programme. `programme import HALLS SHOWINGS FROM_DAY` imports it into a new ledger instead, and
//! prints how long the import took. The exit code is 1 if the import took ten seconds or more.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use booking::choices::ImportDecisions;
use booking::commands::import_programme::import_programme;
use fairgate_base::config::StoreSettings;
use fairgate_model::payments::kind::ProviderKind;
use jiff::ToSpan;
use jiff::civil::Date;
use serde_json::{Value, json};

/// The import must take less time than this.
const IMPORT_MAX: Duration = Duration::from_secs(10);
/// The number of halls in a cinema.
const HALLS_OF: usize = 5;
/// The number of cinemas in a city.
const CINEMAS_OF: usize = 5;
/// The number of showings in a hall each day, three hours apart.
const SHOWINGS_A_DAY: usize = 5;
const WORDS: [&str; 16] = [
    "Harbour",
    "River",
    "Garden",
    "Winter",
    "Paper",
    "Orchard",
    "Night",
    "Letter",
    "Summer",
    "Kitchen",
    "Mountain",
    "Train",
    "Island",
    "Lighthouse",
    "Station",
    "Weather",
];

#[expect(clippy::print_stdout, reason = "the programme is what it is for")]
#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (imports, size) = match &arguments[..] {
        [first, size @ ..] if first == "import" => (true, size),
        size => (false, size),
    };
    let [halls, showings, from] = size else {
        return Err("programme [import] HALLS SHOWINGS FROM_DAY".into());
    };
    let programme = programme(halls.parse()?, showings.parse()?, from.parse()?)?;
    if !imports {
        println!("{programme}");
        return Ok(ExitCode::SUCCESS);
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("programme.json");
    std::fs::write(&file, programme.to_string())?;
    let begun = Instant::now();
    let changed = import_programme(
        &file,
        &StoreSettings::default(),
        &folder.path().join("data"),
        ProviderKind::None,
        &ImportDecisions::default(),
    )
    .await?;
    let took = begun.elapsed();
    let figures = json!({"trial": "import", "halls": changed.halls, "showings": changed.new_showings, "took_s": took.as_secs_f64()});
    println!("{figures}");
    Ok(ExitCode::from(u8::from(took >= IMPORT_MAX)))
}

fn programme(halls: usize, showings: usize, from: Date) -> Result<Value, jiff::Error> {
    let films: Vec<Value> = (0..WORDS.len() * WORDS.len()).map(film).collect();
    let mut cities: BTreeMap<usize, BTreeMap<usize, Vec<Value>>> = BTreeMap::new();
    for hall in 0..halls {
        let cinema = hall / HALLS_OF;
        let plan = format!("grid:{}x{}", 8 + hall % 6, 12 + hall % 9);
        let hall = json!({"id": format!("hall-{hall}"), "name": format!("Hall {}", hall % HALLS_OF + 1), "plan": plan});
        let of_city = cities.entry(cinema / CINEMAS_OF).or_default();
        of_city.entry(cinema).or_default().push(hall);
    }
    let mut shown = Vec::with_capacity(showings);
    for at in 0..showings {
        let (hall, nth) = (at % halls, at / halls);
        let (day, slot) = (nth / SHOWINGS_A_DAY, nth % SHOWINGS_A_DAY);
        let day = from.checked_add(i64::try_from(day).unwrap_or(i64::MAX).days())?;
        shown.push(json!({
            "film": format!("film-{}", (at * 7 + nth) % films.len()), "hall": format!("hall-{hall}"),
            "starts_at": format!("{day}T{:02}:00:00Z", 9 + 3 * slot), "prices": {"cat1": 1_200, "cat2": 900},
        }));
    }
    let cities: Vec<Value> = cities
        .iter()
        .map(|(city, cinemas)| place(*city, cinemas))
        .collect();
    Ok(json!({"cities": cities, "films": films, "showings": shown}))
}

fn film(at: usize) -> Value {
    let title = format!("{} {}", WORDS[at % WORDS.len()], WORDS[at / WORDS.len()]);
    json!({
        "id": format!("film-{at}"), "title": title, "description": format!("{title}, a film."), "duration_s": 6_000,
        "genre": "Drama", "language": "en", "release_date": "2026-12-24", "country": "IE",
    })
}

fn place(city: usize, cinemas: &BTreeMap<usize, Vec<Value>>) -> Value {
    // Cities are spread over the globe. The cinemas of a city are some kilometres apart.
    let spread = |of: usize, over: f64| (of * 37 % 101) as f64 / 101.0 * over - over / 2.0;
    let cinema = |(at, halls): (&usize, &Vec<Value>)| {
        json!({
            "id": format!("cinema-{at}"), "name": format!("Cinema {at}"), "address": format!("Street {at}"),
            "postal_code": format!("{:05}", 10_000 + at), "lat": spread(city, 120.0) + spread(*at, 0.4),
            "lon": spread(city + 50, 340.0) + spread(*at + 31, 0.4), "halls": halls,
        })
    };
    let cinemas: Vec<Value> = cinemas.iter().map(cinema).collect();
    json!({"id": format!("city-{city}"), "name": format!("City {city}"), "time_zone": "UTC", "cinemas": cinemas})
}
