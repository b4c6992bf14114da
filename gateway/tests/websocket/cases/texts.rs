//! Builds the cases of chapter 6: texts that are UTF-8, and texts that are not.

use super::Case;
use crate::client::{ENDS, GOES_ON, TEXT, TEXT_BEGINS};

/// "κόσμε".
const COSMOS: &[u8] = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5";
const GREETING: &str = "Hello-\u{b5}@\u{df}\u{f6}\u{e4}\u{fc}\u{e0}\u{e1}-UTF-8!!";

/// A chapter of the suite, whether all its sequences are valid, and the sequences.
type Sequences = (&'static str, bool, &'static [&'static [u8]]);

const SEQUENCES: &[Sequences] = &[
    ("6.5", true, &[b"hello world", b"hello$world", b"hello\xc2\xa2world", b"hello\xe2\x82\xacworld", b"hello\xf0\xa4\xad\xa2world"]),
    ("6.7", true, &[b"\x00", b"\xc2\x80", b"\xe0\xa0\x80", b"\xf0\x90\x80\x80"]),
    ("6.8", false, &[b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80"]),
    ("6.9", true, &[b"\x7f", b"\xdf\xbf", b"\xef\xbf\xbf", b"\xf4\x8f\xbf\xbf"]),
    ("6.10", false, &[b"\xf7\xbf\xbf\xbf", b"\xfb\xbf\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf\xbf"]),
    ("6.11", true, &[b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbd", b"\xf4\x8f\xbf\xbf"]),
    ("6.11.5", false, &[b"\xf4\x90\x80\x80"]),
    ("6.12", false, &[b"\x80", b"\xbf", b"\x80\xbf", b"\x80\xbf\x80", b"\x80\xbf\x80\xbf", b"\x80\xbf\x80\xbf\x80", b"\x80\xbf\x80\xbf\x80\xbf"]),
    ("6.14", false, &[b"\xc0", b"\xe0\x80", b"\xf0\x80\x80", b"\xf8\x80\x80\x80", b"\xfc\x80\x80\x80\x80", b"\xdf", b"\xef\xbf", b"\xf7\xbf\xbf", b"\xfb\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf"]),
    ("6.15", false, &[b"\xc0\xe0\x80\xf0\x80\x80\xf8\x80\x80\x80\xfc\x80\x80\x80\x80\xdf\xef\xbf\xf7\xbf\xbf\xfb\xbf\xbf\xbf\xfd\xbf\xbf\xbf\xbf"]),
    ("6.16", false, &[b"\xfe", b"\xff", b"\xfe\xfe\xff\xff"]),
    ("6.17", false, &[b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xf8\x80\x80\x80\xaf", b"\xfc\x80\x80\x80\x80\xaf"]),
    ("6.18", false, &[b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xf8\x87\xbf\xbf\xbf", b"\xfc\x83\xbf\xbf\xbf\xbf"]),
    ("6.19", false, &[b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf8\x80\x80\x80\x80", b"\xfc\x80\x80\x80\x80\x80"]),
    ("6.20", false, &[b"\xed\xa0\x80", b"\xed\xad\xbf", b"\xed\xae\x80", b"\xed\xaf\xbf", b"\xed\xb0\x80", b"\xed\xbe\x80", b"\xed\xbf\xbf"]),
    ("6.21", false, &[b"\xed\xa0\x80\xed\xb0\x80", b"\xed\xa0\x80\xed\xbf\xbf", b"\xed\xad\xbf\xed\xb0\x80", b"\xed\xad\xbf\xed\xbf\xbf", b"\xed\xae\x80\xed\xb0\x80", b"\xed\xae\x80\xed\xbf\xbf", b"\xed\xaf\xbf\xed\xb0\x80", b"\xed\xaf\xbf\xed\xbf\xbf"]),
    ("6.23", true, &[b"\xef\xbf\xb9", b"\xef\xbf\xba", b"\xef\xbf\xbb", b"\xef\xbf\xbc", b"\xef\xbf\xbd", b"\xef\xbf\xbe", b"\xef\xbf\xbf"]),
];

fn judged(case: Case, text: &[u8], is_valid: bool) -> Case {
    if is_valid {
        case.text(text)
    } else {
        case.closes(1007)
    }
}

fn whole(id: String, text: &[u8], is_valid: bool) -> Case {
    judged(Case::new(id).send(TEXT, text), text, is_valid)
}

/// Builds the text in fragments of `part` bytes.
fn in_fragments(id: &str, text: &[u8], part: usize, is_valid: bool) -> Case {
    let case = text
        .chunks(part)
        .enumerate()
        .fold(Case::new(id), |case, (n, part)| {
            case.send(if n == 0 { TEXT_BEGINS } else { GOES_ON }, part)
        });
    judged(case.send(ENDS, ""), text, is_valid)
}

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        whole("6.1.1".into(), b"", true),
        Case::new("6.1.2")
            .send(TEXT_BEGINS, "")
            .send(GOES_ON, "")
            .send(ENDS, "")
            .text(""),
        Case::new("6.1.3")
            .send(TEXT_BEGINS, "")
            .send(GOES_ON, "middle")
            .send(ENDS, "")
            .text("middle"),
        whole("6.2.1".into(), GREETING.as_bytes(), true),
        in_fragments("6.2.2", GREETING.as_bytes(), 14, true),
        in_fragments("6.2.3", GREETING.as_bytes(), 1, true),
        in_fragments("6.2.4", COSMOS, 1, true),
    ];
    let surrogate = [COSMOS, b"\xed\xa0\x80edited"].concat();
    all.push(whole("6.3.1".into(), &surrogate, false));
    all.push(in_fragments("6.3.2", &surrogate, 1, false));
    let too_high = |id: &str, parts: [&[u8]; 3]| {
        let case = Case::new(id).send(TEXT_BEGINS, parts[0]);
        case.send(GOES_ON, parts[1])
            .send(ENDS, parts[2])
            .closes(1007)
    };
    let beyond = [COSMOS, b"\xf4\x90\x80\x80edited"].concat();
    all.push(too_high("6.4.1", [COSMOS, b"\xf4\x90\x80\x80", b"edited"]));
    all.push(too_high(
        "6.4.2",
        [&beyond[..12], &beyond[12..13], &beyond[13..]],
    ));
    all.push(whole("6.4.3".into(), &beyond, false));
    all.push(
        Case::new("6.4.4")
            .send(TEXT, &beyond)
            .chopped(1)
            .closes(1007),
    );
    for length in 1..=COSMOS.len() {
        let part = &COSMOS[..length];
        let is_valid = std::str::from_utf8(part).is_ok();
        all.push(whole(format!("6.6.{length}"), part, is_valid));
    }
    for (chapter, is_valid, sequences) in SEQUENCES {
        for (n, sequence) in sequences.iter().enumerate() {
            all.push(whole(format!("{chapter}.{}", n + 1), sequence, *is_valid));
        }
    }
    let continuations: Vec<u8> = (0x80..=0xbf).collect();
    all.push(whole("6.12.8".into(), &continuations, false));
    for (n, first) in [
        0xc0..=0xdf,
        0xe0..=0xef,
        0xf0..=0xf7,
        0xf8..=0xfb,
        0xfc..=0xfd,
    ]
    .into_iter()
    .enumerate()
    {
        let lonely: Vec<u8> = first.flat_map(|first| [first, b' ']).collect();
        all.push(whole(format!("6.13.{}", n + 1), &lonely, false));
    }
    for n in 0..34 {
        let last = char::from_u32(((n / 2) << 16) | 0xfffe | (n % 2)).expect("a code point");
        all.push(whole(
            format!("6.22.{}", n + 1),
            last.to_string().as_bytes(),
            true,
        ));
    }
    all
}
