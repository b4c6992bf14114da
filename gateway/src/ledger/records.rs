//! What the ledger keeps, as types without any database in them.

use std::fmt;

use fairgate_pass::{Digest, Holder};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::RoomLife;
use crate::room::{RoomDocument, RoomFacts};
pub use fairgate_rules::counter::ReleaseRow;

/// The draw's secret until the draw publishes it. `Debug` shows nothing of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DrawSecret(pub [u8; 32]);

impl fmt::Debug for DrawSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// One room as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct RoomRow {
    /// The slug.
    pub room: String,
    /// What the promoter wrote.
    pub document: RoomDocument,
    /// What happened to it by hand or by the loop.
    pub facts: RoomFacts,
    /// Grows with every change: the compare of compare-and-set.
    pub version: u64,
    /// Made with the room, published by the draw.
    pub secret: DrawSecret,
    /// When the room was made.
    pub created_at: i64,
}

/// How far a draw has come, as the other nodes ask for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DrawStage {
    /// The line fills.
    #[default]
    Open,
    /// The numbers are fixed.
    Frozen,
    /// The root is published.
    Sealed,
    /// The seed is.
    Drawn,
}

impl DrawStage {
    /// From which of its columns are written.
    #[must_use]
    pub fn from_columns(frozen: bool, sealed: bool, drawn: bool) -> Self {
        match (frozen, sealed, drawn) {
            (_, _, true) => Self::Drawn,
            (_, true, false) => Self::Sealed,
            (true, false, false) => Self::Frozen,
            (false, false, false) => Self::Open,
        }
    }
}

/// What tells a node that another one changed a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomVersion {
    /// The slug.
    pub room: String,
    /// Of the row.
    pub version: u64,
    /// Of the draw.
    pub stage: DrawStage,
}

/// How a compare-and-set on a room ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomChangeOutcome {
    /// Written; the row's new version.
    To(u64),
    /// Somebody else changed the row first; nothing was written.
    Conflict,
    /// Somebody has joined, and the change was only allowed before that; nothing was written.
    Joined,
}

/// One join as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinRow {
    /// The join number.
    pub number: u64,
    /// Whose it is.
    pub holder: Holder,
    /// The code it used.
    pub code: Option<Digest>,
    /// When.
    pub at: i64,
}

/// How a join ended in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerJoinOutcome {
    /// It stands.
    Done,
    /// The code is unknown or used; nothing was written, the number is void.
    CodeRefused,
}

/// One place as read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPlace {
    /// The join itself.
    pub join: JoinRow,
    /// The place is gone.
    pub left: bool,
    /// The leaf is nobody's.
    pub void: bool,
    /// An order of this visitor was ticketed.
    pub done: bool,
}

/// Everything of one line that a room store rebuilds itself from.
#[derive(Debug, Clone, Default)]
pub struct StoredLine {
    /// Places, numbers rising.
    pub places: Vec<StoredPlace>,
    /// Codes, and the number that used each.
    pub codes: Vec<(Digest, Option<u64>)>,
    /// Numbers below this are frozen.
    pub frozen: Option<u64>,
    /// Number and expiry (unix seconds) of each stored pass.
    pub passes: Vec<(u64, i64)>,
    /// The cursor of finished orders.
    pub finished: u64,
    /// The standing life of a store that has lives. Numbers below its ceiling may have been given.
    pub life: Option<RoomLife>,
}

/// The freeze: numbers below `n` are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineFreeze {
    /// How many numbers.
    pub n: u64,
    /// When.
    pub at: i64,
}

/// What the freeze publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedFreeze {
    /// How many of the n numbers nobody holds.
    pub voids: u64,
    /// The RFC 6962 root.
    pub root: Digest,
    /// Compact JWS over the freeze.
    pub signature: String,
}

/// What the draw publishes beside the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedDraw {
    /// The seed of the line.
    pub seed: Digest,
    /// When.
    pub at: i64,
}

/// How far a draw has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrawRow {
    /// From the freeze on.
    pub freeze: Option<LineFreeze>,
    /// From the root on.
    pub sealed: Option<PublishedFreeze>,
    /// From the draw on.
    pub drawn: Option<PublishedDraw>,
}

impl DrawRow {
    /// How far that is.
    #[must_use]
    pub fn stage(&self) -> DrawStage {
        let Self {
            freeze,
            sealed,
            drawn,
        } = self;
        DrawStage::from_columns(freeze.is_some(), sealed.is_some(), drawn.is_some())
    }
}

/// One stored pass: enough to sign the same bytes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassRow {
    /// The join number.
    pub number: u64,
    /// The rank that was released.
    pub rank: u64,
    /// Whose.
    pub holder: Holder,
    /// Unix seconds.
    pub iat: i64,
    /// Unix seconds.
    pub exp: i64,
    /// The pass's name.
    pub jti: String,
}

/// What is to be written into the audit.
#[derive(Debug, Clone)]
pub struct RoomAuditEntry {
    /// When.
    pub at: i64,
    /// `promoter`, or `fairgate` for what the loop did.
    pub role: &'static str,
    /// What was done, `snake_case`.
    pub action: &'static str,
    /// What about it.
    pub detail: serde_json::Value,
}

/// One audit row; each row's hash covers the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct AuditRow {
    /// From 1, without gaps, per room.
    pub seq: u64,
    /// RFC 3339.
    pub at: String,
    /// Who.
    pub role: String,
    /// What.
    pub action: String,
    /// What about it.
    #[schema(value_type = Object)]
    pub detail: serde_json::Value,
    /// SHA-256 over `prev` and the row.
    pub hash: String,
    /// The hash of the row before; 64 zeros for the first.
    pub prev: String,
}

impl AuditRow {
    /// The first row's `prev`.
    pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

    /// Chains an entry behind `prev`: SHA-256 of the text `prev \n seq \n at \n role \n action \n
    /// detail`, with the detail as compact JSON.
    #[must_use]
    pub fn chain(seq: u64, prev: &str, entry: &RoomAuditEntry) -> Self {
        let mut row = Self {
            seq,
            at: fairgate_base::clock::rfc3339(entry.at),
            role: entry.role.to_owned(),
            action: entry.action.to_owned(),
            detail: entry.detail.clone(),
            hash: String::new(),
            prev: prev.to_owned(),
        };
        row.hash = row.expected_hash();
        row
    }

    /// The hash this row should have.
    #[must_use]
    pub fn expected_hash(&self) -> String {
        let Self {
            seq,
            at,
            role,
            action,
            detail,
            prev,
            ..
        } = self;
        hex::encode(Sha256::digest(format!(
            "{prev}\n{seq}\n{at}\n{role}\n{action}\n{detail}"
        )))
    }
}

/// One line of the report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Sample)]
pub struct RoomSample {
    /// Milliseconds since the epoch.
    pub at_ms: i64,
    /// Numbers given so far.
    pub joined: u64,
    /// Places not yet released and not left.
    pub waiting: u64,
    /// Places that were left.
    pub left: u64,
    /// The release counter.
    pub released: u64,
    /// Visitors with a live pass and no finished order.
    pub inside: u64,
    /// Visitors who claimed at least one pass.
    pub claimed: u64,
    /// Visitors whose order was ticketed.
    pub done: u64,
    /// Seats free.
    pub free: u64,
    /// Seats held.
    pub held: u64,
    /// Seats sold.
    pub sold: u64,
}
