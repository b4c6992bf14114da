//! An exchange: the seats of a paid order for others.

pub mod desk;

pub use fairgate_model::orders::exchange::{
    Exchange, NotExchanged, Part, Parts, deal, draw, lost, may_give, parts, price,
};
