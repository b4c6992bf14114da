//! The networks of a visitor. The ledger and the store know only keyed hashes of them. The key of
//! these hashes is the installation's secret.

use std::fmt;

/// At most this many networks count a visitor. A visitor with an IPv6 address has five: the /64,
/// the /56, the /48, the /40 and the /32. A visitor with an IPv4 address has two.
const KEYS_MAX: usize = 5;
/// As many of the keys are the visitor's own network and the wider networks whose places count for
/// the whole epoch. Of the others only the recent places count.
const LASTING_MAX: usize = 3;

/// One network in one room. The first two bytes are its [`NetworkEpoch`]. The other six bytes are
/// from its keyed hash.
pub type NetworkKey = [u8; 8];

/// A period in which the places of a network are counted together. A room with an end has one
/// epoch, which lasts until its end. A room without an end has one epoch for each day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkEpoch(pub u16);

impl NetworkEpoch {
    /// The epoch of a room with an end.
    pub const LASTING: Self = Self(u16::MAX);

    /// Returns the epoch of a day. Day 0 is 1970-01-01.
    #[must_use]
    pub fn of_day(day: i64) -> Self {
        Self(u16::try_from(day).map_or(Self::LASTING.0 - 1, |day| day.min(Self::LASTING.0 - 1)))
    }

    /// Returns the epoch of a key.
    #[must_use]
    pub fn of(key: &NetworkKey) -> Self {
        Self(u16::from_be_bytes([key[0], key[1]]))
    }

    /// Returns whether this epoch is `day` or a later day. The lasting epoch is not a day.
    #[must_use]
    pub fn is_since(self, day: Self) -> bool {
        self != Self::LASTING && self >= day
    }
}

/// The keyed hashes of a visitor's networks: the visitor's own network first, then the wider ones
/// around it. Empty for a visitor who is not counted.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct NetworkKeys {
    keys: [NetworkKey; KEYS_MAX],
    count: usize,
}

impl NetworkKeys {
    /// No network.
    pub const NONE: Self = Self {
        keys: [[0; 8]; KEYS_MAX],
        count: 0,
    };

    /// Returns the keys, the visitor's own network first.
    #[must_use]
    pub fn as_slice(&self) -> &[NetworkKey] {
        &self.keys[..self.count]
    }

    /// Returns the keys whose places count for the whole epoch: the visitor's own network, and then
    /// the wider networks.
    #[must_use]
    pub fn lasting(&self) -> &[NetworkKey] {
        &self.keys[..self.count.min(LASTING_MAX)]
    }

    /// Returns the keys of which only the recent places count: the IPv6 /40, and then the /32.
    #[must_use]
    pub fn recent(&self) -> &[NetworkKey] {
        &self.as_slice()[self.lasting().len()..]
    }

    /// Returns the keys as bytes, one after the other. This is the form in which they are stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.as_slice().as_flattened()
    }

    /// Reads the stored form. Returns `None` if the bytes are not whole keys, or too many.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (keys, rest) = bytes.as_chunks();
        if !rest.is_empty() || keys.len() > KEYS_MAX {
            return None;
        }
        Some(keys.iter().copied().collect())
    }
}

impl FromIterator<NetworkKey> for NetworkKeys {
    /// Collects the first keys, and ignores those beyond the maximum.
    fn from_iter<I: IntoIterator<Item = NetworkKey>>(keys: I) -> Self {
        let mut collected = Self::NONE;
        for (to, key) in collected.keys.iter_mut().zip(keys) {
            *to = key;
            collected.count += 1;
        }
        collected
    }
}

impl fmt::Debug for NetworkKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NetworkKeys({})", hex::encode(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_read_back_and_rubbish_is_refused() {
        let keys: NetworkKeys = [[1; 8], [2; 8]].into_iter().collect();
        assert_eq!(NetworkKeys::from_bytes(keys.as_bytes()), Some(keys));
        assert_eq!(NetworkKeys::from_bytes(&[]), Some(NetworkKeys::NONE));
        assert_eq!(NetworkKeys::from_bytes(&[0; 7]), None);
        assert_eq!(NetworkKeys::from_bytes(&[0; 48]), None);
    }

    #[test]
    fn only_the_recent_places_of_the_fourth_and_the_fifth_network_count() {
        let of = |count: u8| (1..=count).map(|at| [at; 8]).collect::<NetworkKeys>();
        assert_eq!(of(2).lasting(), [[1; 8], [2; 8]]);
        assert!(of(3).recent().is_empty() && NetworkKeys::NONE.recent().is_empty());
        assert_eq!(of(5).lasting(), [[1; 8], [2; 8], [3; 8]]);
        assert_eq!(of(5).recent(), [[4; 8], [5; 8]]);
    }
}
