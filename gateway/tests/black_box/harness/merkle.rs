//! Computes Merkle roots as RFC 6962 describes, so that independent code checks the product's
//! proofs.

use sha2::{Digest, Sha256};

fn sha(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

/// Returns the root to which an inclusion path of leaf `number` among `n` leads (RFC 9162,
/// 2.1.3.2), or `None` if the path is too long or too short.
pub fn root_of(number: u64, n: u64, holder: &[u8], path: &[Vec<u8>]) -> Option<[u8; 32]> {
    if number >= n {
        return None;
    }
    let (mut at, mut last) = (number, n - 1);
    let mut hash = sha(&[&[0], &number.to_be_bytes(), holder]);
    for sibling in path {
        if last == 0 {
            return None;
        }
        if at % 2 == 1 || at == last {
            hash = sha(&[&[1], sibling, &hash]);
            while at % 2 == 0 && at != 0 {
                at /= 2;
                last /= 2;
            }
        } else {
            hash = sha(&[&[1], &hash, sibling]);
        }
        at /= 2;
        last /= 2;
    }
    (last == 0).then_some(hash)
}
