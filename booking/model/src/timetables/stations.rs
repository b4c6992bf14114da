//! Finds stations by what people type, and by position.

use std::collections::{HashMap, HashSet};

use super::{Station, Timetable};
use crate::search_text::{MatchedPart, SearchText};
use crate::timetables::geo::metres;

/// How many stations one answer has, at most.
const FOUND_MAX: usize = 20;
/// How many stations are suggested for an unknown name, at most.
const SUGGESTED_MAX: usize = 5;

/// The texts by which a station is found.
#[derive(Debug)]
pub(super) struct StationSearchTerms {
    /// The code in lower case.
    code: String,
    name: SearchText,
    /// The name in Latin letters and its translations.
    other_names: Vec<SearchText>,
    /// Short forms in lower case.
    short: Vec<String>,
    /// How many trips call at the station.
    trip_count: usize,
}

/// What somebody typed, in the forms that are compared.
struct TypedName {
    /// In lower case, to compare it with codes and short forms.
    lower: String,
    text: SearchText,
}

/// A station and its distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearbyStation {
    /// Index of the station.
    pub station: u32,
    /// The distance in metres.
    pub distance_m: u32,
}

pub(super) fn search_terms(stations: &[Station], trip_counts: &[usize]) -> Vec<StationSearchTerms> {
    let terms = stations
        .iter()
        .zip(trip_counts)
        .map(|(station, trip_count)| StationSearchTerms {
            code: station.code.to_lowercase(),
            name: SearchText::new(&station.name),
            other_names: other_names(station).map(SearchText::new).collect(),
            short: station
                .short
                .iter()
                .map(|name| name.to_lowercase())
                .collect(),
            trip_count: *trip_count,
        });
    terms.collect()
}

fn other_names(station: &Station) -> impl Iterator<Item = &str> {
    let latin = Some(station.pinyin.as_str()).filter(|latin| !latin.is_empty());
    let translations = station.translations.iter().map(String::as_str);
    latin.into_iter().chain(translations)
}

pub(super) fn by_name(stations: &[Station]) -> HashMap<Box<str>, u32> {
    let names = stations.iter().zip(0..);
    unambiguous(names.map(|(station, at)| (Box::from(station.name.as_str()), at)))
}

/// Indexes the stations by their names in all languages, as [`SearchText`] joins them.
pub(super) fn by_plain_name(terms: &[StationSearchTerms]) -> HashMap<Box<str>, u32> {
    let names = terms.iter().zip(0..).flat_map(|(terms, at)| {
        let names = std::iter::once(&terms.name).chain(&terms.other_names);
        let names = names.filter(|name| !name.is_empty());
        names.map(move |name| (Box::<str>::from(name.joined()), at))
    });
    unambiguous(names)
}

/// Leaves out the names that several stations have.
fn unambiguous(names: impl Iterator<Item = (Box<str>, u32)>) -> HashMap<Box<str>, u32> {
    let mut known: HashMap<Box<str>, Option<u32>> = HashMap::new();
    for (name, at) in names {
        let station = known.entry(name).or_insert(Some(at));
        *station = station.filter(|station| *station == at);
    }
    let only_one = known.into_iter().filter_map(|(name, at)| Some((name, at?)));
    only_one.collect()
}

impl TypedName {
    fn new(typed: &str) -> Self {
        Self {
            lower: typed.trim().to_lowercase(),
            text: SearchText::new(typed),
        }
    }
}

impl StationSearchTerms {
    fn names(&self) -> impl Iterator<Item = &SearchText> {
        std::iter::once(&self.name).chain(&self.other_names)
    }

    /// Returns how well a station fits what was typed, without any edit. 0 is the best rank. `None`
    /// means that the station does not fit.
    fn match_rank(&self, typed: &TypedName) -> Option<u8> {
        let lower = typed.lower.as_str();
        if self.code == lower {
            return Some(0);
        }
        if self.short.iter().any(|short| short == lower) {
            return Some(1);
        }
        let begins = |text: &String| text.starts_with(lower);
        let code_begins = (begins(&self.code) || self.short.iter().any(begins)).then_some(3);
        if typed.text.is_empty() {
            return code_begins;
        }
        let whole = typed.text.joined();
        let own_name_rank = match self.name.match_exactly(&typed.text) {
            Some(MatchedPart::Whole) => Some(0),
            Some(_) if self.name.joined().starts_with(whole) => Some(2),
            Some(_) => Some(3),
            None => None,
        };
        let rank_of_other = |name: &SearchText| match name.match_exactly(&typed.text)? {
            MatchedPart::Whole => Some(1),
            _ => Some(3),
        };
        let other_name_rank = self.other_names.iter().filter_map(rank_of_other).min();
        let contains = |name: &SearchText| name.joined().contains(whole);
        let contained = self.names().any(contains).then_some(4);
        let ranks = [own_name_rank, other_name_rank, code_begins, contained];
        ranks.into_iter().flatten().min()
    }

    /// Returns how many edits turn what was typed into a name of the station or a part of it.
    /// Returns `None` if that takes too many edits.
    fn edits_from(&self, typed: &TypedName) -> Option<usize> {
        let edits = self
            .names()
            .filter_map(|name| name.match_typed(&typed.text));
        edits.map(|found| found.edits).min()
    }
}

impl Timetable {
    /// Returns the station with this code, or with this name if only one station has it. A code is
    /// looked up as it is typed, then in upper case, then in lower case. A name may be in any of
    /// the station's languages and scripts, and its case and accents do not matter.
    #[must_use]
    pub fn station(&self, code_or_name: &str) -> Option<u32> {
        let text = code_or_name.trim();
        let find_code = |text: &str| self.by_code.get(text).copied();
        find_code(text)
            .or_else(|| find_code(&text.to_uppercase()))
            .or_else(|| find_code(&text.to_lowercase()))
            .or_else(|| self.by_name.get(text).copied())
            .or_else(|| {
                let plain = SearchText::new(text);
                self.by_plain_name.get(plain.joined()).copied()
            })
    }

    /// Finds stations whose code, name or short form equals or begins with what was typed, or whose
    /// name contains it. Names are compared in all languages and scripts, and without accents. If
    /// no station fits, finds those whose names fit with a few edits: none for up to two typed
    /// letters, one for up to seven, two for more. Returns at most twenty, best match first. Of
    /// equal matches, the station with the most trips comes first.
    #[must_use]
    pub fn find_stations(&self, typed: &str) -> Vec<u32> {
        let typed = TypedName::new(typed);
        let exact = self.ranked_stations(|terms| terms.match_rank(&typed));
        if !exact.is_empty() || typed.text.is_empty() {
            return exact;
        }
        self.ranked_stations(|terms| terms.edits_from(&typed))
    }

    fn ranked_stations<T: Ord>(&self, rank: impl Fn(&StationSearchTerms) -> Option<T>) -> Vec<u32> {
        let ranked = self
            .search_terms
            .iter()
            .zip(0_u32..)
            .filter_map(|(terms, at)| {
                let rank = rank(terms)?;
                Some((rank, std::cmp::Reverse(terms.trip_count), at))
            });
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_unstable();
        let best = ranked.into_iter().take(FOUND_MAX);
        best.map(|(_, _, at)| at).collect()
    }

    /// Finds stations within `within_m` metres of a point (longitude, latitude). Stations without
    /// trains are left out. Returns at most twenty, nearest first.
    #[must_use]
    pub fn stations_near(&self, point: (f64, f64), within_m: u32) -> Vec<NearbyStation> {
        let served = self
            .stations
            .iter()
            .zip(0_u32..)
            .zip(&self.trips_by_station);
        let served = served.filter(|(_, calling)| !calling.is_empty());
        let near = served.map(|((station, at), _)| NearbyStation {
            station: at,
            distance_m: metres(point, (station.lon, station.lat)),
        });
        let mut near: Vec<NearbyStation> =
            near.filter(|near| near.distance_m <= within_m).collect();
        near.sort_by_key(|near| (near.distance_m, near.station));
        near.truncate(FOUND_MAX);
        near
    }

    /// Suggests at most five stations for an unknown name. They are the stations that
    /// [`Self::find_stations`] finds or, if it finds none, the stations with the most similar name
    /// or code.
    #[must_use]
    pub fn names_like(&self, typed: &str) -> Vec<u32> {
        let found = self.find_stations(typed);
        if !typed.trim().is_empty() && !found.is_empty() {
            return found.into_iter().take(SUGGESTED_MAX).collect();
        }
        let typed = TypedName::new(typed);
        let typed = [pairs(&typed.lower), pairs(typed.text.joined())];
        let mut similar: Vec<(u32, u32)> = Vec::new();
        for (terms, at) in self.search_terms.iter().zip(0..) {
            let names = terms.names().map(SearchText::joined);
            let names = names.chain(std::iter::once(terms.code.as_str())).map(pairs);
            let likeness = names.map(|name| typed.each_ref().map(|typed| likeness(typed, &name)));
            let best = likeness.flatten().max().unwrap_or(0);
            if best >= 300 {
                similar.push((best, at));
            }
        }
        similar.sort_unstable_by_key(|(likeness, at)| (std::cmp::Reverse(*likeness), *at));
        let best = similar.into_iter().take(SUGGESTED_MAX);
        best.map(|(_, at)| at).collect()
    }
}

/// Returns the pairs of neighbouring letters. The first letter also forms a pair with a space
/// before it, and the last letter with a space after it.
fn pairs(text: &str) -> HashSet<(char, char)> {
    let padded: Vec<char> = std::iter::once(' ')
        .chain(text.chars())
        .chain(std::iter::once(' '))
        .collect();
    padded.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Returns the Sørensen–Dice coefficient of two sets, in thousandths.
fn likeness(one: &HashSet<(char, char)>, other: &HashSet<(char, char)>) -> u32 {
    let common = one.intersection(other).count() * 2_000;
    let pair_count = (one.len() + other.len()).max(1);
    u32::try_from(common / pair_count).unwrap_or(0)
}
