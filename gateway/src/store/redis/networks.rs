//! The networks of visitors in Redis: how many places they have, when their waits end, and which
//! ids were used.

use std::sync::Arc;

use fairgate_rules::network_limits::NetworkPlaces;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::read;
use super::scripts::{
    ForgetNetworksScript, LimitedNetworkRecord, NetworkPlacesScript, ReserveWaitScript,
    UseOnceScript,
};
use crate::ledger::{NetworkEpoch, NetworkKeys};
use crate::store::{NetworkToll, SingleUseId, StoreFailure, WaitRequest, WaitReservation};

/// Counts the places of networks, reserves their waits, and notes used ids.
pub struct NetworkScripts {
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
}

impl NetworkScripts {
    /// Counts the places that these networks were given in the room up to `now` (ms).
    pub async fn network_places(
        &self,
        room: &str,
        networks: NetworkKeys,
        now: i64,
    ) -> Result<NetworkPlaces, StoreFailure> {
        let toll = NetworkToll {
            keys: networks,
            ..NetworkToll::NONE
        };
        let counted = NetworkPlacesScript {
            now_ms: now,
            networks: limited_networks(&toll),
        };
        let life = self.lives.last_known_life(room)?;
        let reply = self.scripts.run(room, &life, counted).await?;
        Ok(read::network_places(&reply, networks)?)
    }

    /// Forgets the networks of places. With `since`, keeps the networks of the day `since` and of
    /// later days.
    pub async fn forget_networks(
        &self,
        room: &str,
        since: Option<NetworkEpoch>,
    ) -> Result<(), StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        let forget = ForgetNetworksScript {
            since: since.map(|epoch| u64::from(epoch.0)),
            lasting: u64::from(NetworkEpoch::LASTING.0),
        };
        self.scripts.run(room, &life, forget).await?;
        Ok(())
    }

    /// Reserves a wait after the network's last wait, unless the visitor would wait too long.
    pub async fn reserve_wait(
        &self,
        room: &str,
        wait: WaitRequest,
    ) -> Result<WaitReservation, StoreFailure> {
        let script = ReserveWaitScript {
            network: wait.network,
            takes_ms: wait.takes_ms,
            longest_ms: wait.longest_ms,
            now_ms: wait.now,
        };
        let life = self.lives.last_known_life(room)?;
        let last_ends = self.scripts.run(room, &life, script).await?.as_integer()?;
        Ok(wait.after(last_ends))
    }

    /// Uses an id up. Returns false if it was used before.
    pub async fn use_once(
        &self,
        room: &str,
        used: SingleUseId,
        now: i64,
    ) -> Result<bool, StoreFailure> {
        let script = UseOnceScript {
            id: used.id,
            lives_ms: used.expires_at.saturating_sub(now).max(1),
        };
        let life = self.lives.last_known_life(room)?;
        Ok(self.scripts.run(room, &life, script).await?.as_integer()? == 1)
    }
}

/// Returns the networks of a toll with their bounds, in the form that the scripts take.
pub fn limited_networks(toll: &NetworkToll) -> Vec<LimitedNetworkRecord> {
    let record = |recent| move |(key, bound)| LimitedNetworkRecord { key, bound, recent };
    let lasting = toll.lasting_limits().map(record(false));
    lasting
        .chain(toll.recent_limits().map(record(true)))
        .collect()
}
