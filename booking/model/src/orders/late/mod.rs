//! Money that came after its order had expired.

pub mod choice;
