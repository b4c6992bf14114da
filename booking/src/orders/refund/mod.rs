//! Tickets given back: the calls that ask for it, and the worker that gives back what was
//! cancelled.

pub mod mass;
