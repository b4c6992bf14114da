//! What a programme is made of, once it was read: checked, flat, and in the form that the ledger
//! keeps.

use std::collections::BTreeMap;

use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::money::Currency;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// A whole programme. Parts name each other by their ids, and no name is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Programme {
    /// ISO 4217, of all prices.
    pub currency: Currency,
    /// The cities.
    pub cities: Vec<City>,
    /// The cinemas of all cities.
    pub cinemas: Vec<Cinema>,
    /// The halls of all cinemas.
    pub halls: Vec<Hall>,
    /// The films.
    pub films: Vec<Film>,
    /// The showings.
    pub showings: Vec<Showing>,
}

impl Default for Programme {
    fn default() -> Self {
        Self {
            currency: Currency::EUR,
            cities: Vec::new(),
            cinemas: Vec::new(),
            halls: Vec::new(),
            films: Vec::new(),
            showings: Vec::new(),
        }
    }
}

/// A city.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct City {
    /// Its slug.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its country, as the programme writes it.
    pub country: Option<String>,
    /// The IANA name of the zone that its days are counted in.
    pub time_zone: String,
}

/// A cinema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cinema {
    /// Its slug.
    pub id: String,
    /// The city's slug.
    pub city: String,
    /// Its name.
    pub name: String,
    /// Street and number.
    pub address: String,
    /// The postal code, as it is written there.
    pub postal_code: String,
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lon: f64,
}

/// A hall, which is a venue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hall {
    /// Its slug, the venue's.
    pub id: VenueId,
    /// The cinema's slug.
    pub cinema: String,
    /// What stands at its door.
    pub name: String,
    /// Its plan; without one the venue is there already, and keeps its newest.
    pub plan: Option<String>,
    /// Where it stands in the document it was read from.
    #[serde(skip)]
    pub at: String,
}

/// A film.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Film {
    /// Its slug.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it is about; may be empty.
    pub description: String,
    /// How long it is, in seconds.
    pub duration_s: u32,
    /// Its genre, as the programme writes it.
    pub genre: Option<String>,
    /// The language it is shown in.
    pub language: Option<String>,
    /// When it came out.
    pub release_date: Option<Date>,
    /// Where it was made.
    pub country: Option<String>,
}

/// A showing, which is a show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Showing {
    /// The show's slug.
    pub show: ShowId,
    /// The film's slug.
    pub film: String,
    /// The hall's slug.
    pub hall: VenueId,
    /// When it begins.
    pub starts_at: Timestamp,
    /// Minor units by category key or label of the hall's plan.
    pub prices: BTreeMap<String, i64>,
    /// Where it stands in the document it was read from.
    #[serde(skip)]
    pub at: String,
}
