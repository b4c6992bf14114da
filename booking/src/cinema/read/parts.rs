//! Reads the parts of a programme one after the other. Checks that each part has all its fields and
//! refers only to ids that exist.

use std::collections::{BTreeMap, HashMap};

use fairgate_model::ids::{ShowId, VenueId, is_slug};
use fairgate_model::money::{AMOUNT_MAX, Currency};
use fairgate_model::plans::quote_value;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::spot::{ProgrammeFaults, ProgrammeObject};
use crate::cinema::{Cinema, City, Film, Hall, Programme, Showing};

/// How many halls one programme may have.
const HALLS_MAX: usize = 20_000;
/// How many showings one programme may have.
const SHOWINGS_MAX: usize = 200_000;
/// How many characters a name, a title, an address or a city's country may have.
const NAME_MAX: usize = 200;
/// How many characters a genre, a language, a version, a rating or a film's country may have.
const SHORT_TEXT_MAX: usize = 100;
/// How many characters a description may have.
const DESCRIPTION_MAX: usize = 5_000;
/// How many characters a hall's slug may have. The limit is low because a showing's slug may
/// consist of the hall's slug and a time.
const HALL_SLUG_MAX: usize = 48;
/// The longest film, in seconds: one day.
const DURATION_S_MAX: i64 = 86_400;

const SLUG: &str =
    "a name of 1 to 64 characters from a-z, 0-9 and \"-\", beginning with a letter or a digit,";

/// Reads the programme. It is complete if no fault was added.
pub fn parse_programme(object: &ProgrammeObject<'_>, faults: &mut ProgrammeFaults) -> Programme {
    object.add_unknown_faults(&["currency", "cities", "films", "showings"], faults);
    let mut programme = Programme::default();
    if let Some(value) = object.get("currency") {
        match value.as_str().and_then(Currency::listed) {
            Some(currency) => programme.currency = currency,
            None => object.add_value_fault(
                "currency",
                "bad_currency",
                value,
                "a currency of ISO 4217, such as EUR",
                faults,
            ),
        }
    }
    let mut seen = FirstIdPaths::default();
    for city in object.list_member("cities", faults) {
        read_city(&city, &mut programme, &mut seen, faults);
    }
    for film in object.list_member("films", faults) {
        read_film(&film, &mut programme, &mut seen, faults);
    }
    let showings = object.list_member("showings", faults);
    for (count, most, path, plural) in [
        (programme.halls.len(), HALLS_MAX, "cities", "halls"),
        (showings.len(), SHOWINGS_MAX, "showings", "showings"),
    ] {
        if count > most {
            faults.add(
                path,
                "too_many",
                format!("There are {count} {plural}; a programme has at most {most}."),
            );
        }
    }
    for showing in showings.iter().take(SHOWINGS_MAX) {
        programme
            .showings
            .extend(read_showing(showing, &mut seen, faults));
    }
    add_overlap_faults(&programme, faults);
    programme
}

/// For each id, the path where it first appears. The fault of a second use names this path. Ids of
/// films and halls with other faults are included. Otherwise a showing that refers to one of them
/// would get a fault for an unknown id.
#[derive(Default)]
struct FirstIdPaths {
    cities: HashMap<String, String>,
    cinemas: HashMap<String, String>,
    halls: HashMap<String, String>,
    films: HashMap<String, String>,
    shows: HashMap<String, String>,
}

/// Reads the `id` of a part. Adds a fault if the id is missing or bad, or if an earlier part of the
/// same kind has this id.
fn read_unused_id(
    object: &ProgrammeObject<'_>,
    chars_max: usize,
    taken: &mut HashMap<String, String>,
    faults: &mut ProgrammeFaults,
) -> Option<String> {
    let Some(value) = object.get("id") else {
        object.add_missing_fault("id", faults);
        return None;
    };
    let Some(id) = value
        .as_str()
        .filter(|id| is_slug(id) && id.len() <= chars_max)
    else {
        let mut expected = format!(
            "a name of 1 to {chars_max} characters from a-z, 0-9 and \"-\", beginning with a letter or a digit,"
        );
        if let Some(bad) = value.as_str().and_then(first_bad_in_slug) {
            expected = format!("{expected} without {bad:?},");
        }
        object.add_value_fault("id", "bad_id", value, &expected, faults);
        return None;
    };
    add_unused_id(id, object.member_path("id"), taken, faults).then(|| id.to_owned())
}

/// Returns the first character that is not allowed in a slug.
fn first_bad_in_slug(id: &str) -> Option<char> {
    let fits = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
    id.chars().find(|char| !fits(*char))
}

fn add_unused_id(
    id: &str,
    at: String,
    taken: &mut HashMap<String, String>,
    faults: &mut ProgrammeFaults,
) -> bool {
    if let Some(first) = taken.get(id) {
        let message = format!("The id \"{id}\" is already that of {first}. Each needs its own.");
        faults.add(at, "duplicate_id", message);
        return false;
    }
    taken.insert(id.to_owned(), at);
    true
}

fn read_city(
    object: &ProgrammeObject<'_>,
    programme: &mut Programme,
    seen: &mut FirstIdPaths,
    faults: &mut ProgrammeFaults,
) {
    object.add_unknown_faults(&["id", "name", "country", "time_zone", "cinemas"], faults);
    let id = read_unused_id(object, 64, &mut seen.cities, faults);
    let name = object.text_member("name", NAME_MAX, faults);
    let country = object.optional_text_member("country", NAME_MAX, faults);
    let time_zone = match object.get("time_zone") {
        None => Some("UTC".to_owned()),
        Some(value) => {
            let known = value.as_str().filter(|name| TimeZone::get(name).is_ok());
            if known.is_none() {
                let expected = "the name of a time zone, such as \"Europe/Berlin\",";
                object.add_value_fault("time_zone", "bad_time_zone", value, expected, faults);
            }
            known.map(ToOwned::to_owned)
        }
    };
    for cinema in object.list_member("cinemas", faults) {
        read_cinema(&cinema, id.as_deref(), programme, seen, faults);
    }
    if let (Some(id), Some(name), Some(time_zone)) = (id, name, time_zone) {
        programme.cities.push(City {
            id,
            name,
            country,
            time_zone,
        });
    }
}

fn read_cinema(
    object: &ProgrammeObject<'_>,
    city: Option<&str>,
    programme: &mut Programme,
    seen: &mut FirstIdPaths,
    faults: &mut ProgrammeFaults,
) {
    let fields = [
        "id",
        "name",
        "address",
        "postal_code",
        "lat",
        "lon",
        "halls",
    ];
    object.add_unknown_faults(&fields, faults);
    let id = read_unused_id(object, 64, &mut seen.cinemas, faults);
    let name = object.text_member("name", NAME_MAX, faults);
    let address = object.text_member("address", NAME_MAX, faults);
    let postal_code = object.text_member("postal_code", 20, faults);
    let lat = object.number_member("lat", -90.0..=90.0, faults);
    let lon = object.number_member("lon", -180.0..=180.0, faults);
    for hall in object.list_member("halls", faults) {
        let read = read_hall(&hall, id.as_deref(), seen, faults);
        programme.halls.extend(read);
    }
    let required = (id, city, name, address, postal_code, lat, lon);
    if let (
        Some(id),
        Some(city),
        Some(name),
        Some(address),
        Some(postal_code),
        Some(lat),
        Some(lon),
    ) = required
    {
        programme.cinemas.push(Cinema {
            id,
            city: city.to_owned(),
            name,
            address,
            postal_code,
            lat,
            lon,
        });
    }
}

fn read_hall(
    object: &ProgrammeObject<'_>,
    cinema: Option<&str>,
    seen: &mut FirstIdPaths,
    faults: &mut ProgrammeFaults,
) -> Option<Hall> {
    object.add_unknown_faults(&["id", "name", "plan", "focal_depth"], faults);
    let id = read_unused_id(object, HALL_SLUG_MAX, &mut seen.halls, faults);
    let name = object.text_member("name", NAME_MAX, faults);
    let plan = object.optional_text_member("plan", 4_096, faults);
    let focal_depth = object.get("focal_depth");
    let focal_depth =
        focal_depth.and_then(|_| object.number_member("focal_depth", 0.0..=1.0, faults));
    if plan.is_none() && focal_depth.is_some() {
        let message = "The programme gives this hall no plan, so the hall's present plan \
                       keeps its own focal point. Give the hall a plan, or leave this field out.";
        faults.add(object.member_path("focal_depth"), "no_plan", message);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a share needs few digits")]
    let focal_depth = focal_depth.map(|depth| depth as f32);
    Some(Hall {
        id: id?.parse::<VenueId>().ok()?,
        cinema: cinema?.to_owned(),
        name: name?,
        plan,
        focal_depth,
        at: object.at.clone(),
    })
}

fn read_film(
    object: &ProgrammeObject<'_>,
    programme: &mut Programme,
    seen: &mut FirstIdPaths,
    faults: &mut ProgrammeFaults,
) {
    let fields = [
        "id",
        "title",
        "description",
        "duration_s",
        "genre",
        "language",
        "version",
        "rating",
        "release_date",
        "country",
    ];
    object.add_unknown_faults(&fields, faults);
    let id = read_unused_id(object, 64, &mut seen.films, faults);
    let title = object.text_member("title", NAME_MAX, faults);
    let duration_s = object.integer_member("duration_s", 1..=DURATION_S_MAX, faults);
    let description = object.optional_text_member("description", DESCRIPTION_MAX, faults);
    let release_date = object
        .get_unless_blank("release_date", faults)
        .and_then(|_| {
            let expected = "a day, such as \"2026-11-20\",";
            object.parsed_member("release_date", "bad_date", expected, faults)
        });
    let [genre, language, version, country] = ["genre", "language", "version", "country"]
        .map(|name| object.optional_text_member(name, SHORT_TEXT_MAX, faults));
    let rating = rating(object, faults);
    if let (Some(id), Some(title), Some(duration_s)) = (id, title, duration_s) {
        programme.films.push(Film {
            id,
            title,
            description: description.unwrap_or_default(),
            duration_s: u32::try_from(duration_s).unwrap_or(u32::MAX),
            genre,
            language,
            version,
            rating,
            release_date,
            country,
        });
    }
}

/// Reads an age rating. In many programmes it is a number.
fn rating(object: &ProgrammeObject<'_>, faults: &mut ProgrammeFaults) -> Option<String> {
    match object.get("rating") {
        Some(Value::Number(age)) => Some(age.to_string()),
        _ => object.optional_text_member("rating", SHORT_TEXT_MAX, faults),
    }
}

fn read_showing(
    object: &ProgrammeObject<'_>,
    seen: &mut FirstIdPaths,
    faults: &mut ProgrammeFaults,
) -> Option<Showing> {
    let fields = [
        "id",
        "film",
        "hall",
        "starts_at",
        "language",
        "version",
        "rating",
        "prices",
    ];
    object.add_unknown_faults(&fields, faults);
    let film: Option<String> = object.text_member("film", 64, faults);
    let hall: Option<String> = object.text_member("hall", 64, faults);
    for (name, id_text, known) in [("film", &film, &seen.films), ("hall", &hall, &seen.halls)] {
        if let Some(id_text) = id_text
            && !known.contains_key(id_text)
        {
            let code = if name == "film" {
                "unknown_film"
            } else {
                "unknown_hall"
            };
            let message =
                format!("There is no {name} with the id \"{id_text}\" in this programme.");
            faults.add(object.member_path(name), code, message);
        }
    }
    let expected = "a moment with its offset, such as \"2026-12-01T20:15:00+01:00\",";
    let starts_at: Option<Timestamp> =
        object.parsed_member("starts_at", "bad_time", expected, faults);
    let [language, version] = ["language", "version"]
        .map(|name| object.optional_text_member(name, SHORT_TEXT_MAX, faults));
    let rating = rating(object, faults);
    let prices = read_prices(object, faults);
    let id = match (object.get("id"), &hall, starts_at) {
        (Some(_), ..) => object.parsed_member::<ShowId>("id", "bad_id", SLUG, faults),
        (None, Some(hall), Some(starts_at)) => default_show_id(hall, starts_at),
        (None, ..) => None,
    };
    let id = id.filter(|id| add_unused_id(id.as_str(), object.at.clone(), &mut seen.shows, faults));
    Some(Showing {
        show: id?,
        listed_as: None,
        has_own_id: object.get("id").is_some(),
        film: film?,
        hall: hall?.parse().ok()?,
        starts_at: starts_at?,
        language,
        version,
        rating,
        prices: prices?,
        at: object.at.clone(),
    })
}

/// Makes an id for a showing without one, from its hall and its beginning in UTC. A hall shows one
/// film at a time, so ids differ if the showings begin in different minutes.
fn default_show_id(hall: &str, starts_at: Timestamp) -> Option<ShowId> {
    let time = starts_at.strftime("%Y%m%dt%H%M");
    format!("{hall}-{time}").parse().ok()
}

fn read_prices(
    object: &ProgrammeObject<'_>,
    faults: &mut ProgrammeFaults,
) -> Option<BTreeMap<String, i64>> {
    let Some(value) = object.get("prices") else {
        object.add_missing_fault("prices", faults);
        return None;
    };
    let expected = "an object of minor units by category";
    let Value::Object(amounts) = value else {
        object.add_value_fault("prices", "bad_object", value, expected, faults);
        return None;
    };
    let mut prices = BTreeMap::new();
    for (category, amount) in amounts {
        match amount
            .as_i64()
            .filter(|amount| (0..=AMOUNT_MAX).contains(amount))
        {
            Some(amount) => {
                prices.insert(category.clone(), amount);
            }
            None => {
                let short: String = category.chars().take(80).collect();
                let message = format!(
                    "This is {} where a whole number of minor units from 0 to {AMOUNT_MAX} is expected.",
                    quote_value(amount)
                );
                faults.add(
                    format!("{}.{short}", object.member_path("prices")),
                    "bad_price",
                    message,
                );
            }
        }
    }
    Some(prices)
}

fn add_overlap_faults(programme: &Programme, faults: &mut ProgrammeFaults) {
    let durations: HashMap<&str, u32> = programme
        .films
        .iter()
        .map(|film| (film.id.as_str(), film.duration_s))
        .collect();
    let mut by_hall: BTreeMap<&VenueId, Vec<&Showing>> = BTreeMap::new();
    for showing in &programme.showings {
        by_hall.entry(&showing.hall).or_default().push(showing);
    }
    for showings in by_hall.values_mut() {
        showings.sort_by_key(|showing| showing.starts_at);
        for pair in showings.windows(2) {
            let [first, next] = pair else { continue };
            let duration_s = durations.get(first.film.as_str()).copied().unwrap_or(0);
            let gap_s = next.starts_at.as_second() - first.starts_at.as_second();
            if gap_s < i64::from(duration_s) {
                let message = format!(
                    "The hall \"{}\" still shows \"{}\" of {}, which lasts {duration_s} s.",
                    next.hall, first.film, first.at
                );
                faults.add(format!("{}.starts_at", next.at), "hall_busy", message);
            }
        }
    }
}
