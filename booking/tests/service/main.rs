//! Tests booking as a service: one process on a file, and two services over one database and one
//! Redis.

mod alone;
mod many;
