//! Orders: a hold on its way to money and tickets. The state machine is pure code; the ledger
//! carries it out.

pub mod checkout;
pub mod exchange;
pub mod expire;
pub mod key;
pub mod late;
pub mod refund;
pub mod refusal;
pub mod sums;
pub mod travellers;
