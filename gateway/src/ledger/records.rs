//! The records of the ledger, as types that do not depend on a database.

use std::fmt;

use fairgate_pass::{Digest, Holder, VisitEndCause};
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::RoomDocument;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{NetworkKey, NetworkKeys, RoomLife};
pub use fairgate_rules::counter::ReleaseRow;

/// The secret of the draw. The draw publishes it. `Debug` does not show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DrawSecret(pub [u8; 32]);

impl fmt::Debug for DrawSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DrawSecret(…)")
    }
}

/// One stored room.
#[derive(Debug, Clone, PartialEq)]
pub struct RoomRow {
    /// The room's slug.
    pub room: String,
    /// What the promoter wrote.
    pub document: RoomDocument,
    /// What the promoter has done to the room by hand since its creation.
    pub facts: RoomFacts,
    /// The version that compare-and-set compares. It grows with every change.
    pub version: u64,
    /// The draw's secret, made with the room and published by the draw.
    pub secret: DrawSecret,
    /// When the room was created.
    pub created_at: i64,
}

/// How far a draw has come, in the short form that other nodes poll.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DrawStage {
    /// The line is still filling.
    #[default]
    Open,
    /// The line is frozen.
    Frozen,
    /// The root is published.
    Sealed,
    /// The seed is published.
    Drawn,
}

impl DrawStage {
    /// Returns the stage, given which of the draw's columns are written.
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

/// The figures that a node compares to find out whether another node changed a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomVersion {
    /// The room's slug.
    pub room: String,
    /// The version of the room's row.
    pub version: u64,
    /// How far the room's draw has come.
    pub stage: DrawStage,
    /// The cursor of the room's last stopped pass.
    pub stops: u64,
    /// How many places the promoter has ended.
    pub revoked: u64,
    /// Whether the ledger went back, and the secrets of draws were not made anew since.
    pub owes_secrets: bool,
}

/// The outcome of a compare-and-set on a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomChangeOutcome {
    /// The change was written; the row now has this version.
    To(u64),
    /// Another change came first; nothing was written.
    Conflict,
    /// The change was only allowed before the first join, and somebody has joined; nothing was
    /// written.
    Joined,
}

/// One join, as it is written to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinRow {
    /// The join number.
    pub number: u64,
    /// The holder of the number.
    pub holder: Holder,
    /// The code that the join used, if the room asks for one.
    pub code: Option<Digest>,
    /// When the visitor joined.
    pub at: i64,
    /// The networks that the place is counted in.
    pub networks: NetworkKeys,
}

/// The outcome of a join in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerJoinOutcome {
    /// The join is recorded.
    Done,
    /// The code is unknown or used. Nothing was written, and the number is void.
    CodeRefused,
}

/// One place as the ledger has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPlace {
    /// The join that made the place.
    pub join: JoinRow,
    /// Whether the visitor left the place.
    pub left: bool,
    /// Whether the place's leaf is void.
    pub void: bool,
    /// Whether an order of this visitor was ticketed.
    pub done: bool,
}

/// Everything that a room store needs to rebuild one line.
#[derive(Debug, Clone, Default)]
pub struct StoredLine {
    /// The places, in rising order of their numbers.
    pub places: Vec<StoredPlace>,
    /// The room's codes, each with the number that used it.
    pub codes: Vec<(Digest, Option<u64>)>,
    /// Numbers below this are frozen.
    pub frozen: Option<u64>,
    /// Number and expiry (unix seconds) of each stored pass.
    pub passes: Vec<(u64, i64)>,
    /// The cursor up to which booking's finished orders have been read.
    pub finished: u64,
    /// The current life, if the room's data is or was in Redis. Numbers below its ceiling may have
    /// been given.
    pub life: Option<RoomLife>,
}

/// The freeze: numbers below `n` are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineFreeze {
    /// How many numbers are frozen.
    pub n: u64,
    /// When the line was frozen.
    pub at: i64,
}

/// What the freeze publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedFreeze {
    /// How many of the n numbers are void.
    pub voids: u64,
    /// The root of the leaves' tree (RFC 6962).
    pub root: Digest,
    /// The signature of the freeze, a compact JWS.
    pub signature: String,
}

/// What the draw publishes together with the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedDraw {
    /// The seed that the line is shuffled with.
    pub seed: Digest,
    /// When the line was drawn.
    pub at: i64,
}

/// How far a draw has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrawRow {
    /// The freeze, once the line is frozen.
    pub freeze: Option<LineFreeze>,
    /// The published root, once there is one.
    pub sealed: Option<PublishedFreeze>,
    /// The published draw, once the line is drawn.
    pub drawn: Option<PublishedDraw>,
}

impl DrawRow {
    /// Returns how far the draw has come.
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

/// Why a pass was stopped. A stopped pass allows nothing new, even if it has not expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassStopCause {
    /// The visitor left the place.
    Left,
    /// The room was closed.
    Closed,
    /// The promoter ended the place.
    Revoked,
    /// The promoter ended all places that the room had. Their holders may join again.
    Cleared,
}

impl PassStopCause {
    /// Returns the word under which the cause is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Closed => "closed",
            Self::Revoked => "revoked",
            Self::Cleared => "cleared",
        }
    }

    /// Reads the stored word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let causes = [Self::Left, Self::Closed, Self::Revoked, Self::Cleared];
        causes.into_iter().find(|cause| cause.as_str() == text)
    }
}

/// A place whose pass was stopped. A revoked place is listed even if it never had a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedPass {
    /// The join number.
    pub number: u64,
    /// The holder of the number.
    pub holder: Holder,
    /// When the pass expires, unix seconds; 0 if there was none.
    pub exp: i64,
    /// Why the pass was stopped.
    pub cause: PassStopCause,
    /// What the promoter tells the visitor; empty if the promoter did not end the place.
    pub note: String,
}

/// A visit that ended before its pass ran out. The place goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedPass {
    /// The join number.
    pub number: u64,
    /// The holder of the number.
    pub holder: Holder,
    /// When the pass was issued, unix seconds.
    pub issued_s: i64,
    /// When the pass would have run out, unix seconds.
    pub exp: i64,
    /// When the visit ended, unix seconds.
    pub ended_s: i64,
    /// Why the visit ended.
    pub cause: VisitEndCause,
}

/// The passes and places that ended early after a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewPassStops {
    /// The new cursor.
    pub cursor: u64,
    /// The passes of places that ended.
    pub stopped: Vec<StoppedPass>,
    /// The visits that ended.
    pub ended: Vec<EndedPass>,
}

/// Which living places a promoter ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceSelection {
    /// The place of this holder.
    Holder(Holder),
    /// The place that used this code.
    Code(Digest),
    /// The places that are counted in any of these networks.
    Networks(Vec<NetworkKey>),
}

/// How a claim ended in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerClaimOutcome {
    /// The visitor has this pass.
    Claimed(PassRow),
    /// The place has ended, so it gets no pass.
    Stopped(PassStopCause),
}

/// One stored pass. It has everything that is needed to sign the same bytes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassRow {
    /// The join number.
    pub number: u64,
    /// The rank that was released.
    pub rank: u64,
    /// The holder of the pass.
    pub holder: Holder,
    /// When the pass was issued, unix seconds.
    pub iat: i64,
    /// When the pass expires, unix seconds.
    pub exp: i64,
    /// The unique id of the pass.
    pub jti: String,
}

/// An entry of the audit, before it becomes an [`AuditRow`] of the chain.
#[derive(Debug, Clone)]
pub struct RoomAuditEntry {
    /// When it was done.
    pub at: i64,
    /// Who did it: `promoter`, or `fairgate` for what the loop did.
    pub role: &'static str,
    /// What was done, in `snake_case`.
    pub action: &'static str,
    /// Further facts about the action.
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
    /// The `prev` of the first row.
    pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

    /// Chains an entry to the row with the hash `prev`. The new hash is the SHA-256 of the text
    /// `prev \n seq \n at \n role \n action \n detail`, with the detail as compact JSON.
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

    /// Computes the hash that this row should have.
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
    /// Visitors who are here and whose ranks are not released yet.
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
