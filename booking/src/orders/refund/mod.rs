//! The worker that refunds cancelled shows. A buyer's own refund is a single call to the ledger,
//! which `http/refunds` makes.

pub mod mass;
