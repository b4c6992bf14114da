//! What is sold of shows, and the shows about which a person must decide before something is
//! imported.

use std::fmt;

use fairgate_model::counted::counted;
use fairgate_model::ids::ShowId;
use fairgate_model::money::Currency;
use serde::Serialize;

/// What is sold of a show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SoldFigures {
    /// How many people have orders.
    pub buyers: u64,
    /// How many tickets are valid.
    pub tickets: u64,
    /// What buyers paid for the seats that they still have, in minor units.
    pub paid: i64,
}

/// A show about which a person must decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UndecidedShow {
    /// The show.
    pub show: ShowId,
    /// Why the import does not surely have it, in one sentence.
    pub why: String,
    /// What is sold of it.
    #[serde(flatten)]
    pub sold: SoldFigures,
    /// The currency of what was paid.
    pub currency: Currency,
}

impl fmt::Display for UndecidedShow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            show,
            why,
            sold,
            currency,
        } = self;
        if *sold == SoldFigures::default() {
            return write!(f, "{show}: {why}");
        }
        let tickets = counted(sold.tickets, "ticket", "tickets");
        let buyers = counted(sold.buyers, "buyer", "buyers");
        let paid = currency.with_amount(sold.paid);
        write!(f, "{show} ({tickets}, {buyers}, {paid} paid): {why}")
    }
}

/// Some shows, and what is sold of them together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ChangedShows {
    /// How many shows.
    pub shows: u64,
    /// How many tickets they have together.
    pub tickets: u64,
    /// How many people have orders, counted once for each show.
    pub buyers: u64,
    /// What buyers paid and did not get back, in minor units.
    pub paid: i64,
}

impl ChangedShows {
    /// Counts one more show.
    pub fn add(&mut self, sold: SoldFigures) {
        self.shows += 1;
        self.tickets += sold.tickets;
        self.buyers += sold.buyers;
        self.paid += sold.paid;
    }
}
