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
//! Scripts are given the first and name the others from it: all of a show lies on one slot, by its
//! hash tag.

use fairgate_model::ids::{HoldId, ShowId};

/// Whose ledger the data set belongs to.
pub(super) const LEDGER: &str = "fairgate:ledger";

/// The key that every script of a show is given.
pub(super) fn meta_key(show: &ShowId) -> String {
    format!("{{show:{show}}}:meta")
}

/// What tells a hold of a show from its others: the last 32 digits of its id, the fencing value of
/// its locks.
pub(super) type HoldIdTail = [u8; 32];

/// The tail of a hold's id.
pub(super) fn hold_tail(hold: &HoldId) -> HoldIdTail {
    let bytes = hold.as_str().as_bytes();
    bytes.last_chunk().copied().unwrap_or([b'0'; 32])
}

/// The hold that a tail belongs to.
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
