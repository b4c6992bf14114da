//! The names of everything this store keeps in Redis.
//!
//! | key | what |
//! | --- | --- |
//! | `{show:ID}:meta` | hash: the life, its state and server, grid, plan, cursor, version |
//! | `{show:ID}:LIFE:held`, `:sold`, `:blocked` | bitmaps, a bit a cell |
//! | `{show:ID}:LIFE:lock:CELL` | the hold whose cell it is, with a time to live as a safety net |
//! | `{show:ID}:LIFE:hold:HEX` | hash: a hold's document |
//! | `{show:ID}:LIFE:released:HEX` | whose hold was given back, for a while |
//! | `{show:ID}:LIFE:deadlines`, `:short` | sorted sets: when locks fall, when owners are told |
//! | `{show:ID}:LIFE:kept` | hash: each hold in short, for who reads the whole show |
//! | `{show:ID}:LIFE:has`, `:bought` | hashes: seats of a visitor in holds, and bought |
//! | `{show:ID}:LIFE:waitlist` | set: cells that came free while somebody waits |
//! | `{show:ID}:LIFE:feed` | stream: the newest 8,192 changes; goes a day after the last one |
//! | `fairgate:ledger` | the id of the ledger that all this belongs to |
//!
//! Each script gets the first key and derives the others from it: all keys of a show lie on one
//! slot, by their hash tag.

use fairgate_model::ids::{HoldId, ShowId};

/// The key with the id of the ledger to which the data set belongs.
pub(super) const LEDGER: &str = "fairgate:ledger";

/// Returns the key that every script of a show gets.
pub(super) fn meta_key(show: &ShowId) -> String {
    format!("{{show:{show}}}:meta")
}

/// The last 32 digits of a hold's id. They tell the holds of one show apart, and are the fencing
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
    fn a_hold_is_found_again_by_its_tail() {
        let show: ShowId = "night-1".parse().expect("a slug");
        let id = HoldId::of_key(&show, Holder([1; 32]), "k");
        assert_eq!(hold_from_tail(&show, &hold_tail(&id)), Some(id));
        assert_eq!(hold_from_tail(&show, b"rubbish"), None);
    }
}
