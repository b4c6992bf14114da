//! Every script of the store, by name. What several share stands once, in `base` and `enter`.

use std::sync::LazyLock;

use fairgate_redis::Script;

const BASE: &str = include_str!("scripts/base.lua");
const ENTER: &str = include_str!("scripts/enter.lua");
const OWN: &str = include_str!("scripts/own.lua");
const BUILDING: &str = include_str!("scripts/building.lua");

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
    take: BASE, ENTER;
    hold: BASE, ENTER, OWN;
    change: BASE, ENTER, OWN;
    release: BASE, ENTER, OWN;
    extend: BASE, ENTER, OWN;
    secure: BASE, ENTER, OWN;
    unsecure: BASE, ENTER;
    deliver: BASE, ENTER;
    sweep: BASE, ENTER;
    follow: BASE, ENTER;
    snapshot: BASE, ENTER;
    begin: BASE;
    fill_view: BASE, BUILDING;
    fill_bought: BASE, BUILDING;
    fill_hold: BASE, BUILDING;
    live: BASE, BUILDING;
    bury: BASE;
}
