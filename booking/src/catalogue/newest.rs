//! Finds shows that this node has not read yet. Another node may have put the show, or made it from
//! the timetable, a moment ago. The ledger is read once more before a caller gets the answer that
//! there is no such show, or that nobody holds anything of it.

use std::sync::Arc;
use std::time::Duration;

use fairgate_databases::LedgerError;
use fairgate_model::ids::ShowId;
use fairgate_model::shows::Show;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout};

use super::Catalogue;

/// The shortest time between two such readings. People also ask for shows that never existed, and
/// the ledger must not be read for each request.
const APART: Duration = Duration::from_millis(50);
/// How long a caller waits for such a reading.
const READ_MAX: Duration = Duration::from_secs(2);

/// A process that has not read the changes of other nodes for this long stood still, or the ledger
/// did not answer.
const BEHIND_AFTER: Duration = Duration::from_secs(1);
/// How long a new hold waits for the changes that such a process has missed.
const CATCH_UP_MAX: Duration = Duration::from_millis(250);

/// When the last reading for a show that this node did not know began.
#[derive(Debug, Default)]
pub(super) struct NewestRead(Mutex<LastNewestRead>);

#[derive(Debug, Default)]
struct LastNewestRead {
    begun: Option<Instant>,
    has_succeeded: bool,
}

impl Catalogue {
    /// Returns a show that has a row in the ledger. A hold, an order or a ticket of the show proves
    /// that it has one, even if this node has not read it yet.
    ///
    /// # Errors
    /// Returns an error if this node does not know the row, and the ledger does not answer.
    pub async fn begun_show(&self, id: &ShowId) -> Result<Option<Arc<Show>>, LedgerError> {
        if let Some(show) = self.show_with_ledger_row(id) {
            return Ok(Some(show));
        }
        self.read_newest().await?;
        Ok(self.show_with_ledger_row(id))
    }

    /// Returns the show of an order, as [`Self::begun_show`] does. The order's seats were made for
    /// this plan version. So if this node knows only an earlier one, the ledger is read once more.
    ///
    /// # Errors
    /// Returns an error as [`Self::begun_show`] does.
    pub async fn ordered_show(
        &self,
        id: &ShowId,
        plan_version: u32,
    ) -> Result<Option<Arc<Show>>, LedgerError> {
        let known = self.show_with_ledger_row(id);
        if let Some(show) = known.filter(|show| show.plan.version >= plan_version) {
            return Ok(Some(show));
        }
        self.read_newest().await?;
        Ok(self.show_with_ledger_row(id))
    }

    /// Returns the show of a new hold, as [`Self::newest_show`] does. If this process stood still,
    /// it first reads the changes of other nodes, so that it does not sell at a price that no
    /// longer counts. If the ledger does not answer soon, it goes on with what it knows.
    ///
    /// # Errors
    /// Returns an error as [`Self::newest_show`] does.
    pub async fn show_for_hold(&self, id: &str) -> Result<Option<Arc<Show>>, LedgerError> {
        let refreshed_at = *self.shared.refreshed_at.lock();
        if self.ledger.is_shared()
            && refreshed_at.is_some_and(|at| at.elapsed() > BEHIND_AFTER)
            && !matches!(timeout(CATCH_UP_MAX, self.read_newest()).await, Ok(Ok(())))
        {
            tracing::debug!(id, "the newest changes could not be read before a hold");
        }
        self.newest_show(id).await
    }

    /// Returns the show whose id is this text, also if another node has only just put it.
    ///
    /// # Errors
    /// Returns an error if this node does not know the show, and the ledger does not answer.
    pub async fn newest_show(&self, id: &str) -> Result<Option<Arc<Show>>, LedgerError> {
        let Ok(id) = id.parse::<ShowId>() else {
            return Ok(None);
        };
        if let Some(show) = self.show(&id) {
            return Ok(Some(show));
        }
        self.read_newest().await?;
        Ok(self.show(&id))
    }

    /// Reads the changes of other nodes. Callers who wait at the same time share one reading.
    async fn read_newest(&self) -> Result<(), LedgerError> {
        let reading = self.read_newest_once(Instant::now());
        timeout(READ_MAX, reading).await.unwrap_or_else(|_| {
            let why = "the newest shows could not be read";
            Err(LedgerError::Unavailable(why.to_owned()))
        })
    }

    async fn read_newest_once(&self, asked_at: Instant) -> Result<(), LedgerError> {
        let mut last = self.shared.newest_read.0.lock().await;
        if last.has_succeeded && last.begun.is_some_and(|begun| begun >= asked_at) {
            return Ok(());
        }
        if let Some(begun) = last.begun {
            sleep_until(begun + APART).await;
        }
        (last.begun, last.has_succeeded) = (Some(Instant::now()), false);
        self.refresh_catalogue().await?;
        last.has_succeeded = true;
        Ok(())
    }
}
