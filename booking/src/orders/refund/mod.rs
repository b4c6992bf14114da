//! Tickets given back: the calls that ask for it, and the worker that gives back what was
//! cancelled.

pub mod mass;

pub use fairgate_model::orders::refund::{
    Back, NotGivenBack, OwedRefund, Plan, Refund, RefundReason, RefundState, Standing, Which,
    next_id, plan, rules,
};
