//! Builds the cases of chapter 5: fragments, and control frames between them.

use super::Case;
use crate::client::{ENDS, GOES_ON, PING, TEXT, TEXT_BEGINS};

/// Builds a continuation of a message that was never begun. This is an error, whatever follows.
fn without_beginning(id: &str, head: u8, chop: usize) -> Case {
    Case::new(id)
        .send(head, "non-continuation payload")
        .send(TEXT, "Hello, world!")
        .chopped(chop)
        .closes(1002)
}

/// Builds two fragments with a ping between them.
fn with_ping(id: &str, chop: usize) -> Case {
    Case::new(id)
        .send(TEXT_BEGINS, "fragment1")
        .send(PING, "ping payload")
        .send(ENDS, "fragment2")
        .chopped(chop)
        .pong("ping payload")
        .text("fragment1fragment2")
}

fn two_fragments(id: &str, chop: usize) -> Case {
    Case::new(id)
        .send(TEXT_BEGINS, "fragment1")
        .send(ENDS, "fragment2")
        .chopped(chop)
        .text("fragment1fragment2")
}

/// Builds a whole text in fragments, and then a continuation that belongs to no message.
fn after_the_end(id: &str, head: u8) -> Case {
    two_fragments(id, usize::MAX)
        .send(head, "fragment3")
        .send(TEXT, "fragment4")
        .closes(1002)
}

/// Builds five fragments with two pings between them.
fn five_fragments(id: &str, chop: usize) -> Case {
    Case::new(id)
        .send(TEXT_BEGINS, "fragment1")
        .send(GOES_ON, "fragment2")
        .send(PING, "ping payload 1")
        .send(GOES_ON, "fragment3")
        .send(GOES_ON, "fragment4")
        .send(PING, "ping payload 2")
        .send(ENDS, "fragment5")
        .chopped(chop)
        .pong("ping payload 1")
        .pong("ping payload 2")
        .text("fragment1fragment2fragment3fragment4fragment5")
}

pub fn cases() -> Vec<Case> {
    const WHOLE: usize = usize::MAX;
    vec![
        Case::new("5.1")
            .send(0x09, "fragment1")
            .send(ENDS, "fragment2")
            .closes(1002),
        Case::new("5.2")
            .send(0x0a, "fragment1")
            .send(ENDS, "fragment2")
            .closes(1002),
        two_fragments("5.3", WHOLE),
        two_fragments("5.4", 5),
        two_fragments("5.5", 1),
        with_ping("5.6", WHOLE),
        with_ping("5.7", 5),
        with_ping("5.8", 1),
        without_beginning("5.9", ENDS, WHOLE),
        without_beginning("5.10", ENDS, 5),
        without_beginning("5.11", ENDS, 1),
        without_beginning("5.12", GOES_ON, WHOLE),
        without_beginning("5.13", GOES_ON, 5),
        without_beginning("5.14", GOES_ON, 1),
        after_the_end("5.15", GOES_ON),
        without_beginning("5.16", GOES_ON, WHOLE),
        after_the_end("5.17", ENDS),
        Case::new("5.18")
            .send(TEXT_BEGINS, "fragment1")
            .send(TEXT, "fragment2")
            .closes(1002),
        five_fragments("5.19", WHOLE),
        five_fragments("5.20", 1),
    ]
}
