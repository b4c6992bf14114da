//! Describes the published record of a draw in its three states: announced, frozen, drawn. The
//! answer of `GET /v1/rooms/{room}/draw` has this shape. Fields that are not known yet are null.

use fairgate_pass::{Digest, FreezeClaims};
use serde::{Deserialize, Serialize};

use super::{VERSION, commitment, seed};

/// A published draw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawRecord {
    /// The version of the draw: [`VERSION`].
    pub version: u32,
    /// The room's slug.
    pub room: String,
    /// The commitment to the secret, published when the room was created.
    pub commitment: Digest,
    /// How many numbers are drawn; known from the freeze on.
    pub n: Option<u64>,
    /// How many of the numbers have no holder; known from the freeze on.
    pub voids: Option<u64>,
    /// The RFC 6962 root; known from the freeze on.
    pub root: Option<Digest>,
    /// When the line was frozen, in RFC 3339, UTC; known from the freeze on. It is text, because it
    /// is signed as text.
    pub frozen_at: Option<String>,
    /// The compact JWS of `{room, n, voids, root, frozen_at}`; known from the freeze on.
    pub signature: Option<String>,
    /// The announced drand round, if the room has a beacon; known from the freeze on.
    pub beacon_round: Option<u64>,
    /// The beacon's 32 bytes in hex; known from the draw on. Empty or null if the room has no
    /// beacon.
    pub beacon: Option<String>,
    /// The secret that the commitment promised, in hex; known from the draw on.
    #[serde(with = "hex32")]
    pub secret: Option<[u8; 32]>,
    /// The shuffle's seed; known from the draw on.
    pub seed: Option<Digest>,
    /// When the line was drawn, in RFC 3339, UTC; known from the draw on.
    pub drawn_at: Option<String>,
    /// Ranks that visitors were given. The gateway never sends them. People who check a draw can
    /// add the ranks that they collected, and then these ranks are checked too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<AssignedRank>,
}

/// The rank that the holder of a number was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignedRank {
    /// The join number.
    pub number: u64,
    /// The rank.
    pub rank: u64,
}

impl DrawRecord {
    /// Makes the record of a new room, of which only the commitment is known.
    pub fn announced(room: impl Into<String>, commitment: Digest) -> Self {
        Self {
            version: VERSION,
            room: room.into(),
            commitment,
            n: None,
            voids: None,
            root: None,
            frozen_at: None,
            signature: None,
            beacon_round: None,
            beacon: None,
            secret: None,
            seed: None,
            drawn_at: None,
            places: Vec::new(),
        }
    }

    /// Adds the freeze to the record. `signature` is the compact JWS of `freeze`.
    #[must_use]
    pub fn frozen(
        self,
        freeze: FreezeClaims,
        signature: String,
        beacon_round: Option<u64>,
    ) -> Self {
        Self {
            n: Some(freeze.n),
            voids: Some(freeze.voids),
            root: Some(freeze.root),
            frozen_at: Some(freeze.frozen_at),
            signature: Some(signature),
            beacon_round,
            ..self
        }
    }

    /// Adds the draw to the record: reveals the secret and derives the seed. `beacon` is empty in a
    /// room without a beacon. Returns `None` if the line is not frozen, or if `secret` is not the
    /// one that was promised.
    #[must_use]
    pub fn drawn(self, secret: [u8; 32], beacon: &[u8], drawn_at: String) -> Option<Self> {
        let (n, root) = (self.n?, self.root?);
        (commitment(&secret) == self.commitment).then(|| Self {
            beacon: Some(hex::encode(beacon)),
            secret: Some(secret),
            seed: Some(seed(&secret, n, &root, beacon)),
            drawn_at: Some(drawn_at),
            ..self
        })
    }
}

mod hex32 {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(
        bytes: &Option<[u8; 32]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.map(hex::encode).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<[u8; 32]>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let read = |text: String| {
            let mut bytes = [0; 32];
            hex::decode_to_slice(text, &mut bytes).map(|()| bytes)
        };
        text.map(read).transpose().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_not_known_yet_are_null_and_a_record_reads_back() {
        let record = DrawRecord::announced("demo", commitment(&[1; 32]));
        let json = serde_json::to_value(&record).unwrap();
        let members: Vec<&str> = json
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let expected = "beacon beacon_round commitment drawn_at frozen_at n room root secret seed signature version voids";
        let mut sorted = members.clone();
        sorted.sort_unstable();
        assert_eq!(sorted.join(" "), expected);
        assert!(json["n"].is_null() && json["secret"].is_null());
        assert_eq!(serde_json::from_value::<DrawRecord>(json).unwrap(), record);
    }

    #[test]
    fn only_a_frozen_line_is_drawn_and_only_with_the_promised_secret() {
        let announced = DrawRecord::announced("demo", commitment(&[1; 32]));
        assert_eq!(announced.clone().drawn([1; 32], b"", "later".into()), None);
        let freeze = FreezeClaims {
            room: "demo".into(),
            n: 0,
            voids: 0,
            root: Digest::of_bytes(b""),
            frozen_at: "2027-01-10T09:00:00Z".into(),
        };
        let frozen = announced.frozen(freeze, "signed".into(), None);
        assert_eq!(frozen.clone().drawn([2; 32], b"", "later".into()), None);
        let drawn = frozen.drawn([1; 32], b"", "later".into()).unwrap();
        assert_eq!(
            (drawn.beacon.as_deref(), drawn.seed),
            (
                Some(""),
                Some(seed(&[1; 32], 0, &Digest::of_bytes(b""), b""))
            )
        );
        let json = serde_json::to_string(&drawn).unwrap();
        assert_eq!(serde_json::from_str::<DrawRecord>(&json).unwrap(), drawn);
    }
}
