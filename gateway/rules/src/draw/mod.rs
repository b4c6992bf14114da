//! The draw, version 1: turns the join numbers of a frozen line into ranks so that anybody can
//! check it. Pure: the secret, the leaves and the beacon come from the room, and nothing here reads
//! a clock or makes randomness.
//!
//! In reading order: [`merkle`] binds who holds which number, [`seed`] binds that to the secret
//! promised at the room's creation and to the beacon, [`shuffle`] makes the line out of the seed,
//! [`record`] is what is published of it all, and [`verify`] checks a record offline. Frozen: a
//! change here is a version 2 beside it.
//!
//! What a record proves: whoever runs the room could not choose the line after the freeze, nor give
//! one person two numbers unseen. What it does not: without a beacon the moment of the freeze can
//! be chosen by trying; two people who were shown different roots find out only by comparing them;
//! nobody is proved to be a human being.

pub use fairgate_pass::Digest;
use sha2::{Digest as _, Sha256};

pub mod merkle;
pub mod record;
pub mod shuffle;
pub mod verify;

/// The version that every record carries.
pub const VERSION: u32 = 1;

/// More numbers than this cannot be drawn: the shuffle's words have 32 bits.
pub const N_MAX: u64 = u32::MAX as u64;

/// What is published when a room is created, so that its secret cannot be chosen afterwards.
pub fn commitment(secret: &[u8; 32]) -> Digest {
    sha256(&[b"fairgate/draw/v1/commit", secret])
}

/// The seed of the shuffle. `n` is hashed too, because the root alone does not bind it. `beacon` is
/// the 32 bytes of the announced round, or empty in a room without one.
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

    /// The published vectors, or none where this machine does not have them.
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
