//! Places by their number and by their holder: found, brought back where Redis lost them, and
//! answered without it where it is away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_pass::Holder;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::read;
use super::scripts::{
    BringBackScript, CheckLifeScript, CheckPlaceScript, FindPlaceScript, PresentedPlaceRecord,
};
use crate::ledger::{RoomLedger, RoomLedgerFailure, StoredPlace};
use crate::store::{Place, PresentedPlace, PresentedPlaceStatus, StoreFailure};

/// Places that one script takes back.
const BATCH: usize = 500;
/// The longest that the ledger is asked for a place that Redis cannot tell.
const LEDGER_ASKED_MAX: Duration = Duration::from_secs(1);
/// A ledger that was not heard for longer keeps silent.
const LEDGER_HEARD_MAX: Duration = Duration::from_secs(2);

/// Finds places, and takes them back.
pub struct PlaceFinder {
    pub ledger: Arc<dyn RoomLedger>,
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
}

impl PlaceFinder {
    /// Whose the number is. Without Redis a signed place is taken at its word, so this always
    /// answers.
    pub async fn check_presented_place(
        &self,
        room: &str,
        shown: &PresentedPlace,
    ) -> PresentedPlaceStatus {
        let mut asked = self.ask_standing(room, shown).await;
        if matches!(asked, Err(StoreFailure::NotReady(_))) && self.lives.read_again().await.is_ok()
        {
            asked = self.ask_standing(room, shown).await;
        }
        let error = match asked {
            Ok(standing) => return standing,
            Err(error) => error,
        };
        tracing::debug!(room, %error, "a place is taken at its word");
        if let Ok(Some(place)) = self.recorded(room, shown.holder).await {
            return PresentedPlaceStatus::Here(place);
        }
        if let Ok(true) = self.recorded_as_left(room, shown).await {
            return PresentedPlaceStatus::Left;
        }
        // Signed by us, and neither store nor ledger says otherwise: it may not have been copied
        // yet.
        PresentedPlaceStatus::Here(Place {
            number: shown.number,
            holder: shown.holder,
            at: shown.at,
            code: shown.code,
            pass_exp: None,
            done: false,
            fresh: false,
        })
    }

    /// Takes places back that the life before lost, all of them in one life or none of what
    /// follows: which one it was.
    pub async fn take_back(
        &self,
        room: &str,
        shown: &[PresentedPlace],
    ) -> Result<u64, StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        for batch in shown.chunks(BATCH) {
            let places = batch.iter().map(shown_record).collect();
            self.scripts
                .run(room, &life, BringBackScript { places })
                .await?;
        }
        if shown.is_empty() {
            self.scripts.run(room, &life, CheckLifeScript {}).await?;
        }
        Ok(life.incarnation)
    }

    /// The place of a holder.
    pub async fn place_of(
        &self,
        room: &str,
        holder: Holder,
    ) -> Result<Option<Place>, StoreFailure> {
        let asked = async {
            let place_of = FindPlaceScript { holder: holder.0 };
            let reply = self
                .scripts
                .run(room, &self.lives.last_known_life(room)?, place_of)
                .await?;
            let here = read::kind(&reply)? == "here";
            Ok(here.then(|| read::place(&reply)).transpose()?)
        };
        match asked.await {
            // A place that is only in Redis is not found without it, so that a "no" would be a
            // guess.
            Err(error) => match self.recorded(room, holder).await {
                Ok(Some(place)) => Ok(Some(place)),
                Ok(None) | Err(_) => Err(error),
            },
            answer => answer,
        }
    }

    async fn ask_standing(
        &self,
        room: &str,
        shown: &PresentedPlace,
    ) -> Result<PresentedPlaceStatus, StoreFailure> {
        let standing = CheckPlaceScript {
            shown: shown_record(shown),
        };
        let reply = self
            .scripts
            .run(room, &self.lives.last_known_life(room)?, standing)
            .await?;
        Ok(match read::kind(&reply)? {
            "here" => PresentedPlaceStatus::Here(read::place(&reply)?),
            "left" => PresentedPlaceStatus::Left,
            _ => PresentedPlaceStatus::Unknown,
        })
    }

    /// What the ledger has of a holder, where Redis does not say. It is seconds behind. One that
    /// keeps silent itself is not asked: nobody waits for it.
    async fn recorded(&self, room: &str, holder: Holder) -> Result<Option<Place>, StoreFailure> {
        let stored = self.ask_ledger(self.ledger.place_of(room, holder)).await?;
        Ok(stored.as_ref().map(place_of_ledger))
    }

    /// Whether the ledger says that this holder gave the number up.
    async fn recorded_as_left(
        &self,
        room: &str,
        shown: &PresentedPlace,
    ) -> Result<bool, StoreFailure> {
        let stored = self.ask_ledger(self.ledger.places(room, shown.number, 1));
        let stored = stored.await?.into_iter().next();
        Ok(stored.is_some_and(|stored| {
            let whose = (stored.join.number, stored.join.holder);
            stored.left && whose == (shown.number, shown.holder)
        }))
    }

    async fn ask_ledger<T>(
        &self,
        asking: impl Future<Output = Result<T, RoomLedgerFailure>>,
    ) -> Result<T, StoreFailure> {
        let lately = Instant::now().checked_sub(LEDGER_HEARD_MAX);
        if lately.is_some_and(|lately| !self.lives.lease().asked_after(lately)) {
            return Err(StoreFailure::NotReady("the ledger is silent too".into()));
        }
        let asked = tokio::time::timeout(LEDGER_ASKED_MAX, asking).await;
        let answered = asked.map_err(|_| StoreFailure::NotReady("the ledger is slow".into()))?;
        Ok(answered?)
    }
}

/// Writes a place as the function `shown` of the scripts takes it.
fn shown_record(shown: &PresentedPlace) -> PresentedPlaceRecord {
    PresentedPlaceRecord {
        number: shown.number,
        holder: shown.holder.0,
        written: shown.at.to_be_bytes(),
        code: shown.code.map(|code| code.0),
        at_ms: shown.at,
    }
}

/// A place without what only Redis knows of it.
fn place_of_ledger(stored: &StoredPlace) -> Place {
    Place {
        number: stored.join.number,
        holder: stored.join.holder,
        at: stored.join.at,
        code: stored.join.code,
        pass_exp: None,
        done: stored.done,
        fresh: false,
    }
}
