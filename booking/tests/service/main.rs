//! Tests booking as a process of its own: alone on a file, and several over one database and one
//! Redis.

mod alone;
mod many;
