//! The names of the venues and their time zones, for pages, tickets and calendars. A cinema
//! programme has both for its halls. A timetable has only the time zone of its trains.

use std::collections::HashMap;
use std::sync::Arc;

use fairgate_model::ids::VenueId;
use fairgate_model::shows::Show;

use super::{Catalogue, read, write};

/// Where a show takes place, as text. A field is `None` where nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VenueLocation {
    /// The name for people: "Picture House, Screen 1".
    pub name: Option<String>,
    /// The local time zone, as IANA names it.
    pub time_zone: Option<String>,
}

/// The locations of venues.
pub type VenueLocations = HashMap<VenueId, VenueLocation>;

impl Catalogue {
    /// Replaces the locations of all venues.
    pub fn know_places(&self, places: VenueLocations) {
        *write(&self.shared.places) = Arc::new(places);
    }

    /// Returns where a show takes place.
    #[must_use]
    pub fn place_of(&self, show: &Show) -> VenueLocation {
        if let Some(run) = &show.run {
            // A train's venue is its kind of carriages, which is no location.
            return VenueLocation {
                name: None,
                time_zone: run.time_zone.clone(),
            };
        }
        let places = Arc::clone(&read(&self.shared.places));
        places
            .get(&show.document.venue)
            .cloned()
            .unwrap_or_default()
    }
}
