//! Turns the networks of a visitor into keyed hashes. Whoever reads only Redis learns no address
//! from them. The secret is in the ledger. Whoever reads the whole ledger can therefore try all
//! addresses, until the hashes are forgotten.

use fairgate_rules::room_document::RoomDocument;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::ledger::{NetworkEpoch, NetworkKey, NetworkKeys};
use crate::web::ClientNetwork;

/// The length (ms) of a day. A room without an end counts the places of each day anew.
pub const NETWORK_DAY_MS: i64 = 86_400_000;

/// Makes the keys under which a room counts networks.
#[derive(Clone)]
pub struct NetworkHasher {
    secret: [u8; 32],
}

impl NetworkHasher {
    /// Makes a hasher from the installation's secret, which all nodes share.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        Self { secret }
    }

    /// Returns the keys of a visitor's networks in a room at `now` (ms). A direct call from this
    /// machine is not counted and has no keys. In a room without an end the keys change every day,
    /// so that its counts begin anew.
    #[must_use]
    pub fn keys(
        &self,
        room: &str,
        document: &RoomDocument,
        network: ClientNetwork,
        now: i64,
    ) -> NetworkKeys {
        if network.is_direct_loopback() {
            return NetworkKeys::NONE;
        }
        let epoch = epoch_of(document, now);
        let networks = network.with_wider().into_iter();
        networks
            .map(|(bits, prefix)| self.key(room, epoch, bits, prefix))
            .collect()
    }

    /// Returns the keys under which places of this network may be counted at `now` (ms). `bits` is
    /// the IPv6 address of the network, and `prefix` is one of the prefix lengths that places are
    /// counted by.
    #[must_use]
    pub fn keys_of_network(
        &self,
        room: &str,
        document: &RoomDocument,
        (bits, prefix): (u128, u8),
        now: i64,
    ) -> Vec<NetworkKey> {
        let mut epochs = vec![
            epoch_of(document, now),
            epoch_of(document, now - NETWORK_DAY_MS),
        ];
        epochs.dedup();
        epochs
            .into_iter()
            .map(|epoch| self.key(room, epoch, bits, prefix))
            .collect()
    }

    /// Returns the key of the visitor's own network in the ticket of a wait. It never changes,
    /// because a ticket expires by itself. All visitors whose networks are not counted share one
    /// key.
    #[must_use]
    pub fn ticket_key(&self, room: &str, network: ClientNetwork) -> NetworkKey {
        if network.is_direct_loopback() {
            return NetworkKey::default();
        }
        let own = network.with_wider().into_iter().next();
        let (bits, prefix) = own.unwrap_or_default();
        self.key(room, NetworkEpoch::LASTING, bits, prefix)
    }

    /// Returns a name of the network for logs. Whoever reads the logs learns no address, but can
    /// tell one network from another.
    #[must_use]
    pub fn log_name(&self, network: ClientNetwork) -> String {
        let narrowest = network.with_wider().into_iter().next();
        let (bits, prefix) = narrowest.unwrap_or_default();
        hex::encode(self.key("", NetworkEpoch::LASTING, bits, prefix))
    }

    fn key(&self, room: &str, epoch: NetworkEpoch, bits: u128, prefix: u8) -> NetworkKey {
        let mut mac =
            <Hmac<Sha256>>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"fairgate/network/v1\0");
        mac.update(room.as_bytes());
        mac.update(&[0, prefix]);
        let epoch = epoch.0.to_be_bytes();
        mac.update(&epoch);
        mac.update(&bits.to_be_bytes());
        let hash = mac.finalize().into_bytes();
        std::array::from_fn(|at| epoch.get(at).copied().unwrap_or(hash[at]))
    }
}

/// Returns the epoch that is part of the keys: the day, or the lasting epoch in a room that has an
/// end.
fn epoch_of(document: &RoomDocument, now: i64) -> NetworkEpoch {
    let today = || NetworkEpoch::of_day(now.div_euclid(NETWORK_DAY_MS));
    document
        .closes_at
        .map_or_else(today, |_| NetworkEpoch::LASTING)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::http::HeaderMap;

    use super::*;
    use crate::web::{WebRequestPolicy, WebSettings};

    fn keys(room: &str, address: &str, now: i64) -> Vec<NetworkKey> {
        let peer = SocketAddr::new(address.parse().expect("an address"), 1);
        let network =
            WebRequestPolicy::new(WebSettings::default()).network(&HeaderMap::new(), peer);
        let document = RoomDocument::everyday();
        let hasher = NetworkHasher::new([7; 32]);
        hasher
            .keys(room, &document, network, now)
            .as_slice()
            .to_vec()
    }

    #[test]
    fn an_ipv4_address_is_counted_alone_and_with_its_slash_24() {
        let (one, near) = (keys("r", "192.0.2.1", 0), keys("r", "192.0.2.2", 0));
        assert_eq!((one.len(), near.len()), (2, 2));
        assert_ne!(one[0], near[0]);
        assert_eq!(one[1], near[1]);
        assert_ne!(one[1], keys("r", "192.0.3.1", 0)[1]);
    }

    #[test]
    fn an_ipv6_network_is_a_slash_64_in_wider_networks_up_to_a_slash_32() {
        let one = keys("r", "2001:db8:1:200::1", 0);
        assert_eq!(one.len(), 5);
        assert_eq!(one, keys("r", "2001:db8:1:200:9::1", 0));
        let near = keys("r", "2001:db8:1:2ff::1", 0);
        assert_ne!(one[0], near[0]);
        assert_eq!(one[1..], near[1..]);
        let far = keys("r", "2001:db8:1:300::1", 0);
        assert_ne!(one[1], far[1]);
        assert_eq!(one[2], far[2]);
        let of_slash_40 = keys("r", "2001:db8:ff::1", 0);
        assert_ne!(one[2], of_slash_40[2]);
        assert_eq!(one[3..], of_slash_40[3..]);
        let of_slash_32 = keys("r", "2001:db8:100::1", 0);
        assert_ne!(one[3], of_slash_32[3]);
        assert_eq!(one[4], of_slash_32[4]);
        assert_ne!(one[4], keys("r", "2001:db9::1", 0)[4]);
    }

    #[test]
    fn a_room_without_an_end_begins_anew_each_day_and_no_two_rooms_share_keys() {
        let one = keys("r", "192.0.2.1", 0);
        assert_eq!(one, keys("r", "192.0.2.1", NETWORK_DAY_MS - 1));
        assert_ne!(one, keys("r", "192.0.2.1", NETWORK_DAY_MS));
        assert_ne!(one, keys("q", "192.0.2.1", 0));
    }

    #[test]
    fn a_direct_peer_on_loopback_is_not_counted() {
        assert!(keys("r", "127.0.0.1", 0).is_empty());
        assert!(keys("r", "::1", 0).is_empty());
    }
}
