//! Every key of the line in Redis. Each script is passed one key of a room. The room's other keys
//! have the same prefix, so that they lie on the same slot, and the scripts build their names:
//!
//! | `{room:ID}:…` | what |
//! | --- | --- |
//! | `life` | incarnation, server, counters, freeze, the accounts of the last tick |
//! | `leaves:K` | 40 bytes a number, 16,384 numbers a key: holder, and when (ms) |
//! | `holders` | the living number of each holder |
//! | `codes`, `code_of` | each code's number, each number's code |
//! | `absent`, `done` | a bit a number |
//! | `passes`, `inside`, `left_with_pass` | expiry by number; who is inside; who left with one |
//! | `entering`, `entering_calls` | ranks on the way in, by when that lapses |
//! | `calls`, `came`, `called_away`, `answered` | releases whose window is open; a bit a rank |
//! | `seen:S` | a bit for each number that was seen in these five seconds |
//! | `vitals` | what each node measured of booking |
//! | `feed`, `copier` | what is not in the ledger yet, and who brings it there |
//!
//! Beside the rooms there is `fairgate:ledger`, the id of the ledger that all this belongs to.
//! Booking's store writes the same key.

/// The key with the id of the ledger that the data belongs to.
pub const LEDGER: &str = "fairgate:ledger";

/// Returns the key that is passed to a room's scripts.
pub fn life(room: &str) -> String {
    format!("{{room:{room}}}:life")
}
