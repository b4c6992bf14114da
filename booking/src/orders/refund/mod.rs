//! Giving tickets back: the calls of buyers, and the worker that refunds cancelled shows.

pub mod mass;
