//! Notes in Redis which baskets visitors made.

use std::sync::Arc;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::scripts::{FindBasketsScript, NoteBasketScript, NoteCheckoutScript};
use crate::store::{BASKET_KNOWN_MS, NotedBasket, StoreFailure};

/// Notes and reads baskets.
pub struct BasketNotes {
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
}

impl BasketNotes {
    /// Notes a basket that the visitor of a number made.
    pub async fn note_basket(
        &self,
        room: &str,
        number: u64,
        basket: NotedBasket,
    ) -> Result<(), StoreFailure> {
        let script = NoteBasketScript {
            number,
            hold: basket.hold,
            at_ms: basket.at,
            known_ms: BASKET_KNOWN_MS,
        };
        let life = self.lives.last_known_life(room)?;
        self.scripts.run(room, &life, script).await?;
        Ok(())
    }

    /// Notes that the visitor of a number fills in the checkout at `at` (ms).
    pub async fn note_checkout(
        &self,
        room: &str,
        number: u64,
        at: i64,
    ) -> Result<(), StoreFailure> {
        let script = NoteCheckoutScript { number, at_ms: at };
        let life = self.lives.last_known_life(room)?;
        self.scripts.run(room, &life, script).await?;
        Ok(())
    }

    /// Returns the baskets that the visitor of a number made.
    pub async fn baskets_of(
        &self,
        room: &str,
        number: u64,
    ) -> Result<Vec<NotedBasket>, StoreFailure> {
        let script = FindBasketsScript { number };
        let life = self.lives.last_known_life(room)?;
        let reply = self.scripts.run(room, &life, script).await?;
        let checkout_at = reply.field("checkout_at")?.as_integer()?;
        let baskets = reply.field("baskets")?.read_list(|basket| {
            let at = basket.field("at_ms")?.as_integer()?;
            Ok(NotedBasket {
                hold: basket.field("hold")?.as_text()?.to_owned(),
                at,
                in_checkout: at <= checkout_at,
            })
        });
        Ok(baskets?)
    }
}
