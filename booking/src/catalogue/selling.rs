//! Decides who sells a show now. Before somebody takes seats, this process reads whether another
//! node changed a show or a room, so that no node sells what was taken off sale elsewhere.

use std::sync::Arc;
use std::time::Instant;

use fairgate_databases::LedgerError;
use fairgate_model::ids::ShowId;
use fairgate_model::shows::Show;
use fairgate_model::shows::closure::SaleClosure;
use fairgate_model::shows::coverage::NotSoldReason;

use super::Catalogue;

/// When the last complete reading of the catalogue's version began. Callers who wait at the same
/// time share one reading.
#[derive(Default)]
pub(super) struct SharedReading(tokio::sync::Mutex<Option<Instant>>);

/// Why no room sells a show to a caller.
#[derive(Debug, thiserror::Error)]
pub enum NotSold {
    /// Nobody sells the show.
    #[error("nobody sells the show: {0:?}")]
    Announced(NotSoldReason),
    /// It is not known who sells the show, because the ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Catalogue {
    /// Returns the room that sells a show, as this process last read it. A call that takes seats
    /// asks [`Self::current_seller_of`] instead.
    ///
    /// # Errors
    /// Returns the reason if nobody sells the show.
    pub fn seller_of(&self, show: &Show) -> Result<String, NotSoldReason> {
        if self.shared.withheld.read().contains(&show.id) {
            return Err(NotSoldReason::Withheld);
        }
        self.shared.coverage.read().seller_of(show)
    }

    /// Returns the shows that nobody sells until an on-sale file is written whole.
    #[must_use]
    pub fn withheld_shows(&self) -> Vec<ShowId> {
        self.shared.withheld.read().iter().cloned().collect()
    }

    /// Returns which shows are closed because the ledger went back, or `None` if none is.
    #[must_use]
    pub fn closure(&self) -> Option<Arc<SaleClosure>> {
        self.shared.closure.read().clone()
    }

    /// Refuses a call that takes seats of a show which is closed because the ledger went back.
    ///
    /// # Errors
    /// [`LedgerError::SetBack`].
    pub fn require_not_closed(&self, show: &ShowId) -> Result<(), LedgerError> {
        match self.closure() {
            Some(closure) if closure.is_closed(show) => {
                Err(LedgerError::SetBack(closure.refusal()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the room that a show belongs to as visitors see it: the room that names it, or
    /// `everyday` if the show is sold there. Returns `None` for other shows.
    #[must_use]
    pub fn shown_room_of(&self, show: &Show) -> Option<String> {
        let coverage = self.shared.coverage.read();
        let named = coverage.naming_room(&show.id).map(str::to_owned);
        drop(coverage);
        named.or_else(|| self.seller_of(show).ok())
    }

    /// Returns the room that sells a show now, after all changes that any node had made before this
    /// call.
    ///
    /// # Errors
    /// Fails if nobody sells the show, if it is closed because the ledger went back, or if the
    /// ledger did not answer.
    pub async fn current_seller_of(&self, show: &Show) -> Result<String, NotSold> {
        self.read_latest_changes().await?;
        self.require_not_closed(&show.id)?;
        // Only the shows of promoters change. A departure is always a walk-in.
        let changed = self.shared.shows.read().get(&show.id).cloned();
        let show = changed.as_deref().unwrap_or(show);
        self.seller_of(show).map_err(NotSold::Announced)
    }

    /// Reads the changes that other nodes made before this call. A ledger in a file has a single
    /// process, whose own changes are in memory when their calls return.
    async fn read_latest_changes(&self) -> Result<(), LedgerError> {
        if !self.ledger.is_shared() {
            return Ok(());
        }
        let asked_at = Instant::now();
        let mut last_read = self.shared.sales_reading.0.lock().await;
        if last_read.is_some_and(|began_at| began_at >= asked_at) {
            return Ok(());
        }
        let began_at = Instant::now();
        self.reload_if_changed().await?;
        *last_read = Some(began_at);
        Ok(())
    }
}
