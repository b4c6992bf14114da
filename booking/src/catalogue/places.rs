//! Where the venues are, for pages, tickets and calendars. Promoters describe venues together with
//! their plans, and a cinema programme describes its halls. For trains, only the time zone of
//! their first station is known.

use std::collections::HashMap;

use fairgate_model::ids::VenueId;
use fairgate_model::shows::Show;
use fairgate_model::venues::VenueLocation;

use super::Catalogue;

/// The locations of venues.
pub type VenueLocations = HashMap<VenueId, VenueLocation>;

impl Catalogue {
    /// Replaces the locations of all halls of the cinema programme.
    pub fn set_hall_locations(&self, halls: VenueLocations) {
        *self.shared.halls.write() = halls;
        self.shared.edition.advance();
    }

    /// Returns whether a show is in a hall of the cinema programme. Such halls have a screen.
    #[must_use]
    pub fn has_screen(&self, show: &Show) -> bool {
        show.run.is_none() && self.shared.halls.read().contains_key(&show.document.venue)
    }

    /// Returns where a show takes place, as far as it is known.
    #[must_use]
    pub fn place_of(&self, show: &Show) -> VenueLocation {
        if let Some(run) = &show.run {
            // A train's venue is its kind of carriages, which has no location. It begins at its
            // first station.
            let first = run.calls.first().and_then(|call| run.zone_at(call));
            return VenueLocation {
                time_zone: first.map(ToOwned::to_owned),
                ..VenueLocation::default()
            };
        }
        let venue = &show.document.venue;
        let venue_location = self.shared.venues.read().get(venue).cloned();
        let venue_location = venue_location.unwrap_or_default();
        match self.shared.halls.read().get(venue) {
            Some(hall) => venue_location.or(hall),
            None => venue_location,
        }
    }
}
