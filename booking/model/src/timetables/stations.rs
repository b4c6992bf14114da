//! Finds stations by what people type, and by position.

use std::collections::{HashMap, HashSet};

use super::{Station, Timetable};
use crate::timetables::geo::metres;

/// The most stations in one answer.
const FOUND_MAX: usize = 20;
/// The most similar names that are suggested for an unknown one.
const OFFERED_MAX: usize = 5;

/// The texts that a station is found by, in lower case.
#[derive(Debug)]
pub(super) struct StationSearchTerms {
    code: String,
    name: String,
    latin: String,
    short: Vec<String>,
    /// How many trips call at the station.
    calls: usize,
}

/// A station and its distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearbyStation {
    /// Index of the station.
    pub station: u32,
    /// The distance in metres.
    pub distance_m: u32,
}

pub(super) fn search_terms(stations: &[Station], calls: &[usize]) -> Vec<StationSearchTerms> {
    let terms = stations
        .iter()
        .zip(calls)
        .map(|(station, calls)| StationSearchTerms {
            code: station.code.to_lowercase(),
            name: station.name.to_lowercase(),
            latin: station.pinyin.to_lowercase(),
            short: station.short.iter().map(|of| of.to_lowercase()).collect(),
            calls: *calls,
        });
    terms.collect()
}

pub(super) fn by_name(stations: &[Station]) -> HashMap<Box<str>, u32> {
    let mut by_name: HashMap<Box<str>, u32> = HashMap::new();
    let mut twice: HashSet<&str> = HashSet::new();
    for (station, at) in stations.iter().zip(0..) {
        if by_name.insert(station.name.as_str().into(), at).is_some() {
            twice.insert(&station.name);
        }
    }
    for name in twice {
        by_name.remove(name);
    }
    by_name
}

impl StationSearchTerms {
    /// Returns how well a station fits what was typed. 0 is best, and none means that it does not
    /// fit.
    fn match_quality(&self, typed: &str) -> Option<u8> {
        let words = |text: &str| text.split_whitespace().any(|word| word.starts_with(typed));
        if self.code == typed || self.name == typed {
            Some(0)
        } else if self.latin == typed || self.short.iter().any(|short| short == typed) {
            Some(1)
        } else if self.name.starts_with(typed) {
            Some(2)
        } else if self.latin.starts_with(typed)
            || self.code.starts_with(typed)
            || self.short.iter().any(|short| short.starts_with(typed))
            || words(&self.name)
        {
            Some(3)
        } else {
            (self.name.contains(typed) || self.latin.contains(typed)).then_some(4)
        }
    }
}

impl Timetable {
    /// Returns the station with this code, in any case, or with this name if only one station has
    /// it.
    #[must_use]
    pub fn station(&self, code_or_name: &str) -> Option<u32> {
        let text = code_or_name.trim();
        let code = |text: &str| self.by_code.get(text).copied();
        code(text)
            .or_else(|| code(&text.to_uppercase()))
            .or_else(|| code(&text.to_lowercase()))
            .or_else(|| self.by_name.get(text).copied())
    }

    /// Finds stations whose code, name, pinyin or short form is or begins with what was typed, or
    /// whose name or pinyin contains it. Returns at most twenty, best match first, and of equal
    /// matches the busiest first.
    #[must_use]
    pub fn find_stations(&self, typed: &str) -> Vec<u32> {
        let typed = typed.trim().to_lowercase();
        let ranked = self.found_by.iter().zip(0_u32..).filter_map(|(terms, at)| {
            let rank = terms.match_quality(&typed)?;
            Some((rank, std::cmp::Reverse(terms.calls), at))
        });
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_unstable();
        let best = ranked.into_iter().take(FOUND_MAX);
        best.map(|(_, _, at)| at).collect()
    }

    /// Finds stations within some metres of a point (longitude, latitude) at which trains call.
    /// Returns at most twenty, nearest first.
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
    /// [`Self::find_stations`] finds or, if it finds none, those whose name, pinyin or code is most
    /// similar.
    #[must_use]
    pub fn names_like(&self, typed: &str) -> Vec<u32> {
        let found = self.find_stations(typed);
        if !typed.trim().is_empty() && !found.is_empty() {
            return found.into_iter().take(OFFERED_MAX).collect();
        }
        let typed = pairs(&typed.trim().to_lowercase());
        let mut like: Vec<(u32, u32)> = Vec::new();
        for (terms, at) in self.found_by.iter().zip(0..) {
            let names = [&terms.name, &terms.latin, &terms.code];
            let likeness = names.map(|name| likeness(&typed, &pairs(name)));
            let best = likeness.into_iter().max().unwrap_or(0);
            if best >= 300 {
                like.push((best, at));
            }
        }
        like.sort_unstable_by_key(|(likeness, at)| (std::cmp::Reverse(*likeness), *at));
        let best = like.into_iter().take(OFFERED_MAX);
        best.map(|(_, at)| at).collect()
    }
}

/// Returns the pairs of neighbouring letters. The first and the last letter are also paired with a
/// space.
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
    let all = (one.len() + other.len()).max(1);
    u32::try_from(common / all).unwrap_or(0)
}
