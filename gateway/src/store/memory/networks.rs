//! The places of each network of a room, and the challenges that were used.

use std::collections::HashMap;
use std::hash::Hash;

use fairgate_rules::network_limits::NetworkPlaces;
use fairgate_rules::recent_places::RecentPlaces;

use crate::ledger::{NetworkEpoch, NetworkKey, NetworkKeys};
use crate::store::{NetworkToll, SingleUseId, TollRefusal, WaitRequest, WaitReservation};

/// Ended entries are dropped only if there are at least this many entries.
const SWEEP_AT_MIN: usize = 1024;

/// Entries, each with the time (ms) at which it ends.
#[derive(Default)]
struct EndingEntries<K> {
    ends: HashMap<K, i64>,
    /// When there are this many entries, those that have ended are dropped.
    sweep_at: usize,
}

impl<K: Eq + Hash> EndingEntries<K> {
    /// Returns when an entry ends, unless it has ended.
    fn end_of(&self, key: &K, now: i64) -> Option<i64> {
        self.ends.get(key).copied().filter(|ends| *ends > now)
    }

    fn insert(&mut self, key: K, ends: i64, now: i64) {
        if self.ends.len() >= self.sweep_at.max(SWEEP_AT_MIN) {
            self.ends.retain(|_, ends| *ends > now);
            self.sweep_at = self.ends.len() * 2;
        }
        self.ends.insert(key, ends);
    }
}

/// The networks of one room.
#[derive(Default)]
pub(super) struct LineNetworks {
    places: HashMap<NetworkKey, u64>,
    /// The recent places of very wide networks.
    recent: HashMap<NetworkKey, RecentPlaces>,
    /// The used ids of challenges and codes.
    used: EndingEntries<[u8; 16]>,
    /// When the last wait of each network ends.
    waits: EndingEntries<NetworkKey>,
}

impl LineNetworks {
    pub(super) fn places_of(&self, networks: NetworkKeys, now: i64) -> NetworkPlaces {
        let mut places = networks.lasting().iter().map(|key| self.lasting_of(key));
        let mut recent = networks.recent().iter().map(|key| self.recent_of(key, now));
        NetworkPlaces {
            own: places.next().unwrap_or_default(),
            wider: places.max().unwrap_or_default(),
            slash_40: recent.next().unwrap_or_default(),
            slash_32: recent.next().unwrap_or_default(),
        }
    }

    fn lasting_of(&self, network: &NetworkKey) -> u64 {
        self.places.get(network).copied().unwrap_or_default()
    }

    fn recent_of(&self, network: &NetworkKey, now: i64) -> u64 {
        let recent = self.recent.get(network);
        recent.map_or(0, |recent| recent.count_at(now))
    }

    /// Refuses a visitor who has not paid enough. Changes nothing.
    pub(super) fn check(&self, toll: &NetworkToll, now: i64) -> Result<(), TollRefusal> {
        let mut lasting = toll.lasting_limits();
        let mut recent = toll.recent_limits();
        if lasting.any(|(key, bound)| self.lasting_of(&key) >= bound)
            || recent.any(|(key, bound)| self.recent_of(&key, now) >= bound)
        {
            return Err(TollRefusal::TooManyPlaces(self.places_of(toll.keys, now)));
        }
        let used_until = toll
            .solved
            .and_then(|solved| self.used.end_of(&solved.id, now));
        if used_until.is_some() {
            return Err(TollRefusal::SolutionUsed);
        }
        Ok(())
    }

    /// Reserves a wait after the network's last wait, unless the visitor would wait too long.
    pub(super) fn reserve_wait(&mut self, wait: &WaitRequest) -> WaitReservation {
        let last = self.waits.end_of(&wait.network, wait.now);
        let reserved = wait.after(last.unwrap_or_default());
        if let WaitReservation::Until(ends) = reserved {
            self.waits.insert(wait.network, ends, wait.now);
        }
        reserved
    }

    /// Uses an id up. Returns false if it was used before.
    pub(super) fn use_once(&mut self, used: SingleUseId, now: i64) -> bool {
        let is_new = self.used.end_of(&used.id, now).is_none();
        if is_new {
            self.used.insert(used.id, used.expires_at, now);
        }
        is_new
    }

    /// Notes that a solution was used.
    pub(super) fn use_up(&mut self, solved: Option<SingleUseId>, now: i64) {
        if let Some(solved) = solved {
            self.used.insert(solved.id, solved.expires_at, now);
        }
    }

    /// With `since`, keeps only the places of the day `since` and of later days. Otherwise forgets
    /// all places. Waits and used ids stay until they end.
    pub(super) fn forget(&mut self, since: Option<NetworkEpoch>) {
        match since {
            Some(since) => {
                let is_kept = |key: &NetworkKey| NetworkEpoch::of(key).is_since(since);
                self.places.retain(|key, _| is_kept(key));
                self.recent.retain(|key, _| is_kept(key));
            }
            None => {
                self.places.clear();
                self.recent.clear();
            }
        }
    }

    /// Stops counting a place that was given at `at` (ms) and could not be written.
    pub(super) fn uncount(&mut self, networks: NetworkKeys, at: i64) {
        for key in networks.lasting() {
            if let Some(count) = self.places.get_mut(key) {
                *count = count.saturating_sub(1);
            }
        }
        for key in networks.recent() {
            if let Some(recent) = self.recent.get_mut(key) {
                recent.uncount(at);
            }
        }
    }

    /// Counts one place that was given at `at` (ms).
    pub(super) fn count(&mut self, networks: NetworkKeys, at: i64) {
        for key in networks.lasting() {
            *self.places.entry(*key).or_default() += 1;
        }
        for key in networks.recent() {
            self.recent.entry(*key).or_default().count(at);
        }
    }
}
