//! Reads and checks a request to join the waitlist. A party waits for seats of a hall, or for seats
//! of one class of a train between two stations.

use std::collections::BTreeMap;

use fairgate_model::choosing::BestSeatsWishFault;
use fairgate_model::shows::Show;
use fairgate_model::waiters::{WaitlistParty, WaitlistStretch};
use serde::Deserialize;

use crate::holds::stretch::{StretchRefusal, WantedRide, class_of, legs_of};

/// Why a party cannot join the waitlist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitRefusal {
    /// The party wants more seats than one visitor may have.
    #[error("{asked} seats where {limit} are allowed")]
    TooManySeats {
        /// Seats asked for.
        asked: u64,
        /// The show's limit.
        limit: u32,
    },
    /// The stretch or the class that the party wants does not exist, is not sold, or is no longer
    /// sold.
    #[error(transparent)]
    Stretch(#[from] StretchRefusal),
    /// A class was asked for, but the show is not a train.
    #[error("a class of a hall")]
    ClassOfHall,
    /// This field cannot be used on a train.
    #[error("{0} on a train")]
    NotOnTrains(&'static str),
    /// The party wants no seat.
    #[error("best.quantity is 0")]
    PartyOfNobody,
    /// The party's wish contradicts itself.
    #[error(transparent)]
    BadWish(#[from] BestSeatsWishFault),
}

/// `POST /v1/shows/{show}/waitlist`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WaitAsk)]
pub struct WaitlistJoinRequest {
    /// How many seats.
    quantity: u32,
    /// Category keys or labels. Seats of any of them will do. If absent, seats of all categories
    /// will do.
    categories: Option<Vec<String>>,
    /// How many of the seats are for wheelchairs.
    accessible: Option<u32>,
    /// Rail: the class, by its key or label.
    class: Option<String>,
    /// Rail: where the journey begins, by the code of a station.
    from: Option<String>,
    /// Rail: where the journey ends, by the code of a station.
    to: Option<String>,
}

impl WaitlistJoinRequest {
    /// Checks the request, and returns the party that it describes. All categories, classes and
    /// stations that the request names must exist in the show.
    ///
    /// # Errors
    /// [`WaitRefusal`].
    pub fn party(self, show: &Show, now_ms: i64) -> Result<WaitlistParty, WaitRefusal> {
        let limit = show.document.seats_per_visitor;
        if self.quantity > limit {
            let asked = u64::from(self.quantity);
            return Err(WaitRefusal::TooManySeats { asked, limit });
        }
        match show.run {
            Some(_) => self.party_on_train(show, now_ms),
            None => self.party_in_hall(show, now_ms),
        }
    }

    /// Returns the ride that the party waits for. If the train goes from the one station to the
    /// other more than once, the party waits for the first ride, because the waitlist stores only
    /// the stations of a party.
    fn ride(&self, show: &Show) -> WantedRide<'_> {
        let (from, to) = (self.from.as_deref(), self.to.as_deref());
        let first = show.run.as_ref().and_then(|run| {
            let legs = run.between(from?, to?)?;
            run.departs_at(&legs)
        });
        WantedRide {
            from,
            to,
            departs: first,
        }
    }

    fn party_in_hall(self, show: &Show, now_ms: i64) -> Result<WaitlistParty, WaitRefusal> {
        legs_of(show, self.ride(show), now_ms)?;
        if self.class.is_some() {
            return Err(WaitRefusal::ClassOfHall);
        }
        let party = WaitlistParty {
            quantity: self.quantity,
            categories: self.categories.clone().unwrap_or_default(),
            accessible: self.accessible.unwrap_or(0),
            stretch: None,
        };
        let ask = party.best_seats_request(self.categories);
        ask.resolve(&show.plan.map, &BTreeMap::new())?;
        Ok(party)
    }

    fn party_on_train(self, show: &Show, now_ms: i64) -> Result<WaitlistParty, WaitRefusal> {
        for (field, set) in [
            ("categories", self.categories.is_some()),
            ("accessible", self.accessible.is_some()),
        ] {
            if set {
                return Err(WaitRefusal::NotOnTrains(field));
            }
        }
        if self.quantity == 0 {
            return Err(WaitRefusal::PartyOfNobody);
        }
        let legs = legs_of(show, self.ride(show), now_ms)?;
        let class = class_of(show, &legs, self.class.as_deref(), "class")?;
        let class = show.plan.map.categories.get(usize::from(class));
        let stretch = class.zip(self.from).zip(self.to);
        Ok(WaitlistParty {
            quantity: self.quantity,
            categories: Vec::new(),
            accessible: 0,
            stretch: stretch.map(|((class, from), to)| WaitlistStretch {
                class: class.key.clone(),
                from,
                to,
            }),
        })
    }
}
