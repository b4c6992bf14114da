#![doc = include_str!("../README.md")]

mod clock;
mod cut;
mod lua;
mod needs;
mod port;
mod postgres;
mod process;
mod redis;
mod resp;
mod stripe;

pub use clock::MovableClock;
pub use cut::Cut;
pub use lua::check_lua;
pub use needs::{clock_missing, missing, or_skip, or_skip_clock};
pub use port::free_port;
pub use postgres::{Postgres, PostgresOptions};
pub use redis::{Redis, RedisOptions};
pub use resp::{Reply, call};
pub use stripe::{
    Chaos, Intent, STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, Stripe,
};
