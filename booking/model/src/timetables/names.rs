//! The ids of departures, which are the slugs of their shows: `{train}-{date}` or
//! `{train}-{date}-{trip}`. A departure that somebody touched keeps its id when a new timetable
//! would name it differently, and no other departure gets that id.

use std::collections::{HashMap, HashSet};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Timetable, TimetableError, Trip};
use crate::ids::ShowId;

/// How many characters the train's part has, at most.
const TRAIN_MAX: usize = 24;
/// How many characters the trip's part has, at most. With the train's part and the date, the id
/// then fits into the 64 characters of a show's slug.
const TRIP_MAX: usize = 28;

/// A departure that keeps its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptDeparture {
    /// Its show.
    pub show: ShowId,
    /// The service date.
    pub date: Date,
    /// The id of the trip that it is in this timetable. `None` if it is none of the trips. Its id
    /// is then not given to another departure.
    pub trip: Option<String>,
    /// The line that it runs on, as [`Trip::line`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub line: String,
    /// The ids of trips that may be this departure on that date. Nothing is sold of them, because
    /// its seats might be sold twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsold: Vec<String>,
}

/// The ids that departures keep.
#[derive(Debug, Default)]
pub(super) struct KeptIds {
    by_departure: HashMap<(u32, Date), ShowId>,
    by_show: HashMap<ShowId, Option<(u32, Date)>>,
    /// The trips of these departures.
    trips: HashSet<u32>,
    /// The departures of which nothing is sold.
    unsold: HashSet<(u32, Date)>,
    /// The departures as the ledger has them.
    listed: Vec<KeptDeparture>,
}

impl KeptIds {
    /// Returns whether a departure of one of these trips keeps its id.
    pub(super) fn has_any(&self, trips: &[u32]) -> bool {
        !self.trips.is_empty() && trips.iter().any(|trip| self.trips.contains(trip))
    }
}

/// The trips of each train.
#[derive(Debug, Default)]
pub(super) struct TrainTrips {
    /// By the slug of the train's code.
    by_train: HashMap<String, Vec<u32>>,
    /// Trips whose ids have the same slug as the id of another trip of the train.
    alike: HashSet<u32>,
}

/// Makes a part of a slug from a name: lower case, with `-` for anything but letters and digits. If
/// the part would be too long, or if letters would be lost, it ends in a digest of the whole name,
/// so that it stays unique.
#[must_use]
pub fn slug(name: &str, chars_max: usize) -> String {
    let text = lower_case_slug(name);
    let is_kept = |char: char| char.is_ascii_alphanumeric() || !char.is_alphanumeric();
    if !text.is_empty() && text.len() <= chars_max && name.chars().all(is_kept) {
        return text;
    }
    digest_slug(name, chars_max)
}

fn lower_case_slug(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for char in name.chars() {
        if char.is_ascii_alphanumeric() {
            text.push(char.to_ascii_lowercase());
        } else if !text.is_empty() && !text.ends_with('-') {
            text.push('-');
        }
    }
    text.truncate(text.trim_end_matches('-').len());
    text
}

/// Makes a part of a slug that ends in a digest of the whole name.
fn digest_slug(name: &str, chars_max: usize) -> String {
    let text = lower_case_slug(name);
    let digest = hex::encode(&Sha256::digest(name)[..4]);
    let beginning = &text[..text.len().min(chars_max - digest.len() - 1)];
    if beginning.is_empty() {
        return digest;
    }
    format!("{}-{digest}", beginning.trim_end_matches('-'))
}

impl TrainTrips {
    pub(super) fn new(trips: &[Trip]) -> Self {
        let mut by_train: HashMap<String, Vec<u32>> = HashMap::new();
        for (trip, at) in trips.iter().zip(0_u32..) {
            let train = by_train.entry(slug(&trip.train, TRAIN_MAX)).or_default();
            train.push(at);
        }
        let mut alike = HashSet::new();
        for train in by_train.values() {
            let mut seen = HashMap::new();
            for at in train {
                if let Some(other) = seen.insert(slug(&trips[*at as usize].id, TRIP_MAX), *at) {
                    alike.extend([*at, other]);
                }
            }
        }
        Self { by_train, alike }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Vec<u32>)> {
        self.by_train.iter()
    }
}

impl Timetable {
    /// Returns the timetable with the ids that departures keep.
    ///
    /// # Errors
    /// If the timetable has no trip of this id.
    pub fn with_kept_ids(mut self, kept: Vec<KeptDeparture>) -> Result<Self, TimetableError> {
        let of = |kept: &'_ KeptDeparture| {
            kept.trip
                .iter()
                .chain(&kept.unsold)
                .cloned()
                .collect::<Vec<_>>()
        };
        let wanted: HashSet<String> = kept.iter().flat_map(of).collect();
        let trips = self.parts.trips.iter().zip(0_u32..);
        let trips = trips.filter(|(trip, _)| wanted.contains(trip.id.as_str()));
        let trips: HashMap<&str, u32> = trips.map(|(trip, at)| (trip.id.as_str(), at)).collect();
        let mut ids = KeptIds::default();
        for (position, departure) in kept.iter().enumerate() {
            let known = |trip: &String| {
                let dangling = TimetableError::Dangling {
                    what: "kept departure",
                    at: position,
                };
                trips.get(trip.as_str()).copied().ok_or(dangling)
            };
            let trip = departure.trip.as_ref().map(known).transpose()?;
            let runs = trip.map(|trip| (trip, departure.date));
            if let Some(runs) = runs {
                ids.by_departure.insert(runs, departure.show.clone());
                ids.trips.insert(runs.0);
            }
            ids.by_show.insert(departure.show.clone(), runs);
            for trip in &departure.unsold {
                ids.unsold.insert((known(trip)?, departure.date));
            }
        }
        ids.listed = kept;
        self.kept = ids;
        Ok(self)
    }

    /// Returns the departures that keep their ids from earlier timetables.
    #[must_use]
    pub fn kept_departures(&self) -> &[KeptDeparture] {
        &self.kept.listed
    }

    /// Returns the id of a trip's departure on a date: the id that the departure keeps, or else
    /// `g1-2026-11-21`. The trip's id is appended if other trips of the same train run on that
    /// date, or if another departure keeps that id. Returns `None` for a departure that is not
    /// sold.
    #[must_use]
    pub fn show_id(&self, trip: u32, date: Date) -> Option<ShowId> {
        if self.kept.unsold.contains(&(trip, date)) {
            return None;
        }
        if let Some(kept) = self.kept.by_departure.get(&(trip, date)) {
            return Some(kept.clone());
        }
        let trip_details = self.trips.get(trip as usize)?;
        let train = slug(&trip_details.train, TRAIN_MAX);
        let runs = |at: &&u32| {
            let trip = &self.trips[**at as usize];
            self.services[trip.service as usize].runs_on(date)
        };
        let is_free = |id: &ShowId| !self.kept.by_show.contains_key(id);
        if self
            .trains
            .by_train
            .get(&train)?
            .iter()
            .filter(runs)
            .count()
            < 2
        {
            let id: ShowId = format!("{train}-{date}").parse().ok()?;
            if is_free(&id) {
                return Some(id);
            }
        }
        let of_trip = if self.trains.alike.contains(&trip) {
            digest_slug(&trip_details.id, TRIP_MAX)
        } else {
            slug(&trip_details.id, TRIP_MAX)
        };
        let id: ShowId = format!("{train}-{date}-{of_trip}").parse().ok()?;
        if is_free(&id) {
            return Some(id);
        }
        // A departure that kept this id has another trip now, which has this trip's earlier id.
        let mut numbers = 2_u32..;
        numbers.find_map(|number| {
            let of_trip = digest_slug(&format!("{} {number}", trip_details.id), TRIP_MAX);
            let id: ShowId = format!("{train}-{date}-{of_trip}").parse().ok()?;
            is_free(&id).then_some(id)
        })
    }

    /// Returns the trip and the date for a show's id, if the departure runs.
    #[must_use]
    pub fn trip_of_show(&self, id: &ShowId) -> Option<(u32, Date)> {
        if let Some(kept) = self.kept.by_show.get(id) {
            return *kept;
        }
        let text = id.as_str();
        // The date may be anywhere in the id, because a train's code may contain hyphens and
        // digits.
        let dates = text.match_indices('-').filter_map(|(at, _)| {
            let date: Date = text.get(at + 1..at + 11)?.parse().ok()?;
            Some((text.get(..at)?, date))
        });
        let mut trips = dates.flat_map(|(train, date)| {
            let trips = self.trains.by_train.get(train).into_iter().flatten();
            trips.map(move |trip| (*trip, date))
        });
        trips.find(|(trip, date)| {
            let service = self.trips[*trip as usize].service;
            self.services[service as usize].runs_on(*date)
                && self.show_id(*trip, *date).as_ref() == Some(id)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_names_become_different_slugs() {
        for (name, expected) in [
            ("G1", "g1"),
            ("C2901/C2904", "c2901-c2904"),
            (" S 7 ", "s-7"),
        ] {
            assert_eq!(slug(name, TRAIN_MAX), expected);
        }
        let long = slug("a-very-long-name-of-a-train-indeed", TRAIN_MAX);
        assert!(
            long.len() <= TRAIN_MAX && long.starts_with("a-very-long-nam"),
            "{long}"
        );
        let (one, other) = (slug("早班", TRAIN_MAX), slug("晚班", TRAIN_MAX));
        assert_ne!(one, other);
        assert_eq!(one.len(), 8);
        assert!(slug("Ž1", TRAIN_MAX) != slug("Š1", TRAIN_MAX));
    }
}
