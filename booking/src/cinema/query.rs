//! Reads and checks the parameters of a search. The first wrong parameter is reported.

use fairgate_base::day::parse_day;
use fairgate_model::ids::is_slug;
use jiff::Timestamp;
use serde::Deserialize;

use super::search::{GeoPoint, MomentOrDay, ShowingQuery, ShowingSort};

/// How many showings a page has by default.
const PER_PAGE: usize = 20;
/// How many showings a page may have, at most.
const PER_PAGE_MAX: usize = 30;
/// How many characters a keyword may have, at most.
const KEYWORD_CHARS_MAX: usize = 100;
/// The largest radius, in kilometres. It is a little more than half of the earth's circumference,
/// so it covers the whole globe.
const RADIUS_KM_MAX: f64 = 20_100.0;

/// The parameters of `GET /v1/cinema/showings`. An empty parameter counts as not given.
#[derive(Debug, Clone, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct ShowingParams {
    /// The words to look for, 1 to 100 characters. In titles, the beginning of a word is enough. In
    /// genres and descriptions, only whole words match.
    keyword: String,
    /// A film's id.
    film: String,
    /// A cinema's id.
    cinema: String,
    /// A city's id.
    city: String,
    /// Degrees north. Needs `lon`.
    lat: String,
    /// Degrees east. Needs `lat`.
    lon: String,
    /// The largest distance from that point, in kilometres. Needs `lat` and `lon`.
    radius_km: String,
    /// The earliest beginning: a moment, or a day in the cinema's time zone. The default is now.
    from: String,
    /// The latest beginning: a moment, or a day in the cinema's time zone.
    to: String,
    /// The cinema's postal code.
    postal_code: String,
    /// Whether titles that are only similar to the keyword are also found: `true` or `false`.
    /// Without it, the most similar titles are found only if no title matches the keyword exactly.
    fuzzy: String,
    /// `start`, `distance` (needs `lat` and `lon`), `price` or `title`. Without it, the best
    /// matches of the keyword come first. Equal matches, and results without a keyword, are sorted
    /// by beginning.
    sort: String,
    /// The number of the page, from 1.
    page: String,
    /// How many showings a page has, from 1 to 30. The default is 20.
    per_page: String,
}

/// A wrong parameter, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadParam {
    /// The parameter's name.
    pub field: &'static str,
    /// What would be right, in words.
    pub detail: String,
}

type ParamResult<T> = Result<T, BadParam>;

/// Reads the parameters of a search. A search without `from` finds showings that begin at `now` or
/// later.
///
/// # Errors
/// Returns the first wrong parameter.
pub fn read(params: &ShowingParams, now: Timestamp) -> ParamResult<ShowingQuery> {
    let lat = number_param("lat", &params.lat, -90.0, 90.0)?;
    let lon = number_param("lon", &params.lon, -180.0, 180.0)?;
    let near = match (lat, lon) {
        (Some(lat), Some(lon)) => Some(GeoPoint { lat, lon }),
        (None, None) => None,
        (Some(_), None) => {
            return Err(bad_param(
                "lon",
                "lat says how far north; lon is needed, too",
            ));
        }
        (None, Some(_)) => {
            return Err(bad_param(
                "lat",
                "lon says how far east; lat is needed, too",
            ));
        }
    };
    let radius_km = number_param("radius_km", &params.radius_km, 0.0, RADIUS_KM_MAX)?;
    if radius_km.is_some() && near.is_none() {
        return Err(bad_param(
            "radius_km",
            "a radius needs lat and lon to be measured from",
        ));
    }
    let keyword = keyword(&params.keyword)?;
    let default_sort = match keyword {
        Some(_) => ShowingSort::Match,
        None => ShowingSort::Start,
    };
    let sort = sort_param(&params.sort)?.unwrap_or(default_sort);
    if sort == ShowingSort::Distance && near.is_none() {
        return Err(bad_param(
            "sort",
            "an order by distance needs lat and lon to be measured from",
        ));
    }
    let from = moment_param("from", &params.from)?.unwrap_or(MomentOrDay::At(now));
    Ok(ShowingQuery {
        keyword,
        fuzzy: fuzzy(&params.fuzzy)?,
        film: slug_param("film", &params.film)?,
        cinema: slug_param("cinema", &params.cinema)?,
        city: slug_param("city", &params.city)?,
        near,
        radius_km,
        from: Some(from),
        to: moment_param("to", &params.to)?,
        postal_code: non_empty_text(&params.postal_code).map(ToOwned::to_owned),
        sort,
        page: count_param("page", &params.page, usize::MAX)?.unwrap_or(1),
        per_page: count_param("per_page", &params.per_page, PER_PAGE_MAX)?.unwrap_or(PER_PAGE),
    })
}

fn bad_param(field: &'static str, expected: &str) -> BadParam {
    BadParam {
        field,
        detail: format!("{field}: {expected}."),
    }
}

/// Makes the error for a value of the wrong kind. It quotes the beginning of the value.
fn unexpected_value(field: &'static str, value: &str, expected: &str) -> BadParam {
    let shown: String = value.chars().take(40).collect();
    bad_param(field, &format!("\"{shown}\" is not {expected}"))
}

fn non_empty_text(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

fn keyword(text: &str) -> ParamResult<Option<String>> {
    let Some(keyword) = non_empty_text(text) else {
        return Ok(None);
    };
    let is_valid =
        keyword.chars().count() <= KEYWORD_CHARS_MAX && !keyword.contains(char::is_control);
    if is_valid {
        return Ok(Some(keyword.to_owned()));
    }
    let expected = format!("1 to {KEYWORD_CHARS_MAX} printable characters");
    Err(unexpected_value("keyword", keyword, &expected))
}

fn slug_param(field: &'static str, text: &str) -> ParamResult<Option<String>> {
    let Some(id) = non_empty_text(text) else {
        return Ok(None);
    };
    if is_slug(id) {
        return Ok(Some(id.to_owned()));
    }
    Err(unexpected_value(
        field,
        id,
        "an id: 1 to 64 characters from a-z, 0-9 and \"-\"",
    ))
}

fn number_param(
    field: &'static str,
    text: &str,
    least: f64,
    most: f64,
) -> ParamResult<Option<f64>> {
    let Some(text) = non_empty_text(text) else {
        return Ok(None);
    };
    let number = text
        .parse()
        .ok()
        .filter(|number: &f64| (least..=most).contains(number));
    let expected = format!("a number from {least} to {most}");
    number
        .map(Some)
        .ok_or_else(|| unexpected_value(field, text, &expected))
}

fn count_param(field: &'static str, text: &str, most: usize) -> ParamResult<Option<usize>> {
    let Some(text) = non_empty_text(text) else {
        return Ok(None);
    };
    let count = text.parse().ok().filter(|count| (1..=most).contains(count));
    let expected = match most {
        usize::MAX => "a whole number from 1".to_owned(),
        most => format!("a whole number from 1 to {most}"),
    };
    count
        .map(Some)
        .ok_or_else(|| unexpected_value(field, text, &expected))
}

fn moment_param(field: &'static str, text: &str) -> ParamResult<Option<MomentOrDay>> {
    let Some(text) = non_empty_text(text) else {
        return Ok(None);
    };
    if let Ok(moment) = text.parse() {
        return Ok(Some(MomentOrDay::At(moment)));
    }
    let expected = "a day (2027-06-01) or a moment (2027-06-01T20:00:00Z)";
    parse_day(text)
        .map(|day| Some(MomentOrDay::Day(day)))
        .ok_or_else(|| unexpected_value(field, text, expected))
}

fn fuzzy(text: &str) -> ParamResult<Option<bool>> {
    match non_empty_text(text) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(other) => Err(unexpected_value("fuzzy", other, "true or false")),
    }
}

fn sort_param(text: &str) -> ParamResult<Option<ShowingSort>> {
    match non_empty_text(text) {
        None => Ok(None),
        Some("start") => Ok(Some(ShowingSort::Start)),
        Some("distance") => Ok(Some(ShowingSort::Distance)),
        Some("price") => Ok(Some(ShowingSort::Price)),
        Some("title") => Ok(Some(ShowingSort::Title)),
        Some(other) => Err(unexpected_value(
            "sort",
            other,
            "start, distance, price or title",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_parameter_is_refused_by_its_name() {
        let now = Timestamp::UNIX_EPOCH;
        let empty = ShowingParams::default();
        let query = read(&empty, now).expect("no parameter is wrong");
        assert_eq!(
            (query.page, query.per_page, query.from),
            (1, 20, Some(MomentOrDay::At(now)))
        );
        type Set = fn(&mut ShowingParams);
        let with = |set: Set| {
            let mut params = ShowingParams::default();
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
            assert_eq!(with(set).expect_err("the parameter is wrong"), field);
        }
        let day = with(|p| p.to = "2027-06-01".into()).expect("a day is valid");
        let sort = |sort: &str, keyword: &str| {
            let (sort, keyword) = (sort.to_owned(), keyword.to_owned());
            let params = ShowingParams {
                sort,
                keyword,
                ..ShowingParams::default()
            };
            read(&params, now).map(|query| query.sort)
        };
        assert_eq!(sort("", ""), Ok(ShowingSort::Start));
        assert_eq!(sort("", "heat"), Ok(ShowingSort::Match));
        assert_eq!(sort("start", "heat"), Ok(ShowingSort::Start));
        assert_eq!(
            day.to,
            Some(MomentOrDay::Day(jiff::civil::date(2027, 6, 1)))
        );
    }
}
