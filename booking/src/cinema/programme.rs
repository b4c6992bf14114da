//! A programme after it was read and checked. It consists of flat lists. The ledger stores it in
//! this form.

use std::collections::BTreeMap;

use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::money::Currency;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// A whole programme. Its parts refer to each other by their ids. All these ids exist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Programme {
    /// The currency of all prices.
    pub currency: Currency,
    /// All cities.
    pub cities: Vec<City>,
    /// The cinemas of all cities.
    pub cinemas: Vec<Cinema>,
    /// The halls of all cinemas.
    pub halls: Vec<Hall>,
    /// All films.
    pub films: Vec<Film>,
    /// All showings.
    pub showings: Vec<Showing>,
    /// Showings of earlier programmes that are not in this one and have not begun. Nothing more is
    /// sold of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutShowing>,
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
            left_out: Vec::new(),
        }
    }
}

/// A city with cinemas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct City {
    /// Its slug.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its country, as the programme writes it.
    pub country: Option<String>,
    /// The IANA name of the time zone in which its days are counted.
    pub time_zone: String,
}

/// A cinema of a city.
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
    /// The postal code, as people write it in that country.
    pub postal_code: String,
    /// Degrees north of the equator.
    pub lat: f64,
    /// Degrees east of Greenwich.
    pub lon: f64,
}

/// A hall of a cinema. Each hall is a venue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hall {
    /// Its slug, which is also the venue's.
    pub id: VenueId,
    /// The cinema's slug.
    pub cinema: String,
    /// The name on its door.
    pub name: String,
    /// The specification of its plan, such as `grid:10x12`. `None` if the venue exists already and
    /// keeps its newest plan.
    pub plan: Option<String>,
    /// Where the hall's best seats are, as a share of the hall's depth, from 0 at the screen to 1
    /// at the back. `None` if the programme does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focal_depth: Option<f32>,
    /// The hall's path in the programme's document.
    #[serde(skip)]
    pub at: String,
}

/// A film of the programme.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Film {
    /// Its slug.
    pub id: String,
    /// Its title.
    pub title: String,
    /// A description, which may be empty.
    pub description: String,
    /// Its length in seconds.
    pub duration_s: u32,
    /// Its genre, as the programme writes it.
    pub genre: Option<String>,
    /// The language of its showings. A showing may have its own.
    pub language: Option<String>,
    /// The version of its showings, such as dubbed, subtitled or in 3D. A showing may have its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The age rating of its showings. A showing may have its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<String>,
    /// The day of its release.
    pub release_date: Option<Date>,
    /// The country in which it was made.
    pub country: Option<String>,
}

/// A showing of a film. Each showing is a show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Showing {
    /// The show's slug. In a document that was only read, it is the showing's own id or, if it has
    /// none, an id that is made from its hall and its beginning.
    pub show: ShowId,
    /// The id under which the document lists the showing, if the show has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_as: Option<ShowId>,
    /// Whether the document gives it an id.
    #[serde(skip)]
    pub has_own_id: bool,
    /// The film's slug.
    pub film: String,
    /// The hall's slug.
    pub hall: VenueId,
    /// When the showing begins.
    pub starts_at: Timestamp,
    /// The language of this showing, if the programme gives it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The version of this showing, if the programme gives it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The age rating of this showing, if the programme gives it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<String>,
    /// Prices in minor units, by category key or seat label of the hall's plan.
    pub prices: BTreeMap<String, i64>,
    /// The showing's path in the programme's document.
    #[serde(skip)]
    pub at: String,
}

/// A showing of an earlier programme that is not in this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutShowing {
    /// The show's slug.
    pub show: ShowId,
    /// The id under which documents listed it.
    pub listed_as: ShowId,
    /// The film's slug.
    pub film: String,
    /// When it begins, as the last document said that had it.
    pub listed_start: Timestamp,
    /// Whether somebody decided that it goes on as it was sold.
    pub is_kept: bool,
}
