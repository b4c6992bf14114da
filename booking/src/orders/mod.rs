//! Orders. An order is made from a hold, waits for its payment, and then gets tickets. The state
//! machine is pure code. The ledger stores its transitions.

pub mod checkout;
pub mod exchange;
pub mod expire;
pub mod key;
pub mod late;
pub mod refund;
pub mod refusal;
pub mod sums;
pub mod travellers;
