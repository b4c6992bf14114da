//! Resolves the two stations of a journey into legs of the train, and checks that seats and a class
//! are still sold on these legs. A show without stops has one leg and no stations.

use std::ops::Range;

use fairgate_model::runs::{StationCall, TrainRun};
use fairgate_model::shows::Show;
use jiff::Timestamp;

/// How many characters of an unknown station code are repeated in an error, at most.
const CODE_SHOWN_MAX: usize = 40;

/// How many characters of an unknown class are repeated in an error, at most.
const CLASS_SHOWN_MAX: usize = 80;

/// Why seats for a stretch are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StretchRefusal {
    /// The show has no stops, but this field names one.
    #[error("{0}: the show has no stops")]
    NoStops(&'static str),
    /// A field that names a station is missing.
    #[error("{field} is missing: name the station where the journey {what}")]
    StationMissing {
        /// `from` or `to`.
        field: &'static str,
        /// `begins` or `ends`.
        what: &'static str,
        /// The train's code.
        train: String,
        /// The codes of its stations, in order.
        stations: Vec<String>,
    },
    /// The train does not call at the station.
    #[error("{field}: {train} does not call at {shown}")]
    StationUnknown {
        /// `from` or `to`.
        field: &'static str,
        /// The station as the request named it, shortened.
        shown: String,
        /// The train's code.
        train: String,
        /// The codes of its stations, in order.
        stations: Vec<String>,
    },
    /// The train calls at both stations, but does not go from one to the other.
    #[error("{train} does not go from {from} to {to}")]
    OtherWay {
        /// The train's code.
        train: String,
        /// The station where the journey should begin.
        from: String,
        /// The station where the journey should end.
        to: String,
        /// The codes of its stations, in order.
        stations: Vec<String>,
    },
    /// Nobody may get on, or off, at a station of the journey.
    #[error("{field}: nobody may get {what} {train} at {station}")]
    NotServed {
        /// `from` or `to`.
        field: &'static str,
        /// `on` or `off`.
        what: &'static str,
        /// The train's code.
        train: String,
        /// The station's code.
        station: String,
    },
    /// The train makes this journey, but it leaves at other times.
    #[error("departs: {train} does not leave at {departs}")]
    OtherTime {
        /// The train's code.
        train: String,
        /// The time that the request named.
        departs: Timestamp,
        /// The times at which it leaves.
        leaves: Vec<Timestamp>,
    },
    /// The train has already left the first station of the journey.
    #[error("{train} has left {station}")]
    Departed {
        /// The train's code.
        train: String,
        /// The station's code.
        station: String,
    },
    /// The show's sale has ended.
    #[error("{title} was sold until {since}")]
    SalesEnded {
        /// The show's title.
        title: String,
        /// When the sale ended.
        since: Timestamp,
    },
    /// No class was named, or the class is not sold over the stretch.
    #[error("{field}: {} is not sold", .shown.as_ref().map_or_else(|| "a journey without a class".to_owned(), |class| format!("the class {class}")))]
    NoSuchClass {
        /// The field that names the class, or should name it.
        field: &'static str,
        /// The class as the request named it, shortened. `None` if the request named no class.
        shown: Option<String>,
        /// The classes that are sold.
        sold: Vec<String>,
    },
}

impl StretchRefusal {
    /// Returns whether the reason is only that the call came too late.
    #[must_use]
    pub fn is_too_late(&self) -> bool {
        matches!(self, Self::Departed { .. } | Self::SalesEnded { .. })
    }
}

/// The ride on a train that somebody wants. For a show without stops, all three fields are `None`.
#[derive(Debug, Clone, Copy, Default)]
pub struct WantedRide<'a> {
    /// The code of the station where it begins.
    pub from: Option<&'a str>,
    /// The code of the station where it ends.
    pub to: Option<&'a str>,
    /// When the train leaves the first station, if it calls there more than once. If `None`, the
    /// ride is the first one that is still sold.
    pub departs: Option<Timestamp>,
}

/// Returns the legs of a ride, or the only leg of a show without stops.
///
/// # Errors
/// [`StretchRefusal`], including the errors of [`on_sale`].
pub fn legs_of(
    show: &Show,
    ride: WantedRide<'_>,
    now_ms: i64,
) -> Result<Range<u16>, StretchRefusal> {
    let WantedRide { from, to, departs } = ride;
    let Some(run) = &show.run else {
        for (field, set) in [
            ("from", from.is_some()),
            ("to", to.is_some()),
            ("departs", departs.is_some()),
        ] {
            if set {
                return Err(StretchRefusal::NoStops(field));
            }
        }
        let legs = show.legs();
        return on_sale(show, &legs, now_ms).map(|()| legs);
    };
    let from = require_station(run, "from", from, "begins")?;
    let to = require_station(run, "to", to, "ends")?;
    let rides = run.rides(from, to);
    let Some(first) = rides.first() else {
        return Err(no_ride(run, from, to));
    };
    let legs = match departs {
        Some(departs) => {
            let leaves = |legs: &Range<u16>| run.departs_at(legs);
            let at_time = rides.iter().find(|legs| leaves(legs) == Some(departs));
            at_time.ok_or_else(|| StretchRefusal::OtherTime {
                train: run.train.clone(),
                departs,
                leaves: rides.iter().filter_map(leaves).collect(),
            })?
        }
        None => {
            let sold = |legs: &&Range<u16>| !show.sale_has_ended(legs, now_ms);
            rides.iter().find(sold).unwrap_or(first)
        }
    };
    on_sale(show, legs, now_ms).map(|()| legs.clone())
}

/// Returns why nobody can ride from one station of a train to another.
fn no_ride(run: &TrainRun, from: &str, to: &str) -> StretchRefusal {
    let no_call_allows = |station: &str, forbidden: fn(&StationCall) -> bool| {
        let mut calls = run.calls.iter().filter(|call| call.station == station);
        calls.all(forbidden)
    };
    let not_served = |field, what, station: &str| StretchRefusal::NotServed {
        field,
        what,
        train: run.train.clone(),
        station: station.to_owned(),
    };
    if no_call_allows(from, |call| call.no_boarding) {
        not_served("from", "on", from)
    } else if no_call_allows(to, |call| call.no_alighting) {
        not_served("to", "off", to)
    } else {
        StretchRefusal::OtherWay {
            train: run.train.clone(),
            from: from.to_owned(),
            to: to.to_owned(),
            stations: stations(run),
        }
    }
}

/// Checks that seats are still sold on these legs.
///
/// # Errors
/// [`StretchRefusal::Departed`] if the train has left the first station,
/// [`StretchRefusal::SalesEnded`] if the show's sale has ended.
pub fn on_sale(show: &Show, legs: &Range<u16>, now_ms: i64) -> Result<(), StretchRefusal> {
    if !show.sale_has_ended(legs, now_ms) {
        return Ok(());
    }
    let has_left = |departs: Timestamp| departs.as_millisecond() <= now_ms;
    let call = show.run.as_ref().and_then(|run| {
        let call = run.calls.get(usize::from(legs.start))?;
        show.departs_at(legs).filter(|departs| has_left(*departs))?;
        Some((run, call))
    });
    if let Some((run, StationCall { station, .. })) = call {
        return Err(StretchRefusal::Departed {
            train: run.train.clone(),
            station: station.clone(),
        });
    }
    Err(StretchRefusal::SalesEnded {
        title: show.document.title.clone(),
        since: show.sells_until(legs),
    })
}

/// Finds a class by its key or label, if the class is sold on these legs. `field` is the field that
/// names the class.
///
/// # Errors
/// [`StretchRefusal::NoSuchClass`].
pub fn class_of(
    show: &Show,
    legs: &Range<u16>,
    named: Option<&str>,
    field: &'static str,
) -> Result<u16, StretchRefusal> {
    let map = &show.plan.map;
    let is_sold = |key: &str| {
        let run = show.run.as_ref();
        run.is_some_and(|run| run.fare(key, legs).is_some())
    };
    let no_such_class = |shown: Option<String>| StretchRefusal::NoSuchClass {
        field,
        shown,
        sold: map
            .categories
            .iter()
            .map(|category| category.key.clone())
            .filter(|key| is_sold(key))
            .collect(),
    };
    let named = named.ok_or_else(|| no_such_class(None))?;
    let class = map.category_index(named).filter(|class| {
        let category = map.categories.get(usize::from(*class));
        category.is_some_and(|category| is_sold(&category.key))
    });
    class.ok_or_else(|| no_such_class(Some(named.chars().take(CLASS_SHOWN_MAX).collect())))
}

fn require_station<'a>(
    run: &TrainRun,
    field: &'static str,
    code: Option<&'a str>,
    what: &'static str,
) -> Result<&'a str, StretchRefusal> {
    let code = code.ok_or_else(|| StretchRefusal::StationMissing {
        field,
        what,
        train: run.train.clone(),
        stations: stations(run),
    })?;
    if run.calls.iter().any(|call| call.station == code) {
        return Ok(code);
    }
    Err(StretchRefusal::StationUnknown {
        field,
        shown: code.chars().take(CODE_SHOWN_MAX).collect(),
        train: run.train.clone(),
        stations: stations(run),
    })
}

fn stations(run: &TrainRun) -> Vec<String> {
    run.calls.iter().map(|call| call.station.clone()).collect()
}
