//! Every script of the store, by name. What several share stands once, in parts; each script
//! is given those that it uses, for whatever a script names is made anew at every call.

use std::sync::LazyLock;

use fairgate_redis::Script;

const BASE: &str = include_str!("scripts/lib/base.lua");
const ENTER: &str = include_str!("scripts/lib/enter.lua");
const TELL: &str = include_str!("scripts/lib/tell.lua");
const LOCK: &str = include_str!("scripts/lib/lock.lua");
const KEEP: &str = include_str!("scripts/lib/keep.lua");
const KEPT: &str = include_str!("scripts/lib/kept.lua");
const POOL: &str = include_str!("scripts/lib/pool.lua");
const ADMIT: &str = include_str!("scripts/lib/admit.lua");
const FREE: &str = include_str!("scripts/lib/free.lua");
const DROP: &str = include_str!("scripts/lib/drop.lua");
const OWN: &str = include_str!("scripts/lib/own.lua");
const BUILDING: &str = include_str!("scripts/lib/building.lua");

macro_rules! scripts {
    ($($name:ident: $($part:ident),+;)*) => {
        /// One field a script.
        pub(super) struct Scripts {
            $(pub(super) $name: Script,)*
        }

        /// The scripts, hashed once.
        pub(super) static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| Scripts {
            $($name: Script::new(
                concat!("show_", stringify!($name)),
                &[$($part,)+ include_str!(concat!("scripts/", stringify!($name), ".lua"))],
            ),)*
        });
    };
}

scripts! {
    take: BASE, ENTER, TELL, LOCK, KEEP, ADMIT;
    offer: BASE, ENTER, TELL, LOCK, KEPT, POOL, KEEP, ADMIT;
    hold: BASE, ENTER, KEEP, OWN;
    change: BASE, ENTER, TELL, LOCK, KEPT, KEEP, FREE, OWN;
    release: BASE, ENTER, TELL, LOCK, KEPT, KEEP, FREE, DROP;
    extend: BASE, ENTER, TELL, LOCK, KEEP, FREE, OWN;
    secure: BASE, ENTER, TELL, LOCK, KEEP, FREE, OWN;
    unsecure: BASE, ENTER, TELL, LOCK, KEEP, FREE;
    prolong: BASE, ENTER, TELL, LOCK, KEPT, POOL, KEEP, FREE;
    deliver: BASE, ENTER, TELL, LOCK, KEPT, KEEP, FREE;
    sweep: BASE, ENTER, TELL, LOCK, KEPT, POOL, KEEP, FREE, DROP;
    wait: BASE, ENTER, TELL, LOCK, KEPT, POOL;
    let_go: BASE, ENTER, TELL, LOCK, KEPT, POOL;
    follow: BASE, ENTER;
    snapshot: BASE, ENTER;
    begin: BASE;
    fill_view: BASE, BUILDING;
    fill_bought: BASE, BUILDING;
    fill_hold: BASE, BUILDING;
    live: BASE, BUILDING;
    abandon: BASE, ENTER;
    condemn: BASE;
    bury: BASE;
}
