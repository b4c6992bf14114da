//! Every key and every script of the line in Redis. One key is named to a script; the others of a room begin alike, so
//! that they lie on the same slot, and `guard.lua` names them:
//!
//! | `{room:ID}:…` | what |
//! | --- | --- |
//! | `life` | incarnation, server, counters, freeze, the accounts of the last tick |
//! | `leaves:K` | 40 bytes a number, 16,384 numbers a key: holder, and when (ms) |
//! | `holders` | the living number of each holder |
//! | `codes`, `code_of` | each code's number, each number's code |
//! | `absent`, `done` | a bit a number |
//! | `passes`, `inside`, `left_with_pass` | expiry by number; who is inside, by expiry; numbers by holders who left |
//! | `entering`, `entering_calls` | ranks on the way in, by when that lapses |
//! | `calls`, `came`, `called_away`, `answered` | the releases whose window is open, and a bit a rank |
//! | `seen:S` | a bit for each number that was seen in these five seconds |
//! | `vitals` | what each node measured of booking |
//! | `feed`, `copier` | what is not in the ledger yet, and who brings it there |
//!
//! Beside the rooms there is `fairgate:ledger`, the id of the ledger that all this belongs to; booking's store writes the same.

use std::sync::LazyLock;

use fairgate_redis::Script;

use fairgate_rules::cohort::{PAST_KEPT, SHOW_UP_MIN, SHOW_UP_WEIGHT};

/// Whose ledger the data set belongs to.
pub const LEDGER: &str = "fairgate:ledger";

/// The key that stands for a room.
pub fn life(room: &str) -> String {
    format!("{{room:{room}}}:life")
}

/// Every script.
pub struct Scripts {
    pub absent: Script,
    pub adopt: Script,
    pub away: Script,
    pub begin: Script,
    pub bring_back: Script,
    pub builds: Script,
    pub check: Script,
    pub claimed: Script,
    pub copied: Script,
    pub counts: Script,
    pub done: Script,
    pub enter: Script,
    pub figures: Script,
    pub fill: Script,
    pub fill_codes: Script,
    pub fill_passes: Script,
    pub finish: Script,
    pub freeze: Script,
    pub hold_codes: Script,
    pub join: Script,
    pub leave: Script,
    pub leaving: Script,
    pub place_of: Script,
    pub put_codes: Script,
    pub raise: Script,
    pub salvage: Script,
    pub seen: Script,
    pub standing: Script,
    pub still: Script,
    pub take: Script,
    pub ticked: Script,
    pub turned_back: Script,
}

const GUARD: &str = include_str!("scripts/lib/guard.lua");
const LIVE: &str = include_str!("scripts/lib/live.lua");
const SHOWN: &str = include_str!("scripts/lib/shown.lua");
const BUILDING: &str = include_str!("scripts/lib/building.lua");

/// The scripts, put together once.
pub static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
    // The pace's figures stand in one place, which is not here.
    let figures = format!(
        "local SHOW_UP_WEIGHT, SHOW_UP_MIN, PAST_KEPT = {SHOW_UP_WEIGHT}, {SHOW_UP_MIN}, {PAST_KEPT}"
    );
    let live = |name, source| Script::new(name, &[&figures, GUARD, LIVE, source]);
    let shown = |name, source| Script::new(name, &[&figures, GUARD, LIVE, SHOWN, source]);
    let building = |name, source| Script::new(name, &[&figures, GUARD, BUILDING, source]);
    let bare = |name, source| Script::new(name, &[&figures, GUARD, source]);
    Scripts {
        absent: live("absent", include_str!("scripts/absent.lua")),
        adopt: bare("adopt", include_str!("scripts/adopt.lua")),
        away: live("away", include_str!("scripts/away.lua")),
        begin: bare("begin", include_str!("scripts/begin.lua")),
        bring_back: shown("bring_back", include_str!("scripts/bring_back.lua")),
        builds: bare("builds", include_str!("scripts/builds.lua")),
        check: live("check", include_str!("scripts/check.lua")),
        claimed: live("claimed", include_str!("scripts/claimed.lua")),
        copied: live("copied", include_str!("scripts/copied.lua")),
        counts: live("counts", include_str!("scripts/counts.lua")),
        done: live("done", include_str!("scripts/done.lua")),
        enter: live("enter", include_str!("scripts/enter.lua")),
        figures: live("figures", include_str!("scripts/figures.lua")),
        fill: building("fill", include_str!("scripts/fill.lua")),
        fill_codes: building("fill_codes", include_str!("scripts/fill_codes.lua")),
        fill_passes: building("fill_passes", include_str!("scripts/fill_passes.lua")),
        finish: building("finish", include_str!("scripts/finish.lua")),
        freeze: live("freeze", include_str!("scripts/freeze.lua")),
        hold_codes: live("hold_codes", include_str!("scripts/hold_codes.lua")),
        join: live("join", include_str!("scripts/join.lua")),
        leave: live("leave", include_str!("scripts/leave.lua")),
        leaving: live("leaving", include_str!("scripts/leaving.lua")),
        place_of: live("place_of", include_str!("scripts/place_of.lua")),
        put_codes: live("put_codes", include_str!("scripts/put_codes.lua")),
        raise: live("raise", include_str!("scripts/raise.lua")),
        salvage: bare("salvage", include_str!("scripts/salvage.lua")),
        seen: live("seen", include_str!("scripts/seen.lua")),
        standing: shown("standing", include_str!("scripts/standing.lua")),
        still: building("still", include_str!("scripts/still.lua")),
        take: live("take", include_str!("scripts/take.lua")),
        ticked: live("ticked", include_str!("scripts/ticked.lua")),
        turned_back: live("turned_back", include_str!("scripts/turned_back.lua")),
    }
});
