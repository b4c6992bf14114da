//! Reads the parameters of a search: each is checked, and the first that is wrong is named.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;

use super::search::{Moment, Point, Query, Sort};
use fairgate_model::ids::is_slug;

/// Showings of a page, where nobody says how many.
const PER_PAGE: usize = 20;
/// Showings of a page, at most.
const PER_PAGE_MAX: usize = 30;
/// Characters of a keyword.
const KEYWORD_CHARS_MAX: usize = 100;
/// Half of the globe: whatever is on it is nearer.
const RADIUS_KM_MAX: f64 = 20_100.0;

/// `GET /v1/cinema/showings?…`; an empty parameter is one that was not given.
#[derive(Debug, Clone, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Words of the title, whole or begun, or words of genre and description; 1 to 100 characters.
    keyword: String,
    /// A film's id.
    film: String,
    /// A cinema's id.
    cinema: String,
    /// A city's id.
    city: String,
    /// Degrees north; needs `lon`.
    lat: String,
    /// Degrees east; needs `lat`.
    lon: String,
    /// Kilometres from there, at most.
    radius_km: String,
    /// Showings that begin at or after this moment, or on or after this day where the cinema is.
    /// Without it: now.
    from: String,
    /// Showings that begin at or before this moment, or on or before this day where the cinema is.
    to: String,
    /// The cinema's postal code.
    postal_code: String,
    /// `true`: titles near the keyword are found, too; `false`: they are not; without it: where no
    /// title is the keyword.
    fuzzy: String,
    /// `start`, `distance` (needs `lat` and `lon`), `price` or `title`; without it by start.
    sort: String,
    /// From 1.
    page: String,
    /// 1 to 30; without it 20.
    per_page: String,
}

/// A parameter that is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadParam {
    /// Its name.
    pub field: &'static str,
    /// In words.
    pub detail: String,
}

type Checked<T> = Result<T, BadParam>;

/// What is asked for. `now` is where a search without a beginning begins.
///
/// # Errors
/// The first parameter that is wrong.
pub fn read(params: &Params, now: Timestamp) -> Checked<Query> {
    let lat = number("lat", &params.lat, -90.0, 90.0)?;
    let lon = number("lon", &params.lon, -180.0, 180.0)?;
    let near = match (lat, lon) {
        (Some(lat), Some(lon)) => Some(Point { lat, lon }),
        (None, None) => None,
        (Some(_), None) => return Err(bad("lon", "lat says how far north; lon is needed, too")),
        (None, Some(_)) => return Err(bad("lat", "lon says how far east; lat is needed, too")),
    };
    let radius_km = number("radius_km", &params.radius_km, 0.0, RADIUS_KM_MAX)?;
    if radius_km.is_some() && near.is_none() {
        return Err(bad(
            "radius_km",
            "a radius needs lat and lon to be measured from",
        ));
    }
    let sort = sort(&params.sort)?;
    if sort == Sort::Distance && near.is_none() {
        return Err(bad(
            "sort",
            "an order by distance needs lat and lon to be measured from",
        ));
    }
    let from = moment("from", &params.from)?.unwrap_or(Moment::At(now));
    Ok(Query {
        keyword: keyword(&params.keyword)?,
        fuzzy: fuzzy(&params.fuzzy)?,
        film: slug("film", &params.film)?,
        cinema: slug("cinema", &params.cinema)?,
        city: slug("city", &params.city)?,
        near,
        radius_km,
        from: Some(from),
        to: moment("to", &params.to)?,
        postal_code: given(&params.postal_code).map(ToOwned::to_owned),
        sort,
        page: count("page", &params.page, usize::MAX)?.unwrap_or(1),
        per_page: count("per_page", &params.per_page, PER_PAGE_MAX)?.unwrap_or(PER_PAGE),
    })
}

fn bad(field: &'static str, what: &str) -> BadParam {
    BadParam {
        field,
        detail: format!("{field}: {what}."),
    }
}

/// A value that is not what is expected, quoted in short.
fn wrong(field: &'static str, value: &str, expected: &str) -> BadParam {
    let shown: String = value.chars().take(40).collect();
    bad(field, &format!("\"{shown}\" is not {expected}"))
}

fn given(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

fn keyword(text: &str) -> Checked<Option<String>> {
    let Some(keyword) = given(text) else {
        return Ok(None);
    };
    let good = keyword.chars().count() <= KEYWORD_CHARS_MAX && !keyword.contains(char::is_control);
    if good {
        return Ok(Some(keyword.to_owned()));
    }
    let expected = format!("1 to {KEYWORD_CHARS_MAX} printable characters");
    Err(wrong("keyword", keyword, &expected))
}

fn slug(field: &'static str, text: &str) -> Checked<Option<String>> {
    let Some(id) = given(text) else {
        return Ok(None);
    };
    if is_slug(id) {
        return Ok(Some(id.to_owned()));
    }
    Err(wrong(field, id, "an id: 1 to 64 of a-z, 0-9 and \"-\""))
}

fn number(field: &'static str, text: &str, least: f64, most: f64) -> Checked<Option<f64>> {
    let Some(text) = given(text) else {
        return Ok(None);
    };
    let number = text
        .parse()
        .ok()
        .filter(|number: &f64| (least..=most).contains(number));
    let expected = format!("a number from {least} to {most}");
    number
        .map(Some)
        .ok_or_else(|| wrong(field, text, &expected))
}

fn count(field: &'static str, text: &str, most: usize) -> Checked<Option<usize>> {
    let Some(text) = given(text) else {
        return Ok(None);
    };
    let count = text.parse().ok().filter(|count| (1..=most).contains(count));
    let expected = match most {
        usize::MAX => "a whole number from 1".to_owned(),
        most => format!("a whole number from 1 to {most}"),
    };
    count.map(Some).ok_or_else(|| wrong(field, text, &expected))
}

fn moment(field: &'static str, text: &str) -> Checked<Option<Moment>> {
    let Some(text) = given(text) else {
        return Ok(None);
    };
    if let Ok(moment) = text.parse() {
        return Ok(Some(Moment::At(moment)));
    }
    // A date's parser would leave out a time without an offset.
    let day = (text.len() == 10)
        .then(|| text.parse::<Date>().ok())
        .flatten();
    let expected = "a day (2027-06-01) or a moment (2027-06-01T20:00:00Z)";
    day.map(|day| Some(Moment::Day(day)))
        .ok_or_else(|| wrong(field, text, expected))
}

fn fuzzy(text: &str) -> Checked<Option<bool>> {
    match given(text) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(other) => Err(wrong("fuzzy", other, "true or false")),
    }
}

fn sort(text: &str) -> Checked<Sort> {
    match given(text) {
        None | Some("start") => Ok(Sort::Start),
        Some("distance") => Ok(Sort::Distance),
        Some("price") => Ok(Sort::Price),
        Some("title") => Ok(Sort::Title),
        Some(other) => Err(wrong("sort", other, "start, distance, price or title")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_parameter_is_checked_and_named() {
        let now = Timestamp::UNIX_EPOCH;
        let empty = Params::default();
        let query = read(&empty, now).expect("nothing is asked");
        assert_eq!(
            (query.page, query.per_page, query.from),
            (1, 20, Some(Moment::At(now)))
        );
        type Set = fn(&mut Params);
        let with = |set: Set| {
            let mut params = Params::default();
            set(&mut params);
            read(&params, now).map_err(|bad| bad.field)
        };
        let bad: [(&str, Set); 16] = [
            ("keyword", |p| p.keyword = "x".repeat(101)),
            ("film", |p| p.film = "A Film".into()),
            ("cinema", |p| p.cinema = "ä".into()),
            ("city", |p| p.city = "-".into()),
            ("lat", |p| (p.lat, p.lon) = ("90.1".into(), "0".into())),
            ("lon", |p| (p.lat, p.lon) = ("9".into(), "NaN".into())),
            ("lon", |p| p.lat = "9".into()),
            ("lat", |p| p.lon = "9".into()),
            ("radius_km", |p| p.radius_km = "5".into()),
            ("from", |p| p.from = "2027-06-01T20:00".into()),
            ("to", |p| p.to = "2027-02-30".into()),
            ("fuzzy", |p| p.fuzzy = "1".into()),
            ("sort", |p| p.sort = "distance".into()),
            ("sort", |p| p.sort = "best".into()),
            ("page", |p| p.page = "0".into()),
            ("per_page", |p| p.per_page = "31".into()),
        ];
        for (field, set) in bad {
            assert_eq!(with(set).expect_err("it is wrong"), field);
        }
        let day = with(|p| p.to = "2027-06-01".into()).expect("a day is good");
        assert_eq!(day.to, Some(Moment::Day(jiff::civil::date(2027, 6, 1))));
    }
}
