//! Imports and searches cinema programmes. A programme of cities, cinemas, halls, films and
//! showings is imported as a whole. Each hall becomes a venue. Each showing becomes a show, which
//! is sold like any other show. Searches read the programme from memory.

mod free_id;
mod hall_plans;
mod matching;
mod programme;
mod put;
pub mod query;
pub mod read;
mod refusal;
pub mod search;
mod succession;
mod summary;

use parking_lot::RwLock;
use std::sync::Arc;

use fairgate_databases::LedgerError;

pub use hall_plans::ChartSource;
pub use programme::{Cinema, City, Film, Hall, LeftOutShowing, Programme, Showing};
pub use refusal::ProgrammePutRefusal;
pub use summary::ProgrammeSummary;

use crate::catalogue::Catalogue;
use crate::ledger::Ledger;
use search::ProgrammeIndex;

/// A handle on the programme. It is cheap to clone.
#[derive(Clone)]
pub struct CinemaCatalogue {
    ledger: Ledger,
    catalogue: Catalogue,
    /// The programme's number in the ledger, and the index for searches.
    shared: Arc<RwLock<(u64, Arc<ProgrammeIndex>)>>,
}

impl CinemaCatalogue {
    /// Reads the programme from the ledger.
    ///
    /// # Errors
    /// Returns an error if the ledger or its programme cannot be read.
    pub async fn open(ledger: Ledger, catalogue: Catalogue) -> Result<Self, LedgerError> {
        let cinemas = Self {
            ledger,
            catalogue,
            shared: Arc::default(),
        };
        cinemas.refresh_programme().await?;
        Ok(cinemas)
    }

    /// Loads the ledger's programme if it is newer than the one in memory.
    ///
    /// # Errors
    /// Returns an error if the ledger or its programme cannot be read. The programme in memory then
    /// stays.
    pub async fn refresh_programme(&self) -> Result<(), LedgerError> {
        let known = self.numbered_index().0;
        let Some((number, document)) = self.ledger.programme(known).await? else {
            return Ok(());
        };
        let building = tokio::task::spawn_blocking(move || {
            let programme: Result<Programme, _> = serde_json::from_str(&document);
            programme.map(|programme| Arc::new(ProgrammeIndex::new(programme)))
        });
        let built = building
            .await
            .map_err(|error| LedgerError::Unavailable(error.to_string()))?;
        let index =
            built.map_err(|error| LedgerError::Corrupt(format!("the programme: {error}")))?;
        let mut shared = self.shared.write();
        if shared.0 < number {
            let halls = index.hall_locations();
            *shared = (number, index);
            // This ends the present edition of the catalogue, so it comes last.
            self.catalogue.set_hall_locations(halls);
        }
        Ok(())
    }

    /// Returns the index for searches.
    #[must_use]
    pub fn index(&self) -> Arc<ProgrammeIndex> {
        self.numbered_index().1
    }

    /// Returns the programme's number in the ledger, and its index for searches.
    #[must_use]
    pub fn numbered_index(&self) -> (u64, Arc<ProgrammeIndex>) {
        // Writers replace the whole value at once, so it is complete even if a writer panicked.
        let shared = self.shared.read();
        (shared.0, Arc::clone(&shared.1))
    }
}
