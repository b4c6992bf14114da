//! Builds the cases of chapter 7: how a connection is closed.

use super::Case;
use crate::client::{CLOSE, GOES_ON, PING, TEXT, TEXT_BEGINS};

/// Codes that a client may send.
const ALLOWED: &[u16] = &[
    1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999,
];
/// Codes that no close frame may have.
const FORBIDDEN: &[u16] = &[0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999];

fn reason(code: u16, text: impl AsRef<[u8]>) -> Vec<u8> {
    [&code.to_be_bytes(), text.as_ref()].concat()
}

pub fn cases() -> Vec<Case> {
    let normal = reason(1000, "");
    let long = vec![b'*'; 256 << 10];
    let mut all = vec![
        Case::new("7.1.1")
            .send(TEXT, "Hello World!")
            .text("Hello World!"),
        Case::new("7.1.2")
            .send(CLOSE, &normal)
            .send(CLOSE, &normal)
            .closes(1000),
        Case::new("7.1.3")
            .send(CLOSE, &normal)
            .send(PING, "")
            .closes(1000),
        Case::new("7.1.4")
            .send(CLOSE, &normal)
            .send(TEXT, "Hello World!")
            .closes(1000),
        Case::new("7.1.5")
            .send(TEXT_BEGINS, "fragment1")
            .send(CLOSE, &normal)
            .send(GOES_ON, "fragment2")
            .closes(1000),
        Case::new("7.1.6")
            .send(TEXT, &long)
            .send(TEXT, "Hello World!")
            .text(long)
            .text("Hello World!"),
        Case::new("7.3.1").send(CLOSE, "").closes(None),
        Case::new("7.3.2").send(CLOSE, "a").closes(1002),
        Case::new("7.3.3").send(CLOSE, &normal).closes(1000),
        Case::new("7.3.4")
            .send(CLOSE, reason(1000, "Hello World!"))
            .closes(1000),
        Case::new("7.3.5")
            .send(CLOSE, reason(1000, [b'*'; 123]))
            .closes(1000),
        Case::new("7.3.6")
            .send(CLOSE, reason(1000, [b'*'; 124]))
            .closes(1002),
        Case::new("7.5.1")
            .send(
                CLOSE,
                reason(1000, b"\xce\xba\xe1\xbd\xb9\xed\xa0\x80edited"),
            )
            .closes(1007),
    ];
    for (n, code) in ALLOWED.iter().enumerate() {
        all.push(
            Case::new(format!("7.7.{}", n + 1))
                .send(CLOSE, reason(*code, ""))
                .closes(*code),
        );
    }
    for (n, code) in FORBIDDEN.iter().enumerate() {
        all.push(
            Case::new(format!("7.9.{}", n + 1))
                .send(CLOSE, reason(*code, ""))
                .closes(1002),
        );
    }
    all.push(
        Case::new("7.13.1")
            .send(CLOSE, reason(5000, ""))
            .closes(1002),
    );
    all.push(
        Case::new("7.13.2")
            .send(CLOSE, reason(65_535, ""))
            .closes(1002),
    );
    all
}
