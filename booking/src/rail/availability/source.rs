//! Where availability is read: the store's picture, else what the ledger has claimed. Looking opens
//! nothing.

use std::sync::Arc;

use async_trait::async_trait;

use super::tally::Tally;
use super::{Reading, Source};
use crate::ledger::{Ledger, LedgerError};
use crate::store::{InventoryStore, Refused};
use fairgate_model::choosing::rail::Train;
use fairgate_model::grid::CellState;
use fairgate_model::shows::Show;

/// Pictures of trains as the store and the ledger have them.
pub struct Pictures {
    /// Who holds what now.
    pub store: Arc<dyn InventoryStore>,
    /// What is claimed.
    pub ledger: Arc<dyn Ledger>,
}

#[async_trait]
impl Source for Pictures {
    async fn read(&self, show: &Show) -> Result<Reading, LedgerError> {
        let counted = |states: &[CellState]| {
            Tally::of(&Train {
                map: &show.plan.map,
                grid: show.grid(),
                states,
            })
        };
        if let Some(view) = self.store.glance(&show.id).await {
            let (tally, whole) = (counted(&view.states), true);
            return Ok(Reading { tally, whole });
        }
        // Baskets are in the store alone: without it, what is held counts as free, and the answer
        // says that it is not whole.
        let whole = self.store.cursor(&show.id).await != Err(Refused::Unreachable);
        let states = show.claimed_only(&self.ledger.claimed(&show.id).await?);
        let tally = counted(&states);
        Ok(Reading { tally, whole })
    }
}
