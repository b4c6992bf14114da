//! Finds places by number and by holder, restores places that Redis lost, and reads from the ledger
//! while Redis does not answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_pass::Holder;
use fairgate_redis::RedisReply;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::read;
use super::scripts::{
    BringBackScript, CheckLifeScript, CheckPlaceScript, FindMovedScript, FindPlaceScript,
    NoteMovedScript, PresentedPlaceRecord,
};
use crate::ledger::{LedgerError, RoomLedger, StoredPlace};
use crate::store::{Place, PresentedPlace, PresentedPlaceStatus, StoreFailure};

/// At most this many places are restored by one script.
const BATCH: usize = 500;
/// The longest wait for the ledger when Redis cannot answer.
const LEDGER_ASKED_MAX: Duration = Duration::from_secs(1);
/// If the last answered read of the lives is older than this, the ledger counts as silent and is
/// not asked for places.
const LEDGER_HEARD_MAX: Duration = Duration::from_secs(2);

/// Finds places, and restores lost places.
pub struct PlaceFinder {
    pub ledger: RoomLedger,
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
}

impl PlaceFinder {
    /// Returns the status of a signed place. If Redis cannot answer, asks the ledger. If the ledger
    /// does not know either, trusts the signature. So there is always an answer.
    pub async fn check_presented_place(
        &self,
        room: &str,
        presented: &PresentedPlace,
    ) -> PresentedPlaceStatus {
        let mut status = self.ask_status(room, presented).await;
        if matches!(status, Err(StoreFailure::NotReady(_))) && self.lives.read_again().await.is_ok()
        {
            status = self.ask_status(room, presented).await;
        }
        let error = match status {
            Ok(status) => return status,
            Err(error) => error,
        };
        tracing::debug!(room, %error, "Redis did not answer about a place; the ledger is asked, and if it does not know the place, the place's signature is trusted");
        if let Ok(Some(place)) = self.recorded_place(room, presented.holder).await {
            return PresentedPlaceStatus::Here(place);
        }
        if let Ok(true) = self.recorded_as_left(room, presented).await {
            return PresentedPlaceStatus::Left;
        }
        // This installation signed the place, and neither the store nor the ledger contradicts it.
        // Perhaps the place has not been copied to the ledger yet.
        PresentedPlaceStatus::Here(Place {
            number: presented.number,
            holder: presented.holder,
            at: presented.at,
            code: presented.code,
            pass_exp: None,
            called_behind: None,
            done: false,
            fresh: false,
        })
    }

    /// Restores places that were lost with the last life. Returns the incarnation in which all
    /// batches ran. Stops at the first batch that fails.
    pub async fn restore_places(
        &self,
        room: &str,
        presented: &[PresentedPlace],
    ) -> Result<u64, StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        for batch in presented.chunks(BATCH) {
            let places = batch.iter().map(shown_record).collect();
            self.scripts
                .run(room, &life, BringBackScript { places })
                .await?;
        }
        if presented.is_empty() {
            self.scripts.run(room, &life, CheckLifeScript {}).await?;
        }
        Ok(life.incarnation)
    }

    /// Returns the place of a holder, from the ledger if Redis does not answer.
    pub async fn place_of(
        &self,
        room: &str,
        holder: Holder,
    ) -> Result<Option<Place>, StoreFailure> {
        let find_place = async {
            let place_of = FindPlaceScript { holder: holder.0 };
            let reply = self
                .scripts
                .run(room, &self.lives.last_known_life(room)?, place_of)
                .await?;
            let is_found = read::kind(&reply)? == "here";
            Ok(is_found.then(|| read::place(&reply)).transpose()?)
        };
        match find_place.await {
            // A new place is only in Redis at first. So if the ledger has no place, this returns
            // the error and not "no place".
            Err(error) => match self.recorded_place(room, holder).await {
                Ok(Some(place)) => Ok(Some(place)),
                Ok(None) | Err(_) => Err(error),
            },
            answer => answer,
        }
    }

    async fn ask_status(
        &self,
        room: &str,
        presented: &PresentedPlace,
    ) -> Result<PresentedPlaceStatus, StoreFailure> {
        let check = CheckPlaceScript {
            shown: shown_record(presented),
        };
        let reply = self
            .scripts
            .run(room, &self.lives.last_known_life(room)?, check)
            .await?;
        Ok(match read::kind(&reply)? {
            "here" => PresentedPlaceStatus::Here(read::place(&reply)?),
            "left" => PresentedPlaceStatus::Left,
            _ => PresentedPlaceStatus::Unknown,
        })
    }

    /// Notes that a code brought the place of a number to another device.
    pub async fn note_moved(&self, room: &str, number: u64, at: i64) -> Result<(), StoreFailure> {
        let script = NoteMovedScript { number, at_ms: at };
        let life = self.lives.last_known_life(room)?;
        self.scripts.run(room, &life, script).await?;
        Ok(())
    }

    /// Returns when a code last brought the place of a number to another device.
    pub async fn moved_at(&self, room: &str, number: u64) -> Result<Option<i64>, StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        let script = FindMovedScript { number };
        let reply = self.scripts.run(room, &life, script).await?;
        let moved_at = reply.present().map(RedisReply::as_integer);
        Ok(moved_at.transpose()?)
    }

    /// Reads the holder's place from the ledger. The ledger gets new places seconds after Redis.
    async fn recorded_place(
        &self,
        room: &str,
        holder: Holder,
    ) -> Result<Option<Place>, StoreFailure> {
        let stored = self.ask_ledger(self.ledger.place_of(room, holder)).await?;
        Ok(stored.as_ref().map(place_of_ledger))
    }

    /// Returns whether the ledger has recorded that this holder gave the number up.
    async fn recorded_as_left(
        &self,
        room: &str,
        presented: &PresentedPlace,
    ) -> Result<bool, StoreFailure> {
        let stored = self.ask_ledger(self.ledger.places(room, presented.number, 1));
        let stored = stored.await?.into_iter().next();
        Ok(stored.is_some_and(|stored| {
            let stored_identity = (stored.join.number, stored.join.holder);
            stored.left && stored_identity == (presented.number, presented.holder)
        }))
    }

    /// Asks the ledger. Fails at once if the ledger is silent, too, so that no caller waits in
    /// vain.
    async fn ask_ledger<T>(
        &self,
        asking: impl Future<Output = Result<T, LedgerError>>,
    ) -> Result<T, StoreFailure> {
        let recently = Instant::now().checked_sub(LEDGER_HEARD_MAX);
        if recently.is_some_and(|recently| !self.lives.lease().asked_after(recently)) {
            return Err(StoreFailure::NotReady("the ledger is silent too".into()));
        }
        let answer = tokio::time::timeout(LEDGER_ASKED_MAX, asking).await;
        let answered = answer.map_err(|_| StoreFailure::NotReady("the ledger is slow".into()))?;
        Ok(answered?)
    }
}

/// Converts a place into the arguments that `shown` in `lib/shown.lua` takes.
fn shown_record(presented: &PresentedPlace) -> PresentedPlaceRecord {
    PresentedPlaceRecord {
        number: presented.number,
        holder: presented.holder.0,
        written: presented.at.to_be_bytes(),
        code: presented.code.map(|code| code.0),
        at_ms: presented.at,
    }
}

/// Converts a place of the ledger. The expiry of its pass is missing, because it is not read here.
fn place_of_ledger(stored: &StoredPlace) -> Place {
    Place {
        number: stored.join.number,
        holder: stored.join.holder,
        at: stored.join.at,
        code: stored.join.code,
        pass_exp: None,
        called_behind: None,
        done: stored.done,
        fresh: false,
    }
}
