//! The names of everything this store keeps in Redis.
//!
//! | key | what |
//! | --- | --- |
//! | `{show:ID}:meta` | hash: the life, its state and server, grid, plan, cursor, version |
//! | `{show:ID}:LIFE:held`, `:sold`, `:blocked` | bitmaps, a bit a cell |
//! | `{show:ID}:LIFE:lock:CELL` | the hold that has the cell, with a time to live as a safety net |
//! | `{show:ID}:LIFE:hold:HEX` | hash: a hold's document |
//! | `{show:ID}:LIFE:released:HEX` | the visitor who released this hold, for 10 minutes |
//! | `{show:ID}:LIFE:deadlines`, `:short` | sorted sets: when locks end, when owners are warned |
//! | `{show:ID}:LIFE:kept` | hash: a summary of each hold, for snapshots of the show |
//! | `{show:ID}:LIFE:has`, `:bought` | hashes: each visitor's seats in holds, and seats bought |
//! | `{show:ID}:LIFE:own` | hash: each visitor's holds, 32 digits each |
//! | `{show:ID}:LIFE:waitlist` | set: cells that are kept for the waitlist |
//! | `{show:ID}:LIFE:feed` | stream: about the last 8,192 changes; expires a day after the last |
//! | `fairgate:ledger` | the id of the ledger that this Redis belongs to |
//! | `fairgate:counter` | sorted set: how far that ledger got, and its `orders_without_provider` |
//!
//! Each script gets the show's meta key and derives the show's other keys from it. The hash tag
//! puts all keys of a show on one slot.

use fairgate_model::ids::{HoldId, ShowId};

/// The key with the id of the ledger that this Redis belongs to.
pub(super) const LEDGER: &str = "fairgate:ledger";

/// The key that remembers how far the ledger got.
pub(super) const COUNTER: &str = "fairgate:counter";

/// Returns the key that every script of a show gets.
pub(super) fn meta_key(show: &ShowId) -> String {
    format!("{{show:{show}}}:meta")
}

/// The last 32 digits of a hold's id. They distinguish the holds of one show, and are the fencing
/// value of the hold's locks.
pub(super) type HoldIdTail = [u8; 32];

/// Returns the tail of a hold's id.
pub(super) fn hold_tail(hold: &HoldId) -> HoldIdTail {
    let bytes = hold.as_str().as_bytes();
    bytes.last_chunk().copied().unwrap_or([b'0'; 32])
}

/// Returns the id of the hold with this tail.
pub(super) fn hold_from_tail(show: &ShowId, tail: &[u8]) -> Option<HoldId> {
    let tail = std::str::from_utf8(tail).ok()?;
    format!("hold_{show}_{tail}").parse().ok()
}

#[cfg(test)]
mod tests {
    use fairgate_pass::Holder;

    use super::*;

    #[test]
    fn a_holds_id_is_rebuilt_from_its_tail() {
        let show: ShowId = "night-1".parse().expect("a slug");
        let id = HoldId::of_key(&show, Holder([1; 32]), "k");
        assert_eq!(hold_from_tail(&show, &hold_tail(&id)), Some(id));
        assert_eq!(hold_from_tail(&show, b"rubbish"), None);
    }
}
