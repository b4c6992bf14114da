//! Tickets. Each ticket is a signed statement about one seat of one show. It can be shown as a QR
//! code, put into a calendar, and scanned at the door.

pub mod render;

use std::sync::Arc;

use fairgate_model::ids::{ShowId, TicketId};
use fairgate_model::orders::Ticket;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::shows::Show;
use fairgate_model::venues::VenueLocation;
use fairgate_pass::{Keyring, TicketClaims};
use sha2::{Digest, Sha256};

use crate::catalogue::Catalogue;
use crate::ledger::{Ledger, LedgerError, TicketScanOutcome};
use crate::payments::PaymentProvider;
use crate::rail::journey::{JourneySummary, range_of_legs};

/// Reads, signs and scans tickets.
#[derive(Clone)]
pub struct TicketDesk {
    /// The ledger that stores the tickets.
    pub ledger: Ledger,
    /// The catalogue of the shows.
    pub catalogue: Catalogue,
    /// The keys that sign tickets.
    pub keyring: Keyring,
    /// The present payment provider. `None` if payments are not configured.
    pub provider: Option<Arc<dyn PaymentProvider>>,
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
    /// The ticket cannot be signed: it is too long, or its ids or times are not in the expected
    /// form.
    #[error("the ticket does not fit a code")]
    Unsignable,
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
    /// The beginning of the show, or the departure from the first station of a journey.
    pub starts_at: jiff::Timestamp,
    /// The venue's slug.
    pub venue: String,
    /// Where the venue is. For a train, only the time zone where the traveller boards is known.
    pub place: VenueLocation,
    /// Rail: the stretch that the ticket is valid for.
    pub journey: Option<JourneySummary>,
    /// The stretch as it was sold, if the train has changed there since.
    pub journey_as_sold: Option<JourneySummary>,
    /// The number of the show's present terms, which include its beginning.
    pub terms: u32,
    /// Whether no real money was paid for the ticket.
    pub test: bool,
    /// The ticket as a compact JWS.
    pub signed: String,
    /// The text in the ticket's QR code.
    pub code: String,
}

impl TicketDesk {
    /// Returns the ticket with this id from the ledger.
    ///
    /// # Errors
    /// [`TicketRefusal::NoSuchTicket`], or an error if the ledger does not answer.
    pub async fn find_ticket(&self, id: &str) -> Result<Ticket, TicketRefusal> {
        let missing = || TicketRefusal::NoSuchTicket(id.to_owned());
        let parsed: TicketId = id.parse().map_err(|_| missing())?;
        self.ledger.ticket(&parsed).await?.ok_or_else(missing)
    }

    /// Returns whether no real money was paid for a ticket, so that it carries TEST.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer.
    pub async fn is_test(&self, ticket: &Ticket) -> Result<bool, LedgerError> {
        let paid_by = self.ledger.paid_by(&ticket.order).await?;
        let present = self.provider.as_ref();
        let present = present.map(|provider| (provider.kind(), provider.is_test()));
        Ok(is_test_money(paid_by, present))
    }

    /// Signs a ticket, and collects what is printed on it. The signed text does not contain the
    /// time of signing. The text therefore stays the same as long as the ticket's row, the show,
    /// `test` and the signing key stay the same. `test` is the result of [`Self::is_test`].
    ///
    /// # Errors
    /// [`TicketRefusal::NoSuchShow`], [`TicketRefusal::Unsignable`], or an error if the ledger does
    /// not answer.
    pub async fn print_ticket(
        &self,
        ticket: Ticket,
        test: bool,
    ) -> Result<PrintedTicket, TicketRefusal> {
        let show = self
            .catalogue
            .ordered_show(&ticket.show, ticket.plan_version)
            .await?
            .ok_or_else(|| TicketRefusal::NoSuchShow(ticket.show.clone()))?;
        let run = show.run_of_plan(ticket.plan_version);
        let journey = run.and_then(|run| JourneySummary::from_legs(run, &ticket.legs));
        // For a traveller who boards at a later station, the departure from that station counts.
        let leaves = journey.as_ref().and_then(|journey| journey.from.at);
        let starts_at = leaves.unwrap_or(show.document.starts_at);
        let whole_title = match &journey {
            Some(journey) => journey.title(),
            None => show.document.title.clone(),
        };
        // Doors only need the beginning of a long title, and short QR codes are read faster.
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
            test,
        };
        let signed = self.keyring.sign_ticket(&claims);
        let signed = signed.map_err(|error| unsignable(&ticket, &error))?;
        let code = self.keyring.sign_ticket_code(&claims);
        let code = code.map_err(|error| unsignable(&ticket, &error))?;
        let mut place = self.catalogue.place_of(&show);
        if let Some(journey) = &journey {
            place.time_zone.clone_from(&journey.from.time_zone);
        }
        let journey_as_sold = self.journey_as_sold(&ticket, &show).await?;
        Ok(PrintedTicket {
            title: whole_title,
            journey,
            journey_as_sold,
            starts_at,
            venue: show.document.venue.to_string(),
            place,
            terms: show.terms,
            ticket,
            test,
            signed,
            code,
        })
    }

    /// Returns the journey of a ticket as it was sold, if its train has changed since.
    async fn journey_as_sold(
        &self,
        ticket: &Ticket,
        show: &Show,
    ) -> Result<Option<JourneySummary>, LedgerError> {
        let run = show.run_of_plan(ticket.plan_version);
        let Some((run, legs)) = run.zip(range_of_legs(&ticket.legs)) else {
            return Ok(None);
        };
        let Some(record) = self.ledger.order(&ticket.order).await? else {
            return Ok(None);
        };
        let terms = self.catalogue.order_terms(show, record.order.terms);
        Ok(JourneySummary::as_sold(&terms.await?, (run, &legs)))
    }

    /// Returns when the show of a ticket got its present terms, in milliseconds since the epoch.
    /// Returns `None` if they are its first ones.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer.
    pub async fn changed_at_ms(&self, printed: &PrintedTicket) -> Result<Option<i64>, LedgerError> {
        if printed.terms <= 1 {
            return Ok(None);
        }
        self.ledger
            .terms_since(&printed.ticket.show, printed.terms)
            .await
    }

    /// Scans a ticket at the door. `scan_id` identifies the scan if the call has an
    /// `Idempotency-Key`. See [`scan_of`]. Returns `None` if the ledger has no such ticket.
    ///
    /// # Errors
    /// Returns an error if the ledger did not confirm the scan. The ledger may have recorded the
    /// scan all the same. A repeated call with the same key within
    /// [`SCAN_KEY_MS`](crate::ledger::SCAN_KEY_MS) then gets the answer of a first scan.
    pub async fn scan_ticket(
        &self,
        ticket: &Ticket,
        scan_id: Option<[u8; 32]>,
        now_ms: i64,
    ) -> Result<Option<TicketScanOutcome>, LedgerError> {
        self.ledger.scan(&ticket.id, scan_id, now_ms).await
    }
}

/// Returns whether money that `paid_by` took is not real. `present` is the installation's provider,
/// and whether it moves no real money. The ledger does not store with which keys a provider took
/// the money, so the present keys count for the present provider. They also count for tickets that
/// cost nothing.
fn is_test_money(paid_by: ProviderKind, present: Option<(ProviderKind, bool)>) -> bool {
    let is_present_test =
        |(kind, is_test)| is_test && [kind, ProviderKind::None].contains(&paid_by);
    paid_by == ProviderKind::Sandbox || present.is_some_and(is_present_test)
}

fn unsignable(ticket: &Ticket, error: &dyn std::error::Error) -> TicketRefusal {
    tracing::error!(%error, ticket = %ticket.id, "a ticket could not be signed");
    TicketRefusal::Unsignable
}

/// Returns the value that identifies a scan in the ledger: a hash of the scanner's credential and
/// the `Idempotency-Key`. The ledger stores neither of these two.
#[must_use]
pub fn scan_of(scanner: &str, key: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update((scanner.len() as u64).to_be_bytes());
    hasher.update(scanner);
    hasher.update(key);
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_a_test_by_the_provider_that_took_its_money_and_not_by_the_present_one() {
        use ProviderKind::{None as Free, Sandbox, Stripe};
        let test_keys = Some((Stripe, true));
        let live_keys = Some((Stripe, false));
        let sandbox = Some((Sandbox, true));
        for present in [None, sandbox, test_keys, live_keys] {
            assert!(is_test_money(Sandbox, present), "{present:?}");
        }
        for (present, is_test) in [
            (None, false),
            (sandbox, false),
            (test_keys, true),
            (live_keys, false),
        ] {
            assert_eq!(is_test_money(Stripe, present), is_test, "{present:?}");
        }
        for (present, is_test) in [(None, false), (sandbox, true), (live_keys, false)] {
            assert_eq!(is_test_money(Free, present), is_test, "{present:?}");
        }
    }
}
