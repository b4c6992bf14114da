//! The seats that can be held. [`SeatInventory`](seats::SeatInventory) opens shows in the store,
//! and carries the ledger's decisions to the store.

pub mod seats;
