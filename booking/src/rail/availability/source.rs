//! Where availability is read: the store's picture, else what the ledger has claimed. Looking opens
//! nothing.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_model::choosing::rail::TrainSeatStates;
use fairgate_model::grid::CellState;
use fairgate_model::shows::Show;

use super::tally::FreeSeatTally;
use super::{AvailabilitySource, TrainAvailability};
use crate::ledger::{Ledger, LedgerError};
use crate::store::{InventoryRefusal, InventoryStore};

/// Pictures of trains as the store and the ledger have them.
pub struct SeatPictureSource {
    /// Who holds what now.
    pub store: Arc<dyn InventoryStore>,
    /// What is claimed.
    pub ledger: Arc<dyn Ledger>,
}

#[async_trait]
impl AvailabilitySource for SeatPictureSource {
    async fn read(&self, show: &Show) -> Result<TrainAvailability, LedgerError> {
        let counted = |states: &[CellState]| {
            FreeSeatTally::from_train(&TrainSeatStates {
                map: &show.plan.map,
                grid: show.grid(),
                states,
            })
        };
        if let Some(view) = self.store.glance(&show.id).await {
            let (tally, whole) = (counted(&view.states), true);
            return Ok(TrainAvailability { tally, whole });
        }
        // Baskets are in the store alone: without it, what is held counts as free, and the answer
        // says that it is not whole.
        let whole = self.store.cursor(&show.id).await != Err(InventoryRefusal::Unreachable);
        let states = show.claimed_only(&self.ledger.claimed(&show.id).await?);
        let tally = counted(&states);
        Ok(TrainAvailability { tally, whole })
    }
}
