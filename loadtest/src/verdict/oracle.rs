//! Computes the draw again from its published description alone: SHA-256, an RFC 6962 tree, and
//! Fisher–Yates driven by ChaCha20 as RFC 8439 describes it, with a 64-bit counter and a zero
//! nonce.

use sha2::{Digest, Sha256};

/// A digest, a seed or a holder: 32 bytes.
pub type Bytes32 = [u8; 32];

/// What the draw has in place of a holder if a number is void. A void number belongs to nobody.
pub const VOID: Bytes32 = [0; 32];

fn sha(parts: &[&[u8]]) -> Bytes32 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Returns the commitment to a secret, which a room publishes before the draw.
pub fn commitment(secret: &Bytes32) -> Bytes32 {
    sha(&[b"fairgate/draw/v1/commit", secret])
}

/// Returns the shuffle's seed. `beacon` is empty in a room without one.
pub fn seed(secret: &Bytes32, n: u64, root: &Bytes32, beacon: &[u8]) -> Bytes32 {
    sha(&[
        b"fairgate/draw/v1/seed",
        secret,
        &n.to_be_bytes(),
        root,
        beacon,
    ])
}

/// Returns the RFC 6962 root over the leaves `be64(number) || holder`.
pub fn root(holders: &[Bytes32]) -> Bytes32 {
    let mut hashes: Vec<Bytes32> = (0_u64..)
        .zip(holders)
        .map(|(number, holder)| sha(&[&[0], &number.to_be_bytes(), holder]))
        .collect();
    if hashes.is_empty() {
        return sha(&[]);
    }
    // Levels are built one by one, and an odd last node moves up unchanged. This gives the same
    // tree as the recursive definition.
    while hashes.len() > 1 {
        let pairs = hashes.chunks(2).map(|pair| match pair {
            [left, right] => sha(&[&[1], left, right]),
            rest => rest[0],
        });
        hashes = pairs.collect();
    }
    hashes[0]
}

/// Returns the numbers in the order of their ranks.
pub fn line(seed: &Bytes32, n: u64) -> Vec<u64> {
    let mut words = OracleKeystream::new(seed);
    let mut line: Vec<u64> = (0..n).collect();
    for last in (1..line.len()).rev() {
        let bound = last as u64 + 1;
        let limit = (1_u64 << 32) / bound * bound;
        let word = loop {
            let word = u64::from(words.next());
            if word < limit {
                break word;
            }
        };
        let other = usize::try_from(word % bound).expect("below a length");
        line.swap(last, other);
    }
    line
}

/// The ChaCha20 keystream as little-endian words.
struct OracleKeystream {
    key: [u32; 8],
    block: [u32; 16],
    at: usize,
    counter: u64,
}

impl OracleKeystream {
    fn new(key: &Bytes32) -> Self {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(key.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Self {
            key: words,
            block: [0; 16],
            at: 16,
            counter: 0,
        }
    }

    fn next(&mut self) -> u32 {
        if self.at == 16 {
            self.fill();
        }
        self.at += 1;
        self.block[self.at - 1]
    }

    fn fill(&mut self) {
        let mut start = [0_u32; 16];
        start[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        start[4..12].copy_from_slice(&self.key);
        let counter = self.counter.to_le_bytes();
        start[12] = u32::from_le_bytes([counter[0], counter[1], counter[2], counter[3]]);
        start[13] = u32::from_le_bytes([counter[4], counter[5], counter[6], counter[7]]);
        let mut x = start;
        for _ in 0..10 {
            for [a, b, c, d] in [
                [0, 4, 8, 12],
                [1, 5, 9, 13],
                [2, 6, 10, 14],
                [3, 7, 11, 15],
                [0, 5, 10, 15],
                [1, 6, 11, 12],
                [2, 7, 8, 13],
                [3, 4, 9, 14],
            ] {
                quarter(&mut x, a, b, c, d);
            }
        }
        for (word, begun) in x.iter_mut().zip(start) {
            *word = word.wrapping_add(begun);
        }
        self.block = x;
        self.at = 0;
        self.counter += 1;
    }
}

fn quarter(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    for (into, from, with, turn) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        x[into] = x[into].wrapping_add(x[from]);
        x[with] = (x[with] ^ x[into]).rotate_left(turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn bytes(text: &serde_json::Value) -> Vec<u8> {
        hex::decode(text.as_str().expect("text")).expect("hex")
    }

    #[test]
    fn the_keystream_is_that_of_the_published_test_vector() {
        // RFC 8439, appendix A.1, test vector 1.
        let mut words = OracleKeystream::new(&[0; 32]);
        assert_eq!([words.next(), words.next()], [0xade0_b876, 0x903d_f1a0]);
    }

    #[test]
    fn every_published_test_vector_of_the_draw_is_reproduced() {
        // Relative folders start at the repository's root, wherever the test runs.
        let folder = std::env::var_os("FAIRGATE_DRAW").unwrap_or_else(|| "../shared/draw".into());
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(folder);
        let path = path.join("vectors.json");
        let Ok(text) = std::fs::read_to_string(&path) else {
            #[expect(clippy::print_stdout, reason = "the log must show what was not tested")]
            {
                println!("SKIPPED: {} is not there", path.display());
            }
            return;
        };
        let vectors: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let cases = vectors["cases"].as_array().expect("a list");
        assert!(!cases.is_empty());
        for case in cases {
            let n = case["n"].as_u64().expect("a number");
            let holders: Vec<_> = (0..n)
                .map(|i| sha(&[b"holder", &i.to_be_bytes()]))
                .collect();
            let secret: Bytes32 = bytes(&case["secret"]).try_into().expect("32 bytes");
            assert_eq!(
                commitment(&secret).to_vec(),
                bytes(&case["commitment"]),
                "n = {n}"
            );
            let root = root(&holders);
            assert_eq!(root.to_vec(), bytes(&case["root"]), "n = {n}");
            let seed = seed(&secret, n, &root, &bytes(&case["beacon"]));
            assert_eq!(seed.to_vec(), bytes(&case["seed"]), "n = {n}");
            let line = line(&seed, n);
            let first: Vec<_> = line
                .iter()
                .take(10)
                .map(|number| serde_json::json!(number))
                .collect();
            assert_eq!(Some(&first), case["line_first"].as_array(), "n = {n}");
            let be32: Vec<u8> = line
                .iter()
                .flat_map(|number| u32::try_from(*number).expect("small").to_be_bytes())
                .collect();
            assert_eq!(
                sha(&[&be32]).to_vec(),
                bytes(&case["line_sha256_be32"]),
                "n = {n}"
            );
        }
    }
}
