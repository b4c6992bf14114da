//! Searches the programme in memory. The index is built again when the programme changes. A search
//! expects valid filters. The module [`query`](super::query) checks the parameters that visitors
//! send.

mod place;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use fairgate_model::ids::ShowId;
use fairgate_model::search_text::index::TextIndex;
use fairgate_model::search_text::{MatchedPart, SearchText, TextMatch};
use fairgate_model::venues::VenueLocation;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::{Cinema, City, Film, Hall, Programme, Showing};
use crate::catalogue::places::VenueLocations;
pub use place::{GeoPoint, km_between};

/// The filters of a search. A filter that is `None` matches everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShowingQuery {
    /// Words to look for. Titles match by whole words or their beginnings. Genres and descriptions
    /// match only by whole words.
    pub keyword: Option<String>,
    /// Whether titles that are only similar to the keyword also match. If `None`, similar titles
    /// match only if no title matches exactly, and then only the most similar ones.
    pub fuzzy: Option<bool>,
    /// A film's slug.
    pub film: Option<String>,
    /// A cinema's slug.
    pub cinema: Option<String>,
    /// A city's slug.
    pub city: Option<String>,
    /// The point from which distances are measured.
    pub near: Option<GeoPoint>,
    /// The largest distance from `near`, in kilometres.
    pub radius_km: Option<f64>,
    /// The earliest beginning.
    pub from: Option<MomentOrDay>,
    /// The latest beginning.
    pub to: Option<MomentOrDay>,
    /// The cinema's postal code.
    pub postal_code: Option<String>,
    /// The order of the results.
    pub sort: ShowingSort,
    /// The number of the page, from 1.
    pub page: usize,
    /// How many showings a page has.
    pub per_page: usize,
}

/// A moment, or a whole day in the cinema's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentOrDay {
    /// This moment.
    At(Timestamp),
    /// This whole day.
    Day(Date),
}

/// The order of the results. Showings that are equal in this order are sorted by beginning, then by
/// id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ShowingSort {
    /// The earliest first.
    #[default]
    Start,
    /// The nearest first.
    Distance,
    /// The showing with the cheapest seat first.
    Price,
    /// By title, in the order of the alphabet.
    Title,
    /// The best match of the keyword first. Without a keyword, the earliest first.
    Match,
}

/// One page of results.
#[derive(Debug, Clone, PartialEq)]
pub struct ShowingHitPage {
    /// The number of results on all pages.
    pub total: usize,
    /// Whether no film matches the keyword exactly, so that the results only have similar titles.
    pub near_only: bool,
    /// The results on this page.
    pub hits: Vec<ShowingHit>,
}

/// A showing that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShowingHit {
    /// Its position in the index. [`ProgrammeIndex::showing`] returns the showing.
    pub at: usize,
    /// The distance from [`ShowingQuery::near`] in kilometres, if that is set.
    pub distance_km: Option<f64>,
}

/// A showing with its film, hall, cinema and city.
#[derive(Debug, Clone, Copy)]
pub struct ShowingDetails<'i> {
    /// The showing.
    pub showing: &'i Showing,
    /// Its film.
    pub film: &'i Film,
    /// Its hall.
    pub hall: &'i Hall,
    /// The hall's cinema.
    pub cinema: &'i Cinema,
    /// The cinema's city.
    pub city: &'i City,
}

/// A programme with the indexes for its search.
#[derive(Debug, Default)]
pub struct ProgrammeIndex {
    programme: Programme,
    /// All showings, by beginning, then by id.
    entries: Vec<IndexedShowing>,
    /// For each film, the words of its title, and the words of title, genre and description
    /// together.
    titles: Vec<(SearchText, SearchText)>,
    /// The titles again, to find those that match at all. Comparing each title takes long.
    title_words: TextIndex,
    /// For each cinema, the position of its city in the programme.
    city_of: Vec<usize>,
    shows: HashSet<ShowId>,
}

/// A showing's position in the programme, the positions of its film, hall and cinema, and the
/// values by which showings are filtered and sorted.
#[derive(Debug, Clone, Copy)]
struct IndexedShowing {
    starts_at_s: i64,
    showing: usize,
    film: usize,
    hall: usize,
    cinema: usize,
    cheapest: i64,
}

impl ProgrammeIndex {
    /// Indexes a programme. Showings whose film, hall, cinema or city is missing are left out, so
    /// no search finds them.
    #[must_use]
    pub fn new(programme: Programme) -> Self {
        let by_id = |ids: &mut dyn Iterator<Item = &str>| -> HashMap<String, usize> {
            ids.enumerate()
                .map(|(at, id)| (id.to_owned(), at))
                .collect()
        };
        let cities = by_id(&mut programme.cities.iter().map(|city| city.id.as_str()));
        let cinemas = by_id(&mut programme.cinemas.iter().map(|cinema| cinema.id.as_str()));
        let halls = by_id(&mut programme.halls.iter().map(|hall| hall.id.as_str()));
        let films = by_id(&mut programme.films.iter().map(|film| film.id.as_str()));
        let entry = |(at, showing): (usize, &Showing)| {
            let hall = *halls.get(showing.hall.as_str())?;
            let cinema = *cinemas.get(&programme.halls[hall].cinema)?;
            cities.get(&programme.cinemas[cinema].city)?;
            Some(IndexedShowing {
                starts_at_s: showing.starts_at.as_second(),
                showing: at,
                film: *films.get(&showing.film)?,
                hall,
                cinema,
                cheapest: showing.prices.values().copied().min().unwrap_or(i64::MAX),
            })
        };
        let mut entries: Vec<IndexedShowing> = programme
            .showings
            .iter()
            .enumerate()
            .filter_map(entry)
            .collect();
        entries.sort_by(|a, b| {
            let id = |entry: &IndexedShowing| &programme.showings[entry.showing].show;
            (a.starts_at_s, id(a)).cmp(&(b.starts_at_s, id(b)))
        });
        let title_and_description = |film: &Film| {
            let genre = film.genre.as_deref().unwrap_or_default();
            let all = format!("{} {genre} {}", film.title, film.description);
            (SearchText::new(&film.title), SearchText::new(&all))
        };
        let city_of = programme.cinemas.iter();
        let city_of = city_of.map(|cinema| cities.get(&cinema.city).copied().unwrap_or_default());
        let mut title_words = TextIndex::default();
        for film in &programme.films {
            title_words.add(&film.title);
        }
        Self {
            title_words,
            titles: programme.films.iter().map(title_and_description).collect(),
            city_of: city_of.collect(),
            shows: programme
                .showings
                .iter()
                .map(|showing| &showing.show)
                .chain(programme.left_out.iter().map(|showing| &showing.show))
                .cloned()
                .collect(),
            entries,
            programme,
        }
    }

    /// Returns the programme that was indexed.
    #[must_use]
    pub fn programme(&self) -> &Programme {
        &self.programme
    }

    /// Returns the location of each hall. Its name consists of the cinema's name and the hall's
    /// name.
    #[must_use]
    pub fn hall_locations(&self) -> VenueLocations {
        let cinemas = self.programme.cinemas.iter().zip(&self.city_of);
        let cinemas: HashMap<&str, (&Cinema, &City)> = cinemas
            .filter_map(|(cinema, city)| {
                let city = self.programme.cities.get(*city)?;
                Some((cinema.id.as_str(), (cinema, city)))
            })
            .collect();
        let place = |hall: &Hall| {
            let (cinema, city) = cinemas.get(hall.cinema.as_str())?;
            let place = VenueLocation {
                name: Some(format!("{}, {}", cinema.name, hall.name)),
                city: Some(city.name.clone()),
                address: Some(cinema.address.clone()),
                time_zone: Some(city.time_zone.clone()),
            };
            Some((hall.id.clone(), place))
        };
        self.programme.halls.iter().filter_map(place).collect()
    }

    /// Returns whether a show is a showing of the programme, or of an earlier one that left it out
    /// since.
    #[must_use]
    pub fn has_show(&self, show: &ShowId) -> bool {
        self.shows.contains(show)
    }

    /// Returns the city with this slug.
    #[must_use]
    pub fn find_city(&self, id: &str) -> Option<&City> {
        self.programme.cities.iter().find(|city| city.id == id)
    }

    /// Returns the showing of a hit.
    ///
    /// # Panics
    /// May panic if the hit comes from another index.
    #[must_use]
    pub fn showing(&self, hit: &ShowingHit) -> ShowingDetails<'_> {
        let entry = &self.entries[hit.at];
        let cinema = &self.programme.cinemas[entry.cinema];
        ShowingDetails {
            showing: &self.programme.showings[entry.showing],
            film: &self.programme.films[entry.film],
            hall: &self.programme.halls[entry.hall],
            cinema,
            city: &self.programme.cities[self.city_of[entry.cinema]],
        }
    }

    /// Returns for each city the number of its cinemas, then the number of its showings that have
    /// not begun.
    #[must_use]
    pub fn coming_by_city(&self, now: Timestamp) -> Vec<(&City, usize, usize)> {
        let mut showings = vec![0; self.programme.cities.len()];
        for entry in self.coming(now) {
            showings[self.city_of[entry.cinema]] += 1;
        }
        let mut cinemas = vec![0; self.programme.cities.len()];
        for city in &self.city_of {
            cinemas[*city] += 1;
        }
        let counts = cinemas.into_iter().zip(showings);
        let cities = self.programme.cities.iter().zip(counts);
        cities
            .map(|(city, (cinemas, showings))| (city, cinemas, showings))
            .collect()
    }

    /// Returns the films that a city still shows, sorted by title. Each film comes with the number
    /// of its showings there that have not begun, and the time when the first of them begins.
    #[must_use]
    pub fn films_in(&self, city: &str, now: Timestamp) -> Vec<(&Film, usize, Timestamp)> {
        let mut films: HashMap<usize, (usize, Timestamp)> = HashMap::new();
        for entry in self.coming(now) {
            if self.programme.cinemas[entry.cinema].city == city {
                let first = self.programme.showings[entry.showing].starts_at;
                films.entry(entry.film).or_insert((0, first)).0 += 1;
            }
        }
        let mut films: Vec<_> = films
            .into_iter()
            .map(|(film, (count, first))| (&self.programme.films[film], count, first))
            .collect();
        films.sort_by(|(a, ..), (b, ..)| (&a.title, &a.id).cmp(&(&b.title, &b.id)));
        films
    }

    fn coming(&self, now: Timestamp) -> &[IndexedShowing] {
        let first = self
            .entries
            .partition_point(|entry| self.programme.showings[entry.showing].starts_at < now);
        &self.entries[first..]
    }

    /// Returns one page of the showings that match.
    #[must_use]
    pub fn search(&self, query: &ShowingQuery) -> ShowingHitPage {
        let (films, near_only) = self.match_films(query);
        let cinemas = self.cinemas_asked_for(query);
        let bounds: Vec<(i64, i64)> = self
            .programme
            .cities
            .iter()
            .map(|city| bounds_in(city, query))
            .collect();
        // A day begins at different moments in different cities. The search covers the time from
        // the earliest bound to the latest, and checks each showing against the bounds of its city.
        let first = bounds
            .iter()
            .map(|(from, _)| *from)
            .min()
            .unwrap_or(i64::MIN);
        let last = bounds.iter().map(|(_, to)| *to).max().unwrap_or(i64::MAX);
        let begin = self
            .entries
            .partition_point(|entry| entry.starts_at_s < first);
        let end = self
            .entries
            .partition_point(|entry| entry.starts_at_s < last);
        let mut hits = Vec::new();
        for at in begin..end.max(begin) {
            let entry = &self.entries[at];
            let Some(distance_km) = cinemas[entry.cinema] else {
                continue;
            };
            let (from, to) = bounds[self.city_of[entry.cinema]];
            if films[entry.film].is_some() && (from..to).contains(&entry.starts_at_s) {
                hits.push(ShowingHit { at, distance_km });
            }
        }
        let total = hits.len();
        let skipped = (query.page - 1).saturating_mul(query.per_page);
        let shown = skipped.saturating_add(query.per_page).min(total);
        self.sort_first_hits(&mut hits, shown, query.sort, &films);
        ShowingHitPage {
            total,
            near_only: near_only && total > 0,
            hits: hits
                .into_iter()
                .skip(skipped)
                .take(query.per_page)
                .collect(),
        }
    }

    /// Brings the first `count` hits to the front, in order. The hits come in the order of their
    /// beginnings, and equal hits stay in it.
    fn sort_first_hits(
        &self,
        hits: &mut [ShowingHit],
        count: usize,
        sort: ShowingSort,
        films: &[Option<TextMatch>],
    ) {
        if sort == ShowingSort::Start {
            return;
        }
        let entry = |hit: &ShowingHit| &self.entries[hit.at];
        let km = |hit: &ShowingHit| hit.distance_km.unwrap_or(f64::INFINITY);
        let title = |hit: &ShowingHit| &self.programme.films[entry(hit).film].title;
        let order = |a: &ShowingHit, b: &ShowingHit| {
            let by = match sort {
                ShowingSort::Start => Ordering::Equal,
                ShowingSort::Distance => km(a).total_cmp(&km(b)),
                ShowingSort::Price => entry(a).cheapest.cmp(&entry(b).cheapest),
                ShowingSort::Title => title(a).cmp(title(b)),
                ShowingSort::Match => films[entry(a).film].cmp(&films[entry(b).film]),
            };
            by.then(a.at.cmp(&b.at))
        };
        // Most pages show a few of thousands of hits, so the others are not sorted.
        if count < hits.len() {
            hits.select_nth_unstable_by(count, order);
        }
        hits[..count].sort_unstable_by(order);
    }

    /// Returns for each film how well it matches, or `None` if it does not match. Also returns
    /// whether no film matches the keyword exactly.
    fn match_films(&self, query: &ShowingQuery) -> (Vec<Option<TextMatch>>, bool) {
        let named = |film: &Film| query.film.as_ref().is_none_or(|id| film.id == *id);
        let named: Vec<bool> = self.programme.films.iter().map(named).collect();
        let typed = query.keyword.as_deref().map(SearchText::new);
        let matched = |part| TextMatch { edits: 0, part };
        let Some(typed) = typed else {
            let whole = matched(MatchedPart::Whole);
            return (
                named.iter().map(|named| named.then_some(whole)).collect(),
                false,
            );
        };
        if typed.is_empty() {
            return (vec![None; named.len()], false);
        }
        let similar = self.title_words.matches(&typed);
        let titles = self.titles.iter().zip(&named).zip(similar);
        let titles: Vec<Option<TextMatch>> = titles
            .map(|(((title, _), named), similar)| {
                let is_compared = similar && *named;
                is_compared.then(|| title.match_typed(&typed)).flatten()
            })
            .collect();
        let edits = || titles.iter().flatten().map(|title| title.edits);
        let exact = edits().any(|edits| edits == 0);
        let edits_max = match query.fuzzy {
            Some(true) => usize::MAX,
            None if !exact => edits().min().unwrap_or(0),
            Some(false) | None => 0,
        };
        let mut near_only = !exact;
        let films = titles.iter().zip(&self.titles).zip(&named);
        let films = films.map(|((title, (_, all_text)), named)| {
            let mentioned = (*named && all_text.mentions(&typed)).then_some(MatchedPart::OtherText);
            near_only &= mentioned.is_none();
            let title = title.filter(|title| title.edits <= edits_max);
            [title, mentioned.map(matched)].into_iter().flatten().min()
        });
        (films.collect(), near_only)
    }

    /// For each cinema, returns `None` if it does not match, and otherwise its distance from
    /// `query.near`. The distance is `None` if the query has no point.
    fn cinemas_asked_for(&self, query: &ShowingQuery) -> Vec<Option<Option<f64>>> {
        let code = query.postal_code.as_deref().map(plain_code);
        let distance_if_matching = |cinema: &Cinema| {
            let fits = query.cinema.as_ref().is_none_or(|id| cinema.id == *id)
                && query.city.as_ref().is_none_or(|id| cinema.city == *id)
                && code
                    .as_ref()
                    .is_none_or(|code| plain_code(&cinema.postal_code) == *code);
            let location = GeoPoint {
                lat: cinema.lat,
                lon: cinema.lon,
            };
            let km = query.near.map(|near| km_between(location, near));
            let is_near_enough = match (km, query.radius_km) {
                (Some(km), Some(radius_km)) => km <= radius_km,
                _ => true,
            };
            (fits && is_near_enough).then_some(km)
        };
        self.programme
            .cinemas
            .iter()
            .map(distance_if_matching)
            .collect()
    }
}

/// Returns a postal code without spaces and hyphens, in lower case, because people write codes in
/// several ways.
fn plain_code(code: &str) -> String {
    let chars = code
        .chars()
        .filter(|char| !char.is_whitespace() && *char != '-');
    chars.flat_map(char::to_lowercase).collect()
}

/// Returns when a city's showings may begin, in seconds since the epoch. They may begin at the
/// first value or later, and before the second value.
fn bounds_in(city: &City, query: &ShowingQuery) -> (i64, i64) {
    let zone = TimeZone::get(&city.time_zone).unwrap_or(TimeZone::UTC);
    let midnight = |day: Date| {
        let zoned = day.to_zoned(zone.clone());
        zoned.map(|zoned| zoned.timestamp().as_second())
    };
    let from = match query.from {
        None => i64::MIN,
        Some(MomentOrDay::At(moment)) => ceil_s(moment),
        Some(MomentOrDay::Day(day)) => midnight(day).unwrap_or(i64::MIN),
    };
    let to = match query.to {
        None => i64::MAX,
        Some(MomentOrDay::At(moment)) => moment.as_second().saturating_add(1),
        Some(MomentOrDay::Day(day)) => day.tomorrow().and_then(midnight).unwrap_or(i64::MAX),
    };
    (from, to)
}

/// Rounds a moment up to a whole second.
fn ceil_s(moment: Timestamp) -> i64 {
    let s = moment.as_second();
    s + i64::from(moment.subsec_nanosecond() > 0)
}

#[cfg(test)]
mod tests;
