#![doc = include_str!("../README.md")]

pub mod actors;
mod challenges;
mod clock;
mod contract;
mod cut;
mod front_proxy;
mod lua;
mod needs;
mod nginx;
mod port;
mod postgres;
mod process;
mod redis;
mod resp;
mod stripe;

/// The installation's secret (`FAIRGATE_SECRET`) of all processes that tests start on one database.
pub const TEST_SECRET: &str = "a-secret-of-the-tests-and-of-no-installation";

pub use challenges::{CHALLENGE_SECRET, CHALLENGE_SITE_KEY, FakeChallengeServer};
pub use clock::MovableClock;
pub use contract::{ContractCase, run_contract};
pub use cut::CommitCutProxy;
pub use front_proxy::{FrontProxy, FrontProxyKind, FrontProxyTargets};
pub use lua::{check_lua, check_script_rights};
pub use needs::{
    chromium_for, clock_missing, missing_programs, missing_redis_programs, must_skip,
    must_skip_clock,
};
pub use nginx::{NginxServer, must_skip_nginx};
pub use port::free_port;
pub use postgres::{PostgresOptions, PostgresServer};
pub use process::{ServerProcess, ServerProgram, Signal, until_ready};
pub use redis::{RedisOptions, RedisServers};
pub use resp::{RespReply, call};
pub use stripe::{
    FakeStripeServer, STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET,
    StripeFaultSettings, StripeIntent,
};
