//! The networks of visitors: how many places they have, and what their scripts need of them.

use std::sync::Arc;

use fairgate_rules::network_limits::NetworkPlaces;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::read;
use super::scripts::{
    ForgetNetworksScript, LimitedNetworkRecord, NetworkPlacesScript, ReserveWaitScript,
};
use crate::ledger::{NetworkKey, NetworkKeys};
use crate::store::{NetworkToll, StoreFailure};

/// Counts the places of networks.
pub struct NetworkCounter {
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
}

impl NetworkCounter {
    /// Counts the places that these networks were given in the room.
    pub async fn network_places(
        &self,
        room: &str,
        networks: NetworkKeys,
    ) -> Result<NetworkPlaces, StoreFailure> {
        let counted = NetworkPlacesScript {
            networks: networks.as_slice().to_vec(),
        };
        let life = self.lives.last_known_life(room)?;
        let reply = self.scripts.run(room, &life, counted).await?;
        Ok(read::network_places(&reply)?)
    }

    /// Forgets the networks of all places.
    pub async fn forget_networks(&self, room: &str) -> Result<(), StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        self.scripts
            .run(room, &life, ForgetNetworksScript {})
            .await?;
        Ok(())
    }

    /// Puts a wait behind the last wait of a network, and returns when it ends (ms).
    pub async fn reserve_wait(
        &self,
        room: &str,
        network: NetworkKey,
        takes_ms: i64,
        now: i64,
    ) -> Result<i64, StoreFailure> {
        let wait = ReserveWaitScript {
            network,
            takes_ms,
            now_ms: now,
        };
        let life = self.lives.last_known_life(room)?;
        Ok(self.scripts.run(room, &life, wait).await?.as_integer()?)
    }
}

/// Returns the networks of a toll with their bounds, as the scripts take them.
pub fn limited_networks(toll: &NetworkToll) -> Vec<LimitedNetworkRecord> {
    let limited = toll.limited();
    limited
        .map(|(key, bound)| LimitedNetworkRecord { key, bound })
        .collect()
}
