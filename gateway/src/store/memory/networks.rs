//! The places of each network of a room, and the challenges that were used.

use std::collections::HashMap;

use fairgate_rules::network_limits::NetworkPlaces;

use crate::ledger::{NetworkKey, NetworkKeys};
use crate::store::{NetworkToll, SolvedChallenge, TollRefusal};

/// How many used challenges are kept before the expired ones are dropped.
const USED_KEPT: usize = 1024;

/// The networks of one room.
#[derive(Default)]
pub(super) struct LineNetworks {
    places: HashMap<NetworkKey, u64>,
    used: HashMap<[u8; 16], i64>,
    /// When the last wait of each network ends.
    waits: HashMap<NetworkKey, i64>,
    /// At how many used challenges the expired ones are dropped again.
    sweep_at: usize,
}

impl LineNetworks {
    pub(super) fn places_of(&self, networks: NetworkKeys) -> NetworkPlaces {
        let mut places = networks
            .as_slice()
            .iter()
            .map(|key| self.places.get(key).copied().unwrap_or_default());
        NetworkPlaces {
            own: places.next().unwrap_or_default(),
            wider: places.max().unwrap_or_default(),
        }
    }

    /// Refuses a visitor who has not paid enough. Changes nothing.
    pub(super) fn check(&self, toll: &NetworkToll, now: i64) -> Result<(), TollRefusal> {
        let places = |key| self.places.get(&key).copied().unwrap_or_default();
        if toll.limited().any(|(key, bound)| places(key) >= bound) {
            return Err(TollRefusal::TooCheap(self.places_of(toll.keys)));
        }
        let used_until = toll.solved.and_then(|solved| self.used.get(&solved.id));
        if used_until.is_some_and(|until| *until > now) {
            return Err(TollRefusal::SolutionUsed);
        }
        Ok(())
    }

    /// Puts a wait behind the last one of the network, and returns when it ends.
    pub(super) fn reserve_wait(&mut self, network: NetworkKey, takes_ms: i64, now: i64) -> i64 {
        let last = self.waits.get(&network).copied().unwrap_or(now).max(now);
        if self.waits.len() >= USED_KEPT {
            self.waits.retain(|_, ends| *ends > now);
        }
        let ends = last.saturating_add(takes_ms);
        self.waits.insert(network, ends);
        ends
    }

    /// Notes that a solution was used.
    pub(super) fn use_up(&mut self, solved: Option<SolvedChallenge>, now: i64) {
        let Some(solved) = solved else {
            return;
        };
        if self.used.len() >= self.sweep_at.max(USED_KEPT) {
            self.used.retain(|_, until| *until > now);
            self.sweep_at = self.used.len() * 2;
        }
        self.used.insert(solved.id, solved.expires_at);
    }

    /// Takes back a place that was counted but could not be written.
    pub(super) fn uncount(&mut self, networks: NetworkKeys) {
        for key in networks.as_slice() {
            if let Some(count) = self.places.get_mut(key) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// Counts one place.
    pub(super) fn count(&mut self, networks: NetworkKeys) {
        for key in networks.as_slice() {
            *self.places.entry(*key).or_default() += 1;
        }
    }
}
