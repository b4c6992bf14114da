//! Tests booking through its HTTP router, without sockets: the whole way from a free seat to a
//! scanned ticket, orders that end earlier, refunds, exchanges and the waitlist.

mod accepting;
mod bad_input;
mod carrying;
mod changing;
mod choosing;
mod cinema;
mod closing;
mod dumping;
mod ends;
mod exchanging;
mod free;
mod harness;
mod judging;
mod keys;
mod late;
mod listing;
mod locks;
mod loops;
mod nodes;
mod promoting;
mod rail;
mod real_charts;
mod reconciling;
mod refunding;
mod retention;
mod retries;
mod scanning;
mod selling;
mod show_list;
mod small_feed;
mod storm;
mod succeeding;
mod terms;
mod ticket_codes;
#[path = "../../examples/legs/train.rs"]
mod train;
mod trains;
mod two_clocks;
mod unpriced;
mod waiting;
mod waiting_for_trains;
mod walk_ins;
mod whole_way;
