//! Every key of the line in Redis. Each script is passed one key of a room. The scripts build the
//! names of the room's other keys. All keys of a room have the same prefix, so that they lie on the
//! same slot:
//!
//! | `{room:ID}:…` | what |
//! | --- | --- |
//! | `life` | incarnation, server, counters, freeze, the accounts of the last tick |
//! | `leaves:K` | 16,384 numbers, 40 bytes each: the holder, and the time of the join (ms) |
//! | `holders` | the number that each holder has now |
//! | `codes`, `code_of` | the number that used each code; the code that each number used |
//! | `wrong_codes` | when the budget of wrong codes is whole; how many came in each slice of time |
//! | `absent`, `done` | a bit for each number: has no visitor; has a ticketed order |
//! | `passes`, `inside`, `left_with_pass` | when passes end; who is inside; who left with a pass |
//! | `active` | when each visitor inside last did something |
//! | `called_behind`, `excused` | which ranks are called before a number; visits without seats |
//! | `baskets:N`, `lapses`, `lapsed:H` | a number's baskets; how many lapsed; a lapsed hold |
//! | `entering`, `entering_calls` | when a rank's admission lapses; how many claims it has open |
//! | `calls`, `came` | calls whose window is open; how many visitors of each came or left |
//! | `called_away`, `answered` | a bit for each called rank: was away; came or left since |
//! | `seen:S` | a bit for each number that was seen in the five seconds of slot S |
//! | `ever_away` | a bit for each number whose visitor was away once the line was ordered |
//! | `here` | all slots of `seen` as one, only while `read_away.lua` runs |
//! | `vitals` | what each node measured of booking |
//! | `networks:E`, `network_epochs` | how many places each network has in epoch E; all epochs |
//! | `recent_networks:E` | how many places each very wide network got in each of the last minutes |
//! | `wait:N`, `solution:S` | when the last wait of a network ends; a used challenge or code |
//! | `wishes`, `wish_changes` | the wishes of each number; the last change of each |
//! | `moved` | when a code last brought the place of each number to another device |
//! | `feed`, `copier` | joins that are not in the ledger yet; the node that copies them |
//!
//! The key `fairgate:ledger` belongs to no room. Its value is the id of the ledger that all the
//! data belongs to. Booking's store writes the same key.

/// The key with the id of the ledger that the data belongs to.
pub const LEDGER: &str = "fairgate:ledger";

/// Returns the key that every script of a room is passed.
pub fn life(room: &str) -> String {
    format!("{{room:{room}}}:life")
}
