//! Tickets: signed statements that each open one seat of one show. They are shown as a picture, put
//! into a calendar, and scanned at the door.

mod calendar;
pub mod render;

use std::sync::Arc;

use fairgate_model::ids::{ShowId, TicketId};
use fairgate_model::orders::Ticket;
use fairgate_pass::{Keyring, TicketClaims};
use sha2::{Digest, Sha256};

use crate::catalogue::Catalogue;
use crate::catalogue::places::VenueLocation;
use crate::ledger::{Ledger, LedgerError, TicketScanOutcome};
use crate::rail::journey::JourneySummary;

/// The desk where tickets are read and scanned.
#[derive(Clone)]
pub struct TicketDesk {
    /// The ledger that has the tickets.
    pub ledger: Arc<dyn Ledger>,
    /// The catalogue of their shows.
    pub catalogue: Catalogue,
    /// The keys that sign tickets.
    pub keyring: Keyring,
    /// Whether tickets are bought with play money.
    pub test: bool,
}

/// Why a ticket cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum TicketRefusal {
    /// There is no ticket with this id.
    #[error("there is no ticket {0}")]
    NoSuchTicket(String),
    /// The ticket's show is no longer in the catalogue.
    #[error("there is no show {0}")]
    NoSuchShow(ShowId),
    /// The signed ticket is too long for the code that doors read.
    #[error("the ticket does not fit a code")]
    TooLong,
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// A ticket with everything that is printed on it.
pub struct PrintedTicket {
    /// The ticket's row in the ledger.
    pub ticket: Ticket,
    /// The show's title.
    pub title: String,
    /// The beginning of the show, or the departure at the first station of a journey.
    pub starts_at: jiff::Timestamp,
    /// The venue's slug.
    pub venue: String,
    /// The venue's name and time zone.
    pub place: VenueLocation,
    /// Rail: the stretch that the ticket is valid for.
    pub journey: Option<JourneySummary>,
    /// The compact JWS, which is the content of the QR code.
    pub signed: String,
}

impl TicketDesk {
    /// Returns a ticket of the ledger.
    ///
    /// # Errors
    /// [`TicketRefusal::NoSuchTicket`], or an error where the ledger does not answer.
    pub async fn find_ticket(&self, id: &str) -> Result<Ticket, TicketRefusal> {
        let missing = || TicketRefusal::NoSuchTicket(id.to_owned());
        let parsed: TicketId = id.parse().map_err(|_| missing())?;
        self.ledger.ticket(&parsed).await?.ok_or_else(missing)
    }

    /// Signs a ticket. The signature depends only on the row, so the same ticket always looks the
    /// same.
    ///
    /// # Errors
    /// [`TicketRefusal::NoSuchShow`], [`TicketRefusal::TooLong`].
    pub fn print_ticket(&self, ticket: Ticket) -> Result<PrintedTicket, TicketRefusal> {
        let show = self
            .catalogue
            .show(&ticket.show)
            .ok_or_else(|| TicketRefusal::NoSuchShow(ticket.show.clone()))?;
        let run = show.run.as_ref();
        let journey = run.and_then(|run| JourneySummary::from_legs(run, &ticket.legs));
        // A traveller who boards on the way needs the time and the station where the journey
        // begins.
        let leaves = journey.as_ref().and_then(|journey| journey.from.at);
        let starts_at = leaves.unwrap_or(show.document.starts_at);
        let whole_title = match &journey {
            Some(journey) => journey.title(),
            None => show.document.title.clone(),
        };
        // A door only needs the beginning of a long title, and a short QR code is read faster.
        let short = |text: &str| text.chars().take(80).collect::<String>();
        let claims = TicketClaims {
            ticket: ticket.id.to_string(),
            order: ticket.order.to_string(),
            show: ticket.show.to_string(),
            seat: ticket.label.clone(),
            legs: ticket.legs.clone(),
            title: short(&whole_title),
            starts_at: starts_at.to_string(),
            name: ticket.name.as_deref().map(short),
            iat: ticket.issued_at_ms / 1_000,
            test: self.test,
        };
        let signed = self.keyring.sign_ticket(&claims).map_err(|error| {
            tracing::error!(%error, ticket = %ticket.id, "a ticket does not fit a QR code");
            TicketRefusal::TooLong
        })?;
        Ok(PrintedTicket {
            title: whole_title,
            journey,
            starts_at,
            venue: show.document.venue.to_string(),
            place: self.catalogue.place_of(&show),
            ticket,
            signed,
        })
    }

    /// Scans a ticket at the door. `by` names the scan if it has a key; see [`scan_of`].
    ///
    /// # Errors
    /// Returns an error where the ledger did not confirm the scan. Repeating the scan with its key
    /// finds out whether it was recorded.
    pub async fn scan_ticket(
        &self,
        ticket: &Ticket,
        by: Option<[u8; 32]>,
        now_ms: i64,
    ) -> Result<Option<TicketScanOutcome>, LedgerError> {
        self.ledger.scan(&ticket.id, by, now_ms).await
    }
}

/// Returns the value by which the ledger recognises one scan. It is a hash of the scanner's
/// credential and the `Idempotency-Key`, and neither is stored.
#[must_use]
pub fn scan_of(scanner: &str, key: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update((scanner.len() as u64).to_be_bytes());
    hasher.update(scanner);
    hasher.update(key);
    hasher.finalize().into()
}
