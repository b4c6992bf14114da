//! Tests the gateway's binary from outside: a process on a free port with a data directory of its
//! own, and actors that know only what a browser, a promoter or a door knows. All tests are one
//! program, so that the harness is linked once.

mod apart;
mod bad_input;
mod bad_place;
mod bad_socket;
mod browser;
mod card_form;
mod challenge;
mod cinema;
mod command_line;
mod crash;
mod crash_freeze;
mod crowd;
mod demo;
mod disk;
mod draw_live;
mod ending;
mod everyday;
mod exchanges;
mod free;
mod harness;
mod line;
mod log;
mod misconfigured;
mod order_states;
mod overload;
mod pages;
mod rail;
mod rail_rooms;
mod refunds;
mod rejoin;
mod retry_after;
mod silent;
mod stopped;
mod tabs;
mod tickets;
mod venue_time;
mod waiting;
mod way;
mod without_scripts;
