//! What people call the venues, and whose clocks hang there: told by whoever knows (a cinema
//! programme knows its halls, a timetable its zone), for pages, tickets and calendars.

use std::collections::HashMap;
use std::sync::Arc;

use fairgate_model::ids::VenueId;
use fairgate_model::shows::Show;

use super::{Catalogue, read, write};

/// Where a show takes place, in words; what nobody told is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VenueLocation {
    /// As people say it: "Picture House, Screen 1".
    pub name: Option<String>,
    /// The IANA name of the zone that the clocks there show.
    pub time_zone: Option<String>,
}

/// Places by their venues.
pub type VenueLocations = HashMap<VenueId, VenueLocation>;

impl Catalogue {
    /// Takes these places in place of those known before.
    pub fn know_places(&self, places: VenueLocations) {
        *write(&self.shared.places) = Arc::new(places);
    }

    /// Where a show takes place.
    #[must_use]
    pub fn place_of(&self, show: &Show) -> VenueLocation {
        if let Some(run) = &show.run {
            // A train's venue is its kind of carriages: no place that anybody could go to.
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
