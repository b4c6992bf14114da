//! Runs version 1 of the draw: turns the join numbers of a frozen line into ranks. Anybody can
//! check the result. The code is pure: the caller passes in the secret, the leaves and the beacon.
//! Nothing here reads a clock or makes randomness.
//!
//! [`merkle`] computes the root, which fixes the holder of every number. [`seed`] combines the root
//! with the beacon and with the secret that was promised when the room was created. [`shuffle`]
//! makes the line from the seed. [`record`] is the published record of all this, and [`verify`]
//! checks a record offline. Version 1 must not change. Any change needs a version 2.
//!
//! A record without a beacon proves that the operator of the room could not choose the line after
//! the freeze. With the leaf file it also proves that no holder has two numbers. It does not prove
//! three things. The operator could have tried several moments for the freeze and chosen one. The
//! operator could have shown different roots to different people, who notice this only if they
//! compare the roots. The visitors need not be human beings.
//!
//! If the record has a beacon, compare it with the published beacon of the announced round.
//! [`verify`] does not do this. An operator who invents a beacon can choose the line.

pub use fairgate_pass::Digest;
use sha2::{Digest as _, Sha256};

pub mod merkle;
pub mod record;
pub mod shuffle;
pub mod verify;

/// The version that every record carries.
pub const VERSION: u32 = 1;

/// The most numbers that can be drawn. The shuffle's words have 32 bits.
pub const N_MAX: u64 = u32::MAX as u64;

/// Returns the commitment to a secret. The commitment is published when a room is created, so that
/// the secret cannot be chosen afterwards.
pub fn commitment(secret: &[u8; 32]) -> Digest {
    sha256(&[b"fairgate/draw/v1/commit", secret])
}

/// Returns the seed of the shuffle. `n` is hashed too, because the root alone does not determine
/// it. `beacon` is the 32 bytes of the announced round, or empty in a room without a beacon.
pub fn seed(secret: &[u8; 32], n: u64, root: &Digest, beacon: &[u8]) -> Digest {
    sha256(&[
        b"fairgate/draw/v1/seed",
        secret,
        &n.to_be_bytes(),
        &root.0,
        beacon,
    ])
}

fn sha256(parts: &[&[u8]]) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    Digest(hash.finalize().into())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    use super::*;

    /// One case of the published vectors.
    #[derive(serde::Deserialize)]
    pub struct Case {
        pub n: u64,
        pub secret: Digest,
        pub commitment: Digest,
        pub root: Digest,
        pub beacon: String,
        pub seed: Digest,
        pub line_first: Vec<u32>,
        pub line_sha256_be32: Digest,
    }

    impl Case {
        pub fn leaves(&self) -> Vec<[u8; 32]> {
            (0..self.n)
                .map(|i| sha256(&[b"holder", &i.to_be_bytes()]).0)
                .collect()
        }

        pub fn beacon(&self) -> Vec<u8> {
            hex::decode(&self.beacon).unwrap()
        }
    }

    /// Returns the published vectors, or none if this machine does not have them.
    pub fn vectors() -> Vec<Case> {
        #[derive(serde::Deserialize)]
        struct File {
            cases: Vec<Case>,
        }
        let folder = std::env::var_os("FAIRGATE_DRAW")
            .map(PathBuf::from)
            .unwrap_or_else(|| {
                PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/draw")
            });
        let path = folder.join("vectors.json");
        match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice::<File>(&text).unwrap().cases,
            Err(_) => {
                eprintln!("SKIPPED: no draw vectors at {}", path.display());
                Vec::new()
            }
        }
    }

    #[test]
    fn commitment_and_seed_agree_with_the_published_vectors() {
        for case in vectors() {
            assert_eq!(
                commitment(&case.secret.0),
                case.commitment,
                "n = {}",
                case.n
            );
            assert_eq!(
                seed(&case.secret.0, case.n, &case.root, &case.beacon()),
                case.seed,
                "n = {}",
                case.n
            );
        }
    }
}
