//! The shows and rooms, prepared for searches. Which room covers which show, the words of each show
//! and its day are worked out once after a change, and not for each search. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use fairgate_model::search_text::SearchText;
use fairgate_model::search_text::index::TextIndex;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::OnSaleSearch;
use crate::room::Room;
use crate::upstream::ShowSummary;

/// Numbers the data that an index is made of. The numbers only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OnSaleEdition {
    /// The number of booking's shows, and of the rooms that cover them. `None` if booking has never
    /// answered.
    pub shows: Option<u64>,
    /// The number of the gateway's rooms.
    pub rooms: u64,
}

impl OnSaleEdition {
    /// Returns whether this data is as new as `other`, or newer.
    #[must_use]
    pub fn is_at_least(self, other: Self) -> bool {
        self.shows >= other.shows && self.rooms >= other.rooms
    }
}

/// All shows and rooms of an installation.
pub struct OnSaleIndex {
    edition: OnSaleEdition,
    shows: Vec<IndexedShow>,
    rooms: Vec<IndexedRoom>,
    /// The words of the shows, in the order of `shows`.
    show_words: TextIndex,
    /// The words of the rooms' titles, in the order of `rooms`.
    room_words: TextIndex,
    /// The cities of the shows, by name.
    cities: Vec<(String, SearchText)>,
    /// What a search without filters finds.
    everything: Arc<FoundOnSales>,
}

/// A show, and what searches compare.
pub struct IndexedShow {
    /// The show.
    pub summary: ShowSummary,
    /// The room that covers the show, if one does.
    pub room: Option<String>,
    /// The position of that room.
    room_at: Option<usize>,
    /// The position of its city.
    city: Option<usize>,
    /// The day on which it begins, by the clocks of its venue.
    day: Date,
}

/// A room, and the sums of its shows without departures of trains.
pub struct IndexedRoom {
    /// The room.
    pub room: Room,
    /// The seats of its shows.
    pub seats: u64,
    /// How many shows it covers.
    pub shows: usize,
    /// The time zone of the first of its shows that has one.
    pub zone: Option<String>,
}

/// What a search has found, as positions in the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundOnSales {
    /// The rooms, in the order of their first matching show. If no show of a room matches, the
    /// start of its sale counts.
    pub rooms: Vec<usize>,
    /// The shows by date, without showings, because cinemas have their own search.
    pub shows: Vec<usize>,
}

impl OnSaleIndex {
    /// Prepares shows and rooms. `room_of` returns the room that covers a show. This takes some
    /// milliseconds for each thousand shows.
    #[must_use]
    pub fn new(
        edition: OnSaleEdition,
        rooms: Vec<Room>,
        shows: &[ShowSummary],
        room_of: impl Fn(&ShowSummary) -> Option<String>,
    ) -> Self {
        let mut room_words = TextIndex::default();
        let indexed_room = |room: Room| {
            room_words.add(&room.row().document.title);
            IndexedRoom {
                room,
                seats: 0,
                shows: 0,
                zone: None,
            }
        };
        let rooms: Vec<IndexedRoom> = rooms.into_iter().map(indexed_room).collect();
        let mut names: Vec<&String> = shows.iter().filter_map(city_of).collect();
        names.sort_unstable();
        names.dedup();
        let cities = names
            .into_iter()
            .map(|city| (city.clone(), SearchText::new(city)));
        let mut index = Self {
            edition,
            shows: Vec::with_capacity(shows.len()),
            rooms,
            show_words: TextIndex::default(),
            room_words,
            cities: cities.collect(),
            everything: Arc::default(),
        };
        index.add_shows(shows, room_of);
        index.everything = index.search(&OnSaleSearch::default()).into();
        index
    }

    fn add_shows(
        &mut self,
        shows: &[ShowSummary],
        room_of: impl Fn(&ShowSummary) -> Option<String>,
    ) {
        let positions = self.rooms.iter().enumerate();
        let positions: HashMap<String, usize> = positions
            .map(|(at, indexed)| (indexed.room.id().to_owned(), at))
            .collect();
        let mut sorted: Vec<&ShowSummary> = shows.iter().collect();
        sorted.sort_by_key(|show| (show.starts_at, &show.id));
        for show in sorted {
            self.show_words.add(&words_of(show));
            let room = room_of(show);
            let room_at = room.as_ref().and_then(|room| positions.get(room)).copied();
            if let Some(at) = room_at {
                let sums = &mut self.rooms[at];
                sums.seats += u64::from(show.seats);
                sums.shows += 1;
                if sums.zone.is_none() {
                    sums.zone.clone_from(&show.location.time_zone);
                }
            }
            let city = city_of(show).and_then(|city| {
                self.cities
                    .binary_search_by(|(name, _)| name.cmp(city))
                    .ok()
            });
            self.shows.push(IndexedShow {
                summary: show.clone(),
                room,
                room_at,
                city,
                day: local_day(show),
            });
        }
    }

    /// Returns the numbers of the data that this index was made of.
    #[must_use]
    pub fn edition(&self) -> OnSaleEdition {
        self.edition
    }

    /// Returns the show at a position.
    ///
    /// # Panics
    /// May panic if the position comes from another index.
    #[must_use]
    pub fn show(&self, at: usize) -> &IndexedShow {
        &self.shows[at]
    }

    /// Returns the room at a position.
    ///
    /// # Panics
    /// May panic if the position comes from another index.
    #[must_use]
    pub fn room(&self, at: usize) -> &IndexedRoom {
        &self.rooms[at]
    }

    /// Returns the names of the cities, sorted.
    pub fn cities(&self) -> impl Iterator<Item = &String> {
        self.cities.iter().map(|(name, _)| name)
    }

    /// Finds rooms and shows. A word with a typing error matches, too. A room matches if one of its
    /// shows does. A room also matches by its title, if the search names no city and no day.
    #[must_use]
    pub fn find(&self, search: &OnSaleSearch) -> Arc<FoundOnSales> {
        if search.is_everything() {
            return Arc::clone(&self.everything);
        }
        self.search(search).into()
    }

    fn search(&self, search: &OnSaleSearch) -> FoundOnSales {
        let by_words = self.show_words.matches(&search.words);
        let by_city = (!search.city.is_empty()).then(|| {
            let cities = self.cities.iter();
            let cities = cities.map(|(_, city)| city.match_typed(&search.city).is_some());
            cities.collect::<Vec<bool>>()
        });
        let is_in_city = |show: &IndexedShow| {
            by_city
                .as_ref()
                .is_none_or(|by_city| show.city.is_some_and(|city| by_city[city]))
        };
        let mut first_start_ms: Vec<Option<i64>> = vec![None; self.rooms.len()];
        let mut shows = Vec::new();
        for (at, (show, has_words)) in self.shows.iter().zip(&by_words).enumerate() {
            if !(*has_words && is_in_city(show) && search.is_in_period(show.day)) {
                continue;
            }
            if let Some(room) = show.room_at {
                let starts_ms = show.summary.starts_at.as_millisecond();
                first_start_ms[room].get_or_insert(starts_ms);
            }
            if !show.summary.showing {
                shows.push(at);
            }
        }
        FoundOnSales {
            rooms: self.rooms_in_order(search, &first_start_ms),
            shows,
        }
    }

    /// Returns the rooms with a first matching show, and the rooms that match by their title.
    fn rooms_in_order(&self, search: &OnSaleSearch, first_start_ms: &[Option<i64>]) -> Vec<usize> {
        let by_title = if search.has_only_words() {
            self.room_words.matches(&search.words)
        } else {
            vec![false; self.rooms.len()]
        };
        let each = self.rooms.iter().zip(first_start_ms).zip(by_title);
        let each = each.enumerate();
        let mut found: Vec<(i64, &str, usize)> = each
            .filter_map(|(at, ((indexed, first_start_ms), has_title))| {
                let room = &indexed.room;
                let draw_at = || has_title.then(|| room.row().document.draw_at);
                Some((first_start_ms.or_else(draw_at)?, room.id(), at))
            })
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, _, at)| at).collect()
    }
}

fn city_of(show: &ShowSummary) -> Option<&String> {
    show.location.city.as_ref()
}

/// Returns the title, the venue and the address of a show as one text to search.
fn words_of(show: &ShowSummary) -> String {
    let place = show.location.line();
    let place = place.as_deref().unwrap_or_default();
    format!("{} {} {place}", show.title, show.venue)
}

/// Returns the day on which a show begins, by the clocks of its venue.
fn local_day(show: &ShowSummary) -> Date {
    let zone = show.location.time_zone.as_deref();
    let local_start = zone.and_then(|zone| show.starts_at.in_tz(zone).ok());
    let local_start = local_start.unwrap_or_else(|| show.starts_at.to_zoned(TimeZone::UTC));
    local_start.date()
}

#[cfg(test)]
mod tests;
