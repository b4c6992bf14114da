//! Reads the free seats of a train from the store's picture. If the store returns none, reads them
//! from the ledger's claims. Reading does not open the show in the store.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_model::choosing::rail::TrainSeatStates;
use fairgate_model::grid::CellState;
use fairgate_model::shows::Show;

use super::tally::FreeSeatTally;
use super::{AvailabilitySource, TrainAvailability};
use crate::ledger::{Ledger, LedgerError};
use crate::store::{InventoryRefusal, InventoryStore};

/// Reads the free seats of trains from the store and the ledger.
pub struct SeatPictureSource {
    /// The store, which knows the holds.
    pub store: Arc<dyn InventoryStore>,
    /// The ledger, which knows the claims.
    pub ledger: Ledger,
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
        let glanced = self.store.glance(&show.id).await;
        // A picture from before the train got other stops says nothing about its present legs.
        if let Some(glanced) = glanced.filter(|glanced| glanced.are_of(show)) {
            let (tally, held_seats_known) = (counted(&glanced.cells.states), true);
            return Ok(TrainAvailability {
                tally,
                held_seats_known,
            });
        }
        // If the show is not open in the store, nobody holds seats. If the store does not answer,
        // `held_seats_known` is false. Held seats then count as free, because only the store knows
        // them.
        let held_seats_known =
            self.store.cursor(&show.id).await != Err(InventoryRefusal::Unreachable);
        let states = show.claimed_only(&self.ledger.claimed(&show.id).await?);
        let tally = counted(&states);
        Ok(TrainAvailability {
            tally,
            held_seats_known,
        })
    }
}
