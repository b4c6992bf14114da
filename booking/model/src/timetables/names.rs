//! The ids of departures, which are the slugs of their shows: `{train}-{date}` or
//! `{train}-{date}-{trip}`.

use std::collections::HashMap;

use jiff::civil::Date;
use sha2::{Digest, Sha256};

use super::{Timetable, TimetableError, Trip};
use crate::ids::ShowId;

/// How many characters the train's part has, at most.
const TRAIN_MAX: usize = 24;
/// How many characters the trip's part has, at most. With the train's part and the date, the id
/// then fits into the 64 characters of a show's slug.
const TRIP_MAX: usize = 28;

/// Makes a part of a slug from a name: lower case, with `-` for anything but letters and digits. If
/// the part would be too long, or if letters would be lost, it ends in a digest of the whole name,
/// so that it stays unique.
#[must_use]
pub fn slug(name: &str, chars_max: usize) -> String {
    let mut text = String::with_capacity(name.len());
    for char in name.chars() {
        if char.is_ascii_alphanumeric() {
            text.push(char.to_ascii_lowercase());
        } else if !text.is_empty() && !text.ends_with('-') {
            text.push('-');
        }
    }
    let text = text.trim_end_matches('-');
    let is_kept = |char: char| char.is_ascii_alphanumeric() || !char.is_alphanumeric();
    if !text.is_empty() && text.len() <= chars_max && name.chars().all(is_kept) {
        return text.to_owned();
    }
    let digest = hex::encode(&Sha256::digest(name)[..4]);
    let beginning = &text[..text.len().min(chars_max - digest.len() - 1)];
    if beginning.is_empty() {
        return digest;
    }
    format!("{}-{digest}", beginning.trim_end_matches('-'))
}

pub(super) fn by_train(trips: &[Trip]) -> Result<HashMap<String, Vec<u32>>, TimetableError> {
    let mut by_train: HashMap<String, Vec<u32>> = HashMap::new();
    for (trip, at) in trips.iter().zip(0_u32..) {
        let train = by_train.entry(slug(&trip.train, TRAIN_MAX)).or_default();
        train.push(at);
    }
    for train in by_train.values() {
        let mut seen = HashMap::new();
        for at in train {
            let id = &trips[*at as usize].id;
            if let Some(other) = seen.insert(slug(id, TRIP_MAX), id) {
                return Err(TimetableError::SameShow(other.clone(), id.clone()));
            }
        }
    }
    Ok(by_train)
}

impl Timetable {
    /// Returns the id of a trip's departure on a date: `g1-2026-11-21`. If other trips of the same
    /// train run on that date, the trip's id is appended.
    #[must_use]
    pub fn show_id(&self, trip: u32, date: Date) -> Option<ShowId> {
        let trip_details = self.trips.get(trip as usize)?;
        let train = slug(&trip_details.train, TRAIN_MAX);
        let runs = |at: &&u32| {
            let trip = &self.trips[**at as usize];
            self.services[trip.service as usize].runs_on(date)
        };
        let alone = self.by_train.get(&train)?.iter().filter(runs).count() < 2;
        let id = if alone {
            format!("{train}-{date}")
        } else {
            format!("{train}-{date}-{}", slug(&trip_details.id, TRIP_MAX))
        };
        id.parse().ok()
    }

    /// Returns the trip and the date for a show's id, if the departure runs.
    #[must_use]
    pub fn trip_of_show(&self, id: &ShowId) -> Option<(u32, Date)> {
        let text = id.as_str();
        // The date may be anywhere in the id, because a train's code may contain hyphens and
        // digits.
        let dates = text.match_indices('-').filter_map(|(at, _)| {
            let date: Date = text.get(at + 1..at + 11)?.parse().ok()?;
            Some((text.get(..at)?, date))
        });
        let mut trips = dates.flat_map(|(train, date)| {
            let trips = self.by_train.get(train).into_iter().flatten();
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
