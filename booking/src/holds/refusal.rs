//! The reasons why a call that holds, changes, extends or orders seats is refused. `http/refusals`
//! turns these values into messages.

use fairgate_base::process::search_threads::SearchQueueFull;
use fairgate_databases::LedgerError;
use fairgate_model::choosing::BestSeatsWishFault;
use fairgate_model::holds::HoldPurpose;
use fairgate_model::ids::{HoldId, OrderId};
use jiff::Timestamp;

use super::stretch::StretchRefusal;

/// What a refused call left unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldRefusalOutcome {
    /// No seats were held.
    NothingHeld,
    /// An existing hold is unchanged.
    HoldUnchanged,
}

/// Why a call for seats was refused. Nothing was changed, except perhaps after
/// [`HoldRefusal::Unreachable`] and [`HoldRefusal::Ledger`].
#[derive(Debug, thiserror::Error)]
pub enum HoldRefusal {
    /// The stretch or the class does not exist, is not sold, or is no longer sold.
    #[error("the stretch is not available: {0}")]
    Stretch(StretchRefusal, HoldRefusalOutcome),
    /// The request itself is wrong.
    #[error("the request is wrong: {0}")]
    Request(#[from] HoldRequestFault),
    /// Seats that have no price, by their labels.
    #[error("seats are not for sale: {0:?}")]
    NotForSale(Vec<String>),
    /// The visitor would have more seats than the show's limit.
    #[error("the visitor has {have} seats, asked for {asked} and may have {limit}")]
    TooManySeats {
        /// Seats held and bought so far. It is 0 if the request alone exceeds the limit.
        have: u32,
        /// Seats asked for.
        asked: u64,
        /// The show's limit.
        limit: u32,
    },
    /// Enough seats are free, but not together.
    #[error("no block of seats is free")]
    NoBlock,
    /// Fewer seats are free than were asked for. The number says how many suitable seats are in
    /// baskets.
    #[error("too few places are free; {0} more are in baskets")]
    TooFewFree(usize),
    /// The choice would leave these seats single and empty.
    #[error("seats would be left single: {labels:?}")]
    WouldOrphan {
        /// The labels of those seats.
        labels: Vec<String>,
        /// What may be held instead.
        suggestion: Option<Box<SeatSuggestion>>,
    },
    /// Another visitor has these seats.
    #[error("seats are taken: {labels:?}")]
    SeatsTaken {
        /// The labels of the taken seats.
        labels: Vec<String>,
        /// What may be held instead.
        suggestion: Option<Box<SeatSuggestion>>,
    },
    /// The hold has run out, or was lost in a restart.
    #[error("the hold has run out")]
    Expired,
    /// The offer has run out or was given back, or there was no offer.
    #[error("the offer is over")]
    OfferOver,
    /// With the seats of the offer, the visitor has more seats than the show's limit.
    #[error("the visitor has {have} seats, is offered {offered} and may have {limit}")]
    OfferBeyondLimit {
        /// Seats held and bought, without those of the offer.
        have: u32,
        /// Seats of the offer.
        offered: u64,
        /// The show's limit.
        limit: u32,
    },
    /// The hold belongs to another visitor.
    #[error("the hold is somebody else's")]
    NotYours,
    /// The hold was made for this purpose and cannot be used for another.
    #[error("the hold was made for something else ({})", .0.as_str())]
    OtherPurpose(HoldPurpose),
    /// The hold has become an order.
    #[error("the hold has become an order")]
    Ordered,
    /// The call gives seats back that are not in the hold. The list has their labels.
    #[error("seats are not in the hold: {0:?}")]
    NotInHold(Vec<String>),
    /// The hold was extended as often as the show allows.
    #[error("no extensions are left")]
    NoExtensionsLeft,
    /// The show's plan changed after the seats were chosen.
    #[error("the plan has changed")]
    PlanChanged,
    /// The show's prices or rules changed after the hold was taken.
    #[error("the show's terms have changed")]
    TermsChanged,
    /// The show begins at another time than when the hold was taken.
    #[error("the show begins at another time")]
    TimeChanged,
    /// The show is cancelled.
    #[error("the show is cancelled")]
    ShowCancelled,
    /// The visitor holds other seats of the same journey.
    #[error("{hold} has other seats of this journey")]
    JourneyHeld {
        /// The visitor's hold.
        hold: HoldId,
        /// The labels of the hold's seats.
        labels: Vec<String>,
    },
    /// An order of the visitor has seats of the same journey.
    #[error("{0} has seats of this journey")]
    JourneyOrdered(OrderId),
    /// The store is still opening the show.
    #[error("the seats are being read")]
    NotReady,
    /// The store did not answer. The seats may have been held, and repeating the call finds them.
    #[error("the seats cannot be reached")]
    Unreachable,
    /// Too many calls wait until seats are chosen for them.
    #[error(transparent)]
    SearchesFull(#[from] SearchQueueFull),
    /// The room of the visitor's pass is over.
    #[error("the room {0} is over")]
    RoomOver(String),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What is wrong with a request for seats.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoldRequestFault {
    /// `again` was set, but the show has no stops.
    #[error("again without journeys")]
    AgainWithoutJourneys,
    /// Best available seats were asked for together with named seats or areas.
    #[error("best and named seats")]
    BestAndNamed,
    /// The field names a sales channel, which this version does not have.
    #[error("{0}: no sales channels")]
    NoChannels(&'static str),
    /// A class was asked for, but the show is not a train.
    #[error("a class of a hall")]
    ClassOfHall,
    /// A field of `best` has an unknown name or a value that is not allowed.
    #[error(transparent)]
    BadWish(#[from] BestSeatsWishFault),
    /// No seat was asked for.
    #[error("no seat was asked for")]
    NothingAsked,
    /// Areas were asked for, but a train has none.
    #[error("areas of a train")]
    AreasOfTrain,
    /// This field of `best` cannot be used on a train.
    #[error("best.{0} on a train")]
    NotOnTrains(&'static str),
    /// `best.quantity` is 0.
    #[error("best.quantity is 0")]
    PartyOfNobody,
    /// The quantity in this field of an area is 0.
    #[error("{0}: no quantity")]
    NoQuantity(String),
    /// The show has no seats or areas with these names.
    #[error("{field}: unknown {labels:?}")]
    UnknownSeats {
        /// The field that named them.
        field: String,
        /// The names in the request.
        labels: Vec<String>,
    },
    /// A seat or an area was named twice.
    #[error("{field}: {label} is named twice")]
    NamedTwice {
        /// The field that named it for the second time.
        field: String,
        /// The seat or area.
        label: String,
    },
    /// A standing place was asked for as if it were a seat.
    #[error("{field}: {label} is a standing place of {area}")]
    StandingPlace {
        /// The field that named it.
        field: String,
        /// The standing place.
        label: String,
        /// The area that it is in.
        area: String,
    },
    /// The change adds and removes nothing.
    #[error("nothing to change")]
    NothingToChange,
    /// The change gives back more seats than any hold has.
    #[error("remove names more than {0} seats")]
    TooManyRemoved(usize),
    /// The change would leave the hold empty.
    #[error("nothing would be left")]
    NothingLeft,
}

/// Seats that may be held instead, in the form of a new request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatSuggestion {
    /// Seats by label.
    pub seats: Vec<String>,
    /// Standing places: the label of an area, and how many places in it.
    pub areas: Vec<(String, u32)>,
    /// On a train, the codes of the stations where the journey begins and ends.
    pub stretch: Option<(String, String)>,
    /// When the ride begins, if the train makes this journey more than once.
    pub departs: Option<Timestamp>,
}
