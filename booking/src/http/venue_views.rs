//! Where a show takes place, as answers about shows, orders and tickets show it.

use fairgate_model::venues::VenueLocation;
use serde::Serialize;

/// Where a show takes place. Each field is null where nobody told.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub struct VenueLocationView {
    /// The venue's name for people.
    venue_name: Option<String>,
    /// The street and the number.
    address: Option<String>,
    city: Option<String>,
    /// The IANA name of the zone whose clocks the show goes by.
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
