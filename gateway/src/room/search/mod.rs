//! Searches the on-sales by words, city and days, and lists them in time order. Pure.

use std::collections::HashMap;

use fairgate_base::day::parse_day;
use fairgate_model::search_text::SearchText;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Room;
use crate::upstream::ShowSummary;

/// How many rooms or shows one page of a list has, at most.
pub const PER_PAGE: usize = 40;

/// What a search asks for. An empty text, and a day that is not given, match everything.
#[derive(Debug, Clone, Default)]
pub struct OnSaleSearch {
    words: SearchText,
    city: SearchText,
    from: Option<Date>,
    to: Option<Date>,
}

/// A day that is not written as `2027-06-01`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{day}\" in {field} is not a day; write it like 2027-06-01")]
pub struct UnreadableDay {
    /// The parameter.
    pub field: &'static str,
    /// The text of the parameter.
    pub day: String,
}

/// A room that a search has found.
#[derive(Clone)]
pub struct FoundRoom<'s> {
    /// The room.
    pub room: Room,
    /// Its shows, without departures of trains.
    pub shows: Vec<&'s ShowSummary>,
}

impl OnSaleSearch {
    /// Reads a search. Days are in the venues' time zones, and `to` is included.
    ///
    /// # Errors
    /// Fails if a day cannot be read.
    pub fn parse(q: &str, city: &str, from: &str, to: &str) -> Result<Self, UnreadableDay> {
        let day = |field, text: &str| match text.trim() {
            "" => Ok(None),
            day => parse_day(day).map(Some).ok_or_else(|| UnreadableDay {
                field,
                day: day.to_owned(),
            }),
        };
        Ok(Self {
            words: SearchText::new(q),
            city: SearchText::new(city),
            from: day("from", from)?,
            to: day("to", to)?,
        })
    }

    /// Returns whether a show matches. A word with a typing error matches, too.
    #[must_use]
    pub fn finds_show(&self, show: &ShowSummary) -> bool {
        self.is_in_city(show) && self.is_in_period(show) && self.matches_words(&words_of(show))
    }

    /// Returns the matching rooms, each with all its shows. A room matches if one of its shows
    /// does. A room also matches by its title, if the search names no city and no day. Rooms are
    /// sorted by their first matching show, or by the start of their sale if no show matches.
    /// `shows` are all shows that rooms may cover.
    #[must_use]
    pub fn find_rooms<'s>(&self, rooms: Vec<Room>, shows: &'s [ShowSummary]) -> Vec<FoundRoom<'s>> {
        let mut covered = shows_by_room(&rooms, shows);
        let has_only_words = self.city.is_empty() && self.from.is_none() && self.to.is_none();
        let mut found: Vec<(i64, FoundRoom<'s>)> = Vec::new();
        for (room, shows) in rooms.into_iter().zip(covered.drain(..)) {
            let row = room.row();
            let matching = shows.iter().filter(|show| self.finds_show(show));
            let first_start_ms = matching.map(|show| show.starts_at.as_millisecond()).min();
            let by_title = || has_only_words && self.matches_words(&row.document.title);
            if let Some(at) = first_start_ms.or_else(|| by_title().then_some(row.document.draw_at))
            {
                found.push((at, FoundRoom { room, shows }));
            }
        }
        found.sort_by(|(a, one), (b, other)| (a, one.room.id()).cmp(&(b, other.room.id())));
        found.into_iter().map(|(_, room)| room).collect()
    }

    fn matches_words(&self, text: &str) -> bool {
        self.words.is_empty() || SearchText::new(text).match_typed(&self.words).is_some()
    }

    fn is_in_city(&self, show: &ShowSummary) -> bool {
        let show_city = || show.location.city.as_deref().map(SearchText::new);
        self.city.is_empty()
            || show_city().is_some_and(|city| city.match_typed(&self.city).is_some())
    }

    fn is_in_period(&self, show: &ShowSummary) -> bool {
        let zone = show.location.time_zone.as_deref();
        let local_start = zone.and_then(|zone| show.starts_at.in_tz(zone).ok());
        let local_start = local_start.unwrap_or_else(|| show.starts_at.to_zoned(TimeZone::UTC));
        let day = local_start.date();
        self.from.is_none_or(|from| from <= day) && self.to.is_none_or(|to| day <= to)
    }
}

/// Returns the title, the venue and the address of a show as one text to search.
fn words_of(show: &ShowSummary) -> String {
    let place = show.location.line();
    let place = place.as_deref().unwrap_or_default();
    format!("{} {} {place}", show.title, show.venue)
}

/// Returns the shows that each room covers, in the order of the rooms.
fn shows_by_room<'s>(rooms: &[Room], shows: &'s [ShowSummary]) -> Vec<Vec<&'s ShowSummary>> {
    let (mut exact, mut prefixes) = (HashMap::new(), Vec::new());
    let mut everyday = None;
    for (at, room) in rooms.iter().enumerate() {
        everyday = everyday.or_else(|| room.is_everyday().then_some(at));
        for pattern in &room.row().document.shows {
            match pattern.strip_suffix('*') {
                Some(prefix) => prefixes.push((prefix.to_owned(), at)),
                None => drop(exact.insert(pattern.clone(), at)),
            }
        }
    }
    let mut covered = vec![Vec::new(); rooms.len()];
    for show in shows {
        let id = show.id.as_str();
        let by_prefix = || {
            prefixes
                .iter()
                .find(|(part, _)| id.starts_with(part.as_str()))
        };
        let room = exact.get(id).copied();
        let room = room.or_else(|| by_prefix().map(|(_, at)| *at));
        if let Some(at) = room.or(everyday) {
            covered[at].push(show);
        }
    }
    covered
}

/// One page of a list, and the size of the whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T> {
    /// What is on the page.
    pub items: Vec<T>,
    /// How many items all pages have together.
    pub total: usize,
    /// How many pages there are, at least one.
    pub pages: usize,
}

impl<T> ListPage<T> {
    /// Returns page `page` of a list, counted from 1. A page after the last one is empty.
    #[must_use]
    pub fn of(list: Vec<T>, page: usize) -> Self {
        let total = list.len();
        let skipped = page.saturating_sub(1).saturating_mul(PER_PAGE);
        Self {
            items: list.into_iter().skip(skipped).take(PER_PAGE).collect(),
            total,
            pages: total.div_ceil(PER_PAGE).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use fairgate_model::venues::VenueLocation;

    use super::*;

    fn show(title: &str, starts_at: &str, city: &str, zone: &str) -> ShowSummary {
        ShowSummary {
            id: "n-1".parse().expect("a slug"),
            title: title.to_owned(),
            starts_at: starts_at.parse().expect("a time"),
            venue: "hall".to_owned(),
            location: VenueLocation {
                city: Some(city.to_owned()),
                time_zone: Some(zone.to_owned()),
                ..VenueLocation::default()
            },
            currency: "EUR".to_owned(),
            seats: 10,
            showing: false,
            hold_s: 300,
        }
    }

    fn check(search: [&str; 4], expected: bool) {
        let show = show(
            "Die Zauberflöte",
            "2027-06-01T22:30:00Z",
            "Köln",
            "Europe/Berlin",
        );
        let [q, city, from, to] = search;
        let search = OnSaleSearch::parse(q, city, from, to).expect("a search");
        assert_eq!(search.finds_show(&show), expected, "{q} {city} {from} {to}");
    }

    #[test]
    fn a_show_is_found_by_its_words_with_a_slip_its_city_and_its_day_at_the_venue() {
        for q in [
            "zauberflöte",
            "Zauberflote",
            "zauberflöt",
            "zuaberflöte",
            "hall",
            "koln",
        ] {
            check([q, "", "", ""], true);
        }
        check(["Carmen", "", "", ""], false);
        check(["", "Koln", "", ""], true);
        check(["", "Berlin", "", ""], false);
        // The show begins half an hour after midnight in the venue's time zone.
        check(["", "", "2027-06-02", "2027-06-02"], true);
        check(["", "", "", "2027-06-01"], false);
        check(["", "", "2027-06-03", ""], false);
    }

    #[test]
    fn a_day_that_is_none_is_refused() {
        let refused = OnSaleSearch::parse("", "", "2027-02-30", "").expect_err("no such day");
        assert_eq!(
            (refused.field, refused.day.as_str()),
            ("from", "2027-02-30")
        );
        assert!(OnSaleSearch::parse("", "", "", "soon").is_err());
    }

    #[test]
    fn a_list_is_cut_into_pages_and_the_page_behind_the_last_is_empty() {
        let page = |of, page| ListPage::of((0..of).collect::<Vec<usize>>(), page);
        assert_eq!(
            (page(0, 1).pages, page(40, 1).pages, page(41, 1).pages),
            (1, 1, 2)
        );
        assert_eq!(page(81, 3).items, [80]);
        assert!(page(81, 4).items.is_empty());
    }
}
