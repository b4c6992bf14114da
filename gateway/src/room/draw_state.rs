//! The state of a room's draw on this node: the ledger's row, the published record, the frozen
//! leaves and the ranked line.

use std::sync::Arc;

use fairgate_base::clock::rfc3339;
use fairgate_pass::{Digest, FreezeClaims, VOID};
use fairgate_rules::draw::merkle::MerkleTree;
use fairgate_rules::draw::record::DrawRecord;
use fairgate_rules::draw::{self, shuffle};

use crate::ledger::{DrawRow, LedgerError, PublishedFreeze, RoomLedger, RoomRow};

/// A drawn line: rank by number and number by rank.
pub struct RankedLine {
    /// `line[rank]` is the number.
    pub line: Vec<u32>,
    /// `rank_of[number]` is the rank.
    pub rank_of: Vec<u32>,
}

/// The frozen leaves and the Merkle tree over them.
pub struct FrozenLeaves {
    /// The holders of numbers 0..n; zeros where nobody holds the number.
    pub leaves: Vec<[u8; 32]>,
    /// The Merkle tree of the leaves.
    pub tree: MerkleTree,
}

/// The state of the draw on this node.
#[derive(Clone)]
pub struct DrawState {
    /// The draw as the ledger has it.
    pub row: DrawRow,
    /// The published record.
    pub record: Arc<DrawRecord>,
    /// The frozen leaves, once the root is published.
    pub frozen: Option<Arc<FrozenLeaves>>,
    /// The ranked line, once it is drawn.
    pub ranked: Option<Arc<RankedLine>>,
}

impl DrawState {
    /// Reads the draw of a stored room, with all steps that are done.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read, or its parts of the draw contradict each other.
    pub async fn restore(ledger: &RoomLedger, row: &RoomRow) -> Result<Self, LedgerError> {
        let draw = ledger.draw(&row.room).await?;
        let mut state = Self {
            record: Arc::new(published(row, &draw)?),
            row: draw,
            frozen: None,
            ranked: None,
        };
        if let (Some(freeze), Some(sealed)) = (state.row.freeze, &state.row.sealed) {
            let frozen = FrozenLeaves::from_ledger(ledger, &row.room, freeze.n).await?;
            frozen.check_published(&row.room, sealed)?;
            state.frozen = Some(Arc::new(frozen));
            if let Some(drawn) = &state.row.drawn {
                state.ranked = Some(Arc::new(RankedLine::draw(drawn.seed, freeze.n).await?));
            }
        }
        Ok(state)
    }
}

impl FrozenLeaves {
    /// Reads the leaves 0..n and builds their tree, on a blocking thread.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub async fn from_ledger(ledger: &RoomLedger, room: &str, n: u64) -> Result<Self, LedgerError> {
        let bytes = ledger.leaves(room, n).await?;
        let built = tokio::task::spawn_blocking(move || {
            let leaves = bytes.as_chunks::<32>().0.to_vec();
            let tree = MerkleTree::build(&leaves);
            Self { leaves, tree }
        });
        built
            .await
            .map_err(|error| LedgerError::Unavailable(error.to_string()))
    }

    /// Counts the leaves that nobody holds.
    #[must_use]
    pub fn voids(&self) -> u64 {
        self.leaves.iter().filter(|leaf| **leaf == VOID.0).count() as u64
    }

    /// Compares the published root and count of voids with these leaves. Another node may have
    /// published them.
    ///
    /// # Errors
    /// Fails if the root or the count differs.
    pub fn check_published(&self, room: &str, sealed: &PublishedFreeze) -> Result<(), LedgerError> {
        if (self.tree.root(), self.voids()) == (sealed.root, sealed.voids) {
            return Ok(());
        }
        Err(LedgerError::Corrupt(format!(
            "the leaves of room \"{room}\" do not match its published root"
        )))
    }
}

impl RankedLine {
    /// Returns the number at a rank. For ranks beyond the drawn line, rank and number are the same.
    #[must_use]
    pub fn number_at(&self, rank: u64) -> u64 {
        usize::try_from(rank)
            .ok()
            .and_then(|at| self.line.get(at))
            .map_or(rank, |number| u64::from(*number))
    }

    /// Ranks the numbers 0..n by a seed, on a blocking thread.
    ///
    /// # Errors
    /// Fails if one draw cannot rank `n` numbers.
    pub async fn draw(seed: Digest, n: u64) -> Result<Self, LedgerError> {
        let n = u32::try_from(n)
            .map_err(|_| LedgerError::Corrupt(format!("one draw cannot rank {n} numbers")))?;
        let drawn = tokio::task::spawn_blocking(move || shuffle::line_and_ranks(&seed, n)).await;
        let drawn = drawn.map_err(|error| LedgerError::Unavailable(error.to_string()))?;
        Ok(Self {
            line: drawn.line,
            rank_of: drawn.ranks,
        })
    }
}

/// Builds the draw's record, which has only the published steps.
///
/// # Errors
/// Fails if the stored draw does not follow from the room's secret.
pub fn published(row: &RoomRow, draw: &DrawRow) -> Result<DrawRecord, LedgerError> {
    let announced = DrawRecord::announced(row.room.as_str(), draw::commitment(&row.secret.0));
    let (Some(freeze), Some(sealed)) = (draw.freeze, &draw.sealed) else {
        return Ok(announced);
    };
    let claims = FreezeClaims {
        room: row.room.clone(),
        n: freeze.n,
        voids: sealed.voids,
        root: sealed.root,
        frozen_at: rfc3339(freeze.at),
    };
    let frozen = announced.frozen(claims, sealed.signature.clone(), None);
    let Some(drawn) = &draw.drawn else {
        return Ok(frozen);
    };
    frozen
        .drawn(row.secret.0, b"", rfc3339(drawn.at))
        .filter(|record| record.seed == Some(drawn.seed))
        .ok_or_else(|| {
            LedgerError::Corrupt(format!(
                "the draw of room \"{}\" does not follow from its secret",
                row.room
            ))
        })
}
