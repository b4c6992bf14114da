//! Why seats are not held, changed or kept, as plain values. `http/refusals` words them.

use fairgate_databases::LedgerError;
use fairgate_model::choosing::BestSeatsWishFault;
use fairgate_model::holds::HoldPurpose;
use fairgate_model::ids::{HoldId, OrderId};

use super::stretch::StretchRefusal;

/// What a refused call leaves undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldRefusalOutcome {
    /// No seats were held.
    NothingHeld,
    /// A hold is as it was.
    HoldUnchanged,
}

/// Why a call for seats was refused; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum HoldRefusal {
    /// The stretch of a journey, or the class, is not sold or does not exist.
    #[error("the stretch cannot be had: {0}")]
    Stretch(StretchRefusal, HoldRefusalOutcome),
    /// The request itself is wrong.
    #[error("the request is wrong: {0}")]
    Request(#[from] HoldRequestFault),
    /// These seats have no price: their labels.
    #[error("seats are not for sale: {0:?}")]
    NotForSale(Vec<String>),
    /// The visitor would have more seats of the show than it may.
    #[error("the visitor has {have} seats, asked for {asked} and may have {limit}")]
    TooManySeats {
        /// Seats held and bought so far.
        have: u32,
        /// Seats asked for.
        asked: u64,
        /// The show's limit.
        limit: u32,
    },
    /// Enough places are free, but not together.
    #[error("no block of seats is free")]
    NoBlock,
    /// Fewer places are free than were asked for; so many more that fit are in baskets of others.
    #[error("too few places are free; {0} more are in baskets")]
    TooFewFree(usize),
    /// The choice would leave these seats single and empty.
    #[error("seats would be left single: {labels:?}")]
    WouldOrphan {
        /// Their labels.
        labels: Vec<String>,
        /// What may be held instead.
        suggestion: Option<Box<SeatSuggestion>>,
    },
    /// Somebody else has these seats.
    #[error("seats are taken: {labels:?}")]
    SeatsTaken {
        /// Their labels.
        labels: Vec<String>,
        /// Whether particular seats were asked for.
        asked_for_seats: bool,
        /// What may be held instead.
        suggestion: Option<Box<SeatSuggestion>>,
    },
    /// The hold has run out, or a restart forgot it.
    #[error("the hold has run out")]
    Expired,
    /// The hold is somebody else's.
    #[error("the hold is somebody else's")]
    NotYours,
    /// The hold was made for this, and serves nothing else.
    #[error("the hold was made for something else ({})", .0.as_str())]
    OtherPurpose(HoldPurpose),
    /// The hold has become an order.
    #[error("the hold has become an order")]
    Ordered,
    /// Seats to give back are not in the hold: their labels.
    #[error("seats are not in the hold: {0:?}")]
    NotInHold(Vec<String>),
    /// The hold was extended as often as the show allows.
    #[error("no extensions are left")]
    NoExtensionsLeft,
    /// The plan changed meanwhile.
    #[error("the plan has changed")]
    PlanChanged,
    /// Prices or rules changed after the hold was taken.
    #[error("the show's terms have changed")]
    TermsChanged,
    /// The show does not take place.
    #[error("the show is cancelled")]
    ShowCancelled,
    /// The visitor holds other seats of the same journey.
    #[error("{hold} has other seats of this journey")]
    JourneyHeld {
        /// Its hold.
        hold: HoldId,
        /// The labels of its seats.
        labels: Vec<String>,
    },
    /// An order of the visitor has seats of the same journey.
    #[error("{0} has seats of this journey")]
    JourneyOrdered(OrderId),
    /// The store is opening the show.
    #[error("the seats are being read")]
    NotReady,
    /// The store did not answer: the seats may have been held, and the same call again finds them.
    #[error("the seats cannot be reached")]
    Unreachable,
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What is wrong with a request for seats.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoldRequestFault {
    /// `again` is for journeys, and the show has none.
    #[error("again without journeys")]
    AgainWithoutJourneys,
    /// The best available was asked for together with named seats.
    #[error("best and named seats")]
    BestAndNamed,
    /// This version has no sales channels; the field that names one.
    #[error("{0}: no sales channels")]
    NoChannels(&'static str),
    /// A class was asked for, and the show is no train.
    #[error("a class of a hall")]
    ClassOfHall,
    /// The wish for the best available makes no sense.
    #[error(transparent)]
    BadWish(#[from] BestSeatsWishFault),
    /// No seat was asked for.
    #[error("no seat was asked for")]
    NothingAsked,
    /// A train has no areas.
    #[error("areas of a train")]
    AreasOfTrain,
    /// On a train the best available is not asked for by this field of `best`.
    #[error("best.{0} on a train")]
    NotOnTrains(&'static str),
    /// `best.quantity` is 0.
    #[error("a party of nobody")]
    PartyOfNobody,
    /// The quantity of an area is 0; its field.
    #[error("{0}: no quantity")]
    NoQuantity(String),
    /// The show has no seats or areas of these names.
    #[error("{field}: unknown {labels:?}")]
    UnknownSeats {
        /// Where they were named.
        field: String,
        /// As they were named.
        labels: Vec<String>,
    },
    /// A seat or an area was named twice.
    #[error("{field}: {label} is named twice")]
    NamedTwice {
        /// Where it was named for the second time.
        field: String,
        /// Which.
        label: String,
    },
    /// A standing place was asked for as if it were a seat.
    #[error("{field}: {label} is a standing place of {area}")]
    StandingPlace {
        /// Where it was named.
        field: String,
        /// Which.
        label: String,
        /// The area it is in.
        area: String,
    },
    /// A change that adds and removes nothing.
    #[error("nothing to change")]
    NothingToChange,
    /// A change that would leave the hold empty.
    #[error("nothing would be left")]
    NothingLeft,
}

/// Seats that may be held instead, in the form of a new request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatSuggestion {
    /// Seats by label.
    pub seats: Vec<String>,
    /// Standing places, by the label of their area and quantity.
    pub areas: Vec<(String, u32)>,
    /// On a train, the codes of the stations where the journey begins and ends.
    pub stretch: Option<(String, String)>,
}
