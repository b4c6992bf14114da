//! Computes one root that fixes the holder of every number. It is the root of the Merkle tree in
//! RFC 6962 §2.1. The data of a leaf is `be64(number) || holder`. Each full chunk of 1024 leaves
//! is a whole subtree, so a tree stores only the roots of the chunks and the nodes above them. For
//! ten million leaves this takes 625 KB. A proof hashes one chunk again, and not all leaves.

use std::ops::Range;

use fairgate_pass::Digest;

use super::sha256;

/// The number of leaves in a chunk. It must be a power of two, so that full chunks are subtrees.
const CHUNK: usize = 1024;

/// The tree of a frozen line, from the roots of its chunks upwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerkleTree {
    n: usize,
    levels: Vec<Vec<Digest>>,
}

impl MerkleTree {
    /// Builds the tree over all leaves, which are in the order of their numbers from 0. Uses two
    /// threads if there is more than one chunk.
    pub fn build<L: Copy + Sync + Into<[u8; 32]>>(leaves: &[L]) -> Self {
        // The first half must consist of whole chunks. Only the last chunk of the second half may
        // be shorter.
        let half = leaves.len().div_ceil(CHUNK) / 2 * CHUNK;
        let (low, high) = leaves.split_at(half);
        let chunks = std::thread::scope(|scope| {
            let low_thread = (!low.is_empty()).then(|| scope.spawn(|| chunk_roots(0, low)));
            let high = chunk_roots(half, high);
            let low = low_thread.map(|thread| thread.join().expect("hashing does not panic"));
            [low.unwrap_or_default(), high].concat()
        });
        Self {
            n: leaves.len(),
            levels: levels(chunks),
        }
    }

    /// Returns the number of leaves.
    pub fn leaf_count(&self) -> usize {
        self.n
    }

    /// Returns the root over all leaves. Without leaves, it is the hash of an empty input.
    pub fn root(&self) -> Digest {
        root_of_levels(&self.levels)
    }

    /// Returns the range of leaves that [`MerkleTree::proof`] needs for `number`, or `None` if the
    /// tree has no such leaf.
    pub fn chunk_of(&self, number: usize) -> Option<Range<usize>> {
        let start = number / CHUNK * CHUNK;
        (number < self.n).then(|| start..self.n.min(start + CHUNK))
    }

    /// Returns the inclusion path of `number`, from the leaf upward. `chunk` holds the leaves of
    /// [`MerkleTree::chunk_of`]. Returns `None` if the tree has no such leaf, or if `chunk` differs
    /// from the leaves that the tree was built from.
    pub fn proof<L: Copy + Into<[u8; 32]>>(
        &self,
        number: usize,
        chunk: &[L],
    ) -> Option<Vec<Digest>> {
        let range = self.chunk_of(number)?;
        let at = number / CHUNK;
        let below = levels(leaf_hashes(range.start, chunk));
        if chunk.len() != range.len() || root_of_levels(&below) != self.levels[0][at] {
            return None;
        }
        Some(
            siblings(number - range.start, &below)
                .chain(siblings(at, &self.levels))
                .collect(),
        )
    }
}

/// Returns the root over all leaves of a slice.
pub fn root<L: Copy + Sync + Into<[u8; 32]>>(leaves: &[L]) -> Digest {
    MerkleTree::build(leaves).root()
}

/// Returns whether `path` proves that `holder` holds `number` in the tree with `n` leaves and this
/// `root` (RFC 9162 §2.1.3.2).
pub fn verify_proof(
    number: u64,
    n: u64,
    holder: impl Into<[u8; 32]>,
    path: &[Digest],
    root: &Digest,
) -> bool {
    if number >= n {
        return false;
    }
    // `node` is the hash's position on this level, and `last` is the position of the level's last
    // node. The last node may have no sibling.
    let (mut node, mut last) = (number, n - 1);
    let mut hash = leaf_hash(number, &holder.into());
    for sibling in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = inner_hash(sibling, &hash);
            // A node without a sibling moves up unchanged to the level where it has a sibling.
            while node & 1 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            hash = inner_hash(&hash, sibling);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && hash == *root
}

fn leaf_hash(number: u64, holder: &[u8; 32]) -> Digest {
    sha256(&[&[0], &number.to_be_bytes(), holder])
}

fn inner_hash(left: &Digest, right: &Digest) -> Digest {
    sha256(&[&[1], &left.0, &right.0])
}

fn leaf_hashes<L: Copy + Into<[u8; 32]>>(first: usize, leaves: &[L]) -> Vec<Digest> {
    leaves
        .iter()
        .zip(first as u64..)
        .map(|(leaf, number)| leaf_hash(number, &(*leaf).into()))
        .collect()
}

fn chunk_roots<L: Copy + Into<[u8; 32]>>(first: usize, leaves: &[L]) -> Vec<Digest> {
    let chunks = leaves.chunks(CHUNK).zip((first..).step_by(CHUNK));
    chunks
        .map(|(chunk, first)| root_of_levels(&levels(leaf_hashes(first, chunk))))
        .collect()
}

/// Builds all levels of the tree, from `hashes` up to the root. A node without a sibling moves up
/// unchanged. This gives the same tree as the RFC's split at the largest power of two.
fn levels(hashes: Vec<Digest>) -> Vec<Vec<Digest>> {
    let mut levels = vec![hashes];
    while let Some(level) = levels.last()
        && level.len() > 1
    {
        let merge = |pair: &[Digest]| match pair {
            [left, right] => inner_hash(left, right),
            alone => alone[0],
        };
        let next = level.chunks(2).map(merge).collect();
        levels.push(next);
    }
    levels
}

/// Returns the root of the tree with these levels. Without leaves, it is the hash of an empty
/// input.
fn root_of_levels(levels: &[Vec<Digest>]) -> Digest {
    levels
        .last()
        .and_then(|level| level.first())
        .copied()
        .unwrap_or_else(|| sha256(&[]))
}

/// Returns the siblings on the way up from `at`. Skips the levels on which the node has no sibling.
fn siblings(mut at: usize, levels: &[Vec<Digest>]) -> impl Iterator<Item = Digest> {
    levels.iter().filter_map(move |level| {
        let sibling = level.get(at ^ 1).copied();
        at /= 2;
        sibling
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::tests::vectors;

    fn leaves(n: usize) -> Vec<[u8; 32]> {
        (0..n)
            .map(|i| Digest::of_bytes(&i.to_be_bytes()).0)
            .collect()
    }

    /// Computes the root from the data of the leaves, as RFC 6962 §2.1 defines it.
    fn as_written(data: &[Vec<u8>]) -> Digest {
        match data {
            [] => Digest::of_bytes(b""),
            [only] => Digest::of_bytes(&[&[0][..], only].concat()),
            _ => {
                let mut k = 1;
                while k * 2 < data.len() {
                    k *= 2;
                }
                let halves = [as_written(&data[..k]).0, as_written(&data[k..]).0].concat();
                Digest::of_bytes(&[&[1][..], &halves].concat())
            }
        }
    }

    fn check(n: usize, numbers: impl Iterator<Item = usize>) {
        let leaves = leaves(n);
        let data: Vec<Vec<u8>> = leaves
            .iter()
            .zip(0u64..)
            .map(|(leaf, i)| [&i.to_be_bytes()[..], leaf].concat())
            .collect();
        let tree = MerkleTree::build(&leaves);
        let root = tree.root();
        assert_eq!(root, as_written(&data), "n = {n}");
        for number in numbers {
            let path = tree
                .proof(number, &leaves[tree.chunk_of(number).unwrap()])
                .unwrap();
            let (at, n) = (number as u64, n as u64);
            assert!(
                verify_proof(at, n, leaves[number], &path, &root),
                "{number} of {n}"
            );
            assert!(!verify_proof(at, n, [0xee; 32], &path, &root));
            assert!(!verify_proof(
                at,
                n,
                leaves[number],
                &[&path[..], &[root]].concat(),
                &root
            ));
            assert!(path.is_empty() || !verify_proof(at, n, leaves[number], &path[1..], &root));
            assert!(!verify_proof(at + 1, n, leaves[number], &path, &root));
            assert!(!verify_proof(
                at,
                n,
                leaves[number],
                &path,
                &Digest([1; 32])
            ));
        }
    }

    #[test]
    fn root_and_every_proof_agree_with_the_rfc_for_small_trees() {
        (0..70).for_each(|n| check(n, 0..n));
    }

    #[test]
    fn root_and_proofs_agree_with_the_rfc_around_the_borders_of_chunks() {
        for n in [
            CHUNK - 1,
            CHUNK,
            CHUNK + 1,
            2 * CHUNK,
            2 * CHUNK + 1,
            5 * CHUNK - 3,
        ] {
            check(
                n,
                [0, 1, CHUNK - 2, CHUNK, n / 2, n - 1]
                    .into_iter()
                    .filter(|number| *number < n),
            );
        }
    }

    #[test]
    fn root_agrees_with_the_published_vectors() {
        for case in vectors() {
            assert_eq!(root(&case.leaves()), case.root, "n = {}", case.n);
        }
    }

    #[test]
    fn leaves_that_differ_from_the_frozen_ones_give_no_proof() {
        let mut leaves = leaves(10);
        let tree = MerkleTree::build(&leaves);
        assert_eq!((tree.chunk_of(10), tree.chunk_of(9)), (None, Some(0..10)));
        assert_eq!(tree.proof(10, &leaves), None);
        assert_eq!(tree.proof(3, &leaves[..9]), None);
        leaves[7][0] ^= 1;
        assert_eq!(tree.proof(3, &leaves), None);
    }
}
