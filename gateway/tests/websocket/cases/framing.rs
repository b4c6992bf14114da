//! Builds the cases of chapters 1 (framing), 2 (pings and pongs), 3 (reserved bits), 4 (opcodes), 9
//! and 10 (limits).

use super::Case;
use crate::client::{BINARY, ENDS, GOES_ON, PING, PONG, TEXT, TEXT_BEGINS};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

pub fn cases() -> Vec<Case> {
    let mut all = lengths();
    all.extend(pings());
    all.extend(reserved_bits());
    all.extend(opcodes());
    all.extend(limits());
    all
}

fn lengths() -> Vec<Case> {
    let mut all = Vec::new();
    for (n, length) in [0, 125, 126, 127, 128, 65_535, 65_536, 65_536]
        .into_iter()
        .enumerate()
    {
        let (text, bytes) = (vec![b'*'; length], vec![0xfe; length]);
        let chop = if n == 7 { 997 } else { usize::MAX };
        all.push(
            Case::new(format!("1.1.{}", n + 1))
                .send(TEXT, &text)
                .chopped(chop)
                .text(text),
        );
        let binary = Case::new(format!("1.2.{}", n + 1)).send(BINARY, &bytes);
        all.push(binary.chopped(chop).binary(bytes));
    }
    all
}

fn pings() -> Vec<Case> {
    let ten = |id: &str| {
        (0..10).fold(Case::new(id), |case, n| {
            let payload = format!("payload-{n}");
            case.send(PING, &payload).pong(payload)
        })
    };
    let unasked = |id: &str, payload: &str| Case::new(id).send(PONG, payload);
    vec![
        Case::new("2.1").send(PING, "").pong(""),
        Case::new("2.2")
            .send(PING, "Hello, world!")
            .pong("Hello, world!"),
        Case::new("2.3")
            .send(PING, b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff")
            .pong(b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff"),
        Case::new("2.4").send(PING, [0xfe; 125]).pong([0xfe; 125]),
        Case::new("2.5").send(PING, [0xfe; 126]).closes(1002),
        Case::new("2.6")
            .send(PING, [0xfe; 125])
            .chopped(1)
            .pong([0xfe; 125]),
        unasked("2.7", ""),
        unasked("2.8", "unsolicited pong payload"),
        unasked("2.9", "unsolicited pong payload")
            .send(PING, "ping payload")
            .pong("ping payload"),
        ten("2.10"),
        ten("2.11").chopped(1),
    ]
}

fn reserved_bits() -> Vec<Case> {
    let after_text = |id: &str, bits: u8, chop: usize| {
        Case::new(id)
            .send(TEXT, "small")
            .send(TEXT | bits << 4, "small")
            .send(PING, "")
            .chopped(chop)
            .text("small")
            .closes(1002)
    };
    vec![
        Case::new("3.1").send(TEXT | 1 << 4, "small").closes(1002),
        after_text("3.2", 2, usize::MAX),
        after_text("3.3", 3, usize::MAX),
        after_text("3.4", 4, 1),
        Case::new("3.5")
            .send(BINARY | 5 << 4, [0xff; 8])
            .closes(1002),
        Case::new("3.6").send(PING | 6 << 4, "small").closes(1002),
        Case::new("3.7").send(0x88 | 7 << 4, "").closes(1002),
    ]
}

fn opcodes() -> Vec<Case> {
    let mut all = Vec::new();
    for (chapter, opcodes) in [(1, 3..=7), (2, 11..=15)] {
        for (n, opcode) in opcodes.enumerate() {
            let id = format!("4.{chapter}.{}", n + 1);
            let case = Case::new(id);
            let payload = if n == 0 {
                ""
            } else {
                "reserved opcode payload"
            };
            let head = 0x80 | opcode;
            all.push(if n < 2 {
                case.send(head, payload).closes(1002)
            } else {
                let case = case.send(TEXT, "small").send(head, payload).send(PING, "");
                let chop = if n == 4 { 1 } else { usize::MAX };
                case.chopped(chop).text("small").closes(1002)
            });
        }
    }
    all
}

/// Builds a text of `length` bytes in fragments of `part` bytes. It is echoed whole.
fn in_parts(id: String, length: usize, part: usize) -> Case {
    let text = vec![b'*'; length];
    let mut parts: Vec<_> = text.chunks(part).collect();
    let last = parts.pop().expect("there is one");
    let case = parts
        .into_iter()
        .enumerate()
        .fold(Case::new(id), |case, (n, part)| {
            case.send(if n == 0 { TEXT_BEGINS } else { GOES_ON }, part)
        });
    let head = if length <= part { TEXT } else { ENDS };
    case.send(head, last).text(text)
}

fn limits() -> Vec<Case> {
    let mut all = Vec::new();
    let sizes = [64 * KIB, 256 * KIB, MIB, 4 * MIB, 8 * MIB, 16 * MIB];
    for (n, size) in sizes.into_iter().enumerate() {
        let (text, bytes) = (vec![b'*'; size], vec![0xfe; size]);
        all.push(
            Case::new(format!("9.1.{}", n + 1))
                .send(TEXT, &text)
                .text(text),
        );
        all.push(
            Case::new(format!("9.2.{}", n + 1))
                .send(BINARY, &bytes)
                .binary(bytes),
        );
    }
    let parts = [
        64,
        256,
        KIB,
        4 * KIB,
        16 * KIB,
        64 * KIB,
        256 * KIB,
        MIB,
        4 * MIB,
    ];
    for (n, part) in parts.into_iter().enumerate() {
        all.push(in_parts(format!("9.3.{}", n + 1), 4 * MIB, part));
    }
    for (n, chop) in [64, 128, 256, 512, KIB, 2 * KIB].into_iter().enumerate() {
        let (text, bytes) = (vec![b'*'; MIB], vec![0xfe; MIB]);
        let case = Case::new(format!("9.5.{}", n + 1)).send(TEXT, &text);
        all.push(case.chopped(chop).text(text));
        let case = Case::new(format!("9.6.{}", n + 1)).send(BINARY, &bytes);
        all.push(case.chopped(chop).binary(bytes));
    }
    for (n, length) in [0, 16, 64, 256, KIB, 4 * KIB].into_iter().enumerate() {
        let (text, bytes) = (vec![b'*'; length], vec![0xfe; length]);
        let many =
            |id| (0..1_000).fold(Case::new(id), |case, _| case.send(TEXT, &text).text(&text));
        all.push(many(format!("9.7.{}", n + 1)));
        all.push(
            (0..1_000).fold(Case::new(format!("9.8.{}", n + 1)), |case, _| {
                case.send(BINARY, &bytes).binary(&bytes)
            }),
        );
    }
    all.push(in_parts("10.1.1".into(), 65_536, 1_300));
    all
}
