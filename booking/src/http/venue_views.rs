//! The place of a show, as a part of answers about shows, orders and tickets.

use fairgate_model::venues::VenueLocation;
use serde::Serialize;

/// Where a show takes place. A field is null if it is not known.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub struct VenueLocationView {
    /// The venue's name for people.
    venue_name: Option<String>,
    /// The street and the number.
    address: Option<String>,
    city: Option<String>,
    /// The IANA name of the show's time zone.
    time_zone: Option<String>,
}

impl From<VenueLocation> for VenueLocationView {
    fn from(location: VenueLocation) -> Self {
        Self {
            venue_name: location.name,
            address: location.address,
            city: location.city,
            time_zone: location.time_zone,
        }
    }
}
